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
    add_group,
    add_groups,
    group_series,
    keep_group,
)
from zofw.kernels.generator import GOLDEN, U64, mix, stream
from zofw.kernels.jit import INTS, LONGS, OUT_TABLE, REALS, TABLE, as_bits, device, kernel
from zofw.kernels.normals import gather, normal_rows, touched_rows
from zofw.kernels.rows import Rows
from zofw.kernels.signs import signed
from zofw.kernels.stencils import LINES, LOSSES, STRIP
from zofw.kernels.threads import spread
from zofw.kernels.words import WORD_BITS

SIGNS, NORMALS = 0, 1
KINDS = {"signs": SIGNS, "normals": NORMALS}
KEPT_WORDS = 1 << 13  # words of all rows of U that are drawn once and kept
KEPT_NORMALS = 1 << 15  # entries of U that are drawn once and kept
VECTOR = 4  # numbers of a vector register, of which columns fill whole ones
COLUMNS = 32  # columns of U drawn at a time where rows stream past them
PIECE_ROWS = 1024  # rows of U in one piece of a block
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
def touch(data: Any, indices: Any, begins: Any, ends: Any, n: int, spare: Any) -> None:
    """Ask for both ends of every row at once: rows picked at random come from far away, and better together."""
    total = 0.0
    for i in range(n):
        if ends[i] > begins[i]:
            last = ends[i] - U64(1)
            total += (data[begins[i]] + data[last]) + (indices[begins[i]] + indices[last])
    spare[0] = total


