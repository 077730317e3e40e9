"""Oracles that misbehave: raised, repeated or skipped, bounded, logged and counted to the last evaluation."""

from __future__ import annotations

import logging
import math
import signal
import threading
import time

import killable
import numpy as np
import pytest

import zofw
from conftest import ended_by_signal, quadratic_sum
from zofw.problems import BlackBox
from zofw.run.session.answer_checks import check_answer
from zofw.run.spec import Limits

FAST = zofw.Retry(3, backoff=0.0)
BAD = {
    "exception": lambda: 1 / 0,
    "nan": lambda: math.nan,
    "inf": lambda: math.inf,
    "shape": lambda: np.zeros(3),
    "text": lambda: "12",
    "nothing": lambda: None,
}


class Moody:
    """The objective of ``killable``, whose calls of the given numbers go wrong."""

    def __init__(self, wrong, bad=lambda: math.nan):
        self.wrong, self.bad, self.calls, self.good = wrong, bad, 0, killable.Counted(None)

    def __call__(self, x, i):
        self.calls += 1
        return self.bad() if self.wrong(self.calls) else self.good(x, i)


def solve(f, method="zsfw-dvr", **settings):
    box = f if isinstance(f, BlackBox) else BlackBox(f, dim=killable.DIM, n=killable.N)
    return killable.run(method, settings.pop("checkpoint", None), box, **settings)


@pytest.mark.parametrize("kind", BAD)
def test_retry_gives_the_same_run_and_counts_every_attempt(kind, caplog):
    whole = solve(killable.Counted(None))
    f = Moody(lambda call: call % 10 == 0, BAD[kind])
    with caplog.at_level(logging.WARNING, logger="zofw"):
        result = solve(f, on_error=FAST)
    np.testing.assert_array_equal(result.x, whole.x)
    failures = f.calls // 10
    assert result.ledger == whole.ledger | {"failed": failures} and result.nfev == f.calls
    assert caplog.text.count("attempt 1") == failures > 0


def test_retry_is_bounded_and_the_error_can_be_repeated(tmp_path):
    f = Moody(lambda call: call > 30)
    path = tmp_path / "run.npz"
    with pytest.raises(
        zofw.EvaluationError,
        match=r"query \d+ of the run .*in iteration \d+, after \d+ paid evaluations, with seed \(3,\)",
    ) as caught:
        solve(f, on_error=FAST, checkpoint=path)
    error = caught.value
    assert f.calls == 30 + 4 and "zofw.resume(path, problem)" in error.__notes__[0]
    assert error.point.shape == (killable.DIM,) and error.component in range(killable.N)
    f.wrong = lambda call: False
    result, whole = (
        zofw.resume(path, BlackBox(f, dim=killable.DIM, n=killable.N)),
        solve(killable.Counted(None)),
    )
    np.testing.assert_array_equal(result.x, whole.x)
    assert result.ledger == whole.ledger | {"failed": 4} and f.calls == result.nfev


@pytest.mark.parametrize("wrong", [1, 31, 80])
def test_the_default_stops_with_the_state_saved(wrong, tmp_path):
    f = Moody(lambda call: call == wrong, BAD["exception"])
    with pytest.raises(zofw.EvaluationError, match="raised ZeroDivisionError for component"):
        solve(f, checkpoint=tmp_path / "run.npz")
    result, whole = (
        zofw.resume(tmp_path / "run.npz", BlackBox(f, dim=killable.DIM, n=killable.N)),
        solve(killable.Counted(None)),
    )
    np.testing.assert_array_equal(result.x, whole.x)
    assert f.calls == result.nfev == whole.nfev + 1


def test_skipping_drops_the_iteration_and_draws_it_anew(tmp_path):
    whole = solve(killable.Counted(None))
    f = Moody(lambda call: call == 50)
    result = solve(f, on_error="skip")
    assert (
        result.status is zofw.Status.MAX_ITER
        and result.nit == whole.nit
        and result.nfev == f.calls <= killable.BUDGET
    )
    assert result.ledger["failed"] >= 1 and not np.array_equal(result.x, whole.x)


def test_a_run_ends_with_what_it_has_where_nothing_answers_any_more(tmp_path):
    f, given = Moody(lambda call: call == 50 or call >= 90), {"max_iter": 1000}
    ended = solve(f, on_error=zofw.Retry(0, skip=1), checkpoint=tmp_path / "run.npz", **given)
    assert ended.status is zofw.Status.INTERRUPTED and f"of {ended.nfev} evaluations failed" in ended.message
    last, f.wrong = f.calls, lambda call: False
    assert 90 + 50 <= last == ended.nfev < killable.BUDGET
    again = zofw.resume(tmp_path / "run.npz", BlackBox(f, dim=killable.DIM, n=killable.N))
    assert again.nfev == f.calls and again.status is zofw.Status.BUDGET
    same = Moody(lambda call: call == 50 or 90 <= call < last)
    same = solve(same, on_error=zofw.Retry(0, skip=10**6), **given)
    np.testing.assert_array_equal(again.x, same.x)


