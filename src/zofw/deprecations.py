"""Names that are not, or no longer, where they are looked for: what to write instead."""

from __future__ import annotations

import difflib
import functools
import importlib
import re
import warnings
from collections.abc import Callable, Iterable
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")

ELSEWHERE = {
    "maximi.*": "zofw.minimize(lambda x: -f(x), …)",
    ".*(Bounds|Constraint)": "scipy.optimize.{name}, which zofw takes as a set",
    "(fmin|optim|solve).*": "zofw.minimize(f, set, budget=…)",
}
"""Names of other libraries, as patterns, and what to write."""

DEPRECATED: dict[str, str] = {}  # qualified name → version in which it is removed


def deprecated(*, since: str, removed: str, instead: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Make a function warn at every call: when it goes, and what to write instead."""

    def mark(function: Callable[P, R]) -> Callable[P, R]:
        name = function.__qualname__
        DEPRECATED[f"{function.__module__}.{name}"] = removed

        @functools.wraps(function)
        def warn(*args: P.args, **options: P.kwargs) -> R:
            warnings.warn(
                f"{name} is deprecated since zofw {since} and will be removed in {removed}. "
                f"Write {instead} instead.",
                DeprecationWarning,
                stacklevel=2,
            )
            return function(*args, **options)

        return warn

    return mark


def deprecated_keyword(name: str, *, since: str, removed: str, instead: str, stacklevel: int) -> None:
    """Warn that a keyword is deprecated, at the line of the caller ``stacklevel`` calls up."""
    warnings.warn(
        f"{name}= is deprecated since zofw {since} and will be removed in {removed}. Write {instead} instead.",
        DeprecationWarning,
        stacklevel=stacklevel,
    )


def moved(name: str, home: str, *, removed: str) -> Any:
    """Return a name of zofw from its new package, with a warning."""
    sentence = f"zofw.{name} has moved and will be removed in {removed}. Write {home}.{name} instead."
    warnings.warn(sentence, DeprecationWarning, stacklevel=3)
    return vars(importlib.import_module(home))[name]


def unknown(name: str, names: Iterable[str]) -> str:
    """Return the sentence about a name that zofw does not have at its top level, with the path of the nearest one.

    Examples
    --------
    >>> unknown("BlackBox", [])
    "module 'zofw' has no attribute 'BlackBox'; write zofw.problems.BlackBox."
    >>> unknown("Simplx", ["Simplex", "L1Ball"])
    "module 'zofw' has no attribute 'Simplx'; did you mean zofw.Simplex?"
    """
    places: dict[str, str] = {}
    for home in ("outer", "directions", "core", "run", "adapters", "problems", "papers"):
        module = importlib.import_module(f"zofw.{home}")
        places |= {each: f"zofw.{home}.{each}" for each in vars(module).get("__all__", dir(module))}
    places |= {each: f"zofw.{each}" for each in names}
    sentence = f"module 'zofw' has no attribute {name!r}"
    for pattern, instead in ELSEWHERE.items():
        if re.fullmatch(pattern, name):
            return f"{sentence}; write {instead.format(name=name)}."
    if name in places:
        return f"{sentence}; write {places[name]}."
    lower = {each.lower(): place for each, place in places.items()}
    longer = [each for each in map(str.lower, names) if each.startswith(name.lower())]
    near = longer or difflib.get_close_matches(name.lower(), lower, 1)
    return f"{sentence}; " + (f"did you mean {lower[near[0]]}?" if near else "dir(zofw) lists its names.")
