"""The answer to one query, filled in piece by piece.

A unit is the smallest piece that is evaluated, sent, repeated or written down by itself: one evaluation f_i(x) where the
problem is asked for them one by one, otherwise one tile. Units are numbered through the whole query; what they add up to
does not depend on the order in which they come, nor on how they are grouped.
"""

from __future__ import annotations

import bisect
import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from zofw.core import Answer, Array, Query, Tile
from zofw.differences import LARGEST
from zofw.problems.evaluate import TILE_VALUES, Sums, assemble, checked, reduce_table, tile_sums, tiles
from zofw.problems.sharded import Sharded
from zofw.run.codec import FileError
from zofw.run.policy import guarded

Unit = float | Sums


@dataclass(frozen=True)
class Span:
    """Cells [start, stop) of a tile's table of values, in the order anchor, point, component; or the tile's sums."""

    tile: Tile
    start: int = 0
    stop: int = 0

    @property
    def whole(self) -> bool:
        return self.stop == 0


def table_shape(query: Query, tile: Tile) -> tuple[int, int, int]:
    """Anchors, points and components of a tile; a paired one has a single component for each point."""
    components = 1 if query.paired else tile.bottom - tile.top
    return len(query.anchors), len(query.tile_columns(tile)), components


class Sheet:
    """Which units of a query are known, and their values."""

    def __init__(self, problem: Any, query: Query) -> None:
        self.query = query
        self.tiles = tiles(problem, query)
        self.cellwise = bool(getattr(problem, "cellwise", False))
        self.paid = 0  # evaluations in the units that are known
        self._costs = [math.prod(table_shape(query, tile)) for tile in self.tiles]
        self._ends = list(itertools.accumulate(self._costs if self.cellwise else [1] * len(self.tiles)))
        self.shards = problem if isinstance(problem, Sharded) else None
        self._tables: dict[int, tuple[Array, NDArray[np.bool_]]] = {}
        self._sums: dict[int, Sums] = {}

    @property
    def units(self) -> int:
        return self._ends[-1]

    @property
    def complete(self) -> bool:
        return len(self._sums) == len(self.tiles)

    def cost(self, start: int, stop: int) -> int:
        """Evaluations in units start, …, stop − 1."""
        return stop - start if self.cellwise else sum(self._costs[start:stop])

    def missing(self) -> list[tuple[int, int]]:
        """Ranges of units that are not known."""
        gaps: list[tuple[int, int]] = []
        for number, end in enumerate(self._ends):
            begin = self._ends[number - 1] if number else 0
            if number in self._sums:
                continue
            known = self._tables[number][1] if number in self._tables else np.zeros(end - begin, dtype=bool)
            edges = np.flatnonzero(np.diff(np.concatenate([[True], known, [True]]).astype(np.int8)))
            for start, stop in edges.reshape(-1, 2).tolist():
                if gaps and gaps[-1][1] == begin + start:
                    gaps[-1] = gaps[-1][0], begin + stop
                else:
                    gaps.append((begin + start, begin + stop))
        return gaps

    def part(self, unit: int) -> int:
        """The part that owns a unit, where the problem is in parts."""
        return 0 if self.shards is None else self.shards.owner(self.query, self.tiles[unit])

    def by_part(self, start: int, stop: int) -> list[tuple[int, int]]:
        """Units start, …, stop − 1 in ranges that each belong to one part."""
        if self.shards is None:
            return [(start, stop)]
        groups = itertools.groupby(range(start, stop), self.part)
        return [(units[0], units[-1] + 1) for units in (list(group) for _, group in groups)]

    def spans(self, start: int, stop: int) -> list[Span]:
        """Units start, …, stop − 1, tile by tile."""
        if not self.cellwise:
            return [Span(tile) for tile in self.tiles[start:stop]]
        return [Span(self.tiles[number], first, last) for number, first, last in self._cut(start, stop)]

    def _cut(self, start: int, stop: int) -> Iterator[tuple[int, int, int]]:
        while start < stop:
            number = bisect.bisect_right(self._ends, start)
            begin = self._ends[number - 1] if number else 0
            last = min(stop, self._ends[number])
            yield number, start - begin, last - begin
            start = last

    def fill(self, start: int, found: Sequence[Unit]) -> None:
        """Enter what units start, start + 1, … came to; of a unit that comes twice the first value counts."""
        if not self.cellwise:
            for number, sums in enumerate(found, start):
                if number not in self._sums and isinstance(sums, Sums):
                    self._sums[number] = sums
                    self.paid += self._costs[number]
            return
        numbers = np.asarray(found, dtype=float)
        for number, first, last in self._cut(start, start + len(numbers)):
            if number not in self._sums:
                self._fill_cells(number, first, numbers[: last - first])
            numbers = numbers[last - first :]

    def restore(self, start: int, found: Sequence[Unit]) -> None:
        """Enter what a journal has of this query, or say that it is not of this query."""
        fits = start >= 0 and start + len(found) <= self.units
        for number, unit in enumerate(found, start):
            fits = fits and isinstance(unit, Sums) != self.cellwise
            if fits and isinstance(unit, Sums):
                tile = self.tiles[number]
                fits = unit.values.shape == table_shape(self.query, tile)[:2]
                fits &= (unit.squares is not None) == self.query.variance
        if not fits:
            raise FileError(
                f"The journal has {len(found)} parts of an answer from number {start} on, which the open query does not have. "
                "Is this the problem that the run was begun with?"
            )
        self.fill(start, found)

    def _fill_cells(self, number: int, first: int, values: Array) -> None:
        size = self._costs[number]
        if number not in self._tables:
            self._tables[number] = np.empty(size), np.zeros(size, dtype=bool)
        table, known = self._tables[number]
        place = slice(first, first + len(values))
        fresh = ~known[place]
        table[place][fresh] = values[fresh]
        known[place] = True
        self.paid += int(fresh.sum())
        if known.all():
            tile = self.tiles[number]
            self._sums[number] = reduce_table(self.query, tile, table.reshape(table_shape(self.query, tile)))
            del self._tables[number]

    def answer(self) -> Answer:
        """All units together, in their fixed order."""
        return assemble(self.query, self.tiles, [self._sums[number] for number in range(len(self.tiles))])


