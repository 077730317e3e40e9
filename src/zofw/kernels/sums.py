"""Kernels of sums over stencils, Σ_i φ(t_i ± μ a_iᵀu_j) without a table of values; their order is that of :mod:`zofw.kernels.plain`."""

from __future__ import annotations

from collections.abc import Callable
from inspect import isfunction
from typing import Any, NamedTuple

import numpy as np
from numba.core.types import boolean, int64, void
from numba.extending import register_jitable

from zofw.core import Array, Indices
from zofw.kernels import jit, losses
from zofw.kernels.entries import U64, group_signs, halve, normal_rows, sign_rows
from zofw.kernels.jit import device, fetch, kernel, over_rows
from zofw.kernels.losses import LINES, LOSSES, STRIP, TOTAL_LINES
from zofw.kernels.packs import QUAD, SIGN_BITS, any_beyond, four_at, of_size, put
from zofw.kernels.rows import Rows, Shift, Source, StencilSteps
from zofw.kernels.words import LANES, Words

NAMES = list(LOSSES)
LOGISTIC, WELSCH = NAMES.index("logistic"), NAMES.index("welsch")
NORMALS = 1  # the kind of a source; signs are 0
COLUMNS = 32  # columns of U drawn at a time where rows stream past them
FETCHED = 32  # entries at the beginning of a row that are asked for ahead
REACH, FAR = tuple(loss.reach for loss in LOSSES.values()), tuple(loss.far for loss in LOSSES.values())

for piece in filter(isfunction, vars(losses).values()):
    register_jitable(piece)


@device
def row_bounds(rows: Rows, top: int, begins: Words, ends: Words, n: int) -> None:
    """Where the non-zeros of positions top, …, top + n − 1 begin and end; unsigned, which spares a test of the sign."""
    indptr, picked = rows.indptr, rows.picked
    for i in range(n):
        row = U64(picked[U64(top + i)]) if len(picked) else U64(top + i)
        begins[i], ends[i] = U64(indptr[row]), U64(indptr[row + U64(1)])


@device
def fetch_rows(rows: Rows, top: int) -> None:
    """Ask for the beginnings of the rows of the group at ``top``: rows picked at random come
    from far away.

    For "a9a iteration, Rademacher" of ``make bench``, with its figure in
    docs/details/performance.md, as every trick here. An empty row asks for the place before it,
    which may be outside: asking is harmless.
    """
    data, indices, indptr, picked = rows.data, rows.indices, rows.indptr, rows.picked
    for i in range(top, min(top + LINES, rows.last) if len(picked) else top):
        row = U64(picked[U64(i)])
        begin, end = U64(indptr[row]), U64(indptr[row + U64(1)])
        for p in range(begin, min(end, begin + U64(FETCHED)), U64(8)):
            fetch(data, p)
            fetch(indices, p)
        fetch(data, end - U64(1))
        fetch(indices, end - U64(1))


def _strips(size: int) -> Callable[..., np.uint64]:
    """Return sums of so many columns of a table at a time, from column j on; the first column that is left."""
    at, each = of_size(size)

    @device
    def strips(
        data: Array, indices: Indices, begin: int, end: int, where: Indices, table: Array, j: np.uint64, out: Array, place: int
    ) -> np.uint64:  # fmt: skip
        width = U64(table.shape[1])
        while j + U64(size) <= width:
            total = each(0.0)
            for p in range(begin, end):
                total = total + data[p] * at(table, U64(where[U64(indices[p])]) * width + j)
            put(out, place + j, total)
            j += U64(size)
        return j

    return strips


strips_32, strips_16, strips_8, strips_4 = map(_strips, (32, 16, 8, 4))


