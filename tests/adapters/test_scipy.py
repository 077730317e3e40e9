"""A method for scipy.optimize.minimize: SciPy's protocol, and an honest count."""

from __future__ import annotations

import concurrent.futures

import numpy as np
import pytest
from scipy.optimize import Bounds, LinearConstraint, OptimizeResult, OptimizeWarning, minimize

import zofw

CENTRE = np.array([0.5, 0.3, 0.2, 0.0])
START = np.full(4, 0.25)


class Counted:
    """Σ (x − c)², counting its calls."""

    def __init__(self):
        self.calls = 0

    def __call__(self, x, c=CENTRE):
        self.calls += 1
        return np.sum((x - c) ** 2)


def distance(x, c):
    return np.sum((x - c) ** 2)


def test_it_solves_and_counts_every_call():
    fun = Counted()
    result = minimize(fun, START, method=zofw.scipy_method(zofw.Simplex(), budget=2_000, rng=0))
    assert isinstance(result, OptimizeResult) and isinstance(result, zofw.Result)
    np.testing.assert_allclose(result.x, CENTRE, atol=1e-3)
    assert result.fun == pytest.approx(np.sum((result.x - CENTRE) ** 2), abs=1e-15)
    assert result.nfev == fun.calls == sum(result.ledger.values()) <= 2_000
    assert result.nit > 0 and result.message


@pytest.mark.parametrize("method", ["zo-fw", zofw.papers.ZOFW(radius=1e-3), "jaguar"])
@pytest.mark.parametrize("budget", [53, 54, 200])
def test_the_budget_holds_for_the_last_value_too(method, budget):
    fun = Counted()
    result = minimize(
        fun, START, method=zofw.scipy_method(zofw.L2Ball(2.0), method=method, budget=budget, rng=0)
    )
    assert result.nfev == fun.calls <= budget


def test_arguments_options_and_the_tighter_limit():
    fun = Counted()
    method = zofw.scipy_method(zofw.Simplex(), method="zo-fw", budget=500, rng=0)
    other = np.array([0.0, 0.0, 0.4, 0.6])
    result = minimize(fun, START, args=(other,), method=method, options={"maxfev": 300})
    assert result.nfev == fun.calls <= 300
    np.testing.assert_allclose(result.x, other, atol=0.1)
    assert minimize(fun, START, method=method, options={"maxiter": 3}).nit == 3


def test_without_a_limit_there_is_one():
    fun = Counted()
    result = minimize(fun, START, method=zofw.scipy_method(zofw.Simplex(), method="zo-fw", rng=0))
    assert 3_900 < result.nfev == fun.calls <= 4_000
    assert minimize(fun, START, method=zofw.scipy_method(zofw.Simplex(), method="zo-fw", max_iter=2)).nit == 2


def test_tol_is_about_the_gap():
    method = zofw.scipy_method(zofw.Simplex(), method="zo-fw", budget=100_000, rng=0)
    result = minimize(Counted(), START, method=method, tol=1e-2)
    assert result.status == zofw.Status.ESTIMATED and result.trace["gap"][-1] <= 1e-2


@pytest.mark.parametrize(
    "bounds",
    [[(0, 0.4)] * 4, Bounds(0, 0.4), Bounds([0] * 4, [0.4] * 4), ((0, 0.4),) * 4, np.array([[0, 0.4]] * 4)],
)
def test_bounds_are_a_box(bounds):
    method = zofw.scipy_method(budget=1_000, rng=0)
    result = minimize(Counted(), START, bounds=bounds, method=method)
    np.testing.assert_allclose(result.x, np.minimum(CENTRE, 0.4), atol=1e-4)


def test_linear_constraints_are_a_set():
    budget = LinearConstraint(np.ones(4), 1, 1)
    method = zofw.scipy_method(budget=1_000, rng=0)
    result = minimize(Counted(), np.full(4, 0.25), bounds=[(0, 0.4)] * 4, constraints=[budget], method=method)
    same = minimize(
        Counted(),
        np.full(4, 0.25),
        method=zofw.scipy_method(zofw.CappedSimplex(1.0, [0.4] * 4, [0.0] * 4), budget=1_000, rng=0),
    )
    np.testing.assert_array_equal(result.x, same.x)
    with pytest.raises(TypeError, match="LinearConstraint"):
        minimize(Counted(), START, constraints={"type": "eq", "fun": np.prod}, method=zofw.scipy_method())


def test_bounds_may_fix_a_coordinate():
    result = minimize(
        Counted(), START, bounds=[(0, 1)] * 3 + [(0.25, 0.25)], method=zofw.scipy_method(budget=1_000, rng=0)
    )
    assert result.x[3] == 0.25


