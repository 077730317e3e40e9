"""One query unfolded into single evaluations, asked for in requests and answered in any order."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from zofw.core import Answer, Array, Batch, Indices, Query, Tile, blocks
from zofw.desk.request import Request
from zofw.differences import LARGEST, STEEPEST
from zofw.problems.abilities import Sums, abilities
from zofw.problems.evaluate import TilePart, single_evaluations
from zofw.run.answering.open_answer import OpenAnswer
from zofw.run.record.run import Pending, Run

TOGETHER = 1 << 20  # coordinates of points unfolded at a time: 8 MB

Evaluations = list[tuple[Array, int]]


class Elsewhere:
    """Stands where a problem stands: one whose evaluations are made one by one, elsewhere."""

    cellwise, n, dim = True, 1, 1

    def values(self, points: Array, components: Indices) -> Array:
        raise NotImplementedError("A desk evaluates nothing itself.")

    def one(self, x: Array, component: int) -> float:
        raise NotImplementedError("A desk evaluates nothing itself.")


ELSEWHERE = abilities(Elsewhere())


class Round:
    """The requests of one query.

    An evaluation that is asked for has a number; where ``merge`` is set, one that the query repeats has the number of its
    first occurrence. Block k holds numbers k·size, …, (k + 1)·size − 1 and is one request; evaluations that failed leave it
    for a further request of the same block.

    Parameters
    ----------
    query
        What is asked.
    number, run
        Which query of which run it is.
    size
        Evaluations in a request.
    merge
        Whether equal evaluations of a query are asked for once.
    """

    def __init__(self, query: Query, number: int, run: str, size: int, merge: bool) -> None:
        self.query, self.number, self.run, self.size = query, number, run, size
        self.label = f"{number:06d}-{fingerprint(query)}"
        self.whole = OpenAnswer(ELSEWHERE, query)
        self._window = max(1, TOGETHER // query.anchors.shape[1])
        self._nearby: tuple[int, Evaluations] = -1, []
        self.twins = self._find_twins() if merge else None  # number → units
        count = self.whole.units if self.twins is None else len(self.twins)
        self.values: Array = np.zeros(count)
        self.known: NDArray[np.bool_] = np.zeros(count, dtype=bool)
        self._again: dict[int, list[Indices]] = {}  # block → numbers in each of its further requests
        self._asker: dict[
            int, int
        ] = {}  # number → which request of its block asks for it, where not the first
        self._built: dict[tuple[int, int], Request] = {}

    @classmethod
    def of_rows(cls, owed: Sequence[Pending], run: str, size: int, label: str | None) -> Round:
        """Return the round of an earlier query of which only these rows are still to come."""
        points = np.zeros((owed[-1].row + 1, len(owed[0].x)))
        wanted = [one.row for one in owed]
        points[wanted] = [one.x for one in owed]
        round = cls(Query(points, Batch(1), purpose=owed[0].purpose), owed[0].query, run, size, False)
        round.label = label or round.label
        round.values[:], round.known[:] = np.nan, True
        round.known[wanted] = False
        return round

    def has(self, number: int) -> bool:
        """Return True if the value of an evaluation is known here."""
        return bool(self.known[number]) and not math.isnan(self.values[number])

    def __len__(self) -> int:
        return len(self.values)

    @property
    def complete(self) -> bool:
        return self.whole.complete

    @property
    def largest(self) -> float:
        """A value this large in modulus still gives slopes, and variances of them, that methods can work with."""
        return min(LARGEST, STEEPEST * self.query.radius / 4) if self.query.count else LARGEST

    def answer(self) -> Answer:
        """All evaluations together."""
        return self.whole.answer()

    # ------------------------------------------------------------------ asking

    def open(self, most: int | None = None) -> Iterator[Request]:
        """Requests that still want something, in their order; at most so many."""
        unfinished = np.unique(np.flatnonzero(~self.known) // self.size)
        given = 0
        for block in unfinished.tolist():
            for attempt in range(self.attempts(block)):
                if most is not None and given >= most:
                    return
                if len(self.wanted(block, attempt)):
                    given += 1
                    yield self.request(block, attempt)

    def attempts(self, block: int) -> int:
        """How many requests of a block there have been; none for a block that there is not."""
        exists = 0 <= block < -(-len(self) // self.size)
        return 1 + len(self._again.get(block, [])) if exists else 0

    def numbers(self, block: int, attempt: int) -> Indices:
        """Evaluations in a request, in its order."""
        if attempt:
            return self._again[block][attempt - 1]
        return np.arange(block * self.size, min(len(self), (block + 1) * self.size), dtype=np.int64)

    def wanted(self, block: int, attempt: int) -> Indices:
        """Those that are not known, and that no later request asks for."""
        numbers = self.numbers(block, attempt)
        mine = [j for j in numbers.tolist() if not self.known[j] and self._asker.get(j, 0) == attempt]
        return np.array(mine, dtype=np.int64)

    def request(self, block: int, attempt: int) -> Request:
        """The request, its points regenerated from the query."""
        key = (block, attempt)
        if key not in self._built:
            again = f"-{attempt + 1}" if attempt else ""
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
            self._built[key] = Request(
                f"{self.label}-{block:04d}{again}",
                self.run,
                self.query.purpose.value,
                table,
                np.array(point, dtype=np.int64),
                np.array(component, dtype=np.int64),
            )
        return self._built[key]

    def _look(self, numbers: Indices) -> Iterator[tuple[Array, int]]:
        """Point and component of each evaluation; those around it are at hand for the next request."""
        for unit in numbers.tolist() if self.twins is None else [self.twins[j][0] for j in numbers.tolist()]:
            start = unit - unit % self._window
            if self._nearby[0] != start:
                self._nearby = start, self._unfold(start, min(start + self._window, self.whole.units))
            yield self._nearby[1][unit - start]

    def _unfold(self, start: int, stop: int) -> Evaluations:
        return [one for tile in self.whole.cut(start, stop) for one in single_evaluations(self.query, tile)]

    def _find_twins(self) -> list[list[int]]:
        first: dict[tuple[bytes, int], int] = {}
        twins: list[list[int]] = []
        for start, stop in blocks(self.whole.units, self._window):
            for unit, (x, i) in enumerate(self._unfold(start, stop), start):
                place = first.setdefault((hashlib.blake2b(x.tobytes()).digest(), i), len(twins))
                if place == len(twins):
                    twins.append([])
                twins[place].append(unit)
        return twins

    # ------------------------------------------------------------------ answers

    def portions(self, numbers: Indices, values: Array) -> Iterator[TilePart]:
        """Values of ascending numbers as parts of the answer."""
        units, known = numbers, values
        if self.twins is not None:
            each = [self.twins[j] for j in numbers.tolist()]
            units = np.array([unit for twins in each for unit in twins], dtype=np.int64)
            known = np.repeat(values, [len(twins) for twins in each])
            order = np.argsort(units)
            units, known = units[order], known[order]
        for run in consecutive(units):
            told = known[np.searchsorted(units, run)]
            for tile in self.whole.cut(int(run[0]), int(run[-1]) + 1):
                count = tile.stop - tile.start
                yield TilePart(tile, Sums(told[:count]))
                told = told[count:]

    def fill(self, numbers: Indices, values: Array) -> None:
        """Enter values that were not known."""
        for part in self.portions(numbers, values):
            self.whole.fill(part)
        self.values[numbers], self.known[numbers] = values, True

    def refill(self, told: dict[int, float]) -> None:
        """Enter what a journal says of units; of twins it may have the first alone."""
        if self.twins is None:
            numbers = sorted(told)
            values = [told[j] for j in numbers]
        else:
            numbers = [j for j, units in enumerate(self.twins) if units[0] in told]
            values = [told[self.twins[j][0]] for j in numbers]
        self.fill(np.array(numbers, dtype=np.int64), np.array(values))

    def places(self, numbers: Indices) -> list[Tile]:
        """Return the first unit of each evaluation as a tile of one cell."""
        units = numbers.tolist() if self.twins is None else [self.twins[j][0] for j in numbers.tolist()]
        return [tile for unit in units for tile in self.whole.cut(unit, unit + 1)]

    def numbers_of(self, tiles: Iterable[Tile]) -> Indices:
        """Return the evaluations whose first units are these cells."""
        units = [self.whole.number(tile) for tile in tiles]
        if self.twins is not None:
            first = {twins[0]: j for j, twins in enumerate(self.twins)}
            units = [first[unit] for unit in units]
        return np.array(units, dtype=np.int64)

    def ask_again(self, numbers: Indices) -> None:
        """Evaluations of one block that failed go into a further request."""
        block = int(numbers[0]) // self.size
        self._again.setdefault(block, []).append(numbers)
        self._asker |= dict.fromkeys(numbers.tolist(), self.attempts(block) - 1)

    def forget(self, block: int) -> None:
        """Drop the points of which no request is left."""
        for attempt in range(self.attempts(block)):
            self._built.pop((block, attempt), None)

    def rest(self) -> None:
        """Let go of all points: the query is closed."""
        self._built.clear()
        self._nearby = -1, []


def owed_rounds(run: Run, size: int, label: Callable[[int], str | None]) -> list[Round]:
    """Return the rounds of earlier queries that are still owed values, under the names that they had."""
    if run.each > 1:
        raise ValueError(
            f"A desk exchanges one number for an evaluation, and outputs={run.each} was given. "
            f"Begin the session with n={run.each} and outputs=1, or answer Session.ask()."
        )
    numbers = sorted({one.query for one in run.pending})
    owed = [[one for one in run.pending if one.query == number] for number in numbers]
    rows = [sorted(one, key=lambda row: row.row) for one in owed]
    return [Round.of_rows(one, run.identity, size, label(k)) for k, one in zip(numbers, rows, strict=True)]


def check_counts(**counts: int) -> None:
    """Whole numbers of at least one."""
    for name, count in counts.items():
        if isinstance(count, bool) or not isinstance(count, int) or count < 1:
            raise ValueError(f"{name} should be a whole number of at least 1; got {count!r}.")


def fingerprint(query: Query) -> str:
    """Four letters that tell a query from another of its number: one that was withdrawn, or of another run."""
    U, indices = query.directions, query.batch.indices
    digest = hashlib.blake2b(repr((query.stencil, query.radius, query.count, query.purpose)).encode())
    digest.update(np.ascontiguousarray(query.anchors).tobytes())
    digest.update(b"" if U is None else np.ascontiguousarray(U.columns(0, 1)).tobytes())
    digest.update(b"" if indices is None else indices.astype("<i8").tobytes())
    return digest.hexdigest()[:4]


def consecutive(units: Indices) -> list[Indices]:
    """Ascending units in runs without gaps."""
    return [run for run in np.split(units, np.flatnonzero(np.diff(units) != 1) + 1) if len(run)]
