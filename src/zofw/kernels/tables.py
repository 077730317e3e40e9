"""Kernels of Z U where rows of U stand in a table."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba.core.types import int64, void

from zofw.kernels import packs
from zofw.kernels.generator import U64
from zofw.kernels.jit import INTS, LONGS, OUT_LONGS, OUT_TABLE, REALS, TABLE, device, kernel
from zofw.kernels.packs import put


@kernel(OUT_LONGS(INTS, INTS, INTS, OUT_LONGS), OUT_LONGS(LONGS, LONGS, LONGS, OUT_LONGS))
def touched_rows(indices: Any, starts: Any, ends: Any, where: Any) -> Any:
    """The coordinates that occur, increasing; where[i] becomes the place of i among them."""
    where[:] = 0
    for s in range(len(starts)):
        for p in range(starts[s], ends[s]):
            where[indices[p]] = 1
    rows = np.empty(where.sum(), np.int64)
    place = 0
    for i in range(len(where)):
        if where[i] == 1:
            rows[place] = i
            where[i] = place
            place += 1
    return rows


def _strips(size: int) -> Any:
    """Sums of so many columns of a table at a time, from column j on; the first column that is left."""
    at, each = packs.of_size(size)

    @device
    def strips(
        data: Any, indices: Any, begin: Any, end: Any, where: Any, table: Any, j: Any, out: Any, place: Any
    ) -> Any:
        width = U64(table.shape[1])
        while j + U64(size) <= width:
            total = each(0.0)
            for p in range(begin, end):
                total = total + data[p] * at(table, U64(where[U64(indices[p])]) * width + j)
            put(out, place + j, total)
            j += U64(size)
        return j

    return strips


strips_32, strips_16, strips_8, strips_4, strips_1 = map(_strips, (32, 16, 8, 4, 1))


@device
def gather(
    data: Any, indices: Any, starts: Any, ends: Any, first: int, n: int, where: Any, table: Any, out: Any, top: int,
    left: int,
) -> None:  # fmt: skip
    """out[top + i, left:left + width] = Σ_p data[p] · table[where[indices[p]]] over the non-zeros of row first + i, in order.

    As many columns to a pass as registers hold: the length of a row is a surprise once a pass. Places are unsigned: nobody looks
    at their signs.
    """
    for i in range(n):
        begin, end = U64(starts[U64(first + i)]), U64(ends[U64(first + i)])
        place = U64(top + i) * U64(out.shape[1]) + U64(left)
        j = strips_32(data, indices, begin, end, where, table, U64(0), out, place)
        j = strips_16(data, indices, begin, end, where, table, j, out, place)
        j = strips_8(data, indices, begin, end, where, table, j, out, place)
        j = strips_4(data, indices, begin, end, where, table, j, out, place)
        strips_1(data, indices, begin, end, where, table, j, out, place)


def _gather(index: Any) -> Any:
    return void(REALS, index, index, index, LONGS, TABLE, int64, OUT_TABLE, int64, int64)


@kernel(_gather(INTS), _gather(LONGS))
def gather_rows(
    data: Any,
    indices: Any,
    starts: Any,
    ends: Any,
    where: Any,
    table: Any,
    left: int,
    out: Any,
    start: int,
    stop: int,
) -> None:
    """out[start:stop, left:left + width] = Z table, the table holding the touched rows of U."""
    gather(data, indices, starts, ends, start, stop - start, where, table, out, start, left)
