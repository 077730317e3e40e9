r"""W values a round, side by side: several steps of one model, and points that make the next model a good one.

    BEGIN   x₀, a point along every direction, and designed points up to a multiple of W, in one query
    repeat  s = argmin of the model over X within Δ
            TRIALS  x + s; argmin within 2Δ, 4Δ, 16Δ if |s| is about Δ, and the vertex lmo(g); within |s|/2, |s|/4
            DESIGN  the rest: members about |s|/2 from x + s where the posterior variance is largest     (:mod:`.spread`)
            one query of W points; x = the best of all; Δ by what the trials showed, ρ follows
            SELECT  near and diverse points by pivoted Cholesky
            FIT     least change; regression by the third order from 0.9 of a full quadratic on

The first time that ρ falls, a point of the design gives way to the best point once more: do values repeat?
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from zofw.algorithms.interpolation import regression, trust_region
from zofw.algorithms.interpolation.design import first_points
from zofw.algorithms.interpolation.frame import Frame
from zofw.algorithms.interpolation.spread import cube, kernel, pivots, spread
from zofw.algorithms.interpolation.state import Action, State, arrived, ask, tame, values_at
from zofw.algorithms.interpolation.subproblem import Steps
from zofw.core import Array, Indices, Purpose, Query, Task

SHORTER = (0.5, 0.25)  # times the length of the step: trials
SHARE = 0.5  # of the points of a round, up to 8 workers: trials
RADIUS = 0.5  # of the length of the step: that of the design around its end
FULL = 0.9  # of a full quadratic: from so many points on the model regresses
THIRD = 0.03  # deviation of a value at distance Δ, over that of a second derivative: the third order
SURE = 10.0  # times the median error of the predictions over the median change
RHO = 0.1  # of Δ: ρ is at most that
REACH = 30.0  # times Δ: points farther away leave the model
AGAIN = 3  # values more at the best point, where two differ
MANY = 16  # workers from which these are asked for at once
STOCHASTIC = 1e-12  # of the value: two values at one point differ by more than rounding
POOL = 4  # times the points of the model: the nearest ones, from which these are chosen
FAR = 0.1  # of the length: a trial nearer than this to another says the same


def fill(task: Task, count: int) -> int:
    """Return the points that make ``count`` a multiple of the workers, as far as the budget pays for them."""
    return max(int(min(-count % task.points_at_once, task.remaining // task.n - count)), 0)


def first_round(task: Task, frame: Frame, state: State, rng: np.random.Generator) -> tuple[State, Array]:
    """Return points to begin with: x₀, unless it is known, one along every direction, and designed ones for idle workers."""
    state, _, edges = trust_region.planned(task, frame, state)
    known = state.points if state.informed else state.points[:0]
    Z = np.vstack([state.points[len(known) :], edges])
    Z = Z[: int(min(len(Z), task.remaining // task.n))]
    more = spread(frame, np.vstack([known, Z]), state.z, state.delta, fill(task, len(Z)), state.atoms, rng)
    return replace(state, points=known, values=state.values[: len(known)]), np.vstack([Z, more])


def begin(task: Task, frame: Frame, state: State, rng: np.random.Generator) -> Action:
    """Ask for the first points in one query, x₀ to the last bit as it was given."""
    start = state.x
    state, Z = first_round(task, frame, state, rng)
    if not len(Z):
        return replace(state, regime="done")
    X = np.array([frame.member(z) for z in Z])
    if not state.informed:
        X[0] = start
    values = np.append(state.values, (yield from values_at(task, X))[0])
    best, known = int(np.argmin(values)), len(state.values)
    lowest = X[best - known] if best >= known else state.lowest
    state = replace(
        state, points=np.vstack([state.points, frame.inward(X)]), values=values, best=best, lowest=lowest
    )
    return replace(state, regime="done") if len(values) == 1 else fit(frame, state, 0.0)


def restart(
    task: Task, frame: Frame, state: State, delta: float, axes: Array | None, rng: np.random.Generator
) -> Action:
    """Start a new model around the best point, from points about Δ away from it."""
    edges = first_points(frame, state.z, delta, axes)
    known = np.vstack([state.z, edges])
    more = spread(frame, known, state.z, delta, fill(task, len(edges)), state.atoms, rng)
    state = replace(state, delta=delta, rho=delta, H=0 * state.H, history=state.history[:0], quiet=0)
    state = yield from ask(task, frame, state, np.vstack([edges, more]))
    return fit(frame, state, 0.0)


def advance(task: Task, frame: Frame, state: State, rng: np.random.Generator) -> Action:
    """One round: trials of the model's minimiser and a design around it; or points near x; or the regime is at its end."""
    state, found = next_step(task, frame, state)
    if found is not None:
        return (yield from _round(task, frame, state, found, rng))
    if state.regime == "certificate" or state.stint == 0:
        return state
    return (yield from _renew(task, frame, state, rng))


