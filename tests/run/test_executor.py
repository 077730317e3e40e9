"""Workers: the same bits whoever they are, how many, how the work is cut, and when they die."""

from __future__ import annotations

import dataclasses
import itertools
import math
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
from collections import deque
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor

import killable
import numpy as np
import pytest
import scipy.sparse as sp
import threadpoolctl

import zofw
from conftest import ended_by_signal, quadratic_sum
from zofw.core import Batch, Query, Stencil, Tile
from zofw.problems import BlackBox, LeastSquares, Logistic, evaluate
from zofw.problems.abilities import abilities
from zofw.problems.evaluate import TilePart
from zofw.run.answering import open_answer
from zofw.run.answering.engine import Here
from zofw.run.answering.open_answer import OpenAnswer
from zofw.run.session.inside import Tangent
from zofw.run.workers import tasks, workers
from zofw.run.workers.tasks import Sender, WorkerTask, fresh
from zofw.run.workers.workers import FuturePool, Pace, Workers

NAMES = list(zofw.methods())


class Eager(Executor):
    """Runs tasks at once in this process, through pickle as a real pool would, and returns them in any order."""

    def __init__(self, seed: int = 0, workers: int = 3) -> None:
        self._max_workers, self.sent, self.waiting = workers, [], deque()
        self.rng = np.random.default_rng(seed)

    def submit(self, fn, /, *arguments):
        text = pickle.dumps(arguments)
        self.sent.append(len(text))
        future = Future()
        self.waiting.append((future, fn, text))
        if len(self.waiting) >= 2 * self._max_workers:
            self.flush()
        return future

    def flush(self):
        for at in self.rng.permutation(len(self.waiting)):
            future, fn, text = self.waiting[at]
            future.set_result(pickle.loads(pickle.dumps(fn(*pickle.loads(text)))))
        self.waiting.clear()


@pytest.fixture(scope="module")
def threads():
    with ThreadPoolExecutor(3) as pool:
        yield pool


@pytest.fixture(scope="module")
def processes():
    with ProcessPoolExecutor(3) as pool:
        yield pool


@pytest.mark.parametrize("method", NAMES)
def test_every_method_gives_the_same_bits(method, threads, processes):
    settings = {"options": {"in_order": True}}
    whole = killable.run(method, None, killable.problem(), workers=one_after_another(3), **settings)
    for pool in (threads, processes):
        result = killable.run(method, None, killable.problem(), workers=pool, **settings)
        np.testing.assert_array_equal(result.x, whole.x)
        assert result.ledger == whole.ledger and result.nrecomputed == 0


def one_after_another(number):
    """A function like map that says how many workers it has."""

    class Hands:
        def __init__(self):
            self._processes = number

        def map(self, function, calls):
            return [function(call) for call in calls]

    return Hands().map


def test_workers_as_a_number_an_executor_or_a_map_give_the_same_bits(threads):
    """Processes for a function that can be sent, threads for one that cannot, and the result says which."""
    lock = threading.Lock()

    def f(x):
        with lock:
            return float((x - 0.2) @ (x - 0.2))

    settings = {"dim": 6, "budget": 60, "rng": 0, "method": "interpolation", "options": {"in_order": True}}
    found = [
        zofw.minimize(f, "simplex", workers=given, **settings)
        for given in (3, threads, threads.map, one_after_another(3))
    ]
    assert len({result.x.tobytes() for result in found}) == 1
    assert found[0].reasons["workers"].startswith("3 threads: the function cannot be sent")
    assert found[2].reasons["workers"] == "3 of Executor.map"


def test_an_own_pool_of_processes_does_not_run_the_script_again(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(
        "import zofw\nprint('begun')\nc = 0.2\n"
        "f = lambda x: float((x - c) @ (x - c))\n"
        "print(zofw.minimize(f, 'simplex', dim=3, budget=30, rng=0, workers=2).reasons['workers'])\n"
    )
    found = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=120)
    assert found.stdout.split("\n")[:2] == ["begun", "2 processes"], found.stderr


