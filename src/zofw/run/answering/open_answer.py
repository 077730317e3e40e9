"""The answer to one query, filled in part by part.

A query is a fixed list of tiles. Where the problem is asked for single evaluations, a tile is filled in cell by cell,
otherwise in one piece. What the parts add up to does not depend on the order in which they come, nor on how cells are
grouped.
"""

from __future__ import annotations

import bisect
import itertools
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from zofw.core import Answer, Array, Query, Tile
from zofw.problems.abilities import Abilities, Sums
from zofw.problems.evaluate import Part, assemble, reduce_table, tiles
from zofw.run.files.documents import FileError


class OpenAnswer:
    """Which parts of a query are known, and what they came to."""

    def __init__(self, able: Abilities, query: Query) -> None:
        self.query, self.shards = query, able.parts
        self.cellwise = able.cells is not None
        self.tiles = tiles(able, query)
        self.paid = 0  # evaluations in the parts that are known
        self._left = len(self.tiles)
        self._sums: list[Sums | None] = [None] * self._left
        self._cells: dict[int, tuple[Array, NDArray[np.bool_]]] = {}
        self._places: dict[Tile, int] = {}
        self._ends: list[int] = []

    @property
    def complete(self) -> bool:
        return self._left == 0

    def missing(self) -> list[Tile]:
        """What is not known, in its order."""
        if not self.paid and not self.cellwise:
            return list(self.tiles)
        wanted: list[Tile] = []
        for number, tile in enumerate(self.tiles):
            if self._sums[number] is not None:
                continue
            if not self.cellwise:
                wanted.append(tile)
            elif number not in self._cells:
                wanted.append(tile.cells(0, self.query.tile_cost(tile)))
            else:
                known = self._cells[number][1]
                edges = np.flatnonzero(np.diff(np.concatenate([[True], known, [True]]).astype(np.int8)))
                wanted += [tile.cells(start, stop) for start, stop in edges.reshape(-1, 2).tolist()]
        return wanted

    def part(self, tile: Tile) -> int:
        """The part that owns a tile, where the problem is in parts."""
        return 0 if self.shards is None else self.shards.owner(self.query, tile)

    # ------------------------------------------------------------------ filling in

    def fill(self, part: Part) -> None:
        """Enter what a tile, or cells of it, came to; of what comes twice the first value counts."""
        number = self._place(part.tile)
        if self._sums[number] is not None:
            return
        if part.tile.whole:
            self._enter(number, part.sums)
            self.paid += self.query.tile_cost(part.tile)
        else:
            self._fill_cells(number, part.tile, part.sums.values)

    def _place(self, tile: Tile) -> int:
        if len(self.tiles) == 1:
            return 0
        if not self._places:
            self._places = {one: number for number, one in enumerate(self.tiles)}
        return self._places[tile.cells(0, 0)]

    def _enter(self, number: int, sums: Sums) -> None:
        self._sums[number] = sums
        self._left -= 1

    def _fill_cells(self, number: int, tile: Tile, values: Array) -> None:
        whole = self.tiles[number]
        if number not in self._cells:
            size = self.query.tile_cost(whole)
            self._cells[number] = np.empty(size), np.zeros(size, dtype=bool)
        table, known = self._cells[number]
        place = slice(tile.start, tile.stop)
        fresh = ~known[place]
        table[place][fresh] = values[fresh]
        known[place] = True
        self.paid += int(fresh.sum())
        if known.all():
            k, points = len(self.query.anchors), self.query.tile_width(whole)
            self._enter(number, reduce_table(self.query, whole, table.reshape(k, points, -1)))
            del self._cells[number]

    def restore(self, part: Part) -> None:
        """Enter what a journal has of this query, or say that it is not of this query."""
        tile, sums = part
        whole = tile.cells(0, 0)
        fits = whole in self.tiles and tile.whole != self.cellwise
        if fits and tile.whole:
            fits = sums.values.shape == (len(self.query.anchors), self.query.tile_width(tile))
            fits &= (sums.squares is not None) == self.query.variance
        elif fits:
            fits = tile.start < tile.stop <= self.query.tile_cost(whole)
            fits &= sums.values.shape == (tile.stop - tile.start,)
        if not fits:
            raise FileError(
                f"The journal has a part of an answer for columns {tile.left} to {tile.right} and rows {tile.top} to "
                f"{tile.bottom}, which the open query does not have. Is this the problem that the run was begun with, with the "
                "same at_once?"
            )
        self.fill(part)

    def answer(self) -> Answer:
        """All tiles together, in their fixed order."""
        return assemble(self.query, self.tiles, [sums for sums in self._sums if sums is not None])

    # ------------------------------------------------------------------ single evaluations by number

    @property
    def units(self) -> int:
        """How many single evaluations there are."""
        if not self._ends:
            self._ends = list(itertools.accumulate(self.query.tile_cost(tile) for tile in self.tiles))
        return self._ends[-1]

    def cut(self, start: int, stop: int) -> Iterator[Tile]:
        """Single evaluations start, …, stop − 1 of the whole query, tile by tile."""
        while start < min(stop, self.units):
            number = bisect.bisect_right(self._ends, start)
            begin = self._ends[number - 1] if number else 0
            last = min(stop, self._ends[number])
            yield self.tiles[number].cells(start - begin, last - begin)
            start = last

    def number(self, tile: Tile) -> int:
        """Which of all single evaluations the first of some cells is."""
        place = self._place(tile)
        return tile.start + (self._ends[place - 1] if self.units and place else 0)
