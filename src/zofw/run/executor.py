"""Queries answered by workers: any executor, any number of them, the same bits."""

from __future__ import annotations

import math
import os
import queue
import time
import uuid
from collections import Counter, deque
from collections.abc import Callable, Iterator
from concurrent.futures import BrokenExecutor, CancelledError
from dataclasses import dataclass
from typing import Any, Protocol

from zofw.core import Array, Batch, Query
from zofw.extras import extra
from zofw.run import parcels
from zofw.run.answering import Engine, ExecutorError, Outcome, Todo
from zofw.run.parcels import Found, Parcel, Sender
from zofw.run.sheet import Sheet

POLL_SECONDS = 0.1
LEAST_SECONDS = 0.01  # of work in a task, where there is enough of it
OVERHEADS = 20  # how many times its overhead a task should last
REVIVALS = 20  # pools that may break in one run
ATTEMPTS = 10  # workers that one task may cost


class WorkerLost(Exception):
    """A worker died over a task, or lost what the task needs; it has to be sent again."""


@dataclass(frozen=True, eq=False)
class Job:
    """Units start, …, stop − 1, under way."""

    start: int
    stop: int
    sent: float
    attempt: int = 1


class Pool(Protocol):
    """Where tasks go."""

    @property
    def workers(self) -> int:
        """How many tasks run at the same time."""

    def begin(self, anchors: Array) -> None:
        """The anchors of the coming tasks."""

    def submit(self, parcel: Parcel, with_problem: bool, done: Callable[[Any], None]) -> Any:
        """Send a task; its future is handed to ``done`` when it has ended in whatever way."""

    def result(self, future: Any) -> tuple[Found, int]:
        """What came back, and how often the task was begun in vain; :class:`WorkerLost` where nothing did."""

    def cancel(self, future: Any) -> None:
        """Give a task up if nobody has begun it."""

    def check(self) -> None:
        """Raise an :class:`ExecutorError` where there is nobody left to wait for."""

    def revive(self) -> None:
        """Get workers again after all were lost, or raise an :class:`ExecutorError`."""

    def close(self) -> None: ...


