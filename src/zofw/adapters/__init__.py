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

from zofw.extras import extra

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


EXTRAS = {"sklearn": "data", "voting": "data"}  # others have the name of the module


def __getattr__(name: str) -> object:
    if name not in PLACES and name not in PLACES.values():
        raise AttributeError(f"module 'zofw.adapters' has no attribute {name!r}")
    place = PLACES.get(name, name)
    module = extra(f"zofw.adapters.{place}", EXTRAS.get(place, place))
    return vars(module)[name] if name in PLACES else module


def __dir__() -> list[str]:
    return sorted(PLACES)
