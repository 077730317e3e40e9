"""Queries answered by workers: any executor, any number of them, the same bits."""

from __future__ import annotations

import logging
import math
import os
import queue
import time
import uuid
from collections import Counter, deque
from collections.abc import Callable, Iterator
from concurrent import futures
from concurrent.futures import BrokenExecutor, CancelledError
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias, runtime_checkable

import numpy as np

from zofw.core import Array, EvaluationError, Problem, Tile
from zofw.extras import extra
from zofw.problems.abilities import Sums
from zofw.problems.evaluate import TilePart
from zofw.run.answering.engine import ExecutorError, Outcome, Todo
from zofw.run.answering.open_answer import OpenAnswer
from zofw.run.workers import tasks
from zofw.run.workers.tasks import Found, Sender, WorkerTask

logger = logging.getLogger("zofw")

POLL_SECONDS = 0.1
LEAST_SECONDS = 0.01  # of work in a task, where there is enough of it
OVERHEADS = 20  # how many times its overhead a task should last
TASK_SECONDS = 4.0  # that the evaluations of one task may take where they have a time limit
GRACE_SECONDS = 2.0  # for a task on its way
REVIVALS = 20  # pools that may break, one after another, without an answer
SLOW_SECONDS, SLOW_TIMES = 30.0, 20.0  # after which a task without a time limit is named
ATTEMPTS = 10  # workers that one task may cost


Ticket: TypeAlias = Any  # the future of a task, of whatever library
OwnExecutor: TypeAlias = futures.Executor  # one that was made here, and is ended here


class WorkerLost(Exception):
    """A worker died over a task, or lost what the task needs; it has to be sent again."""


@runtime_checkable
class Executor(Protocol):
    """Executor interface: an object with the ``submit`` of :mod:`concurrent.futures`."""

    def submit(self, fn: Callable[..., object], /, *arguments: object) -> Ticket: ...


@runtime_checkable
class Scatters(Protocol):
    """A dask client, by what no other executor has."""

    def scatter(self, data: object) -> object: ...


@dataclass(frozen=True, eq=False)
class Sent:
    """Tiles under way: of which answer, when they were sent, and for which time."""

    answer: OpenAnswer
    tiles: list[Tile]
    when: float
    attempt: int = 1


