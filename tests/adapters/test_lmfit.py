"""A fit of lmfit's Minimizer, and SciPy's interface to residuals."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.optimize

import zofw
from zofw.adapters import scipy_least_squares

T = np.linspace(0, 4, 20)
DATA = 3 * np.exp(-0.7 * T) + 0.01 * np.sin(37 * T)


def test_lmfit_gets_values_errors_and_constraints():
    lmfit = pytest.importorskip("lmfit", reason="lmfit is not installed (extra lmfit)")
    from zofw.adapters import lmfit_minimize

    params = lmfit.create_params(
        a={"value": 1, "min": 0, "max": 9}, k={"value": 1, "min": 0, "max": 5}, twice={"expr": "2 * k"}
    )
    calls = []
    fit = lmfit.Minimizer(lambda p: calls.append(1) or p["a"] * np.exp(-p["twice"] / 2 * T) - DATA, params)
    found, exact = lmfit_minimize(fit, budget=40, rng=0), fit.minimize()
    assert found.nfev <= 40 and found.chisqr == pytest.approx(exact.chisqr, rel=1e-4)
    for name in ("a", "k", "twice"):
        assert found.params[name].value == pytest.approx(exact.params[name].value, rel=1e-3)
    assert found.params["k"].stderr == pytest.approx(exact.params["k"].stderr, rel=0.1)
    with pytest.raises(ValueError, match="min and max to the parameters b"):
        lmfit_minimize(lmfit.Minimizer(lambda p: [p["b"]], lmfit.create_params(b=1.0)))


def test_callers_of_scipy_find_its_names():
    calls = []
    model = lambda x, data: calls.append(1) or x[0] * np.exp(-x[1] * T) - data  # noqa: E731
    given = {"bounds": ([0, 0], [9, 5]), "args": (DATA,), "loss": "soft_l1"}
    exact = scipy.optimize.least_squares(model, [1, 1], **given)
    calls.clear()
    with pytest.warns(RuntimeWarning, match="does not use jac"):
        found = scipy_least_squares(model, [1, 1], jac="3-point", max_nfev=40, rng=0, **given)
    assert found.cost == pytest.approx(exact.cost, rel=1e-5) and len(calls) == found.nfev <= 40
    assert found.fun.shape == exact.fun.shape and found.jac.shape == exact.jac.shape
    simplex = scipy_least_squares(lambda x: x - 0.5, [1, 0, 0], set=zofw.Simplex(), max_nfev=40, rng=0)
    np.testing.assert_allclose(simplex.x, 1 / 3, atol=1e-6)
    with pytest.raises(ValueError, match="bounded set"):
        scipy_least_squares(model, [1, 1], args=(DATA,))
