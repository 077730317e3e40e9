"""Nothing paid for is lost: killed, interrupted, out of disk, locked, and with a clock that runs backwards."""

from __future__ import annotations

import itertools
import json
import logging
import os
import resource
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import killable
import numpy as np
import pytest

import zofw
from conftest import ended_by_signal, quadratic_sum
from zofw.run.answering import open_answer
from zofw.run.files import lock, store
from zofw.run.files.store import RunFiles

SCRIPT = Path(killable.__file__)
NAMES = list(zofw.methods())


@pytest.fixture(autouse=True)
def every_evaluation_written_down_at_once(monkeypatch):
    monkeypatch.setattr(open_answer, "KEPT_SECONDS", 0.0)


def wait_for(paid: Path, process: subprocess.Popen, evaluations: int = 1) -> None:
    while not (paid.exists() and paid.stat().st_size >= evaluations):
        time.sleep(0.01)
        assert process.poll() is None


def kill(folder: Path, kills: int, seed: int, names: list[str]) -> list[dict]:
    command = [sys.executable, SCRIPT, "kill", folder, str(kills), str(seed), *names]
    out = subprocess.run(command, capture_output=True, text=True, check=True, timeout=1500)
    return json.loads(out.stdout)


def judge(reports: list[dict]) -> int:
    for report in reports:
        assert report["exit"] == 0 and not report["differs"], report
        assert report["nfev"] <= report["paid"] <= report["nfev"] + report["hit"], report
        assert not any(".result." not in name for name in report["left"]), report
    return sum(report["hit"] for report in reports)


def test_sigkill_at_a_hundred_instants_costs_the_evaluation_in_flight_each(tmp_path):
    reports = kill(tmp_path, 6, 0, NAMES)
    assert {report["method"] for report in reports} == set(NAMES)
    assert judge(reports) == 6 * len(NAMES) >= 100


@pytest.mark.slow
def test_sigkill_at_two_thousand_instants(tmp_path):
    assert judge(kill(tmp_path, 100, 1, NAMES)) >= 1900


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_saves_the_run_and_ends_it_with_its_own_status(number, tmp_path):
    checkpoint, paid = tmp_path / "run.npz", tmp_path / "paid"
    command = [sys.executable, SCRIPT, "run", "zsfw-dvr", checkpoint, paid]
    process = subprocess.Popen([*command, "0.02"], stderr=subprocess.DEVNULL)
    wait_for(paid, process, 5)
    process.send_signal(number)
    assert process.wait(30) == {signal.SIGTERM: 143, signal.SIGINT: -signal.SIGINT}[number]
    half = zofw.Result.load(f"{checkpoint}.result")
    assert half.status is zofw.Status.INTERRUPTED and not half.success
    subprocess.run([*command, "0"], check=True)
    result, whole = (
        zofw.Result.load(f"{checkpoint}.result"),
        killable.run("zsfw-dvr", None, killable.problem()),
    )
    np.testing.assert_array_equal(result.x, whole.x)
    assert result.ledger == whole.ledger and paid.stat().st_size == whole.nfev  # not one evaluation twice


def test_the_second_signal_ends_the_process_at_once(tmp_path):
    checkpoint, paid = tmp_path / "run.npz", tmp_path / "paid"
    command = [sys.executable, SCRIPT, "run", "zo-fw", checkpoint, paid]
    process = subprocess.Popen([*command, "300"], stderr=subprocess.PIPE, text=True)
    wait_for(paid, process)
    process.send_signal(signal.SIGTERM)
    while "send it again to stop at once" not in (line := process.stderr.readline()):  # it has been received
        assert line, "the process has ended"
    process.send_signal(signal.SIGTERM)
    assert process.wait(60) == -signal.SIGTERM
    process.stderr.close()
    subprocess.run([*command, "0"], check=True)
    result = zofw.Result.load(f"{checkpoint}.result")
    assert result.nfev + 1 == paid.stat().st_size


