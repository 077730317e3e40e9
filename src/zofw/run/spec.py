"""The settings of a run, each written once: its type, its default, its check and its text.

:func:`zofw.minimize`, :class:`zofw.Session` and :class:`zofw.Desk` take their signatures and
docstrings from the fields of :class:`Spec`. To add a parameter, add a field with its text, and
the same name to :class:`Settings`, which tells type checkers what ``**settings`` may contain.
"""

from __future__ import annotations

import dataclasses
import inspect
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias, TypedDict, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from zofw.core import Array, MethodLike, Outer, Seed
from zofw.sets import SetLike

T = TypeVar("T")
Given: TypeAlias = Any  # what a caller gives for a setting, before it is checked
Keywords: TypeAlias = dict[str, Given]
PLACE = "    <settings>\n"  # the line of a docstring that the texts of the settings replace


def setting(
    default: object, text: str, check: Callable[[str, Any], object] | None = None, *, option: bool = False
) -> Any:
    """Return a field with its default, its text, and the function that checks a value by name.

    ``minimize`` takes an ``option`` in ``options=``.
    """
    return dataclasses.field(default=default, metadata={"text": text, "check": check, "option": option})


def is_number(value: object) -> bool:
    """Return True if the value is a real number and no bool."""
    return isinstance(value, (int, float, np.number)) and not isinstance(value, bool)


def positive_whole(name: str, limit: Given) -> int | None:
    """Return a limit as an int; None is no limit."""
    if limit is None:
        return None
    if not (is_number(limit) and limit > 0 and float(limit).is_integer()):
        raise ValueError(f"{name} should be a positive whole number; got {limit!r}.")
    return int(limit)


def positive(name: str, limit: Given) -> float | None:
    """Return a limit as a float; None is no limit."""
    if limit is None:
        return None
    if not (is_number(limit) and limit > 0):
        raise ValueError(f"{name} should be a positive number; got {limit!r}.")
    return float(limit)


def number(name: str, given: Given) -> float | None:
    """Return a finite number, or None."""
    if given is not None and not (is_number(given) and math.isfinite(given)):
        raise ValueError(f"{name} should be a finite number; got {given!r}.")
    return None if given is None else float(given)


def size(name: str, given: Given) -> int:
    """Return a number of components, coordinates or outputs."""
    if not (is_number(given) and given >= 1 and float(given).is_integer()):
        raise ValueError(f"{name} should be a whole number of at least 1; got {given!r}.")
    return int(given)


def hands(name: str, given: object) -> int:
    """Return a number of workers."""
    if not is_number(given):
        raise TypeError(
            f"{name} should be a number here, because the caller evaluates; got {type(given).__name__}, "
            "which zofw.minimize takes."
        )
    return size(name, given)


def tolerance(name: str, given: Given) -> float | None:
    """Return a tolerance of at least 0, or None."""
    if given is not None and not (is_number(given) and given >= 0):
        raise ValueError(f"{name} should be a number of at least 0; got {given!r}.")
    return None if given is None else float(given)


def distance(name: str, given: Given) -> float:
    """Return a resolution."""
    if not (is_number(given) and 0 <= given < math.inf):
        raise ValueError(
            f"{name} should be a distance: the smallest at which the evaluator can tell two points apart, "
            f"or 0 if it can tell any two; got {given!r}."
        )
    return float(given)


def switch(name: str, given: Given) -> bool | None:
    """Return True or False, or None for the default."""
    if given is not None and not isinstance(given, (bool, np.bool_)):
        raise TypeError(f"{name} should be True or False; got {given!r:.60}.")
    return None if given is None else bool(given)


def of_components(name: str, given: Given) -> Outer | None:
    """Return a function of the components, or None."""
    if given is not None and (isinstance(given, type) or not isinstance(given, Outer)):
        raise TypeError(
            f"{name} should be an object of zofw.outer, such as zofw.outer.CVaR(0.9) or zofw.outer.Worst(); got {given!r:.60}."
        )
    return given


def rows(name: str, given: Given) -> int | None:
    """Return a number of rows per decade, or None."""
    if given is not None and not (is_number(given) and given >= 0 and float(given).is_integer()):
        raise ValueError(
            f"{name} should be at least 0, which switches diagnosis off, and whole; got {given!r}."
        )
    return None if given is None else int(given)


