"""Answering a query: in tiles of fixed shape, added in a fixed order.

The tiles depend on the query and the kind of problem alone, never on the memory, the threads or the workers at hand;
that is why a run gives the same bits wherever its queries are answered.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np

from zofw.core import Answer, Array, Batch, EvaluationError, Indices, Problem, Query, Stencil, Tile, blocks
from zofw.differences import LARGEST, slopes, within
from zofw.problems.cancellation import watch_cancellation

TILE_COMPONENTS = 8192
TILE_VALUES = 1 << 22  # numbers in one table of values, or in one array of points: 32 MB


class Sums(NamedTuple):
    """One tile's share: sums over its components, (k, values), and centred sums of squares of slopes, (k, columns)."""

    values: Array
    squares: Array | None = None


@runtime_checkable
class Structured(Protocol):
    """A problem that answers tiles itself, without forming perturbed points."""

    def rows_at_once(self, query: Query) -> int:
        """How many components fill a tile that takes all directions together; ``tall``, 1 by default, raises their limit."""

    def sums(self, query: Query, tile: Tile) -> Sums: ...


@runtime_checkable
class Pairwise(Protocol):
    """A problem that evaluates many points with one component each in one call."""

    def pairs(self, points: Array, components: Indices) -> Array:
        """f_{i_j}(x_j) for point j and component i_j: (len(points),)."""


