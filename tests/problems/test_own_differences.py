"""Differences of every component along its own coordinates: right, at the stated price, whoever answers."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import scipy.sparse as sp

import zofw
from zofw.core import Batch, Pattern, Query, Stencil
from zofw.differences import OwnDifferences
from zofw.directions import UnitSteps
from zofw.problems import BlackBox, Correntropy, LeastSquares, Logistic, MatrixCompletion, Sharded, evaluate

N, D = 30, 12
RNG = np.random.default_rng(0)
Z = sp.csr_array(sp.random_array((N, D), density=0.25, random_state=RNG, format="csr"))
Y = np.where(RNG.random(N) < 0.5, -1.0, 1.0)
LOGISTIC = Logistic(Z, Y)
PLACES = RNG.integers(3, size=N), RNG.integers(4, size=N)


def one(x, i):
    return float(LOGISTIC.values(x[None], np.array([i]))[0, 0])


LISTS = np.split(Z.indices, Z.indptr[1:-1])
PROBLEMS = {
    "logistic": LOGISTIC,
    "correntropy": Correntropy(Z, Y),
    "least squares, dense": LeastSquares(Z.toarray(), Y),
    "completion": MatrixCompletion((3, 4), *PLACES, RNG.standard_normal(N)),
    "black box, matrix": BlackBox(one, D, N, support=Z),
    "black box, lists": BlackBox(one, D, N, support=LISTS),
    "black box, function": BlackBox(one, D, N, support=lambda i: LISTS[i][::-1]),
    "black box, many at once": BlackBox(LOGISTIC.values, D, N, vectorized=True, support=Z, at_once=7),
    "parts": Sharded([Logistic(Z[:11], Y[:11]), Logistic(Z[11:], Y[11:])], at_once=5),
}
BATCHES = {"all": Batch(N), "some": Batch(N, np.array([3, 3, 17, 0, 29, 12]))}


def pattern_of(problem, batch):
    found = problem.pattern(batch)
    return Pattern.full(len(batch), D) if found is None else found


@pytest.mark.parametrize("problem", PROBLEMS.values(), ids=PROBLEMS)
@pytest.mark.parametrize("batch", BATCHES.values(), ids=BATCHES)
@pytest.mark.parametrize("two_sided", [False, True])
def test_slopes_are_those_of_the_components_at_the_stated_price(problem, batch, two_sided):
    X = np.random.default_rng(1).standard_normal((2, D))
    pattern = pattern_of(problem, batch)
    own = OwnDifferences.of(X, batch, pattern, 1e-5, two_sided=two_sided)
    assert own.query.cost == 2 * (2 * pattern.index.size if two_sided else pattern.cost)
    answer = evaluate(problem, own.query)
    components, E = batch.slice(0, len(batch)), 1e-5 * np.eye(D)
    for k, x in enumerate(X):
        ahead, here = problem.values(x + E, components), problem.values(x[None], components)[0]
        if two_sided:
            dense = (ahead - problem.values(x - E, components)).T / 2e-5
        else:
            dense = (ahead - here).T / 1e-5
            np.testing.assert_allclose(own.values(answer)[k], here, rtol=1e-14)
        listed = np.repeat(np.arange(len(batch)), pattern.sizes), pattern.index
        slopes = own.slopes(answer)[k]
        np.testing.assert_allclose(slopes, dense[listed], atol=1e-9)
        left_out = dense.copy()
        left_out[listed] = 0.0
        assert np.abs(left_out).max() < 1e-9  # outside its support a component does not change
        np.testing.assert_allclose(own.mean(slopes), dense.mean(axis=0), atol=1e-9)


METHODS = {"saga-fw": zofw.papers.SAGAFW(batch_size=3, step_size=0.1), "ridge-newton": zofw.RidgeNewton()}


@pytest.mark.parametrize(
    "name", ["logistic", "completion", "black box, matrix", "black box, many at once", "parts"]
)
@pytest.mark.parametrize("method", METHODS.values(), ids=METHODS)
def test_workers_and_interruptions_leave_the_bits_alone(name, method, tmp_path):
    problem = PROBLEMS[name]
    arguments = {"method": method, "rng": 0, "diagnose": 0}
    whole = zofw.minimize(problem, zofw.L1Ball(2.0), max_iter=9, **arguments)
    with ThreadPoolExecutor(3) as pool:
        spread = zofw.minimize(problem, zofw.L1Ball(2.0), max_iter=9, workers=pool, **arguments)
    zofw.minimize(problem, zofw.L1Ball(2.0), max_iter=4, checkpoint=tmp_path / "run", **arguments)
    resumed = zofw.resume(tmp_path / "run", problem, max_iter=9)
    for other in (spread, resumed):
        assert np.array_equal(whole.x, other.x) and whole.nfev == other.nfev


@pytest.mark.parametrize("method", METHODS.values(), ids=METHODS)
@pytest.mark.parametrize("size", [1, 7])
def test_a_desk_asks_for_own_coordinates_and_gives_the_bits_of_minimize(method, size, tmp_path):
    settings = {"method": method, "max_iter": 6, "budget": 5_000, "rng": 0, "diagnose": 0}
    whole = zofw.minimize(PROBLEMS["black box, matrix"], zofw.L1Ball(2.0), **settings)
    session = zofw.Session(zofw.L1Ball(2.0), dim=D, n=N, pattern=LOGISTIC.pattern, **settings)
    desk, rng = zofw.Desk(session, size=size), np.random.default_rng(size)
    while requests := desk.requests(limit=20):
        for k in rng.permutation(len(requests)):
            desk.tell(requests[k].id, [one(x, i) for x, i in requests[k]])
    result = desk.result()
    assert np.array_equal(whole.x, result.x) and whole.nfev == result.nfev
    assert result.nfev < 6 * N * (D + 1)


def test_structure_can_be_switched_off_and_stays_off(tmp_path):
    arguments = {"method": zofw.papers.SAGAFW(batch_size=3, step_size=0.1), "rng": 0}
    off = zofw.minimize(LOGISTIC, zofw.L1Ball(2.0), max_iter=6, options={"structure": False}, **arguments)
    assert off.nfev == N * (D + 1) + 5 * 6 * (D + 1)
    path = tmp_path / "run"
    zofw.minimize(
        LOGISTIC, zofw.L1Ball(2.0), max_iter=2, options={"structure": False}, checkpoint=path, **arguments
    )
    assert zofw.resume(path, LOGISTIC, max_iter=6).nfev == off.nfev


def test_a_problem_that_is_built_elsewhere_is_not_built_here_to_find_out():
    def never():
        raise AssertionError("built")

    assert Sharded([LOGISTIC, never], sizes=[N, 3], dim=D).pattern(Batch(N + 3)) is None


def test_unit_steps_are_directions_like_others():
    U = UnitSteps(5, np.array([4, 0, 4, 2]), np.array([1.0, -1.0, 0.0, 1.0]))
    M, g = U.columns(0, 4), np.arange(5.0)
    A = np.arange(15.0).reshape(3, 5)
    assert np.array_equal(U @ np.arange(1.0, 5.0), M @ np.arange(1.0, 5.0))
    assert np.array_equal(U.T @ g, M.T @ g) and np.array_equal(U.rows(np.array([4, 1])), M[[4, 1]])
    assert np.array_equal(A @ U, A @ M) and np.array_equal(sp.csr_array(A) @ U, A @ M)


@pytest.mark.parametrize(
    ("support", "sentence"),
    [
        (sp.csr_array((N, D + 1)), "shape"),
        ([[0]], "the support of 30 components"),
        ([[D]] * N, f"from 0 to {D - 1}"),
        (Z.toarray(), "where it is not zero or list coordinates"),
        (np.ones((N, D + 1), dtype=bool), "shape"),
    ],
)
def test_a_support_that_cannot_be_is_refused(support, sentence):
    with pytest.raises(ValueError, match=sentence):
        BlackBox(one, D, N, support=support).pattern(Batch(N))


def test_a_dense_support_of_booleans_says_what_a_sparse_one_does():
    dense, sparse = (
        BlackBox(one, D, N, support=support).pattern(Batch(N)) for support in (Z.toarray() != 0, Z)
    )
    assert np.array_equal(dense.starts, sparse.starts) and np.array_equal(dense.index, sparse.index)


def answer_from(session, turns):
    for _ in range(turns):
        if (query := session.ask()) is None:
            break
        session.tell(query, evaluate(LOGISTIC, query))
    return session


@pytest.mark.parametrize("method", ["explore-correct", "ridge-newton"])
def test_a_run_that_knew_a_pattern_does_not_go_on_without(tmp_path, method):
    path, run = tmp_path / "run.ckpt", {"dim": D, "n": N, "method": method, "budget": 3000, "rng": 0}
    session = zofw.Session(zofw.L1Ball(1.0), pattern=LOGISTIC.pattern, **run)
    answer_from(session, 3).checkpoint(path)
    with pytest.raises(ValueError, match="Give them again as pattern="):
        answer_from(zofw.Session.resume(path), 10**6)
    ends = [
        answer_from(s, 10**6).result() for s in (session, zofw.Session.resume(path, pattern=LOGISTIC.pattern))
    ]
    assert ends[0].nfev == ends[1].nfev and np.array_equal(ends[0].x, ends[1].x)


def test_a_run_that_knew_no_pattern_goes_on_without_one_that_is_handed_over_later(tmp_path):
    path, run = (
        tmp_path / "run.ckpt",
        {"dim": D, "n": N, "method": "explore-correct", "budget": 3000, "rng": 0},
    )
    session = zofw.Session(zofw.L1Ball(1.0), **run)
    answer_from(session, 3).checkpoint(path)
    ends = [
        answer_from(s, 10**6).result() for s in (session, zofw.Session.resume(path, pattern=LOGISTIC.pattern))
    ]
    assert ends[0].nfev == ends[1].nfev and np.array_equal(ends[0].x, ends[1].x)


def test_a_method_that_asks_for_no_pattern_needs_none(tmp_path):
    path, run = tmp_path / "run.ckpt", {"dim": D, "n": N, "method": "zo-sfw", "budget": 3000, "rng": 0}
    session = zofw.Session(zofw.L1Ball(1.0), pattern=LOGISTIC.pattern, **run)
    answer_from(session, 3).checkpoint(path)
    again = answer_from(zofw.Session.resume(path), 10**6).result()
    assert np.array_equal(again.x, answer_from(session, 10**6).result().x)


def test_points_ahead_have_no_variance_and_two_sides_no_values():
    U = UnitSteps(D, np.arange(3), np.ones(3))
    with pytest.raises(ValueError, match="no variance"):
        Query(np.zeros(D), Batch(N), U, 1e-3, Stencil.AHEAD, variance=True)
    own = OwnDifferences.of(np.zeros(D), Batch(N), Pattern.full(N, D), 1e-3, two_sided=True)
    with pytest.raises(ValueError, match="do not ask"):
        own.values(evaluate(LOGISTIC, own.query))


def test_the_default_certifies_by_the_support_of_its_components():
    rng = np.random.default_rng(3)
    samples = sp.csr_array(sp.random_array((60, 150), density=0.02, random_state=rng, format="csr"))
    f = Logistic(samples, np.where(rng.random(60) < 0.5, -1.0, 1.0))
    known, unknown = (
        zofw.minimize(
            f,
            zofw.L1Ball(1.0),
            method="explore-correct",
            budget=300_000,
            gap_tol=1e-4,
            rng=0,
            options={"structure": structure},
        )
        for structure in (True, False)
    )
    assert known.status is zofw.Status.CONVERGED and unknown.status is zofw.Status.CONVERGED
    assert known.ledger["certificate"] < unknown.ledger["certificate"] / 5
    assert known.nfev < unknown.nfev
    assert known.fun == pytest.approx(unknown.fun, abs=1e-4)
