from __future__ import annotations

import multiprocessing
import os
import threading

import numpy as np
import pytest

from zofw.kernels import threads


@pytest.fixture(autouse=True)
def eager(monkeypatch):
    monkeypatch.setattr(threads, "THREADS_REPAY", 0)


@pytest.mark.parametrize("count", ["1", "2", "7"])
@pytest.mark.parametrize(("total", "size"), [(0, 3), (1, 3), (3, 3), (10, 3), (100, 1)])
def test_every_place_is_covered_once(count, total, size, monkeypatch):
    monkeypatch.setenv("ZOFW_THREADS", count)
    seen = np.zeros(total, dtype=int)

    def task(start, stop):
        seen[start:stop] += 1

    threads.spread(task, total, size, 1)
    assert (seen == 1).all()


def test_helpers_do_part_of_the_work(monkeypatch):
    monkeypatch.setenv("ZOFW_THREADS", "2")
    meeting, names = threading.Barrier(2, timeout=10), set()

    def task(start, stop):
        names.add(threading.current_thread().name)
        meeting.wait()

    threads.spread(task, 2, 1, 1)
    assert len(names) == 2


def test_an_error_in_a_helper_reaches_the_caller(monkeypatch):
    monkeypatch.setenv("ZOFW_THREADS", "3")

    def task(start, stop):
        if start == 5:
            raise ArithmeticError("here")

    with pytest.raises(ArithmeticError, match="here"):
        threads.spread(task, 20, 1, 1)


def test_the_number_of_threads_comes_from_the_environment(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    monkeypatch.delenv("ZOFW_THREADS", raising=False)
    assert threads.count() == 3
    monkeypatch.setenv("ZOFW_THREADS", "4")
    assert threads.count() == 4
    monkeypatch.delenv("ZOFW_THREADS")
    monkeypatch.delenv("OMP_NUM_THREADS")
    assert 1 <= threads.count() <= (os.cpu_count() or 1)


def _child(queue):
    seen = []
    threads.spread(lambda start, stop: seen.append(start), 8, 1, 1)
    queue.put(sorted(seen))


@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="This system has no fork.")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_child_starts_threads_of_its_own(monkeypatch):
    monkeypatch.setenv("ZOFW_THREADS", "2")
    threads.spread(lambda start, stop: None, 8, 1, 1)
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    process = context.Process(target=_child, args=(queue,))
    process.start()
    assert queue.get(timeout=30) == list(range(8))
    process.join(30)
    assert process.exitcode == 0
