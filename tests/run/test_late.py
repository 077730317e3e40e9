"""Late answers: a query that does not wait for all of its values, and rows that arrive, or are lost, later."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
import pytest

import zofw
from zofw.core import Info, OutOfBudget, Purpose, Query, Tile
from zofw.problems import BlackBox
from zofw.run import Session
from zofw.run.session.events import Failed, Part

BALL = zofw.L2Ball(1.0)
ROW = Tile(0, 0, 0, 1)


@dataclass(frozen=True)
class Sampler:
    """Keeps so many random points under way; x is the best of all values that have come."""

    width: int = 4
    enough: int = 1
    name: ClassVar[str] = "sampler"

    @dataclass(frozen=True)
    class State:
        t: int
        x: np.ndarray
        value: float = np.inf
        owed: dict = field(default_factory=dict)
        lost: tuple = ()
        seen: tuple = ()

    def init(self, task, x0):
        return self.State(0, x0)

    def step(self, task, state, rng):
        owed, lost, seen = dict(state.owed), list(state.lost), list(state.seen)
        x, value = state.x, state.value
        count = min(self.width - len(owed), task.remaining)
        if count < 1:
            raise OutOfBudget
        points = rng.standard_normal((int(count), task.dim))
        points /= np.maximum(1.0, np.linalg.norm(points, axis=1, keepdims=True))
        answer = yield Query(points, task.all, purpose=Purpose.LINE_SEARCH, enough=self.enough)
        arrived = []
        for row, found in enumerate(answer.values[:, 0].tolist()):
            owed[answer.query, row] = points[row]
            if not np.isnan(found):
                arrived.append((owed.pop((answer.query, row)), found))
        for late in answer.late:
            point = owed.pop((late.query, late.row))
            if np.isnan(late.value):
                lost.append((late.query, late.row))
            else:
                arrived.append((point, late.value))
        for point, found in arrived:
            seen.append(found)
            x, value = (point, found) if found < value else (x, value)
        return self.State(state.t + 1, x, value, owed, tuple(lost), tuple(seen)), Info()


def f(x):
    return float(((x - 0.2) ** 2).sum())


def begun(budget=40, **settings):
    method = Sampler(**settings)
    return Session(BALL, dim=3, budget=budget, method=method, rng=0, diagnose=0, x0=np.zeros(3))


def part(number, row, x):
    return Part(number, ROW.cells(row, row + 1), np.array([f(x)]))


def under_way(session):
    """The points that can be evaluated now, by query and row."""
    query, asked = session.ask(), session.rules.open
    points = {(one.query, one.row): one.x for one in session.run.pending}
    if query is not None:
        missing = np.flatnonzero(np.isnan(asked.rows)).tolist()
        points |= {(asked.number, row): asked.query.anchors[row] for row in missing if row not in asked.lost}
    return points


@pytest.mark.parametrize("enough", [1, 2, 4])
def test_a_run_goes_on_when_enough_has_come_and_nothing_is_lost(enough):
    session, rng, calls, most = begun(enough=enough), np.random.default_rng(1), 0, 0
    session.ask()
    while points := under_way(session):
        most = max(most, len(points))
        key = list(points)[rng.integers(len(points))]
        session.put(part(*key, points[key]))
        calls += 1
    assert most == 4 and calls == session.nfev == 40 == session.ledger["line search"]
    state = session.state
    assert session.status is zofw.Status.BUDGET and not session.run.pending
    result = session.result()
    assert result.fun == min((*state.seen, result.fun)) and result.fun == f(result.x)


def test_the_log_of_arrivals_gives_the_same_bits(tmp_path):
    session, rng, path = begun(), np.random.default_rng(2), tmp_path / "run.npz"
    session.ask()
    while points := under_way(session):
        session.checkpoint(path)
        again = Session.resume(path, method=Sampler())
        assert under_way(again).keys() == points.keys() and again.nfev == session.nfev
        key = list(points)[rng.integers(len(points))]
        session.put(part(*key, points[key]))
        again.put(part(*key, points[key]))
        np.testing.assert_array_equal(again.x, session.x)
        assert again.state.seen == session.state.seen and again.ledger == session.ledger


def test_a_lost_row_is_told_and_charged():
    session = begun(budget=12)
    session.ask()
    number = session.number
    session.put(Failed(number, (ROW.cells(1, 2),), 1, "the pump broke", lost=True))
    assert session.state.lost == ((number, 1),) and session.ledger["failed"] == 1
    assert [one.reason for one in session.run.failures] == ["the pump broke"]
    points = under_way(session)
    session.put(Failed(number, (ROW.cells(2, 3),), 1, "again", lost=True))
    assert (number, 2) in session.state.lost and (number, 2) in points
    with pytest.raises(ValueError, match="no row 2 of it is owed"):
        session.put(part(number, 2, np.zeros(3)))
    while points := under_way(session):
        key, x = next(iter(points.items()))
        session.put(part(*key, x))
    assert session.nfev == 12 == sum(session.ledger.values()) and session.ledger["failed"] == 2


def test_a_row_that_is_owed_may_be_the_result():
    session = begun(budget=4)
    session.ask()
    points = under_way(session)
    order = sorted(points, key=lambda key: -f(points[key]))
    for key in order:
        assert session.status is zofw.Status.RUNNING
        session.put(part(*key, points[key]))
    assert session.status is zofw.Status.BUDGET and session.result().fun == f(points[order[-1]])


@pytest.mark.parametrize("workers", [None, 1, 4])
def test_engines_deliver_rows_as_they_come(workers, tmp_path):
    rng, lock, calls = np.random.default_rng(3), threading.Lock(), []

    def slow(x):
        with lock:
            calls.append(1)
            seconds = rng.exponential(0.003)
        time.sleep(seconds)
        return f(x)

    given = {"method": Sampler(), "budget": 60, "rng": 0, "diagnose": 0, "x0": np.zeros(3)}
    with ThreadPoolExecutor(workers or 1) as pool:
        given |= {} if workers is None else {"workers": pool}
        result = zofw.minimize(BlackBox(slow, dim=3), BALL, checkpoint=tmp_path / "run.npz", **given)
    assert result.nfev == len(calls) == 60 and result.ledger["line search"] == 60
    again = Session.resume(tmp_path / "run.npz", method=Sampler())
    np.testing.assert_array_equal(again.result().x, result.x)


@pytest.mark.parametrize("workers", [1, 4])
def test_failures_are_lost_rows_and_interruptions_keep_what_is_owed(workers, tmp_path):
    calls, lock, path = [], threading.Lock(), tmp_path / "run.npz"

    def moody(x):
        with lock:
            calls.append(1)
            number = len(calls)
        time.sleep(0.001)
        if number % 7 == 0:
            raise ValueError("no answer")
        if number % 11 == 0:
            raise KeyboardInterrupt
        return f(x)

    result = None
    for _ in range(20):
        with ThreadPoolExecutor(workers) as pool:
            result = zofw.minimize(
                BlackBox(moody, dim=3), BALL, checkpoint=path, resume="auto", method=Sampler(), budget=60,
                rng=0, diagnose=0, x0=np.zeros(3), on_error="skip", workers=pool,
            )  # fmt: skip
        assert result.nfev == len(calls) <= 60
        if result.status is not zofw.Status.INTERRUPTED:
            break
    assert result.status is zofw.Status.BUDGET and result.nfev == 60
    assert result.ledger["failed"] == sum(k % 7 == 0 or k % 11 == 0 for k in range(1, 61))


def test_what_enough_may_be():
    for wrong in ({"enough": 0}, {"enough": 1, "each": 2}):
        with pytest.raises(ValueError, match="enough="):
            Query(np.zeros((2, 3)), zofw.core.Batch(1), **wrong)
    with pytest.raises(ValueError, match="for the VALUE stencil and one component"):
        Query(np.zeros((2, 3)), zofw.core.Batch(5), enough=1)


@pytest.mark.parametrize("budget", range(55, 62))
def test_a_run_whose_last_owed_row_lets_it_ask_for_its_result_ends(budget):
    """The query for f(x) opens while only a row that is owed is being evaluated."""
    allowed = zofw.Product([zofw.Simplex(), zofw.Box([0.0] * 5, [10, 10, 1, 1, 5])], dims=[3, 5])
    best, width = np.array([0.5, 0.3, 0.2, 4, 6, 0.3, 0.9, 2]), np.array([1, 1, 1, 10, 10, 1, 1, 5])

    def cost(x):
        z = (x - best) / width
        return float(z @ z + 0.3 * z[3] * z[4])

    with ThreadPoolExecutor(2) as pool:
        result = zofw.minimize(cost, allowed, budget=budget, rng=0, workers=pool)
    assert result.nfev <= budget and result.fun < 0.01
