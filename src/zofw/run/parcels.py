"""What travels between a run and its workers, and what a worker does with it.

Directions travel as their law and key and are drawn again where they are used; a batch travels as the part of it that is
needed; the problem travels once to each worker, which keeps it under a token. A task thus costs the anchors and a few
hundred bytes, whatever the number of directions.
"""

from __future__ import annotations

import dataclasses
import os
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from zofw.core import Array, Batch, Directions, EvaluationError, Indices, Operator, Query, Stencil, Tile
from zofw.extras import extra
from zofw.run.sheet import Sheet, Span, Unit, evaluate_units

KEPT = 4  # problems, and directions, that a worker remembers

_problems: dict[str, Any] = {}
_directions: dict[str, Any] = {}
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
class Parcel:
    """One task: a query without its anchors, and spans of its units."""

    problem: str  # token under which a worker knows it
    query: str  # token of the query, for what can be drawn once and used by several tasks
    n: int
    indices: Indices | None
    directions: Directions | None
    radius: float
    stencil: Stencil
    variance: bool
    paired: bool
    spans: Indices  # (spans, 6)
    timeout: float | None
    sender: Sender
    part: int | None = None  # of a problem in parts, to which the batch and the spans then refer

    @classmethod
    def of(
        cls, sheet: Sheet, start: int, stop: int, sender: Sender, query: str, timeout: float | None
    ) -> Parcel:
        """Units start, …, stop − 1 of a query, of one part where the problem has several."""
        asked, spans, part = sheet.query, sheet.spans(start, stop), None
        if sheet.shards is not None:
            part = sheet.part(start)
            asked, own = sheet.shards.local(asked, part, [span.tile for span in spans])
            spans = [Span(tile) for tile in own]
        table = np.array([(*s.tile, s.start, s.stop) for s in spans], dtype=np.int64)
        indices = asked.batch.indices
        if indices is not None and not asked.paired:
            top, bottom = int(table[:, 2].min()), int(table[:, 3].max())
            indices = indices[top:bottom]
            table[:, 2:4] -= top
        return cls(
            sender.problem,
            query,
            asked.batch.n,
            indices,
            fresh(asked.directions),
            asked.radius,
            asked.stencil,
            asked.variance,
            asked.paired,
            table,
            timeout,
            sender,
            part,
        )

    def open(self, anchors: Array) -> tuple[Query, list[Span]]:
        """The query and the spans on the other side."""
        directions = _remember(_directions, self.query, self.directions)
        query = Query(
            anchors,
            Batch(self.n, self.indices),
            directions,
            self.radius,
            self.stencil,
            variance=self.variance,
            paired=self.paired,
        )
        return query, [Span(Tile(*row[:4]), row[4], row[5]) for row in self.spans.tolist()]


@dataclass(frozen=True, eq=False)
class Found:
    """What a worker sends back: units in their order, the error of the one behind them, and its own seconds."""

    units: Sequence[Unit]
    error: EvaluationError | None = None
    seconds: float = 0.0
    unknown: bool = False  # the worker does not know the problem, and has done nothing


def work(parcel: Parcel, anchors: Array, blob: bytes | None = None) -> Found:
    """A task on a worker that keeps problems by their token."""
    if parcel.problem not in _problems:
        if blob is None:
            return Found([], unknown=True)
        _remember(_problems, parcel.problem, extra("cloudpickle", "cluster").loads(blob))
    problem = _problems[parcel.problem]
    return work_on(problem if parcel.part is None else problem.part(parcel.part), parcel, anchors)


def work_on(problem: Any, parcel: Parcel, anchors: Array) -> Found:
    """A task on a worker that has been handed the problem."""
    _settle(parcel.sender)
    began = time.perf_counter()
    query, spans = parcel.open(anchors)
    units: list[Unit] = []
    error = None
    try:
        units.extend(evaluate_units(problem, query, spans, parcel.timeout))
    except EvaluationError as caught:
        error = caught
    return Found(units, error, time.perf_counter() - began)


def register(token: str, problem: Any) -> None:
    """Make a problem known in this process, to its threads and to the processes it forks."""
    _problems[token] = problem


def forget(token: str) -> None:
    _problems.pop(token, None)


def fresh(directions: Any) -> Any:
    """A copy of implicit directions without what they have computed so far."""
    if not (isinstance(directions, Operator) and dataclasses.is_dataclass(directions)):
        return directions
    parts = {field.name: fresh(getattr(directions, field.name)) for field in dataclasses.fields(directions)}
    return dataclasses.replace(directions, **parts)


def _remember(shelf: dict[str, Any], token: str, thing: Any) -> Any:
    """The thing under a token, put there if it is new; the oldest of too many is given up."""
    if token not in shelf:
        for old in list(shelf)[: max(0, len(shelf) + 1 - KEPT)]:
            shelf.pop(old, None)
        shelf[token] = thing
    return shelf.get(token, thing)


def _settle(sender: Sender) -> None:
    """In a process of its own, one thread for what does not depend on threads, and the sender's number for the rest."""
    global _settled
    if sender in (_settled, Sender(sender.problem, os.getpid(), sender.threads)):
        return
    _settled = sender
    os.environ.setdefault("ZOFW_THREADS", "1")
    if sender.threads is not None:
        extra("threadpoolctl", "cluster").threadpool_limits(sender.threads, user_api="blas")
