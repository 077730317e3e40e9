"""A fit for lmfit's Minimizer."""

from __future__ import annotations

from typing import Any

import numpy as np
from lmfit import Minimizer, Parameter, Parameters
from lmfit.minimizer import MinimizerResult

from zofw.core import Array
from zofw.residuals import least_squares
from zofw.sets import Box, SetLike


def lmfit_minimize(
    minimizer: Minimizer,
    params: Parameters | None = None,
    *,
    set: SetLike | None = None,
    budget: int | None = None,
    **settings: Any,
) -> MinimizerResult:
    """Fit the parameters of an ``lmfit.Minimizer`` with :func:`zofw.least_squares`.

    Parameters
    ----------
    minimizer, params
        As in ``minimizer.minimize(params=params)``. Every call of its function is a query.
    set
        The set of the varied parameters, by default the box of their bounds.
    budget
        Most calls, by default ``max_nfev`` of the minimizer, or 100 for each parameter.
    settings
        Anything else that :func:`zofw.least_squares` takes: ``loss``, ``checkpoint``,
        ``workers``, …

    Examples
    --------
    >>> import lmfit, numpy as np
    >>> from zofw.adapters import lmfit_minimize
    >>> t = np.linspace(0, 4, 20)
    >>> params = lmfit.create_params(a={"value": 1, "min": 0, "max": 9}, k={"value": 1, "min": 0, "max": 5})
    >>> fit = lmfit.Minimizer(lambda p: p["a"] * np.exp(-p["k"] * t) - 3 * np.exp(-0.7 * t), params)
    >>> found = lmfit_minimize(fit, budget=30, rng=0)
    >>> round(found.params["a"].value, 3), round(found.params["k"].value, 3)
    (3.0, 0.7)
    """
    result = minimizer.prepare_fit(params=params)
    varied = [result.params[name] for name in result.var_names]

    def residuals(x: Array) -> Array:
        for parameter, value in zip(varied, x.tolist(), strict=True):
            parameter.value = value
        result.params.update_constraints()
        return np.ravel(minimizer.userfcn(result.params, *minimizer.userargs, **minimizer.userkws))

    found = least_squares(
        residuals,
        _box(varied) if set is None else set,
        x0=[p.value for p in varied],
        budget=budget or minimizer.max_nfev or 100 * len(varied),
        **{"progress": False} | settings,
    )
    for parameter, value in zip(varied, found.x.tolist(), strict=True):
        parameter.value = value
    result.params.update_constraints()
    result.method, result.x, result.jac, result.nfev = "zofw", found.x, found["jac"], found.nfev
    result.residual, result.success, result.message = found["residuals"], found.success, found.message
    result._calculate_statistics()
    if not np.isnan(found["covariance"]).any():
        result.covar = found["covariance"] / (result.redchi if not minimizer.scale_covar else 1.0)
        result.errorbars = True
        for parameter, error in zip(varied, np.sqrt(np.diag(result.covar)), strict=True):
            parameter.stderr = float(error)
    return result


def _box(varied: list[Parameter]) -> Box:
    """Return the box of the parameters' bounds."""
    if open_ended := [p.name for p in varied if not np.isfinite([p.min, p.max]).all()]:
        raise ValueError(
            f"zofw needs a bounded set: give min and max to the parameters {', '.join(open_ended)}, or set=…."
        )
    return Box(np.array([p.min for p in varied]), np.array([p.max for p in varied]))
