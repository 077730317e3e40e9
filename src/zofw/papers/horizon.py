"""The T of schedules that need one: how many iterations the limits of a task pay for."""

from collections.abc import Callable
from fractions import Fraction
from typing import Any

from zofw.algorithms import settings
from zofw.core import Task
from zofw.schedules import Constant, Power, Schedule


def horizon(task: Task, first: int, rest: int | None = None, period: int = 1) -> int | None:
    """Return the number of iterations that budget and max_iter allow, None if neither is given.

    Every ``period``-th iteration, from t = 0 on, costs ``first`` queries and the others
    ``rest``. With q, c₀ and c for these and B the budget, an epoch costs c₀ + (q − 1)c: T =
    q⌊B/epoch⌋, and of the remainder 1 + ⌊(rest − c₀)/c⌋ more if it pays for c₀.
    """
    if task.budget is None:
        return task.max_iter
    rest = first if rest is None else rest
    epochs, left = divmod(task.budget, first + (period - 1) * rest)
    partial = 1 + (left - first) // rest if left >= first else 0
    paid = max(1, epochs * period + partial)
    return paid if task.max_iter is None else min(paid, task.max_iter)


def constant_step(T: int | None, exponent: float) -> Schedule:
    """Return T^(−exponent) if T is known, else its anytime form (t + 1)^(−exponent)."""
    return Power(1.0, 1.0, exponent) if T is None else Constant(T**-exponent)


def root_of_horizon(exponent: float, iterations: Callable[[Task, Any], int | None]) -> Any:
    """Return a field whose default is T^(−exponent), or its anytime form without T."""
    p = Fraction(exponent).limit_denominator(9)
    return settings.auto(
        f"T^(-{p}) for the T iterations that budget and max_iter allow, else (t + 1)^(-{p})",
        lambda task, own: constant_step(iterations(task, own), exponent),
    )
