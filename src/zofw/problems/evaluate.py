"""Answering a query: in tiles of fixed shape, added in a fixed order.

The tiles depend on the query and the kind of problem alone, never on the memory, the threads or the workers at hand;
that is why a run gives the same bits wherever its queries are answered.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np

from zofw.core import Answer, Array, Batch, EvaluationError, Indices, Problem, Query, Stencil, Tile, blocks
from zofw.differences import slopes

TILE_COMPONENTS = 8192
TILE_VALUES = 1 << 22  # numbers in one table of values, or in one array of points: 32 MB


@dataclass(frozen=True, eq=False)
class Sums:
    """One tile's share: sums over its components, (k, values), and centred sums of squares of slopes, (k, columns)."""

    values: Array
    squares: Array | None = None


@runtime_checkable
class Structured(Protocol):
    """A problem that answers tiles itself, without forming perturbed points."""

    def sums(self, query: Query, tile: Tile) -> Sums: ...


def tiles(query: Query) -> list[Tile]:
    """The fixed partition of a query. Variances of forward differences need the base value in every tile of rows."""
    sides = 2 if query.stencil.two_sided else 1
    if query.paired:
        return [Tile(left, right, left, right) for left, right in blocks(query.count, TILE_VALUES // sides)]
    rows = min(len(query.batch), TILE_COMPONENTS)
    width = max(1, TILE_VALUES // (sides * max(1, rows)))
    if query.variance and not query.stencil.two_sided:
        rows, width = max(1, min(rows, TILE_VALUES // query.count)), query.count
    columns = list(blocks(query.count, width)) or [(0, 0)]
    return [
        Tile(left, right, top, bottom)
        for top, bottom in blocks(len(query.batch), rows)
        for left, right in columns
    ]


def evaluate(problem: Problem, query: Query) -> Answer:
    """Answer a query in this process."""
    parts = tiles(query)
    return assemble(query, parts, [tile_sums(problem, query, tile) for tile in parts])


def tile_sums(problem: Problem, query: Query, tile: Tile) -> Sums:
    """One tile, by the problem's own means or from dense points."""
    if not isinstance(problem, Structured):
        tables = [_table(problem, query, tile, anchor) for anchor in range(len(query.anchors))]
        return reduce_table(query, tile, np.stack(tables))
    sums = problem.sums(query, tile)
    if not np.isfinite(sums.values).all():
        anchor, column = np.argwhere(~np.isfinite(sums.values))[0]
        raise EvaluationError(
            f"The objective's sum over components {tile.top} to {tile.bottom - 1} of the batch is "
            f"{sums.values[anchor, column]} at point {column} of the query.",
            point=query.points(int(anchor), tile)[column],
        )
    return sums


def _table(problem: Problem, query: Query, tile: Tile, anchor: int) -> Array:
    """Values of one anchor's points, (points, components), or (points, 1) for a paired query; few points at a time."""
    components = query.batch.slice(tile.top, tile.bottom)
    sides = 2 if query.stencil.two_sided else 1
    width = max(1, TILE_VALUES // (sides * query.anchors.shape[1]))
    origin = query.tile_columns(tile)
    table = np.empty((len(origin), 1 if query.paired else len(components)))
    for start, stop in list(blocks(tile.right - tile.left, width)) or [(0, 0)]:
        part = Tile(tile.left + start, tile.left + stop, tile.top, tile.bottom)
        points = query.points(anchor, part)
        points.setflags(write=False)
        if query.paired:
            values = _paired_values(problem, points, components[start:stop])
        else:
            values = checked(problem.values(points, components), points, components)
        table[np.searchsorted(origin, query.tile_columns(part))] = values
    return table


def reduce_table(query: Query, tile: Tile, table: Array) -> Sums:
    """Sums of a table of values (k, points, components); a paired table has one component."""
    values = table.sum(axis=2)
    if not query.variance:
        return Sums(values)
    width = tile.right - tile.left
    ahead = table[:, :width]
    if query.stencil.two_sided:
        differences = (ahead - table[:, width : 2 * width]) / (2.0 * query.radius)
    else:
        differences = (ahead - table[:, -1:]) / query.radius
    centred = differences - differences.mean(axis=2, keepdims=True)
    return Sums(values, np.einsum("kbs,kbs->kb", centred, centred))


def assemble(query: Query, parts: list[Tile], sums: list[Sums]) -> Answer:
    """Add the tiles in their own order, whatever the order in which they came."""
    k, size = len(query.anchors), 1 if query.paired else len(query.batch)
    totals = np.zeros((k, query.width))
    for tile, part in zip(parts, sums, strict=True):
        totals[:, query.tile_columns(tile)] += part.values
    answer = Answer(totals / size)
    return Answer(answer.values, _variance(query, answer, parts, sums)) if query.variance else answer


def _variance(query: Query, answer: Answer, parts: list[Tile], sums: list[Sums]) -> Array:
    """Unbiased variance over the batch, from each tile's centred squares and the shift of its mean (Chan et al.)."""
    size = len(query.batch)
    mean = slopes(query, answer)
    squares = np.zeros_like(mean)
    for tile, part in zip(parts, sums, strict=True):
        rows, columns = tile.bottom - tile.top, slice(tile.left, tile.right)
        width = tile.right - tile.left
        ahead = part.values[:, :width] / rows
        if query.stencil.two_sided:
            own = (ahead - part.values[:, width : 2 * width] / rows) / (2.0 * query.radius)
        else:
            own = (ahead - part.values[:, -1:] / rows) / query.radius
        if part.squares is None:
            raise ValueError("The query asks for a variance, and a tile came without its squares.")
        squares[:, columns] += part.squares + rows * (own - mean[:, columns]) ** 2
    return squares / max(1, size - 1)


def checked(table: Any, points: Array, components: Indices) -> Array:
    """The table of values as floats, or an error that names the first value at fault."""
    table = np.asarray(table)
    expected = (len(points), len(components))
    if table.shape != expected:
        raise EvaluationError(
            f"The objective was asked for {expected[0]} points and {expected[1]} components and should return an array "
            f"of shape {expected}; it returned shape {table.shape}.",
            point=points[0],
        )
    if table.dtype.kind not in "fiub":
        raise EvaluationError(
            f"The objective should return real numbers; it returned dtype {table.dtype}.", point=points[0]
        )
    if not np.isfinite(table).all():
        row, column = np.argwhere(~np.isfinite(table))[0]
        raise EvaluationError(
            f"The objective returned {table[row, column]} for component {components[column]} (point {row} of the call, "
            f"of norm {np.linalg.norm(points[row]):.6g}).",
            point=points[row],
            component=int(components[column]),
        )
    return np.asarray(table, dtype=np.float64)


def _paired_values(problem: Problem, points: Array, components: Indices) -> Array:
    """Point j and point j + b with component j alone, (points, 1): never a component that was not paid for."""
    sides = len(points) // len(components)
    out = np.empty(len(points))
    for component in np.unique(components):
        mine = np.flatnonzero(np.tile(components, sides) == component)
        one = np.array([component], dtype=np.int64)
        out[mine] = checked(problem.values(points[mine], one), points[mine], one)[:, 0]
    return out[:, None]


def mean_value(problem: Problem, x: Array) -> float:
    """The exact mean at x: n evaluations, for diagnosis."""
    return float(evaluate(problem, Query(x, Batch(problem.n), stencil=Stencil.VALUE)).values[0, 0])