@dataclass(frozen=True, kw_only=True)
class Limits:
    """Limits of a run, None for no limit; a run that has ended continues under larger ones."""

    budget: int | None = setting(
        None,
        "Maximum number of evaluations of single components f_i. The price of every query is\n"
        "compared with it first; the run never exceeds it.",
        positive_whole,
    )
    max_iter: int | None = setting(None, "Maximum number of iterations.", positive_whole)
    max_lmo: int | None = setting(
        None,
        "Maximum number of calls of the linear minimisation oracle, checked between iterations.",
        positive_whole,
        option=True,
    )
    max_time: float | None = setting(
        None,
        "Maximum seconds of queries and computation, without diagnosis; checked between iterations.",
        positive,
        option=True,
    )

    target: float | None = setting(
        None,
        "Stop when f at a point that was evaluated whole is at most this; checked between iterations.",
        number,
        option=True,
    )

    def __post_init__(self) -> None:
        for one in dataclasses.fields(self):
            check = one.metadata.get("check") or (switch if str(one.type).startswith("bool") else None)
            if check is not None:
                vars(self)[one.name] = check(one.name, vars(self)[one.name])

    @property
    def none(self) -> bool:
        """Return True if nothing is sure to end the run: a target may never be reached."""
        sure = [one.name for one in dataclasses.fields(Limits) if one.name != "target"]
        return all(vars(self)[name] is None for name in sure)

    def granted(self, reserve: int) -> int | None:
        """Return the queries that iterations may spend in all if ``reserve`` is kept back."""
        return None if self.budget is None else self.budget - reserve

    def with_(self, **limits: float | None) -> Limits:
        """Return the limits with some of them replaced."""
        names = [one.name for one in dataclasses.fields(Limits)]
        if unknown := limits.keys() - set(names):
            raise TypeError(
                f"There is no limit {min(unknown)!r}; there are {', '.join(names[:-1])} and {names[-1]}."
            )
        return replace(self, **limits)  # type: ignore[arg-type]