def test_executor_is_deprecated_and_keeps_its_bits(threads):
    problem = BlackBox(lambda x: float(x @ x), dim=3)
    settings = {"budget": 40, "rng": 0, "method": "interpolation"}
    with pytest.warns(DeprecationWarning, match="Write workers= instead"):
        old = zofw.minimize(problem, zofw.Box(-1.0, 2.0), executor=threads, **settings)
    assert old.x.tobytes() == zofw.minimize(problem, zofw.Box(-1.0, 2.0), **settings).x.tobytes()


def test_a_saved_run_keeps_its_number_of_workers_or_says_that_it_has_another(tmp_path):
    problem, path = BlackBox(lambda x: float((x - 0.1) @ (x - 0.1)), dim=6), tmp_path / "run.npz"
    settings = {"rng": 0, "method": "interpolation", "budget": 24, "checkpoint": path}
    zofw.minimize(problem, zofw.Box(-1.0, 2.0), workers=one_after_another(4), **settings)
    same = zofw.resume(path, problem, budget=32, workers=one_after_another(4))
    assert "from iteration" not in same.reasons["workers"]
    other = zofw.resume(path, problem, budget=60, workers=one_after_another(8))
    assert other.reasons["workers"].endswith("on 8, before 4") and other.nfev <= 60


def models():
    rng = np.random.default_rng(2)
    Z = sp.random_array((400, 30), density=0.2, random_state=rng, format="csr")
    y = np.where(rng.random(400) < 0.5, -1.0, 1.0)
    return {
        "sparse": Logistic(Z, y),
        "dense": LeastSquares(Z.toarray(), y),
        "quadratic": zofw.problems.Quadratic(np.eye(30), rng.standard_normal((400, 30))),
        "vectorised": quadratic_sum(400, 30),
        "cut": BlackBox(quadratic_sum(400, 30).fun, dim=30, n=400, vectorized=True, at_once=50),
    }


def cut_at_random(tile, rng):
    """Cells of a tile in a few pieces; a tile in one piece as it is."""
    if not tile.stop:
        return [tile]
    cuts = sorted({tile.start, tile.stop, *rng.integers(tile.start, tile.stop, size=2).tolist()})
    return [tile.cells(start, stop) for start, stop in itertools.pairwise(cuts)]


@pytest.mark.parametrize("kind", models())
@pytest.mark.parametrize("method", ["zsfw-dvr", "acc-szofw", "zo-fw"])
def test_every_kind_of_problem(kind, method, processes, monkeypatch):
    monkeypatch.setattr(sys.modules["zofw.problems.evaluate"], "TILE_COMPONENTS", 64)
    f = models()[kind]
    settings = {"method": method, "budget": 60_000, "max_iter": 6, "rng": 1, "diagnose": 0}
    whole = zofw.minimize(f, zofw.L1Ball(1.0), **settings)
    result = zofw.minimize(f, zofw.L1Ball(1.0), workers=processes, **settings)
    np.testing.assert_array_equal(result.x, whole.x)
    inside = [
        zofw.minimize(f, zofw.L2Ball(1.0), inside=True, workers=pool, **settings)
        for pool in (None, processes)
    ]
    np.testing.assert_array_equal(inside[0].x, inside[1].x)


def queries(dim=5, n=40):
    rng = np.random.default_rng(0)
    x = rng.standard_normal((2, dim)) / 9
    some = Batch(n, rng.integers(n, size=23))
    for law, stencil in itertools.product(zofw.laws().values(), list(Stencil)[:3]):
        U = law().draw(rng, dim, 4)
        yield Query(x, some, U, 0.1, stencil, variance=True)
        yield Query(x[:1], Batch(n), U, 0.1, stencil)
        if stencil is not Stencil.QUADRATIC:
            yield Query(x, Batch(n, some.indices[:4]), U, 0.1, stencil, paired=True)
    yield Query(x, some)
    yield Query(x, Batch(n), zofw.directions.Explicit(rng.standard_normal((dim, 3))), 0.1, Stencil.FORWARD)


