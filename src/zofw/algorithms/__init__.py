"""Methods: one paper, one file, one line of the registry."""

from __future__ import annotations

from typing import Any

from zofw.algorithms import settings
from zofw.algorithms.acc_szofw import AccSZOFW
from zofw.algorithms.acc_szofw_star import AccSZOFWStar
from zofw.algorithms.accelerated_zscg import AcceleratedZSCG
from zofw.algorithms.auto import choose
from zofw.algorithms.explore_correct import ExploreCorrect
from zofw.algorithms.frank_wolfe import FrankWolfe, LineSearch, OpenLoop, ShortStep
from zofw.algorithms.fw_black import FWBlack
from zofw.algorithms.fzcgs import FZCGS
from zofw.algorithms.fzfw import FZFW
from zofw.algorithms.jaguar import JAGUAR, StochasticJAGUAR
from zofw.algorithms.registry import methods
from zofw.algorithms.sahu_kar import SahuKar
from zofw.algorithms.spsa import SPSA
from zofw.algorithms.zo_fw import ZOFW
from zofw.algorithms.zo_psgd import ZOPSGD
from zofw.algorithms.zo_sfw import ZOSFW
from zofw.algorithms.zo_sfw_nonconvex import ZOSFWNonconvex
from zofw.algorithms.zo_svrg import ZOSVRG
from zofw.algorithms.zpdvr import ZPDVR
from zofw.algorithms.zscg import ZSCG
from zofw.algorithms.zsfw_dvr import ZSFWDVR
from zofw.core import FirstOrder, Task


def is_first_order(method: Any) -> bool:
    """Whether a name or a settings object is that of a reference method, whose task has the gradient."""
    return isinstance(methods[method] if isinstance(method, str) and method != "auto" else method, FirstOrder)


def as_algorithm(method: Any, task: Task) -> tuple[Any, dict[str, str]]:
    """A name or a settings object as resolved, checked settings, with the reasons of what was derived."""
    reasons = {}
    if isinstance(method, str) and method == "auto":
        method, reasons["method"] = choose(task)
    elif isinstance(method, str):
        method = methods[method]()
    if isinstance(method, type):
        raise TypeError(
            f"method should be settings such as {method.__name__}(), and the class itself was given."
        )
    if not all(callable(getattr(method, name, None)) for name in ("init", "step")):
        raise TypeError(
            f"method should be a registered name or a settings object with init and step; got {method!r}."
        )
    method = settings.spelled_out(method)
    if hasattr(method, "resolve"):
        method, derived = method.resolve(task)
        reasons |= derived
    if hasattr(method, "check"):
        method.check(task)
    return method, reasons


__all__ = [
    "FZCGS",
    "FZFW",
    "JAGUAR",
    "SPSA",
    "ZOFW",
    "ZOPSGD",
    "ZOSFW",
    "ZOSVRG",
    "ZPDVR",
    "ZSCG",
    "ZSFWDVR",
    "AccSZOFW",
    "AccSZOFWStar",
    "AcceleratedZSCG",
    "ExploreCorrect",
    "FWBlack",
    "FrankWolfe",
    "LineSearch",
    "OpenLoop",
    "SahuKar",
    "ShortStep",
    "StochasticJAGUAR",
    "ZOSFWNonconvex",
    "as_algorithm",
    "is_first_order",
    "methods",
]