def evaluate_units(
    problem: Any, query: Query, spans: Sequence[Span], timeout: float | None = None
) -> Iterator[Unit]:
    """The units of the given spans, one after another; the first that fails raises an ``EvaluationError``."""
    for span in spans:
        if span.whole:
            yield guarded(timeout, tile_sums, problem, query, span.tile)
        else:
            yield from _cells(problem, query, span, timeout)


def _cells(problem: Any, query: Query, span: Span, timeout: float | None) -> Iterator[float]:
    _, points, width = table_shape(query, span.tile)
    components = query.batch.slice(span.tile.top, span.tile.bottom)
    at = span.start
    while at < span.stop:
        anchor, row = divmod(at // width, points)
        block = _points(query, span.tile, anchor, row, most=-(-(span.stop - at) // width))
        for x in block:
            for column in range(at % width, min(width, at % width + span.stop - at)):
                place = row % len(components) if query.paired else column
                yield _cell(problem, x, components[place : place + 1], timeout)
                at += 1
            row += 1


def _cell(problem: Any, x: Array, component: NDArray[np.int64], timeout: float | None) -> float:
    value: float = guarded(timeout, problem.one, x, int(component[0]))
    if not abs(value) <= LARGEST:
        checked(np.array([[value]]), x[None], component)
    return value


def _points(query: Query, tile: Tile, anchor: int, row: int, most: int) -> Array:
    """Points from the given row of a tile on, to the end of its side of the stencil; at most ``most``, and few enough."""
    width, sides = tile.right - tile.left, 2 if query.stencil.two_sided else 1
    side, first = divmod(row, width) if width else (sides, 0)
    if side >= sides:
        points: Array = query.anchors[anchor][None, :].copy()
    else:
        last = min(width, first + most, first + max(1, TILE_VALUES // query.anchors.shape[1]))
        part = Tile(tile.left + first, tile.left + last, tile.top, tile.bottom)
        points = np.asarray(query.points(anchor, part))[side * (last - first) : (side + 1) * (last - first)]
    points.setflags(write=False)
    return points