class Pace:
    """How many units go into a task: enough to outlast the overhead, few enough for all workers to end together."""

    def __init__(self) -> None:
        self.unit: float | None = None  # seconds, smoothed
        self._overheads: deque[float] = deque(maxlen=32)

    @property
    def overhead(self) -> float:
        """The least of the last tasks: what is above it is waiting for a worker."""
        return min(self._overheads, default=0.0)

    def note(self, units: int, seconds: float, turnaround: float) -> None:
        self._overheads.append(max(0.0, turnaround - seconds))
        if units:
            self.unit = seconds / units if self.unit is None else 0.8 * self.unit + 0.2 * seconds / units

    def size(self, left: int, workers: int) -> int:
        share = math.ceil(left / (2 * workers))
        if not self.unit:
            return max(1, share // 2)
        worth = math.ceil(max(LEAST_SECONDS, OVERHEADS * self.overhead) / self.unit)
        least = math.ceil(self.overhead / self.unit)
        return max(1, least, min(share, worth))

    def window(self, workers: int) -> int:
        """Tasks under way: a second one for each worker where they are so short that it would have to wait."""
        short = self.unit is None or self.unit < OVERHEADS * max(LEAST_SECONDS, self.overhead)
        return 2 * workers if short else workers


class Workers:
    """Units evaluated by a pool of workers."""

    def __init__(self, pool: Pool, token: str, timeout: float | None) -> None:
        self.pool, self.timeout = pool, timeout
        self.sender = Sender.here(token)
        self.pace = Pace()
        self._running: dict[Any, Job] = {}
        self._ended: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._query = ""

    def outcomes(self, sheet: Sheet, todo: Todo) -> Iterator[Outcome | None]:
        self._running, self._ended, self._query = {}, queue.SimpleQueue(), uuid.uuid4().hex
        self.pool.begin(sheet.query.anchors)
        ranges = [one for start, stop in todo for one in sheet.by_part(start, stop)]
        todo.clear()
        todo.extend(ranges)
        while todo or self._running:
            try:
                self._send_some(sheet, todo)
                outcome = self._take(sheet)
            except BrokenExecutor:
                outcome = self._start_over(sheet, todo)
            yield outcome

    def _send_some(self, sheet: Sheet, todo: Todo) -> None:
        workers = self.pool.workers
        while todo and len(self._running) < self.pace.window(workers):
            if sheet.shards is not None:
                self._turn(sheet, todo)
            start, stop = todo[0]
            size = self.pace.size(sum(last - first for first, last in todo), workers)
            middle = min(stop, start + size)
            self._send(sheet, start, middle)
            todo.popleft()
            if middle < stop:
                todo.appendleft((middle, stop))

    def _turn(self, sheet: Sheet, todo: Todo) -> None:
        """Bring a range of the part with the fewest tasks under way to the front."""
        busy = Counter(sheet.part(job.start) for job in self._running.values())
        todo.rotate(-min(range(len(todo)), key=lambda at: busy[sheet.part(todo[at][0])]))

    def _send(
        self, sheet: Sheet, start: int, stop: int, attempt: int = 1, with_problem: bool = False
    ) -> None:
        parcel = Parcel.of(sheet, start, stop, self.sender, self._query, self.timeout)
        future = self.pool.submit(parcel, with_problem, self._ended.put)
        self._running[future] = Job(start, stop, time.perf_counter(), attempt)

    def _take(self, sheet: Sheet) -> Outcome | None:
        """The next task that ends; None where none does for a while, or it has to be sent again."""
        try:
            future = self._ended.get(timeout=POLL_SECONDS)
        except queue.Empty:
            self.pool.check()
            return None
        job = self._running.get(future)
        if job is None:
            return None
        try:
            found, vain = self.pool.result(future)
        except CancelledError:
            del self._running[future]
            return None
        except WorkerLost as loss:
            del self._running[future]
            return self._send_again(sheet, job, loss)
        del self._running[future]
        if found.unknown:
            self._send(sheet, job.start, job.stop, job.attempt, with_problem=True)
            return None
        self.pace.note(len(found.units), found.seconds, time.perf_counter() - job.sent)
        again = vain * sheet.cost(job.start, job.stop)
        error = found.error
        if error is not None and sheet.shards is not None:
            error = sheet.shards.blame(sheet.part(job.start), error)
        return Outcome(job.start, job.stop, found.units, error, again)

    def _send_again(self, sheet: Sheet, job: Job, loss: WorkerLost) -> Outcome:
        self.pool.check()
        if job.attempt >= ATTEMPTS:
            raise ExecutorError(
                f"{ATTEMPTS} workers were lost over one task. If they run out of memory, take fewer evaluations at once; "
                "if the objective ends its process, mend it."
            ) from loss
        self._send(sheet, job.start, job.stop, job.attempt + 1, with_problem=True)
        return Outcome(0, 0, [], recomputed=sheet.cost(job.start, job.stop))

    def _start_over(self, sheet: Sheet, todo: Todo) -> Outcome:
        """Everything under way is lost with the pool and done again by a new one."""
        jobs = list(self._running.values())
        self._running.clear()
        todo.extend((job.start, job.stop) for job in jobs)
        self.pool.revive()
        return Outcome(0, 0, [], recomputed=sum(sheet.cost(job.start, job.stop) for job in jobs))

    def cancel(self) -> None:
        for future in list(self._running):
            self.pool.cancel(future)

    def close(self) -> None:
        self.cancel()
        self.pool.close()


class FuturePool:
    """Any executor of :mod:`concurrent.futures`, or a function that makes one.

    The problem is sent with a task only when a worker has said that it does not know it. What the process itself has made
    known to its threads and forks is not sent at all.
    """

    def __init__(self, executor: Any, problem: Any, token: str) -> None:
        self._make = None if hasattr(executor, "submit") else executor
        self._executor = executor if self._make is None else executor()
        self._problem, self._token = problem, token
        self._blob: bytes | None = None
        self._anchors: Array | None = None
        self._broken = 0
        parcels.register(token, problem)

    @property
    def workers(self) -> int:
        return int(getattr(self._executor, "_max_workers", None) or os.cpu_count() or 1)

    def begin(self, anchors: Array) -> None:
        self._anchors = anchors

    def submit(self, parcel: Parcel, with_problem: bool, done: Callable[[Any], None]) -> Any:
        if with_problem and self._blob is None:
            self._blob = extra("cloudpickle", "cluster").dumps(self._problem)
        future = self._executor.submit(
            parcels.work, parcel, self._anchors, self._blob if with_problem else None
        )
        future.add_done_callback(done)
        return future

    def result(self, future: Any) -> tuple[Found, int]:
        try:
            found: Found = future.result()
        except (BrokenExecutor, CancelledError):
            raise
        except Exception as error:
            raise ExecutorError(
                f"A worker could not do its task: {type(error).__name__}: {error}. Workers need the same zofw, and the "
                "modules that the problem uses."
            ) from error
        return found, 0

    def cancel(self, future: Any) -> None:
        future.cancel()

    def check(self) -> None:
        """A pool of this kind says itself when it breaks."""

    def revive(self) -> None:
        self._broken += 1
        if self._make is None or self._broken > REVIVALS:
            raise ExecutorError(
                "A worker process died and took the pool with it. Continue with a new pool; or give executor= a function "
                f"that makes a pool, such as lambda: ProcessPoolExecutor({self.workers}), and it is called when one breaks"
                + (f" ({REVIVALS} have)." if self._make is not None else ".")
            )
        self._executor.shutdown(wait=False)
        self._executor = self._make()

    def close(self) -> None:
        parcels.forget(self._token)
        if self._make is not None:
            self._executor.shutdown()


def mean_by(engine: Engine, problem: Any, x: Array) -> float:
    """The exact mean at x, for diagnosis, by whoever holds the components."""
    sheet = Sheet(problem, Query(x, Batch(problem.n)))
    for outcome in engine.outcomes(sheet, deque(sheet.missing())):
        if outcome is not None:
            if outcome.error is not None:
                raise outcome.error
            sheet.fill(outcome.start, outcome.found)
    return float(sheet.answer().values[0, 0])


def as_engine(executor: Any, problem: Any, timeout: float | None) -> Engine:
    """Workers behind a dask client, a ``concurrent.futures`` executor, or a function that makes one."""
    token = uuid.uuid4().hex
    if callable(getattr(executor, "scatter", None)):
        from zofw.run.cluster import ClientPool

        return Workers(ClientPool(executor, problem, token), token, timeout)
    if not (callable(getattr(executor, "submit", None)) or callable(executor)):
        raise TypeError(
            "executor should be a dask.distributed.Client, a concurrent.futures.Executor, or a function that makes one; got "
            f"{type(executor).__name__}."
        )
    return Workers(FuturePool(executor, problem, token), token, timeout)
