"""SWEEP and CERTIFY: the gradient along every coordinate, a bound of the gap, and how a run may end by itself."""

from __future__ import annotations

import math
from collections.abc import Generator
from dataclasses import replace

import numpy as np

from zofw.algorithms.explore_correct.state import ROUNDING, TINY, Action, Belief, Certificate, State
from zofw.core import Answer, Array, Ending, Purpose, Query, Stencil, Task
from zofw.differences import OwnDifferences, curvatures, slopes
from zofw.directions import Explicit, UnitSteps

ORDER = 2.5  # of the radius: between what one-sided and what two-sided slopes want
WIDER = 4.0  # times the radius: where slopes are measured again to be extrapolated
SURE = 13.0  # two Gaussian u both show |eᵀu| < ‖e‖/13 with probability 0.4 %
LOOK = 5  # queries per component along them
SHOWN = 100.0  # times √d·noise/radius: what noise leaves in a bound, and a margin
COARSEST = 8  # times that radii grow fourfold
COARSE = 1e-4  # of the range of the values: a greater bound is no convergence, only noise
SHARE = 0.5  # of what was paid, without progress, makes a stall


def forward_slopes(task: Task, x: Array, h: float) -> Generator[Query, Answer, Array]:
    """(f(x + he_j) − f(x))/h on all components, along the coordinates of each alone where these are known."""
    if task.by_support:
        own = OwnDifferences.of(x, task.all, task.pattern(task.all), h, purpose=Purpose.CERTIFICATE)
        return own.mean(own.slopes((yield own.query))[0])
    U = UnitSteps(task.dim, np.arange(task.dim), np.ones(task.dim))
    query = Query(x, task.all, U, h, Stencil.FORWARD, Purpose.CERTIFICATE)
    return np.asarray(slopes(query, (yield query))[0])


def sweep(task: Task, state: State) -> Action:
    """The whole coordinate gradient on all components by forward slopes: n(d + 1) queries, or Σ(|support_i| + 1).

    Their error is ½hH_jj and the noise of two values; H_jj is the mean curvature towards atoms or, without any, over the set.
    """
    values, sketches = state.means(task), state.sketches
    h = min(values.radius(task, ORDER) * values.size, task.reach / (2 * WIDER))
    g = yield from forward_slopes(task, state.x, h)
    bend = state.model.unit or values.range / values.size**2
    error = 0.5 * h * bend + 1.5 * values.noise / h
    if not math.isfinite(sketches.unit_cost):
        sketches = replace(sketches, unit_cost=float(g @ g) * sketches.batch)
    return replace(state, belief=Belief(g, error**2), walker=None, sketches=sketches, swept=h)


def certificate_price(task: Task, state: State) -> int:
    """Looks at two radii, and a sweep where x was not swept; a second sweep is asked for if the budget has it."""
    return 2 * LOOK * task.n + (0 if state.swept and state.certificate is None else task.sweep_cost)


