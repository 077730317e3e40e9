"""The algorithm in optimagic's own minimize."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("optimagic", reason="optimagic is not installed (extra optimagic)")

import optimagic as om

import zofw
from zofw.adapters import ZOFrankWolfe


class Counted:
    """Σ (x − c)², counting its calls."""

    def __init__(self, centre):
        self.centre, self.calls = np.asarray(centre), 0

    def __call__(self, x):
        self.calls += 1
        return float(np.sum((x - self.centre) ** 2))


def test_bounds_are_a_box():
    f = Counted([0.2, 3.0])
    bounds = om.Bounds(lower=np.zeros(2), upper=np.ones(2))
    result = om.minimize(
        f, params=np.full(2, 0.5), bounds=bounds, algorithm=ZOFrankWolfe(stopping_maxfun=300, seed=0)
    )
    np.testing.assert_allclose(result.params, [0.2, 1.0], atol=1e-4)
    assert result.n_fun_evals <= 300 and result.algorithm == "zofw"
    assert result.fun == pytest.approx(4.0, abs=1e-6)


def test_parameters_of_any_form_in_a_set():
    def f(p):
        return (p["a"] - 0.7) ** 2 + (p["b"] - 0.4) ** 2

    algorithm = ZOFrankWolfe(zofw.Simplex(), stopping_maxfun=300, seed=0)
    result = om.minimize(f, params={"a": 0.5, "b": 0.5}, algorithm=algorithm)
    assert result.params["a"] == pytest.approx(0.65, abs=1e-4)
    assert result.params["a"] + result.params["b"] == pytest.approx(1.0, abs=1e-15)


def test_every_evaluation_counts_and_options_are_optimagics():
    f = Counted([0.1, 0.2, 0.7])
    result = om.minimize(
        f,
        params=np.full(3, 1 / 3),
        algorithm=ZOFrankWolfe("simplex"),
        algo_options={"stopping_maxfun": 120, "seed": 1},
    )
    assert result.n_fun_evals <= 120 and result.n_fun_evals == len(result.history.fun)


def test_without_a_set_it_says_what_to_give():
    with pytest.raises(ValueError, match="needs a bounded set"):
        om.minimize(Counted([0.0]), params=np.zeros(1), algorithm=ZOFrankWolfe(), error_handling="raise")


def test_least_squares_returns_the_sum_of_squares():
    from zofw.adapters import ZOLeastSquares

    calls = []
    shifted = om.mark.least_squares(lambda x: calls.append(1) or x - 0.3)
    found = om.minimize(
        shifted, params=np.full(4, 0.25), algorithm=ZOLeastSquares("simplex", stopping_maxfun=20)
    )
    assert found.fun == pytest.approx(0.01) and len(calls) - 1 <= found.n_fun_evals <= 20
