"""Steps of a method that sees another task: another budget, other components, other units."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from zofw.core import Answer, Array, OutOfBudget, Query, Step, Task
from zofw.directions import Explicit

MOST_SCALED = 1000  # dimensions, of directions that are written out


def sharing(task: Task, view: Task, step: Step, asked: Callable[[Query], Query] | None = None) -> Step:
    """Run a step that sees another task; its payments and its LMO calls are counted in the task."""
    if view is task:
        return (yield from step)
    try:
        query = next(step)
        while True:
            task.lmos = view.lmos
            try:
                answer: Answer = yield query if asked is None else asked(query)
            except OutOfBudget as error:
                view.paid = task.paid
                query = step.throw(error)
            else:
                view.paid = task.paid
                query = step.send(answer)
    except StopIteration as end:
        return end.value  # type: ignore[no-any-return]
    finally:
        task.lmos = view.lmos


def units(task: Task) -> Array | None:
    """Return the sides of a box as powers of two over their mean; None for even sides, for other sets, and where units are the user's.

    In these units sides differ by a factor of two at most, and points are the same to the last bit.
    """
    bounds = vars(task.set)
    if bounds.keys() != {"lower", "upper"} or task.dim > MOST_SCALED or task.resolution or task.by_support:
        return None
    sides = np.broadcast_to(bounds["upper"], task.dim) - np.broadcast_to(bounds["lower"], task.dim)
    if not (sides > 0).any():
        return None
    powers = np.log2(np.where(sides > 0, sides, 1.0))
    powers = np.where(sides > 0, np.round(powers - powers[sides > 0].mean()), 0.0)
    return None if np.ptp(powers) == 0 else np.asarray(2.0**powers)


def in_units(task: Task, s: Array) -> Task:
    """Return the task in the units s of its coordinates."""
    box = vars(task.set)
    return replace(task, set=replace(task.set, lower=box["lower"] / s, upper=box["upper"] / s))  # type: ignore[type-var]


def out_of_units(query: Query, s: Array) -> Query:
    """Return the query in the coordinates of the user."""
    U = query.directions
    columns = None if U is None else Explicit(U.columns(0, U.count) * s[:, None])
    return replace(query, anchors=query.anchors * s, directions=columns)
