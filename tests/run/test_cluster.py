"""A dask cluster of real processes: the same bits, with workers that die and join, and a scheduler that goes."""

from __future__ import annotations

import itertools
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace

import killable
import numpy as np
import pytest
import scipy.sparse as sp

import zofw
from zofw.core import Batch, Query
from zofw.problems import BlackBox
from zofw.problems.abilities import abilities
from zofw.run.answering.open_answer import OpenAnswer
from zofw.run.workers import dask as module
from zofw.run.workers.workers import as_engine

distributed = pytest.importorskip("distributed", reason="needs dask: pip install '.[cluster]'")
pytestmark = pytest.mark.filterwarnings("ignore")

HERE = Path(__file__).parent


def start(workers: int) -> distributed.LocalCluster:
    return distributed.LocalCluster(
        n_workers=workers,
        threads_per_worker=1,
        processes=True,
        dashboard_address=None,
        silence_logs="CRITICAL",
    )


@pytest.fixture(scope="module")
def cluster():
    with start(2) as cluster:
        yield cluster


@pytest.fixture
def client(cluster):
    with distributed.Client(cluster) as client:
        client.run(_find_tests, str(HERE))
        yield client


def _find_tests(folder: str) -> None:
    if folder not in sys.path:
        sys.path.insert(0, folder)


@pytest.mark.parametrize("method", zofw.methods())
def test_every_method_gives_the_same_bits(method, client):
    with ThreadPoolExecutor(sum(client.nthreads().values())) as threads:
        whole = killable.run(method, None, killable.problem(), workers=threads, options={"in_order": True})
    result = killable.run(method, None, killable.problem(), workers=client, options={"in_order": True})
    np.testing.assert_array_equal(result.x, whole.x)
    assert result.ledger == whole.ledger and result.nrecomputed == 0


def test_functions_that_pickle_does_not_take_and_points_too_large_for_a_task(client, monkeypatch):
    rng = np.random.default_rng(0)
    A, d = rng.standard_normal((4, 3000)), 3000
    f = zofw.problems.BlackBox(lambda x, i: float(A[i] @ x) ** 2, dim=d, n=4)
    settings = {"method": zofw.ZSFWDVR(batch_size=2, directions=5), "max_iter": 2, "rng": 0, "diagnose": 0}
    whole = zofw.minimize(f, zofw.L1Ball(1.0), **settings)
    monkeypatch.setattr(module, "SCATTERED_BYTES", 10_000)
    result = zofw.minimize(f, zofw.L1Ball(1.0), workers=client, **settings)
    np.testing.assert_array_equal(result.x, whole.x)


@pytest.mark.parametrize("kind", ["least squares", "quadratic", "cut"])
def test_tiles(kind, client):
    rng = np.random.default_rng(0)
    Z, y = rng.standard_normal((20_000, 12)), rng.standard_normal(20_000)
    f = {
        "least squares": zofw.problems.LeastSquares(Z, y),
        "quadratic": zofw.problems.Quadratic(np.eye(12), Z),
        "cut": zofw.problems.BlackBox(Squares(Z), dim=12, n=20_000, vectorized=True, at_once=4000),
    }[kind]
    settings = {"method": "zsfw-dvr", "budget": 10**7, "max_iter": 5, "rng": 1, "diagnose": 0}
    whole = zofw.minimize(f, zofw.L1Ball(1.0), **settings)
    result = zofw.minimize(f, zofw.L1Ball(1.0), workers=client, **settings)
    np.testing.assert_array_equal(result.x, whole.x)
    assert result.ledger == whole.ledger