@dataclass(frozen=True, kw_only=True, eq=False)
class Spec(Limits):
    """What was asked for when a run began; the problem's functions are in :class:`Attached`."""

    set: SetLike
    dim: int = setting(None, "Dimension of x.", size)
    n: int = setting(1, "Number of components of the sum.", size)
    outputs: int = setting(1, "Numbers that one evaluation returns; used with ``outer``.", size)
    method: MethodLike = setting(
        "auto", 'A registered name (:func:`zofw.methods`), a settings object, or "auto".'
    )
    x0: ArrayLike | None = setting(
        None,
        "A point of the set to start from; by default the set's own initial point. A point off the set is\n"
        "replaced by the nearest member; ``result.reasons`` says so, and a warning if it moved far.",
    )
    known: tuple[Sequence[Sequence[float]] | Array, ArrayLike] | None = setting(
        None,
        "Points that were evaluated before and their values, (m, d) and (m,), instead of x0. The run\n"
        "starts from the best point that lies in the set, and evaluates it once to check its value;\n"
        "``interpolation`` puts the others into its model.",
    )
    rng: Seed = setting(
        None,
        "Seed, ``SeedSequence``, ``Generator`` or None. The same seed gives the same run, bit for bit.",
    )
    gap_tol: float | None = setting(
        None,
        "Stop when the method's bound of the Frank-Wolfe gap is at most this, or its estimate if it has\n"
        "no bound.",
        tolerance,
    )
    inside: bool | None = setting(
        None,
        "True: evaluate only points of the set, for simulators and models that are undefined outside it; see\n"
        ":func:`~zofw.run.session.inside.keep_inside`. False: points a little outside are fine. By default the\n"
        "default methods evaluate only points of the set, unless the problem has a gradient, as a linear model\n"
        "does, or says on which coordinates its components depend; methods of papers are as in their papers.",
    )
    resolution: float = setting(
        0.0,
        "Smallest Euclidean distance at which the evaluator (a laboratory, a simulator) can tell two\n"
        "points apart. The default methods choose their radii by it and measure the noise of the values\n"
        "by asking for one point again; a method with a shorter radius of its own is refused.",
        distance,
        option=True,
    )
    workers: Any = setting(
        1,
        "Evaluations that are made at the same time. :func:`zofw.minimize` makes a pool of so many: of\n"
        "processes if the function can be sent to one, else of threads; ``result.reasons`` says which. It also\n"
        "takes a :mod:`concurrent.futures` executor or a function that makes one, which is called again if a\n"
        "pool breaks, a :class:`dask.distributed.Client`, or a function like ``map``. With more than one,\n"
        "``interpolation`` asks for so many points in one query. The number is part of the run: with another\n"
        "one its bits are others.",
        hands,
    )
    in_order: bool = setting(
        False,
        "With several workers, wait for all values of a round before the next one is asked for. Then bits do\n"
        "not depend on when values come. By default every value is used as it comes: two runs with the same\n"
        "seed may then differ, and the file of a run replays it bit for bit. If all evaluations last equally\n"
        "long, True is 1.2 to 1.4 times as fast; if durations differ by a factor of three or more, False is.",
        option=True,
    )
    structure: bool = setting(
        True,
        "Let a method use what the problem knows of the coordinates that each component depends on\n"
        "(sparse samples, entries of a matrix, ``BlackBox(…, support=…)``): knowledge beyond values.",
        option=True,
    )
    diagnose: int | None = setting(
        None,
        "How many times per decade of queries the exact objective is put on the trace without being\n"
        "counted. By default 20 if the problem computes its mean, as a linear model does. Your own\n"
        "function is evaluated only within the budget: a part of it, n queries or a sample for a\n"
        'hundredth, is kept back to pay for ``fun`` and charged to the line "result" of the ledger. With\n'
        "a number here the objective is evaluated beyond the budget; 0 switches everything off.",
        rows,
    )
    outer: Outer | None = setting(
        None,
        "A function of the components to minimise instead of their mean, such as\n"
        "``zofw.outer.CVaR(0.9)``: for sums whose components are scenarios; see :mod:`zofw.outer`. Every\n"
        "query asks all n components.",
        of_components,
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.none:
            raise ValueError(
                "Nothing would ever stop this run: give a budget, or max_iter, max_lmo or max_time."
            )
        if self.known is not None and self.x0 is not None:
            raise ValueError("x0 and known both say where to start; give one of them.")

    @property
    def limits(self) -> Limits:
        """Return the limits alone."""
        return Limits(**{one.name: vars(self)[one.name] for one in dataclasses.fields(Limits)})


class LimitSettings(TypedDict, total=False):
    """The fields of :class:`Limits`, for type checkers."""

    budget: int | None
    max_iter: int | None
    max_lmo: int | None
    max_time: float | None
    target: float | None


class Settings(LimitSettings, total=False):
    """The fields of :class:`Spec` beyond the sizes, for type checkers."""

    method: MethodLike
    x0: ArrayLike | None
    known: tuple[Sequence[Sequence[float]] | Array, ArrayLike] | None
    rng: Seed
    gap_tol: float | None
    inside: bool | None
    resolution: float
    workers: Any  # a number, and for zofw.minimize whatever evaluates
    in_order: bool
    structure: bool
    diagnose: int | None
    outer: Outer | None


OF_SETTINGS = sorted(
    (one for one in dataclasses.fields(Spec) if one.name in Settings.__annotations__),
    key=lambda one: one.name != "method",
)
OF_OPTIONS = [one for one in OF_SETTINGS if one.metadata["option"]]


def with_settings(thing: T, options: Mapping[str, str] | None = None) -> T:
    """Put the settings into the signature and the docstring of a function or class; some of them as ``options``."""
    target: Any = thing
    signature = inspect.signature(target)
    own = [one for one in signature.parameters.values() if one.kind is not one.VAR_KEYWORD]
    keyword, shown = (
        inspect.Parameter.KEYWORD_ONLY,
        [one for one in OF_SETTINGS if one.name not in (options or ())],
    )
    settings = [
        inspect.Parameter(one.name, keyword, default=one.default, annotation=one.type) for one in shown
    ]
    ordered = sorted([*settings, *own], key=lambda one: one.kind)
    target.__signature__ = signature.replace(parameters=ordered)
    texts = [f"    {one.name}\n" + _indented(one.metadata["text"], 8) for one in shown]
    items = [
        f"        - ``{name}``: " + _indented(text, 10).lstrip() for name, text in (options or {}).items()
    ]
    text = (target.__doc__ or "").replace(PLACE, "".join(texts))
    target.__doc__ = text.replace("        <options>\n", "".join(items))
    return thing


def _indented(text: str, spaces: int) -> str:
    return "".join(f"{' ' * spaces}{line}\n" for line in text.splitlines())