def next_step(task: Task, frame: Frame, state: State, waiting: bool = False) -> tuple[State, Steps | None]:
    """Return the state with a step that values can show; without one it calls for a certificate, for points near x, or its stint is over.

    While points are ``waiting`` that are under way, radii stay as they are.
    """
    while not trust_region.ended(frame, state) and state.quiet < trust_region.QUIET:
        found = state.step(frame)
        visible = found.decrease > trust_region.noise_floor(state)
        early = state.bound is None and task.gap_tol is None
        if early and trust_region.certain(task, frame, state, found.decrease):
            return replace(state, regime="certificate", checked=len(state.values)), None
        if visible and float(np.linalg.norm(found.s)) >= state.rho / trust_region.STEP:
            return state, found
        if waiting or trust_region.farthest(state) is not None:
            return state, None
        state = replace(trust_region.shrink(frame, state), quiet=0 if visible else state.quiet + 1)
        certain = trust_region.certain(task, frame, state, found.decrease)
        if state.bound is None and (state.quiet == 1 or certain):
            return replace(state, regime="certificate", checked=len(state.values)), None
    return replace(state, stint=0), None


def radius_of_design(state: State, found: Steps) -> float:
    """Return the radius of the design around the end of the step."""
    return min(state.delta, max(float(np.linalg.norm(found.s)) * RADIUS, state.rho))