def test_signals_reach_methods_that_ask_nothing_and_leave_other_threads_alone(tmp_path):
    f = killable.problem()
    before = signal.getsignal(signal.SIGINT)

    def poke(intermediate_result):
        if intermediate_result.nit == 3:
            signal.raise_signal(signal.SIGINT)

    result = ended_by_signal(
        lambda: killable.run("frank-wolfe", tmp_path / "a.npz", f, max_iter=50, callback=poke)
    )
    assert result.status is zofw.Status.INTERRUPTED and result.nit == 3
    assert signal.getsignal(signal.SIGINT) is before
    again = zofw.resume(tmp_path / "a.npz", f)
    np.testing.assert_array_equal(again.x, killable.run("frank-wolfe", None, f, max_iter=50).x)
    results = []
    thread = threading.Thread(target=lambda: results.append(killable.run("zo-fw", tmp_path / "b.npz", f)))
    thread.start()
    thread.join()
    assert results[0].status is zofw.Status.MAX_ITER


def test_a_run_is_never_overwritten(tmp_path):
    f, path = quadratic_sum(), tmp_path / "run.npz"
    settings = {"method": "zo-fw", "budget": 200, "rng": 0, "checkpoint": path, "diagnose": 20}
    ball = zofw.L1Ball(1.0)
    with pytest.raises(FileNotFoundError, match="resume='auto' begins one"):
        zofw.minimize(f, ball, resume=True, **settings)
    with pytest.raises(FileNotFoundError, match="no run to resume"):
        zofw.resume(path, f)
    first = zofw.minimize(f, ball, **settings)
    kept = path.read_bytes()
    with pytest.raises(FileExistsError, match="holds a run already, and it is not overwritten"):
        zofw.minimize(f, ball, **settings)
    assert path.read_bytes() == kept
    again = zofw.minimize(f, ball, resume="auto", **settings)
    assert again.nfev == first.nfev
    np.testing.assert_array_equal(again.x, first.x)
    for wrong, sentence in [
        ({"rng": 1}, "holds a run with rng="),
        ({"method": "zo-sfw"}, "holds a run with method="),
        ({"method": zofw.papers.ZOFW(radius=0.3)}, "holds a run with method="),
        ({"method": zofw.papers.ZOSFW()}, "holds a run with method="),
    ]:
        with pytest.raises(ValueError, match=sentence):
            zofw.minimize(f, ball, resume=True, **settings | wrong)
    with pytest.raises(ValueError, match="holds a run with set="):
        zofw.minimize(f, zofw.L1Ball(2.0), resume=True, **settings)
    with pytest.raises(ValueError, match="holds a run with dim=6; dim=5 was given"):
        zofw.minimize(quadratic_sum(dim=5), ball, resume=True, **settings)
    with pytest.raises(ValueError, match="needs the path of a checkpoint"):
        zofw.minimize(f, ball, budget=100, resume=True)
    longer = zofw.minimize(
        f, ball, resume=True, **settings | {"budget": 500, "method": zofw.papers.ZOFW(), "rng": None}
    )
    whole = zofw.minimize(
        f, ball, **settings | {"budget": 500, "checkpoint": None, "method": _resolved(f, ball)}
    )
    np.testing.assert_array_equal(longer.x, whole.x)
    assert longer.trace.objective.tolist() == whole.trace.objective.tolist()


def _resolved(f, ball):
    return zofw.Session(ball, dim=f.dim, n=f.n, method="zo-fw", budget=200).run.method


def interrupted(path: Path, f, after: int, **settings: object) -> None:
    """A run whose process ends, as by SIGKILL, after so many evaluations."""
    calls = itertools.count()

    def dying(*arguments):
        if next(calls) == after:
            die()
        return f.fun(*arguments)

    box = zofw.problems.BlackBox(dying, dim=f.dim, n=f.n, vectorized=f.vectorized, at_once=f.at_once)
    with killable.killed(path) as die:
        killable.run("zsfw-dvr", path, box, **settings)


