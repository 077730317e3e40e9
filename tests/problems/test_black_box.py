"""Any function: three spellings, and what happens when it misbehaves."""

from __future__ import annotations

import numpy as np
import pytest

from zofw.core import Batch, EvaluationError, Query, Stencil
from zofw.directions import Gaussian, basis
from zofw.problems import BlackBox, evaluate, mean_value

DIM, N = 4, 3


def component(x, i):
    return float(np.sum((x - i) ** 2))


def whole(X, batch):
    return ((X[:, None, :] - np.asarray(batch)[None, :, None]) ** 2).sum(axis=2)


def test_three_spellings_are_one_function():
    x = np.array([0.5, -1.0, 2.0, 0.0])
    one = BlackBox(lambda x: component(x, 0), DIM)
    many = BlackBox(component, DIM, N)
    together = BlackBox(whole, DIM, N, vectorized=True)
    assert mean_value(one, x) == component(x, 0)
    assert mean_value(many, x) == pytest.approx(np.mean([component(x, i) for i in range(N)]))
    query = Query(np.stack([x, -x]), Batch(N, np.array([2, 0, 2])), Gaussian().draw(np.random.default_rng(0), DIM, 5),
                  0.1, Stencil.QUADRATIC, variance=True)  # fmt: skip
    for found, expected in zip(
        *(vars(evaluate(problem, query)).values() for problem in (many, together)), strict=True
    ):
        np.testing.assert_allclose(found, expected, rtol=1e-12)


@pytest.mark.parametrize("fun", [component, lambda x, i: component(x, i), lambda x, /, i: component(x, i)])
def test_with_one_component_both_signatures_are_welcome(fun):
    assert mean_value(BlackBox(fun, DIM, 1), np.ones(DIM)) == component(np.ones(DIM), 0)


def test_a_function_without_a_signature_is_called_with_the_point():
    assert mean_value(BlackBox(np.sum, DIM), np.ones(DIM)) == DIM
    assert mean_value(BlackBox(max, 1), np.ones(1)) == 1.0


@pytest.mark.parametrize("value", [np.float32(2.0), np.array([2.0]), np.array(2), 2, True, np.array([[2.0]])])
def test_any_single_number_will_do(value):
    assert mean_value(BlackBox(lambda x: value, DIM), np.ones(DIM)) == float(np.asarray(value).ravel()[0])


@pytest.mark.parametrize("value", ["two", None, np.ones(2), [], 1j])
def test_anything_else_is_named(value):
    with pytest.raises(EvaluationError, match=r"one number for component 1; it returned") as caught:
        BlackBox(lambda x, i: value, DIM, N).values(np.ones((1, DIM)), np.array([1]))
    assert caught.value.component == 1
    np.testing.assert_array_equal(caught.value.point, np.ones(DIM))


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_a_value_that_is_not_finite_names_its_component_and_point(bad):
    problem = BlackBox(lambda x, i: bad if i == 2 else 1.0, DIM, N)
    with pytest.raises(
        EvaluationError, match=rf"returned {bad} for component 2 \(point 0 of the call, of norm 2\)"
    ) as caught:
        evaluate(problem, Query(np.ones(DIM), Batch(N)))
    assert caught.value.component == 2
    np.testing.assert_array_equal(caught.value.point, np.ones(DIM))


@pytest.mark.parametrize("vectorized", [True, False])
def test_an_exception_is_chained(vectorized):
    def fun(x, i):
        raise KeyError("no such simulation")

    with pytest.raises(EvaluationError, match=r"The objective raised KeyError.*no such simulation") as caught:
        evaluate(BlackBox(fun, DIM, N, vectorized), Query(np.ones(DIM), Batch(N)))
    assert isinstance(caught.value.__cause__, KeyError)
    assert caught.value.component == (None if vectorized else 0)


def test_an_error_can_be_told_where_it_happened():
    error = EvaluationError("It failed")
    error.locate(query=3, iteration=2, seed=1, paid=70)
    assert str(error) == (
        "It failed. It was query 3 of the run (the first is 0), in iteration 2, after 70 paid evaluations, with seed 1."
    )


@pytest.mark.parametrize("shape", [(2, N + 1), (N, 2), (2,), (), (2, N, 1)])
def test_a_table_of_the_wrong_shape_is_named(shape):
    problem = BlackBox(lambda X, batch: np.zeros(shape), DIM, N, vectorized=True)
    query = Query(np.ones(DIM), Batch(N), basis(DIM), 0.1, Stencil.CENTRAL)
    with pytest.raises(
        EvaluationError, match=r"8 points and 3 components .* shape \(8, 3\); it returned shape"
    ):
        evaluate(problem, query)


def test_a_table_of_the_wrong_type_is_named():
    problem = BlackBox(lambda X, batch: np.full((len(X), len(batch)), "a"), DIM, N, vectorized=True)
    with pytest.raises(EvaluationError, match="real numbers; it returned dtype <U1"):
        evaluate(problem, Query(np.ones(DIM), Batch(N)))


@pytest.mark.parametrize("stencil", [Stencil.VALUE, Stencil.CENTRAL])
@pytest.mark.parametrize("vectorized", [True, False])
def test_no_function_changes_what_others_read(stencil, vectorized):
    def careless(x, i):
        x *= 2.0
        return 1.0

    U = None if stencil is Stencil.VALUE else basis(DIM)
    query = Query(np.ones(DIM), Batch(N), U, 0.0 if U is None else 0.1, stencil)
    if vectorized:
        with pytest.raises(EvaluationError, match="read-only"):
            evaluate(BlackBox(careless, DIM, N, vectorized), query)
    else:
        assert (evaluate(BlackBox(careless, DIM, N), query).values == 1.0).all()
    np.testing.assert_array_equal(query.anchors, np.ones((1, DIM)))


@pytest.mark.parametrize(
    ("arguments", "error", "sentence"),
    [
        ((3, DIM), TypeError, "function to call; got int"),
        ((component, 0, N), ValueError, "dim to be a whole number of at least 1; got 0"),
        ((component, 2.5, N), ValueError, "dim to be a whole number"),
        ((component, True, N), ValueError, "dim to be a whole number"),
        ((component, DIM, 0), ValueError, "n to be a whole number of at least 1; got 0"),
        ((component, DIM, N, False, 5), ValueError, "at_once should be .* with vectorized=True; got 5"),
        ((whole, DIM, N, True, 0), ValueError, "at_once should be a whole number of at least 1"),
    ],
)
def test_bad_settings_end_in_a_sentence(arguments, error, sentence):
    with pytest.raises(error, match=sentence):
        BlackBox(*arguments)


@pytest.mark.parametrize("at_once", [1, 4, 7, None])
@pytest.mark.parametrize("variance", [True, False])
def test_a_vectorised_function_is_asked_for_no_more_than_it_wants(at_once, variance):
    sizes = []

    def fun(X, batch):
        sizes.append(len(X) * len(batch))
        return whole(X, batch)

    query = Query(np.ones((2, DIM)), Batch(N), basis(DIM), 0.1, Stencil.CENTRAL, variance=variance)
    found = evaluate(BlackBox(fun, DIM, N, True, at_once), query)
    expected = evaluate(BlackBox(component, DIM, N), query)
    np.testing.assert_allclose(found.values, expected.values, rtol=1e-13)
    assert sum(sizes) == query.cost
    assert max(sizes) <= 2 * (at_once or query.cost)  # both sides of one difference go together
    if variance:
        np.testing.assert_allclose(found.variance, expected.variance, rtol=1e-9)
