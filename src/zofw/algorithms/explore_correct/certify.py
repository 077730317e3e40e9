"""SWEEP and CERTIFY: the gradient along every coordinate, a bound of the gap, and how a run may end by itself."""

from __future__ import annotations

import math
from collections.abc import Generator
from dataclasses import replace

import numpy as np

from zofw.algorithms.explore_correct.state import ROUNDING, Action, Belief, Certificate, State
from zofw.core import Answer, Array, Ending, Purpose, Query, Stencil, Task
from zofw.differences import OwnDifferences, curvatures, slopes
from zofw.directions import Explicit, UnitSteps

SWEEP = 2.5  # order of the radius of sweeps: between what one-sided and what two-sided slopes want
SURE = {2: 13.0, 4: 3.2}  # two Gaussian u all show |eᵀu| < ‖e‖/13, and four ‖e‖/3.2, with probability 0.4 %
WIDER = 10.0  # the second radius along them
LOOK = 5  # queries per component of a look along two of them
HALF = 0.5  # of the error of a bound goes, at least, where four directions tell it instead of two
COARSE = 1e-4  # of the range of the values: a greater bound is no convergence, only noise
SHARE = 0.5  # of what was paid, without progress, makes a stall


def coordinate_slopes(task: Task, x: Array, step: float) -> Generator[Query, Answer, Array]:
    """(f(x + step·e_j) − f(x))/step on all components, along the coordinates of each alone where these are known."""
    h, side = abs(step), math.copysign(1.0, step)
    if task.by_support:
        own = OwnDifferences.of(
            x, task.all, task.pattern(task.all), h, sign=side, purpose=Purpose.CERTIFICATE
        )
        return own.mean(own.slopes((yield own.query))[0])
    U = UnitSteps(task.dim, np.arange(task.dim), np.full(task.dim, side))
    query = Query(x, task.all, U, h, Stencil.FORWARD, Purpose.CERTIFICATE)
    return np.asarray(side * slopes(query, (yield query))[0])


def known(task: Task, state: State, g: Array, error: float) -> State:
    """The state with a gradient that was measured along every coordinate, each up to ``error``."""
    sketches = state.sketches
    if not math.isfinite(sketches.unit_cost):
        sketches = replace(sketches, unit_cost=error**2 * task.sweep_cost)
    return replace(state, belief=Belief(g, error**2), walker=None, sketches=sketches)


def sweep(task: Task, state: State) -> Action:
    """The whole coordinate gradient on all components by forward slopes: n(d + 1) queries, or Σ(|support_i| + 1).

    Their error is ½hH_jj and the noise of two values; H_jj is the mean curvature towards atoms or, without any, over the set.
    """
    values, h = state.values, state.values.step(task, SWEEP)
    g = yield from coordinate_slopes(task, state.x, h)
    bend = state.model.unit or values.range / values.size**2
    error = 0.5 * h * bend + 1.5 * values.noise / math.sqrt(task.n) / h
    return replace(known(task, state, g, error), swept=(h, g))


def look(task: Task, x: Array, u: Array, h: float) -> Generator[Query, Answer, tuple[Array, Array, Array]]:
    """Along two directions: slopes from both sides, S(h)/h with S(h) = f(x + hu) + f(x − hu) − 2f(x), and the values."""
    query = Query(x, task.all, Explicit(u), h, Stencil.QUADRATIC, Purpose.CERTIFICATE)
    answer = yield query
    return slopes(query, answer)[0], h * curvatures(query, answer)[0], answer.values


def widened(
    task: Task, x: Array, u: Array, h: float, c: Array, bends: Array
) -> Generator[Query, Answer, tuple[Array, Array, Array]]:
    """With a second look at 10h: slopes, extrapolated to x where points must stay inside, κ without the curvature, and S(10h)/10h."""
    further, wider, _ = yield from look(task, x, u, WIDER * h)
    return (
        (WIDER * c - further) / (WIDER - 1) if task.inside else c,
        (WIDER * bends - wider) / (WIDER - 1),
        wider,
    )


def certificate_price(task: Task, state: State) -> int:
    """Two looks, and slopes along every coordinate twice, or once after a sweep: the most before further directions are looked along."""
    return 2 * LOOK * task.n + (1 if state.swept else 2) * task.sweep_cost


