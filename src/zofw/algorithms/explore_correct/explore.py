"""EXPLORE, SWEEP, CERTIFY and PROPOSE: learning the gradient, and the atoms that it makes worth trying."""

from __future__ import annotations

import math
from collections.abc import Generator
from dataclasses import replace

import numpy as np

from zofw.algorithms.explore_correct.belief import Belief, offsets
from zofw.algorithms.explore_correct.correct import gain
from zofw.algorithms.explore_correct.state import Action, Candidate, Certificate, Proposal, State, Values
from zofw.algorithms.explore_correct.walk import Moves, shrunk, slide
from zofw.atoms import Atom
from zofw.core import Answer, Array, Purpose, Query, Stencil, Task
from zofw.differences import OwnDifferences, base_values, curvatures, slopes
from zofw.directions import Explicit, Rademacher, basis

DRAWS = 16  # of the posterior, at most, behind the expected improvement
QUERIES_PER_DRAW = 4
PIECES = 64  # sketches of one exploration, about
MANY = 64  # dimensions, below which directions can be tried one by one
EXACT = 1e-24  # relative variance of a gradient that was swept
CONFIDENCE = 3.0  # standard deviations
WIDER = 10.0  # the second radius along the directions that look for kinks


def explore(task: Task, state: State, values: Values, rng: np.random.Generator, cost: float) -> Action:
    """Spend about ``cost`` queries on Rademacher sketches c = mean_S Δf_i, and filter them into the belief.

    The control variate αg, α = max(0, 1 − d s²/‖g‖²), is James and Stein's: a noisy g taken whole would ruin the sketch
    in high dimension. b minimises (v + σ²/b)(b + 1), with v the variance over components of one slope and σ² that of the
    gradient; |S| keeps the sampling error at a quarter of the error that the directions make.
    """
    d, belief, seen = task.dim, state.belief, state.sketches
    square = float(belief.g @ belief.g)
    alpha = max(0.0, 1.0 - d * belief.variance / square) if square > 0 else 0.0
    control = alpha * belief.g
    b, size = max(1, math.isqrt(d)), seen.batch
    if seen.spread is not None:
        if state.model.spread > 0:
            b = int(min(max(math.sqrt(seen.spread / state.model.spread), 1), math.sqrt(d)))
        error = alpha * d * belief.variance if alpha > 0.5 else seen.miss
        wanted = min(0.25 * seen.spread / max(error, 1e-300), 8.0 * size)
        size = int(min(task.n, max(1, wanted), max(cost / (8 * (b + 1)), 1)))
    cost = min(cost, task.remaining)
    size = int(max(1, min(size, task.n, cost / (b + 1))))
    b = int(max(1, min(b, cost / size - 1)))
    if (pieces := cost / (size * (b + 1)) / PIECES) > 1:  # fewer and larger ones, for the interpreter's sake
        b = int(max(b, min(b * pieces, d / 4)))
        size = int(max(1, min(size * max(1.0, cost / (size * (b + 1)) / PIECES), 4 * size, task.n)))
    law, done, total = Rademacher(), max(1, int(cost / (size * (b + 1)))), np.zeros(d)
    residual = variance = 0.0
    for _ in range(done):
        U = law.draw(rng, d, b)
        query = Query(state.x, task.sample(rng, size), U, values.step(task), Stencil.FORWARD, variance=True)
        answer = yield query
        r = slopes(query, answer)[0] - U.T @ control
        total += U @ r / b
        residual += float(r @ r) / b
        variance += 0.0 if answer.variance is None else float(answer.variance.mean())
    residual, variance, spent = residual / done, variance / done, done * size * (b + 1)
    if size > 1:
        spread = max(variance, 1e-12 * residual)
        miss = max(residual - variance / size, 0.0) + residual / math.sqrt(done * b)
    else:
        spread = residual if seen.spread is None else max(residual - seen.miss, 1e-12 * residual)
        miss = max(residual - spread, 1e-4 * residual)
    own = residual / (b * done)
    y = control + total / done
    noise = own + max(state.model.spread, spread / d) / (size * done)
    shown = math.sqrt(residual) * values.size / math.sqrt(d)
    walk = state.walk
    walker = walk.belief.take(y, own + spread / (d * size * done))
    return replace(
        state,
        values=replace(values, range=max(values.range, shown)),
        belief=belief.kalman(y, own, noise),
        walk=replace(walk, belief=walker if walk.ready else shrunk(walker), ready=True),
        sketches=replace(
            seen, spread=spread, miss=miss, unit_cost=noise * spent, batch=size, since=seen.since + spent
        ),
        model=replace(state.model, corrections=0),
    )


