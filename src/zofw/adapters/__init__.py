"""Adapters for other libraries, each imported only when it is used.

=========================  =========================================================  ============
adapter                    purpose                                                    extra
=========================  =========================================================  ============
`scipy_method`             a method for :func:`scipy.optimize.minimize`               none
`scipy_least_squares`      for callers of :func:`scipy.optimize.least_squares`        none
`lmfit_minimize`           a fit for lmfit's Minimizer                                ``lmfit``
`ZOSampler`                an Optuna sampler for weights and other convex sets        ``optuna``
`ZOFrankWolfe`             an algorithm of optimagic                                  ``optimagic``
`ZOLeastSquares`           the same for optimagic's least-squares problems            ``optimagic``
`ZOGenerator`              a generator of gest-api: libEnsemble, Xopt, optimas        ``gest``
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
    "lmfit_minimize": "lmfit",
    "minimize_module": "torch",
    "scipy_least_squares": "scipy",
    "scipy_method": "scipy",
}
"""The module of each adapter, which has the name of its extra."""


def __getattr__(name: str) -> object:
    place = PLACES.get(name, name)
    if place not in PLACES.values():
        raise AttributeError(f"module 'zofw.adapters' has no attribute {name!r}")
    module = extra(f"zofw.adapters.{place}", place)
    return vars(module)[name] if name in PLACES else module


def __dir__() -> list[str]:
    return sorted(PLACES)
