"""Answering a query: in tiles of fixed shape, added in a fixed order.

The tiles depend on the query and the kind of problem alone, never on the memory, the threads or
the workers at hand; that is why a run gives the same bits wherever its queries are answered.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from zofw.core import Answer, Array, Batch, EvaluationError, Indices, Problem, Query, Stencil, Tile, blocks
from zofw.differences import LARGEST, differences, slopes
from zofw.problems.abilities import TILE_VALUES, Abilities, Sums, abilities

TILE_COMPONENTS = 8192
Cell = float | Array  # what one evaluation brings: a number, or as many as the query asks for


class TilePart(NamedTuple):
    """What a tile, or the cells of it that were meant, came to."""

    tile: Tile
    sums: Sums


def tiles(able: Abilities, query: Query) -> list[Tile]:
    """Return the fixed partition of a query into columns of U against rows of the batch, rows
    outermost.

    A tile holds at most ``at_once`` values, both sides counted: ⌊at_once/(sides·rows)⌋ columns
    against all rows of a batch of up to 8192, or against as many as fit. A paired query is cut
    along its diagonal. Variances of forward differences need the base value in every tile of
    rows, so that such tiles have all columns.
    """
    if able.parts is not None:
        return able.parts.tiles(query)
    most, sides = able.at_once, 2 if query.stencil.two_sided else 1
    if query.paired:
        return [Tile(left, right, left, right) for left, right in blocks(query.count, max(1, most // sides))]
    if able.structured is not None:
        filling = able.structured.rows_at_once(query)
        if query.count and query.size <= min(TILE_COMPONENTS, filling):
            return [Tile(0, query.count, 0, query.size)]
        rows = min(query.size, TILE_COMPONENTS * able.tall, filling)
        return grid(query, max(1, rows), max(1, query.count))
    rows = min(query.size, TILE_COMPONENTS, max(1, most // sides))
    if query.variance and sides == 1:
        return grid(query, max(1, min(rows, most // query.count)), query.count)
    return grid(query, rows, max(1, most // (sides * max(1, rows))))


def grid(query: Query, rows: int, columns: int) -> list[Tile]:
    """Return tiles of so many rows of the batch and columns of U, rows outermost."""
    across = blocks(query.count, columns) or [(0, 0)]
    return [Tile(*along, *down) for down in blocks(query.size, rows) for along in across]


def evaluate(problem: Problem, query: Query) -> Answer:
    """Answer a query in this process."""
    able = abilities(problem)
    parts = tiles(able, query)
    return assemble(query, parts, [own_sums(able, problem, query, tile) for tile in parts])


def tile_sums(problem: Problem, query: Query, tile: Tile) -> Sums:
    """Return one tile, by the problem's own means or from dense points."""
    return own_sums(abilities(problem), problem, query, tile)


def own_sums(able: Abilities, problem: Problem, query: Query, tile: Tile) -> Sums:
    """Return the same for a problem whose abilities are at hand."""
    own = able.parts or able.structured
    if own is None or (query.each and able.parts is None):
        return _from_points(problem, query, tile)
    given = own.sums(query, tile)
    sums = Sums(
        given.values.copy(), None if given.squares is None else given.squares.copy()
    )  # as in `checked`
    most = LARGEST * (tile.bottom - tile.top)
    if np.vdot(sums.values, sums.values) <= most * most:  # which says soonest that all are
        return sums
    for anchor, column in np.argwhere(~(np.abs(sums.values) <= most)):
        raise EvaluationError(
            f"The objective's sum over components {tile.top} to {tile.bottom - 1} of the batch is "
            f"{sums.values[anchor, column]} at point {column} of the query; a value should be at most {LARGEST:g} in modulus.",
            point=query.points(int(anchor), tile)[column],
        )
    return sums


