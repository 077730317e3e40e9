"""WALK: exploring on the move, for sets with too many vertices to be tried one by one."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from zofw.algorithms.explore_correct.correct import correct
from zofw.algorithms.explore_correct.explore import explore
from zofw.algorithms.explore_correct.moves import Moves
from zofw.algorithms.explore_correct.state import Action, Choice, State
from zofw.atoms import Dense
from zofw.core import Task


def walk(task: Task, state: State, rng: np.random.Generator, choice: Choice) -> Action:
    """Explore on the move, and correct the weights of two atoms there: the start, and the point of the set that the way led towards.

    Without a curvature nothing is walked: the first correction is between x and lmo(g).
    """
    state = replace(state, swept=0.0, certificate=None)  # they are of the start
    moves, moving = Moves(state.x), state.model.unit > 0
    if moving:
        state = yield from explore(task, state, rng, choice, moves)
    here, target = moves.covered, moves.target() if moves.covered > 0 else task.lmo(state.belief.g)
    if np.array_equal(
        target.dense(), state.x
    ):  # x is the vertex: something has to be learnt, where nothing was asked
        return state if moving else (yield from explore(task, state, rng, choice))
    none, walker = np.zeros((2, 2)), state.walker
    two = replace(
        state.model, atoms=(Dense(state.x), target), weights=np.array([1 - here, here]), H=none, W=none
    )
    there = replace(state, x=moves.x, origin=state.x, model=two)
    state = yield from correct(task, there, rng, replace(choice, worth=0.0))
    return replace(state, walker=walker)