@device
def gather(rows: Rows, begins: Words, ends: Words, n: int, where: Indices, table: Array, out: Array) -> None:
    """out[i] = Σ_p data[p] · table[where[indices[p]]] over the non-zeros of row i, in order;
    the width is a multiple of four.

    As many columns to a pass as registers hold: the length of a row is a surprise once a pass.
    What is called once a row takes arrays, not structures, whose references numba would count.
    """
    data, indices = rows.data, rows.indices
    for i in range(n):
        begin, end, place = begins[i], ends[i], U64(i) * U64(out.shape[1])
        j = strips_32(data, indices, begin, end, where, table, U64(0), out, place)
        j = strips_16(data, indices, begin, end, where, table, j, out, place)
        j = strips_8(data, indices, begin, end, where, table, j, out, place)
        strips_4(data, indices, begin, end, where, table, j, out, place)


@device
def value(loss: int, t: Any) -> Any:
    """Return φ(t)."""
    if loss == LOGISTIC:
        return losses.logistic_formula(t)
    if loss == WELSCH:
        return losses.welsch_formula(t)
    return losses.half_square(t)


@kernel(void(int64, jit.OUT))
def loss_values(loss: int, t: Array) -> None:
    """φ over t; a loop for each loss, for one over all of them is not vectorised."""
    if loss == LOGISTIC:
        for j in range(len(t)):
            t[j] = losses.logistic_formula(t[j])
    elif loss == WELSCH:
        for j in range(len(t)):
            t[j] = losses.welsch_formula(t[j])
    else:
        for j in range(len(t)):
            t[j] = losses.half_square(t[j])


@kernel(void(int64, jit.OUT, jit.OUT, int64, int64))
def margin_totals(loss: int, t: Array, out: Array, start: int, stop: int) -> None:
    """Groups start, …, stop − 1 of Σ_i φ(t_i), by lanes; destroys the margins."""
    lanes = np.empty(LANES)
    for g in range(start, stop):
        values = t[g * TOTAL_LINES : (g + 1) * TOTAL_LINES]
        loss_values(loss, values)
        lanes[:] = 0.0
        for top in range(0, len(values), LANES):
            for k in range(min(LANES, len(values) - top)):
                lanes[k] += values[top + k]
        out[g] = halve(lanes, LANES)


@device
def dot_rows(rows: Rows, begins: Words, ends: Words, x: Array, n: int, out: Array) -> None:
    """out[i] = Σ_p data[p] x[indices[p]] over the non-zeros of row i, in their order."""
    data, indices = rows.data, rows.indices
    for i in range(n):
        total = 0.0
        for p in range(begins[i], ends[i]):
            total += data[p] * x[U64(indices[p])]
        out[i] = total


@over_rows(jit.TABLE, jit.OUT_TABLE, int64, int64)
def row_margins(rows: Rows, points: Array, out: Array, start: int, stop: int) -> None:
    """out[a, start:stop] = (Z x_a)[start:stop]."""
    begins, ends = np.empty(LINES, np.uint64), np.empty(LINES, np.uint64)
    for top in range(start, stop, LINES):
        n = min(LINES, stop - top)
        row_bounds(rows, rows.first + top, begins, ends, n)
        for a in range(len(points)):
            dot_rows(rows, begins, ends, points[a], n, out[a, top:])


@device
def powers(c: Array, m: int, d: float) -> Any:
    """Return the even and the odd powers of c_0 + c_1 d + … + c_6 d⁶ with the coefficients c[:, m]."""
    x = d * d
    even = c[0, m] + x * (c[2, m] + x * (c[4, m] + x * c[6, m]))
    return even, d * (c[1, m] + x * (c[3, m] + x * c[5, m]))


@device
def polynomial(c: Array, m: int, d: float) -> Any:
    """Return the sum of both."""
    even, odd = powers(c, m, d)
    return even + odd