def _from_points(problem: Problem, query: Query, tile: Tile) -> Sums:
    """Return a tile from dense points; one function gets all of its points in one call."""
    alone = query.batch.n == 1 and query.stencil is Stencil.VALUE and not query.each
    if not alone or query.anchors.size > TILE_VALUES:
        tables = [_table(problem, query, tile, anchor) for anchor in range(len(query.anchors))]
        return reduce_table(query, tile, np.stack(tables))
    points = query.members(query.anchors)
    points.setflags(write=False)
    components = query.batch.slice(tile.top, tile.bottom)
    table = checked(problem.values(points, components), points, components)
    return reduce_table(query, tile, table[:, None, :])


def _table(problem: Problem, query: Query, tile: Tile, anchor: int) -> Array:
    """Return values of one anchor's points, (points, components) or (points, 1), few at a time."""
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
    """Return the same for a tile whose points are few enough to be formed at once."""
    points = query.points(anchor, tile)
    points.setflags(write=False)
    if query.paired:
        return _paired_values(problem, points, components)
    table = problem.values(points, components)
    return checked(table, points, components if query.each <= 1 else np.repeat(components, query.each))


def position(query: Query, cell: Tile) -> int:
    """Return the position in the batch of the component of the first of some cells."""
    first, last = (cell.left, cell.right) if query.paired else (cell.top, cell.bottom)
    return first + cell.start % (last - first)


def reduce_table(query: Query, tile: Tile, table: Array) -> Sums:
    """Return sums of a table of values (k, points, components); a paired table has one
    component.

    Values: Σ_i f_i at each point, (k, points). Squares, where a variance is asked for: Σ_i
    (δ_ij − δ̄_j)² of the slopes δ_ij of component i along direction j, (k, b), centred within
    the tile, where nothing cancels. If the query asks for each component, the table itself: a
    row for every anchor.
    """
    if query.each:
        return Sums(table.reshape(len(table), -1))
    values = table[:, :, 0] if table.shape[2] == 1 else table.sum(axis=2)
    if not query.variance:
        return Sums(values)
    own = differences(query, table, tile.right - tile.left)
    centred = own - own.mean(axis=2, keepdims=True)
    return Sums(values, np.einsum("kbs,kbs->kb", centred, centred))


def assemble(query: Query, parts: list[Tile], sums: list[Sums]) -> Answer:
    """Add the tiles in their own order, whatever the order in which they came: means over the
    batch, (k, width), or each component.

    Floating-point sums depend on their order; this one is fixed by the query, so that the bits
    are too.
    """
    size = 1.0 if query.paired or query.each else float(query.size)
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
    """Return unbiased variance over the batch, from each tile's centred squares and the shift
    of its mean, (k, b).

    With tiles of r_T rows whose slopes have mean δ̄_T and centred squares Q_T, and δ̄ the mean
    over all |S| of them,

        Var_j = [Σ_T Q_T + r_T (δ̄_T − δ̄)²] / (|S| − 1)

    References
    ----------
    T. F. Chan, G. H. Golub, R. J. LeVeque, Algorithms for computing the sample variance, American Statistician 37, 1983.
    """
    size = query.size
    mean = slopes(query, answer)
    squares = np.zeros_like(mean)
    for tile, part in zip(parts, sums, strict=True):
        rows, columns = tile.bottom - tile.top, slice(tile.left, tile.right)
        own = differences(query, part.values / rows, tile.right - tile.left)
        squares[:, columns] += _squares(part) + rows * (own - mean[:, columns]) ** 2
    return squares / max(1, size - 1)


def _squares(part: Sums) -> Array:
    if part.squares is None:
        raise ValueError("The query asks for a variance, and a tile came without its squares.")
    return part.squares


