"""The base of a method: a field of its settings says what it may be, and how it is derived if
it is left open.

    batch_size: settings.Count = settings.auto("⌈√n⌉ components", lambda task, own: settings.root(task.n))
    radius: settings.Radius = 1e-4

``resolve`` fills open fields from top to bottom and holds each against the rule of its type;
``own`` has those above.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Annotated, Any, ClassVar, Literal, Self, cast, get_args, get_origin, get_type_hints

import numpy as np

from zofw.algorithms import settings
from zofw.algorithms.facts import Estimate as Estimate
from zofw.algorithms.facts import Facts as Facts
from zofw.algorithms.registry import methods as methods
from zofw.core import Array, Step, Task
from zofw.schedules import Schedule


@dataclass(frozen=True)
class Iterate:
    """x_t: the state of a method without memory, and the first fields of any other state."""

    t: int
    x: Array

    @classmethod
    def first(cls, x0: Array) -> Self:
        """Return the state at x_0, in which every further vector without a default is zero."""
        vectors = [f for f in dataclasses.fields(cls)[2:] if f.default is dataclasses.MISSING]
        return cls(0, x0, **{f.name: np.zeros(len(x0)) for f in vectors})


@dataclass(frozen=True)
class Method:
    """Base of a method's settings, a frozen dataclass with ``step``, ``facts`` and a name that
    registration gives it.

    Class attributes besides: ``State``, the class of its states, and ``law`` if its directions
    have a fixed law.
    """

    name: ClassVar[str]
    facts: ClassVar[Facts]
    State: ClassVar[type[Iterate]] = Iterate

    @classmethod
    def of(cls, given: Mapping[str, object], **chosen: object) -> Self:
        """Return the settings that were given, and for the others those that were chosen."""
        every: Any = chosen | dict(given)
        return cls(**every)

    def resolve(self, task: Task) -> tuple[Self, dict[str, str]]:
        """Return the settings with every open field derived, and the reasons."""
        own, reasons, rules = self, {}, rules_of(cast(Hashable, type(self)))
        for f in dataclasses.fields(self):
            if vars(own)[f.name] is None and "auto" in f.metadata:
                reason, derive = f.metadata["auto"]
                own = dataclasses.replace(own, **{f.name: derive(task, own)})
                reasons[f.name] = f"{vars(own)[f.name]!r}: {reason}"
            if f.name in rules:
                rules[f.name](f.name, vars(own)[f.name])
        return own, reasons

    def check(self, task: Task) -> None:
        """Raise ValueError if the settings do not fit the task."""
        if self.facts.lmo == "0" and not task.can_project:
            raise ValueError(
                f"{self.name} projects every iterate, and {task.set!r} has no project(x). ℓ1, ℓ2 and ℓ∞ balls, boxes, "
                "simplices and their products can; on any other set take a Frank-Wolfe method, which needs only the LMO."
            )
        own = vars(type(self)) | vars(self)
        count = own.get("directions", own.get("pairs"))
        if "law" in own and count is not None:
            own["law"].check(task.dim, count)

    def init(self, task: Task, x0: Array) -> Any:
        """Return the state before the first iteration."""
        return self.State.first(x0)

    def step(self, task: Any, state: Any, rng: np.random.Generator) -> Step:
        """Run one iteration: yield queries, return the next state and its Info."""
        raise NotImplementedError


@cache
def rules_of(method: type) -> dict[str, settings.Rule]:
    """Return the rules that the types of a method's settings stand for, by name."""
    hints = get_type_hints(method, include_extras=True)
    found = {f.name: _rule(hints[f.name]) for f in dataclasses.fields(method)}
    return {name: rule for name, rule in found.items() if rule is not None}


def _rule(hint: object) -> settings.Rule | None:
    if get_origin(hint) is Literal:
        return settings.one_of(*get_args(hint))
    if type(None) in get_args(hint):  # a setting that may be left out
        rule = _rule(get_args(hint)[0])
        return rule and (lambda name, value: None if value is None else rule(name, value))
    return get_args(hint)[1] if get_origin(hint) is Annotated else None


def at(t: int, *schedules: float | Schedule) -> tuple[float, ...]:
    """Return the values at iteration t of numbers and schedules."""
    return tuple([s(t) if callable(s) else float(s) for s in schedules])
