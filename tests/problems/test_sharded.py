"""A sum in parts is the same sum; its parts are what they were said to be, and built when they are needed."""

from __future__ import annotations

import itertools
import pickle

import numpy as np
import pytest
import scipy.sparse as sp

import zofw
from zofw.core import Batch, Query
from zofw.problems import BlackBox, LeastSquares, Logistic, Sharded, evaluate, mean_value

N, DIM, CUTS = 60, 8, (0, 7, 8, 40, 60)
RNG = np.random.default_rng(0)
Z, Y = RNG.standard_normal((N, DIM)), np.sign(RNG.standard_normal(N))


def squares(X, batch):
    return (X @ Z[batch].T - Y[batch]) ** 2


def one_square(x, i):
    return float((Z[i] @ x - Y[i]) ** 2)


WHOLE = {
    "dense": lambda rows: LeastSquares(Z[rows], Y[rows]),
    "sparse": lambda rows: Logistic(sp.csr_array(Z[rows] * (np.abs(Z[rows]) > 0.5)), Y[rows]),
    "vectorised": lambda rows: BlackBox(
        lambda X, batch: squares(X, batch + rows.start), dim=DIM, n=rows.stop - rows.start, vectorized=True
    ),
    "one by one": lambda rows: BlackBox(
        lambda x, i: one_square(x, i + rows.start), dim=DIM, n=rows.stop - rows.start
    ),
}


def sharded(kind: str, **settings) -> Sharded:
    rows = [slice(a, b) for a, b in itertools.pairwise(CUTS)]
    loaders = [lambda part=part: WHOLE[kind](part) for part in rows]
    sizes = [part.stop - part.start for part in rows]
    return Sharded([WHOLE[kind](rows[0]), *loaders[1:]], sizes=sizes, dim=DIM, **settings)


def queries(rng):
    U = zofw.directions.Rademacher().draw(rng, DIM, 5)
    anchors = rng.standard_normal((2, DIM))
    batch = Batch(N, rng.integers(N, size=33))
    yield Query(anchors, batch)
    yield Query(anchors, Batch(N))
    basis = zofw.directions.Coordinate().draw(rng, DIM, DIM)
    for stencil in (zofw.core.Stencil.CENTRAL, zofw.core.Stencil.FORWARD, zofw.core.Stencil.QUADRATIC):
        for variance in (False, True):
            yield Query(anchors, batch, U, 0.1, stencil, variance=variance)
            yield Query(anchors, Batch(N), basis, 0.1, stencil, variance=variance)
        if stencil is not zofw.core.Stencil.QUADRATIC:
            paired = Batch(N, rng.integers(N, size=5))
            yield Query(anchors, paired, U, 0.1, stencil, paired=True)


@pytest.mark.parametrize("at_once", [1, 7, 1000])
@pytest.mark.parametrize("kind", WHOLE)
def test_the_same_answers_as_in_one_piece(kind, at_once):
    whole, parts = WHOLE[kind](slice(0, N)), sharded(kind, at_once=at_once)
    for query in queries(np.random.default_rng(1)):
        expected, found = evaluate(whole, query), evaluate(parts, query)
        np.testing.assert_allclose(found.values, expected.values, rtol=1e-12)
        if query.variance:
            np.testing.assert_allclose(found.variance, expected.variance, rtol=1e-9, atol=1e-12)
    points = np.random.default_rng(2).standard_normal((3, DIM))
    components = np.array([59, 0, 8, 7, 7])
    np.testing.assert_allclose(parts.values(points, components), whole.values(points, components), rtol=1e-12)
    assert mean_value(parts, points[0]) == pytest.approx(mean_value(whole, points[0]), rel=1e-12)


def test_one_part_of_one_tile_is_the_problem_itself_bit_for_bit():
    whole = WHOLE["dense"](slice(0, N))
    for query in queries(np.random.default_rng(1)):
        np.testing.assert_array_equal(evaluate(Sharded([whole]), query).values, evaluate(whole, query).values)


@pytest.mark.parametrize("method", sorted(set(zofw.methods()) - {"frank-wolfe"}))
def test_every_method(method):
    settings = {"method": method, "budget": 40_000, "max_iter": 4, "rng": 3, "diagnose": 0}
    settings["inside"] = False  # the default is True where no gradient says that f is a formula
    whole = zofw.minimize(WHOLE["dense"](slice(0, N)), zofw.L1Ball(1.0), **settings)
    result = zofw.minimize(sharded("dense"), zofw.L1Ball(1.0), **settings)
    assert result.ledger == whole.ledger
    np.testing.assert_allclose(result.x, whole.x, atol=1e-6)


def test_parts_are_built_when_they_are_needed_and_once():
    built = []

    def load(number):
        built.append(number)
        return LeastSquares(Z[:5], Y[:5])

    f = Sharded([lambda: load(0), lambda: load(1)], sizes=[5, 5], dim=DIM)
    assert repr(f) == "Sharded(2 parts, n=10, dim=8)" and built == []
    for _ in range(2):
        evaluate(f, Query(np.zeros(DIM), Batch(10, np.array([6, 7]))))
    assert built == [1]
    f = Sharded([LeastSquares(Z, Y), Z.copy], sizes=[N, 1], dim=DIM)
    assert set(pickle.loads(pickle.dumps(f))._built) == {0}


def test_an_error_names_the_part_and_the_component_of_the_whole():
    def fails(x, i):
        return np.nan if i == 2 else 1.0

    f = Sharded([BlackBox(lambda x, i: 1.0, dim=3, n=4), BlackBox(fails, dim=3, n=5)])
    with pytest.raises(
        zofw.EvaluationError, match=r"In part 1, which has components 4 to 8: .*returned nan"
    ) as error:
        mean_value(f, np.zeros(3))
    assert error.value.component == 6


@pytest.mark.parametrize(
    ("parts", "settings", "words"),
    [
        ([], {}, "at least one part"),
        ([3], {}, "should be a problem, or a function without arguments"),
        ([LeastSquares(Z, Y), Z.copy], {}, "does not call them to find out how large they are"),
        ([LeastSquares(Z, Y)], {"sizes": [N, N]}, "1 parts and 2 sizes"),
        ([LeastSquares(Z, Y)], {"sizes": [N - 1]}, "should have n=59 and dim=8; it has n=60"),
        ([LeastSquares(Z, Y), LeastSquares(Z[:, 1:], Y)], {}, "dim=8; it has n=60 and dim=7"),
        ([LeastSquares(Z, Y)], {"sizes": [0.5]}, r"sizes\[0\] to be a whole number"),
        ([LeastSquares(Z, Y)], {"copies": 0}, "copies to be a whole number"),
        ([LeastSquares(Z, Y)], {"at_once": True}, "at_once to be a whole number"),
    ],
)
def test_mistakes_are_sentences(parts, settings, words):
    with pytest.raises((ValueError, TypeError), match=words):
        Sharded(parts, **settings)


def test_a_function_that_returns_something_else():
    with pytest.raises(TypeError, match="part 0 of Sharded returned ndarray, not a problem"):
        mean_value(Sharded([Z.copy], sizes=[1], dim=3), np.zeros(3))