@pytest.mark.parametrize("kind", ["one by one", "vectorised", "cut", "linear"])
def test_a_query_can_be_cut_anywhere(kind, monkeypatch):
    base = quadratic_sum(40, 5)
    rng = np.random.default_rng(3)
    f = {
        "one by one": BlackBox(lambda x, i: float(base.fun(x[None], np.array([i]))[0, 0]), dim=5, n=40),
        "vectorised": base,
        "cut": BlackBox(base.fun, dim=5, n=40, vectorized=True, at_once=7),
        "linear": LeastSquares(rng.standard_normal((40, 5)), rng.standard_normal(40)),
    }[kind]
    monkeypatch.setattr(sys.modules["zofw.problems.evaluate"], "TILE_COMPONENTS", 9)
    monkeypatch.setattr(sys.modules["zofw.problems.evaluate"], "TILE_VALUES", 10)
    tasks.register("f", f)
    sender = Sender.here("f")
    for number, query in enumerate(queries()):
        whole = evaluate(f, query)
        answer = OpenAnswer(abilities(f), query)
        assert sum(map(query.tile_cost, answer.missing())) == query.cost
        pieces = [cut for tile in answer.missing() for cut in cut_at_random(tile, rng)]
        for at in rng.permutation(len(pieces)):
            before = answer.paid
            task = pickle.loads(pickle.dumps(WorkerTask.of(answer, [pieces[at]], sender, str(number), None)))
            (sums,) = tasks.work(task, query.anchors).sums
            for _ in range(2):
                answer.fill(TilePart(pieces[at], sums))
                assert answer.paid == before + query.tile_cost(pieces[at])
            assert sum(map(query.tile_cost, answer.missing())) == query.cost - answer.paid
        assert answer.complete and answer.paid == query.cost
        found = answer.answer()
        np.testing.assert_array_equal(found.values, whole.values)
        if query.variance:
            np.testing.assert_array_equal(found.variance, whole.variance)
    tasks.forget("f")


@pytest.mark.parametrize("workers", [1, 2, 8])
@pytest.mark.parametrize("seed", [0, 1])
def test_neither_the_workers_nor_the_order_matter(workers, seed, monkeypatch):
    whole = killable.run("zsfw-dvr", None, killable.problem())
    pool = Eager(seed, workers)
    real = Workers._send_some

    def send_and_flush(self, todo):
        real(self, todo)
        pool.flush()

    monkeypatch.setattr(Workers, "_send_some", send_and_flush)
    result = killable.run("zsfw-dvr", None, killable.problem(), workers=pool)
    np.testing.assert_array_equal(result.x, whole.x)


def test_bytes_of_a_task_are_those_of_the_anchors_and_a_few_hundred(monkeypatch):
    rng = np.random.default_rng(0)
    for law in (
        zofw.directions.Gaussian(),
        zofw.directions.Rademacher(),
        zofw.directions.Sphere(),
        zofw.directions.Coordinate(),
        zofw.directions.Orthogonal(),
    ):
        for dim, b in ((1000, 4), (1000, 900), (50_000, 200)):
            U = law.draw(rng, dim, b)
            U.project(np.ones(dim))  # fills what directions remember
            U.rows(np.arange(2))
            query = Query(np.zeros(dim), Batch(10**6, rng.integers(10**6, size=500)), U, 0.1, Stencil.CENTRAL)
            answer = OpenAnswer(abilities(BlackBox(max, dim=dim, n=10**6)), query)
            tiles = [answer.missing()[0].cells(0, 40)]
            task = WorkerTask.of(answer, tiles, Sender.here("x" * 32), "y" * 32, None)
            size = len(pickle.dumps((task, query.anchors)))
            assert size <= 8 * dim + 8 * 500 + 1500, (
                f"{law}: {size - 8 * dim - 8 * 500} bytes beside x and the batch"
            )


@pytest.mark.parametrize("done", [0, 1, 2])
def test_an_interrupt_between_two_evaluations_of_a_worker_keeps_those_it_has(done):
    class Interrupted(list):
        def __iter__(self):
            yield from list(super().__iter__())[:done]
            raise KeyboardInterrupt

    f, query = killable.problem(), Query(np.zeros(killable.DIM), Batch(killable.N))
    answer = OpenAnswer(abilities(f), query)
    tiles = [answer.missing()[0].cells(k, k + 1) for k in range(2)]
    task = WorkerTask.of(answer, tiles, Sender.here("x" * 32), "y" * 32, None)
    found = tasks.work_on(f, dataclasses.replace(task, tiles=Interrupted(task.tiles)), query.anchors)
    assert len(found.sums) == done and (found.error is None) == (done == 2)


