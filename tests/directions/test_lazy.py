"""Gaussian(lazy=True): other numbers, the same law."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.stats import ks_2samp, kstest

import zofw
from zofw.core import Batch
from zofw.extend.play import World, play
from zofw.problems import Logistic


def draw(seed, dim, count, lazy=True):
    return zofw.directions.Gaussian(lazy=lazy).draw(np.random.default_rng(seed), dim, count)


def test_touched_coordinates_are_those_of_the_same_matrix():
    U = draw(3, 500, 7)
    touched = np.array([0, 4, 77, 499])
    c = np.arange(1.0, 8.0)
    np.testing.assert_allclose((U.given(touched) @ c)[touched], (U.columns(0, 7) @ c)[touched], rtol=1e-13)
    assert np.array_equal(draw(3, 500, 7, lazy=False).columns(0, 7), U.columns(0, 7))


def test_the_others_are_one_normal_each_of_variance_the_squared_norm_of_c():
    c = np.array([3.0, -4.0, 12.0])
    touched = np.arange(10)
    samples = np.array([(draw(seed, 60, 3).given(touched) @ c)[10:] for seed in range(400)])
    assert kstest(samples.ravel() / 13.0, "norm").pvalue > 1e-3
    correlation = np.corrcoef(samples, rowvar=False)[np.triu_indices(50, 1)]
    assert np.abs(correlation).max() < 5.5 / np.sqrt(400)


def test_the_others_are_independent_of_the_columns_of_the_matrix():
    dim, touched = 20_000, np.array([0])
    for count in (1, 2, 5):
        U = draw(count, dim, count)
        spare = U.given(touched) @ np.eye(count)[0]
        both = np.column_stack([spare[1:], U.columns(0, count)[1:]])
        correlation = np.corrcoef(both, rowvar=False)[0, 1:]
        assert np.abs(correlation).max() < 5 / np.sqrt(dim)


def sparse_problem():
    rng = np.random.default_rng(1)
    Z = sp.csr_array(sp.random_array((60, 40), density=0.08, random_state=rng, format="csr"))
    return Logistic(Z, rng.choice([-1.0, 1.0], 60))


def test_the_support_of_a_batch():
    problem = sparse_problem()
    batch = Batch(problem.n, np.array([5, 5, 17]))
    assert np.array_equal(
        problem.support(batch), np.flatnonzero(problem.matrix.toarray()[[5, 17]].any(axis=0))
    )
    assert np.array_equal(Logistic(np.eye(3), [1, -1, 1]).support(Batch(3, np.array([0]))), np.arange(3))


def test_iterates_have_the_law_of_the_plain_gaussian():
    """Objective, gap and single coordinates after ten iterations, over 400 seeds of each: two-sample tests."""
    problem = sparse_problem()
    seen = {}
    for lazy in (False, True):
        method = zofw.ZSFWDVR(
            batch_size=4,
            directions=3,
            refresh_probability=0.15,
            step_size=0.2,
            law=zofw.directions.Gaussian(lazy=lazy),
        )
        rows = []
        for seed in range(400):
            *_, last = play(method, World(problem, zofw.L1Ball(5.0)), iterations=10, seed=2 * seed + lazy)
            x = last.state.x
            rows.append([problem.value(x), np.abs(x).max(), np.linalg.norm(x), *x[:3]])
        seen[lazy] = np.array(rows)
    for column in range(6):
        assert ks_2samp(seen[False][:, column], seen[True][:, column], method="asymp").pvalue > 1e-3
    assert not np.array_equal(seen[False], seen[True])


def test_a_problem_that_does_not_know_its_support_is_told_so():
    problem = zofw.problems.BlackBox(lambda x, i: float(x @ x), dim=4, n=5)
    method = zofw.ZSFWDVR(
        batch_size=2, directions=2, refresh_probability=0.01, law=zofw.directions.Gaussian(lazy=True)
    )
    with pytest.raises(ValueError, match="support"):
        zofw.minimize(problem, zofw.L1Ball(1.0), method=method, max_iter=20, rng=0)


def test_a_resumed_run_is_the_uninterrupted_one(tmp_path):
    problem = sparse_problem()
    method = zofw.ZSFWDVR(
        batch_size=4, directions=3, refresh_probability=0.2, law=zofw.directions.Gaussian(lazy=True)
    )
    whole = zofw.minimize(problem, zofw.L1Ball(5.0), method=method, max_iter=20, rng=7)
    session = zofw.Session(
        zofw.L1Ball(5.0),
        dim=problem.dim,
        n=problem.n,
        method=method,
        max_iter=20,
        rng=7,
        support=problem.support,
    )
    for _ in range(9):
        query = session.ask()
        session.tell(query, zofw.problems.evaluate(problem, query))
    session.checkpoint(tmp_path / "run")
    again = zofw.Session.resume(tmp_path / "run", support=problem.support)
    while (query := again.ask()) is not None:
        again.tell(query, zofw.problems.evaluate(problem, query))
    assert np.array_equal(again.x, whole.x)
