"""The default methods, and what methods have in common; see also :mod:`zofw.papers`."""

from __future__ import annotations

from zofw.algorithms import settings
from zofw.algorithms.auto import choose
from zofw.algorithms.composite import Composite as Composite
from zofw.algorithms.explore_correct import ExploreCorrect as ExploreCorrect
from zofw.algorithms.hand_over import HandOver as HandOver
from zofw.algorithms.interpolation import Interpolation as Interpolation
from zofw.algorithms.registry import methods as methods
from zofw.algorithms.ridge_newton import RidgeNewton as RidgeNewton
from zofw.core import Algorithm, FirstOrder, MethodLike, Task, offers


def is_first_order(method: MethodLike) -> bool:
    """Return True for the name or the settings of a first-order reference method."""
    return isinstance(methods[method] if isinstance(method, str) and method != "auto" else method, FirstOrder)


def as_algorithm(method: MethodLike, task: Task) -> tuple[Algorithm, dict[str, str]]:
    """Return resolved, checked settings, with the reasons of what was derived."""
    reasons = {}
    if isinstance(method, str) and method == "auto":
        method, reasons["method"] = choose(task)
    elif isinstance(method, str):
        method = methods[method]()
    if isinstance(method, type):
        raise TypeError(
            f"method should be settings such as {method.__name__}(), and the class itself was given."
        )
    if not isinstance(method, Algorithm):
        raise TypeError(
            f"method should be a registered name or a settings object with a name, init and step; got {method!r}."
        )
    method = settings.spelled_out(method)
    if offers(method, "resolve"):
        method, derived = method.resolve(task)
        reasons |= derived
    if offers(method, "check"):
        method.check(task)
    return method, reasons