def test_directions_travel_bare_through_wrappers():
    U = zofw.directions.Orthogonal().draw(np.random.default_rng(0), 200, 5)
    wrapped = Tangent(U, zofw.Simplex())
    wrapped.columns(0, 5)
    assert "table" in vars(U) and "table" not in vars(fresh(wrapped).base)
    np.testing.assert_array_equal(fresh(wrapped).columns(0, 5), wrapped.columns(0, 5))
    explicit = zofw.directions.Explicit(np.eye(3))
    np.testing.assert_array_equal(fresh(explicit).matrix, explicit.matrix)
    assert fresh(None) is None


def test_the_problem_travels_when_a_worker_asks_for_it():
    pool = Eager(workers=1)
    engine = Workers(FuturePool(pool, killable.problem(), "token"), "token", None)
    tasks.forget("token")
    query = Query(np.zeros(6), Batch(3))
    answer = OpenAnswer(abilities(killable.problem()), query)
    for outcome in engine.outcomes(deque((answer, tile) for tile in answer.missing())):
        pool.flush()
        for part in () if outcome is None else outcome.parts:
            answer.fill(part)
    np.testing.assert_array_equal(answer.answer().values, evaluate(killable.problem(), query).values)
    assert "token" in tasks._problems and max(pool.sent) > 2 * min(pool.sent)
    engine.close()
    assert "token" not in tasks._problems
    for k in range(10):
        tasks._remember(tasks._problems, str(k), k)
    assert len(tasks._problems) == tasks.KEPT
    tasks._problems.clear()


class Lethal:
    """An objective that ends its process once."""

    def __init__(self, flag):
        self.flag, self.good = flag, killable.Counted(None)

    def __call__(self, x, i):
        if os.getpid() != self.flag[1] and not os.path.exists(self.flag[0]):
            open(self.flag[0], "w").close()
            os.kill(os.getpid(), signal.SIGKILL)
        return self.good(x, i)


@pytest.mark.filterwarnings("ignore")
def test_a_worker_that_dies_breaks_the_pool_and_nothing_else(tmp_path):
    whole = killable.run("zsfw-dvr", None, killable.problem())
    f = BlackBox(Lethal((str(tmp_path / "dead"), os.getpid())), dim=killable.DIM, n=killable.N)
    path = tmp_path / "run.npz"
    with (
        ProcessPoolExecutor(2) as pool,
        pytest.raises(zofw.run.ExecutorError, match="took the pool with it") as error,
    ):
        killable.run("zsfw-dvr", path, f, workers=pool)
    assert "is saved in" in error.value.__notes__[0]
    with ProcessPoolExecutor(2) as pool:
        result = zofw.resume(path, f, workers=pool)
    np.testing.assert_array_equal(result.x, whole.x)
    (tmp_path / "dead").unlink()
    result = killable.run("zsfw-dvr", None, f, workers=lambda: ProcessPoolExecutor(2))
    np.testing.assert_array_equal(result.x, whole.x)
    assert result.ledger == whole.ledger and result.nrecomputed >= 1
    with pytest.raises(zofw.run.ExecutorError, match="20 have, without an answer"):
        killable.run("zsfw-dvr", None, BlackBox(Suicidal(), dim=3), workers=lambda: Broken())


class Suicidal:
    def __call__(self, x):
        return 0.0


class Broken(Executor):
    def submit(self, fn, /, *arguments):
        from concurrent.futures import BrokenExecutor

        raise BrokenExecutor

    def shutdown(self, wait=True, *, cancel_futures=False):
        pass


def test_loky_takes_functions_that_pickle_does_not():
    loky = pytest.importorskip("loky")
    A = np.random.default_rng(0).standard_normal((3, 4))
    f = BlackBox(lambda x, i: float(A[i] @ x) ** 2, dim=4, n=3)
    settings = {"method": "zsfw-dvr", "budget": 300, "rng": 0, "diagnose": 0}
    whole = zofw.minimize(f, zofw.L1Ball(1.0), **settings)
    pool = loky.ProcessPoolExecutor(2)
    try:
        result = zofw.minimize(f, zofw.L1Ball(1.0), workers=pool, **settings)
    finally:
        pool.shutdown(wait=True, kill_workers=True)
    np.testing.assert_array_equal(result.x, whole.x)


