"""Schedules: frozen callables t → float whose repr is the formula's name and constants.

γ_t (step), ρ_t (averaging) and μ_t (radius) are such; t counts iterations from 0. A schedule is a value: two with the same constants
are equal, and a checkpoint stores it by its fields.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

Schedule = Callable[[int], float]


@dataclass(frozen=True)
class Constant:
    """value."""

    value: float

    def __call__(self, t: int) -> float:
        return self.value


@dataclass(frozen=True)
class Power:
    """numerator / (t + offset)^exponent, never above ``cap``.

    2/(t + 2) is Frank and Wolfe's step; 4/(t + 8)^{2/3} an averaging weight; c/√(t + 1) the step of a projecting method.
    """

    numerator: float
    offset: float = 1.0
    exponent: float = 1.0
    cap: float = math.inf

    def __call__(self, t: int) -> float:
        return min(self.cap, float(self.numerator / (t + self.offset) ** self.exponent))


def open_loop(numerator: float = 2.0, offset: float = 2.0) -> Power:
    """Frank and Wolfe's numerator/(t + offset), capped at 1 so that x stays in the set."""
    return Power(numerator, offset, cap=1.0)


@dataclass(frozen=True)
class Stich:
    """Two phases: ``first`` for t < start, then 2/(2a + t − start) with a = 1/first.

    The decreasing-step lemma behind Theorem 1 of ZSFW-DVR.

    References
    ----------
    S. U. Stich, Unified optimal analysis of the (stochastic) gradient method, arXiv:1907.04232, 2019.
    """

    first: float
    start: int

    def __call__(self, t: int) -> float:
        return self.first if t < self.start else 2.0 / (2.0 / self.first + t - self.start)


@dataclass(frozen=True)
class Scaled:
    """factor · schedule(t), never below ``floor``."""

    schedule: Schedule
    factor: float
    floor: float = 0.0

    def __call__(self, t: int) -> float:
        return max(self.floor, self.factor * self.schedule(t))


_constant = lru_cache(maxsize=64)(Constant)


def as_schedule(value: float | Schedule) -> Schedule:
    """Return the schedule itself, or the constant schedule of a number."""
    return value if callable(value) else _constant(float(value))
