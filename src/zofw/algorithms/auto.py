"""The default: which method, and why.

v = budget/(n(d + 1))                     whole values that the budget pays for each variable
outer=…                                   Composite
n = 1, v ≥ 1.15 or d ≤ 10                 Interpolation
known coordinates, budget ≥ 20n           Ridge-Newton
n ≤ 100, v ≥ 1.15                         Interpolation: few components are best asked together
n > 100, d ≤ 100                          Hand-Over, if the budget pays a sample or, n ≤ 1000, v ≥ 1.15
else                                      Explore-Correct
"""

from __future__ import annotations

import math

from zofw.algorithms.composite import Composite
from zofw.algorithms.explore_correct import ExploreCorrect
from zofw.algorithms.hand_over import FEW_VALUES, MOST_RANK, HandOver, few, pays_sample
from zofw.algorithms.interpolation import Interpolation
from zofw.algorithms.model.noise import COMPONENTS, PROBE
from zofw.algorithms.ridge_newton import RidgeNewton
from zofw.core import Algorithm, Task

MOST_DIMENSIONS = 300  # beyond, a quadratic model costs more time than a query is worth
LEAST_PASSES = 20  # times n queries: below, components of known coordinates are better sampled
FEW = 100  # components
LOW = 10  # dimensions, in which a model of a few values is better than sketches at every budget


def choose(task: Task) -> tuple[Algorithm, str]:
    """Return a method for the task and the reason for it."""
    if task.outer is not None:
        return (
            Composite(),
            "composite: every component has a model of its own, and h of them all is minimised",
        )
    n, d = task.n, task.dim
    values = math.inf if task.budget is None else task.budget / (n * (d + 1))
    if n == 1 and d <= MOST_DIMENSIONS and (values >= FEW_VALUES or d <= LOW):
        return Interpolation(), (
            f"interpolation: with one function and d = {d} ≤ {MOST_DIMENSIONS} a quadratic through old values makes "
            "every one of them count, and has nothing to tune"
        )
    if n > 1 and task.by_support and task.remaining >= LEAST_PASSES * n:
        return RidgeNewton(), (
            "ridge-newton: each component depends on few coordinates that are known, so that differences along these give the "
            f"whole gradient for {task.sweep_cost:,} queries, and curvatures for three a component"
        )
    pays = (
        f"the budget pays {values:.3g} whole values a variable" if task.budget else "no budget ends the run"
    )
    first = PROBE * min(n, COMPONENTS)  # queries of explore-correct; interpolation asks n
    if task.remaining < first and n < first:
        return Interpolation(), "interpolation: the budget does not pay what explore-correct asks first"
    if 1 < n <= FEW and d <= MOST_DIMENSIONS and values >= FEW_VALUES:
        return (
            Interpolation(),
            f"interpolation: {pays}, and so few components (n = {n}) are best asked all together",
        )
    if n > FEW and d <= MOST_RANK and (pays_sample(task) or few(task)):
        return (
            HandOver(),
            f"hand-over: {pays}, and samples of n = {n:,} components find the region and the curvature",
        )
    return ExploreCorrect(), (
        "explore-correct: it splits its queries between finding atoms and correcting on them by what each promises, "
        "and has nothing to tune"
    )
