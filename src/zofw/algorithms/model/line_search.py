r"""Armijo's rule with a parabola: the share θ of a step that values approve.

f(0) − f(θ) ≥ 0.1 θ min(−slope, promised)                       approves θ
bend = 2(f(θ) − f(0) − θ·slope)/θ²,   θ⁺ = −slope/bend          the minimiser of the parabola through f(0), its slope and f(θ)
"""

from __future__ import annotations

import math
from collections.abc import Generator

from zofw.core import Answer, Array, Batch, Purpose, Query, Task

ARMIJO = 0.1  # share of the promised decrease that approves a step
SHORTEST = 0.1  # times θ: the shortest next step


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
    the batch. A step whose slope brings less than ``lost`` is approved: rounding hides whether it should be.
    """
    theta, tried = 1.0, 0
    while min(slope, slope + bend / 2) < 0 and tried < tries and len(batch) <= task.remaining:
        query = Query(x + theta * step, batch, purpose=Purpose.LINE_SEARCH)
        value = scale * float((yield query).values[0, 0])
        decrease = theta * -slope - theta**2 * bend / 2  # that the model promises
        enough = before - value >= ARMIJO * min(decrease, theta * promised) and value < before
        if enough or decrease < lost:
            return theta, value
        curvature = 2 * (value - before - theta * slope) / theta**2
        minimiser = -slope / curvature if curvature > 0 else 0.0
        theta, tried = min(max(minimiser, SHORTEST * theta), longest * theta), tried + 1
    return 0.0, before