def sweep(task: Task, state: State, values: Values) -> Action:
    """The whole coordinate gradient on all components by forward slopes: n(d + 1) queries, or Σ(|support_i| + 1)."""
    g, cost = yield from coordinate_gradient(task, state.x, values.step(task), two_sided=False)
    return replace(known(task, state, g, cost), value=state.value)


def coordinate_gradient(
    task: Task, x: Array, h: float, *, two_sided: bool
) -> Generator[Query, Answer, tuple[Array, int]]:
    """∇f at x from differences of all components, along the coordinates of each alone where these are known; and its price."""
    if task.by_support:
        own = OwnDifferences.of(
            x, task.all, task.pattern(task.all), h, two_sided=two_sided, purpose=Purpose.CERTIFICATE
        )
        return own.mean(own.slopes((yield own.query))[0]), own.query.cost
    stencil = Stencil.CENTRAL if two_sided else Stencil.FORWARD
    query = Query(x, task.all, basis(task.dim), h, stencil, Purpose.CERTIFICATE)
    return slopes(query, (yield query))[0], query.cost


def known(task: Task, state: State, g: Array, cost: int) -> State:
    """The state with a gradient that was measured along every coordinate."""
    variance = EXACT * float(g @ g) / task.dim
    belief = Belief(g, variance, state.belief.origin)
    sketches = state.sketches
    if not math.isfinite(sketches.unit_cost):
        sketches = replace(sketches, unit_cost=variance * cost)
    walk = replace(state.walk, belief=belief) if state.walk.ready else state.walk
    model = replace(state.model, corrections=0)
    return replace(state, belief=belief, walk=walk, sketches=sketches, model=model)


def is_exact(state: State) -> bool:
    """Whether the gradient was measured along every coordinate at this very x."""
    g = state.belief.g
    return state.belief.variance <= 2 * EXACT * float(g @ g) / len(g)


def certificate_price(task: Task) -> int:
    """Of two-sided slopes along every coordinate, twice where points must stay inside, and of n times 9 evaluations besides."""
    along = task.pattern(task.all).index.size if task.by_support else task.n * task.dim
    return 2 * along * (2 if task.inside else 1) + 9 * task.n


def slope_error(task: Task, values: Values) -> float:
    """Three deviations of what the noise of the values leaves in a gradient of two-sided slopes."""
    return CONFIDENCE * values.noise * math.sqrt(task.dim / task.n) / values.step(task)


def certify(task: Task, state: State, values: Values, rng: np.random.Generator) -> Action:
    r"""Two-sided slopes along every coordinate on all components, and along two random directions at two radii.

    Their error has three parts, each times the size of the set: noise of the values, ε√d/h at three deviations; the third
    order, from the change of the central slope along a Gaussian u between h and 10h; and kinks, from second differences
    S(h) = κh + Hh², hence κ = (100 S(h) − S(10h))/(90h). The width of the subdifferential along the direction that matters
    exceeds ten times the greatest κ of two Gaussian u with probability 0.7 % at most. Where points must stay inside
    the set the slopes are those of a point nearby, at a distance in proportion to h: they are extrapolated from h and 2h.
    """
    d, h, u = task.dim, values.step(task), rng.standard_normal((task.dim, 2))
    if task.inside:  # 10hu has to fit too
        longest = WIDER * float(np.linalg.norm(u, axis=0).max())
        h = min(max(0.5 * h, task.resolution), 0.99 * task.reach / longest)
    g, spent = yield from coordinate_gradient(task, state.x, h, two_sided=True)
    drift = 0.0
    if task.inside:
        further, more = yield from coordinate_gradient(task, state.x, 2 * h, two_sided=True)
        spent += more
        drift = 0.1 * float(np.linalg.norm(g - further))
        g = 2 * g - further
    query = Query(
        state.x, task.all, Explicit(np.hstack([u, WIDER * u])), h, Stencil.QUADRATIC, Purpose.CERTIFICATE
    )
    answer = yield query
    along, bends = slopes(query, answer)[0], curvatures(query, answer)[0] * h
    third = float(np.abs(along[2:] / WIDER - along[:2]).max()) / (WIDER**2 - 1)
    kink = float(np.abs(WIDER**2 * bends[:2] - bends[2:]).max()) / (WIDER**2 - WIDER)
    vertex = task.lmo(g).dense()
    size = max(values.size, float(np.linalg.norm(state.x - vertex)))
    noise = max(values.noise / math.sqrt(task.n), 2.0**-52 * float(np.abs(answer.values).max()))
    rounding = 5.0 * noise / h  # what κ shows where there is none
    certificate = Certificate(
        float(g @ (state.x - vertex)),
        (CONFIDENCE * noise * math.sqrt(d) / h + CONFIDENCE * third + drift + 5 * min(kink, rounding)) * size,
        5.0 * max(kink - rounding, 0.0) * size,
        concave=max(-float(bends[2:].min()) - 2 * rounding, 0.0) / (h * WIDER**2) * size**2 / d,
    )
    state = known(task, state, g, spent + query.cost)
    certified = state.certified + spent + query.cost
    return replace(
        state, certificate=certificate, certified=certified, value=float(base_values(query, answer)[0])
    )


