"""What workers cost and bring: bytes, overhead, speed-up. ``python -m benchmarks.cluster [--quick]``

Times are of this machine and of its other load; ratios are measured side by side.
"""

from __future__ import annotations

import argparse
import os
import pickle
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from typing import Any

import numpy as np

import zofw
from zofw.core import Batch, Query, Stencil
from zofw.problems import BlackBox
from zofw.problems.abilities import abilities
from zofw.run.answering.engine import Here
from zofw.run.answering.open_answer import OpenAnswer
from zofw.run.workers.tasks import Sender, WorkerTask
from zofw.run.workers.workers import as_engine

DIM = 20


class Sleeping:
    """f_i(x) that takes its time without using a processor: a simulator, a laboratory, a paid service."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds

    def __call__(self, x: np.ndarray, i: int) -> float:
        time.sleep(self.seconds)
        return float(x @ x) + i


class Busy:
    """f_i(x) in plain Python: one processor, all the time."""

    def __init__(self, loops: int) -> None:
        self.loops = loops

    def __call__(self, x: np.ndarray, i: int) -> float:
        total = float(x @ x) + i
        for k in range(self.loops):
            total += k % 7
        return total


def query(n: int, b: int, dim: int = DIM, law: Any = None) -> Query:
    U = (law or zofw.directions.Rademacher()).draw(np.random.default_rng(0), dim, b)
    return Query(np.zeros(dim), Batch(n), U, 0.1, Stencil.CENTRAL)


def seconds(engine: Any, f: BlackBox, asked: Query) -> tuple[float, np.ndarray]:
    began = time.perf_counter()
    sheet = OpenAnswer(abilities(f), asked)
    for outcome in engine.outcomes(sheet, deque(sheet.missing())):
        if outcome is not None:
            for part in outcome.parts:
                sheet.fill(part)
    return time.perf_counter() - began, sheet.answer().values


def bytes_table() -> None:
    print("\nBytes of one task, pickled: anchors 8kd, and the rest, whatever b")
    print(f"{'law':<12} {'d':>9} {'b':>6} {'bytes':>10} {'beside 8d':>10} {'of d·b':>9}")
    for law in (
        zofw.directions.Rademacher(),
        zofw.directions.Gaussian(),
        zofw.directions.Sphere(),
        zofw.directions.Coordinate(),
        zofw.directions.Orthogonal(),
    ):
        for dim, b in ((1_000, 10), (1_000, 1_000), (1_000_000, 100)):
            asked = query(1000, b, dim, law)
            sheet = OpenAnswer(abilities(BlackBox(abs, dim=dim, n=1000)), asked)
            parcel = WorkerTask.of(
                sheet, [sheet.missing()[0].cells(0, 50)], Sender.here("t" * 32), "q" * 32, None
            )
            size = len(pickle.dumps((parcel, asked.anchors)))
            print(
                f"{type(law).__name__:<12} {dim:>9} {b:>6} {size:>10} {size - 8 * dim:>10} {size / (8 * dim * b):>9.2%}"
            )


def overhead(name: str, executor: Any, tasks: int) -> None:
    f = BlackBox(Sleeping(0.0), dim=DIM, n=1)
    engine = as_engine(executor, f, None)
    engine.pace.size = lambda left, workers: 1  # one evaluation to a task
    asked = query(1, max(1, tasks // 2))
    seconds(engine, f, asked)
    total, _ = seconds(engine, f, asked)
    print(
        f"{name:<34} {1e3 * total / asked.cost:>9.3f} ms a task, {1e3 * engine.pace.overhead:>8.3f} ms from sending to having it back"
    )
    engine.close()


def speed_up(name: str, executor: Any, f: BlackBox, asked: Query, alone: float, values: np.ndarray) -> None:
    engine = as_engine(executor, f, None)
    seconds(engine, f, asked)  # workers start, learn the problem, and the pace is found
    best, found = min((seconds(engine, f, asked) for _ in range(3)), key=lambda pair: pair[0])
    same = "same bits" if np.array_equal(found, values) else "OTHER BITS"
    print(f"{name:<34} {best:>8.3f} s, {alone / best:>6.2f}×, {same}")
    engine.close()


def alone(f: BlackBox, asked: Query) -> tuple[float, np.ndarray]:
    total, values = seconds(Here(f, None), f, asked)
    print(f"{'in this process':<34} {total:>8.3f} s,   1.00×")
    return total, values


def whole_runs(evaluations: int, pause: float) -> None:
    """Time of whole runs of the default method on eight threads, over that of one after another."""
    target = np.linspace(-0.5, 0.5, DIM)

    def f(x: np.ndarray) -> float:
        time.sleep(pause)
        return float(np.logspace(0, 2, DIM) @ (x - target) ** 2)

    print(f"\nWhole runs of {evaluations} evaluations of {1e3 * pause:.0f} ms, d = {DIM}, 8 threads")
    for in_order in (False, True):
        with ThreadPoolExecutor(8) as pool:
            began, own = time.perf_counter(), time.process_time()
            result = zofw.minimize(
                f, zofw.Box(-1.0, 1.0), dim=DIM, budget=evaluations, rng=0, workers=pool, options={"in_order": in_order, "progress": False},
                method="interpolation",
            )  # fmt: skip
            total, own = time.perf_counter() - began, time.process_time() - own
        share, rounds = total / (result.nfev * pause), result.nfev / 8
        how = "in order" if in_order else "as they come"
        print(
            f"{how:<34} {total:>8.3f} s, {share:.3f} of one after another, own time {1e3 * own / rounds:.1f} ms a round"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer evaluations")
    quick = parser.parse_args().quick
    import distributed
    import loky

    load = os.getloadavg()[0]
    print(f"{os.cpu_count()} processors, load {load:.1f} before anything was started")
    bytes_table()
    local: Callable[[int], Any] = lambda workers: distributed.LocalCluster(  # noqa: E731
        n_workers=workers, threads_per_worker=1, processes=True, dashboard_address=None, silence_logs="ERROR"
    )
    with local(8) as cluster, distributed.Client(cluster) as client:
        pools = {
            "threads": ThreadPoolExecutor(8),
            "processes": ProcessPoolExecutor(8),
            "loky": loky.ProcessPoolExecutor(8),
            "dask": client,
        }
        print("\nOverhead of a task that does nothing, 8 workers")
        for name, pool in pools.items():
            overhead(name, pool, 60 if quick else 400)
        whole_runs(200, 0.05 if quick else 0.25)
        evaluations = 160 if quick else 640
        print(f"\n{evaluations} evaluations of 20 ms that sleep, 8 workers (at most 8×)")
        f, asked = BlackBox(Sleeping(0.02), dim=DIM, n=4), query(4, evaluations // 8)
        total, values = alone(f, asked)
        for name, pool in pools.items():
            speed_up(name, pool, f, asked, total, values)
        for name in ("threads", "processes", "loky"):
            pools[name].shutdown()
    with local(2) as cluster, distributed.Client(cluster) as client, ProcessPoolExecutor(2) as pool:
        loops = 60_000 if quick else 300_000
        print(f"\n320 evaluations that compute, 2 workers (at most {min(2, os.cpu_count() or 1)}×)")
        f, asked = BlackBox(Busy(loops), dim=DIM, n=4), query(4, 40)
        total, values = alone(f, asked)
        speed_up("processes", pool, f, asked, total, values)
        speed_up("dask", client, f, asked, total, values)


if __name__ == "__main__":
    main()
