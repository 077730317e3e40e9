"""Doors to other libraries, each of which is imported only when its adapter is used.

=========================  =========================================================  ============
adapter                    what it is                                                 extra
=========================  =========================================================  ============
`scipy_method`             a method for :func:`scipy.optimize.minimize`               none
`ZOClassifier`             a sparse linear scikit-learn classifier                    ``data``
`ZORegressor`              a sparse linear scikit-learn regressor                     ``data``
`ZOVotingClassifier`       weights of classifiers for any scorer of scikit-learn      ``data``
`ZOVotingRegressor`        weights of regressors for any scorer of scikit-learn       ``data``
`ZOSampler`                an Optuna sampler for weights and other convex sets        ``optuna``
`ZOFrankWolfe`             an algorithm of optimagic                                  ``optimagic``
`minimize_module`          the parameters of a torch module in a set                  ``torch``
`UniversalPerturbation`    an evasion attack of the Adversarial Robustness Toolbox    ``art``
`Tracker`                  a callback for MLflow, TensorBoard and their like          ``trackers``
=========================  =========================================================  ============
"""

from __future__ import annotations

import importlib
from typing import Any

PLACES = {
    "Tracker": "trackers",
    "UniversalPerturbation": "art",
    "ZOClassifier": "sklearn",
    "ZOFrankWolfe": "optimagic",
    "ZORegressor": "sklearn",
    "ZOSampler": "optuna",
    "ZOVotingClassifier": "voting",
    "ZOVotingRegressor": "voting",
    "minimize_module": "torch",
    "scipy_method": "scipy",
}


def __getattr__(name: str) -> Any:
    if name in PLACES:
        return getattr(importlib.import_module(f"zofw.adapters.{PLACES[name]}"), name)
    if name in PLACES.values():
        return importlib.import_module(f"zofw.adapters.{name}")
    raise AttributeError(f"module 'zofw.adapters' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(PLACES)
