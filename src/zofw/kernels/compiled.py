"""The operations of :mod:`zofw.kernels.plain` in numba: the same sums in the same order, hence the same bits."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import lru_cache, partial

import numpy as np

from zofw.core import Array, Indices
from zofw.kernels import entries, plain, sums
from zofw.kernels.losses import LINES, TOTAL_LINES, coordinate_lines, in_order
from zofw.kernels.rows import EVERY_ROW, Rows, Shift, Source, StencilSteps
from zofw.kernels.threads import spread
from zofw.kernels.words import TILE_ROWS, Entries

PIECE_ROWS = 1024  # rows of U in one piece of U c
PIECE_ENTRIES = 1 << 16  # entries of U in one piece of a block
PIECE_LINES = 256  # rows whose margins are one piece
TOTAL_PIECE = 4  # groups of a sum over all rows that are one piece
NUMBER = {loss: place for place, loss in enumerate(sums.NAMES)}


def normal_block(key: int, rows: Indices, left: int, right: int) -> Array:
    """Return U[rows, left:right] of normals."""
    first, last = left // 2, (right + 1) // 2  # words
    out = _block(partial(entries.normal_rows, key), rows, first, last, 2 * (last - first), 3)
    return np.ascontiguousarray(out[:, left - 2 * first : right - 2 * first])


def sign_block(key: int, rows: Indices, left: int, right: int) -> Array:
    """Return U[rows, left:right] of signs."""
    return _block(partial(entries.sign_rows, key), rows, left, right, right - left, 1)


def _block(fill: Callable[..., None], rows: Indices, left: int, right: int, width: int, price: int) -> Array:
    """Return a table of so many columns that a kernel fills at so many nanoseconds an entry."""
    rows, out = np.ascontiguousarray(rows, dtype=np.int64), np.empty((len(rows), width))
    size = max(1, PIECE_ENTRIES // max(1, width))
    spread(partial(fill, rows, left, right, out), len(rows), size, price * out.size)
    return out


class Normals(Entries):
    """Standard normal entries."""

    def combine(self, key: int, dim: int, c: Array) -> Array:
        out, even = np.empty(dim), np.ascontiguousarray(np.append(c, 0.0) if len(c) % 2 else c, dtype=float)
        spread(partial(entries.normal_combine, key, even, out), dim, PIECE_ROWS, 3 * dim * len(c))
        return out

    def project(self, key: int, g: Array, count: int) -> Array:
        return _by_tiles(partial(entries.normal_project, key), g, count, 3 * len(g) * count)


class Signs(Entries):
    """Random signs."""

    def combine(self, key: int, dim: int, c: Array) -> Array:
        out = np.empty(dim)
        task = partial(entries.sign_combine, key, np.ascontiguousarray(c, dtype=float), out)
        spread(task, dim, PIECE_ROWS, dim * len(c) // 12)
        return out

    def project(self, key: int, g: Array, count: int) -> Array:
        return _by_tiles(partial(entries.sign_project, key), g, count, len(g) * count // 8)


def _by_tiles(project: Callable[..., None], g: Array, count: int, work: int) -> Array:
    """Uᵀg, tile after tile."""
    parts = np.empty((-(-len(g) // TILE_ROWS), count))
    spread(partial(project, np.ascontiguousarray(g, dtype=float), parts), len(parts), 1, work)
    return in_order(parts)


SOURCES: dict[str, Entries] = {"signs": Signs(sign_block), "normals": Normals(normal_block)}


@lru_cache(maxsize=16)
def _addresses(bits: np.random.BitGenerator) -> tuple[int, int]:
    """Of the C function that draws 32 bits, and of the state it draws them from."""
    interface = bits.ctypes
    return ctypes.cast(interface.next_uint32, ctypes.c_void_p).value or 0, interface.state_address


def integers(rng: np.random.Generator, n: int, size: int) -> Indices:
    """See :func:`zofw.kernels.plain.integers`; the generator is left in the same state."""
    if not 1 < n < 1 << 32:
        return plain.integers(rng, n, size)
    out = np.empty(size, dtype=np.int64)
    with rng.bit_generator.lock:
        entries.draw_indices(*_addresses(rng.bit_generator), n, out)
    return out


def values(loss: str, t: Array) -> Array:
    """See :func:`zofw.kernels.plain.values`."""
    sums.loss_values(NUMBER[loss], t.reshape(-1))
    return t


def total(loss: str, t: Array) -> float:
    """See :func:`zofw.kernels.plain.total`."""
    out = np.empty(-(-len(t) // TOTAL_LINES))
    spread(partial(sums.margin_totals, NUMBER[loss], t, out), len(out), TOTAL_PIECE, 4 * len(t))
    return float(sum(out.tolist()))


def margins(rows: Rows, points: Array) -> Array:
    """See :func:`zofw.kernels.plain.margins`."""
    out = np.empty((len(points), rows.last - rows.first))
    task = partial(sums.row_margins(rows), rows, np.ascontiguousarray(points), out)
    spread(task, out.shape[1], PIECE_LINES, rows.about * len(points))
    return out


def stencil_sums(loss: str, t: Array, along: Array, steps: StencilSteps) -> Array:
    """See :func:`zofw.kernels.plain.stencil_sums`."""
    parts = np.empty((-(-t.shape[1] // LINES), len(t), steps.sides * along.shape[1] + steps.base))
    task = partial(sums.product_groups, NUMBER[loss], t, along, steps, parts)
    spread(task, len(parts), 1, t.shape[1] * len(t) * parts.shape[2])
    return in_order(parts)


def answer(
    kernel: str, loss: str, rows: Rows, shift: Shift, points: Array, U: Source, steps: StencilSteps
) -> Array:
    """See :func:`zofw.kernels.plain.answer`; kernels are those of :mod:`zofw.kernels.table`."""
    points, size = np.ascontiguousarray(points), rows.last - rows.first
    parts = np.empty((-(-size // LINES), len(points), steps.sides * U.columns + steps.base))
    if kernel == "column_blocks":
        (touched, where), t = rows.touched(), shift.of(margins(rows, points), rows)
        model = (rows, NUMBER[loss], where, touched, t)
        task = partial(sums.column_blocks(rows), *model, U, steps, parts)
        spread(task, -(-U.columns // sums.COLUMNS), 1, U.columns * (3 * len(touched) + rows.about // 2))
        return in_order(parts)
    tabled = kernel == "row_groups, table"
    task = partial(sums.row_groups(rows), rows, NUMBER[loss], shift, points, U, steps, tabled, parts)
    work = U.columns * (rows.about // 5 + size * len(points))
    return np.asarray(parts[0]) if spread(task, len(parts), 1, work) else in_order(parts)


def coordinate_sums(
    loss: str, rows: Rows, place: Indices | None, width: int, t: Array, steps: StencilSteps
) -> Array:
    """See :func:`zofw.kernels.plain.coordinate_sums`."""
    lines = coordinate_lines(rows, len(t) * steps.sides * width)
    parts = np.empty((-(-rows.size // lines), len(t), steps.sides * width + 1))
    where = EVERY_ROW if place is None else place
    task = partial(sums.coordinate_groups(rows), rows, NUMBER[loss], where, t, steps, lines, parts)
    spread(task, len(parts), 1, 4 * len(t) * steps.sides * rows.about)
    out = in_order(parts)
    out[:, :-1] += out[:, -1:]
    return out
