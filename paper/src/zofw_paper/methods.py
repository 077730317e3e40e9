"""From a line of a specification to settings of a method for one case."""

from __future__ import annotations

import dataclasses
import inspect
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from zofw.algorithms import ExploreCorrect, as_algorithm, is_first_order, methods
from zofw.algorithms.registry import Described
from zofw.algorithms.settings import spelled_out
from zofw.core import Task
from zofw.directions import laws
from zofw.schedules import Constant, Power, Schedule, as_schedule, open_loop
from zofw_paper.records import SpecError
from zofw_paper.spec import Experiment, Method

Names = Mapping[str, Callable[[], float]]

REFERENCE = re.compile(r"=(?:(\d+(?:\.\d+)?(?:e[+-]?\d+)?)([*/]))?([A-Za-z_]\w*)")
SIZES = {
    "batch_size": "batch",
    "directions": "directions",
    "pairs": "pairs",
}  # the number of a case that each setting takes
BATCHES = {
    "zscg": "pairs",
    "zscg-accelerated": "pairs",
    "saga-fw": "directions",
}  # methods whose batch is another number
SCHEDULES: dict[str, Callable[..., Schedule]] = {"constant": Constant, "power": Power, "open-loop": open_loop}


@dataclass(frozen=True)
class Tuned:
    """min(cap, factor · schedule(t)): a published schedule times a learning rate, capped where steps beyond 1 leave the set."""

    schedule: Schedule
    factor: float
    cap: float = math.inf

    def __call__(self, t: int) -> float:
        return min(self.cap, self.factor * self.schedule(t))


def zeroth_order() -> list[str]:
    """Return registered methods that use values alone."""
    return [name for name in methods if not is_first_order(name)]


def chosen_methods(experiment: Experiment, labels: Sequence[str] = ()) -> tuple[Method, ...]:
    """Return the methods of a specification and, where asked for, every other registered one and the default; or those with the labels.

    What the default chooses for a sum is the default's row and has no second one.
    """
    found = experiment.methods
    if experiment.others:
        taken = {method.name for method in found} | {ExploreCorrect.name}
        names = [name for name in (*zeroth_order(), "auto") if name not in taken]
        found += tuple(Method(name, group="others", derived=name != "auto") for name in names)
    known = [method.label for method in found]
    for label in labels:
        if label not in known:
            raise SpecError(
                f"{experiment.name} with this profile has no method {label!r}; it has {', '.join(known)}."
            )
    return tuple(method for method in found if not labels or method.label in labels)


def build(method: Method, names: Names, task: Task, lr: float | None) -> Any:
    """Return the settings object, or "auto".

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
    constructor = vars(cls).get(method.constructor or "")
    if method.constructor is not None and not isinstance(constructor, classmethod):
        raise SpecError(f"{method.label}: {method.name} has no constructor {method.constructor!r}.")
    make = constructor.__get__(None, cls) if isinstance(constructor, classmethod) else cls
    try:
        inspect.signature(make).bind(**given)
        made: Any = spelled_out(make(**given))
    except (TypeError, ValueError) as error:
        raise SpecError(f"{method.label}: the settings of {method.name} do not fit: {error}.") from error
    power = cls.facts.units.get("step_size", 0) if method.derived else 0
    factor = (1.0 if lr is None else lr) * _size("L", names) ** power
    tunable = "step_size" in {field.name for field in dataclasses.fields(made)}
    if factor == 1.0 or not tunable or re.search(r"=[^,]*\blr\b", repr(method.settings)):
        return made
    published = vars(as_algorithm(made, task)[0])["step_size"]
    free = dataclasses.replace(made, step_size=Tuned(as_schedule(published), factor))
    try:
        as_algorithm(free, task)
    except ValueError:
        return dataclasses.replace(made, step_size=dataclasses.replace(free.step_size, cap=1.0))
    return free


def _derived(cls: type[Described], names: Names) -> dict[str, float | int]:
    """Return the settings that a method states by these names, or in the unit of f, sized as the case says."""
    own = vars(cls)["__dataclass_fields__"]
    sizes = {name: size for name, size in SIZES.items() if name in own}
    sizes |= {"batch_size": BATCHES[cls.name]} if cls.name in BATCHES else {}
    sizes |= {name: "L" for name in cls.facts.units if name == "smoothness"}
    known = {name: size for name, size in sizes.items() if size != "directions" or size in names}
    return {name: _whole(_size(size, names)) for name, size in known.items()}


def _size(size: str, names: Names) -> float:
    """Return a number of the case: a batch of ⌈√n⌉ where it names none, L = 1 where it has none."""
    if size == "pairs":  # of a component with a direction of its own
        return _size("batch", names) * (names["directions"]() if "directions" in names else 1.0)
    if size in names:
        return names[size]()
    return math.ceil(math.sqrt(names["n"]())) if size == "batch" else 1.0


def _value(value: object, names: Names, where: str) -> Any:
    if isinstance(value, dict):
        return _made(value, names, where)
    return _referred(value, names, where) if isinstance(value, str) and value.startswith("=") else value


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
    """Return whole numbers as int, as sizes want them."""
    return int(number) if float(number).is_integer() else float(number)


def _made(table: Mapping[str, object], names: Names, where: str) -> Any:
    """Return a law, {name = …, its arguments}, or a schedule, {its kind = its numbers}."""
    if "name" in table:
        make: Callable[..., Any] = laws[str(table["name"])]
        given: object = {name: value for name, value in table.items() if name != "name"}
    elif len(table) == 1 and next(iter(table)) in SCHEDULES:
        ((kind, given),) = table.items()
        make = SCHEDULES[kind]
    else:
        raise SpecError(
            f"{where} should be a table with a name, or with one of {', '.join(SCHEDULES)}; got {dict(table)!r}."
        )
    try:
        if isinstance(given, dict):
            return make(**{name: _value(value, names, where) for name, value in given.items()})
        if make is not Constant:
            raise SpecError(f"{where} should be a table of its numbers; got {given!r}.")
        return Constant(float(_value(given, names, where)))
    except TypeError as error:
        raise SpecError(f"{where} does not take these numbers: {error}.") from error
