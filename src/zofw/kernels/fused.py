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
from zofw.kernels.compiled_stencils import (
    COEFFICIENTS,
    GROUPS,
    NAMES,
    QUAD,
    add_group,
    add_groups,
    group_series,
    keep_group,
)
from zofw.kernels.generator import GOLDEN, U64, mix, stream
from zofw.kernels.jit import INTS, LONGS, OUT_TABLE, REALS, TABLE, as_bits, device, fetch, kernel
from zofw.kernels.normals import normal_rows
from zofw.kernels.rows import Rows
from zofw.kernels.signs import sign_table, signed
from zofw.kernels.stencils import LINES, LOSSES, Source
from zofw.kernels.tables import gather, touched_rows
from zofw.kernels.threads import spread
from zofw.kernels.words import WORD_BITS

SIGNS, NORMALS = 0, 1
KINDS: dict[str | None, int] = {"signs": SIGNS, "normals": NORMALS}
CONSTANTS = {name: (place, LOSSES[name].reach, LOSSES[name].far) for place, name in enumerate(NAMES)}
KEPT_ENTRIES = 1 << 15  # entries of all of U that are drawn once and kept
KEPT_WORDS = 1 << 13  # words of all of U that are drawn once and kept
FETCHED = 32  # entries at the beginning of a row that are asked for ahead
COLUMNS = 32  # columns of U drawn at a time where rows stream past them
COEFFICIENT_TABLES = types.Array(float64, 3, "C", readonly=True)
NONE = np.empty(0, dtype=np.int64)
NO_OFFSETS = np.empty(0)


@device
def row_bounds(indptr: Any, picked: Any, top: int, begins: Any, ends: Any, n: int) -> None:
    """Where the non-zeros of rows top, …, top + n − 1 of the batch begin and end; an empty list picks every row."""
    for i in range(n):
        row = U64(picked[U64(top + i)]) if len(picked) else U64(top + i)
        begins[i] = U64(indptr[row])
        ends[i] = U64(indptr[row + U64(1)])


@device
def fetch_rows(data: Any, indices: Any, indptr: Any, picked: Any, top: int, last: int) -> None:
    """Ask for the beginnings of the rows of the group at ``top``: rows picked at random come from far away."""
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
def word(key: Any, kept: Any, row: Any, w: int) -> Any:
    """Word w of a row, complemented; from the table where there is one."""
    if kept.shape[0]:
        return kept[row, w]
    return ~mix(stream(key, row) + U64(w + 1) * GOLDEN)


@device
def group_signs(
    key: Any, kept: Any, data: Any, indices: Any, begins: Any, ends: Any, n: int, total: Any, along: Any
) -> None:
    """along[i] = z_iᵀU for random signs, four non-zeros to a pass, in their order."""
    for i in range(n):
        for left in range(0, along.shape[1], WORD_BITS):
            w, width = left // WORD_BITS, min(WORD_BITS, along.shape[1] - left)
            for j in range(width):
                total[j] = 0.0
            p, last = begins[i], ends[i]
            while p + U64(4) <= last:
                q, r, s = p + U64(1), p + U64(2), p + U64(3)
                z0, z1, z2, z3 = as_bits(data[p]), as_bits(data[q]), as_bits(data[r]), as_bits(data[s])
                f0, f1 = word(key, kept, U64(indices[p]), w), word(key, kept, U64(indices[q]), w)
                f2, f3 = word(key, kept, U64(indices[r]), w), word(key, kept, U64(indices[s]), w)
                for j in range(width):
                    total[j] = (
                        ((total[j] + signed(z0, f0, j)) + signed(z1, f1, j)) + signed(z2, f2, j)
                    ) + signed(z3, f3, j)
                p += U64(4)
            while p < last:
                z0, f0 = as_bits(data[p]), word(key, kept, U64(indices[p]), w)
                for j in range(width):
                    total[j] += signed(z0, f0, j)
                p += U64(1)
            for j in range(width):
                along[i, left + j] = total[j]


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
    """Groups start, …, stop − 1 of the sums over rows first, …, last − 1 of the batch; all groups leave their total in the first.

    All of U is drawn into a table where it is small, with the points beside it, so that margins come with the products.
    Columns are filled up with zeros to whole quads.
    """
    k, sides, dim = sums.shape[1], 2 if two_sided else 1, points.shape[1]
    count = (sums.shape[2] - (1 if base else 0)) // sides
    wide, words = (count + QUAD - 1) // QUAD * QUAD, (count + WORD_BITS - 1) // WORD_BITS
    fetch_rows(data, indices, indptr, picked, first + start * LINES, last)
    tabled = dim * count <= KEPT_ENTRIES
    kept = np.empty((dim if not tabled and dim * words <= KEPT_WORDS else 0, words), np.uint64)
    for i in range(kept.shape[0]):
        current = stream(key, i)
        for w in range(words):
            kept[i, w] = ~mix(current + U64(w + 1) * GOLDEN)
    beside = (k + QUAD - 1) // QUAD * QUAD if tabled else 0
    table, everywhere = np.zeros((dim if tabled else 0, wide + beside)), np.arange(dim if tabled else 0)
    for i in range(len(table)):
        for a in range(k):
            table[i, wide + a] = points[a, i]
    if tabled and kind == NORMALS:
        normal_rows(key, everywhere, 0, count, table, 0, dim)
    elif tabled:
        sign_table(key, count, table)
    begins, ends, total = np.empty(LINES, np.uint64), np.empty(LINES, np.uint64), np.empty(WORD_BITS)
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
            group_signs(key, kept, data, indices, begins, ends, n, total, along)
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