def tiles(problem: Problem, query: Query) -> list[Tile]:
    """The fixed partition of a query. Variances of forward differences need the base value in every tile of rows."""
    if hasattr(problem, "tiles"):
        own: list[Tile] = problem.tiles(query)
        return own
    size, fills = len(query.batch), None if query.paired else getattr(problem, "rows_at_once", None)
    if fills and query.count and size <= min(TILE_COMPONENTS, fills(query)):
        return [Tile(0, query.count, 0, size)]
    sides = 2 if query.stencil.two_sided else 1
    most = getattr(problem, "at_once", None) or TILE_VALUES
    if query.paired:
        width = max(1, most // sides)
        return [Tile(left, right, left, right) for left, right in blocks(query.count, width)]
    rows = min(size, TILE_COMPONENTS, max(1, most // sides))
    width = max(1, most // (sides * max(1, rows)))
    if fills:
        tall = TILE_COMPONENTS * getattr(problem, "tall", 1)
        rows, width = max(1, min(size, tall, fills(query))), max(1, query.count)
    elif query.variance and not query.stencil.two_sided:
        rows, width = max(1, min(rows, most // query.count)), query.count
    columns = list(blocks(query.count, width)) or [(0, 0)]
    return [
        Tile(left, right, top, bottom)
        for top, bottom in blocks(len(query.batch), rows)
        for left, right in columns
    ]


def evaluate(problem: Problem, query: Query) -> Answer:
    """Answer a query in this process."""
    parts = tiles(problem, query)
    answer = assemble(query, parts, [tile_sums(problem, query, tile) for tile in parts])
    watch_cancellation(problem, query, answer)
    return answer


def tile_sums(problem: Problem, query: Query, tile: Tile) -> Sums:
    """One tile, by the problem's own means or from dense points."""
    if not hasattr(problem, "sums"):
        tables = [_table(problem, query, tile, anchor) for anchor in range(len(query.anchors))]
        return reduce_table(query, tile, np.stack(tables))
    sums: Sums = problem.sums(query, tile)
    most = LARGEST * (tile.bottom - tile.top)
    if not within(sums.values, most):
        anchor, column = np.argwhere(~(np.abs(sums.values) <= most))[0]
        raise EvaluationError(
            f"The objective's sum over components {tile.top} to {tile.bottom - 1} of the batch is "
            f"{sums.values[anchor, column]} at point {column} of the query; a value should be at most {LARGEST:g} in modulus.",
            point=query.points(int(anchor), tile)[column],
        )
    return sums


def _table(problem: Problem, query: Query, tile: Tile, anchor: int) -> Array:
    """Values of one anchor's points, (points, components), or (points, 1) for a paired query; few points at a time."""
    components = query.batch.slice(tile.top, tile.bottom)
    sides = 2 if query.stencil.two_sided else 1
    width = max(1, TILE_VALUES // (sides * query.anchors.shape[1]))
    if tile.right - tile.left <= width:
        return _block(problem, query, tile, anchor, components)
    origin = query.tile_columns(tile)
    table = np.empty((len(origin), 1 if query.paired else len(components)))
    for start, stop in blocks(tile.right - tile.left, width):
        part = Tile(tile.left + start, tile.left + stop, tile.top, tile.bottom)
        mine = components[start:stop] if query.paired else components
        table[np.searchsorted(origin, query.tile_columns(part))] = _block(problem, query, part, anchor, mine)
    return table


def _block(problem: Problem, query: Query, tile: Tile, anchor: int, components: Indices) -> Array:
    """The same for a tile whose points are few enough to be formed at once."""
    points = query.points(anchor, tile)
    points.setflags(write=False)
    if query.paired:
        return _paired_values(problem, points, components)
    return checked(problem.values(points, components), points, components)


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
    size = 1.0 if query.paired else float(len(query.batch))
    if len(parts) == 1 and query.variance:
        return Answer(sums[0].values / size, _squares(sums[0]) / max(1.0, size - 1.0))
    if len(parts) == 1:
        return Answer(sums[0].values / size)
    totals = np.zeros((len(query.anchors), query.width))
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
        squares[:, columns] += _squares(part) + rows * (own - mean[:, columns]) ** 2
    return squares / max(1, size - 1)


def _squares(part: Sums) -> Array:
    if part.squares is None:
        raise ValueError("The query asks for a variance, and a tile came without its squares.")
    return part.squares


def checked(table: Any, points: Array, components: Indices, *, paired: bool = False) -> Array:
    """The values as floats, (points, components) or one a point, or an error that names the first value at fault."""
    table = np.asarray(table)
    expected = (len(points),) if paired else (len(points), len(components))
    if table.shape != expected:
        asked = "a component each" if paired else f"{len(components)} components"
        raise EvaluationError(
            f"The objective was asked for {len(points)} points and {asked} and should return an array of shape "
            f"{expected}; it returned shape {table.shape}.",
            point=points[0],
        )
    if table.dtype.kind not in "fiub":
        raise EvaluationError(
            f"The objective should return real numbers; it returned dtype {table.dtype}.", point=points[0]
        )
    values: Array = np.asarray(table, dtype=np.float64)
    sound = np.abs(values) <= LARGEST
    if not sound.all():
        place = tuple(np.argwhere(~sound)[0])
        row, component = place[0], int(components[place[-1]])
        raise EvaluationError(
            f"The objective returned {values[place]} for component {component} (point {row} of the call, of norm "
            f"{np.linalg.norm(points[row]):.6g}); a value should be a number of at most {LARGEST:g} in modulus.",
            point=points[row],
            component=component,
        )
    return values


def _paired_values(problem: Problem, points: Array, components: Indices) -> Array:
    """Point j and point j + b with component j alone, (points, 1): never a component that was not paid for."""
    owners = np.tile(components, len(points) // len(components))
    if hasattr(problem, "pairs"):
        return checked(problem.pairs(points, owners), points, owners, paired=True)[:, None]
    out = np.empty(len(points))
    for component in np.unique(components):
        mine = np.flatnonzero(owners == component)
        one = np.array([component], dtype=np.int64)
        out[mine] = checked(problem.values(points[mine], one), points[mine], one)[:, 0]
    return out[:, None]


def mean_value(problem: Problem, x: Array) -> float:
    """The exact mean at x: n evaluations, for diagnosis."""
    return float(evaluate(problem, Query(x, Batch(problem.n), stencil=Stencil.VALUE)).values[0, 0])
