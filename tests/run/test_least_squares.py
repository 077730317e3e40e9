"""Residual vectors and functions of scenarios: what a run minimises, what it returns, what it refuses."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import scipy.optimize
from benchmarks import more_wild
from benchmarks.as_they_are import problems as as_they_are

import zofw
from zofw import outer

T = np.linspace(0, 4, 20)
DATA = 3 * np.exp(-0.7 * T) + 0.01 * np.sin(37 * T)
BOX = [(0.1, 10.0), (0.1, 5.0)]
GIVEN = {"x0": [1.0, 1.0], "rng": 0, "progress": False}


def model(p):
    return p[0] * np.exp(-p[1] * T) - DATA


@pytest.mark.parametrize("loss", outer.LOSSES)
def test_the_cost_is_scipys(loss):
    rough = lambda p: model(p) + np.where(np.arange(20) == 3, 2.0, 0.0)  # noqa: E731
    found = zofw.least_squares(rough, BOX, loss=loss, f_scale=0.1, budget=60, **GIVEN)
    exact = scipy.optimize.least_squares(rough, [3, 0.7], bounds=([0.1] * 2, [10, 5]), loss=loss, f_scale=0.1)
    assert found.fun == pytest.approx(exact.cost, rel=1e-5)
    np.testing.assert_allclose(found.residuals, rough(found.x))


@pytest.mark.parametrize(
    "h",
    [
        outer.SumOfSquares("cauchy", 0.3),
        outer.SumOfSquares("soft_l1", 2.0),
        outer.Mean(),
        outer.Weights([1, 2, 3, 4]),
    ],
)
def test_slopes_and_curvatures_are_those_of_the_function(h):
    v, eye = np.array([0.3, -0.2, 1.4, 0.7]), 1e-4 * np.eye(4)
    up, down = h.of(v + eye), h.of(v - eye)
    np.testing.assert_allclose(h.slope(v), (up - down) / 2e-4, atol=1e-7)
    np.testing.assert_allclose(h.curvature(v), (up + down - 2 * h.of(v[None])) / 1e-8, atol=1e-5)


def test_every_call_is_a_query_and_the_budget_is_kept():
    calls = []
    found = zofw.least_squares(
        lambda p: calls.append(1) or model(p), bounds=(0.1, [10, 5]), budget=17, **GIVEN
    )
    assert len(calls) == found.nfev <= 17


def test_jacobian_and_covariance_are_those_of_the_fit():
    found = zofw.least_squares(model, BOX, budget=60, **GIVEN)
    exact = scipy.optimize.least_squares(model, [3, 0.7], jac="3-point")
    np.testing.assert_allclose(found.jac, exact.jac, atol=2e-2)
    covariance = 2 * exact.cost / 18 * np.linalg.inv(exact.jac.T @ exact.jac)
    np.testing.assert_allclose(found.covariance, covariance, rtol=0.1)
    assert found.jac_error.shape == found.jac.shape and (found.jac_error >= 0).all()


def test_fewer_residuals_than_variables_on_a_simplex():
    A = np.random.default_rng(0).standard_normal((3, 8))
    found = zofw.least_squares(lambda x: A @ x - A.mean(1), "simplex", x0=np.eye(8)[0], budget=60, rng=0)
    assert found.fun < 1e-12 and zofw.Simplex().contains(found.x)


def test_separate_residuals_cost_one_each():
    found = zofw.least_squares(lambda p, i: model(p)[i], BOX, n=20, budget=600, **GIVEN)
    whole = zofw.least_squares(model, BOX, budget=30, **GIVEN)
    assert found.nfev <= 600 and found.fun == pytest.approx(whole.fun, rel=1e-6)


def test_a_run_continues_bit_for_bit_and_starts_from_known_residuals(tmp_path):
    asked = {**GIVEN, "m": 20, "checkpoint": tmp_path / "run.npz"}
    whole = zofw.least_squares(model, BOX, m=20, budget=20, **GIVEN)
    zofw.least_squares(model, BOX, budget=9, **asked)
    again = zofw.least_squares(model, BOX, budget=20, resume=True, **asked)
    np.testing.assert_array_equal(again.x, whole.x)
    X = np.array([[1.0, 1.0], [2.0, 1.0], [1.0, 2.0], [2.5, 0.8]])
    known = (X, np.array([model(x) for x in X]))
    found = zofw.least_squares(model, BOX, known=known, budget=8, rng=0)
    assert found.fun <= 1.1 * whole.fun + 1e-6


def noisy_model(noise):
    """Residuals with errors of one per cent, that are the same for the same sequence of calls."""
    calls = np.random.default_rng(5)

    def residuals(p):
        e = calls.standard_normal(20)
        return model(p) + 0.03 * e if noise == "additive" else model(p) * (1 + 0.03 * e)

    return residuals


@pytest.mark.parametrize("noise", ["additive", "relative"])
def test_noisy_residuals_are_averaged(noise):
    found = zofw.least_squares(noisy_model(noise), BOX, budget=60, **GIVEN)
    exact = scipy.optimize.least_squares(model, [3, 0.7])
    rise = 0.5 * np.sum(model(found.x) ** 2) - exact.cost
    assert np.isfinite(found.fun) and np.isfinite(found.covariance).all()
    assert found.nfev == 60 and 0 <= rise < 0.5 * 0.03**2  # two parameters by one vector: 0.03²


def test_a_noisy_run_continues_bit_for_bit(tmp_path):
    def residuals(p):  # noise that is a function of the point, but for the point asked for twice
        asked.append(p)
        again = sum(bool((p == q).all()) for q in asked) - 1
        return model(p) + 0.03 * np.sin(1e9 * p.sum() + np.arange(20) + again)

    asked = []
    whole = zofw.least_squares(residuals, BOX, m=20, budget=24, **GIVEN)
    asked.clear()
    given = {**GIVEN, "m": 20, "checkpoint": tmp_path / "run.npz"}
    zofw.least_squares(residuals, BOX, budget=13, **given)
    again = zofw.least_squares(residuals, BOX, budget=24, resume=True, **given)
    np.testing.assert_array_equal(again.x, whole.x)
    assert len(asked) == 24


def test_failed_simulations_are_kept_away_from():
    found = zofw.least_squares(
        lambda p: model(p) if p[0] < 2.9 else np.full(20, np.inf), BOX, worse=np.inf, budget=80, **GIVEN
    )
    free = scipy.optimize.least_squares(model, [2, 0.7], bounds=([0.1] * 2, [2.9, 5]))
    assert found.fun <= 1.2 * free.cost


def test_a_simulation_that_fails_may_return_infinity_alone():
    whole = lambda p: model(p) if p[0] < 2.9 else np.full(20, np.inf)  # noqa: E731
    alone = lambda p: model(p) if p[0] < 2.9 else np.inf  # noqa: E731
    found = zofw.least_squares(whole, BOX, worse=np.inf, budget=40, **GIVEN)
    for given in ({"worse": np.inf}, {"options": {"worse": np.inf}}):
        same = zofw.least_squares(alone, BOX, budget=40, **given, **GIVEN)
        np.testing.assert_array_equal(same.x, found.x)
    parts = zofw.least_squares(lambda p, i: whole(p)[i], BOX, n=20, worse=np.inf, budget=600, **GIVEN)
    assert parts.x[0] < 2.9
    with pytest.raises(zofw.EvaluationError, match=r"it returned inf: write worse=np.inf"):
        zofw.least_squares(alone, BOX, budget=40, **GIVEN)
    with pytest.raises(zofw.EvaluationError, match="does not show how many they are: give m=…"):
        zofw.least_squares(lambda p: np.inf, BOX, worse=np.inf, budget=40, **GIVEN)


def test_the_same_script_again_continues_a_run_without_m(tmp_path):
    asked = {**GIVEN, "checkpoint": tmp_path / "run.npz", "resume": "auto"}
    calls = []
    residuals = lambda p: calls.append(1) or model(p)  # noqa: E731
    zofw.least_squares(residuals, BOX, budget=9, **asked)
    found = zofw.least_squares(residuals, BOX, budget=20, **asked)
    np.testing.assert_array_equal(found.x, zofw.least_squares(model, BOX, budget=20, **GIVEN).x)
    assert len(calls) == found.nfev
    again = zofw.least_squares(residuals, BOX, budget=20, **asked)
    assert len(calls) == found.nfev and again.nfev == found.nfev
    with pytest.raises(FileExistsError):  # before anything is asked
        zofw.least_squares(residuals, BOX, budget=20, **{**asked, "resume": False})
    assert len(calls) == found.nfev


@pytest.mark.parametrize(
    "fun, said",
    [
        (
            lambda p: model(p)[: 20 if p[0] == 1 else 19],
            "returned 19 numbers, and should return 20 at every x, as at the first call: fill",
        ),
        (lambda p: np.where(np.arange(20) == 4, np.nan, model(p)), "Residual 4 of 20 is nan"),
        (lambda p: 1 / 0, "residuals raised ZeroDivisionError"),
        (lambda p: "text", "should return an array of all residuals; it returned 'text'"),
        (
            lambda p: np.sum(model(p) ** 2),
            "a single number: return the residuals, not the sum of their squares",
        ),
        (lambda p: model(p).reshape(4, 5), "of shape \\(4, 5\\): return .ravel\\(\\) of it"),
        (lambda p: None, "it returned None"),
    ],
)
def test_what_residuals_return_is_checked(fun, said):
    with pytest.raises(zofw.EvaluationError, match=said):
        zofw.least_squares(fun, BOX, budget=30, **GIVEN)


def test_wrong_settings_are_refused():
    with pytest.raises(ValueError, match=r"both were given\. The start is written x0=…"):
        zofw.least_squares(model, [1, 1], bounds=(0, 1), budget=9)
    with pytest.raises(ValueError, match="m should be a whole number of at least 1; got 0"):
        zofw.least_squares(model, BOX, m=0, budget=9)
    with pytest.raises(TypeError, match=r"takes no outer=…: write loss=…, or zofw.minimize"):
        zofw.least_squares(model, BOX, outer=outer.Worst(), budget=9)
    for name, said in (("max_nfev", "budget=…"), ("ftol", "gap_tol=…"), ("x_scale", "leave it out")):
        with pytest.raises(TypeError, match=f"no argument '{name}'; .*{said}"):
            zofw.least_squares(model, BOX, budget=9, **{name: 1.0})
    with pytest.raises(ValueError, match="loss should be one of linear"):
        zofw.least_squares(model, BOX, loss="l7", budget=9, **GIVEN)
    with pytest.raises(TypeError, match=r"missing a required argument: 'i'. .* residuals\(x, i\), with n=…"):
        zofw.least_squares(lambda x, i: model(x)[i], BOX, budget=9, **GIVEN)
    with pytest.raises(TypeError, match="With n=20, residuals should be a function of x and of the number i"):
        zofw.least_squares(model, BOX, n=20, budget=90, **GIVEN)
    with pytest.raises(
        ValueError, match=r"all residuals at every point, \(k, m\); got values of shape \(1,\)"
    ):
        zofw.least_squares(model, BOX, known=([[1.0, 1.0]], [3.0]), budget=9)
    with pytest.raises(zofw.EvaluationError, match="20 numbers, and should return 5 at every x, as known="):
        zofw.least_squares(model, BOX, known=(np.ones((4, 2)), np.ones((4, 5))), budget=9)
    with pytest.raises(ValueError, match="points with 3 numbers, and Box"):
        zofw.least_squares(model, BOX, known=([[1.0, 1.0, 1.0]], [model([1, 1])]), budget=9)
    with pytest.raises(ValueError, match=r"their values, \(m, 20\)"):
        zofw.least_squares(model, BOX, m=20, known=([[1.0, 1.0]], [3.0]), budget=9)


CENTRES = np.random.default_rng(3).uniform(-1, 1, (12, 3))


def scenario(x, i):
    return float(np.sum((x - CENTRES[i]) ** 2) + np.sin(x[0] + i))


@pytest.mark.parametrize(
    "h", [outer.Worst(), outer.CVaR(0.75), outer.Weights(np.arange(1, 13)), outer.Mean()]
)
def test_functions_of_scenarios_are_minimised(h):
    box = zofw.Box(-np.ones(3), np.ones(3))
    found = zofw.minimize(scenario, box, n=12, outer=h, budget=12 * 30, rng=0, options={"progress": False})
    values = lambda x: float(h.of(np.array([[scenario(x, i) for i in range(12)]]))[0])  # noqa: E731
    starts = np.random.default_rng(0).uniform(-1, 1, (8, 3))
    method = "COBYQA" if np.lib.NumpyVersion(scipy.__version__) >= "1.14.0" else "Nelder-Mead"
    least = min(scipy.optimize.minimize(values, x, method=method, bounds=[(-1, 1)] * 3).fun for x in starts)
    assert found.fun == pytest.approx(values(found.x)) and found.fun <= least + 1e-3


@pytest.mark.parametrize("h", [outer.Worst(), outer.CVaR(0.75), outer.Mean()])
def test_scenarios_that_fail_are_left_out_and_named(h):
    def failing(x, i):  # every other point
        return np.inf if i == 4 and np.sin(1e5 * x.sum()) > 0 else scenario(x, i)

    given = {
        "n": 12,
        "outer": h,
        "budget": 12 * 40,
        "rng": 0,
        "options": {"progress": False, "worse": np.inf},
    }
    box = zofw.Box(-np.ones(3), np.ones(3))
    without = zofw.minimize(scenario, box, **given)
    found = zofw.minimize(failing, box, **given)
    assert found.fun <= without.fun + 0.3 and found.failures[4] == found.failures.sum() > 0
    assert ("1 of 12 components failed and are left out: 4." in found.message) == (4 in found.failed)
    always = zofw.minimize(lambda x, i: np.inf if i == 4 else scenario(x, i), box, **given)
    assert always.failed.tolist() == [4] and always.message.endswith("left out: 4.")
    assert np.isfinite(always.jac[np.arange(12) != 4]).all()


def test_functions_of_scenarios_are_what_they_say():
    v = np.array([[3.0, 1.0, 2.0, 4.0]])
    assert outer.CVaR(0.5).of(v)[0] == 3.5 and outer.CVaR(0.6).of(v)[0] == pytest.approx((4 + 0.6 * 3) / 1.6)
    assert (
        outer.Quantile(0.5).of(v)[0] == 2.0 and outer.Worst().of(v)[0] == 4.0 and outer.Mean().of(v)[0] == 2.5
    )
    v[0, 3] = 1e100
    assert outer.Worst(failures=0.3).of(v)[0] == 3.0 and outer.Worst(failures=0.2).of(v)[0] == 1e100
    assert outer.Weights([1, 1, 1, 1], failures=0.3).of(v)[0] == pytest.approx(8.0)
    with pytest.raises(ValueError, match="4 numbers of at least 0"):
        outer.Weights([1, -1, 1, 1]).check(4)


@pytest.mark.parametrize("row", [3, 8, 14, 20, 33, 48])
def test_residuals_are_never_worse_than_their_sum(row):
    """After 8(d + 1) calls, on problems of Moré and Wild."""
    problem = more_wild.Problem(row)
    number, d, m, _ = more_wild.ROWS[row]
    box, budget = zofw.Box(problem.lower, problem.upper), 8 * (d + 1)
    vector = lambda x: more_wild.residuals(number, d, m, x)  # noqa: E731
    asked = {"x0": problem.x0, "rng": 0}
    own = zofw.least_squares(vector, box, m=m, budget=budget, **asked)
    whole = zofw.minimize(lambda x: float(np.sum(vector(x) ** 2)), box, budget=budget, **asked)
    parts = zofw.minimize(lambda x, i: vector(x)[i] ** 2, box, n=m, budget=m * budget, **asked)
    rounding = 1e-12 * problem.value(problem.x0)
    assert 2 * own.fun <= 1.1 * min(whole.fun, m * parts.fun) + rounding


def test_a_session_takes_vectors_and_a_desk_single_residuals():
    asked = {"dim": 2, "outer": outer.SumOfSquares(), "x0": [1.0, 1.0], "rng": 0}
    session = zofw.Session(BOX, outputs=20, budget=20, **asked)
    with pytest.raises(ValueError, match="n=20 and outputs=1"):
        zofw.Desk(session)
    while query := session.ask():
        session.tell(query, np.array([model(x) for x in query.anchors]))
    np.testing.assert_array_equal(
        session.result().x, zofw.least_squares(model, BOX, m=20, budget=20, **GIVEN).x
    )
    desk = zofw.Desk(zofw.Session(BOX, n=20, budget=400, **asked))
    while requests := desk.requests():
        for request in reversed(requests):
            desk.tell(request.id, [float(model(x)[i]) for x, i in request])
    np.testing.assert_allclose(desk.result().x, session.result().x, rtol=1e-6)


def test_workers_save_two_rounds_of_three():
    exact = scipy.optimize.least_squares(model, [3, 0.7]).cost
    rise = lambda found: 0.5 * np.sum(model(found.x) ** 2) - exact  # noqa: E731
    alone = rise(zofw.least_squares(model, BOX, budget=24, **GIVEN))
    with ThreadPoolExecutor(8) as pool:
        found = zofw.least_squares(model, BOX, budget=64, workers=pool, options={"in_order": True}, **GIVEN)
    assert found.nfev <= 64 and rise(found) <= 1.1 * alone  # 8 rounds


@pytest.mark.parametrize("row", [24, 34])
def test_noise_that_ends_at_a_zero_of_all_residuals(row):
    """The noise is a share of each residual: at the end both vanish."""
    problem = more_wild.Problem(row)
    number, d, m, _ = more_wild.ROWS[row]
    calls = np.random.default_rng(0)
    box = zofw.Box(problem.lower, problem.upper)
    with np.errstate(over="ignore"):
        found = zofw.least_squares(
            lambda x: np.clip(more_wild.residuals(number, d, m, x), -1e30, 1e30) * (1 + 1e-3 * calls.standard_normal(m)),
            box, x0=problem.x0, budget=20 * (d + 1), rng=0,
        )  # fmt: skip
        assert problem.value(found.x) < 1e-9 * problem.value(problem.x0)


@pytest.mark.slow
@pytest.mark.parametrize("n, loss", [(20, "absolute"), (100, "Cauchy"), (200, "logistic")])
@pytest.mark.parametrize("times", as_they_are.BUDGETS)
def test_components_are_never_worse_than_their_sum(n, loss, times):
    """On the few components of the panel of functions as they are, at each published budget."""
    problem = as_they_are.few(np.random.default_rng([1, 3, n]), n, loss)
    asked = {"x0": problem.x0, "rng": 0, "options": {"progress": False}}
    box, budget = zofw.Box(problem.lower, problem.upper), times * (problem.dim + 1)
    whole = zofw.minimize(problem.truth, box, budget=budget, **asked)
    parts = zofw.minimize(problem.component, box, n=n, budget=n * budget, **asked)
    first = problem.truth(problem.x0) - problem.least
    assert (
        problem.truth(parts.x) - problem.least
        <= 1.1 * (problem.truth(whole.x) - problem.least) + 1e-9 * first
    )


PLANE = zofw.Polytope(A_eq=np.ones((1, 4)), b_eq=[1], bounds=np.tile([0.0, 1.0], (4, 1)))


@pytest.mark.parametrize("region", ["simplex", zofw.CappedSimplex(0.6), PLANE])
@pytest.mark.parametrize("h", [outer.CVaR(0.9), outer.Mean(), outer.Quantile(0.9)])
def test_x_is_a_point_that_was_paid_for_and_fun_its_value(region, h):
    for seed in range(2):
        draw = np.random.default_rng(seed)
        M, b, paid = draw.normal(size=(20, 4)), draw.normal(size=20), set()
        f = lambda x, i: paid.add(x.tobytes()) or float((M[i] @ x - b[i]) ** 2)  # noqa: E731, B023
        found = zofw.minimize(f, region, dim=4, n=20, outer=h, budget=400, rng=seed)
        assert found.x.tobytes() in paid
        assert found.fun == pytest.approx(float(h.of(((M @ found.x - b) ** 2)[None])[0]), rel=1e-12)


def test_fun_of_noisy_scenarios_is_that_of_the_models_and_the_message_says_so():
    draw = np.random.default_rng(0)
    M, b, noise = draw.normal(size=(20, 4)), draw.normal(size=20), np.random.default_rng(1)
    f = lambda x, i: float((M[i] @ x - b[i]) ** 2 + 0.02 * noise.normal())  # noqa: E731
    for h in (outer.CVaR(0.8), outer.Mean()):
        found = zofw.minimize(f, "simplex", dim=4, n=20, outer=h, budget=800, rng=0)
        assert found.fun == float(h.of(found.residuals[None])[0])
        assert found.fun == pytest.approx(float(h.of(((M @ found.x - b) ** 2)[None])[0]), abs=0.1)
        assert "not evaluated" not in repr(found) and np.isnan(found.fun_error)
    found = zofw.least_squares(noisy_model("additive"), BOX, budget=40, **GIVEN)
    assert "x is the minimiser of the models, at which nothing was asked" in found.message


@pytest.mark.parametrize("m", [20, 1])
@pytest.mark.parametrize("kind", ["raise", "nan", "shape"])
def test_calls_that_fail_are_skipped(m, kind):
    calls = []

    def residuals(p):
        calls.append(1)
        if len(calls) not in (7, 8):
            return model(p)[:m]
        if kind == "raise":
            raise OSError("no licence")
        return np.full(m, np.nan) if kind == "nan" else np.zeros(m + 1)

    found = zofw.least_squares(residuals, BOX, budget=40, on_error="skip", **GIVEN)
    assert found.ledger["failed"] == 2 and len(calls) == found.nfev <= 40
    assert found.fun < 1e-2
