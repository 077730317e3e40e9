"""How a run of Explore-Correct may end by itself: certified, or stalled with what limits it."""

from __future__ import annotations

import math

from zofw.algorithms.explore_correct.explore import certificate_price, slope_error
from zofw.algorithms.explore_correct.state import State
from zofw.core import Ending, Task

COARSE = 1e-4  # of the range of the values: a greater bound is no convergence, only noise
SHARE = 0.5  # of what was paid, without progress, makes a stall


def tolerance(task: Task, state: State) -> float:
    """The gap that values can still show: twice the slope whose whole decrease noise hides, or twice the error of slopes."""
    sure, values = state.certificate, state.values
    error = sure.noise if sure else slope_error(task, values) * values.size
    shown = max(2 * math.sqrt(2 * state.model.widest * values.unseen), 2 * error)
    return (
        min(shown, COARSE * values.range) if values.range > 0 else shown
    )  # else one value is all that was seen


def spent(task: Task) -> bool:
    """Whether what is left of the budget buys nothing: less than one part in a hundred, and fewer than fifty queries."""
    return task.budget is not None and task.remaining < max(2, min(50, task.budget / 100))


def converged(task: Task, state: State) -> Ending | None:
    """A certificate at this x below the tolerance that rounding leaves; ``gap_tol`` is the session's to compare."""
    sure, tol = state.certificate, tolerance(task, state)
    if sure is None or task.gap_tol is not None or sure.bound > tol:
        return None
    if sure.concave > state.values.unseen and not state.model.refused:  # a saddle
        return None
    return Ending(
        True,
        f"The Frank-Wolfe gap at x is at most {sure.bound:.2g} (99 % confidence, from two-sided slopes of all components); "
        f"values with noise {state.values.noise:.1g} show none below {tol:.2g}.",
    )


def stalled(task: Task, state: State) -> Ending | None:
    """No decrease was seen for half of what was paid, and the budget is spent or as much again would be."""
    sure, hope, values = state.certificate, state.proposal, state.values
    in_sight = hope is None or (max(hope.knowing, hope.promise) > values.unseen and not values.random)
    if (task.budget is not None and not spent(task)) or in_sight or state.progress > (1 - SHARE) * task.paid:
        return None
    if values.random:
        limit = f"noise: the same point gives values that differ by about {values.noise:.1g}"
    elif sure is None:
        limit = f"unseen components: to certify x takes {certificate_price(task, state):,} queries"
    elif sure.kink > sure.noise:
        limit = (
            f"a kink at x: slopes of the two sides differ, which leaves the gap uncertain by {sure.kink:.2g}"
        )
    else:
        limit = (
            f"the noise of the values, about {values.noise:.1g}, leaves the gap uncertain by {sure.noise:.2g}"
        )
    idle = task.paid - state.progress
    return Ending(False, f"No decrease was seen for {idle:,} queries. What limits: {limit}.")