def test_what_was_skipped_survives_a_kill(tmp_path):
    result = solve(Moody(lambda call: call in (20, 50)), on_error="skip")
    path = tmp_path / "run.npz"
    with killable.killed(path) as die:
        f = Moody(lambda call: call in (20, 50, 70), lambda: die() if f.calls == 70 else math.nan)
        solve(f, on_error="skip", checkpoint=path)
    again = zofw.resume(path, BlackBox(f, dim=killable.DIM, n=killable.N))
    np.testing.assert_array_equal(again.x, result.x)
    assert again.ledger == result.ledger


@pytest.mark.parametrize("method", zofw.methods())
@pytest.mark.parametrize(
    "policy", [zofw.Retry(5, backoff=0.0), zofw.Retry(0, skip=10**6), zofw.Retry(1, 0.0, skip=10**6)]
)
def test_the_budget_holds_whatever_fails(method, policy):
    """A third of all calls fail: the oracle is never called more often than the budget allows, nor the count wrong."""
    rng = np.random.default_rng(1)
    f = Moody(lambda call: rng.random() < (1 / 3 if policy.times > 1 else 0.01))
    problem = killable.Slow(f, dim=killable.DIM, n=killable.N)
    object.__setattr__(problem, "gradient", lambda x: x)
    try:
        result = solve(problem, method, on_error=policy, max_iter=50)
    except zofw.EvaluationError:
        return
    assert result.nfev == f.calls <= killable.BUDGET and result.status in (
        zofw.Status.BUDGET,
        zofw.Status.MAX_ITER,
        zofw.Status.CONVERGED,  # certified before the budget ends
        zofw.Status.STALLED,  # asks again only for points at which f has failed for good
    )


def test_a_run_goes_on_where_every_fifth_evaluation_fails():
    f = Moody(lambda call: call % 5 == 0)
    result = solve(f, "zo-fw", on_error=zofw.Retry(0, skip=10**9))
    assert result.nit > 0 and f.calls == result.nfev <= killable.BUDGET
    with pytest.raises(zofw.EvaluationError):
        solve(Moody(lambda call: True), "zo-fw", on_error="skip", budget=10**6)


def test_vectorised_objectives_are_charged_by_the_tile():
    good = quadratic_sum()
    calls = []

    def values(X, batch):
        calls.append(len(X) * len(batch))
        if len(calls) == 3:
            raise ConnectionError("gone")
        if len(calls) == 5:
            return np.zeros((1, 1))
        return good.fun(X, batch)

    settings = {"method": "zsfw-dvr", "budget": 2000, "rng": 0, "diagnose": 0}
    whole = zofw.minimize(good, zofw.L1Ball(1.0), **settings)
    f = BlackBox(values, dim=good.dim, n=good.n, vectorized=True)
    result = zofw.minimize(f, zofw.L1Ball(1.0), on_error=FAST, **settings | {"budget": 2000 + 10})
    assert result.nfev >= sum(calls) and result.ledger["failed"] == sum(calls[1:5])  # two tiles of two calls
    assert whole.ledger["failed"] == 0


def test_a_problem_of_ones_own_that_raises():
    class Own:
        n, dim, calls = 2, 3, 0

        def values(self, points, components):
            self.calls += 1
            if self.calls == 2:
                raise OSError("no route to host")
            return (points**2).sum(axis=1)[:, None] * (1 + components)

    result = zofw.minimize(Own(), zofw.Simplex(), method="zo-fw", budget=100, on_error=FAST, diagnose=0)
    assert result.status is zofw.Status.BUDGET and result.ledger["failed"] == 8
    with pytest.raises(zofw.EvaluationError, match="raised OSError: no route"):
        zofw.minimize(Own(), zofw.Simplex(), method="zo-fw", budget=100, diagnose=0)


@pytest.mark.parametrize("vectorized", [False, True])
def test_timeouts(vectorized):
    release, calls = threading.Event(), []

    def values(X, i):
        calls.append(1)
        if len(calls) == 3:
            release.wait(90)
        return float((X**2).sum()) if not vectorized else (X**2).sum(axis=1)[:, None] * np.ones(len(i))

    f = BlackBox(values, dim=3, n=2, vectorized=vectorized)
    settings = {"method": "zo-fw", "budget": 60, "diagnose": 0, "options": {"timeout": 1.0}}
    began = time.monotonic()
    result = zofw.minimize(f, zofw.Simplex(), on_error=FAST, **settings)
    assert time.monotonic() - began < 80 and result.ledger["failed"] == (8 if vectorized else 1)
    calls[:] = [1, 1]
    with pytest.raises(zofw.EvaluationError, match=r"did not answer within 1 seconds"):
        zofw.minimize(f, zofw.Simplex(), **settings)
    release.set()
    with pytest.raises(ValueError, match="timeout should be a positive"):
        zofw.minimize(f, zofw.Simplex(), **settings | {"options": {"timeout": 0}})