@pytest.mark.parametrize("damage", ["cut", "flip", "empty", "foreign", "gone"])
def test_the_log_alone_gives_the_run(damage, tmp_path, monkeypatch, caplog):
    path, f = tmp_path / "run.npz", killable.problem()
    whole = killable.run("zsfw-dvr", None, f)
    monkeypatch.setattr(store, "CHECKPOINT_SECONDS", 0.0)
    monkeypatch.setattr(store, "SHARE", 0)
    interrupted(path, f, whole.nfev - 7)
    text, log = path.read_bytes(), tmp_path / "run.npz.journal"
    broken = {
        "cut": text[:-40],
        "flip": text[:300] + bytes([text[300] ^ 255]) + text[301:],
        "empty": b"",
        "foreign": b"GIF89a" * 100,
    }
    path.unlink() if damage == "gone" else path.write_bytes(broken[damage])
    (tmp_path / f".run.npz.{32 * 'a'}.part").write_bytes(b"half a checkpoint")
    paid = tmp_path / "paid"
    with caplog.at_level(logging.WARNING, logger="zofw"):
        result = zofw.resume(path, killable.problem(paid))
    assert ("gives the run" in caplog.text) == (damage != "gone")
    np.testing.assert_array_equal(result.x, whole.x)
    assert result.ledger == whole.ledger and paid.stat().st_size == 7
    assert sorted(os.listdir(tmp_path)) == ["paid", "run.npz", "run.npz.journal"]
    path.write_bytes(b"")
    log.write_bytes(b"")
    with pytest.raises(zofw.FileError, match=r"run\.npz is not a zofw checkpoint.* Put a copy"):
        zofw.resume(path, f)


def test_a_log_that_has_grown_long_begins_again_with_a_checkpoint(tmp_path, monkeypatch):
    path, f = tmp_path / "run.npz", killable.problem()
    whole = killable.run("zsfw-dvr", None, f)
    for name, value in {"CHECKPOINT_SECONDS": 0.0, "SHARE": 0, "PRUNED_BYTES": 20_000}.items():
        monkeypatch.setattr(store, name, value)
    interrupted(path, f, whole.nfev - 7)
    assert (tmp_path / "run.npz.journal").stat().st_size < 20_000 + store.journal.ROOM
    path.unlink()
    np.testing.assert_array_equal(zofw.resume(path, f).x, whole.x)


@pytest.mark.parametrize("at_once", [4, None])
def test_tiles_of_a_vectorised_objective_are_kept(at_once, tmp_path):
    calls = []
    A, y = killable.problem().fun.A, killable.problem().fun.y

    def values(X, batch):
        calls.append(len(X) * len(batch))
        return 0.5 * ((np.einsum("sij,mj->msi", A[batch], X) - y[batch]) ** 2).sum(axis=2)

    f = zofw.problems.BlackBox(values, dim=6, n=3, vectorized=True, at_once=at_once)
    whole = killable.run("zsfw-dvr", None, f)
    sizes, path = list(calls), tmp_path / "run.npz"
    assert max(sizes) == (4 if at_once else 18)
    interrupted(path, f, 5)
    calls.clear()
    result = zofw.resume(path, f)
    np.testing.assert_array_equal(result.x, whole.x)
    assert calls == (sizes[5:] if at_once else calls) and result.ledger == whole.ledger


def test_a_query_is_taken_up_again_and_again_without_loss(tmp_path):
    path, paid = tmp_path / "run.npz", tmp_path / "paid"
    whole = killable.run("zo-fw", None, killable.problem(), max_iter=2)
    f = killable.problem(paid)
    for _ in range(whole.nfev):
        _one_more(path, f)
    result = killable.run("zo-fw", path, f, max_iter=2)
    np.testing.assert_array_equal(result.x, whole.x)
    assert paid.stat().st_size == whole.nfev


def _one_more(path, f):
    """One evaluation, and a signal during it."""

    class Poked(zofw.problems.BlackBox):
        def one(self, x, component):
            signal.raise_signal(signal.SIGTERM)
            return super().one(x, component)

    result = ended_by_signal(lambda: killable.run("zo-fw", path, Poked(f.fun, dim=f.dim, n=f.n), max_iter=2))
    assert result.status in (zofw.Status.INTERRUPTED, zofw.Status.MAX_ITER)


