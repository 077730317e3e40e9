"""Settings: refusing bad ones with a sentence, and deriving the ones left open.

A method's ``check`` is made of the first kind, its ``resolve`` of ``fill``. Steps γ ≤ 1 keep x + γ(s − x) in the set, averaging weights
ρ in (0, 1] keep an average one, and radii μ > 0 are divided by.
"""

from __future__ import annotations

import dataclasses
from numbers import Integral
from typing import Any, TypeVar

import numpy as np

from zofw.core import Stencil
from zofw.directions import laws
from zofw.schedules import Schedule

AUTO: Any = None  # a setting that ``resolve`` derives from the task

A = TypeVar("A")

TRIED = (
    *range(100),
    *(10**k for k in range(2, 10)),
)  # iterations at which a schedule is looked at beforehand


def whole(name: str, value: object, least: int = 1) -> None:
    """A whole number of at least ``least``."""
    if not isinstance(value, Integral) or isinstance(value, bool) or value < least:
        raise ValueError(f"{name} should be a whole number of at least {least}; got {value!r}.")


def fraction(name: str, value: object) -> None:
    """A number in (0, 1]."""
    if not isinstance(value, (int, float, np.number)) or not 0.0 < value <= 1.0:
        raise ValueError(f"{name} should lie in (0, 1]; got {value!r}.")


def positive(name: str, value: object) -> None:
    """A finite number above 0."""
    if not isinstance(value, (int, float, np.number)) or not 0.0 < value < float("inf"):
        raise ValueError(f"{name} should be a positive number; got {value!r}.")


def constants(**values: object) -> None:
    """The constants of a paper's schedules, all positive numbers."""
    for name, value in values.items():
        positive(name, value)


def step_sizes(schedule: Schedule) -> None:
    """Steps in (0, 1], tried at the start and far out: beyond 1 the iterate leaves the set."""
    for t in TRIED:
        gamma = schedule(t)
        if not 0.0 < gamma <= 1.0:
            raise ValueError(
                f"step_size should lie in (0, 1], or x leaves the set; {schedule!r} gives {gamma!r} at t = {t}."
            )


def radii(schedule: Schedule) -> None:
    """Positive radii, tried at the start and far out."""
    for t in TRIED:
        positive(f"radius at t = {t}", schedule(t))


def spelled_out(method: A) -> A:
    """Names of laws and stencils ("rademacher", "forward") replaced by what they name; anything else is refused."""
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


def fill(algorithm: A, **derived: tuple[object, str]) -> tuple[A, dict[str, str]]:
    """Replace settings left at None by (value, reason); returns the settings and the reasons that were used."""
    chosen = {name: pair for name, pair in derived.items() if vars(algorithm)[name] is None}
    settings: Any = algorithm
    filled: A = dataclasses.replace(settings, **{name: value for name, (value, _) in chosen.items()})
    return filled, {name: f"{value!r}: {reason}" for name, (value, reason) in chosen.items()}


def choice(name: str, value: object, options: tuple[object, ...]) -> None:
    """One of the options."""
    if value not in options:
        raise ValueError(f"{name} should be one of {', '.join(map(str, options))}; got {value!r}.")