def test_errors_on_workers_are_met_as_at_home(threads, processes, tmp_path):
    calls = itertools.count(1)
    good = killable.Counted(None)

    def moody(x, i):
        return math.nan if next(calls) % 13 == 0 else good(x, i)

    whole = killable.run("zsfw-dvr", None, killable.problem())
    f = BlackBox(moody, dim=6, n=3)
    result = killable.run("zsfw-dvr", None, f, workers=threads, on_error=zofw.Retry(5, 0.0))
    np.testing.assert_array_equal(result.x, whole.x)
    assert result.nfev == next(calls) - 1 and result.ledger["failed"] == result.nfev // 13
    bad = BlackBox(AlwaysNaN(), dim=3)
    with pytest.raises(zofw.EvaluationError, match=r"nan for component 0 .* query 0 of the run"):
        zofw.minimize(bad, zofw.Simplex(), budget=100, method="zo-fw", workers=processes, diagnose=0)
    slow = BlackBox(Sleepy(), dim=3)
    with pytest.raises(zofw.EvaluationError, match="did not answer within"):
        zofw.minimize(
            slow,
            zofw.Simplex(),
            budget=100,
            method="zo-fw",
            workers=processes,
            options={"timeout": 0.05},
            diagnose=0,
        )
    with pytest.raises(zofw.run.ExecutorError, match="could not do its task"):
        zofw.minimize(Odd(), zofw.Simplex(), budget=100, method="zo-fw", workers=processes, diagnose=0)


class AlwaysNaN:
    def __call__(self, x):
        return math.nan


class Sleepy:
    def __call__(self, x):
        time.sleep(0.5)
        return 0.0


class Odd(BlackBox):
    """Cannot be rebuilt on a worker."""

    def __init__(self):
        super().__init__(AlwaysNaN(), dim=3)

    def __reduce__(self):
        return (int, ("no number",))


def test_a_signal_lets_workers_finish_and_saves(tmp_path, threads):
    path, paid = tmp_path / "run.npz", tmp_path / "paid"
    whole = killable.run("zo-fw", None, killable.problem())
    f = killable.problem(paid, 0.01)
    calls = itertools.count()

    class Poked(BlackBox):
        def one(self, x, component):
            if next(calls) == 8:
                os.kill(os.getpid(), signal.SIGTERM)
            return f.one(x, component)

    result = ended_by_signal(lambda: killable.run("zo-fw", path, Poked(f.fun, dim=6, n=3), workers=threads))
    assert result.status is zofw.Status.INTERRUPTED
    again = killable.run("zo-fw", path, f, workers=threads)
    np.testing.assert_array_equal(again.x, whole.x)
    assert paid.stat().st_size == whole.nfev


def test_blas_threads_are_those_of_the_sender():
    """In a process of its own: a product that depends on the number of threads is the same on a worker with one thread."""
    code = """
import multiprocessing, os
from collections import deque
from concurrent.futures import ProcessPoolExecutor
import numpy as np, threadpoolctl
from zofw.core import Batch, Query
from zofw.problems import LeastSquares, evaluate
from zofw.run.workers.workers import FuturePool, Workers
from zofw.problems.abilities import abilities
from zofw.run.answering.open_answer import OpenAnswer
if __name__ == "__main__":
    rng = np.random.default_rng(0)
    f, query = LeastSquares(rng.standard_normal((10, 100_000)), rng.standard_normal(10)), Query(rng.standard_normal((8, 100_000)), Batch(10))
    answers = {}
    for threads in (1, 2):
        with threadpoolctl.threadpool_limits(threads):
            answers[threads] = evaluate(f, query).values
    if np.array_equal(answers[1], answers[2]):
        print("this linear algebra does not depend on its threads here")
    os.environ["OPENBLAS_NUM_THREADS"] = os.environ["OMP_NUM_THREADS"] = "1"
    with threadpoolctl.threadpool_limits(2), ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        engine, answer = Workers(FuturePool(pool, f, "f"), "f", None), OpenAnswer(abilities(f), query)
        for outcome in engine.outcomes(deque((answer, tile) for tile in answer.missing())):
            for part in () if outcome is None else outcome.parts:
                answer.fill(part)
    assert np.array_equal(answer.answer().values, answers[2])
"""
    free = {name: value for name, value in os.environ.items() if not name.endswith("_NUM_THREADS")}
    out = subprocess.run(
        [sys.executable, "-c", code], check=True, timeout=120, stdout=subprocess.PIPE, text=True, env=free
    )
    if "does not depend" in out.stdout:
        pytest.skip("the linear algebra of this machine gives the same bits with any number of threads")
    assert Sender.here("a").threads == max(
        library["num_threads"] for library in threadpoolctl.threadpool_info() if library["user_api"] == "blas"
    )


