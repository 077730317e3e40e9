r"""One value in, one point out: the model changes with every value, and points under way count as known.

    repeat  s = argmin of the model over X within Δ
            ask x + s; if that is under way or known, another trial of :mod:`.rounds`; if these are too, a designed point
            go on with the first value that comes, of whatever point: Δ by the decrease that its trial promised when it was asked

Values come in any order. A row of ``due`` is a point under way: query, row, kind, value of the best point, promised decrease and
length when it was asked, coordinates. The certificate and sweeps of kinks ask whole queries; what comes meanwhile joins there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from zofw.algorithms.interpolation import regression, rounds, trust_region
from zofw.algorithms.interpolation.frame import Frame
from zofw.algorithms.interpolation.spread import candidates, spread
from zofw.algorithms.interpolation.state import FACTS, Action, State, arrived
from zofw.algorithms.interpolation.subproblem import Steps
from zofw.core import Array, OutOfBudget, Query, Task

DESIGN, TRIAL, AGAIN = 0.0, 1.0, 2.0  # kinds of points under way
NEW = 0.03  # of its length: a trial nearer than this to a point that is known or under way says the same


def begin(task: Task, frame: Frame, state: State, rng: np.random.Generator) -> Action:
    """Ask for x₀, a point along every direction and designed points; go on with the first value."""
    state, Z = rounds.first_round(task, frame, state, rng)
    return (yield from _ask(task, frame, state, Z))


def advance(task: Task, frame: Frame, state: State, rng: np.random.Generator) -> Action:
    """Keep all workers busy, and use the next value."""
    free = _free(task, state)
    if free <= 0 and not len(state.due):
        raise OutOfBudget
    found = None
    if len(state.values) > frame.rank:
        waiting = len(state.due) >= task.points_at_once
        state, found = rounds.next_step(task, frame, state, waiting)
        if state.regime == "certificate" or (state.stint == 0 and found is None):
            return state
    if found is not None:
        return (yield from _step(task, frame, state, found, free, rng))
    return (yield from _design(task, frame, state, free, rng))


def regress(task: Task, frame: Frame, state: State, rng: np.random.Generator) -> Action:
    """Keep all workers busy with points of the regression, and use the next value."""
    free = _free(task, state)
    z = regression.centre(frame, state)
    Z = regression.sample(task, frame, state, free, rng) if free > 0 else np.zeros((0, frame.rank))
    state = yield from _ask(task, frame, state, Z)
    return regression.estimate(frame, state, z)


def _free(task: Task, state: State) -> int:
    """Return how many points to ask for: at least one, also if more are under way than there are workers now."""
    return int(min(max(task.points_at_once - len(state.due), 1), task.remaining // task.n))


def _known(frame: Frame, state: State) -> Array:
    """Return the points that are known or under way; a run of one worker has an empty ``due`` of no width."""
    return np.vstack([state.points, state.due.reshape(-1, FACTS + frame.rank)[:, FACTS:]])


def _step(
    task: Task, frame: Frame, state: State, found: Steps, free: int, rng: np.random.Generator
) -> Action:
    """Ask for trials of the model that are neither known nor under way, and designed points."""
    seen = _known(frame, state)
    Z: list[Array] = []
    facts: list[tuple[float, float, float]] = []
    if free > 0 and np.isnan(state.noise) and state.shrunk and not (state.due[:, 2] == AGAIN).any():
        Z, facts = [state.z], [(AGAIN, 0.0, 0.0)]
    for s in rounds.trials(frame, state, found, task.points_at_once):
        length = float(np.linalg.norm(s))
        if len(Z) < free and np.linalg.norm(seen - state.z - s, axis=1).min() > NEW * length:
            promise = -float(state.predicted(frame, (state.z + s)[None, :])[0])
            Z.append(state.z + s)
            facts.append((TRIAL, promise, length))
            seen = np.vstack([seen, Z[-1]])
    if len(Z) < free:
        radius = rounds.radius_of_design(state, found)
        more = spread(frame, seen, state.z + found.s, radius, free - len(Z), state.atoms, rng)
        Z, facts = [*Z, *more], facts + [(DESIGN, 0.0, 0.0)] * len(more)
    state = replace(state, atoms=trust_region.pool(found.atoms, state.atoms))
    return (yield from _ask(task, frame, state, np.array(Z).reshape(-1, frame.rank), facts))


def _design(task: Task, frame: Frame, state: State, free: int, rng: np.random.Generator) -> Action:
    """Ask for designed points near x."""
    radius = max(min(0.5 * state.delta, 10 * state.rho), state.rho)
    seen = _known(frame, state)
    centre = state.z if len(state.points) else frame.inward(state.x)
    Z = spread(frame, seen, centre, radius, free, state.atoms, rng)
    if not len(Z):
        Z = candidates(frame, centre, radius, 2 * free, state.atoms, rng)[:free]
    return (yield from _ask(task, frame, state, Z))


def _ask(
    task: Task,
    frame: Frame,
    state: State,
    Z: Array,
    facts: Sequence[tuple[float, float, float]] = (),
) -> Action:
    """Put points under way, and use the values that have come when there is at least one."""
    X = np.array([frame.member(z) for z in Z]).reshape(-1, task.dim)
    if not len(X):
        raise OutOfBudget
    facts = facts or [(DESIGN, 0.0, 0.0)] * len(X)
    answer = yield Query(X, task.all, enough=max(1, len(state.due) + len(X) - task.points_at_once + 1))
    base = state.value if len(state.values) else 0.0
    rows = [
        [answer.query, row, kind, base, promise, length, *z]
        for row, (z, (kind, promise, length)) in enumerate(zip(frame.inward(X), facts, strict=True))
    ]
    state = replace(state, due=np.vstack([state.due.reshape(-1, FACTS + frame.rank), rows]))
    come = np.flatnonzero(np.isfinite(answer.values[:, 0]))
    late = [(one.query, one.row, one.value) for one in answer.late]
    late += [(answer.query, int(row), float(answer.values[row, 0])) for row in come]
    before, first = state, len(state.values)
    state, facts_of = arrived(frame, state, late)
    if not len(facts_of):
        return state
    again = facts_of[:, 2] == AGAIN
    if again.any():
        values = [float(facts_of[again][0, 3]), float(state.values[first:][again][0])]
        state = yield from rounds.noise_of(task, frame, state, values)
    state = _judged(before, state, facts_of, first)
    if state.regime == "regression" or len(state.values) < 2:
        return state
    return rounds.fit(frame, state, rounds.surprise(frame, before, state, first) if first else 0.0)


def _judged(before: State, state: State, facts: Array, first: int) -> State:
    """Set Δ and ρ by the values that have come."""
    delta, shrunk, ratio = state.delta, state.shrunk, state.ratio
    for k, (kind, base, promise, length) in enumerate(facts[:, 2:FACTS]):
        value = float(state.values[first + k])
        if kind == TRIAL and promise > 0:
            ratio = (base - value) / promise
            if ratio < 0.1:
                delta, shrunk = min(delta, max(length / 2, delta / 8)), True
            elif ratio > 0.7 and value <= state.value:
                delta = max(delta, 2 * length)
    rho = min(state.rho, rounds.RHO * delta)
    quiet = 0 if state.best >= first else state.quiet
    return replace(state, delta=max(delta, rho), rho=rho, shrunk=shrunk, ratio=float(ratio), quiet=quiet)