def test_a_timed_oracle_that_raises_is_an_error_like_any_other():
    with pytest.raises(zofw.EvaluationError, match="ZeroDivisionError"):
        solve(Moody(lambda call: call == 4, BAD["exception"]), options={"timeout": 5.0})


def test_waiting_grows_and_ends_with_a_signal(tmp_path):
    assert [zofw.Retry(5, 0.5, longest=3).wait(k) for k in (1, 2, 3, 4, 500)] == [0.5, 1.0, 2.0, 3.0, 3.0]

    def bad():
        signal.raise_signal(signal.SIGTERM)
        return math.nan

    f = Moody(lambda call: call == 7, bad)
    began = time.monotonic()
    retry = zofw.Retry(3, backoff=300.0, longest=300.0)
    result = ended_by_signal(lambda: solve(f, on_error=retry, checkpoint=tmp_path / "run.npz"))
    assert result.status is zofw.Status.INTERRUPTED and time.monotonic() - began < 100
    again, whole = solve(f, checkpoint=tmp_path / "run.npz"), solve(killable.Counted(None))
    np.testing.assert_array_equal(again.x, whole.x)
    assert again.nfev == f.calls == whole.nfev + 1


@pytest.mark.parametrize(
    "wrong",
    ["ignore", None, 3, lambda: zofw.Retry(-1), lambda: zofw.Retry(True), lambda: zofw.Retry(1, math.nan)],
)
def test_policies_that_are_none(wrong):
    with pytest.raises(ValueError, match=r"on_error should be|Retry needs"):
        solve(killable.Counted(None), on_error=wrong() if callable(wrong) else wrong)


def test_told_twice_and_out_of_order():
    f = quadratic_sum()
    session = zofw.Session(zofw.L1Ball(1.0), dim=f.dim, n=f.n, method="zo-fw", budget=200, rng=0)
    first = session.ask()
    answer = zofw.problems.evaluate(f, first)
    session.tell(first, answer)
    second = session.ask()
    with pytest.raises(ValueError, match="it was answered before, and its first answer counts"):
        session.tell(first, answer)
    assert session.ask() is second and session.nfev == first.cost
    session.tell(second, zofw.problems.evaluate(f, second))
    with pytest.raises(ValueError, match="not the open query"):
        session.tell(first, answer)


def test_answers_with_variances():
    U = zofw.directions.Rademacher().draw(np.random.default_rng(0), 6, 3)
    query = zofw.core.Query(
        np.zeros((2, 6)), zofw.core.Batch(7), U, 0.1, zofw.core.Stencil.CENTRAL, variance=True
    )
    good, spread = np.ones((2, 6)), np.ones((2, 3))
    for values in (good, good.tolist(), good.ravel(), good.astype(int)):
        answer = check_answer(query, zofw.core.Answer(values, spread))
        assert answer.values.shape == (2, 6) and answer.values.dtype == float
        np.testing.assert_array_equal(answer.variance, spread)
    for told, sentence in [
        (good, "variances of shape"),
        (zofw.core.Answer(good, -spread), "negative variances"),
        (zofw.core.Answer(good, spread * np.inf), "variances that are not finite"),
        (zofw.core.Answer(good, spread[:1]), "the answer has"),
        (zofw.core.Answer(good.astype(complex), spread), "array of real numbers"),
        ([[1.0], [2.0, 3.0]], "array of real numbers; got list"),
    ]:
        with pytest.raises(ValueError, match=sentence):
            check_answer(query, told)


def test_limits_have_names():
    with pytest.raises(TypeError, match="There is no limit 'max_queries'"):
        Limits().with_(max_queries=3)


def test_a_value_that_failed_is_not_said_to_be_unwanted():
    """The last evaluation of a run is f at its x: where that fails, and further inside too, the result says why."""
    paid = iter(range(10**6))

    def fails_at_last(x):
        if next(paid) >= 294:
            raise RuntimeError("down")
        return float(x @ x)

    result = zofw.minimize(
        fails_at_last, "simplex", dim=5, budget=300, rng=0, method="zsfw-dvr", on_error="skip"
    )
    assert np.isnan(result.fun) and 1 <= result.ledger["failed"] <= 4
    assert "fun: not evaluated (evaluations failed)" in repr(result)