def test_two_processes_on_one_checkpoint(tmp_path):
    path, paid = tmp_path / "run.npz", tmp_path / "paid"
    command = [sys.executable, SCRIPT, "run", "zo-fw", path, paid, "0.5"]
    process = subprocess.Popen(command)
    try:
        wait_for(paid, process)
        before = path.read_bytes()
        with pytest.raises(zofw.run.LockedError, match=rf"run\.npz is in use by process {process.pid} on"):
            zofw.resume(path, killable.problem())
        assert path.read_bytes() == before and process.poll() is None
    finally:
        process.kill()
        process.wait()
    assert (tmp_path / "run.npz.lock").exists()  # left by the dead, and no obstacle
    assert zofw.resume(path, killable.problem()).status is zofw.Status.MAX_ITER
    assert not (tmp_path / "run.npz.lock").exists()


def test_two_runs_of_one_process_and_a_system_without_posix_locks(tmp_path, monkeypatch):
    book = RunFiles(tmp_path / "run.npz")
    with pytest.raises(zofw.run.LockedError, match="another run of this very process"):
        RunFiles(tmp_path / "run.npz")
    book.close()
    monkeypatch.setattr(lock, "fcntl", None)
    held = lock.Lock(tmp_path / "a.lock")
    kept = dict(lock._held)
    lock._held.clear()
    with pytest.raises(zofw.run.LockedError, match=r"If that process is gone, remove .*a\.lock"):
        lock.Lock(tmp_path / "a.lock")
    lock._held.update(kept)
    held.release()
    lock.Lock(tmp_path / "a.lock").release()
    assert not list(tmp_path.iterdir())


def test_a_lock_whose_file_vanishes_while_it_is_opened_is_taken_again(tmp_path, monkeypatch):
    real, times = os.path.samestat, []

    def vanishing(a, b):
        times.append(1)
        if len(times) == 1:
            (tmp_path / "a.lock").unlink()
            raise FileNotFoundError
        return real(a, b)

    monkeypatch.setattr(os.path, "samestat", vanishing)
    lock.Lock(tmp_path / "a.lock").release()
    assert len(times) == 2


def test_disk_full(tmp_path):
    """A limit on the size of files stands for a full disk: writes stop half-way."""
    path, f = tmp_path / "run.npz", killable.problem()
    whole = killable.run("zsfw-dvr", None, f, budget=3000, max_iter=100)
    interrupted(path, f, 40, budget=3000, max_iter=100)
    limit = resource.getrlimit(resource.RLIMIT_FSIZE)
    for room in (20, 150):
        size = (tmp_path / "run.npz.journal").stat().st_size + room
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, limit[1]))
        try:
            with pytest.raises(
                zofw.run.StorageError, match=r"run\.npz: the run could not be saved \(File too large\)"
            ):
                zofw.resume(path, f)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limit)
    result = zofw.resume(path, f)
    np.testing.assert_array_equal(result.x, whole.x)
    assert result.ledger == whole.ledger


def test_disk_full_at_a_checkpoint(tmp_path, monkeypatch):
    path, f = tmp_path / "run.npz", killable.problem()
    interrupted(path, f, 40)
    before = path.read_bytes()

    def full(*_, **__):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("numpy.savez", full)
        with pytest.raises(zofw.run.StorageError, match="No space left on device"):
            zofw.resume(path, f)
    assert path.read_bytes() == before
    with monkeypatch.context() as patch:
        patch.setattr("os.fsync", full)
        with pytest.raises(zofw.run.StorageError, match="No space left on device"):
            zofw.minimize(f, zofw.L2Ball(1.0), budget=100, checkpoint=tmp_path / "other.npz")
        with pytest.raises(zofw.run.StorageError, match="No space left on device"):
            zofw.resume(path, f)
    np.testing.assert_array_equal(zofw.resume(path, f).x, killable.run("zsfw-dvr", None, f).x)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user who may not write")
