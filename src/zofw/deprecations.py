"""Names on their way out: they work, warn, and say what to write instead."""

from __future__ import annotations

import functools
import importlib
import warnings
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

__all__ = ["DEPRECATED", "deprecated", "moved"]

P = ParamSpec("P")
R = TypeVar("R")

DEPRECATED: dict[str, str] = {}  # qualified name → version in which it is removed


def deprecated(*, since: str, removed: str, instead: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Make a function warn at every call that it will be removed.

    Parameters
    ----------
    since
        Version in which the warning first appears.
    removed
        Version in which the function is removed.
    instead
        Code to write instead.

    Examples
    --------
    >>> import warnings
    >>> @deprecated(since="0.3", removed="0.5", instead="len(values)")
    ... def count(values):
    ...     return len(values)
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     count([1, 2])
    2
    >>> str(caught[0].message)
    'count is deprecated since zofw 0.3 and will be removed in 0.5. Write len(values) instead.'
    """

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


def moved(name: str, home: str, *, removed: str) -> Any:
    """Return a name of zofw from the package that has it now, with a warning that says what to write.

    Examples
    --------
    >>> import warnings
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     moved("ZOSFW", "zofw.papers", removed="0.4").__name__
    'ZOSFW'
    >>> str(caught[0].message)
    'zofw.ZOSFW has moved and will be removed in 0.4. Write zofw.papers.ZOSFW instead.'
    """
    sentence = f"zofw.{name} has moved and will be removed in {removed}. Write {home}.{name} instead."
    warnings.warn(sentence, DeprecationWarning, stacklevel=3)
    return vars(importlib.import_module(home))[name]
