"""The laws of a problem: one function of point and component, whatever is asked together."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from zofw.core import Array, Problem
from zofw.problems import mean_value
from zofw.problems.abilities import abilities
from zofw.sets.check import Report, Skipped, examine


def _points(problem: Problem, count: int = 4) -> Array:
    points: Array = 0.1 * np.random.default_rng(0).standard_normal((count, problem.dim))
    points.setflags(write=False)
    return points


def has_sizes(problem: Problem) -> Iterator[str]:
    """n and dim are whole numbers of at least 1"""
    for name, size in (("n", problem.n), ("dim", problem.dim)):
        if not isinstance(size, int | np.integer) or size < 1:
            yield f"{name} is {size!r}."


def answers_in_shape(problem: Problem) -> Iterator[str]:
    """values(points, components) is a finite (points, components) array"""
    points, components = _points(problem), np.arange(problem.n)
    values = np.asarray(problem.values(points, components))
    if values.shape != (len(points), problem.n):
        yield f"for {len(points)} points and {problem.n} components values has shape {values.shape}."
    elif not np.isfinite(values).all():
        yield "values near the origin are not all finite."


def is_a_function(problem: Problem) -> Iterator[str]:
    """a value depends on its point and its component alone: not on what else is asked, nor on the order, nor on repetition"""
    points = _points(problem)
    components = np.random.default_rng(1).integers(problem.n, size=7)
    together = np.asarray(problem.values(points, components))
    scale = 1e-9 * (1.0 + float(np.abs(together).max()))
    for row, point in enumerate(points):
        for column, component in enumerate(components):
            alone = float(np.asarray(problem.values(point[None, :], np.array([component])))[0, 0])
            if abs(alone - together[row, column]) > scale:
                yield f"f_{component} at a point is {alone:.10g} alone and {together[row, column]:.10g} among others."
                return


def gradient_is_of_the_mean(problem: Problem) -> Iterator[str]:
    """gradient(x), where there is one, is that of the mean, by central differences"""
    gradient = abilities(problem).gradient
    if gradient is None:
        raise Skipped("the problem has no gradient")
    x, h = np.array(_points(problem, 1)[0]), 1e-5
    g = np.asarray(gradient(x))
    for j in range(min(problem.dim, 20)):
        e = h * np.eye(1, problem.dim, j)[0]
        slope = (mean_value(problem, x + e) - mean_value(problem, x - e)) / (2 * h)
        if abs(slope - g[j]) > 1e-5 * (1.0 + float(np.abs(g).max())):
            yield f"entry {j} of the gradient is {g[j]:.8g}, and the mean's difference quotient {slope:.8g}."
            return


LAWS = (has_sizes, answers_in_shape, is_a_function, gradient_is_of_the_mean)


def check_problem(problem: Problem) -> Report:
    """Run the laws of a problem on any of them, and explain each that is broken.

    >>> from zofw.problems import Quadratic
    >>> check_problem(Quadratic([1.0, 2.0], [[0.0, 1.0], [1.0, 0.0]])).ok
    True
    """
    subject = f"{type(problem).__name__} with n = {problem.n} and dim = {problem.dim}"
    return Report(subject, None, tuple(examine(law, problem) for law in LAWS))