def test_read_only_folder():
    calls = []
    f = zofw.problems.BlackBox(lambda x: calls.append(1) or float(x @ x), dim=3)
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o555)
        os.seteuid(65534)
        try:
            with pytest.raises(zofw.run.StorageError, match=r"could not be saved \(Permission denied"):
                zofw.minimize(f, zofw.Simplex(), budget=100, checkpoint=Path(folder) / "run.npz")
        finally:
            os.seteuid(0)
        assert not calls and not os.listdir(folder)


def test_a_missing_folder_is_said_before_anything_is_paid(tmp_path):
    with pytest.raises(zofw.run.StorageError, match=r"does not exist\. Make it first"):
        zofw.minimize(
            killable.problem(), zofw.L2Ball(1.0), budget=100, checkpoint=tmp_path / "no" / "run.npz"
        )


def test_clocks_that_run_backwards(tmp_path, monkeypatch):
    f, ticks = killable.problem(), itertools.count(1e9, -3.7)
    whole = killable.run("zsfw-dvr", None, f)
    monkeypatch.setattr(time, "time", lambda: next(ticks))
    monkeypatch.setattr(time, "monotonic", lambda: next(ticks))
    path = tmp_path / "run.npz"
    interrupted(path, f, 30, options={"max_time": 1e6})
    result = zofw.resume(path, f)
    np.testing.assert_array_equal(result.x, whole.x)
    assert result.ledger == whole.ledger and result.time >= 0
    assert np.all(np.diff(result.trace.time) >= 0)


def test_time_that_was_spent_before_the_kill_counts(tmp_path):
    path = tmp_path / "run.npz"
    f = killable.problem(None, 2e-3)
    interrupted(path, f, 60, options={"max_time": 60.0})
    result = zofw.resume(path, killable.problem(), max_time=0.1)
    assert result.status is zofw.Status.MAX_TIME and result.time > 0.1 and result.nfev <= 60 + 40


@pytest.mark.parametrize("at", [1, 2, 5])
def test_a_process_killed_between_the_last_part_and_the_answer(at, tmp_path, monkeypatch):
    path, f = tmp_path / "run.npz", killable.problem()
    whole, real, answers = killable.run("zo-fw", None, f), store.Journal.append, itertools.count(1)
    number = store.journal.KINDS.index(store.Answered) + 1
    with killable.killed(path) as die:

        def append(self, body):
            if body[0] == number and next(answers) == at:
                die()
            real(self, body)

        with monkeypatch.context() as patch:
            patch.setattr(store.Journal, "append", append)
            killable.run("zo-fw", path, f)
    result = zofw.resume(path, f)
    np.testing.assert_array_equal(result.x, whole.x)
    assert result.ledger == whole.ledger


ORPHANS = """
import os, sys, time
import zofw

def slow(x):
    open(os.path.join(sys.argv[1], str(os.getpid())), "w").close()
    time.sleep(600)
    return 0.0

if __name__ == "__main__":
    zofw.minimize(slow, zofw.Box(-1, 1), dim=3, budget=50, workers=2)
"""


def test_workers_end_with_the_process_of_their_run(tmp_path):
    """A killed process cannot tell its workers that it is gone."""
    script, pids = tmp_path / "script.py", tmp_path / "pids"
    script.write_text(ORPHANS)
    pids.mkdir()
    process = subprocess.Popen([sys.executable, str(script), str(pids)], stderr=subprocess.DEVNULL)
    assert eventually(lambda: len(list(pids.iterdir())) == 2)
    process.kill()
    process.wait()
    assert eventually(lambda: not any(alive(int(path.name)) for path in pids.iterdir()))


def eventually(holds, seconds=30.0):
    end = time.monotonic() + seconds
    while not holds() and time.monotonic() < end:
        time.sleep(0.05)
    return holds()


def alive(pid):
    try:
        os.kill(pid, 0)
        state = Path(f"/proc/{pid}/stat")
        return not state.exists() or state.read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
