"""The requests of one query: its single evaluations in blocks, and what the run's events say of them."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from typing import TypeAlias

import numpy as np

from zofw.core import Answer, Array, Batch, Indices, Query, Tile
from zofw.desk.request import Request
from zofw.differences import LARGEST, STEEPEST
from zofw.problems.abilities import Sums, abilities
from zofw.problems.evaluate import TilePart, single_evaluations
from zofw.run.answering.open_answer import OpenAnswer
from zofw.run.record.run import Pending
from zofw.run.session.events import Failed, Part

TOGETHER = 1 << 20  # coordinates of points unfolded at a time: 8 MB

Evaluations: TypeAlias = list[tuple[Array, int]]


class Elsewhere:
    """Stands where a problem stands: one whose evaluations are made one by one, elsewhere."""

    cellwise, n, dim = True, 1, 1

    def values(self, points: Array, components: Indices) -> Array:
        raise NotImplementedError("A desk evaluates nothing itself.")

    def one(self, x: Array, component: int) -> float:
        raise NotImplementedError("A desk evaluates nothing itself.")


ELSEWHERE = abilities(Elsewhere())


class Round:
    """A view of one query: which of its evaluations are wanted, in which requests.

    Evaluations are numbered. Block k has the numbers k·size, …, (k + 1)·size − 1 and is one request; evaluations that failed
    leave it for a further request of the same block. What is known and what failed is read from the events of the run.

    Parameters
    ----------
    query
        What is asked.
    number, run
        Which query of which run it is.
    size
        Evaluations in a request.
    label
        The name of its requests, if they have one already.
    """

    def __init__(self, query: Query, number: int, run: str, size: int, label: str | None = None) -> None:
        self.query, self.number, self.run, self.size = query, number, run, size
        self.label = label or f"{number:06d}-{fingerprint(query)}"
        self.closed = False
        self._whole = OpenAnswer(ELSEWHERE, query)
        self._window = max(1, TOGETHER // query.anchors.shape[1])
        self._nearby: tuple[int, Evaluations] = -1, []
        self.values: Array = np.full(self._whole.units, np.nan)
        self.wanted = np.ones(self._whole.units, dtype=bool)
        self._again: dict[int, list[Indices]] = {}  # block → numbers in each of its further requests
        self._asker = np.zeros(
            self._whole.units, dtype=np.int64
        )  # which request of its block asks for a number
        self._built: dict[tuple[int, int], Request] = {}

    @classmethod
    def of_rows(cls, owed: Sequence[Pending], run: str, size: int, label: str | None) -> Round:
        """Return the round of an earlier query of which only these rows are still to come."""
        last = max(owed, key=lambda one: one.row)
        points = np.zeros((last.row + 1, len(last.x)))
        points[[one.row for one in owed]] = [one.x for one in owed]
        return cls(Query(points, Batch(1), purpose=last.purpose), last.query, run, size, label)

    def __len__(self) -> int:
        return len(self.values)

    @property
    def complete(self) -> bool:
        return self._whole.complete

    @property
    def largest(self) -> float:
        """A value this large in modulus still gives slopes, and variances of them, that methods can work with."""
        return min(LARGEST, STEEPEST * self.query.radius / 4) if self.query.count else LARGEST

    def answer(self) -> Answer:
        """Return all evaluations together."""
        return self._whole.answer()

    # ------------------------------------------------------------------ asking

    def open(self) -> Iterator[Request]:
        """Yield the requests that still want something, in their order."""
        for block in self.blocks(self.wanted):
            for attempt in range(self.attempts(block)):
                if len(self.left(block, attempt)):
                    yield self.request(block, attempt)

    def blocks(self, which: Array) -> list[int]:
        """Return the blocks that have any of the evaluations."""
        found: list[int] = np.unique(np.flatnonzero(which) // self.size).tolist()
        return found

    def attempts(self, block: int) -> int:
        """Return how many requests of a block there have been; none for a block that there is not."""
        exists = 0 <= block < -(-len(self) // self.size)
        return 1 + len(self._again.get(block, [])) if exists else 0

    def numbers(self, block: int, attempt: int) -> Indices:
        """Return the evaluations in a request, in its order."""
        if attempt:
            return self._again[block][attempt - 1]
        return np.arange(block * self.size, min(len(self), (block + 1) * self.size), dtype=np.int64)

    def left(self, block: int, attempt: int) -> Indices:
        """Return the evaluations of a request that are wanted, and that no later request asks for."""
        numbers = self.numbers(block, attempt)
        return np.extract(self.wanted[numbers] & (self._asker[numbers] == attempt), numbers)

    def known(self, block: int, attempt: int) -> list[float | None]:
        """Return the values of a request, None for those that are not known."""
        values = self.values[self.numbers(block, attempt)].tolist()
        return [None if value != value else value for value in values]

    def request(self, block: int, attempt: int) -> Request:
        """Return the request, its points regenerated from the query."""
        key = (block, attempt)
        if key not in self._built:
            points: dict[bytes, int] = {}
            rows: list[Array] = []
            point: list[int] = []
            component: list[int] = []
            for x, i in self._look(self.numbers(block, attempt)):
                place = points.setdefault(x.tobytes(), len(points))
                if place == len(rows):
                    rows.append(x)
                point.append(place)
                component.append(i)
            table = np.array(rows)
            table.setflags(write=False)
            id = f"{self.label}-{block:04d}" + (f"-{attempt + 1}" if attempt else "")
            asked = (np.array(one, dtype=np.int64) for one in (point, component))
            self._built[key] = Request(id, self.run, self.query.purpose.value, table, *asked)
        return self._built[key]

    def _look(self, numbers: Indices) -> Iterator[tuple[Array, int]]:
        """Yield point and component of each evaluation; those around it are at hand for the next request."""
        for number in numbers.tolist():
            start = number - number % self._window
            if self._nearby[0] != start:
                tiles = self._whole.cut(start, start + self._window)
                self._nearby = start, [one for tile in tiles for one in single_evaluations(self.query, tile)]
            yield self._nearby[1][number - start]

    # ------------------------------------------------------------------ events

    def portions(self, numbers: Indices, values: Array, by: str) -> Iterator[Part]:
        """Yield values as events, one for evaluations that follow each other in a tile."""
        order = np.argsort(numbers)
        numbers, values = numbers[order], values[order]
        for place in np.split(np.arange(len(numbers)), np.flatnonzero(np.diff(numbers) != 1) + 1):
            told = values[place]
            for tile in self._whole.cut(int(numbers[place[0]]), int(numbers[place[-1]]) + 1):
                count = tile.stop - tile.start
                yield Part(self.number, tile, told[:count], by=by)
                told = told[count:]

    def places(self, numbers: Indices) -> tuple[Tile, ...]:
        """Return each evaluation as a tile of one cell."""
        return tuple(tile for number in numbers.tolist() for tile in self._whole.cut(number, number + 1))

    def see(self, event: Part | Failed) -> list[int]:
        """Take note of an event about this query; return the blocks that are answered with it."""
        if isinstance(event, Part):
            start = self._whole.number(event.tile)
            place = slice(start, start + len(event.values))
            self._whole.fill(TilePart(event.tile, Sums(event.values)))
            self.values[place], self.wanted[place] = event.values, False
            blocks = range(start // self.size, (place.stop - 1) // self.size + 1)
            return [block for block in blocks if not self.wanted[self.numbers(block, 0)].any()]
        if event.tiles:  # evaluations of one block go into a further request
            failed = np.array([self._whole.number(tile) for tile in event.tiles], dtype=np.int64)
            block = int(failed[0]) // self.size
            self._again.setdefault(block, []).append(failed)
            self._asker[failed] = self.attempts(block) - 1
        return []

    def owe(self, rows: Sequence[int]) -> None:
        """Want only these rows; the query was answered without them."""
        self.wanted[:] = False
        self.wanted[rows] = True

    def forget(self, block: int) -> None:
        """Drop the points of which no request is left."""
        for attempt in range(self.attempts(block)):
            self._built.pop((block, attempt), None)

    def rest(self) -> None:
        """Let go of all points: the query is closed."""
        self.closed, self.wanted[:] = True, False
        self._built.clear()
        self._nearby = -1, []


def fingerprint(query: Query) -> str:
    """Return four letters that tell a query from another of its number: one that was withdrawn, or of another run."""
    U, indices = query.directions, query.batch.indices
    digest = hashlib.blake2b(repr((query.stencil, query.radius, query.count, query.purpose)).encode())
    digest.update(np.ascontiguousarray(query.anchors).tobytes())
    digest.update(b"" if U is None else np.ascontiguousarray(U.columns(0, 1)).tobytes())
    digest.update(b"" if indices is None else indices.astype("<i8").tobytes())
    return digest.hexdigest()[:4]
