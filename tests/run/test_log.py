"""A run is a log: its events, applied again, give the same bits, at whatever time and from whatever checkpoint."""

from __future__ import annotations

import time

import numpy as np
import pytest

import zofw
from zofw.problems import Logistic, evaluate
from zofw.run.session.events import Answered
from zofw.run.session.resume import apply_again, open_run
from zofw.run.session.session import Session
from zofw.run.session.start import Attached

NAMES = [name for name in zofw.methods() if name != "frank-wolfe"]


def problem():
    rng = np.random.default_rng(20)
    return Logistic(rng.standard_normal((15, 9)), np.where(rng.random(15) < 0.5, -1.0, 1.0))


def begun(name, **given):
    f = problem()
    settings = {"method": name, "budget": 20_000, "max_iter": 12, "rng": 7} | given
    return Session(zofw.L1Ball(2.0), dim=f.dim, n=f.n, objective=f.value, **settings)


def finish(session):
    while (query := session.ask()) is not None:
        session.tell(query, evaluate(problem(), query))


def facts(session):
    run = session.run
    rows = [row[:4] for row in run.trace.rows]
    return (
        run.x.tobytes(),
        run.nfev,
        run.nit,
        run.nlmo,
        run.ledger,
        run.status,
        repr(rows),
        repr(run.trace.infos),
    )


@pytest.mark.parametrize("name", NAMES)
def test_events_applied_again_give_the_same_bits_with_the_clock_stopped(name, tmp_path, monkeypatch):
    session = begun(name)
    finish(session)
    saved = session.store.saved()
    monkeypatch.setattr(time, "monotonic", lambda: 0.0)
    again = open_run(Session, saved.run, tmp_path, Attached(objective=problem().value))
    apply_again(again, saved.events, tmp_path)
    again.settle()
    assert facts(again) == facts(session)


@pytest.mark.parametrize("name", NAMES)
def test_a_checkpoint_at_any_iteration_resumes_to_the_same_bits(name, tmp_path):
    whole, path = begun(name, max_iter=5), tmp_path / "run.npz"
    finish(whole)
    session = begun(name, max_iter=5)
    while (query := session.ask()) is not None:
        session.tell(query, evaluate(problem(), query))
        if session.run.open.answers == [] and session.status is zofw.Status.RUNNING:
            session.checkpoint(path)
            session = Session.resume(path, objective=problem().value)
    assert facts(session) == facts(whole)


def test_three_threads_may_use_one_session():
    import threading

    whole, session = begun("zo-fw", max_iter=40), begun("zo-fw", max_iter=40)
    finish(whole)

    def work():
        while (query := session.ask()) is not None:
            answer = evaluate(problem(), query)
            try:
                session.tell(query, answer)
            except ValueError as error:
                assert "not the open query" in str(error)

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert facts(session) == facts(whole)


def test_an_event_that_does_not_fit_is_refused_and_not_kept():
    session = begun("zo-fw")
    query = session.ask()
    kept = len(session.store.saved().events)
    for event in (Answered(7, np.zeros((1, query.width))), Answered(0, np.zeros((1, query.width + 1)))):
        with pytest.raises(ValueError, match=r"is not open|of another shape"):
            session.put(event)
    assert len(session.store.saved().events) == kept and session.ask() is query
