"""COMPARE: x against the start, by values of all components where these are a small part of the budget, else of a sample."""

from __future__ import annotations

import math
from collections.abc import Generator
from dataclasses import replace

import numpy as np

from zofw.algorithms.explore_correct.state import Action, State, variance_of
from zofw.atoms import Dense
from zofw.core import Answer, Array, Purpose, Query, Stencil, Task
from zofw.differences import slopes
from zofw.directions import Explicit

WHOLE_PART = (
    20  # two values of all components are asked at the end if each takes at most this part of the budget
)
SAMPLE_PART = 40  # of the budget: else each of two values of a sample
SURELY = 2.0  # standard errors by which the end of a walk has to be lower
LIKELY = 1.0  # standard errors by which a sample has to be lower at the start


def size_at_end(task: Task, state: State) -> int:
    """Return the components that compare x with the start at the end of the budget; 0 if these were compared, or without an end."""
    if state.start is None or task.budget is None:
        return 0
    whole = WHOLE_PART * task.n <= task.budget and not state.values.random
    return task.n if whole else int(task.budget / SAMPLE_PART)


def compare(task: Task, state: State, rng: np.random.Generator, size: int) -> Action:
    """Go back to the start if f is lower there: on all components, or by a standard error on a sample.

    All components are asked from then on if they were here, so that no later step goes above the start.
    """
    start, state = state.start, replace(state, start=None)
    if start is None or np.array_equal(start, state.x):
        return state
    whole = size == task.n and not state.values.random
    if whole:
        known = None if task.failed else state.whole
        points = np.array([state.x, start] if known is None else [start])
        values = (yield Query(points, task.all, purpose=Purpose.LINE_SEARCH)).values[:, 0]
        here, there = float(values[0]) if known is None else known, float(values[-1])
        state = replace(state, whole=here, value=here, model=replace(state.model, batch=task.n))
        fall = here - there
    else:
        fall = yield from fallen(task, state, rng, start - state.x, size, LIKELY)
    if fall <= 0:
        return state
    none = np.zeros((1, 1))
    return replace(
        state,
        x=start,
        origin=start,
        belief=state.belief.moved(state.model.unit * (start - state.x)),
        walker=None,
        model=replace(state.model, atoms=(Dense(start),), weights=np.ones(1), H=none, W=none, vain=()),
        swept=0.0,
        certificate=None,
        whole=there if whole else None,
    )


def fallen(
    task: Task, state: State, rng: np.random.Generator, step: Array, size: int, errors: float = SURELY
) -> Generator[Query, Answer, float]:
    """Return by how much the mean over a batch is lower a step away; 0 if that is less than so many standard errors."""
    batch = state.sample(task, rng, size)
    query = Query(
        state.x, batch, Explicit(step[:, None]), 1.0, Stencil.FORWARD, Purpose.LINE_SEARCH, variance=True
    )
    answer = yield query
    error = math.sqrt(float(variance_of(answer)[0]) / len(batch) * state.left_out(task, len(batch)))
    fall = -float(slopes(query, answer)[0, 0])
    return fall if fall > errors * error else 0.0
