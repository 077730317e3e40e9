"""What travels between a run and its workers, and what a worker does with it.

Directions travel as their law and key and are drawn again where they are used; a batch travels as the part of it that is
needed; the problem travels once to each worker, which keeps it under a token. A task thus costs the anchors and a few
hundred bytes, whatever the number of directions.
"""

from __future__ import annotations

import dataclasses
import multiprocessing
import os
import threading
import time
from dataclasses import dataclass, replace
from multiprocessing.process import BaseProcess as ParentProcess
from typing import TypeVar

from zofw.core import (
    Array,
    Batch,
    Directions,
    EvaluationError,
    Operator,
    Problem,
    Query,
    Tile,
)  # fmt: skip
from zofw.extras import extra
from zofw.problems.abilities import Sums, abilities
from zofw.run.answering.engine import Here
from zofw.run.answering.open_answer import OpenAnswer
from zofw.run.answering.policy import blamed

T = TypeVar("T")

WATCH_SECONDS = 1.0  # between two looks whether the run is alive
KEPT = 4  # problems, and directions, that a worker remembers

_problems: dict[str, Problem] = {}
_directions: dict[str, Directions | None] = {}
_watched: list[threading.Thread] = []  # the one that looks whether the run is alive
_settled: Sender | None = None  # the run whose number of threads this process has taken over


@dataclass(frozen=True)
class Sender:
    """Who sends tasks: the token of its problem, its process, and how many threads its linear algebra uses.

    Products of dense matrices depend, in their last bits, on that number; workers take it over.
    """

    problem: str
    process: int
    threads: int | None

    @classmethod
    def here(cls, problem: str) -> Sender:
        try:
            import threadpoolctl
        except ImportError:
            return cls(problem, os.getpid(), None)
        counts = [
            library["num_threads"]
            for library in threadpoolctl.threadpool_info()
            if library["user_api"] == "blas"
        ]
        return cls(problem, os.getpid(), max(counts, default=None))


@dataclass(frozen=True, eq=False)
class WorkerTask:
    """Tiles of a query, on their way to a worker, with the query but for its anchors."""

    problem: str  # token under which a worker knows it
    token: str  # of the query, for what can be drawn once and used by several tasks
    query: Query  # for the part of the batch that the tiles need
    tiles: list[Tile]
    timeout: float | None
    sender: Sender
    part: int | None = None  # of a problem in parts, to which the batch and the tiles then refer

    @classmethod
    def of(
        cls, answer: OpenAnswer, tiles: list[Tile], sender: Sender, token: str, timeout: float | None
    ) -> WorkerTask:
        """Return the task of tiles, which are of one part if the problem has several."""
        asked, part = answer.query, None
        if answer.shards is not None:
            part = answer.part(tiles[0])
            asked, tiles = answer.shards.local(asked, part, tiles)
        batch = asked.batch
        if batch.indices is not None and not asked.paired:
            top, bottom = min(tile.top for tile in tiles), max(tile.bottom for tile in tiles)
            batch = Batch(batch.n, batch.indices[top:bottom])
            tiles = [tile._replace(top=tile.top - top, bottom=tile.bottom - top) for tile in tiles]
        query = replace(asked, anchors=asked.anchors[:0], batch=batch, directions=fresh(asked.directions))
        return cls(sender.problem, token, query, tiles, timeout, sender, part)

    def open(self, anchors: Array) -> Query:
        """Return the query on the other side."""
        directions = _remember(_directions, self.token, self.query.directions)
        return replace(self.query, anchors=anchors, directions=directions)


@dataclass(frozen=True, eq=False)
class Found:
    """What a worker sends back: sums of tiles in their order, the error of the one that ended them, and its seconds."""

    sums: list[Sums]
    error: EvaluationError | None = None
    seconds: float = 0.0
    unknown: bool = False  # the worker does not know the problem, and has done nothing
    by: str = ""  # a worker


def work(task: WorkerTask, anchors: Array, blob: bytes | None = None) -> Found:
    """Return a task on a worker that keeps problems by their token."""
    if task.problem not in _problems:
        if blob is None:
            return Found([], unknown=True)
        _remember(_problems, task.problem, extra("cloudpickle", "cluster").loads(blob))
    problem = _problems[task.problem]
    parts = abilities(problem).parts
    return work_on(problem if parts is None or task.part is None else parts.part(task.part), task, anchors)


def work_on(problem: Problem, task: WorkerTask, anchors: Array) -> Found:
    """Return a task on a worker that has the problem."""
    began = time.perf_counter()
    sums: list[Sums] = []
    error: EvaluationError | None = None
    try:
        _settle(task.sender)
        query, engine = task.open(anchors), Here(problem, task.timeout)
        for tile in task.tiles:
            found, error = engine.evaluate(query, tile)
            if found is not None:
                sums.append(found)
            if error is not None:
                break
    except (
        KeyboardInterrupt
    ) as interrupt:  # between two evaluations; behind the last one nothing is left to stop
        if len(sums) < len(task.tiles):
            error = blamed(interrupt)
    own = os.getpid() != task.sender.process
    by = f"process {os.getpid()}" if own else threading.current_thread().name
    return Found(sums, error, time.perf_counter() - began, by=by)


def register(token: str, problem: Problem) -> None:
    """Make a problem known in this process, to its threads and to the processes it forks."""
    _problems[token] = problem


def forget(token: str) -> None:
    _problems.pop(token, None)


def fresh(part: T) -> T:
    """Return a copy of implicit directions without what they have computed so far."""
    if isinstance(part, type) or not (isinstance(part, Operator) and dataclasses.is_dataclass(part)):
        return part
    fields = {field.name: fresh(vars(part)[field.name]) for field in dataclasses.fields(part)}
    return replace(part, **fields)


def _remember(shelf: dict[str, T], token: str, thing: T) -> T:
    """Return the thing under a token, put there if it is new; the oldest of too many is given up."""
    if token not in shelf:
        for old in list(shelf)[: max(0, len(shelf) + 1 - KEPT)]:
            shelf.pop(old, None)
        shelf[token] = thing
    return shelf.get(token, thing)


def _outlive(parent: ParentProcess) -> None:
    """End this worker once the process of the run has died, which cannot tell it any more."""
    while parent.is_alive():
        parent.join(WATCH_SECONDS)
    os._exit(1)


def _settle(sender: Sender) -> None:
    """In a process of its own, one thread for what does not depend on threads, and the sender's number for the rest."""
    global _settled
    if sender in (_settled, Sender(sender.problem, os.getpid(), sender.threads)):
        return
    _settled = sender
    parent = multiprocessing.parent_process()
    if parent is not None and parent.pid == sender.process and not _watched:
        _watched.append(threading.Thread(target=_outlive, args=(parent,), daemon=True, name="zofw-parent"))
        _watched[0].start()
    os.environ.setdefault("ZOFW_THREADS", "1")
    if sender.threads is not None:
        extra("threadpoolctl", "cluster").threadpool_limits(sender.threads, user_api="blas")