def test_callbacks_in_both_signatures():
    fun, points, results = Counted(), [], []

    def old(xk):
        points.append(xk)

    def new(intermediate_result):
        results.append((intermediate_result.x, intermediate_result.fun, intermediate_result.nfev))

    method = zofw.scipy_method(zofw.Simplex(), method="zo-fw", budget=200, rng=0)
    plain = minimize(fun, START, method=method, callback=old)
    assert len(points) == plain.nit and plain.nfev == fun.calls
    np.testing.assert_array_equal(points[-1], plain.last)
    fun.calls = 0
    told = minimize(fun, START, method=method, callback=new)
    assert told.nfev == fun.calls == plain.nfev + len(results), "reading fun in a callback is counted"
    x, value, _ = results[-1]
    assert value == np.sum((x - CENTRE) ** 2)
    minimize(fun, START, method=method, callback=points.append)


@pytest.mark.parametrize("signature", ["xk", "intermediate_result"])
def test_a_callback_stops_the_run(signature):
    def old(xk):
        raise StopIteration

    def new(intermediate_result):
        raise StopIteration

    method = zofw.scipy_method(zofw.Simplex(), method="zo-fw", budget=200, rng=0)
    result = minimize(Counted(), START, method=method, callback=old if signature == "xk" else new)
    assert not result.success and result.nit == 1 and "StopIteration" in result.message


def test_the_function_may_spoil_its_argument():
    def spoils(x):
        x -= CENTRE
        return x @ x

    result = minimize(spoils, START, method=zofw.scipy_method(zofw.Simplex(), budget=2_000, rng=0))
    np.testing.assert_allclose(result.x, CENTRE, atol=1e-3)


def test_other_settings_reach_the_run(tmp_path):
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        spread = zofw.scipy_method(
            zofw.Simplex(), method="zo-fw", budget=100, rng=0, workers=pool, checkpoint=tmp_path / "run.npz"
        )
        alone = zofw.scipy_method(zofw.Simplex(), method="zo-fw", budget=100, rng=0)
        found, expected = (
            minimize(distance, START, args=(CENTRE,), method=method) for method in (spread, alone)
        )
    np.testing.assert_array_equal(found.x, expected.x)
    assert found.nfev == expected.nfev and (tmp_path / "run.npz").exists()


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (
            {"method": zofw.scipy_method()},
            "either a set or SciPy's bounds and constraints, and neither was given",
        ),
        ({"method": zofw.scipy_method(zofw.Simplex()), "bounds": [(0, 1)] * 4}, "and both was given"),
        (
            {"method": zofw.scipy_method(), "bounds": [(0, 1)] * 3},
            "each of the 4 coordinates of x0; it has 3",
        ),
        ({"method": zofw.scipy_method(), "bounds": [(0, None)] * 4}, "must be finite"),
        (
            {"method": zofw.scipy_method(zofw.Simplex()), "constraints": LinearConstraint(np.ones(4), 1, 1)},
            "and both was given",
        ),
    ],
)
def test_what_cannot_be_done_is_said(arguments, sentence):
    with pytest.raises(ValueError, match=sentence):
        minimize(Counted(), START, **arguments)


def test_derivatives_and_unknown_options_are_warned_about():
    method = zofw.scipy_method(zofw.Simplex(), method="zo-fw", budget=100, rng=0)
    with pytest.warns(RuntimeWarning, match="does not use jac"):
        minimize(Counted(), START, method=method, jac=lambda x: 2 * (x - CENTRE))
    with pytest.warns(RuntimeWarning, match="does not use hess"):
        minimize(Counted(), START, method=method, hess=lambda x: 2 * np.eye(4))
    with pytest.warns(OptimizeWarning, match="Unknown solver options: xatol"):
        minimize(Counted(), START, method=method, options={"xatol": 1e-3})


def test_an_error_of_the_function_says_where():
    def fails(x):
        raise KeyError("no such part")

    with pytest.raises(zofw.EvaluationError, match="no such part"):
        minimize(fails, START, method=zofw.scipy_method(zofw.Simplex(), budget=100))


def test_disp_shows_a_bar(capsys):
    minimize(
        Counted(),
        START,
        method=zofw.scipy_method(zofw.Simplex(), method="zo-fw", budget=100),
        options={"disp": True},
    )
    assert "zo-fw" in capsys.readouterr().err


def test_too_small_a_budget_and_settings_that_are_sci_pys():
    with pytest.raises(ValueError, match="At least 2 evaluations are needed"):
        minimize(Counted(), START, method=zofw.scipy_method(zofw.Simplex()), options={"maxfev": 1})
    with pytest.raises(zofw.BudgetError) as caught:
        minimize(Counted(), START, method=zofw.scipy_method(zofw.Simplex(), method="zsfw-dvr", budget=3))
    assert "One of the 3 evaluations" in caught.value.__notes__[0]
    with pytest.raises(TypeError, match="does not take diagnose, x0: x0 and callback go to"):
        zofw.scipy_method(zofw.Simplex(), diagnose=3, x0=START)
