"""Interpolation with values that are used as they come: in any order, late, lost, and replayed to the bit."""

from __future__ import annotations

import math
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import zofw
from zofw.core import Answer, Late, Task
from zofw.desk import Desk

D = 6
BOX = zofw.Box(-1.0, 1.0)
H = np.logspace(0, 2, D)


def f(x):
    return 0.5 * float(H @ (np.asarray(x) - 0.3) ** 2)


class Clock:
    """Workers with durations drawn from a law, on a clock that is not real."""

    def __init__(self, workers, seed, lost=0.0, function=f):
        self.free, self.rng, self.lost, self.function = workers, np.random.default_rng(seed), lost, function
        self.now, self.busy, self.number, self.calls = 0.0, 0.0, 0, 0
        self.waiting, self.running, self.most = [], [], 0

    def start(self):
        while self.waiting and self.free:
            seconds = float(np.exp(0.9 * self.rng.standard_normal()))
            self.busy, self.free, self.calls = self.busy + seconds, self.free - 1, self.calls + 1
            self.running.append((self.now + seconds, *self.waiting.pop(0)))
        self.running.sort(key=lambda one: one[0])
        self.most = max(self.most, len(self.running) + len(self.waiting))

    def answer(self, query):
        self.number += 1
        values, late, come = np.full(len(query.anchors), math.nan), [], 0
        self.waiting += [(self.number, row, x) for row, x in enumerate(query.anchors)]
        self.start()
        here = set()
        while len(here) < len(values) and (query.enough is None or come < query.enough):
            self.now, number, row, x = self.running.pop(0)
            self.free, come = self.free + 1, come + 1
            value = math.nan if query.enough and self.rng.random() < self.lost else self.function(x)
            if number == self.number and not math.isnan(value):
                values[row] = value
            else:
                late.append(Late(number, row, value))
            here |= {row} if number == self.number else set()
            self.start()
        return Answer(values[:, None], None, self.number, tuple(late))


def run(workers, in_order, seed=0, lost=0.0, gap=1e-6, function=f):
    clock, method = Clock(workers, seed, lost, function), zofw.Interpolation()
    task = Task(BOX, D, workers=workers, in_order=in_order)
    state, t = method.init(task, np.zeros(D)), 0
    while not len(state.values) or t == 0 or state.value > gap * f(np.zeros(D)):
        step = method.step(task, state, np.random.default_rng([seed, t]))
        try:
            query = next(step)
            while True:
                query = step.send(clock.answer(query))
        except StopIteration as end:
            state, t = end.value[0], t + 1
        assert t < 1000
    return clock


def test_varying_durations_leave_no_worker_idle():
    times = []
    for seed in range(3):
        one, waits, comes = run(1, True, seed), run(8, True, seed), run(8, False, seed)
        assert comes.now <= 1.3 * comes.busy / 8
        times.append((one.now / comes.now, waits.now / comes.now))
    assert np.median([one for one, _ in times]) >= 3.0
    assert np.median([waits for _, waits in times]) >= 1.3


