"""EXPLORE, SWEEP and PROPOSE: learning the gradient, and the atoms that it makes worth trying."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from zofw.algorithms.explore_correct.belief import Belief, offsets
from zofw.algorithms.explore_correct.state import Action, Candidate, Proposal, Radii, State
from zofw.algorithms.explore_correct.walk import shrunk
from zofw.atoms import Atom
from zofw.core import OutOfBudget, Purpose, Query, Stencil, Task
from zofw.differences import slopes
from zofw.directions import Rademacher, basis

DRAWS = 16  # of the posterior, behind the expected improvement
EXACT = 1e-24  # relative variance of a gradient that was swept


def explore(task: Task, state: State, radii: Radii, rng: np.random.Generator, cost: float) -> Action:
    """Spend about ``cost`` queries on Rademacher sketches c = mean_S Δf_i, and filter them into the belief.

    The control variate αg, α = max(0, 1 − d s²/‖g‖²), is James and Stein's: a noisy g taken whole would ruin the sketch
    in high dimension. b minimises (v + σ²/b)(b + 1), with v the variance over components of one slope and σ² that of the
    gradient; |S| keeps the sampling error at a quarter of the error that the directions make.
    """
    d, belief = task.dim, state.belief
    alpha = _shrinkage(belief, d)
    control = alpha * belief.g
    b, size = max(1, math.isqrt(d)), state.sketch_batch
    if state.spread is not None:
        if state.atom_spread > 0:
            b = int(min(max(math.sqrt(state.spread / state.atom_spread), 1), math.sqrt(d)))
        error = alpha * d * belief.variance if alpha > 0.5 else state.miss
        wanted = min(0.25 * state.spread / max(error, 1e-300), 8.0 * size)
        size = int(min(task.n, max(1, wanted), max(cost / (8 * (b + 1)), 1)))
    size = min(size, task.n)
    left = state.remaining(task)
    size = int(max(1, min(size, left / (b + 1))))
    b = int(max(1, min(b, left / size - 1)))
    law, done, total = Rademacher(), 0, np.zeros(d)
    residual = variance = 0.0
    try:
        for _ in range(max(1, int(cost / (size * (b + 1))))):
            U = law.draw(rng, d, b)
            query = Query(state.x, task.sample(rng, size), U, radii.sketch, Stencil.FORWARD, variance=True)
            answer = yield query
            r = slopes(query, answer)[0] - U.T @ control
            total += U @ r / b
            residual += float(r @ r) / b
            variance += 0.0 if answer.variance is None else float(answer.variance.mean())
            done += 1
    except OutOfBudget:
        if not done:
            raise
        state = replace(state, finished=True)
    residual, variance, spent = residual / done, variance / done, done * size * (b + 1)
    if size > 1:
        spread = max(variance, 1e-12 * residual)
        miss = max(residual - variance / size, 0.0) + residual / math.sqrt(done * b)
    else:
        spread = residual if state.spread is None else max(residual - state.miss, 1e-12 * residual)
        miss = max(residual - spread, 1e-4 * residual)
    own = residual / (b * done)
    y = control + total / done
    noise = own + max(state.atom_spread, spread / d) / (size * done)
    belief = belief.kalman(y, own, noise)
    walker = (state.walker or Belief(np.zeros(d), math.inf, belief.origin)).take(
        y, own + spread / (d * size * done)
    )
    ready = None if state.walking else shrunk(walker)
    return replace(
        state,
        used=state.used + spent,
        searched=state.searched + spent,
        trusting=0,
        belief=belief,
        walker=walker if ready is None else ready,
        walking=state.walking or ready is not None,
        spread=spread,
        miss=miss,
        unit_cost=noise * spent,
        sketch_batch=size,
        credit=spent / 2,  # a fresh g may try its atom for half its price
    )


def _shrinkage(belief: Belief, d: int) -> float:
    square = float(belief.g @ belief.g)
    return max(0.0, 1.0 - d * belief.variance / square) if square > 0 else 0.0


def sweep(task: Task, state: State, radii: Radii) -> Action:
    """The whole coordinate gradient on all components: n(d + 1) queries, exact up to the radius."""
    query = Query(state.x, task.all, basis(task.dim), radii.sketch, Stencil.FORWARD, Purpose.CERTIFICATE)
    g = slopes(query, (yield query))[0]
    variance = EXACT * float(g @ g) / task.dim
    unit = state.unit_cost if math.isfinite(state.unit_cost) else variance * query.cost
    belief = Belief(g, variance, state.belief.origin)
    walker = belief if state.walking else state.walker
    return replace(
        state, used=state.used + query.cost, belief=belief, walker=walker, unit_cost=unit, trusting=0
    )


def is_exact(state: State) -> bool:
    """Whether the gradient was swept and has not been moved since by more than rounding."""
    g = state.belief.g
    return state.belief.variance <= 1e4 * EXACT * float(g @ g) / len(g)


def propose(task: Task, state: State, rng: np.random.Generator) -> Proposal:
    """Ask the LMO about g and about draws of the belief (Thompson sampling).

    A draw whose vertex is not active promises min(δ²/2h, δ), δ its advantage over the best active atom and h the typical
    curvature. What lmo(g) promises is cleared of the winner's curse: the mean advantage that vertices of draws have over
    g itself, times √2 because the noise of a draw comes on top of that of g. The gap is the mean over the draws of
    ⟨g̃, x − lmo(g̃)⟩, an overestimate in expectation since a maximum of means is less than the mean of maxima.
    """
    belief, o = state.belief, state.belief.origin
    deviation, complement = math.sqrt(belief.variance), belief.complement()
    active = {atom.key() for atom in state.atoms}
    D, from_origin = offsets(state.atoms, o), state.x - o
    found: dict[bytes, tuple[Atom, int, float]] = {}
    gaps, optimism, ranges, improvement, first, advantage = [], [], [], 0.0, b"", 0.0
    agreed, walkable = 0, False
    for draw in range(DRAWS + 1):
        g = belief.g
        if draw:
            g = g + deviation * complement(rng.standard_normal(task.dim))
        atom = task.lmo(g)
        key, origin_slope = atom.key(), float(o @ g)
        slope = atom.dot(g) - origin_slope
        active_slopes = D.T @ g
        ahead = float(active_slopes.min()) - slope
        ranges.append(float(np.ptp(active_slopes)))
        if draw == 0:
            first, advantage = key, ahead
            walkable = bool(np.count_nonzero(atom.dense()) > 1)
        else:
            agreed += key == first
            gaps.append(float(from_origin @ g) - slope)
            optimism.append(atom.dot(belief.g) - float(o @ belief.g) - slope)
        if key in active or ahead <= 0:
            continue
        _, times, most = found.get(key, (atom, 0, 0.0))
        found[key] = (atom, times + 1, max(most, _gain(state, ahead)))
        if draw:
            improvement += _gain(state, ahead) / DRAWS
    if first in found:
        honest = max(advantage - math.sqrt(2) * max(float(np.mean(optimism)), 0.0), 0.0)
        found[first] = (found[first][0], DRAWS, _gain(state, honest))
    often = [
        (key, Candidate(a, most * min(1.0, times / DRAWS)))
        for key, (a, times, most) in found.items()
        if times >= 2
    ]
    often.sort(key=lambda pair: (pair[0] != first, -pair[1].promise))
    chosen = tuple(candidate for _, candidate in often[: max(1, len(state.atoms))])
    walkable = walkable and agreed < DRAWS / 2
    rebalance = _gain(state, max(2 * ranges[0] - float(np.mean(ranges[1:])), 0.0)) if state.walks else 0.0
    return Proposal(chosen, improvement, float(np.mean(gaps)), float(np.std(gaps)), rebalance, walkable)


def _gain(state: State, slope: float) -> float:
    return min(slope * slope / (2 * state.bend), slope)


__all__ = ["explore", "is_exact", "propose", "sweep"]