@device
def group_margins(
    data: Any, indices: Any, begins: Any, ends: Any, points: Any, shifts: Any, unit: float, n: int, t: Any
) -> None:
    """t[a·32 + i] = (z_iᵀx_a − c_i)/unit, non-zeros in their order; 0 behind the last row."""
    t[:] = 0.0
    for a in range(points.shape[0]):
        x, out = points[a], t[a * LINES : a * LINES + n]
        for i in range(n):
            total, p, last = 0.0, begins[i], ends[i]
            while p < last:
                total += data[p] * x[U64(indices[p])]
                p += U64(1)
            out[i] = total
        if len(shifts):
            for i in range(n):
                out[i] -= shifts[i]
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

    Columns are filled up with zeros to whole vectors.
    """
    k, sides, dim = sums.shape[1], 2 if two_sided else 1, points.shape[1]
    count = (sums.shape[2] - (1 if base else 0)) // sides
    wide, words = (count + VECTOR - 1) // VECTOR * VECTOR, (count + WORD_BITS - 1) // WORD_BITS
    kept = np.empty((dim if kind == SIGNS and dim * words <= KEPT_WORDS else 0, words), np.uint64)
    for i in range(kept.shape[0]):
        current = stream(key, i)
        for w in range(words):
            kept[i, w] = ~mix(current + U64(w + 1) * GOLDEN)
    table = np.zeros((dim if kind == NORMALS else 0, wide))
    everywhere = np.arange(dim if kind == NORMALS else 0)
    if kind == NORMALS:
        normal_rows(key, everywhere, 0, count, table, 0, dim)
    begins, ends, total = np.empty(LINES, np.uint64), np.empty(LINES, np.uint64), np.empty(WORD_BITS)
    t, c, spare = np.empty(k * LINES), np.empty((COEFFICIENTS, k * LINES)), np.empty((3, k * LINES))
    along, values, totals = np.empty((LINES, wide)), np.empty(2 * wide), np.empty((k, sides * wide))
    shifts = np.empty(LINES if len(offsets) else 0)
    for g in range(start, stop):
        top = first + g * LINES
        n = min(LINES, last - top)
        row_bounds(indptr, picked, top, begins, ends, n)
        touch(data, indices, begins, ends, n, values)
        for i in range(n if len(offsets) else 0):
            shifts[i] = offsets[picked[top + i]] if len(picked) else offsets[top + i]
        group_margins(data, indices, begins, ends, points, shifts, unit, n, t)
        if kind == SIGNS:
            group_signs(key, kept, data, indices, begins, ends, n, total, along)
            along[:, count:] = 0.0
        else:
            gather(data, indices, begins, ends, 0, n, everywhere, table, along, 0, 0)
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
        group_margins(data, indices, begins, lasts, points, offsets[top:], unit, n, t[g])
        group_series(loss, t[g], c[g], spare)


def _columns(index: Any) -> Any:
    model = (REALS, index, index, index, LONGS, TABLE, TABLE, COEFFICIENT_TABLES)
    return void(
        int64, float64, float64, *model, float64, boolean, boolean, int64, int64, GROUPS, int64, int64
    )


@kernel(_columns(INTS), _columns(LONGS))
def column_groups(
    loss: int, reach: float, far: float, data: Any, indices: Any, starts: Any, ends: Any, where: Any, table: Any, t: Any,
    c: Any, mu: float, two_sided: Any, base: Any, count: int, left: int, sums: Any, start: int, stop: int,
) -> None:  # fmt: skip
    """Groups start, …, stop − 1 of the sums along columns left, left + 1, …, whose touched entries are in the table."""
    k, sides, wide = sums.shape[1], 2 if two_sided else 1, table.shape[1]
    along, values, totals = np.empty((LINES, wide)), np.empty(2 * wide), np.empty((k, sides * wide))
    for g in range(start, stop):
        top = g * LINES
        n = min(LINES, len(starts) - top)
        gather(data, indices, starts, ends, top, n, where, table, along, 0, 0)
        totals[:] = 0.0
        add_group(loss, reach, far, t[g], c[g], along, n, mu, two_sided, values, totals)
        keep_group(totals, c[g], n, count, left, sides, base, sums, g)


def answer(
    name: str, A: Any, picked: Indices | None, first: int, last: int, offsets: Array | None, unit: float, points: Array,
    kind: str, key: int, count: int, mu: float, two_sided: bool, base: bool,
) -> Array:  # fmt: skip
    """Σ_i φ(t_i + μp_ij), then Σ_i φ(t_i − μp_ij), then Σ_i φ(t_i) over rows first, …, last − 1 of a batch, (k, values).

    t = (a_iᵀx − c_i)/unit for each of the points x and p = A U; see :func:`zofw.kernels.stencils.stencil_sums`.
    """
    sums, added = np.empty((-(-(last - first) // LINES), len(points), count * (1 + two_sided) + base)), False
    if kind == "normals" and A.shape[1] * count > KEPT_NORMALS:
        index = slice(first, last) if picked is None else picked[first:last]
        shifts = NO_OFFSETS if offsets is None else np.ascontiguousarray(offsets[index])
        by_columns(name, Rows.of(A, index), shifts, unit, points, key, count, mu, two_sided, base, sums)
    else:
        added = by_rows(
            name, A, picked, first, last, offsets, unit, points, kind, key, count, mu, two_sided, base, sums
        )
    if added or len(sums) == 1:
        return np.asarray(sums[0])
    out = np.empty(sums.shape[1:])
    add_groups(sums, out)
    return out


def by_columns(
    name: str, rows: Rows, shifts: Array, unit: float, points: Array, key: int, count: int, mu: float, two_sided: bool,
    base: bool, sums: Array,
) -> None:  # fmt: skip
    """The groups' sums for normal entries: each block of columns of U is drawn once, and all rows stream past it."""
    loss, k = LOSSES[name], len(points)
    model = (rows.data, rows.indices, rows.starts, rows.ends)
    t, c = np.empty((len(sums), k * LINES)), np.empty((len(sums), COEFFICIENTS, k * LINES))
    task = partial(prepare_groups, NAMES.index(name), *model, shifts, unit, points, t, c)
    spread(task, len(sums), 1, k * (rows.nnz + 8 * len(rows.starts)))
    where = np.empty(rows.shape[1], dtype=np.int64)
    touched = touched_rows(rows.indices, rows.starts, rows.ends, where)
    table = np.empty((len(touched), min(COLUMNS, -(-count // STRIP) * STRIP)))
    for left in range(0, count, table.shape[1]):
        width = min(count - left, table.shape[1])
        if width < table.shape[1]:
            table[:, width:] = 0.0
        draw = partial(normal_rows, U64(key), touched, left, left + width, table)
        spread(draw, len(touched), PIECE_ROWS, 3 * table.size)
        sums_of = partial(
            column_groups, NAMES.index(name), loss.reach, loss.far, *model, where, table, t, c, mu, two_sided, base,
            count, left, sums,
        )  # fmt: skip
        spread(sums_of, len(sums), 1, rows.nnz * width // 2)


def by_rows(
    name: str, A: Any, picked: Indices | None, first: int, last: int, offsets: Array | None, unit: float, points: Array,
    kind: str, key: int, count: int, mu: float, two_sided: bool, base: bool, sums: Array,
) -> bool:  # fmt: skip
    """The groups' sums where entries of U are made as each row meets them, or all of U is kept; whether they are added up."""
    loss, k, rows = LOSSES[name], len(points), last - first
    task = partial(
        answer_groups, NAMES.index(name), loss.reach, loss.far, A.data, A.indices, A.indptr,
        NONE if picked is None else picked, first, last, NO_OFFSETS if offsets is None else offsets, unit, points,
        KINDS[kind], U64(key), mu, two_sided, base, sums,
    )  # fmt: skip
    entries = len(A.data) * rows // A.shape[0]
    return spread(task, len(sums), 1, entries * count // 5 + rows * k * count)
