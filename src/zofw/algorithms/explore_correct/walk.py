"""WALK: exploring on the move, for sets with too many vertices to be tried one by one."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from zofw.algorithms.explore_correct.correct import variance_of, with_atom
from zofw.algorithms.explore_correct.explore import explore
from zofw.algorithms.explore_correct.moves import Moves
from zofw.algorithms.explore_correct.state import Action, State
from zofw.core import Purpose, Query, Stencil, Task
from zofw.differences import base_values, slopes
from zofw.directions import Explicit


def walk(task: Task, state: State, rng: np.random.Generator, cost: float) -> Action:
    """Explore on the move, and then go to the best point of the segment from the start to where that led, or twice as far.

    The slope there and the values there and at the start make a parabola; where nothing was walked, at x and at a vertex. The
    slope c is shrunk by 1 − v/(mc²) (James and Stein, towards staying), and the batch doubles where √(v/m) exceeds |c|/2, the
    norm test. The curvature found is L of the next walk, within a factor of four of the last.
    """
    start, moves, old = state.x, Moves(state.x), state.sketches.L
    if old > 0:
        state = yield from explore(task, state, rng, cost, moves)
    here, walker = moves.covered, state.walker or state.belief.shrunk()
    target = moves.target() if here > 0 else task.lmo(state.belief.g)
    along = target.dense() - start
    square = float(along @ along)
    if not square > 0:  # x is the vertex: something has to be learnt, where nothing was asked
        return state if old > 0 else (yield from explore(task, state, rng, cost))
    span, h = -here if here > 0 else 1.0, state.values.radius(task, 3)
    batch = state.sample(task, rng, state.sketches.line)
    side = h if here + h <= 1 else -h  # no step leaves the segment
    U = Explicit(along[:, None] * np.array([side / h, span / h]))
    query = Query(start + here * along, batch, U, h, Stencil.FORWARD, Purpose.LINE_SEARCH, variance=True)
    answer = yield query
    near, far = slopes(query, answer)[0] * np.array([h / side, h / span])
    bend = 2 * (far - near) / (span - side)
    c, m = near - 0.5 * side * bend, len(batch)
    error = float(variance_of(answer)[0]) / m * state.left_out(task, m)
    trusted = math.copysign(max(abs(c) - error / abs(c), 0.0), c) if c != 0 else 0.0
    furthest = min(1.0, 2 * here) if here > 0 else 1.0
    goal = here if trusted == 0 else 0.0 if trusted > 0 else furthest
    if bend > 0:
        goal = min(max(here - trusted / bend, 0.0), furthest)
    drift, L = (bend * (goal - here)) ** 2 / square / task.dim, max(bend, 0.0) / square
    size = 2 * m if error > 0.25 * c * c else m
    size = (
        size if state.values.random or size < task.n / 2 else task.n
    )  # State.sample takes all from there on
    measured = along[:, None], np.array([c + (goal - here) * bend]), np.array([error]), drift
    L = max(min(L, 4 * old), old / 4) if old > 0 else L
    return replace(
        state,
        x=start + goal * along,
        belief=state.belief.agree(*measured),
        walker=walker.agree(*measured),
        model=with_atom(state.model, target, goal),
        sketches=replace(state.sketches, L=L, line=size),
        swept=0.0,
        certificate=None,
        value=float(base_values(query, answer)[0]),
        brought=max((here - goal) * (c + 0.5 * (goal - here) * bend), 0.0),
    )