@device
def add_strips(
    loss: int, t: float, c: Array, m: int, steps: Array, sides: int, values: Array, total: Array
) -> None:
    """φ(t ± step), added to their totals, for a row not all of whose strips are within reach."""
    b = len(steps)
    for left in range(0, b, STRIP):
        near, right = abs(t) <= FAR[loss], min(b, left + STRIP)
        for j in range(left, right):
            near &= not abs(steps[j]) > REACH[loss]
        part = values[: right - left]
        for side in range(sides):
            for j in range(left, right):
                part[j - left] = steps[j] if side == 0 else -steps[j]
            if near:
                for j in range(len(part)):
                    part[j] = polynomial(c, m, part[j])
            else:
                for j in range(len(part)):
                    part[j] += t
                loss_values(loss, part)
            for j in range(len(part)):
                total[side * b + left + j] += part[j]


class Group(NamedTuple):
    """Room for a group of rows: t[a·32 + i], the margin of row i at point a; its coefficients; and everything in between."""

    begins: Words
    ends: Words
    t: Array
    c: Array
    along: Array  # p = A U, (32, b or more)
    values: Array
    totals: Array  # (k, b), or (k, 2b) for two sides; b is a multiple of four


@device
def room(k: int, sides: int, wide: int, beside: int) -> Group:
    """Return room for k points, and for as many columns as given of the sums and beside them."""
    return Group(
        np.empty(LINES, np.uint64), np.empty(LINES, np.uint64), np.zeros(k * LINES), np.empty((7, k * LINES)),
        np.zeros((LINES, wide + beside)), np.empty(2 * wide), np.empty((k, sides * wide)),
    )  # fmt: skip


@device
def series(loss: int, t: Array, c: Array) -> None:
    """c[:, m], the coefficients of the loss at t[m]; those of the half square end with the
    first.

    The logistic takes three passes, short enough for many numbers in flight: for "a9a
    iteration, Rademacher".
    """
    if loss == LOGISTIC:
        for m in range(len(t)):
            c[6, m] = losses.exp_minus(abs(t[m]))
        for m in range(len(t)):
            s, h = losses.quotient(c[6, m])
            c[0, m] = losses.softplus(t[m], s, h)
        for m in range(len(t)):
            sigma, s, w = losses.logistic_slopes(t[m], c[6, m])
            c[1, m] = -sigma
            c[2, m], c[3, m], c[4, m], c[5, m], c[6, m] = losses.logistic_higher(s, w)
    elif loss == WELSCH:
        for m in range(len(t)):
            c[0, m], c[1, m], c[2, m], c[3, m], c[4, m], c[5, m], c[6, m] = losses.welsch_series(t[m])
    else:
        for m in range(len(t)):
            c[0, m] = losses.half_square(t[m])


@device
def sum_group(
    group: Group, loss: int, steps: StencilSteps, n: int, count: int, left: int, sums: Array, g: int
) -> None:
    """sums[g] from the margins t and products p of n rows: Σφ(t ± μp) of columns left, … among
    ``count``, and Σφ(t) behind.

    φ is the polynomial at t for strips all of whose steps are within its reach.
    """
    t, c, along, totals = group.t, group.c, group.along, group.totals
    b, wide = totals.shape[1] // steps.sides, along.shape[1]
    delta, spare = group.values[:b], group.values[b:]
    series(loss, t, c)
    totals[:] = 0.0
    for i in range(n):
        beyond = False
        for j in range(0, b, QUAD):
            d = steps.mu * four_at(along, i * wide + j)
            put(delta, j, d)
            beyond |= any_beyond(d, REACH[loss])
        for a in range(totals.shape[0]):
            m = a * LINES + i
            if beyond or abs(t[m]) > FAR[loss]:
                add_strips(loss, t[m], c, m, delta, steps.sides, spare, totals[a])
                continue
            c0, c1, c2, c3, c4, c5, c6 = c[0, m], c[1, m], c[2, m], c[3, m], c[4, m], c[5, m], c[6, m]
            for j in range(0, b, QUAD):
                d = four_at(delta, j)
                x, ahead = d * d, a * totals.shape[1] + j
                even = c0 + x * (c2 + x * (c4 + c6 * x))
                odd = d * (c1 + x * (c3 + c5 * x))
                put(totals, ahead, four_at(totals, ahead) + (even + odd))
                if steps.sides == 2:
                    put(totals, ahead + b, four_at(totals, ahead + b) + (even - odd))
    write_sums(totals, c, steps, n, count, left, sums[g])


