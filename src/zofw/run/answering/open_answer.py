"""The open answer of a query: which of its tiles are known, and what is missing."""

from __future__ import annotations

import bisect
import itertools
import uuid
from collections.abc import Iterator
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from zofw.core import Answer, Array, Query, Tile
from zofw.problems.abilities import Abilities, Sums
from zofw.problems.evaluate import TilePart, assemble, reduce_table, tiles
from zofw.run.files.documents import FileError

KEPT_SECONDS = 1e-4  # evaluations quicker than this together are written down together
LOOK_SECONDS = 0.05  # and if nothing is written to a file, between two looks at signals


class OpenAnswer:
    """Which parts of a query are known, and what they came to; ``kept`` where they are written down as they come."""

    def __init__(self, able: Abilities, query: Query, kept: bool = False) -> None:
        self.query, self.shards = query, able.parts
        self.together = KEPT_SECONDS if kept else LOOK_SECONDS
        self.cellwise = able.cells is not None
        self.tiles = tiles(able, query)
        self.paid = 0  # evaluations in the parts that are known
        self._left = len(self.tiles)
        self._sums: list[Sums | None] = [None] * self._left
        self._cells: dict[int, tuple[Array, NDArray[np.bool_]]] = {}
        self._places: dict[Tile, int] = {}
        self._ends: list[int] = []

    @cached_property
    def token(self) -> str:
        """Return the name by which workers know the query."""
        return uuid.uuid4().hex

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
                wanted.append(tile.cells(0, self.cost(tile)))
            else:
                known = self._cells[number][1]
                edges = np.flatnonzero(np.diff(np.concatenate([[True], known, [True]]).astype(np.int8)))
                wanted += [tile.cells(start, stop) for start, stop in edges.reshape(-1, 2).tolist()]
        return wanted

    def part(self, tile: Tile) -> int:
        """Return the part that owns a tile, where the problem is in parts."""
        return 0 if self.shards is None else self.shards.owner(self.query, tile)

    # ------------------------------------------------------------------ filling in

    def fill(self, part: TilePart) -> bool:
        """Enter a tile or cells of it; of what comes twice the first value counts. Return True if all is news."""
        tile, sums = part
        number = self._place(tile) if len(self.tiles) > 1 else 0
        if self._sums[number] is not None:
            return False
        if tile.stop:
            return self._fill_cells(number, tile, sums.values)
        self._sums[number] = sums
        self._left -= 1
        self.paid += self.cost(tile)
        return True

    def cost(self, tile: Tile) -> int:
        """Return evaluations in a tile, or in the cells of it that are meant."""
        return self.query.cost if len(self.tiles) == 1 and not tile.stop else self.query.tile_cost(tile)

    def _place(self, tile: Tile) -> int:
        if not self._places:
            self._places = {one: number for number, one in enumerate(self.tiles)}
        return self._places[tile.cells(0, 0)]

    def _fill_cells(self, number: int, tile: Tile, values: Array) -> bool:
        whole, outputs = self.tiles[number], self.query.each or 1
        if number not in self._cells:
            size = self.cost(whole)
            if len(values) == size * outputs:
                self.paid += size
                self._reduce(number, values)
                return True
            self._cells[number] = np.empty((size, outputs)), np.zeros(size, dtype=bool)
        table, known = self._cells[number]
        place = slice(tile.start, tile.stop)
        fresh = ~known[place]
        table[place][fresh] = values.reshape(-1, outputs)[fresh]
        known[place] = True
        self.paid += int(fresh.sum())
        if known.all():
            self._reduce(number, table)
            del self._cells[number]
        return bool(fresh.all())

    def _reduce(self, number: int, values: Array) -> None:
        """All cells of a tile are known."""
        tile, query = self.tiles[number], self.query
        points = query.width if len(self.tiles) == 1 and not query.each else query.tile_width(tile)
        self._sums[number] = reduce_table(query, tile, values.reshape(len(query.anchors), points, -1))
        self._left -= 1

    def restore(self, part: TilePart) -> None:
        """Enter what a journal has of this query, or say that it is not of this query."""
        tile, sums = part
        whole = tile.cells(0, 0)
        fits = whole in self.tiles and bool(tile.stop) == self.cellwise
        if fits and not tile.stop:
            fits = sums.values.shape == (len(self.query.anchors), self.query.tile_values(tile))
            fits &= (sums.squares is not None) == self.query.variance
        elif fits:
            fits = tile.start < tile.stop <= self.query.tile_cost(whole)
            fits &= sums.values.shape == ((tile.stop - tile.start) * (self.query.each or 1),)
        if not fits:
            raise FileError(
                f"The journal has a part of an answer for columns {tile.left} to {tile.right} and rows {tile.top} to "
                f"{tile.bottom}, which the open query does not have. Is this the problem that the run was begun with, with the "
                "same at_once?"
            )
        self.fill(part)

    def answer(self) -> Answer:
        """Return all tiles together, in their fixed order."""
        return assemble(self.query, self.tiles, [sums for sums in self._sums if sums is not None])

    # ------------------------------------------------------------------ single evaluations by number

    @property
    def units(self) -> int:
        """Return how many single evaluations there are."""
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
