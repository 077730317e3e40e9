r"""Armijo's rule with a parabola: the share θ of a step that values approve.

f(0) − f(θ) ≥ 0.1 θ min(−slope, promised)                       approves θ
bend = 2(f(θ) − f(0) − θ·slope)/θ²,   θ⁺ = −slope/bend          the minimiser of the parabola through f(0), its slope and f(θ)
"""

from __future__ import annotations

import math
from collections.abc import Generator

import numpy as np

from zofw.core import Answer, Array, Batch, Purpose, Query, Task

ARMIJO = 0.1  # share of the promised decrease that approves a step
SHORTEST = 0.1  # times θ: the shortest next step


def answered(batch: Batch, answer: Answer) -> Batch:
    """Return the batch without the components that failed."""
    if not answer.left_out:
        return batch
    return Batch(batch.n, np.delete(batch.slice(0, len(batch)), answer.left_out))


def among_answered(
    task: Task, x: Array, batch: Batch, before: float, answer: Answer
) -> Generator[Query, Answer, float]:
    """Return the mean at x over the components that answered elsewhere, from that of the batch: the others are asked at x again."""
    known = {
        i for point, i in task.failed if np.array_equal(point, x)
    }  # these are not in the mean at x either
    lost = np.array([i for i in batch.slice(0, len(batch))[list(answer.left_out)] if i not in known])
    if not 0 < len(lost) <= task.remaining:
        return before
    theirs = yield Query(x, Batch(batch.n, lost), purpose=Purpose.LINE_SEARCH)
    return (len(batch) * before - len(lost) * float(theirs.values[0, 0])) / (len(batch) - len(lost))


def approved(
    task: Task,
    x: Array,
    step: Array,
    batch: Batch,
    before: float,
    slope: float,
    promised: float = math.inf,
    *,
    bend: float = 0.0,
    scale: float = 1.0,
    longest: float = 0.5,
    tries: int = 8,
    lost: float = 0.0,
) -> Generator[Query, Answer, tuple[float, float]]:
    """Return the share θ of a step that values on the batch approve, and the value there; 0 and ``before`` if none does.

    ``before`` and ``slope`` belong to θ = 0, ``bend`` is a curvature of at most 0 along the step, and ``promised`` the decrease of the
    whole step. ``scale`` multiplies the mean over
    the batch. Where components fail at a point, it is compared with the mean of the others at x. A step whose slope brings less than ``lost`` is approved: rounding hides whether it should be.
    """
    theta, tried = 1.0, 0
    while min(slope, slope + bend / 2) < 0 and tried < tries and len(batch) <= task.remaining:
        query = Query(x + theta * step, batch, purpose=Purpose.LINE_SEARCH)
        answer = yield query
        value = scale * float(answer.values[0, 0])
        if answer.left_out:
            value += before - (yield from among_answered(task, x, batch, before / scale, answer)) * scale
        decrease = theta * -slope - theta**2 * bend / 2  # that the model promises
        enough = before - value >= ARMIJO * min(decrease, theta * promised) and value < before
        if enough or decrease < lost:
            return theta, value
        curvature = 2 * (value - before - theta * slope) / theta**2
        minimiser = -slope / curvature if curvature > 0 else 0.0
        theta, tried = min(max(minimiser, SHORTEST * theta), longest * theta), tried + 1
    return 0.0, before
