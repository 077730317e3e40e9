"""The operations of :mod:`zofw.kernels.plain` in numba: the same sums in the same order, hence the same bits."""

from __future__ import annotations

from functools import partial

import numpy as np

from zofw.core import Array, Indices
from zofw.kernels.normals import normal_combine, normal_project, normal_rows
from zofw.kernels.plain import BYTE_VALUES, TILE_ROWS, WORD_BYTES, Numbers
from zofw.kernels.rows import Rows
from zofw.kernels.signs import (
    byte_tables,
    sign_combine,
    sign_combine_at_once,
    sign_product,
    sign_project,
    sign_rows,
)
from zofw.kernels.tables import gather_rows, touched_rows
from zofw.kernels.threads import THREADS_REPAY, spread
from zofw.kernels.words import WORD_BITS

PIECE_ROWS = 1024  # rows of U in one piece of U c
PIECE_ENTRIES = 1 << 16  # entries of U in one piece of a block
PIECE_LINES = 32  # rows of Z in one piece of Z U
BLOCK_COLUMNS = 64  # columns of U kept at a time for Z U
BUFFER_ENTRIES = 1 << 22  # entries of one block of columns kept for Z U


class Normals:
    """Standard normal entries."""

    def block(self, key: int, rows: Indices, left: int, right: int) -> Array:
        rows = np.ascontiguousarray(rows, dtype=np.int64)
        out = np.empty((len(rows), right - left))
        size = max(1, PIECE_ENTRIES // max(1, right - left))
        spread(partial(normal_rows, key, rows, left, right, out), len(rows), size, 3 * out.size)
        return out

    def combine(self, key: int, dim: int, c: Array) -> Array:
        out, even = np.empty(dim), np.ascontiguousarray(np.append(c, 0.0) if len(c) % 2 else c, dtype=float)
        spread(partial(normal_combine, key, even, out), dim, PIECE_ROWS, 3 * dim * len(c))
        return out

    def project(self, key: int, g: Array, count: int) -> Array:
        return self._project(key, np.ascontiguousarray(g, dtype=float), count, 1)

    def squares(self, key: int, dim: int, count: int) -> Array:
        return self._project(key, np.ones(dim), count, 2)

    def _project(self, key: int, g: Array, count: int, power: int) -> Array:
        parts = np.empty((-(-len(g) // TILE_ROWS), count))
        spread(partial(normal_project, key, g, power, parts), len(parts), 1, 3 * len(g) * count)
        return _in_order(parts)

    def product(self, key: int, Z: Rows, count: int) -> Array:
        where = np.empty(Z.shape[1], dtype=np.int64)
        rows = touched_rows(Z.indices, Z.starts, Z.ends, where)
        out = np.empty((Z.shape[0], count))
        width = min(BLOCK_COLUMNS, max(4, BUFFER_ENTRIES // max(1, len(rows)) // 2 * 2))
        for left in range(0, count, width):
            table = self.block(key, rows, left, min(count, left + width))
            task = partial(gather_rows, Z.data, Z.indices, Z.starts, Z.ends, where, table, left, out)
            spread(task, Z.shape[0], PIECE_LINES, Z.nnz * table.shape[1] // 2)
        return out


class Signs:
    """Random signs."""

    def block(self, key: int, rows: Indices, left: int, right: int) -> Array:
        rows = np.ascontiguousarray(rows, dtype=np.int64)
        out = np.empty((len(rows), right - left))
        size = max(1, PIECE_ENTRIES // max(1, right - left))
        spread(partial(sign_rows, key, rows, left, right, out), len(rows), size, out.size)
        return out

    def combine(self, key: int, dim: int, c: Array) -> Array:
        out, work = np.empty(dim), dim * len(c) // 12
        if work < THREADS_REPAY:
            sign_combine_at_once(key, np.ascontiguousarray(c, dtype=float), out)
            return out
        tables = np.empty((-(-len(c) // WORD_BITS) * WORD_BYTES, BYTE_VALUES))
        byte_tables(np.ascontiguousarray(c, dtype=float), tables)
        spread(partial(sign_combine, key, tables, out), dim, PIECE_ROWS, work)
        return out

    def project(self, key: int, g: Array, count: int) -> Array:
        parts = np.empty((-(-len(g) // TILE_ROWS), count))
        spread(
            partial(sign_project, key, np.ascontiguousarray(g, dtype=float), parts),
            len(parts),
            1,
            len(g) * count // 8,
        )
        return _in_order(parts)

    def squares(self, key: int, dim: int, count: int) -> Array:
        return np.full(count, float(dim))

    def product(self, key: int, Z: Rows, count: int) -> Array:
        out = np.empty((Z.shape[0], count))
        task = partial(sign_product, key, Z.data, Z.indices, Z.starts, Z.ends, out)
        spread(task, Z.shape[0], PIECE_LINES, Z.nnz * count // 5)
        return out


def _in_order(parts: Array) -> Array:
    """The sum of the tiles, one after the other."""
    total = np.zeros(parts.shape[1])
    for part in parts:
        total += part
    return total


SOURCES: dict[str, Numbers] = {"signs": Signs(), "normals": Normals()}