@pytest.mark.parametrize("method", [zofw.papers.SAGAFW(batch_size=50), zofw.RidgeNewton()])
@pytest.mark.parametrize("kind", ["text", "matrix", "cut"])
def test_own_coordinates(kind, method, client, tmp_path):
    rng = np.random.default_rng(0)
    Z = sp.csr_array(sp.random_array((3000, 200), density=0.02, random_state=rng, format="csr"))
    y = np.where(rng.random(3000) < 0.5, 1.0, -1.0)
    text = zofw.problems.Logistic(Z, y)
    row, column = np.divmod(rng.permutation(900)[:400], 30)
    f, region = {
        "text": (text, zofw.L1Ball(10.0)),
        "matrix": (
            zofw.problems.MatrixCompletion((30, 30), row, column, y[:400]),
            zofw.NuclearBall(5.0, (30, 30)),
        ),
        "cut": (
            zofw.problems.BlackBox(text.values, 200, 3000, vectorized=True, support=Z, at_once=4000),
            zofw.L1Ball(10.0),
        ),
    }[kind]
    settings = {"method": method, "rng": 1, "diagnose": 0}
    whole = zofw.minimize(f, region, budget=200_000, max_iter=6, **settings)
    result = zofw.minimize(f, region, budget=200_000, max_iter=6, workers=client, **settings)
    np.testing.assert_array_equal(result.x, whole.x)
    assert result.ledger == whole.ledger
    path = tmp_path / "run"
    zofw.minimize(f, region, budget=200_000, max_iter=3, checkpoint=path, workers=client, **settings)
    resumed = zofw.minimize(f, region, max_iter=6, checkpoint=path, resume=True, workers=client)
    np.testing.assert_array_equal(resumed.x, whole.x)


class Squares:
    def __init__(self, Z):
        self.Z = Z

    def __call__(self, X, batch):
        return (X @ self.Z[batch].T) ** 2


def run_while_killing(client, method: str, every: float, delay: float, paid: Path, **settings):
    stop, killed = threading.Event(), []

    def reap():
        rng = np.random.default_rng(0)
        while not stop.wait(every):
            try:
                processes = list(client.run(os.getpid).values())
            except Exception:
                continue
            if len(processes) > 1:
                os.kill(processes[rng.integers(len(processes))], signal.SIGKILL)
                killed.append(time.monotonic())

    reaper = threading.Thread(target=reap)
    reaper.start()
    try:
        result = killable.run(method, None, killable.problem(paid, delay), workers=client, **settings)
    finally:
        stop.set()
        reaper.join()
    return result, len(killed)


def test_workers_that_are_killed_cost_time_and_nothing_else(tmp_path):
    settings = {"max_iter": 3, "budget": 2000}
    whole = killable.run("zo-fw", None, killable.problem(), **settings)
    with start(2) as cluster, distributed.Client(cluster) as client:
        client.register_plugin(FindTests(str(HERE)))
        result, killed = run_while_killing(client, "zo-fw", 1.5, 0.1, tmp_path / "paid", **settings)
    np.testing.assert_array_equal(result.x, whole.x)
    assert result.ledger == whole.ledger and killed >= 1
    paid = (tmp_path / "paid").stat().st_size
    assert whole.nfev <= paid <= whole.nfev + result.nrecomputed


class FindTests(distributed.WorkerPlugin):
    """Workers that start later find the tests' modules as well."""

    def __init__(self, folder: str) -> None:
        self.folder = folder

    def setup(self, worker):
        _find_tests(self.folder)


@pytest.mark.slow
def test_every_method_with_one_two_and_eight_workers_and_a_kill_every_few_seconds(tmp_path):
    for workers in (1, 2, 8):
        with start(workers) as cluster, distributed.Client(cluster) as client:
            client.register_plugin(FindTests(str(HERE)))
            for method in zofw.methods():
                with ThreadPoolExecutor(workers) as pool:
                    whole = killable.run(
                        method, None, killable.problem(), workers=pool, options={"in_order": True}
                    )
                result = killable.run(
                    method, None, killable.problem(), workers=client, options={"in_order": True}
                )
                np.testing.assert_array_equal(result.x, whole.x)
            if workers == 8:
                whole = killable.run("zsfw-dvr", None, killable.problem(), budget=20_000, max_iter=200)
                result, killed = run_while_killing(
                    client, "zsfw-dvr", 3.0, 0.05, tmp_path / "paid", budget=20_000, max_iter=200
                )
                np.testing.assert_array_equal(result.x, whole.x)
                assert result.ledger == whole.ledger and killed >= 3


