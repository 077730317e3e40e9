"""The regime of the model: step, replace a point, fit, and improve the geometry when that is what is wrong."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from zofw.algorithms.interpolation import regression
from zofw.algorithms.interpolation.design import first_points
from zofw.algorithms.interpolation.frame import Frame
from zofw.algorithms.interpolation.model import System
from zofw.algorithms.interpolation.numerics import spectral
from zofw.algorithms.interpolation.state import SAME, Action, State, ask, asked
from zofw.algorithms.interpolation.subproblem import Steps, trust_region_step
from zofw.algorithms.model.certificate import COARSE
from zofw.algorithms.model.noise import ROUNDING
from zofw.core import WORST, Array, Indices, Purpose, Query, Task

FIRST_WIDTH = 0.25  # of the mean width of the set
FIRST_RADIUS = (0.06, 0.15)  # of its diameter: the least and the most
LEAST_RADIUS = 1e-12  # of the diameter
STEP = 2.0  # times its length at least: ρ, of a step that is tried
MOST_POINTS = 250  # or 3r/2: r + 2 would leave one number for all of H
FAR = (
    40.0,
    20.0,
)  # times Δ: beyond, a point leaves before another joins; where the last step went as promised, and else
NEAR = (100.0, 10.0)  # times ρ: beyond, a point is replaced before ρ falls; likewise
AS_PROMISED = 0.5  # of the promised decrease: by how much at most that of a step differs from it
POOL = 3  # atoms kept for each dimension
NOISES = 1.0  # deviations: a promised decrease below is for the regression
CONFIRM = 1  # values more at a new best point, if values are noisy
SHARE = 0.1  # of the tolerance that a certificate grants: a gap of the model that is worth one
QUIET = 3
KINK_AFTER = 8  # values a dimension: before, the model gains more than a bundle, of which a cut costs r + 1
ALONG = 0.3  # of its length: what a step adds to the span of others, if it is new


def design(task: Task, frame: Frame, state: State) -> Action:
    """A point along every direction of the hull, as many as the budget allows, and the linear model through them."""
    state, near, edges = planned(task, frame, state)
    before = len(state.points)
    edges = edges[: int(min(len(edges), task.remaining // task.n))]
    if len(edges) + len(near) == 0:
        return replace(state, regime="done")
    if len(edges):
        state = yield from _around(task, frame, state, edges)
    return fit(frame, replace(state, chosen=np.concatenate([[0], near, _good(state, before)])))


def _good(state: State, first: int) -> Indices:
    """Return the indices of the points from ``first`` on at which f has values; of all if these are too few for a model."""
    new = np.arange(first, len(state.points))
    good = new[state.values[first:] < WORST]
    return good if len(good) >= len(state.g) else new


def _around(task: Task, frame: Frame, state: State, edges: Array) -> Action:
    """Values at the ends of first edges; where f fails, also half as far on the other side, or on the same if that is no member."""
    z = state.z
    state = yield from ask(task, frame, state, edges)
    ways = (
        edges[state.values[-len(edges) :] >= WORST][: max(int(min(len(edges), task.remaining / task.n)), 0)]
        - z
    )
    again = [z - way / 2 if frame.sure_to_contain(z - way / 2) else z + way / 2 for way in ways]
    return (yield from ask(task, frame, state, np.array(again))) if again else state


def planned(task: Task, frame: Frame, state: State) -> tuple[State, Indices, Array]:
    """Set the first radius. Return also the known points that are near and the points along the directions without one."""
    own = not np.array_equal(state.x, task.set.initial_point(task.dim))
    least, most = (share * state.size for share in FIRST_RADIUS)
    delta = state.own_start * state.width if own else min(max(FIRST_WIDTH * state.width, least), most)
    delta = max(delta, STEP * frame.coarsest)
    near = np.zeros(0, dtype=np.int64)
    if len(state.points) > 1:
        delta = float(np.clip(_spacing(state), delta, most))
    edges = first_points(frame, state.z, delta)
    if len(state.points) > 1:
        near, edges = _wanting(state, edges, delta)
    return replace(state, delta=delta, rho=delta), near, edges


def restart(task: Task, frame: Frame, state: State, delta: float, axes: Array | None = None) -> Action:
    """A new model around the best point, from points Δ away from it."""
    first = len(state.points)
    state = replace(state, delta=delta, rho=delta, H=0 * state.H, history=state.history[:0], quiet=0)
    here = state.best
    state = yield from _around(task, frame, state, first_points(frame, state.z, delta, axes))
    return fit(frame, replace(state, chosen=np.concatenate([[here], _good(state, first)])))


def _spacing(state: State) -> float:
    """How far from x the points lie that were known before, as many of them as there are dimensions."""
    distances = np.sort(np.linalg.norm(state.points[1:] - state.z, axis=1))
    return float(np.median(distances[: state.points.shape[1]]))


def _wanting(state: State, edges: Array, delta: float) -> tuple[Indices, Array]:
    """The points known before that are near x, at most 2r, and the edges along which none of them lies."""
    r, away = state.points.shape[1], state.points - state.z
    distances = np.linalg.norm(away, axis=1)
    order = np.argsort(distances, kind="stable")
    near = order[(distances[order] > SAME * delta) & (distances[order] <= 2 * delta)][: 2 * r]
    span, wanted = np.zeros((r, 0)), []
    for k, step in enumerate([*away[near], *(edges - state.z)]):
        rest = step - span @ (span.T @ step)
        length = float(np.linalg.norm(rest))
        if length > ALONG * float(np.linalg.norm(step)) and span.shape[1] < r:
            span = np.column_stack([span, rest / length])
            wanted += [k - len(near)] * (k >= len(near))
    return near, edges[wanted]


def advance(task: Task, frame: Frame, state: State) -> Action:
    """One more value: at the minimiser of the model, or where the model is least sure; or the regime is at its end."""
    tried: set[int] = set()  # points known already that were taken in again: two could take turns for ever
    while not ended(frame, state) and state.quiet < QUIET:
        found = state.step(frame)
        visible = found.decrease > noise_floor(state)
        if state.noise > 0 and not found.decrease > NOISES * state.repeated:
            return regression.estimate(frame, replace(state, regime="regression"), state.z)
        early = state.bound is None and task.gap_tol is None
        if early and certain(task, frame, state, found.decrease):
            return replace(state, regime="certificate", checked=len(state.values))
        if visible and float(np.linalg.norm(found.s)) >= state.rho / STEP and frame.tells(found.s):
            known = asked(frame, state, state.z + found.s)
            if known is None:
                return (yield from _move(task, frame, state, found))
            if known not in state.chosen and known not in tried:
                tried.add(known)
                state = fit(frame, _include(state, known, state))
                continue
        far = farthest(state)
        if far is not None:
            return (yield from _improve(task, frame, state, far))
        if state.noise > 0 and state.rho <= state.least_delta:
            return regression.estimate(frame, replace(state, regime="regression"), state.z)
        state = replace(shrink(frame, state), quiet=0 if visible else state.quiet + 1)
        if state.bound is None and (state.quiet == 1 or certain(task, frame, state, found.decrease)):
            return replace(state, regime="certificate", checked=len(state.values))
    return replace(state, stint=0)


def _move(task: Task, frame: Frame, state: State, found: Steps) -> Action:
    """The value at the minimiser; what it says of the radius; the point joins the model."""
    fitted, before, length = state, state.value, float(np.linalg.norm(found.s))
    state = yield from ask(task, frame, state, state.z[None, :] + found.s)
    new = len(state.values) - 1
    if state.values[new] >= WORST and state.alone(new):
        return replace(state, delta=max(min(state.delta, length) / 2, state.rho), ratio=0.0)
    if state.noise > 0 and state.best == new:
        state = yield from confirmed(task, state)
    allowed = state.repeated if state.noise > 0 else 0.0
    ratio = (before - float(state.values[new]) + allowed) / (found.decrease + allowed)
    delta = state.delta
    if ratio < 0.1:
        delta = max(delta / 2, state.rho, min(state.least_delta, delta))
    elif ratio > 0.7:
        delta = max(delta, 2 * length)
    atoms = pool(found.atoms, state.atoms)
    state = replace(state, delta=delta, ratio=ratio, atoms=atoms, quiet=0 if ratio > 0 else state.quiet)
    state = fit(frame, _include(state, new, fitted))
    return shrink(frame, state) if ratio < 0.1 and delta <= state.rho and farthest(state) is None else state


def confirmed(task: Task, state: State) -> Action:
    """Ask for the best point again; the mean of its values counts, and another point may then be the best."""
    again = int(min(CONFIRM, task.remaining // task.n))
    if again < 1:
        return state
    more = (yield Query(np.tile(state.lowest, (again, 1)), task.all, purpose=Purpose.NOISE)).values[:, 0]
    values = state.values.copy()
    values[state.best] = np.mean([state.value, *more])
    return replace(state, values=values)


def _improve(task: Task, frame: Frame, state: State, i: int) -> Action:
    """In place of a far point one near x where its Lagrange polynomial is large."""
    away = float(np.linalg.norm(state.points[state.chosen[i]] - state.z))
    radius = max(min(0.5 * state.delta, 0.1 * away), state.rho)
    g, H = System.of(state.points[state.chosen], state.z, state.delta).polynomial(i)
    values, V = spectral(H)
    steps = [
        trust_region_step(frame, state.z, g, H, radius, state.atoms, spectrum=(values, V)).s,
        trust_region_step(
            frame, state.z, -g, -H, radius, state.atoms, spectrum=(-values[::-1], V[:, ::-1])
        ).s,
    ]
    s = max(steps, key=lambda s: abs(float(g @ s + 0.5 * s @ H @ s)))
    if not frame.tells(s):
        return shrink(frame, state)
    known = asked(frame, state, state.z + s)
    if known is None:
        state = yield from ask(task, frame, state, state.z[None, :] + s)
        known = len(state.values) - 1
    lost = state.values[known] >= WORST and state.alone(known)
    if known not in state.chosen and not lost:
        chosen = state.chosen.copy()
        chosen[i] = known
        return fit(frame, replace(state, chosen=chosen))
    if len(state.chosen) > frame.rank + 1:
        return fit(frame, replace(state, chosen=np.delete(state.chosen, i)))
    return shrink(frame, state)


def noise_floor(state: State) -> float:
    """Return the decrease that rounding hides: in all values or, if the certificate at x failed, in those of the model."""
    some = slice(None) if state.bound is None else state.chosen
    return ROUNDING * float(np.abs(state.values[some][state.ordinary[some]]).max(initial=0.0))


def certain(task: Task, frame: Frame, state: State, decrease: float) -> bool:
    """Return True if the gap of the model is well below what a certificate would grant, and the model is to be trusted.

    It is if as many values as a certificate costs were paid, since the last one too.
    """
    early = task.gap_tol is None and state.checked == 0
    if len(state.values) < (2 if early else 4) * frame.rank + state.checked:
        return False
    if task.gap_tol is None:
        seen = state.values[state.ordinary]
        bend = max(float(np.diagonal(state.H).max()), 0.0) * state.size**2
        goal = SHARE * min(2 * float(np.sqrt(8 * bend * noise_floor(state))), COARSE * float(np.ptp(seen)))
    else:
        goal = 0.5 * task.gap_tol
    return decrease <= goal and float(state.g @ (state.z - frame.lmo(state.g))) <= goal


def farthest(state: State) -> int | None:
    """The point of the model that is farthest from x, if that is too far."""
    distances = np.linalg.norm(state.points[state.chosen] - state.z, axis=1)
    i = int(np.argmax(distances))
    return i if distances[i] > max(2 * state.delta, NEAR[_wrong(state)] * state.rho) else None


def _wrong(state: State) -> bool:
    """Whether the last step did not go as promised, so that the geometry of the model matters."""
    return abs(state.ratio - 1.0) > AS_PROMISED


def _include(state: State, new: int, fitted: State) -> State:
    """A point joins the model: while the model may grow, and else for the one whose loss the geometry bears best.

    Lagrange polynomials do not depend on centre and scale: those of the last fit are factorised already.
    """
    r, paid = state.points.shape[1], len(state.values)
    room = min((r + 1) * (r + 2) // 2, max(MOST_POINTS, 3 * r // 2), 2 * r + 1 + max(0, (paid - 2 * r) // 2))
    Y, x = state.points[state.chosen], state.z
    distances = np.linalg.norm(Y - x, axis=1)
    if len(Y) < room and distances.max() <= FAR[_wrong(state)] * state.delta:
        return replace(state, chosen=np.append(state.chosen, new))
    counts = np.abs(System.of(Y, fitted.z, fitted.delta).lagrange(state.points[new] - fitted.z))
    score = counts * np.maximum(1.0, distances / state.delta) ** 4
    score[state.chosen == state.best] = -1.0
    chosen = state.chosen.copy()
    chosen[int(np.argmax(score))] = new
    return replace(state, chosen=chosen)


def fit(frame: Frame, state: State) -> State:
    """Return the interpolant of least change around the best point, and how |H| goes with Δ."""
    state, history = state.fitted(frame), state.history
    if len(state.chosen) > 2 * len(state.g):  # before, |H| grows because the model does
        history = np.vstack([history, [state.delta, float(np.linalg.norm(state.H))]])
    return replace(state, history=history)


def ended(frame: Frame, state: State) -> bool:
    """Return True if ρ is as small as it gets: no step of that length reaches the resolution."""
    return state.rho <= LEAST_RADIUS * state.size or state.rho < STEP * frame.coarsest


def shrink(frame: Frame, state: State) -> State:
    least = STEP * frame.coarsest
    rho = max(state.rho / 10, least) if state.rho > least else state.rho / 10
    rho = max(rho, min(state.rho, state.least_delta))
    return replace(
        state, rho=rho, delta=max(state.delta / 2, rho, min(state.least_delta, state.delta)), shrunk=True
    )


def pool(new: Array, old: Array) -> Array:
    atoms = np.vstack([new, old])
    first = {atom.tobytes(): i for i, atom in reversed(list(enumerate(atoms)))}
    return atoms[sorted(first.values())][: POOL * (atoms.shape[1] + 1)]


def kink(state: State) -> bool:
    """Whether |H| grows like 1/Δ, as the curvature of a kink does: medians of the first and last third of the history."""
    r, n = state.points.shape[1], len(state.history)
    if len(state.values) < KINK_AFTER * r or n < 9:
        return False
    third = n // 3
    (d1, h1), (d2, h2) = np.median(state.history[:third], axis=0), np.median(state.history[-third:], axis=0)
    return bool(d2 <= d1 / 4 and min(h1, h2) > 0 and np.log(h2 / h1) >= 0.65 * np.log(d1 / d2))
