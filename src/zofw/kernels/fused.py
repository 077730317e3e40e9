"""A linear model's whole answer in one call: margins, products with the directions and sums of losses, group by group.

The operations and their order are those of :mod:`zofw.kernels.stencils` and :mod:`zofw.kernels.plain`, hence the bits too.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from numba.core import types
from numba.core.types import boolean, float64, int64, uint64, void

from zofw.core import Array, Indices
from zofw.kernels import packs
from zofw.kernels.compiled_stencils import (
    COEFFICIENTS,
    GROUPS,
    NAMES,
    add_group,
    add_groups,
    group_series,
    keep_group,
)
from zofw.kernels.generator import GOLDEN, U64, mix, stream
from zofw.kernels.jit import INTS, LONGS, OUT_TABLE, REALS, TABLE, device, fetch, kernel
from zofw.kernels.normals import normal_rows
from zofw.kernels.packs import QUAD, SIGN_BITS, half_word_signs, put
from zofw.kernels.rows import Rows
from zofw.kernels.signs import sign_table
from zofw.kernels.stencils import LINES, LOSSES, Source
from zofw.kernels.tables import gather, touched_rows
from zofw.kernels.threads import spread
from zofw.kernels.words import WORD_BITS

SIGNS, NORMALS = 0, 1
KINDS: dict[str | None, int] = {"signs": SIGNS, "normals": NORMALS}
CONSTANTS = {name: (place, LOSSES[name].reach, LOSSES[name].far) for place, name in enumerate(NAMES)}
KEPT_ENTRIES = 1 << 15  # entries of all of U that are drawn once and kept
FETCHED = 32  # entries at the beginning of a row that are asked for ahead
COLUMNS = 32  # columns of U drawn at a time where rows stream past them
COEFFICIENT_TABLES = types.Array(float64, 3, "C", readonly=True)
NONE = np.empty(0, dtype=np.int64)
NO_OFFSETS = np.empty(0)
_, each = packs.of_size(SIGN_BITS)


@device
def row_bounds(indptr: Any, picked: Any, top: int, begins: Any, ends: Any, n: int) -> None:
    """Where the non-zeros of rows top, …, top + n − 1 of the batch begin and end; an empty list picks every row."""
    for i in range(n):
        row = U64(picked[U64(top + i)]) if len(picked) else U64(top + i)
        begins[i] = U64(indptr[row])
        ends[i] = U64(indptr[row + U64(1)])


@device
def fetch_rows(data: Any, indices: Any, indptr: Any, picked: Any, top: int, last: int) -> None:
    """Ask for the beginnings of the rows of the group at ``top``: rows picked at random come from far away.

    An empty row asks for the place before it, which may be outside: asking is harmless.
    """
    for i in range(top, min(top + LINES, last) if len(picked) else top):
        row = U64(picked[U64(i)])
        begin, end = U64(indptr[row]), U64(indptr[row + U64(1)])
        for p in range(begin, min(end, begin + U64(FETCHED)), U64(8)):
            fetch(data, p)
            fetch(indices, p)
        fetch(data, end - U64(1))
        fetch(indices, end - U64(1))


@device
def group_margins(data: Any, indices: Any, begins: Any, ends: Any, points: Any, n: int, t: Any) -> None:
    """t[a·32 + i] = z_iᵀx_a, non-zeros in their order; 0 behind the last row."""
    t[:] = 0.0
    for a in range(points.shape[0]):
        x, out = points[a], t[a * LINES : a * LINES + n]
        for i in range(n):
            total, p, last = 0.0, begins[i], ends[i]
            while p < last:
                total += data[p] * x[U64(indices[p])]
                p += U64(1)
            out[i] = total


@device
def shift_margins(t: Any, shifts: Any, unit: float, n: int) -> None:
    """t[a·32 + i] becomes (t[a·32 + i] − c_i)/unit."""
    for first in range(0, len(t) if len(shifts) else 0, LINES):
        for i in range(n):
            t[first + i] -= shifts[i]
    if unit != 1.0:
        for i in range(len(t)):
            t[i] /= unit


@device
def group_signs(
    key: Any, data: Any, indices: Any, begins: Any, ends: Any, n: int, words: Any, along: Any
) -> None:
    """along[i] = z_iᵀU for random signs, non-zeros in their order, half a word of columns at a time."""
    wide = U64(along.shape[1])
    for i in range(n):
        begin, end = begins[i], ends[i]
        for p in range(begin, end):
            words[0, p - begin] = stream(key, U64(indices[p]))
        for left in range(U64(0), wide, U64(WORD_BITS)):
            step = (left // U64(WORD_BITS) + U64(1)) * GOLDEN
            for p in range(begin, end):
                words[1, p - begin] = mix(words[0, p - begin] + step)
            for half in range(U64(0), min(U64(WORD_BITS), wide - left), U64(SIGN_BITS)):
                total = each(0.0)
                for p in range(begin, end):
                    total = total + data[p] * half_word_signs(words[1, p - begin] >> half)
                put(along, U64(i) * wide + left + half, total)


def _answer(index: Any) -> Any:
    model = (REALS, index, index, LONGS, int64, int64, REALS, float64)
    return void(
        int64, float64, float64, *model, TABLE, int64, uint64, float64, boolean, boolean, GROUPS, int64, int64
    )


@kernel(_answer(INTS), _answer(LONGS))
def answer_groups(
    loss: int, reach: float, far: float, data: Any, indices: Any, indptr: Any, picked: Any, first: int, last: int,
    offsets: Any, unit: float, points: Any, kind: int, key: Any, mu: float, two_sided: Any, base: Any, sums: Any,
    start: int, stop: int,
) -> None:  # fmt: skip
    """Groups start, …, stop − 1 of the sums over rows first, …, last − 1 of the batch.

    Where these are all groups, the first has their total in the end.
    All of U is drawn into a table where it is small, with the points beside it, so that margins come with the products.
    Columns are filled up with zeros to whole packs.
    """
    k, sides, dim = sums.shape[1], 2 if two_sided else 1, points.shape[1]
    count = (sums.shape[2] - (1 if base else 0)) // sides
    fetch_rows(data, indices, indptr, picked, first + start * LINES, last)
    tabled = dim * count <= KEPT_ENTRIES
    unit_columns = QUAD if tabled else SIGN_BITS
    wide = (count + unit_columns - 1) // unit_columns * unit_columns
    beside = (k + QUAD - 1) // QUAD * QUAD if tabled else 0
    table, everywhere = np.zeros((dim if tabled else 0, wide + beside)), np.arange(dim if tabled else 0)
    for i in range(len(table)):
        for a in range(k):
            table[i, wide + a] = points[a, i]
    if tabled and kind == NORMALS:
        normal_rows(key, everywhere, 0, count, table, 0, dim)
    elif tabled:
        sign_table(key, count, table)
    begins, ends, words = np.empty(LINES, np.uint64), np.empty(LINES, np.uint64), np.empty((2, 0), np.uint64)
    t, c, spare = np.empty(k * LINES), np.empty((COEFFICIENTS, k * LINES)), np.empty((3, k * LINES))
    along, values, totals = np.empty((LINES, wide + beside)), np.empty(2 * wide), np.empty((k, sides * wide))
    shifts = np.empty(LINES if len(offsets) else 0)
    for g in range(start, stop):
        top = first + g * LINES
        n = min(LINES, last - top)
        row_bounds(indptr, picked, top, begins, ends, n)
        fetch_rows(data, indices, indptr, picked, top + LINES, last)
        for i in range(n if len(offsets) else 0):
            shifts[i] = offsets[picked[top + i]] if len(picked) else offsets[top + i]
        if tabled:
            gather(data, indices, begins, ends, 0, n, everywhere, table, along, 0, 0)
            for a in range(k):
                for i in range(LINES):
                    t[a * LINES + i] = along[i, wide + a] if i < n else 0.0
        else:
            group_margins(data, indices, begins, ends, points, n, t)
            longest = (ends[:n] - begins[:n]).max()
            if longest > words.shape[1]:
                words = np.empty((2, longest), np.uint64)
            group_signs(key, data, indices, begins, ends, n, words, along)
            along[:, count:] = 0.0
        shift_margins(t, shifts, unit, n)
        group_series(loss, t, c, spare)
        totals[:] = 0.0
        add_group(loss, reach, far, t, c, along, n, mu, two_sided, values, totals)
        keep_group(totals, c, n, count, 0, sides, base, sums, g)
    for g in range(1, len(sums) if stop - start == len(sums) else 1):
        sums[0] += sums[g]


def _prepare(index: Any) -> Any:
    return void(int64, REALS, index, index, index, REALS, float64, TABLE, OUT_TABLE, GROUPS, int64, int64)


@kernel(_prepare(INTS), _prepare(LONGS))
def prepare_groups(
    loss: int, data: Any, indices: Any, starts: Any, ends: Any, offsets: Any, unit: float, points: Any, t: Any, c: Any,
    start: int, stop: int,
) -> None:  # fmt: skip
    """Margins and coefficients of groups start, …, stop − 1."""
    begins, lasts, spare = np.empty(LINES, np.uint64), np.empty(LINES, np.uint64), np.empty((3, t.shape[1]))
    for g in range(start, stop):
        top = g * LINES
        n = min(LINES, len(starts) - top)
        for i in range(n):
            begins[i], lasts[i] = U64(starts[top + i]), U64(ends[top + i])
        group_margins(data, indices, begins, lasts, points, n, t[g])
        shift_margins(t[g], offsets[top:], unit, n)
        group_series(loss, t[g], c[g], spare)


def _columns(index: Any) -> Any:
    model = (REALS, index, index, index, LONGS, LONGS, TABLE, COEFFICIENT_TABLES)
    return void(
        int64, float64, float64, *model, uint64, int64, float64, boolean, boolean, GROUPS, int64, int64
    )


@kernel(_columns(INTS), _columns(LONGS))
def column_blocks(
    loss: int, reach: float, far: float, data: Any, indices: Any, starts: Any, ends: Any, where: Any, touched: Any, t: Any,
    c: Any, key: Any, count: int, mu: float, two_sided: Any, base: Any, sums: Any, start: int, stop: int,
) -> None:  # fmt: skip
    """Blocks start, …, stop − 1 of 32 columns: the touched entries of each are drawn once, and all rows stream past them."""
    k, sides, wide = sums.shape[1], 2 if two_sided else 1, min(COLUMNS, (count + QUAD - 1) // QUAD * QUAD)
    table, along = np.empty((len(touched), wide)), np.empty((LINES, wide))
    values, totals = np.empty(2 * wide), np.empty((k, sides * wide))
    for left in range(start * wide, min(count, stop * wide), wide):
        width = min(count - left, wide)
        table[:, width:] = 0.0
        normal_rows(key, touched, left, left + width, table, 0, len(touched))
        for g in range(len(sums)):
            top = g * LINES
            n = min(LINES, len(starts) - top)
            gather(data, indices, starts, ends, top, n, where, table, along, 0, 0)
            totals[:] = 0.0
            add_group(loss, reach, far, t[g], c[g], along, n, mu, two_sided, values, totals)
            keep_group(totals, c[g], n, count, left, sides, base and left == 0, sums, g)


def answer(
    name: str, A: Any, picked: Indices | None, part: tuple[int, int], shift: tuple[Array | None, float], points: Array,
    U: Source, mu: float, two_sided: bool, base: bool,
) -> Array:  # fmt: skip
    """:func:`zofw.kernels.stencils.answer` for directions of a kind."""
    (first, last), (offsets, unit), count, kind = part, shift, U.count, U.kind
    rows, k, points = last - first, len(points), np.ascontiguousarray(points)
    sums = np.empty(((rows + LINES - 1) // LINES, k, count * (1 + two_sided) + base))
    if kind == "normals" and A.shape[1] * count > KEPT_ENTRIES:
        index = slice(first, last) if picked is None else picked[first:last]
        shifts = NO_OFFSETS if offsets is None else np.ascontiguousarray(offsets[index])
        by_columns(
            name, Rows.of(A, index), shifts, unit, points, U.key, count, mu / unit, two_sided, base, sums
        )
        added = len(sums) == 1
    else:
        task = partial(
            answer_groups, *CONSTANTS[name], A.data, A.indices, A.indptr, NONE if picked is None else picked, first, last,
            NO_OFFSETS if offsets is None else offsets, unit, points, KINDS[kind], U.key, mu / unit, two_sided, base, sums,
        )  # fmt: skip
        nonzeros = len(A.data) * rows // A.shape[0]
        added = spread(task, len(sums), 1, count * (nonzeros // 5 + rows * k))
    if added:
        return np.asarray(sums[0])
    out = np.empty(sums.shape[1:])
    add_groups(sums, out)
    return out


def by_columns(
    name: str, rows: Rows, shifts: Array, unit: float, points: Array, key: int, count: int, mu: float, two_sided: bool,
    base: bool, sums: Array,
) -> None:  # fmt: skip
    """The groups' sums for normal entries, many columns of U at a time."""
    k = len(points)
    model = (rows.data, rows.indices, rows.starts, rows.ends)
    t, c = np.empty((len(sums), k * LINES)), np.empty((len(sums), COEFFICIENTS, k * LINES))
    task = partial(prepare_groups, CONSTANTS[name][0], *model, shifts, unit, points, t, c)
    spread(task, len(sums), 1, k * (rows.nnz + 8 * len(rows.starts)))
    where = np.empty(rows.shape[1], dtype=np.int64)
    touched = touched_rows(rows.indices, rows.starts, rows.ends, where)
    task = partial(
        column_blocks, *CONSTANTS[name], *model, where, touched, t, c, key, count, mu, two_sided, base, sums
    )
    spread(task, -(-count // COLUMNS), 1, count * (3 * len(touched) + rows.nnz // 2))