def cells(one: Callable[[Array, int], Cell], query: Query, tile: Tile) -> Iterator[Cell]:
    """Single evaluations of a tile, one after another, each made by ``one(x, i)``; a bad one is an error."""
    width = 1 if query.paired else tile.bottom - tile.top
    points, components = query.tile_width(tile), query.batch.slice(tile.top, tile.bottom).tolist()
    at = tile.start
    while at < tile.stop:
        anchor, row = divmod(at // width, points)
        for x in _points(query, tile, anchor, row, most=-(-(tile.stop - at) // width)):
            first = row % len(components) if query.paired else at % width
            for component in components[first : first + min(width, tile.stop - at)]:
                value = one(x, component)
                if query.each > 1 or not abs(float(value)) <= LARGEST:
                    checked(np.reshape(value, (1, -1)), x[None], np.full(query.each or 1, component))
                yield value
                at += 1
            row += 1


def single_evaluations(query: Query, tile: Tile) -> list[tuple[Array, int]]:
    """Return point and component of each evaluation of some cells, or of a tile that has only one."""
    if not tile.stop and query.tile_cost(tile) > 1:
        return []
    found: list[tuple[Array, int]] = []

    def look(x: Array, component: int) -> Cell:
        found.append((x, component))
        return np.zeros(query.each) if query.each > 1 else 0.0

    for _ in cells(look, query, tile if tile.stop else tile.cells(0, 1)):
        pass
    return found


def _points(query: Query, tile: Tile, anchor: int, row: int, most: int) -> Array:
    """Return points from a row of a tile on, to the end of a side at most; few of them."""
    width, sides = tile.right - tile.left, 2 if query.stencil.two_sided else 1
    rows = query.tile_width(tile)
    if row == 0 and rows <= most and rows * query.anchors.shape[1] <= TILE_VALUES:
        return query.points(anchor, tile)
    side, first = divmod(row, width) if width else (sides, 0)
    if side >= sides:
        return query.members(query.anchors[anchor][None, :])
    last = min(width, first + most, first + max(1, TILE_VALUES // query.anchors.shape[1]))
    part = Tile(tile.left + first, tile.left + last, tile.top, tile.bottom)
    return query.points(anchor, part)[side * (last - first) : (side + 1) * (last - first)]


def checked(table: ArrayLike, points: Array, components: Indices, *, paired: bool = False) -> Array:
    """Return the values as floats, or an error that names the first value at fault."""
    if isinstance(table, np.ma.MaskedArray):
        raise EvaluationError(
            "The objective returned a masked array; give a number for every evaluation.", point=points[0]
        )
    array = np.asarray(table)
    expected = (len(points),) if paired else (len(points), len(components))
    if array.shape != expected:
        asked = "a component each" if paired else f"{len(components)} components"
        raise EvaluationError(
            f"The objective was asked for {len(points)} points and {asked} and should return an array of shape "
            f"{expected}; it returned shape {array.shape}.",
            point=points[0],
        )
    if array.dtype.kind not in "fiub":
        raise EvaluationError(
            f"The objective should return real numbers; it returned dtype {array.dtype}.", point=points[0]
        )
    values: Array = np.array(array, dtype=np.float64)  # a copy: the next call may write into the same memory
    sound = np.abs(values) <= LARGEST
    if not sound.all():
        place = tuple(np.argwhere(~sound)[0])
        row, component = place[0], int(components[place[-1]])
        wall = (
            " If infinity means infeasible, write options={'worse': np.inf}, or BlackBox(…, worse=np.inf)."
            if values[place] == np.inf
            else ""
        )
        raise EvaluationError(
            f"The objective returned {values[place]} for component {component} (point {row} of the call, of norm "
            f"{np.linalg.norm(points[row]):.6g}); a value should be a number of at most {LARGEST:g} in modulus.{wall}",
            point=points[row],
            component=component,
        )
    return values


def _paired_values(problem: Problem, points: Array, components: Indices) -> Array:
    """Return points j and j + b with component j, (points, 1): only what was paid for."""
    owners = np.tile(components, len(points) // len(components))
    pairwise = abilities(problem).pairs
    if pairwise is not None:
        return checked(pairwise.pairs(points, owners), points, owners, paired=True)[:, None]
    out = np.empty(len(points))
    for component in np.unique(components):
        mine = np.flatnonzero(owners == component)
        one = np.array([component], dtype=np.int64)
        out[mine] = checked(problem.values(points[mine], one), points[mine], one)[:, 0]
    return out[:, None]


def mean_value(problem: Problem, x: Array) -> float:
    """Return the exact mean at x: n evaluations, for diagnosis."""
    return float(evaluate(problem, Query(x, Batch(problem.n), stencil=Stencil.VALUE)).values[0, 0])
