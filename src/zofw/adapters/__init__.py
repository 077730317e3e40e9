"""Adapters for other libraries, each imported only when it is used.

=========================  =========================================================  ============
adapter                    purpose                                                    extra
=========================  =========================================================  ============
`scipy_method`             a method for :func:`scipy.optimize.minimize`               none
`ZOVotingClassifier`       weights of classifiers for any scorer of scikit-learn      ``data``
`ZOVotingRegressor`        weights of regressors for any scorer of scikit-learn       ``data``
`ZOSampler`                an Optuna sampler for weights and other convex sets        ``optuna``
`ZOFrankWolfe`             an algorithm of optimagic                                  ``optimagic``
`ZOGenerator`              a generator of gest-api: libEnsemble, Xopt, optimas         ``gest``
`ZOLeastSquares`           the same for optimagic's least-squares problems            ``optimagic``
`minimize_module`          the parameters of a torch module in a set                  ``torch``
`UniversalPerturbation`    an evasion attack of the Adversarial Robustness Toolbox    ``art``
=========================  =========================================================  ============
"""

from __future__ import annotations

from zofw.extras import extra

PLACES = {
    "UniversalPerturbation": "art",
    "ZOFrankWolfe": "optimagic",
    "ZOGenerator": "gest",
    "ZOLeastSquares": "optimagic",
    "ZOSampler": "optuna",
    "ZOVotingClassifier": "voting",
    "ZOVotingRegressor": "voting",
    "minimize_module": "torch",
    "scipy_method": "scipy",
}


EXTRAS = {"voting": "data"}  # The other extras have the name of the module.


def __getattr__(name: str) -> object:
    if name not in PLACES and name not in PLACES.values():
        raise AttributeError(f"module 'zofw.adapters' has no attribute {name!r}")
    place = PLACES.get(name, name)
    module = extra(f"zofw.adapters.{place}", EXTRAS.get(place, place))
    return vars(module)[name] if name in PLACES else module


def __dir__() -> list[str]:
    return sorted(PLACES)
