"""Rules for single settings: each raises ValueError with a sentence that says what the setting
should be.

Steps γ ≤ 1 keep x + γ(s − x) in the set, averaging weights ρ in (0, 1] keep an average one,
radii μ > 0 are divided by.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from functools import partial
from numbers import Integral
from typing import Annotated, Any, TypeVar

import numpy as np

from zofw.core import Stencil, Task
from zofw.directions import laws
from zofw.schedules import Schedule, as_schedule

A = TypeVar("A")
Rule = Callable[[str, Any], None]

TRIED = (*range(100), *(10**k for k in range(2, 10)))  # iterations at which a rule evaluates a schedule


def whole(name: str, value: object, least: int = 1) -> None:
    """Accept a whole number of at least ``least``."""
    if not isinstance(value, Integral) or isinstance(value, bool) or value < least:
        raise ValueError(f"{name} should be a whole number of at least {least}; got {value!r}.")


def fraction(name: str, value: object) -> None:
    """Accept a number in (0, 1]."""
    if not isinstance(value, (int, float, np.number)) or not 0.0 < value <= 1.0:
        raise ValueError(f"{name} should lie in (0, 1]; got {value!r}.")


def positive(name: str, value: object) -> None:
    """Accept a finite number above 0."""
    if not isinstance(value, (int, float, np.number)) or not 0.0 < value < float("inf"):
        raise ValueError(f"{name} should be a positive number; got {value!r}.")


def constants(**values: object) -> None:
    """Accept the constants of a paper's schedules: positive numbers."""
    for name, value in values.items():
        positive(name, value)


def choice(name: str, value: object, options: tuple[object, ...]) -> None:
    """Accept one of the options."""
    if value not in options:
        raise ValueError(f"{name} should be one of {', '.join(map(str, options))}; got {value!r}.")


def one_of(*options: object) -> Rule:
    """Return the rule that accepts one of the options."""
    return partial(choice, options=options)


def step_sizes(name: str, schedule: float | Schedule) -> None:
    """Accept steps in (0, 1], tried at the start and far out: beyond 1 the iterate leaves the set."""
    for t in TRIED:
        gamma = as_schedule(schedule)(t)
        if not 0.0 < gamma <= 1.0:
            raise ValueError(
                f"{name} should lie in (0, 1], or x leaves the set; {as_schedule(schedule)!r} gives "
                f"{gamma!r} at t = {t}."
            )


def lengths(name: str, schedule: float | Schedule) -> None:
    """Accept positive numbers, tried at the start and far out: radii, steps before a projection."""
    for t in TRIED:
        positive(f"{name} at t = {t}", as_schedule(schedule)(t))


def averaging(name: str, schedule: float | Schedule) -> None:
    """Accept a weight in (0, 1] for the first estimate."""
    fraction(f"{name} at t = 0", as_schedule(schedule)(0))


def tolerance(name: str, schedule: float | Schedule) -> None:
    """Accept a positive tolerance of the first iteration."""
    positive(f"{name} at t = 0", as_schedule(schedule)(0))


def decay(name: str, value: object) -> None:
    """Accept the weight of an old average: a number in [0, 1)."""
    if not isinstance(value, (int, float, np.number)) or not 0.0 <= value < 1.0:
        raise ValueError(f"{name} should lie in [0, 1); got {value!r}.")


def pairs(name: str, size: float | Schedule) -> None:
    """Accept at least one pair of a component and a direction, at the start and far out."""
    for t in (0, 1, 1000):
        whole(f"{name} at t = {t}", math.ceil(as_schedule(size)(t)))


Count = Annotated[int, whole]
Size = Annotated[int, partial(whole, least=0)]
Positive = Annotated[float, positive]
Fraction = Annotated[float, fraction]
Decay = Annotated[float, decay]
Pairs = Annotated[float | Schedule, pairs]
StepSize = Annotated[float | Schedule, step_sizes]
StepLength = Annotated[float | Schedule, lengths]
Averaging = Annotated[float | Schedule, averaging]
Tolerance = Annotated[float | Schedule, tolerance]
Radius = Annotated[float | Schedule, lengths]
Differences = Annotated[Stencil, one_of(Stencil.CENTRAL, Stencil.FORWARD)]


def auto(reason: str, derive: Callable[[Task, Any], object]) -> Any:
    """Return a field that is derived from the task and from the fields above it, for a stated reason."""
    return dataclasses.field(default=None, metadata={"auto": (reason, derive)})


def root(number: int) -> int:
    """Return ⌈√number⌉."""
    return math.ceil(math.sqrt(number))


def root_n(meaning: str) -> Any:
    """Return a field whose default is ⌈√n⌉."""
    return auto(f"⌈√n⌉ {meaning}", lambda task, own: root(task.n))


def root_d(meaning: str) -> Any:
    """Return a field whose default is ⌈√d⌉."""
    return auto(f"⌈√d⌉ {meaning}", lambda task, own: root(task.dim))


def spelled_out(method: A) -> A:
    """Return the settings with names of laws and stencils ("rademacher") replaced by the objects."""
    changes: dict[str, object] = {}
    law, stencil = vars(method).get("law"), vars(method).get("stencil")
    if isinstance(law, str):
        changes["law"] = laws[law]()
    elif isinstance(law, type):
        raise TypeError(
            f"law should be an instance such as {law.__name__}(), and the class itself was given."
        )
    if isinstance(stencil, str):
        choice("stencil", stencil, tuple(s.value for s in Stencil))
        changes["stencil"] = Stencil(stencil)
    settings: Any = method
    return dataclasses.replace(settings, **changes) if changes else method