@pytest.mark.parametrize("workers", [2, 8, 32])
def test_no_more_than_the_workers_are_under_way_after_the_first_points(workers):
    clock = run(workers, False)
    assert clock.most <= -(-(D + 1) // workers) * workers + workers


def test_lost_values_do_not_end_a_run():
    assert run(8, False, lost=0.2).calls > 20


def test_noise_is_met_by_a_regression_as_well():
    rng = np.random.default_rng(0)
    clock = run(8, False, gap=1e-2, function=lambda x: f(x) + 0.01 * rng.standard_normal())
    assert clock.calls < 600


def shuffled(session, seed, stop=None):
    """Answer the requests of a desk one by one, in a random order."""
    desk, rng, told = Desk(session), np.random.default_rng(seed), 0
    while requests := desk.requests():
        if told == stop:
            break
        request = requests[rng.integers(len(requests))]
        desk.tell(
            request.id,
            f(request.evaluations[0][0] if hasattr(request, "evaluations") else next(iter(request))[0]),
        )
        told += 1
    return desk


def new_session(**settings):
    return zofw.Session(
        BOX, dim=D, budget=80, rng=0, diagnose=0, workers=4, method="interpolation", **settings
    )


def test_a_desk_keeps_as_many_requests_open_as_there_are_hands():
    session, rng = new_session(), np.random.default_rng(0)
    desk, counts = Desk(session), []
    while requests := desk.requests():
        counts.append(len(requests))
        request = requests[rng.integers(len(requests))]
        desk.tell(request.id, f(next(iter(request))[0]))
    assert session.nfev == 80 and set(counts[8:-4]) == {4}
    assert f(session.result().x) < 1e-6 * f(np.zeros(D))


def test_in_order_the_order_of_values_changes_no_bit():
    found = {shuffled(new_session(in_order=True), seed).result().x.tobytes() for seed in range(3)}
    assert len(found) == 1


def test_threads_pay_for_every_call_and_for_no_other():
    lock, calls = threading.Lock(), []

    def slow(x):
        time.sleep(0.002 * (1 + int(1e6 * abs(x[0])) % 5))
        with lock:
            calls.append(np.array(x))
        return f(x)

    with ThreadPoolExecutor(4) as pool:
        result = zofw.minimize(slow, BOX, dim=D, budget=70, rng=0, workers=pool, options={"progress": False})
    assert len(calls) == result.nfev == sum(result.ledger.values()) <= 70
    assert result.fun == min(f(x) for x in calls)


def test_points_that_fail_are_given_up_one_by_one():
    def fails(x):
        if x[0] > 0.5:
            raise ValueError("outside the model")
        return f(x)

    with ThreadPoolExecutor(4) as pool:
        result = zofw.minimize(
            fails, BOX, dim=D, budget=90, rng=0, workers=pool, on_error="skip", options={"progress": False}
        )
    assert result.nfev <= 90 and result.ledger["failed"] > 0 and result.fun < f(np.zeros(D))


def test_the_file_of_a_run_replays_the_arrivals_to_the_bit(tmp_path):
    path, stops = tmp_path / "run.db", []

    def stop(session):
        if session.nit == 9:
            stops.append((session.state.values.tobytes(), session.state.due.tobytes()))
            raise StopIteration

    with ThreadPoolExecutor(4) as pool:
        settings = {"dim": D, "budget": 60, "rng": 0, "workers": pool, "options": {"progress": False}}
        zofw.minimize(f, BOX, checkpoint=path, callback=stop, **settings)
        again = zofw.Session.resume(path)
        assert (again.state.values.tobytes(), again.state.due.tobytes()) == stops[0]
        result = zofw.minimize(f, BOX, checkpoint=path, resume=True, **settings)
    assert result.nfev <= 60 and result.fun < 1e-2 * f(np.zeros(D))


def test_a_desk_in_a_folder_is_left_and_opened_between_any_two_values(tmp_path):
    rng, told, names = np.random.default_rng(1), 0, set()
    settings = {"dim": D, "budget": 40, "rng": 0, "diagnose": 0, "workers": 4, "method": "interpolation"}
    desk = Desk.open(tmp_path / "desk", BOX, **settings)
    while requests := desk.requests():
        assert len(requests) <= 8
        request = requests[rng.integers(len(requests))]
        assert request.id not in names
        names.add(request.id)
        assert desk.tell(request.id, f(next(iter(request))[0])) == 1
        told += 1
        if told % 3 == 0:
            left = {one.id for one in desk.requests()}
            desk.close()
            desk = Desk.open(tmp_path / "desk")
            assert {one.id for one in desk.requests()} == left
    assert told == desk.session.nfev == 40
    desk.close()


@pytest.mark.parametrize(("before", "after", "stop"), [(8, 2, 5), (4, 1, 5), (1, 8, 20), (8, 2, 20)])
def test_a_stopped_run_goes_on_with_another_number_of_workers(before, after, stop, tmp_path):
    calls, most = [], [stop]

    def counted(x):
        calls.append(1)
        if len(calls) > most[0]:
            raise RuntimeError("the machine is needed")
        return f(x)

    settings = {"dim": D, "budget": 60, "rng": 0, "checkpoint": tmp_path / "run.npz", "resume": "auto"}
    with pytest.raises(zofw.EvaluationError), ThreadPoolExecutor(before) as pool:
        zofw.minimize(counted, BOX, workers=pool, **settings)
    most[0] = 10**6
    with ThreadPoolExecutor(after) as pool:
        result = zofw.minimize(counted, BOX, workers=pool, **settings)
    assert result.nfev == len(calls) <= 60
