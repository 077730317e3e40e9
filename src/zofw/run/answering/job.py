"""A query under evaluation, as the engine and the events of a run name its parts."""

from __future__ import annotations

from collections.abc import Sequence

from zofw.core import Tile
from zofw.run.answering.open_answer import OpenAnswer


class Job:
    """A query under evaluation, for a session or for diagnosis.

    Parameters
    ----------
    answer
        What is known of it.
    number
        Of the query; -1 for diagnosis.
    rows
        The rows of the query that its single evaluations are, if these are not all of them.
    """

    def __init__(self, answer: OpenAnswer, number: int, rows: Sequence[int] | None = None) -> None:
        self.answer, self.number, self.rows = answer, number, rows
        self.tried: dict[Tile, int] = {}

    def tiles(self, tile: Tile) -> list[tuple[Tile, slice]]:
        """Return the tiles that events name, each with its place among the values of a tile."""
        if self.rows is None:
            return [(tile, slice(None))]
        rows = self.rows[tile.start : tile.stop or len(self.rows)]
        first = Tile(0, 0, 0, 1)
        return [(first.cells(row, row + 1), slice(at, at + 1)) for at, row in enumerate(rows)]
