"""The open answer of a query: which of its tiles are known, and what is missing."""

from __future__ import annotations

import bisect
import itertools
import uuid
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from zofw.core import Answer, Array, Batch, Query, Tile
from zofw.problems.abilities import Abilities, Sums
from zofw.problems.evaluate import TilePart, assemble, position, reduce_table, tiles
from zofw.run.files.documents import FileError

KEPT_SECONDS = 1e-4  # evaluations quicker than this together are written down together
LEAST_LEFT = 0.1  # of the components, which a mean is still taken over
StandIns: TypeAlias = Callable[[Query, Tile, Array], Array]
LOOK_SECONDS = 0.05  # and if nothing is written to a file, between two looks at signals


class OpenAnswer:
    """Which parts of a query are known, and what they came to; ``kept`` where they are written down as they come."""

    def __init__(
        self, able: Abilities, query: Query, kept: bool = False, stand_ins: StandIns | None = None
    ) -> None:
        self.query, self.shards, self._stand_ins = query, able.parts, stand_ins
        self.together = KEPT_SECONDS if kept else LOOK_SECONDS
        self.cellwise = able.cells is not None
        self.tiles = tiles(able, query)
        self.paid = 0  # evaluations in the parts that are known
        self._left = len(self.tiles)
        self._sums: list[Sums | None] = [None] * self._left
        self._cells: dict[int, tuple[Array, NDArray[np.bool_]]] = {}
        self._replaces = False  # a value by a stand-in
        self._places: dict[Tile, int] = {}
        self._ends: list[int] = []
        self.by: dict[str, None] = {}  # who evaluated, in order
        self.left_out: set[int] = set()  # positions of the batch whose components failed
        self._tables: dict[int, Array] = {}  # of single evaluations, from which one may be left out
        several = query.size > 1 and not query.each
        self._separable = self.cellwise and several and self.shards is None

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
        table = values.reshape(len(query.anchors), points, -1)
        if self._stand_ins is not None and self._replaces:
            table = self._stand_ins(query, tile, table)
        if self._separable and not query.paired:
            self._tables[number] = table
        self._sums[number] = reduce_table(query, tile, table)
        self._left -= 1

    # ------------------------------------------------------------------ components that failed

    def can_leave_out(self, cell: Tile) -> bool:
        """Return True if the mean may be taken without the component of a cell."""
        out = self.left_out | {position(self.query, cell)}
        return self._separable and len(out) <= (1 - LEAST_LEFT) * self.query.size

    def leave_out(self, cell: Tile, rest: Sequence[Tile]) -> tuple[list[Tile], list[Tile]]:
        """Take the component of a cell out of the mean, and its cells out of what is to be done.

        Returns the cells of ``rest`` that are not evaluated any more, and those that still are.
        """
        place = position(self.query, cell)
        self.left_out.add(place)
        spared, wanted = [], []
        for tile in rest:
            edge = tile.start
            for at in range(tile.start, tile.stop):
                if position(self.query, one := tile.cells(at, at + 1)) == place:
                    wanted += [tile.cells(edge, at)] if edge < at else []
                    spared.append(one)
                    edge = at + 1
            wanted += [tile.cells(edge, tile.stop)] if edge < tile.stop else []
        for tile in spared:
            self.fill(TilePart(tile, Sums(np.zeros(1))))
        return spared, wanted

    def can_replace(self, cell: Tile) -> bool:
        """Return True if a stand-in may take the place of the value of a cell."""
        return self.cellwise and self._stand_ins is not None and cell.stop > 0

    def replace(self, cell: Tile, rest: Sequence[Tile]) -> list[Tile]:
        """Let a stand-in take the place of a value. Return what of ``rest`` is still to be done."""
        self._replaces = True
        self.fill(TilePart(cell, Sums(np.full(self.query.each or 1, np.nan))))
        wanted = []
        for tile in rest:
            if tile.cells(0, 0) == cell.cells(0, 0) and tile.start <= cell.start < tile.stop:
                ends = tile.cells(tile.start, cell.start), tile.cells(cell.stop, tile.stop)
                wanted += [one for one in ends if one.start < one.stop]
            else:
                wanted.append(tile)
        return wanted

    def _without(self) -> Answer:
        """Return the means over the components that were not left out."""
        query = self.query
        out = np.array(sorted(self.left_out))
        kept = np.setdiff1d(np.arange(query.size), out)
        smaller = replace(query, batch=Batch(query.batch.n, query.batch.slice(0, query.size)[kept]))
        tiles, sums = [], []
        for number, tile in enumerate(self.tiles):
            top, bottom = (int(at - np.count_nonzero(out < at)) for at in (tile.top, tile.bottom))
            if top < bottom:
                tiles.append(tile._replace(top=top, bottom=bottom))
                mine = np.isin(np.arange(tile.top, tile.bottom), kept)
                sums.append(reduce_table(smaller, tiles[-1], self._tables[number][:, :, mine]))
        return assemble(smaller, tiles, sums)

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
        if self.left_out and not self.query.paired:
            return self._without()
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