def certify(task: Task, state: State, rng: np.random.Generator) -> Action:
    r"""A bound of the Frank-Wolfe gap at x, from all components, bought in steps until it is low enough.

    Two Gaussian u test a gradient g, wherever it comes from: c − gᵀu, c the two-sided slope along u, is eᵀu with e = ∇f(x) − g,
    and ‖e‖ exceeds thirteen times the greater of the two with probability 0.4 % at most. A kink is seen as S(h)/h = κ + Hh, and
    makes the sides of a slope differ by κ. So the bound is the gap of g and 13(max|c − gᵀu| + ½ max κ) times the size of the set. The steps:
    the belief is tested, κ taken for S(h)/h; the same directions at 10h tell κ from H; two more directions, where half of the
    error would do, make 3.2 of the 13; g is measured by forward slopes along every coordinate, and by backward ones. Where points must stay inside, slopes are those of a point at a distance in proportion
    to h: c is extrapolated from h and 10h, and g from h and 2h.
    """
    x, values, n, swept = state.x, state.values, task.n, state.swept
    (u, others), h = rng.standard_normal((2, task.dim, 2)), values.step(task, SWEEP)
    near = min(h, 0.99 * task.reach / (WIDER * float(np.linalg.norm([u, others], axis=1).max())))
    c, bends, seen = yield from look(task, x, u, near)
    kink, longest, both, g = bends, near, False, state.belief.g
    noise = max(values.noise / math.sqrt(n), ROUNDING * float(np.abs(seen).max()))
    noise = (
        noise if np.ptp(seen) > 0 else max(noise, values.range)
    )  # a plateau: its steps may be as high as all that was seen
    rounding = 5.0 * noise / near  # what κ shows where there is none
    afar = task.inside or values.range == 0  # one value is all that was seen
    while True:
        vertex = task.lmo(g).dense()
        size = max(values.size, float(np.linalg.norm(x - vertex)))
        wide, most, finest = longest > near, float(np.abs(kink).max()), min(near, swept[0] if swept else h)
        error = float(np.abs(c - u.T @ g).max()) + noise / near + 0.5 * min(most, rounding)
        concave = max(-float(bends.min()) - 2 * rounding, 0.0) / longest * size**2 / task.dim
        times = SURE[u.shape[1]] * size
        sure = Certificate(
            float(g @ (x - vertex)),
            times * error,
            times * 0.5 * max(most - rounding, 0.0),
            floor(task, noise, finest) * size,
            concave,
        )
        enough, left = goal(task, replace(state, certificate=sure)), task.remaining
        more = (1 + wide) * LOOK * n
        helps = u.shape[1] == 2 and max(sure.gap, 0.0) + HALF * sure.error <= enough
        if sure.bound <= enough and (wide or not afar):
            break
        if not wide and LOOK * n <= left and (afar or 2 * sure.kink > enough):
            c, kink, bends = yield from widened(task, x, u, near, c, kink)
            longest = WIDER * near
        elif helps and more <= left and (both or more < task.sweep_cost):
            along, bend, _ = yield from look(task, x, others, near)
            two = (yield from widened(task, x, others, near, along, bend)) if wide else (along, bend, bend)
            u, (c, kink, bends) = np.hstack([u, others]), np.hstack([(c, kink, bends), two])
        elif both or task.sweep_cost > left or (swept and sure.gap - sure.noise > enough):
            break
        elif swept is None:
            g = yield from coordinate_slopes(task, x, h)
            swept = h, g
        else:
            ratio = 2.0 if task.inside else -1.0
            other = yield from coordinate_slopes(task, x, ratio * swept[0])
            g, both = (ratio * swept[1] - other) / (ratio - 1), True
    state = known(task, state, g, error / math.sqrt(task.dim)) if swept else state
    return replace(state, swept=swept, certificate=sure, value=float(seen[0, -1]))


def floor(task: Task, noise: float, h: float) -> float:
    """What the noise of the values leaves in a bound from slopes of radius h, relative to the set; extrapolation has three times as much."""
    return (3 if task.inside else 1) * SURE[2] * noise * math.sqrt(task.dim) / h


def goal(task: Task, state: State) -> float:
    """The bound to reach."""
    return tolerance(task, state) if task.gap_tol is None else task.gap_tol


def tolerance(task: Task, state: State) -> float:
    """The gap that values can still show: twice the slope whose whole decrease noise hides, or three times what noise leaves in a bound."""
    values, sure = state.values, state.certificate
    least = floor(task, values.noise / math.sqrt(task.n), values.step(task, SWEEP)) * values.size
    shown = max(2 * math.sqrt(2 * state.model.widest * values.unseen), 3 * (sure.floor if sure else least))
    return min(shown, COARSE * values.range) if values.range > 0 else shown  # else all was one value


def spent(task: Task) -> bool:
    """Whether what is left of the budget buys nothing: less than one part in a hundred, and fewer than fifty queries."""
    return task.budget is not None and task.remaining < max(2, min(50, task.budget / 100))


def converged(task: Task, state: State) -> Ending | None:
    """A certificate at this x below the tolerance that rounding leaves; ``gap_tol`` is the session's to compare."""
    sure, tol = state.certificate, tolerance(task, state)
    if sure is None or task.gap_tol is not None or sure.bound > tol:
        return None
    if sure.concave > state.values.unseen and not state.model.disappointed:  # a saddle
        return None
    return Ending(
        True,
        f"The Frank-Wolfe gap at x is at most {sure.bound:.2g} (99 % confidence, from all components); "
        f"values with noise {state.values.noise:.1g} show none below {tol:.2g}.",
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
        limit = (
            f"a kink at x: slopes of the two sides differ, which leaves the gap uncertain by {sure.kink:.2g}"
        )
    else:
        limit = (
            f"the noise of the values, about {values.noise:.1g}, leaves the gap uncertain by {sure.noise:.2g}"
        )
    idle = task.paid - state.progress
    return Ending(False, f"No decrease was seen for {idle:,} queries. What limits: {limit}.")
