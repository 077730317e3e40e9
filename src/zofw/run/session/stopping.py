"""How a run ends: by what an iteration found, and with f at the point that it returns."""

from __future__ import annotations

import math
from collections.abc import Callable, Generator

import numpy as np

from zofw.core import Answer, Batch, ConvexSet, Info, Purpose, Query, objective
from zofw.run.record.run import Known, Run
from zofw.run.record.status import Status

WHOLE_PART = 20  # f at the end is asked of all components if that takes at most this part of the budget
SAMPLE_PART = 100  # of the budget: a sample of components instead
ROUNDING = 2.0**-48  # of a mean: groups of equal values differ by that
RETREATS = (0.0, 0.125, 0.5, 1.0)  # ways from x to the set's first point, where f has no value at x
SKEW = 1.5  # over the root of the sample: the share by which its error is stated larger
GROUPS = 20  # of a sample, whose means tell the standard error


def ending_status(info: Info, gap_tol: float | None, method: str) -> Status | None:
    """How an iteration ends a run by what it found, where it does; a bound above the tolerance never converges."""
    if not isinstance(info, Info):
        raise TypeError(
            f"A step returns (state, Info(…)); {method} returned a {type(info).__name__} beside its state. "
            "Give its gap as Info(gap=…), other numbers as Info(numbers={…})."
        )
    within = gap_tol is not None and info.bound is not None and info.bound <= gap_tol
    if within or (gap_tol is None and info.ending is not None and info.ending.converged):
        return Status.CONVERGED
    if info.ending is not None:
        return Status.STALLED
    if gap_tol is not None and info.bound is None and info.gap is not None and info.gap <= gap_tol:
        return Status.ESTIMATED
    return None


def cost_of_value(n: int, budget: int) -> int:
    """Return the queries for f at one point: n, or a hundredth of the budget if n is above a twentieth of it, 20 at least if that pays them."""
    most = max(2, budget // WHOLE_PART)
    return n if n <= most else max(GROUPS if most >= GROUPS else 2, budget // SAMPLE_PART)


def least_budget(n: int, iteration: int) -> int:
    """The least budget that pays for an iteration beside f at one point."""
    budget = iteration + 1
    while budget - cost_of_value(n, budget) < iteration:
        budget = iteration + cost_of_value(n, budget)
    return budget


def student(groups: int, size: int) -> float:
    """Return the factor with which so few groups err by two errors as seldom as many do, and by three in at most 1 %.

    Values of components are skewed, whose mean errs by more where few are drawn: measured on means of six kinds of losses.
    """
    from scipy.special import stdtrit

    few = max(stdtrit(groups - 1, 0.97725) / 2, stdtrit(groups - 1, 0.995) / 3)
    return float(few * (1 + SKEW / math.sqrt(size)))


def learn(
    run: Run, sample: Callable[[], np.random.Generator], region: ConvexSet | None = None
) -> Generator[Query, Answer, Known]:
    """f at x: the mean over all components or, where that is dear, over a sample whose groups tell its error."""
    x = run.x.copy()
    if region is not None and run.retreats:
        x += RETREATS[run.retreats] * (region.initial_point(run.dim) - x)
    size = run.n if run.each else cost_of_value(run.n, run.limits.budget or run.nfev)
    if size == run.n:
        answer = yield Query(x, Batch(run.n), purpose=Purpose.RESULT, each=run.each)
        value, out = float(objective(run.outer, answer.values)[0]), len(answer.left_out)
        return Known(x, value, math.nan, drawn=size - out) if out else Known(x, value)
    drawn = sample().choice(run.n, size, replace=False)
    groups = np.array_split(drawn, min(GROUPS, size))
    means = []
    for indices in groups:
        answer = yield Query(x, Batch(run.n, indices), purpose=Purpose.RESULT)
        means.append(float(answer.values[0, 0]))
    weights = np.array([len(indices) for indices in groups]) / size
    mean = float(weights @ means)
    spread = float(weights @ (np.array(means) - mean) ** 2) / (len(groups) - 1)
    error = student(len(groups), size) * math.sqrt(spread * (1.0 - size / run.n))
    shown = error > ROUNDING * abs(mean)
    return Known(x, mean, error if shown else math.nan, drawn=size)  # equal values say nothing of the error
