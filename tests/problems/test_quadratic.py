"""Quadratics with a known answer."""

from __future__ import annotations

import numpy as np
import pytest

import zofw
from zofw.core import Batch, Query
from zofw.problems import Quadratic, evaluate


def random_quadratic(diagonal: bool) -> Quadratic:
    rng = np.random.default_rng(0)
    B = rng.normal(size=(5, 5))
    return Quadratic(rng.random(5) + 0.1 if diagonal else B @ B.T, 100 + rng.normal(size=(7, 5)))


@pytest.mark.parametrize("diagonal", [True, False])
def test_values_are_the_definition(diagonal):
    problem, rng = random_quadratic(diagonal), np.random.default_rng(1)
    A = np.diag(problem.A) if diagonal else problem.A
    points = 100 + rng.normal(size=(4, 5))
    index = np.array([3, 3, 0])
    expected = [[0.5 * (x - c) @ A @ (x - c) for c in problem.centres[index]] for x in points]
    np.testing.assert_allclose(problem.values(points, index), expected, rtol=1e-11)
    every = problem.values(points[:1], np.arange(7))
    assert problem.value(points[0]) == pytest.approx(every.mean(), rel=1e-13)
    assert evaluate(problem, Query(points[0], Batch(7))).values[0, 0] == pytest.approx(
        every.mean(), rel=1e-13
    )
    np.testing.assert_allclose(problem.gradient(points[0]), A @ (points[0] - problem.centres.mean(axis=0)))


@pytest.mark.parametrize("diagonal", [True, False])
def test_the_answer_is_known(diagonal):
    problem = random_quadratic(diagonal)
    assert problem.convex
    assert (
        problem.L
        == problem.L_hat
        == pytest.approx(np.linalg.norm(np.diag(problem.A) if diagonal else problem.A, 2))
    )
    np.testing.assert_allclose(problem.gradient(problem.minimiser), 0, atol=1e-12)
    rng = np.random.default_rng(2)
    assert all(problem.value(problem.minimiser + rng.normal(size=5)) > problem.minimum for _ in range(10))
    assert not Quadratic([1.0, -1.0], [[0.0, 0.0]]).convex


def test_a_run_finds_it():
    problem = Quadratic(np.ones(4), [[0.4, 0.3, 0.2, 0.1]])
    assert (problem.n, repr(problem)) == (1, "Quadratic(n=1, dim=4)")
    result = zofw.minimize(problem, zofw.Simplex(), method="zo-fw", budget=4000, rng=0)
    assert result.fun - problem.minimum < 1e-2


@pytest.mark.parametrize(
    ("A", "centres", "sentence"),
    [
        (np.ones(3), np.ones((2, 4)), r"needs A of shape \(4,\) or \(4, 4\); got \(3,\)"),
        (np.ones(3), np.ones((2, 2, 3)), "centres, n and d at least 1"),
        (np.ones(0), np.ones((2, 0)), "n and d at least 1"),
        (np.array([1.0, np.nan]), np.ones(2), "finite"),
        (np.array([[1.0, 2.0], [0.0, 1.0]]), np.ones(2), "symmetric"),
    ],
)
def test_bad_data_end_in_a_sentence(A, centres, sentence):
    with pytest.raises(ValueError, match=sentence):
        Quadratic(A, centres)
