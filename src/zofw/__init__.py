"""Zeroth-order Frank-Wolfe: minimise a finite sum of black-box functions over a convex set, counting every query.

>>> import numpy as np, zofw
>>> f = zofw.problems.BlackBox(lambda x: float(np.sum((x - 1) ** 2)), dim=10)
>>> result = zofw.minimize(f, zofw.L1Ball(2.0), budget=5_000, rng=0)
>>> result.nfev <= 5_000
True
"""

from __future__ import annotations

import importlib
import logging
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from zofw import directions, papers, problems
from zofw.algorithms import ExploreCorrect, Interpolation, RidgeNewton
from zofw.algorithms import methods as _methods
from zofw.comparison import compare
from zofw.core import EvaluationError
from zofw.deprecations import moved, unknown
from zofw.papers import ZSFWDVR
from zofw.references import reference
from zofw.run import (
    BudgetError,
    FileError,
    Retry,
    Session,
    Status,
    Trace,
    minimize,
    resume,
)
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
    from zofw.adapters.scipy import scipy_method
    from zofw.desk import Desk
    from zofw.run.record.result import Result

__version__ = "0.2.0"

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
    """Registered methods: name → class of settings."""
    return _methods


def sets() -> Mapping[str, type]:
    """Registered sets: name → class."""
    return SETS


def laws() -> Mapping[str, type]:
    """Registered laws of directions: name → class."""
    return directions.laws


def __getattr__(name: str) -> Any:
    for home, names in MOVED.items():
        if name in names.split():
            return moved(name, home, removed="0.4")
    if name in ("adapters", "data", "desk"):
        return importlib.import_module(f"zofw.{name}")
    if name == "Desk":
        return importlib.import_module("zofw.desk").Desk
    if name == "Result":
        return importlib.import_module("zofw.run.record.result").Result
    if name == "scipy_method":
        return importlib.import_module("zofw.adapters.scipy").scipy_method
    raise AttributeError(unknown(name, __all__))


__all__ = [
    "ZSFWDVR",
    "Birkhoff",
    "Box",
    "BudgetError",
    "CappedSimplex",
    "ConvexHull",
    "Desk",
    "EvaluationError",
    "ExploreCorrect",
    "FileError",
    "GroupBall",
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
    "laws",
    "methods",
    "minimize",
    "papers",
    "problems",
    "reference",
    "resume",
    "scipy_method",
    "sets",
]