def propose(task: Task, state: State, rng: np.random.Generator, spent: float) -> Proposal:
    """Ask the LMO about g and about draws of the belief (Thompson sampling), one for every four queries that were spent.

    A draw whose vertex is not active promises min(δ²/2h, δ), δ its advantage over the best active atom and h the typical
    curvature. What lmo(g) promises is cleared of the winner's curse: the mean advantage that vertices of draws have over
    g itself, times √2 because the noise of a draw comes on top of that of g. The gap is the mean over the draws of
    ⟨g̃, x − lmo(g̃)⟩, an overestimate in expectation since a maximum of means is less than the mean of maxima.
    """
    belief, o, bend = state.belief, state.belief.origin, state.model.bend
    deviation, complement = math.sqrt(belief.variance), belief.complement()
    active = {atom.key() for atom in state.model.atoms}
    D, from_origin = offsets(state.model.atoms, o), state.x - o
    found: dict[bytes, tuple[Atom, int, float]] = {}
    gaps, optimism, ranges, improvement, first, advantage = [], [], [], 0.0, b"", 0.0
    agreed, scattered = 0, False
    atom: Atom | None = None
    calls = int(min(DRAWS, max(2, spent / QUERIES_PER_DRAW)))
    draws = 1 if is_exact(state) else calls
    for draw in range(draws + 1):
        g = belief.g
        if draw:
            g = g + deviation * complement(rng.standard_normal(task.dim))
        atom = task.lmo(g, atom)
        key, origin_slope = atom.key(), float(o @ g)
        slope = atom.dot(g) - origin_slope
        active_slopes = D.T @ g
        ahead = float(active_slopes.min()) - slope
        ranges.append(float(np.ptp(active_slopes)))
        if draw == 0:
            first, advantage = key, ahead
            scattered = task.dim >= MANY and bool(np.count_nonzero(atom.dense()) > 1)
        else:
            agreed += key == first
            gaps.append(float(from_origin @ g) - slope)
            optimism.append(atom.dot(belief.g) - float(o @ belief.g) - slope)
        if key in active or ahead <= 0:
            continue
        _, times, most = found.get(key, (atom, 0, 0.0))
        found[key] = (atom, times + 1, max(most, gain(ahead, bend)))
        if draw:
            improvement += gain(ahead, bend) / draws
    if state.certificate is not None and state.certificate.concave > 0:  # a saddle: any way may lead down
        for g in (u := rng.standard_normal(task.dim), -u):
            atom = task.lmo(g)
            if atom.key() not in active:
                found[atom.key()] = (atom, DRAWS, state.certificate.concave)
    if first in found:
        honest = max(advantage - math.sqrt(2) * max(float(np.mean(optimism)), 0.0), 0.0)
        found[first] = (found[first][0], draws, gain(honest, bend))
    often = [
        (key, Candidate(a, most * min(1.0, times / draws)))
        for key, (a, times, most) in found.items()
        if times >= 2 or key == first
    ]
    often.sort(key=lambda pair: (pair[0] != first, -pair[1].promise))
    chosen = tuple(candidate for _, candidate in often[: max(2, len(state.model.atoms))])
    more = []
    if is_exact(state) and state.model.unit > 0:  # on the way to argmin ⟨g, z⟩ + ½L‖z − x‖²
        moves = Moves(state.x)
        slide(task, moves, belief.g, state.model.unit, calls)
        more = [
            Candidate(a, moves.gains[key])
            for key, a in moves.visited.items()
            if key not in active and key not in found
        ]
    surely = ranges[0] if is_exact(state) else max(2 * ranges[0] - float(np.mean(ranges[1:])), 0.0)
    weights = gain(surely, bend) if state.walk.moved or is_exact(state) else 0.0
    return Proposal(
        chosen,
        improvement,
        float(np.mean(gaps)),
        float(np.std(gaps)),
        weights,
        scattered and agreed < draws / 2,
        tuple(more),
    )


__all__ = ["certificate_price", "certify", "explore", "is_exact", "propose", "slope_error", "sweep"]