def certify(task: Task, state: State, rng: np.random.Generator) -> Action:
    r"""A bound of the Frank-Wolfe gap at x, from all components, bought in steps until it is low enough.

    Two Gaussian u test a gradient g, wherever it comes from: c − gᵀu, c the two-sided slope along u, is eᵀu with e = ∇f(x) − g,
    and ‖e‖ exceeds thirteen times the greater of the two with probability 0.4 % at most. A kink makes the sides of a slope differ by
    κ = (f(x + hu) + f(x − hu) − 2f(x))/h. So the bound is the gap of g and 13(max|c − gᵀu| + ½ max|κ| + ε/h) times the diameter.
    The steps: the belief is tested; c and κ are extrapolated to h = 0 from h and 4h, since curvature looks like a kink of first order
    in h; g is swept; and g is extrapolated. Where x has a certificate already, radii are four times as long.
    """
    x, u = state.x, rng.standard_normal((task.dim, 2))
    u = task.set.tangent(u) if task.inside else u
    if state.certificate is not None:
        coarser = min(state.values.coarser + 1, COARSEST)
        state = replace(state, values=replace(state.values, coarser=coarser), swept=0.0)
    values, lengths = state.means(task), np.linalg.norm(u @ [[1, 0, 1, 1], [0, 1, 1, -1]], axis=0)
    most = task.reach / WIDER / (float(lengths.max()) or TINY)
    h = min(values.step(task, ORDER), most) / (2 if task.inside else 1)
    h = min(max(h, task.resolution / (float(lengths.min()) or math.inf)), most)
    times = SURE * diameter(task, state) * (2 if task.inside else 1)  # e and c move inside together, by half

    def look(h: float) -> Generator[Query, Answer, tuple[Array, Array]]:
        query = Query(x, task.all, Explicit(u), h, Stencil.QUADRATIC, Purpose.CERTIFICATE)
        answer = yield query
        return np.stack([slopes(query, answer)[0], h * curvatures(query, answer)[0]]), answer.values

    def bounded(state: State) -> State:
        g, (c, kink) = state.belief.g, seen
        error, gap = float(np.abs(c - u.T @ g).max()) + noise / h, float(g @ x) - task.lmo(g).dot(g)
        sure = Certificate(gap, times * error, times * 0.5 * float(np.abs(kink).max()))
        return replace(state, certificate=sure)

    def short(error: float, price: int) -> bool:
        return not state.certified(enough) and 2 * error > enough and price <= task.remaining

    seen, heights = yield from look(h)
    plateau = not np.ptp(heights) > 0  # its steps may be as high as all that was seen
    noise = max(values.noise, values.range) if plateau else values.noise
    state = bounded(replace(state, value=float(heights[0, -1])))
    enough = goal(task, state)
    if short(state.sure.kink, LOOK * task.n):
        seen = extrapolated(seen, (yield from look(WIDER * h))[0])
        state = bounded(state)
    if short(state.sure.noise, task.sweep_cost) and not state.swept:
        state = bounded((yield from sweep(task, state)))
    hidden = state.swept and state.sure.gap - state.sure.noise <= enough
    if hidden and short(state.sure.noise, task.sweep_cost):
        further = yield from forward_slopes(task, x, WIDER * state.swept)
        state = bounded(replace(state, belief=replace(state.belief, g=extrapolated(state.belief.g, further))))
    return state


def extrapolated(near: Array, further: Array) -> Array:
    """What is of first order in h, to h = 0, from h and 4h."""
    return np.asarray((WIDER * near - further) / (WIDER - 1))


def diameter(task: Task, state: State) -> float:
    """Of the set or, where it is known by its oracle alone, the length that the probe saw."""
    try:
        return task.diameter
    except ValueError:
        return state.values.size


def goal(task: Task, state: State) -> float:
    """The bound to reach: ``gap_tol``, or what slopes of single values, at this noise, can show."""
    noise = max(state.values.noise, ROUNDING * abs(state.value))
    values = replace(state.values, noise=noise, coarser=0)
    shown = SHOWN * math.sqrt(task.dim) * values.noise / values.radius(task, ORDER)
    shown = min(shown, COARSE * values.range) if values.range > 0 else shown  # else all was one value
    return shown if task.gap_tol is None else task.gap_tol


def spent(task: Task) -> bool:
    """Whether what is left of the budget buys nothing: less than one part in a hundred, and fewer than fifty queries."""
    return task.budget is not None and task.remaining < max(2, min(50, task.budget / 100))


def converged(task: Task, state: State) -> Ending | None:
    """A certificate at this x below what values can show; ``gap_tol`` is the session's to compare."""
    tol = goal(task, state)
    if state.certificate is None or task.gap_tol is not None or not state.certified(tol):
        return None
    return Ending(
        True,
        f"The Frank-Wolfe gap at x is at most {state.certificate.bound:.2g} (99 % confidence, from all components); "
        f"slopes of values with noise {state.values.noise:.1g} show none below {tol:.2g}.",
    )


def stalled(task: Task, state: State) -> Ending | None:
    """No decrease was seen for half of what was paid, and the budget is spent or as much again would be."""
    sure, hope, values = state.certificate, state.proposal, state.values
    in_sight = hope is None or (max(hope.knowing, hope.promise) > values.unseen and not values.random)
    if (task.budget is not None and not spent(task)) or in_sight or state.progress > (1 - SHARE) * task.paid:
        return None
    if values.random:
        limit = f"noise: the same point gives values that differ by about {values.noise:.1g}"
    elif sure is None:
        limit = f"unseen components: to certify x takes {certificate_price(task, state):,} queries"
    elif sure.kink > sure.noise:
        limit = f"a kink at x: slopes of two sides differ, which leaves the gap uncertain by {sure.kink:.2g}"
    else:
        limit = f"noise of the values, about {values.noise:.1g}, leaves the gap uncertain by {sure.noise:.2g}"
    idle = task.paid - state.progress
    return Ending(False, f"No decrease was seen for {idle:,} queries. What limits: {limit}.")
