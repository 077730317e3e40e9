"""From a line of a specification to settings of a method for one case."""

from __future__ import annotations

import dataclasses
import inspect
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from zofw.algorithms import as_algorithm, methods
from zofw.core import Stencil, Task
from zofw.directions import laws
from zofw.lab.spec import SCHEDULES, Method, SpecError
from zofw.schedules import Constant, Power, Schedule, as_schedule, open_loop

__all__ = ["Tuned", "all_methods", "build", "zeroth_order"]

Names = Mapping[str, Callable[[], float]]

REFERENCE = re.compile(r"=(?:(\d+(?:\.\d+)?(?:e[+-]?\d+)?)([*/]))?([A-Za-z_]\w*)")
MADE_FOR_L_1 = ("spsa", "zo-psgd", "zo-svrg", "zpdvr")  # their default steps want to be divided by L


@dataclass(frozen=True)
class Tuned:
    """min(cap, factor · schedule(t)): a published schedule times a learning rate, capped where steps beyond 1 leave the set."""

    schedule: Schedule
    factor: float
    cap: float = math.inf

    def __call__(self, t: int) -> float:
        return min(self.cap, self.factor * self.schedule(t))


def zeroth_order() -> list[str]:
    """Registered methods that use values alone."""
    return [name for name, cls in methods.items() if not getattr(cls, "first_order", False)]


def all_methods(given: tuple[Method, ...], others: bool) -> tuple[Method, ...]:
    """The methods of a specification and, where asked for, every other registered one and the default."""
    if not others:
        return given
    taken = {method.name for method in given}
    names = [name for name in (*zeroth_order(), "auto") if name not in taken]
    return (*given, *(Method(name, name, "others", derived=name != "auto") for name in names))


def build(method: Method, names: Names, task: Task, lr: float | None) -> Any:
    """The settings object, or "auto".

    Parameters
    ----------
    method
        The line of the specification.
    names
        What settings may refer to, each computed when it is asked for.
    task
        The task, from which schedules that depend on the budget are resolved.
    lr
        The learning rate, or None for the published step.
    """
    if method.name == "auto":
        return "auto"
    cls = methods[method.name]
    given = {name: _value(value, names, f"{method.label}: {name}") for name, value in method.settings.items()}
    if method.derived:
        given = _derived(cls, names) | given
    make = cls if method.constructor is None else getattr(cls, method.constructor, None)
    if make is None:
        raise SpecError(f"{method.label}: {method.name} has no constructor {method.constructor!r}.")
    try:
        inspect.signature(make).bind(**given)
        made = make(**given)
    except TypeError as error:
        raise SpecError(f"{method.label}: the settings of {method.name} do not fit: {error}.") from error
    unit = _smoothness(names) if method.derived and method.name in MADE_FOR_L_1 else 1.0
    factor = (1.0 if lr is None else lr) / unit
    if factor == 1.0 or not hasattr(made, "step_size") or _refers_to_lr(method):
        return made
    resolved = made.resolve(task)[0] if hasattr(made, "resolve") else made
    free = dataclasses.replace(made, step_size=Tuned(as_schedule(resolved.step_size), factor, math.inf))
    try:
        as_algorithm(free, task)
    except ValueError:
        return dataclasses.replace(made, step_size=dataclasses.replace(free.step_size, cap=1.0))
    return free


def _refers_to_lr(method: Method) -> bool:
    return bool(re.search(r"=[^,]*\blr\b", repr(method.settings)))


def _derived(cls: type[Any], names: Names) -> dict[str, Any]:
    """Sizes from the case for a method that is compared with its defaults."""
    defaults = {field.name: field.default for field in dataclasses.fields(cls)}
    batch = names["batch"]() if "batch" in names else math.ceil(math.sqrt(names["n"]()))
    chosen: dict[str, Any] = {}
    if "directions" in defaults and "directions" in names:
        chosen["directions"] = _whole(names["directions"]())
    if "batch_size" in defaults and "directions" not in defaults and defaults["batch_size"] == 100:
        chosen["batch_size"] = _whole(batch * (names["directions"]() if "directions" in names else 1.0))
    elif "batch_size" in defaults:
        chosen["batch_size"] = _whole(batch)
    if "smoothness" in defaults:
        chosen["smoothness"] = _smoothness(names)
    return chosen


def _smoothness(names: Names) -> float:
    return names["L"]() if "L" in names else 1.0


def _value(value: Any, names: Names, where: str) -> Any:
    if isinstance(value, dict):
        return _schedule(value, names, where)
    if isinstance(value, str) and value.startswith("="):
        return _referred(value, names, where)
    if where.endswith(": law"):
        return laws[value]()
    if where.endswith(": stencil"):
        try:
            return Stencil(value)
        except ValueError:
            options = ", ".join(stencil.value for stencil in Stencil)
            raise SpecError(f"{where} should be one of {options}; got {value!r}.") from None
    return value


def _referred(text: str, names: Names, where: str) -> float | int:
    match = REFERENCE.fullmatch(text)
    if match is None or match[3] not in names:
        raise SpecError(
            f"{where} refers to {text!r}; write '=name', '=2*name' or '=1/name' with one of {', '.join(sorted(names))}."
        )
    number = names[match[3]]()
    if match[2]:
        number = float(match[1]) * number if match[2] == "*" else float(match[1]) / number
    return _whole(number)


def _whole(number: float) -> float | int:
    """Whole numbers as int, as sizes want them."""
    return int(number) if float(number).is_integer() else float(number)


def _schedule(table: Mapping[str, Any], names: Names, where: str) -> Schedule:
    if len(table) != 1 or next(iter(table)) not in SCHEDULES:
        raise SpecError(f"{where} should be a table with one of {', '.join(SCHEDULES)}; got {dict(table)!r}.")
    kind, given = next(iter(table.items()))
    if kind == "constant":
        return Constant(float(_value(given, names, where)))
    if not isinstance(given, dict):
        raise SpecError(f"{where}: {kind} should be a table of its numbers; got {given!r}.")
    numbers = {name: float(_value(value, names, where)) for name, value in given.items()}
    make = Power if kind == "power" else open_loop
    try:
        return make(**numbers)
    except TypeError as error:
        raise SpecError(f"{where}: {kind} does not take these numbers: {error}.") from error