def test_a_process_of_its_own_takes_over_the_threads_of_its_sender(monkeypatch):
    monkeypatch.delenv("ZOFW_THREADS", raising=False)
    monkeypatch.setattr(tasks, "_settled", None)
    with threadpoolctl.threadpool_limits(2):
        tasks._settle(Sender("p", os.getpid(), 1))
        assert "ZOFW_THREADS" not in os.environ and Sender.here("p").threads == 2
        for _ in range(2):
            tasks._settle(Sender("p", -1, 1))
            assert os.environ["ZOFW_THREADS"] == "1" and Sender.here("p").threads == 1
    monkeypatch.setitem(sys.modules, "threadpoolctl", None)
    assert Sender.here("p").threads is None


def test_pace():
    pace = Pace()
    assert pace.size(1, 4) == 1 and pace.size(800, 4) == 50 and pace.window(4) == 8
    for _ in range(50):
        pace.note(10, 10 * 0.02, 10 * 0.02 + 0.005)
    assert pace.overhead == pytest.approx(0.005) and pace.unit == pytest.approx(0.02)
    assert pace.size(1000, 8) in (5, 6) and pace.size(10, 8) == 1
    for _ in range(200):
        pace.note(1000, 1000 * 1e-6, 1000 * 1e-6 + 0.005)
    assert pace.size(10**7, 8) == pytest.approx(10**5, rel=0.1)
    assert pace.size(100, 8) >= 100  # not worth a second task
    for _ in range(200):
        pace.note(1, 60.0, 60.005)
    assert pace.size(100, 8) == 1 and pace.window(8) == 8


def test_what_is_no_executor():
    for given in ("3", 0, 2.5, object()):
        with pytest.raises((TypeError, ValueError), match="workers should be a"):
            zofw.minimize(killable.problem(), zofw.L2Ball(1.0), budget=100, workers=given)


def test_cells_of_a_query_that_fails_half_way(monkeypatch):
    monkeypatch.setattr(open_answer, "LOOK_SECONDS", math.inf)
    f = BlackBox(lambda x, i: math.nan if i == 2 else 1.0, dim=2, n=4)
    answer = OpenAnswer(abilities(f), Query(np.zeros(2), Batch(4)))
    (outcome,) = Here(f).outcomes(deque((answer, tile) for tile in answer.missing()))
    assert outcome.parts[0].sums.values.tolist() == [1.0, 1.0] and "component 2" in str(outcome.error)
    assert outcome.left == [Tile(0, 0, 0, 4, 2, 4)]


def test_the_log_says_how_workers_are_busy_and_names_one_that_hangs(monkeypatch, caplog):
    monkeypatch.setattr(workers, "SLOW_SECONDS", 0.2)
    monkeypatch.setattr("zofw.run.session.observers.Progress.SAID", 0.0)
    calls = itertools.count()

    def f(x):
        time.sleep(0.6 if next(calls) == 15 else 0.002)
        return float(x @ x + x[0])

    with ThreadPoolExecutor(3) as pool, caplog.at_level("INFO", logger="zofw"):
        zofw.minimize(
            f,
            zofw.Box(-1.0, 1.0),
            dim=4,
            budget=34,
            rng=0,
            workers=pool,
            options={"max_time": 60},
            method="interpolation",
        )
    assert "of 3 workers busy" in caplog.text and "rounds" in caplog.text and "s left" in caplog.text
    assert "A worker has been busy for" in caplog.text and "near x =" in caplog.text
