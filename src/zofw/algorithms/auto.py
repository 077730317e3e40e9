"""The default: which method, and why."""

from __future__ import annotations

from zofw.algorithms.explore_correct import ExploreCorrect
from zofw.algorithms.interpolation import Interpolation
from zofw.algorithms.ridge_newton import RidgeNewton
from zofw.core import Algorithm, Task

MOST_DIMENSIONS = 300  # beyond, a quadratic model costs more time than a query is worth
LEAST_PASSES = 20  # times n queries: below, components are better sampled than asked one by one


def choose(task: Task) -> tuple[Algorithm, str]:
    """A method for the task and the reason for it."""
    if task.n == 1 and task.dim <= MOST_DIMENSIONS and task.remaining >= 2 * (task.dim + 1):
        return Interpolation(), (
            f"interpolation: with one function and d = {task.dim} ≤ {MOST_DIMENSIONS} a quadratic through old values makes "
            "every one of them count, and has nothing to tune"
        )
    if task.n > 1 and task.by_support and task.remaining >= LEAST_PASSES * task.n:
        return RidgeNewton(), (
            "ridge-newton: each component depends on few coordinates that are known, so that differences along these give the "
            f"whole gradient for {task.sweep_cost:,} queries, and curvatures for three a component"
        )
    return ExploreCorrect(), (
        "explore-correct: it splits its queries between finding atoms and correcting on them by what each promises, "
        "and has nothing to tune"
    )