def _round(task: Task, frame: Frame, state: State, found: Steps, rng: np.random.Generator) -> Action:
    W = int(min(task.points_at_once, task.remaining // task.n))
    steps = trials(frame, state, found, W)
    radius = radius_of_design(state, found)
    again = min(AGAIN if W >= MANY else 1, W - len(steps)) if np.isnan(state.noise) and state.shrunk else 0
    ends = state.z + steps
    design = spread(
        frame, np.vstack([state.points, ends]), ends[0], radius, W - len(ends) - again,
        np.vstack([found.atoms, state.atoms]), rng,
    )  # fmt: skip
    before, first = state, len(state.values)
    state = yield from ask(task, frame, state, np.vstack([ends, design]), again=again)
    state = replace(state, atoms=trust_region.pool(found.atoms, state.atoms))
    if again:
        state = yield from noise_of(task, frame, state, [before.value, *state.values[-again:]])
        if state.regime == "regression":
            return regression.estimate(frame, state, state.z)
    return fit(frame, judge(frame, before, state, steps, first), surprise(frame, before, state, first))


def noise_of(task: Task, frame: Frame, state: State, values: list[float]) -> Action:
    """Set the noise to the standard deviation of values at one point, asked for more often if two differ."""
    if np.ptp(values) <= STOCHASTIC * np.abs(values).max():
        return replace(state, noise=0.0)
    more = int(min(AGAIN + 2 - len(values), task.remaining // task.n))
    if more > 0:
        query = Query(np.tile(state.lowest, (more, 1)), task.all, purpose=Purpose.NOISE)
        answer = yield query
        values = [*values, *answer.values[:, 0]]
        state = arrived(frame, state, [(one.query, one.row, one.value) for one in answer.late])[0]
    noise = float(np.std(values, ddof=1))
    return replace(state, noise=noise, repeated=noise, regime="regression")


def trials(frame: Frame, state: State, found: Steps, W: int) -> Array:
    """Return the steps to try, the minimiser of the model first, each of them different from those before."""
    most = min(W, max(1, round(SHARE * W)) if W <= 8 else min(8, max(4, W // 7)))
    length = float(np.linalg.norm(found.s))
    longer = [times * state.delta for times in state.longer] if length > 0.7 * state.delta else []
    shorter = [times * length for times in SHORTER]
    steps = [found.s]
    radii = [*longer[:1], np.inf, *shorter[:1], *longer[1:], *shorter[1:]]
    for radius in radii if state.reaches else [radius for radius in radii if radius < np.inf]:
        if len(steps) == most:
            break
        near = radius < np.inf
        new = replace(state, delta=radius).step(frame).s if near else frame.lmo(state.g) - state.z
        least = FAR * min(float(np.linalg.norm(new)), length)
        if min(float(np.linalg.norm(new - s)) for s in steps) > least:
            steps.append(new)
    return np.array(steps)


def judge(frame: Frame, before: State, state: State, steps: Array, first: int) -> State:
    """Set Δ and ρ by the decreases of the trials over the promised ones."""
    k = len(steps)
    lengths = np.linalg.norm(steps, axis=1)
    gains = before.value - tame(state.values)[first : first + k]
    promised = -before.predicted(frame, state.points[first : first + k])
    ratios = np.where(promised > 0, gains / np.where(promised > 0, promised, 1.0), 0.0)
    best, delta = int(np.argmax(gains)), state.delta
    if ratios[0] < 0.1:
        delta = float(lengths[best]) if gains[best] > 0 else max(float(lengths.min()), delta / 8)
    elif ratios[0] > 0.7:
        delta = max(delta, 2 * float(lengths[0]))
    if gains[best] > 0 and lengths[best] > lengths[0]:
        delta = max(
            delta if ratios[0] >= 0.1 else 0.0, float(lengths[best]) * (2 if ratios[best] > 0.7 else 1)
        )
    rho = min(state.rho, max(RHO * delta, 0.0))
    quiet = 0 if gains[best] > 0 else state.quiet
    return replace(
        state, delta=max(delta, rho), rho=rho, ratio=float(ratios[0]), quiet=quiet,
        shrunk=state.shrunk or bool(ratios[0] < 0.1),
    )  # fmt: skip


def surprise(frame: Frame, before: State, state: State, first: int) -> float:
    """Return how wrong the predictions of the new values were, from 0 to 1: the share of the third order that the fit allows."""
    values = tame(state.values)[first:]
    change = values - before.value
    error = change - before.predicted(frame, state.points[first:])
    unit = float(np.median(np.abs(change)))
    return min(1.0, SURE * float(np.median(np.abs(error))) / unit) if unit > 0 else 1.0


def _renew(task: Task, frame: Frame, state: State, rng: np.random.Generator) -> Action:
    """A round of designed points near x, in place of far ones."""
    W = int(min(task.points_at_once, task.remaining // task.n))
    radius = max(min(0.5 * state.delta, 10 * state.rho), state.rho)
    Z = spread(frame, state.points, state.z, radius, W, state.atoms, rng)
    before, first = state, len(state.values)
    if not len(Z):
        return trust_region.shrink(frame, state)
    state = yield from ask(task, frame, state, Z)
    return fit(frame, replace(state, delta=max(radius, state.rho)), surprise(frame, before, state, first))


def select(state: State) -> Indices:
    """Return the points of the model: the best one, then by pivoted Cholesky, near and diverse."""
    r = state.points.shape[1]
    room = min((r + 1) * (r + 2) // 2, max(trust_region.MOST_POINTS, 3 * r // 2))
    away = (state.points - state.z) / state.delta
    distances = np.linalg.norm(away, axis=1)
    near = np.argsort(distances, kind="stable")[: POOL * room]
    near = near[: max(int(np.count_nonzero(distances[near] <= REACH)), r + 1)]
    U = away[near]
    weights = np.maximum(1.0, distances[near]) ** -4
    S = kernel(U, U) * weights[:, None] * weights
    rest = S - np.outer(S[0], S[0] / S[0, 0])  # near[0] is the best point itself
    return np.asarray(near[np.append(0, pivots(rest, np.zeros(len(S)), room - 1))], dtype=np.int64)


def fit(frame: Frame, state: State, wrong: float) -> State:
    """The interpolant of least change, or from 0.9 of a full quadratic on the regression, around the best point."""
    state = replace(state, chosen=select(state))
    Y, r = state.points[state.chosen], state.points.shape[1]
    nu: float | Array = 0.0
    if len(Y) >= FULL * (r + 1) * (r + 2) / 2:
        nu = (THIRD * wrong * cube((Y - state.z) / state.delta)) ** 2
    state = state.regressed(frame, nu)
    history = np.vstack([state.history, [state.delta, float(np.linalg.norm(state.H))]])
    return replace(state, history=history)
