"""The T of schedules that need one: how many iterations the limits of a task pay for."""

from __future__ import annotations

from dataclasses import dataclass

from zofw.core import Task
from zofw.schedules import Constant, Power, Schedule


def horizon(task: Task, first: int, rest: int | None = None, period: int = 1) -> int | None:
    """Iterations within budget and max_iter; None where neither is given.

    With q the period, c₀ and c the two prices and B the budget, an epoch costs c₀ + (q − 1)c: T = q⌊B/epoch⌋, and of what is left
    over 1 + ⌊(left − c₀)/c⌋ more, if it pays for c₀.

    Every ``period``-th iteration, from t = 0 on, costs ``first`` queries and the others ``rest``. Sizes that are not
    positive count as 1 here; ``check`` refuses them afterwards.
    """
    if task.budget is None:
        return task.max_iter
    first, rest, period = max(1, first), max(1, first if rest is None else rest), max(1, period)
    epochs, left = divmod(task.budget, first + (period - 1) * rest)
    partial = 1 + (left - first) // rest if left >= first else 0
    paid = max(1, epochs * period + partial)
    return paid if task.max_iter is None else min(paid, task.max_iter)


def constant_step(T: int | None, exponent: float) -> tuple[Schedule, str]:
    """T^(−exponent) where T is known, else its anytime form (t + 1)^(−exponent); with the reason."""
    if T is None:
        return Power(1.0, 1.0, exponent), f"(t + 1)^-{exponent:.3g}, neither budget nor max_iter being given"
    return Constant(
        T**-exponent
    ), f"T^-{exponent:.3g} for the T = {T} iterations that budget and max_iter allow"


@dataclass(frozen=True)
class Scaled:
    """factor · schedule(t), never below ``floor``."""

    schedule: Schedule
    factor: float
    floor: float = 0.0

    def __call__(self, t: int) -> float:
        return max(self.floor, self.factor * self.schedule(t))