def test_a_worker_that_joins_late_takes_part(tmp_path):
    good = killable.Counted(None)
    whole = killable.run("zo-fw", None, BlackBox(good, dim=killable.DIM, n=killable.N))

    def known(x, i):
        (tmp_path / str(os.getpid())).touch()
        time.sleep(0.02)
        return good(x, i)

    with start(1) as cluster, distributed.Client(cluster) as client:
        client.register_plugin(FindTests(str(HERE)))

        def join(session):
            if session.nit == 1:
                assert len(list(tmp_path.iterdir())) == 1
                cluster.scale(2)
                client.wait_for_workers(2, timeout=120)
                time.sleep(1.1 * module.COUNT_SECONDS)

        box = BlackBox(known, dim=killable.DIM, n=killable.N)
        result = killable.run("zo-fw", None, box, workers=client, callback=join)
    np.testing.assert_array_equal(result.x, whole.x)
    assert len(list(tmp_path.iterdir())) == 2


def test_the_scheduler_is_lost_the_run_is_saved_and_goes_on(tmp_path):
    path, ready = tmp_path / "run.npz", tmp_path / "scheduler.json"
    path_of = os.pathsep.join([str(HERE), os.environ.get("PYTHONPATH", "")])
    environment = os.environ | {"PYTHONPATH": path_of}
    command = [
        sys.executable,
        "-m",
        "distributed.cli.dask_scheduler",
        "--port",
        "0",
        "--no-dashboard",
        "--scheduler-file",
        ready,
    ]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "env": environment}
    scheduler = subprocess.Popen(command, **quiet)
    while not ready.exists():
        time.sleep(0.05)
        assert scheduler.poll() is None
    worker = subprocess.Popen(
        [sys.executable, "-m", "distributed.cli.dask_worker", "--scheduler-file", ready, "--nthreads", "1", "--no-nanny",
         "--no-dashboard", "--death-timeout", "5"],
        **quiet,
    )  # fmt: skip
    whole, answered = killable.run("zsfw-dvr", None, killable.problem()), itertools.count(1)
    paid = tmp_path / "paid"

    def axe(intermediate_result):  # in the middle of the next query
        if next(answered) == 2:
            threading.Timer(0.2, scheduler.kill).start()

    try:
        with distributed.Client(scheduler_file=str(ready), timeout=30) as client:
            client.wait_for_workers(1, timeout=60)
            with pytest.raises(
                zofw.run.ExecutorError, match="scheduler of the dask cluster is gone"
            ) as error:
                killable.run("zsfw-dvr", path, killable.problem(paid, 0.05), workers=client, callback=axe)
        assert "is saved in" in error.value.__notes__[0]
        worker.kill()
        worker.wait()
        result = zofw.resume(path, killable.problem(paid))
        np.testing.assert_array_equal(result.x, whole.x)
        assert result.ledger == whole.ledger
        assert 0 <= paid.stat().st_size - result.nfev <= result.nrecomputed
    finally:
        for process in (scheduler, worker):
            process.kill()
            process.wait()


@pytest.mark.slow
@pytest.mark.skipif(
    os.geteuid() != 0 or shutil.which("ip") is None, reason="network namespaces need root and iproute2"
)
def test_several_hosts_of_which_one_is_cut_off():
    script = HERE.parent.parent / "examples" / "several_hosts.py"
    out = subprocess.run([sys.executable, script], check=True, timeout=600, stdout=subprocess.PIPE, text=True)
    assert "is pulled" in out.stdout and "the same bits and counts as in one process: True" in out.stdout


class FakeClient:
    """What a pool needs of a client, going wrong in ways that are hard to bring about."""

    asynchronous, status = False, "running"

    def __init__(self, errors=(), threads=None):
        self.errors, self.scattered = list(errors), 0
        self.threads = {"tcp://1.2.3.4:5": 1} if threads is None else threads

    def scatter(self, thing, **_):
        self.scattered += 1
        return thing

    def subscribe_topic(self, topic, handler):
        self.handler = handler

    def unsubscribe_topic(self, topic):
        pass

    def nthreads(self):
        return self.threads

    def submit(self, fn, topic, job, problem, parcel, anchors, **_):
        self.handler((0.0, job))
        error = self.errors.pop(0) if self.errors else None
        if error == "submit":
            raise OSError("closed")
        return FakeFuture(error or (lambda: module.work_on(problem, parcel, anchors)))


