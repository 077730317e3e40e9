"""Workers that die every two seconds, in a pool that is made anew and in a Dask cluster: the same bits, honest counts."""

from __future__ import annotations

import os
import signal
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import contextmanager
from multiprocessing import get_context
from pathlib import Path

import numpy as np

from attacks import Finding, until
from attacks.victim import METHODS, Sum, calls, differences, solve

EVERY = 2.0  # seconds between two deaths


def attack(seconds: float, rng: np.random.Generator) -> list[Finding]:
    promise = "Workers that die change no bit, and `nrecomputed` is at least what was evaluated twice"
    pool = Finding(promise, "a worker of a process pool killed every two seconds")
    dask = Finding(promise, "a Dask worker killed every two seconds")
    _in_pools(pool, seconds / 2, rng)
    try:
        from dask.distributed import LocalCluster
    except ImportError:
        dask.skipped = "dask is not installed"
        return [pool, dask]
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None) as cluster,
        cluster.get_client() as client,
    ):
        pids = lambda: [worker.pid for worker in cluster.workers.values() if worker.pid]  # noqa: E731
        _survive(dask, seconds / 2, rng, client, pids)
    return [pool, dask]


def _in_pools(finding: Finding, seconds: float, rng: np.random.Generator) -> None:
    pools: list[ProcessPoolExecutor] = []

    def make() -> ProcessPoolExecutor:
        pools.append(ProcessPoolExecutor(2, mp_context=get_context("spawn")))
        return pools[-1]

    _survive(finding, seconds, rng, make, lambda: [pid for pool in pools for pid in (pool._processes or {})])


def _survive(
    finding: Finding,
    seconds: float,
    rng: np.random.Generator,
    executor: object,
    pids: Callable[[], list[int]],
) -> None:
    for _ in until(seconds):
        method = METHODS[rng.integers(len(METHODS))]
        with ThreadPoolExecutor(2) as threads:
            whole = solve(Sum().problem(), method, workers=threads)
        if hasattr(executor, "wait_for_workers"):
            executor.wait_for_workers(2)
        with tempfile.TemporaryDirectory() as folder:
            paid = Path(folder) / "paid"
            with _deaths(pids, paid, rng) as killed:
                result = solve(Sum(paid, 0.01).problem(), method, workers=executor)
            other, twice = differences(result, whole), calls(paid) - whole.nfev
        label = f"{method}, {len(killed)} deaths"
        finding.check(
            not other and 0 <= twice <= result.nrecomputed,
            f"{label}: {other or 'same'}, {twice} evaluated twice, nrecomputed {result.nrecomputed}",
        )
        finding.tried += max(len(killed) - 1, 0)


@contextmanager
def _deaths(pids: Callable[[], list[int]], paid: Path, rng: np.random.Generator) -> Iterator[list[int]]:
    """Somebody who kills a worker every two seconds, if evaluations have been made since the last time; whom it has killed."""
    over, killed = threading.Event(), []

    def reap() -> None:
        seen = 0
        while not over.wait(EVERY * rng.uniform(0.5, 1.0)):
            if calls(paid) == seen:  # the new workers have not come yet
                continue
            seen = calls(paid)
            alive = [pid for pid in pids() if pid not in killed]
            if alive:
                killed.append(int(rng.choice(alive)))
                try:
                    os.kill(killed[-1], signal.SIGKILL)
                except ProcessLookupError:
                    killed.pop()

    thread = threading.Thread(target=reap)
    thread.start()
    try:
        yield killed
    finally:
        over.set()
        thread.join()
        time.sleep(0.1)
