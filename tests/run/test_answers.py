"""What may be told: numbers that a method can square, and nothing else."""

from __future__ import annotations

import numpy as np
import pytest

import zofw
from zofw.core import Answer, Batch, Query
from zofw.differences import LARGEST, STEEPEST
from zofw.run.session.answer_checks import check_answer


def begun(method: str) -> zofw.Session:
    settings = {"dim": 6, "n": 7, "budget": 3000, "max_iter": 20, "rng": 0, "gradient": lambda x: x}
    return zofw.Session(zofw.L1Ball(1.0), method=method, **settings)


def signs(shape, rng):
    return rng.choice([-1.0, 1.0], shape)


def ones_and_zeros(shape, rng):
    return rng.choice([0.0, 1.0], shape)


def between(shape, rng):
    return rng.uniform(-1.0, 1.0, shape)


@pytest.mark.filterwarnings("ignore:.*flat in steps")  # two values at random are
@pytest.mark.parametrize("method", sorted(zofw.methods()))
def test_every_method_copes_with_the_largest_answers(method):
    for shape_of in (signs, ones_and_zeros, between):
        rng = np.random.default_rng(1)
        session = begun(method)
        while (query := session.ask()) is not None:
            values = LARGEST * shape_of((len(query.anchors), query.width), rng)
            spread = LARGEST * rng.random((len(query.anchors), query.count)) if query.variance else None
            session.tell(query, Answer(values, spread))
        assert np.isfinite(session.x).all() and zofw.L1Ball(1.0).contains(session.x), shape_of


@pytest.mark.parametrize("method", sorted(set(zofw.methods()) - {"frank-wolfe"}))
def test_answers_that_overflow_are_refused_before_anything_is_counted(method):
    session = begun(method)
    query = session.ask()
    for size in (1e101, 1e150, 1.8e302, 1.7e308):
        told = np.where(np.arange(query.width) % 2, size, -size) * np.ones((len(query.anchors), 1))
        with pytest.raises(ValueError, match=r"values up to .*Rescale"):
            session.tell(query, told)
        assert session.nfev == 0 and session.ask() is query, size


@pytest.mark.parametrize(
    "stencil", [zofw.core.Stencil.CENTRAL, zofw.core.Stencil.FORWARD, zofw.core.Stencil.QUADRATIC]
)
def test_slopes_that_overflow_are_refused_and_equal_values_are_not(stencil):
    U = zofw.directions.Rademacher().draw(np.random.default_rng(0), 6, 3)
    query = Query(np.zeros(6), Batch(7), U, 1e-200, stencil)
    check_answer(query, np.full(query.width, 5.0))
    told = np.arange(float(query.width))
    with pytest.raises(ValueError, match=r"slope of .* over the radius 1e-200"):
        check_answer(query, told)
    variance = Query(np.zeros(6), Batch(7), U, 0.1, stencil, variance=True)
    with pytest.raises(ValueError, match="variances up to"):
        check_answer(variance, Answer(told, np.full(3, 10 * STEEPEST**2)))


@pytest.mark.parametrize("vectorized", [False, True])
def test_an_objective_beyond_all_bounds_is_met_by_the_policy(vectorized):
    def explode(x, i):
        return 1e200 * np.ones((len(x), len(i))) if vectorized else 1e200

    f = zofw.problems.BlackBox(explode, dim=3, n=2, vectorized=vectorized)
    for settings in ({}, {"on_error": zofw.Retry(2, 0.0)}):
        with pytest.raises(zofw.EvaluationError, match=r"returned 1e\+200 for component 0.*at most 1e\+100"):
            zofw.minimize(f, zofw.Simplex(), method="zo-fw", budget=100, rng=0, diagnose=0, **settings)


def test_a_linear_model_beyond_all_bounds():
    f = zofw.problems.LeastSquares(np.full((2, 3), 1e80), np.zeros(2))
    with pytest.raises(zofw.EvaluationError, match=r"at most 1e\+100 in modulus"):
        zofw.minimize(f, zofw.L1Ball(1.0), method="zo-fw", budget=100, rng=0, diagnose=0, x0=[1.0, 0.0, 0.0])