class FakeFuture:
    def __init__(self, outcome):
        self.outcome = outcome

    def add_done_callback(self, call):
        call(self)

    def result(self):
        if isinstance(self.outcome, BaseException):
            raise self.outcome
        return self.outcome()


def answer(client):
    f, query = killable.problem(), Query(np.zeros(6), Batch(3))
    engine, sheet = as_engine(client, f, None), OpenAnswer(abilities(f), query)
    again = 0
    for outcome in engine.outcomes(deque((sheet, tile) for tile in sheet.missing())):
        if outcome is not None:
            for part in outcome.parts:
                sheet.fill(part)
            again += outcome.recomputed
    engine.cancel()
    engine.close()
    np.testing.assert_array_equal(sheet.answer().values, zofw.problems.evaluate(f, query).values)
    return again


def test_what_is_lost_is_sent_again():
    killed = distributed.scheduler.KilledWorker("task", SimpleNamespace(address="tcp://1.2.3.4:5"), 3)
    client = FakeClient([killed, None, module.CancelledError()])
    assert answer(client) == 2 and client.scattered == 3
    with pytest.raises(zofw.run.ExecutorError, match="10 workers were lost over one task"):
        answer(FakeClient([killed] * 100))
    with pytest.raises(zofw.run.ExecutorError, match="could not do its task: ImportError"):
        answer(FakeClient([ImportError("no module")]))
    with pytest.raises(zofw.run.ExecutorError, match="scheduler of the dask cluster is gone"):
        answer(FakeClient(["submit"]))


def test_a_client_that_cannot_be_used(monkeypatch):
    client = FakeClient()
    client.asynchronous = True
    with pytest.raises(zofw.run.ExecutorError, match="asynchronous"):
        as_engine(client, killable.problem(), None)
    client.asynchronous = False
    client.scatter = lambda *_, **__: 1 / 0
    monkeypatch.setattr(module, "SENDING_SECONDS", 0.2)
    with pytest.raises(zofw.run.ExecutorError, match="Is a worker connected"):
        answer(client)


def test_a_cluster_without_workers_is_an_error(monkeypatch, caplog):
    monkeypatch.setattr(module, "WORKERS_SECONDS", 0.2)
    with pytest.raises(zofw.run.ExecutorError, match=r"has connected to the scheduler for 0\.2 seconds"):
        answer(FakeClient(threads={}))
    client = FakeClient()
    pool = module.ClientPool(client, killable.problem(), "t")
    pool.begin(np.zeros((1, 6)))
    pool.check()
    client.threads = {}
    monkeypatch.setattr(module, "COUNT_SECONDS", 0.0)
    pool.check()
    assert "No dask worker is connected" in caplog.text
    time.sleep(0.3)
    with pytest.raises(zofw.run.ExecutorError, match=r"has been connected for 0\.2 seconds"):
        pool.check()


def test_patience_with_the_scheduler(monkeypatch):
    client, now = FakeClient(), [0.0]
    pool = module.ClientPool(client, killable.problem(), "t")
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    pool.check()
    client.status = "connecting"
    pool.check()
    now[0] = 3.0
    pool.check()
    now[0] = 9.0
    with pytest.raises(zofw.run.ExecutorError, match="is gone"):
        pool.check()
    client.status = "running"
    pool.check()
    client.status = "closed"
    with pytest.raises(zofw.run.ExecutorError, match="is gone"):
        pool.check()
    with pytest.raises(zofw.run.ExecutorError, match="is gone"):
        pool.revive()

    class Lost:
        def result(self):
            raise OSError("connection closed")

    lost = Lost()
    pool._job[lost] = "job", pool._places.find(None)
    with pytest.raises(zofw.run.ExecutorError, match="is gone"):
        pool.result(lost)