class Pool(Protocol):
    """Where tasks go."""

    @property
    def workers(self) -> int:
        """Return how many tasks run at the same time."""

    def begin(self, anchors: Array) -> None:
        """The anchors of the coming tasks."""

    def submit(self, task: WorkerTask, with_problem: bool, done: Callable[[Ticket], None]) -> Ticket:
        """Send a task; ``done`` gets its future when it has ended, whether or not it failed."""

    def result(self, future: Ticket) -> tuple[Found, int]:
        """What came back, and how often the task was begun in vain; :class:`WorkerLost` where nothing did."""

    def cancel(self, future: Ticket) -> None:
        """Cancel a task if no worker has begun it."""

    def check(self) -> None:
        """Raise an :class:`ExecutorError` if no worker is left to wait for."""

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
        """Return the least of the last tasks: what is above it is waiting for a worker."""
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
    """Tiles evaluated by a pool of workers."""

    def __init__(self, pool: Pool, token: str, timeout: float | None) -> None:
        self.pool, self.timeout = pool, timeout
        self.sender = Sender.here(token)
        self.pace = Pace()
        self._running: dict[Ticket, Sent] = {}
        self._slow: list[Sent] = []  # tasks that were named
        self._ended: queue.SimpleQueue[Ticket] = queue.SimpleQueue()
        self._begun: OpenAnswer | None = None  # whose anchors the pool has

    def outcomes(self, todo: Todo) -> Iterator[Outcome | None]:
        while todo or self._running:
            try:
                self._send_some(todo)
                outcome = self._take()
            except BrokenExecutor:
                yield from self._lose(todo)
                self.pool.revive()
                continue
            except ExecutorError:
                yield from self._lose(todo)
                raise
            yield outcome

    def _send_some(self, todo: Todo) -> None:
        workers = self.pool.workers
        while todo and len(self._running) < self.pace.window(workers):
            if todo[0][0].shards is not None:
                self._turn(todo)
            left = sum(_evaluations(tile) for _, tile in todo)
            size = self.pace.size(left, workers)
            if self.timeout is not None:
                size = max(1, min(size, int(TASK_SECONDS / self.timeout)))
            answer = todo[0][0]
            self._send(answer, _taken(todo, size))

    def _turn(self, todo: Todo) -> None:
        """Bring a tile of the part with the fewest tasks under way to the front."""
        busy = Counter(sent.answer.part(sent.tiles[0]) for sent in self._running.values())
        todo.rotate(-min(range(len(todo)), key=lambda at: busy[todo[at][0].part(todo[at][1])]))

    def _send(
        self, answer: OpenAnswer, tiles: list[Tile], attempt: int = 1, with_problem: bool = False
    ) -> None:
        if answer is not self._begun:
            self.pool.begin(answer.query.anchors)
            self._begun = answer
        task = WorkerTask.of(answer, tiles, self.sender, answer.token, self.timeout)
        ticket = self.pool.submit(task, with_problem, self._ended.put)
        self._running[ticket] = Sent(answer, tiles, time.perf_counter(), attempt)

    def _take(self) -> Outcome | None:
        """Return the next task that ends; None if none does for a while, or it has to be sent again."""
        try:
            ticket = self._ended.get(timeout=POLL_SECONDS)
        except queue.Empty:
            self.pool.check()
            return self._overdue()
        sent = self._running.get(ticket)
        if sent is None:
            return None
        try:
            found, vain = self.pool.result(ticket)
        except CancelledError:
            del self._running[ticket]
            return None
        except WorkerLost as loss:
            self._send_again(sent, loss)
            del self._running[ticket]
            return Outcome(sent.answer, [], recomputed=_cost(sent))
        del self._running[ticket]
        if found.unknown:
            self._send(sent.answer, sent.tiles, sent.attempt, with_problem=True)
            return None
        return self._outcome(sent, found, vain)

    def _overdue(self) -> Outcome | None:
        """Return a task that no worker has answered in the time that it and one before it may take, as a failure of its own."""
        if self.timeout is None:
            self._name_slow()
            return None
        for ticket, sent in list(self._running.items()):
            allowed = 2 * self.timeout * sum(map(_evaluations, sent.tiles)) + GRACE_SECONDS
            if time.perf_counter() - sent.when > allowed:
                del self._running[ticket]
                self.pool.cancel(ticket)
                reason = f"No worker has answered within {allowed:g} seconds; timeout={self.timeout:g} is for one evaluation."
                return Outcome(sent.answer, [], sent.tiles, EvaluationError(reason))
        return None

    def _name_slow(self) -> None:
        """Warn once of each task that lasts far longer than usual, as one that hangs does."""
        for sent in self._running.values():
            evaluations, seconds = sum(map(_evaluations, sent.tiles)), time.perf_counter() - sent.when
            usual = (self.pace.unit or math.inf) * evaluations
            if seconds > max(SLOW_SECONDS, SLOW_TIMES * usual) and sent not in self._slow:
                self._slow.append(sent)
                x = sent.answer.query.anchors[min(sent.tiles[0].start, len(sent.answer.query.anchors) - 1)]
                logger.warning(
                    "A worker has been busy for %.0f s with %d evaluation%s, which usually take %.2g s, near x = %s. "
                    "options={'timeout': …} gives an evaluation up that takes too long.",
                    seconds, evaluations, "s" * (evaluations != 1), usual, np.array2string(x, precision=4, threshold=8),
                )  # fmt: skip

    def _outcome(self, sent: Sent, found: Found, vain: int) -> Outcome:
        answer = sent.answer
        outputs = answer.query.each or 1
        parts = [
            TilePart(_done(tile, sums, outputs), sums)
            for tile, sums in zip(sent.tiles, found.sums, strict=False)
        ]
        units = sum(len(part.sums.values) // outputs if part.tile.stop else 1 for part in parts)
        self.pace.note(units, found.seconds, time.perf_counter() - sent.when)
        again, error = vain * _cost(sent) if vain else 0, found.error
        if error is None:
            return Outcome(answer, parts, recomputed=again, by=found.by)
        if answer.shards is not None:
            error = answer.shards.blame(answer.part(sent.tiles[0]), error)
        left = sent.tiles[len(parts) :]
        if parts and parts[-1].tile != sent.tiles[len(parts) - 1]:
            whole = sent.tiles[len(parts) - 1]
            left = [whole.cells(parts[-1].tile.stop, whole.stop), *left]
        return Outcome(answer, parts, left, error, again, found.by)

    def _send_again(self, sent: Sent, loss: WorkerLost) -> None:
        self.pool.check()
        if sent.attempt >= ATTEMPTS:
            raise ExecutorError(
                f"{ATTEMPTS} workers were lost over one task. If they run out of memory, take fewer evaluations at once; "
                "if the objective ends its process, fix it."
            ) from loss
        self._send(sent.answer, sent.tiles, sent.attempt + 1, with_problem=True)

    def _lose(self, todo: Todo) -> Iterator[Outcome]:
        """Everything under way is lost with the pool: it is to be done again, with what could not be sent."""
        lost = list(self._running.values())
        self._running.clear()
        answers = dict.fromkeys([*(sent.answer for sent in lost), *(answer for answer, _ in todo)])
        todo.clear()
        todo.extend(
            (answer, tile) for answer in answers or [self._begun] if answer for tile in answer.missing()
        )
        for sent in lost:
            yield Outcome(sent.answer, [], recomputed=_cost(sent))

    def cancel(self) -> None:
        for ticket in list(self._running):
            self.pool.cancel(ticket)

    def close(self) -> None:
        self.cancel()
        self.pool.close()


def _evaluations(tile: Tile) -> int:
    """What a tile counts for when work is shared out."""
    return tile.stop - tile.start or 1


def _cost(sent: Sent) -> int:
    return sum(map(sent.answer.cost, sent.tiles))


def _taken(todo: Todo, size: int) -> list[Tile]:
    """Take tiles of one answer, and one part of it, from the front of a list, for one task.

    Cells of the last tile that are too many stay in the list.
    """
    answer, first = todo.popleft()
    taken, part = [first], answer.part(first)
    while todo and sum(map(_evaluations, taken)) < size and todo[0][0] is answer:
        if answer.part(todo[0][1]) != part:
            break
        taken.append(todo.popleft()[1])
    over = sum(map(_evaluations, taken)) - size
    if over > 0 and taken[-1].stop:
        last = taken[-1]
        todo.appendleft((answer, last.cells(last.stop - over, last.stop)))
        taken[-1] = last.cells(last.start, last.stop - over)
    return taken


def _done(tile: Tile, sums: Sums, outputs: int) -> Tile:
    return tile.cells(tile.start, tile.start + len(sums.values) // outputs) if tile.stop else tile


ExecutorLike: TypeAlias = Executor | Callable[[], OwnExecutor] | Scatters


class FuturePool:
    """Any executor of :mod:`concurrent.futures`, or a function that makes one.

    The problem is sent with a task only when a worker has said that it does not know it. What the process itself has made
    known to its threads and forks is not sent at all.
    """

    def __init__(self, executor: Executor | Callable[[], OwnExecutor], problem: Problem, token: str) -> None:
        self._make: Callable[[], OwnExecutor] | None = None
        self._made: OwnExecutor | None = None
        if isinstance(executor, Executor) and not isinstance(executor, type):
            self._executor: Executor = executor
        else:
            self._make = executor
            self._executor = self._made = executor()
        self._problem, self._token = problem, token
        self._blob: bytes | None = None
        self._anchors: Array | None = None
        self._broken = 0
        tasks.register(token, problem)

    @property
    def workers(self) -> int:
        return int(getattr(self._executor, "_max_workers", None) or os.cpu_count() or 1)

    def begin(self, anchors: Array) -> None:
        self._anchors = anchors

    def submit(self, task: WorkerTask, with_problem: bool, done: Callable[[Ticket], None]) -> Ticket:
        if with_problem and self._blob is None:
            self._blob = extra("cloudpickle", "cluster").dumps(self._problem)
        future = self._executor.submit(tasks.work, task, self._anchors, self._blob if with_problem else None)
        future.add_done_callback(done)
        return future

    def result(self, future: Ticket) -> tuple[Found, int]:
        try:
            found: Found = future.result()
        except (BrokenExecutor, CancelledError):
            raise
        except (KeyboardInterrupt, SystemExit) as error:
            if error is not future.exception():
                raise
            raise WorkerLost from error  # Ctrl-C has reached the worker between two evaluations
        except Exception as error:
            raise ExecutorError(
                f"A worker could not do its task: {type(error).__name__}: {error}. Workers need the same zofw, and the "
                "modules that the problem uses."
            ) from error
        self._broken = 0
        return found, 0

    def cancel(self, future: Ticket) -> None:
        future.cancel()

    def check(self) -> None:
        """A pool of this kind says itself when it breaks."""

    def revive(self) -> None:
        self._broken += 1
        if self._make is None or self._broken > REVIVALS:
            raise ExecutorError(
                "A worker process died and took the pool with it. Continue with a new pool; or give workers= a function "
                f"that makes a pool, such as lambda: ProcessPoolExecutor({self.workers}), and it is called when one breaks"
                + (f" ({REVIVALS} have, without an answer from one)." if self._make is not None else ".")
            )
        if self._made is not None:
            self._made.shutdown(wait=False)
        self._executor = self._made = self._make()

    def close(self) -> None:
        tasks.forget(self._token)
        if self._made is not None:
            self._made.shutdown()


def as_engine(executor: ExecutorLike, problem: Problem, timeout: float | None) -> Workers:
    """Workers behind a dask client, a ``concurrent.futures`` executor, or a function that makes one."""
    token = uuid.uuid4().hex
    if isinstance(executor, Scatters) and not isinstance(executor, type):
        from zofw.run.workers.dask import ClientPool

        return Workers(ClientPool(executor, problem, token), token, timeout)
    return Workers(FuturePool(executor, problem, token), token, timeout)
