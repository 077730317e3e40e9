"""Zeroth-order Frank-Wolfe: minimise a finite sum of black-box functions over a convex set, counting every query.

>>> import numpy as np, zofw
>>> f = zofw.problems.BlackBox(lambda x: float(np.sum((x - 1) ** 2)), dim=10)
>>> result = zofw.minimize(f, zofw.L1Ball(2.0), budget=5_000, rng=0)
>>> result.nfev <= 5_000
True
"""

from __future__ import annotations

import importlib
import importlib.util
import logging
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from zofw.sets import (
    SETS,
    Birkhoff,
    Box,
    CappedSimplex,
    ConvexHull,
    GroupBall,
    KSparse,
    L1Ball,
    L2Ball,
    LinfBall,
    LpBall,
    NuclearBall,
    Polytope,
    Product,
    Simplex,
    SpectralBall,
    Spectraplex,
    check_set,
)

if TYPE_CHECKING:
    from zofw import adapters as adapters
    from zofw import core as core
    from zofw import data as data
    from zofw import desk as desk
    from zofw import extend as extend
    from zofw import kernels as kernels
    from zofw import outer as outer
    from zofw import papers as papers
    from zofw import problems as problems
    from zofw import run as run
    from zofw.adapters.scipy import scipy_method
    from zofw.algorithms import Composite, ExploreCorrect, HandOver, Interpolation, RidgeNewton
    from zofw.comparison import compare
    from zofw.core import EvaluationError
    from zofw.desk import Desk
    from zofw.papers import ZSFWDVR
    from zofw.references import reference
    from zofw.residuals import least_squares
    from zofw.run import BudgetError, FileError, Retry, Session, Status, Trace
    from zofw.run.history import evaluations
    from zofw.run.minimize import minimize, resume
    from zofw.run.record.result import Result

__version__ = "0.2.0"

LATER = {
    "zofw.adapters.scipy": "scipy_method",
    "zofw.algorithms": "Composite ExploreCorrect HandOver Interpolation RidgeNewton",
    "zofw.comparison": "compare",
    "zofw.core": "EvaluationError",
    "zofw.desk": "Desk",
    "zofw.papers": "ZSFWDVR",
    "zofw.references": "reference",
    "zofw.residuals": "least_squares",
    "zofw.run": "BudgetError FileError Retry Session Status Trace minimize resume",
    "zofw.run.history": "evaluations",
    "zofw.run.record.result": "Result",
}
"""Names that are imported when they are first used, by their module: the command line answers without them."""

MOVED = {
    "zofw.papers": "AccSZOFW AccSZOFWStar AcceleratedZSCG BoostedZOSFW FrankWolfe FWBlack FZCGS FZFW JAGUAR SAGAFW SPSA SahuKar "
    "StochasticJAGUAR ZIVRFW ZOAdaMM ZOFW ZOPSGD ZOSFW ZOSFWNonconvex ZOSVRG ZPDVR ZSCG",
    "zofw.core": "Answer Batch Purpose Query Stencil",
    "zofw.directions": "Coordinate Explicit Gaussian Orthogonal Rademacher Sphere",
    "zofw.run": "ExecutorError LockedError StorageError",
}
"""Names that were at the top level until 0.2, by the package that has them now."""

logging.getLogger("zofw").addHandler(logging.NullHandler())


def methods() -> Mapping[str, type]:
    """Return the registered methods: name → class of settings."""
    from zofw.algorithms import methods

    importlib.import_module("zofw.papers")  # registers its own
    return methods


def sets() -> Mapping[str, type]:
    """Return the registered sets: name → class."""
    return SETS


def laws() -> Mapping[str, type]:
    """Return the registered laws of directions: name → class."""
    from zofw.directions import laws

    return laws


def __getattr__(name: str) -> Any:
    if name.startswith("_"):
        raise AttributeError(f"module 'zofw' has no attribute {name!r}")
    if importlib.util.find_spec(f"zofw.{name}") is not None:
        return importlib.import_module(f"zofw.{name}")
    from zofw.deprecations import moved, unknown

    for home, names in LATER.items():
        if name in names.split():
            globals()[name] = found = vars(importlib.import_module(home))[name]
            return found
    for home, names in MOVED.items():
        if name in names.split():
            return moved(name, home, removed="0.4")
    raise AttributeError(unknown(name, __all__))


def __dir__() -> list[str]:
    return __all__


__all__ = [
    "ZSFWDVR",
    "Birkhoff",
    "Box",
    "BudgetError",
    "CappedSimplex",
    "Composite",
    "ConvexHull",
    "Desk",
    "EvaluationError",
    "ExploreCorrect",
    "FileError",
    "GroupBall",
    "HandOver",
    "Interpolation",
    "KSparse",
    "L1Ball",
    "L2Ball",
    "LinfBall",
    "LpBall",
    "NuclearBall",
    "Polytope",
    "Product",
    "Result",
    "Retry",
    "RidgeNewton",
    "Session",
    "Simplex",
    "SpectralBall",
    "Spectraplex",
    "Status",
    "Trace",
    "check_set",
    "compare",
    "evaluations",
    "laws",
    "least_squares",
    "methods",
    "minimize",
    "outer",
    "papers",
    "problems",
    "reference",
    "resume",
    "scipy_method",
    "sets",
]
