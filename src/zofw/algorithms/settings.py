"""Rules for single settings: each raises ValueError with a sentence that says what the setting
should be.

Steps γ ≤ 1 keep x + γ(s − x) in the set, averaging weights ρ in (0, 1] keep an average one,
radii μ > 0 are divided by.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from typing import Annotated, Any, TypeVar

import numpy as np

from zofw.core import Stencil, Task
from zofw.directions import laws
from zofw.schedules import Schedule, as_schedule

A = TypeVar("A")
Rule = Callable[[str, Any], None]
REAL = (int, float, np.number)
TRIED = (*range(100), *(10**k for k in range(2, 10)))  # iterations at which a rule evaluates a schedule


def rule(should: str, accepts: Callable[[Any], object]) -> Rule:
    """Return the rule that raises "name should …; got …" for what is not accepted."""

    def check(name: str, value: object) -> None:
        if not accepts(value):
            raise ValueError(f"{name} should {should}; got {value!r}.")

    return check


def at_times(single: Rule, *times: int) -> Rule:
    """Return the rule for a schedule whose values at these iterations keep a rule."""

    def check(name: str, given: float | Schedule) -> None:
        for t in times:
            single(f"{name} at t = {t}", as_schedule(given)(t))

    return check


def whole(least: int) -> Rule:
    """Return the rule that accepts whole numbers of at least ``least``."""
    return rule(
        f"be a whole number of at least {least}",
        lambda value: isinstance(value, (int, np.integer)) and not isinstance(value, bool) and value >= least,
    )


def one_of(*options: object) -> Rule:
    """Return the rule that accepts one of the options."""
    return rule(f"be one of {', '.join(map(str, options))}", lambda value: value in options)


positive = rule("be a positive number", lambda value: isinstance(value, REAL) and 0.0 < value < math.inf)
fraction = rule("lie in (0, 1]", lambda value: isinstance(value, REAL) and 0.0 < value <= 1.0)
decay = rule("lie in [0, 1)", lambda value: isinstance(value, REAL) and 0.0 <= value < 1.0)
step = rule("lie in (0, 1], or x leaves the set", lambda gamma: 0.0 < gamma <= 1.0)
pairs = rule("be at least 1 pair of a component and a direction", lambda m: math.ceil(m) >= 1)

Count = Annotated[int, whole(1)]
Size = Annotated[int, whole(0)]
Positive = Annotated[float, positive]
Fraction = Annotated[float, fraction]
Decay = Annotated[float, decay]
Pairs = Annotated[float | Schedule, at_times(pairs, 0, 1, 1000)]
StepSize = Annotated[float | Schedule, at_times(step, *TRIED)]
StepLength = Annotated[float | Schedule, at_times(positive, *TRIED)]
Radius = StepLength
Averaging = Annotated[float | Schedule, at_times(fraction, 0)]
Tolerance = Annotated[float | Schedule, at_times(positive, 0)]
Differences = Annotated[Stencil, one_of(Stencil.CENTRAL, Stencil.FORWARD)]


def constants(**values: object) -> None:
    """Accept the constants of a paper's schedules: positive numbers."""
    for name, value in values.items():
        positive(name, value)


def auto(reason: str, derive: Callable[[Task, Any], object]) -> Any:
    """Return a field that is derived from the task and the fields above it."""
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
    """Return the settings with names of laws and stencils replaced by the objects."""
    changes: dict[str, object] = {}
    law, stencil = vars(method).get("law"), vars(method).get("stencil")
    if isinstance(law, str):
        changes["law"] = laws[law]()
    elif isinstance(law, type):
        raise TypeError(
            f"law should be an instance such as {law.__name__}(), and the class itself was given."
        )
    if isinstance(stencil, str):
        one_of(*(s.value for s in Stencil))("stencil", stencil)
        changes["stencil"] = Stencil(stencil)
    settings: Any = method
    return dataclasses.replace(settings, **changes) if changes else method
