"""The methods by name."""

from __future__ import annotations

import dataclasses
import inspect
from typing import Any, ClassVar, Protocol, runtime_checkable

from zofw.algorithms.facts import Facts
from zofw.core import Algorithm
from zofw.registry import Registry

SETTINGS = {
    "batch_size": "|S|, the number of components in a batch, drawn with replacement.",
    "directions": "b, the number of directions.",
    "estimator": "The gradient estimate, as in the module's docstring.",
    "period": "q, the number of iterations from one estimate over all components to the next.",
    "refresh_probability": "p, the probability that an iteration asks all components.",
    "step_size": "γ_t, the step: a number or a schedule.",
    "averaging": "ρ_t, the weight of the new estimate in the average: a number or a schedule.",
    "radius": "μ_t, the length of the differences in units of a direction: a number or a schedule.",
    "law": "The law of the directions.",
    "stencil": "FORWARD or CENTRAL differences.",
}
"""Settings that several methods have; a method's docstring describes the others."""


@runtime_checkable
class Described(Algorithm, Protocol):
    """A method that states its facts."""

    facts: ClassVar[Facts]


class Methods(Registry[Described]):
    """Methods by name; registration gives a class its ``name`` and completes its docstring."""

    def add(self, name: str, cls: type[Described]) -> None:
        super().add(name, cls)
        cls.name, cls.__doc__ = name, documented(cls)


def documented(cls: type[Any]) -> str:
    """Return a method's docstring with its price and the settings of SETTINGS."""
    text, facts = inspect.cleandoc(cls.__doc__ or ""), cls.facts
    lmo = " to ".join(facts.lmo) if isinstance(facts.lmo, tuple) else facts.lmo
    price = f"Queries an iteration: ``{facts.queries}``; LMO calls: ``{lmo}``."
    head, title, own = text.partition("\n\nParameters\n----------\n")
    lines = [head, "", price, *(["", title.strip(), own] if own else [])]
    named = [f for f in dataclasses.fields(cls) if f.name in SETTINGS and f.name not in own.split("\n")]
    if named and not own:
        lines += ["", "Parameters", "----------"]
    for f in named:
        default = f.metadata["auto"][0] if "auto" in f.metadata else f"{f.default}"
        lines += [f.name, f"    {SETTINGS[f.name]} Default: {default}."]
    return "\n".join(lines)


methods = Methods("method")
