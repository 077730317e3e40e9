"""WALK: exploring on the move, for sets with too many vertices to be tried one by one."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from zofw.algorithms.explore_correct.compare import fallen
from zofw.algorithms.explore_correct.correct import correct
from zofw.algorithms.explore_correct.explore import explore
from zofw.algorithms.explore_correct.moves import Moves
from zofw.algorithms.explore_correct.state import Action, Belief, Choice, State
from zofw.atoms import Dense
from zofw.core import Task


def walk(task: Task, state: State, rng: np.random.Generator, choice: Choice) -> Action:
    """Explore on the move, and correct the weights of two atoms: the start, and the point of the set that the way led towards.

    The correction is made where the way ended if values on a batch show that this is lower, by two standard errors, and else at the
    start, to which the model takes the belief back. Without a curvature nothing is walked: the first correction is between x and
    lmo(g).
    """
    start, L = state.x, state.model.unit
    state, moves = replace(state, swept=0.0, certificate=None), Moves(start)  # x will be another point
    if L > 0:
        state = yield from explore(task, state, rng, choice, moves)
    target = moves.target() if moves.covered > 0 else task.lmo(state.belief.g)
    if np.array_equal(target.dense(), start):  # x is the vertex, and something has to be learnt
        return state if L > 0 else (yield from explore(task, state, rng, choice))
    none, walker = np.zeros((2, 2)), state.walker
    fall = (yield from fallen(task, state, rng, moves.x - start, choice.batch)) if moves.covered > 0 else 0.0
    x, covered = (moves.x, moves.covered) if fall > 0 else (start, 0.0)
    weights = np.array([1 - covered, covered])
    two = replace(state.model, atoms=(Dense(start), target), weights=weights, H=none, W=none)
    belief = Belief(state.belief.g + L * (x - moves.x), state.belief.variance)
    whole = state.whole if x is start else None
    there = replace(state, x=x, origin=start, model=two, belief=belief, whole=whole)
    state = yield from correct(task, there, rng, replace(choice, worth=0.0))
    if walker is not None:
        walker = Belief(walker.g + L * (state.x - moves.x), walker.variance)
    model = replace(state.model, decrease=state.model.decrease + fall)
    return replace(state, walker=walker, model=model, brought=state.brought + fall)