@device
def write_sums(
    totals: Array, c: Array, steps: StencilSteps, n: int, count: int, left: int, sums: Array
) -> None:
    """sums = the totals of columns left, … among ``count``, and behind them Σφ(t) from the coefficients."""
    b = totals.shape[1] // steps.sides
    for a in range(sums.shape[0]):
        for side in range(steps.sides):
            for j in range(min(count - left, b)):
                sums[a, side * count + left + j] = totals[a, side * b + j]
        if steps.base and left == 0:
            value = 0.0
            for i in range(n):
                value += c[0, a * LINES + i]
            sums[a, steps.sides * count] = value


@kernel(void(int64, jit.TABLE, jit.TABLE, jit.STEPS, jit.GROUPS, int64, int64))
def product_groups(
    loss: int, t: Array, along: Array, steps: StencilSteps, sums: Array, start: int, stop: int
) -> None:
    """Groups start, …, stop − 1, from margins t and products A U."""
    k, count = t.shape[0], along.shape[1]
    group = room(k, steps.sides, (count + STRIP - 1) // STRIP * STRIP, 0)
    for g in range(start, stop):
        top = g * LINES
        n = min(LINES, t.shape[1] - top)
        for a in range(k):
            group.t[a * LINES : a * LINES + n] = t[a, top : top + n]
        group.along[:n, :count] = along[top : top + n]
        sum_group(group, loss, steps, n, count, 0, sums, g)


@device
def draw_table(U: Source, rows: Indices, points: Array, wide: int, table: Array) -> None:
    """table = [U, zeros up to ``wide``, the points], a row for each coordinate."""
    if U.kind == NORMALS:
        normal_rows(U.key, rows, 0, (U.columns + 1) // 2, table, 0, len(table))
    else:
        sign_rows(U.key, rows, 0, U.columns, table, 0, len(table))
    for i in range(len(table)):
        table[i, U.columns : wide] = 0.0
        for a in range(len(points)):
            table[i, wide + a] = points[a, i]


@device
def subtract_offsets(offsets: Array, picked: Indices, top: int, n: int, t: Array) -> None:
    """t[a·32 + i] -= c of position top + i, where there are offsets."""
    for i in range(n if len(offsets) else 0):
        c = offsets[picked[top + i]] if len(picked) else offsets[top + i]
        for m in range(i, len(t), LINES):
            t[m] -= c


@over_rows(int64, jit.SHIFT, jit.TABLE, jit.SOURCE, jit.STEPS, boolean, jit.GROUPS, int64, int64)
def row_groups(
    rows: Rows, loss: int, shift: Shift, points: Array, U: Source, steps: StencilSteps, tabled: bool, sums: Array,
    start: int, stop: int,
) -> None:  # fmt: skip
    """Groups start, …, stop − 1 from sparse rows and implicit directions; where these are all,
    the first has their total.

    ``tabled``: all of U is drawn into a table with the points beside it, so that margins come
    with the products. Else random signs are drawn for every non-zero. Columns are filled up
    with zeros to whole packs.
    """
    k, dim, count, pack = points.shape[0], points.shape[1], U.columns, QUAD if tabled else SIGN_BITS
    fetch_rows(rows, rows.first + start * LINES)
    wide = (count + pack - 1) // pack * pack
    group = room(k, steps.sides, wide, (k + QUAD - 1) // QUAD * QUAD if tabled else 0)
    drawn = dim if tabled else 0
    table, everywhere = np.zeros((drawn, group.along.shape[1])), np.arange(drawn)
    draw_table(U, everywhere, points, wide, table)
    t, along, offsets, picked = group.t, group.along, shift.offsets, rows.picked
    for g in range(start, stop):
        top = rows.first + g * LINES
        n = min(LINES, rows.last - top)
        row_bounds(rows, top, group.begins, group.ends, n)
        fetch_rows(rows, top + LINES)
        t[:] = 0.0
        if tabled:
            gather(rows, group.begins, group.ends, n, everywhere, table, along)
            for a in range(k):
                for i in range(n):
                    t[a * LINES + i] = along[i, wide + a]
        else:
            for a in range(k):
                dot_rows(rows, group.begins, group.ends, points[a], n, t[a * LINES :])
            group_signs(U.key, rows, group.begins, group.ends, n, along)
            along[:, count:] = 0.0
        subtract_offsets(offsets, picked, top, n, t)
        if shift.unit != 1.0:
            t /= shift.unit
        sum_group(group, loss, steps, n, count, 0, sums, g)
    for g in range(1, len(sums) if stop - start == len(sums) else 1):
        sums[0] += sums[g]


@over_rows(int64, jit.LONGS, jit.LONGS, jit.TABLE, jit.SOURCE, jit.STEPS, jit.GROUPS, int64, int64)
def column_blocks(
    rows: Rows, loss: int, where: Indices, touched: Indices, t: Array, U: Source, steps: StencilSteps, sums: Array,
    start: int, stop: int,
) -> None:  # fmt: skip
    """Blocks start, …, stop − 1 of 32 columns: the touched entries of each are drawn once, and all rows stream past them."""
    k, count = t.shape[0], U.columns
    wide = min(COLUMNS, (count + QUAD - 1) // QUAD * QUAD)
    table, group = np.empty((len(touched), wide)), room(k, steps.sides, wide, 0)
    for left in range(start * wide, min(count, stop * wide), wide):
        width = min(count - left, wide)
        normal_rows(U.key, touched, left // 2, (left + width + 1) // 2, table, 0, len(touched))
        table[:, width:] = 0.0
        for g in range(len(sums)):
            top = g * LINES
            n = min(LINES, t.shape[1] - top)
            for a in range(k):
                group.t[a * LINES : a * LINES + n] = t[a, top : top + n]
            row_bounds(rows, rows.first + top, group.begins, group.ends, n)
            gather(rows, group.begins, group.ends, n, where, table, group.along)
            sum_group(group, loss, steps, n, count, left, sums, g)


@over_rows(int64, jit.LONGS, jit.TABLE, jit.STEPS, int64, jit.GROUPS, int64, int64)
def coordinate_groups(
    rows: Rows, loss: int, place: Indices, t: Array, steps: StencilSteps, lines: int, sums: Array, start: int, stop: int
) -> None:  # fmt: skip
    """Groups start, …, stop − 1 of the changes along coordinates, and of the values at t."""
    last, data, indices, group = sums.shape[2] - 1, rows.data, rows.indices, room(1, 1, QUAD, 0)
    width, margins, c = last // steps.sides, group.t, group.c
    sums[start:stop] = 0.0
    for g in range(start, stop):
        bottom = min(t.shape[1], (g + 1) * lines)
        for top in range(g * lines, bottom, LINES):
            n = min(LINES, bottom - top)
            row_bounds(rows, rows.first + top, group.begins, group.ends, n)
            for a in range(t.shape[0]):
                margins[:n] = t[a, top : top + n]
                total = sums[g, a]
                series(loss, margins, c)
                for i in range(n):
                    total[last] += c[0, i]
                    for p in range(group.begins[i], group.ends[i]):
                        j = place[indices[p]] if len(place) else np.int64(indices[p])
                        if j < 0:
                            continue
                        d = steps.mu * data[p]
                        if abs(d) <= REACH[loss] and abs(margins[i]) <= FAR[loss]:
                            even, odd = powers(c, i, d)
                            ahead, behind = even + odd, even - odd
                        else:
                            ahead, behind = value(loss, margins[i] + d), value(loss, margins[i] - d)
                        total[j] += ahead - c[0, i]
                        if steps.sides == 2:
                            total[width + j] += behind - c[0, i]
