"""The sums of :mod:`zofw.kernels.stencils` in numba."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from numba.core import types
from numba.core.types import boolean, float64, int64, void
from numba.extending import register_jitable

from zofw.core import Array, Indices
from zofw.kernels import compiled_losses, losses, series, stencils
from zofw.kernels.generator import U64, halve
from zofw.kernels.jit import INTS, LONGS, OUT, OUT_TABLE, REALS, TABLE, device, kernel
from zofw.kernels.packs import QUAD, any_beyond, four_at, put
from zofw.kernels.plain import LANES
from zofw.kernels.rows import Rows
from zofw.kernels.stencils import LINES, LOSSES, STRIP, TOTAL_LINES
from zofw.kernels.threads import spread

GROUPS = types.Array(float64, 3, "C")
NAMES = list(LOSSES)
LOGISTIC, WELSCH = NAMES.index("logistic"), NAMES.index("welsch")
TOTAL_PIECE = 4  # groups of a sum over all rows that are one piece
COEFFICIENTS = 7
PIECE_LINES = 256  # rows whose margins are one piece

for formula in (
    losses.logistic_formula,
    losses.welsch_formula,
    series.logistic_slopes,
    series.logistic_higher,
):
    register_jitable(formula)
logistic, welsch, half_square = map(
    device, (losses.logistic_formula, losses.welsch_formula, stencils.half_square)
)
logistic_passes = device(losses.logistic_passes)
logistic_series, welsch_series = map(device, (series.logistic_series, series.welsch_series))
logistic_series_passes = device(series.logistic_series_passes)


@device
def apply(loss: int, values: Any) -> None:
    """φ over every value."""
    if loss == LOGISTIC:
        for j in range(len(values)):
            values[j] = logistic(values[j])
    elif loss == WELSCH:
        for j in range(len(values)):
            values[j] = welsch(values[j])
    else:
        for j in range(len(values)):
            values[j] = half_square(values[j])


@device
def add_by_formula(
    loss: int, t: Any, steps: Any, two_sided: Any, values: Any, ahead: Any, behind: Any
) -> None:
    """φ(t + step) and φ(t − step) for every step, added to their totals."""
    b = len(steps)
    for j in range(b):
        values[j] = t + steps[j]
    apply(loss, values[:b])
    for j in range(b):
        ahead[j] += values[j]
    if two_sided:
        for j in range(b):
            values[j] = t - steps[j]
        apply(loss, values[:b])
        for j in range(b):
            behind[j] += values[j]


@device
def add_strips(
    loss: int, reach: float, far: float, t: Any, c: Any, steps: Any, two_sided: Any, spare: Any, total: Any
) -> None:
    """φ(t + step) and φ(t − step) for a row not all of whose strips are within reach."""
    b = len(steps)
    for left in range(0, b, STRIP):
        beyond, right = 0, min(b, left + STRIP)
        for j in range(left, right):
            beyond += 1 if abs(steps[j]) > reach else 0
        if beyond > 0 or abs(t) > far:
            part = steps[left:right]
            add_by_formula(loss, t, part, two_sided, spare, total[left:], total[b + left :])
            continue
        for j in range(left, right):
            d = steps[j]
            x = d * d
            even = c[0] + x * (c[2] + x * (c[4] + x * c[6]))
            odd = d * (c[1] + x * (c[3] + x * c[5]))
            total[j] += even + odd
            if two_sided:
                total[b + j] += even - odd


@device
def add_group(
    loss: int, reach: float, far: float, t: Any, c: Any, along: Any, n: int, mu: float, two_sided: Any, values: Any,
    totals: Any,
) -> None:  # fmt: skip
    """φ(t + μp) and φ(t − μp) for n rows, by the polynomial at t for strips all of whose steps are within its reach.

    Parameters
    ----------
    t, c
        Margins [a·32 + i] of row i at point a, and the coefficients [:, a·32 + i].
    along
        p, (32, b or more).
    values
        Room for 2b numbers.
    totals
        (k, b), or (k, 2b) for two sides; b is a multiple of four.
    """
    b, wide = totals.shape[1] // (2 if two_sided else 1), along.shape[1]
    steps, spare = values[:b], values[b:]
    for i in range(n):
        beyond = False
        for j in range(0, b, QUAD):
            d = mu * four_at(along, i * wide + j)
            put(steps, j, d)
            beyond |= any_beyond(d, reach)
        for a in range(totals.shape[0]):
            m = a * LINES + i
            if beyond or abs(t[m]) > far:
                add_strips(loss, reach, far, t[m], c[:, m], steps, two_sided, spare, totals[a])
                continue
            c0, c1, c2, c3, c4, c5, c6 = c[0, m], c[1, m], c[2, m], c[3, m], c[4, m], c[5, m], c[6, m]
            for j in range(0, b, QUAD):
                d = four_at(steps, j)
                x, ahead = d * d, a * totals.shape[1] + j
                even = c0 + x * (c2 + x * (c4 + c6 * x))
                odd = d * (c1 + x * (c3 + c5 * x))
                put(totals, ahead, four_at(totals, ahead) + (even + odd))
                if two_sided:
                    put(totals, ahead + b, four_at(totals, ahead + b) + (even - odd))


@device
def group_series(loss: int, t: Any, c: Any, spare: Any) -> None:
    """c[:, m], the coefficients of the loss at t[m]; the value alone for the half square."""
    if loss == LOGISTIC:
        logistic_series_passes(t, c, spare[0], spare[1], spare[2])
    elif loss == WELSCH:
        for m in range(len(t)):
            c[0, m], c[1, m], c[2, m], c[3, m], c[4, m], c[5, m], c[6, m] = welsch_series(t[m])
    else:
        c[0] = t
        apply(loss, c[0])


@device
def keep_group(
    totals: Any, c: Any, n: int, count: int, left: int, sides: int, base: Any, sums: Any, g: int
) -> None:
    """Write one group's totals of columns left, left + 1, … to their places among ``count``, and Σφ(t) behind them."""
    wide, width = totals.shape[1] // sides, min(count - left, totals.shape[1] // sides)
    for a in range(sums.shape[1]):
        for side in range(sides):
            for j in range(width):
                sums[g, a, side * count + left + j] = totals[a, side * wide + j]
        if base:
            value = 0.0
            for i in range(n):
                value += c[0, a * LINES + i]
            sums[g, a, sides * count] = value


@kernel(void(int64, float64, float64, TABLE, TABLE, float64, boolean, boolean, GROUPS, int64, int64))
def group_sums(
    loss: int, reach: float, far: float, t: Any, along: Any, mu: Any, two_sided: Any, base: Any, sums: Any,
    start: int, stop: int,
) -> None:  # fmt: skip
    """Groups start, …, stop − 1: every row's values at x + μu, x − μu and x, added to their sums."""
    k, count, sides = t.shape[0], along.shape[1], 2 if two_sided else 1
    wide = (count + STRIP - 1) // STRIP * STRIP
    flat, c, spare = np.zeros(k * LINES), np.empty((COEFFICIENTS, k * LINES)), np.empty((3, k * LINES))
    part, values, totals = np.zeros((LINES, wide)), np.empty(2 * wide), np.empty((k, sides * wide))
    for g in range(start, stop):
        top = g * LINES
        n = min(LINES, t.shape[1] - top)
        for a in range(k):
            for i in range(n):
                flat[a * LINES + i] = t[a, top + i]
        for i in range(n):
            for j in range(count):
                part[i, j] = along[top + i, j]
        group_series(loss, flat, c, spare)
        totals[:] = 0.0
        add_group(loss, reach, far, flat, c, part, n, mu, two_sided, values, totals)
        keep_group(totals, c, n, count, 0, sides, base, sums, g)


@kernel(void(GROUPS, OUT_TABLE))
def add_groups(sums: Any, out: Any) -> None:
    """One group after the other."""
    out[:] = 0.0
    for g in range(len(sums)):
        for a in range(out.shape[0]):
            for j in range(out.shape[1]):
                out[a, j] += sums[g, a, j]


def stencil_sums(name: str, t: Array, along: Array, mu: float, two_sided: bool, base: bool) -> Array:
    """See :func:`zofw.kernels.stencils.stencil_sums`."""
    loss, width = LOSSES[name], along.shape[1] * (1 + two_sided) + base
    sums, out = np.empty((-(-t.shape[1] // LINES), len(t), width)), np.empty((len(t), width))
    task = partial(group_sums, NAMES.index(name), loss.reach, loss.far, t, along, mu, two_sided, base, sums)
    spread(task, len(sums), 1, t.shape[1] * out.size)
    add_groups(sums, out)
    return out


@device
def dot_rows(data: Any, indices: Any, starts: Any, ends: Any, x: Any, first: int, out: Any) -> None:
    """out[i] = Σ_p data[p] x[indices[p]] over the non-zeros of row first + i, in their order.

    Places are unsigned, which spares a test of their sign; one call for many rows spares counting references.
    """
    for i in range(len(out)):
        total, p, last = 0.0, U64(starts[U64(first + i)]), U64(ends[U64(first + i)])
        while p + U64(4) <= last:
            q, r, s = p + U64(1), p + U64(2), p + U64(3)
            total = (
                ((total + data[p] * x[U64(indices[p])]) + data[q] * x[U64(indices[q])])
                + data[r] * x[U64(indices[r])]
            ) + data[s] * x[U64(indices[s])]
            p += U64(4)
        while p < last:
            total += data[p] * x[U64(indices[p])]
            p += U64(1)
        out[i] = total


def _margins(index: Any) -> Any:
    return void(REALS, index, index, index, TABLE, OUT_TABLE, int64, int64)


@kernel(_margins(INTS), _margins(LONGS))
def row_margins(
    data: Any, indices: Any, starts: Any, ends: Any, points: Any, out: Any, start: int, stop: int
) -> None:
    """out[a, start:stop] = (Z x_a)[start:stop]."""
    for a in range(len(points)):
        dot_rows(data, indices, starts, ends, points[a], start, out[a, start:stop])


def margins(rows: Rows, points: Array) -> Array:
    """See :func:`zofw.kernels.stencils.margins`."""
    out = np.empty((len(points), rows.shape[0]))
    task = partial(row_margins, rows.data, rows.indices, rows.starts, rows.ends, points, out)
    spread(task, rows.shape[0], PIECE_LINES, 4 * rows.nnz * len(points))
    return out


@device
def group_total(loss: int, t: Any, spare: Any, lanes: Any) -> Any:
    """Σφ over one group of margins, by lanes; destroys the margins."""
    if loss == LOGISTIC:
        logistic_passes(t, spare[0], spare[1])
    else:
        apply(loss, t)
    lanes[:] = 0.0
    whole = len(t) // LANES * LANES
    for top in range(0, whole, LANES):
        part = t[top : top + LANES]
        for k in range(LANES):
            lanes[k] += part[k]
    for k in range(len(t) - whole):
        lanes[k] += t[whole + k]
    return halve(lanes, LANES)


def _total(index: Any) -> Any:
    return void(int64, float64, REALS, index, index, index, REALS, REALS, OUT, int64, int64)


@kernel(_total(INTS), _total(LONGS))
def row_totals(
    loss: int, unit: float, data: Any, indices: Any, starts: Any, ends: Any, x: Any, offsets: Any, out: Any,
    start: int, stop: int,
) -> None:  # fmt: skip
    """Groups start, …, stop − 1 of Σ_i φ((a_iᵀx − c_i)/unit); no offsets for zeros."""
    values, spare, lanes = np.empty(TOTAL_LINES), np.empty((2, TOTAL_LINES)), np.empty(LANES)
    for g in range(start, stop):
        top = g * TOTAL_LINES
        t = values[: min(TOTAL_LINES, len(starts) - top)]
        dot_rows(data, indices, starts, ends, x, top, t)
        if len(offsets):
            for i in range(len(t)):
                t[i] -= offsets[top + i]
        if unit != 1.0:
            for i in range(len(t)):
                t[i] /= unit
        out[g] = group_total(loss, t, spare, lanes)


def total(name: str, A: Any, x: Array, offsets: Array | None, unit: float) -> float:
    """See :func:`zofw.kernels.stencils.total`."""
    n = A.shape[0]
    out, shifts = np.empty(-(-n // TOTAL_LINES)), np.empty(0) if offsets is None else offsets
    parts = (A.data, A.indices, A.indptr[:-1], A.indptr[1:], np.ascontiguousarray(x), shifts)
    spread(
        partial(row_totals, NAMES.index(name), unit, *parts, out),
        len(out),
        TOTAL_PIECE,
        len(A.data) // 2 + 4 * n,
    )
    return float(sum(out.tolist()))


@kernel(void(int64, OUT, OUT, int64, int64))
def margin_totals(loss: int, t: Any, out: Any, start: int, stop: int) -> None:
    """Groups start, …, stop − 1 of Σ_i φ(t_i); destroys the margins."""
    spare, lanes = np.empty((2, TOTAL_LINES)), np.empty(LANES)
    for g in range(start, stop):
        out[g] = group_total(loss, t[g * TOTAL_LINES : min(len(t), (g + 1) * TOTAL_LINES)], spare, lanes)


def total_of_margins(name: str, t: Array) -> float:
    """The same from margins, which are destroyed."""
    out = np.empty(-(-len(t) // TOTAL_LINES))
    spread(partial(margin_totals, NAMES.index(name), t, out), len(out), TOTAL_PIECE, 4 * len(t))
    return float(sum(out.tolist()))


@device
def series_of(loss: int, t: Any) -> Any:
    """The coefficients of a loss at t; those of the half square end with the second."""
    if loss == LOGISTIC:
        return logistic_series(t)
    if loss == WELSCH:
        return welsch_series(t)
    return half_square(t), t, 0.5, 0.0, 0.0, 0.0, 0.0


@device
def value(loss: int, t: Any) -> Any:
    """φ(t)."""
    if loss == LOGISTIC:
        return logistic(t)
    if loss == WELSCH:
        return welsch(t)
    return half_square(t)


def _coordinate(index: Any) -> Any:
    limits = (int64, float64, float64)
    return void(
        *limits, REALS, index, index, index, LONGS, TABLE, float64, int64, int64, GROUPS, int64, int64
    )


@kernel(_coordinate(INTS), _coordinate(LONGS))
def coordinate_groups(
    loss: int, reach: float, far: float, data: Any, indices: Any, starts: Any, ends: Any, place: Any,
    t: Any, mu: float, sides: int, lines: int, sums: Any, start: int, stop: int,
) -> None:  # fmt: skip
    """Groups start, …, stop − 1 of the changes along coordinates, and of the values at t."""
    last = sums.shape[2] - 1
    width = last // sides
    for g in range(start, stop):
        sums[g] = 0.0
        for a in range(t.shape[0]):
            total = sums[g, a]
            for i in range(g * lines, min(t.shape[1], (g + 1) * lines)):
                margin = t[a, i]
                c = series_of(loss, margin)
                total[last] += c[0]
                for p in range(starts[i], ends[i]):
                    j = place[indices[p]] if len(place) else np.int64(indices[p])
                    if j < 0:
                        continue
                    d = mu * data[p]
                    if abs(d) <= reach and abs(margin) <= far:
                        x = d * d
                        even = c[0] + x * (c[2] + x * (c[4] + x * c[6]))
                        odd = d * (c[1] + x * (c[3] + x * c[5]))
                        ahead, behind = even + odd, even - odd
                    else:
                        ahead, behind = (
                            value(loss, margin + d),
                            value(loss, margin - d) if sides == 2 else 0.0,
                        )
                    total[j] += ahead - c[0]
                    if sides == 2:
                        total[width + j] += behind - c[0]


def coordinate_sums(
    name: str, rows: Rows, place: Indices | None, width: int, t: Array, mu: float, sides: int, lines: int
) -> Array:
    """See :func:`zofw.kernels.stencils.coordinate_sums`."""
    loss = LOSSES[name]
    sums, out = (
        np.empty((-(-t.shape[1] // lines), len(t), sides * width + 1)),
        np.empty((len(t), sides * width + 1)),
    )
    where = np.empty(0, dtype=np.int64) if place is None else place
    task = partial(
        coordinate_groups, NAMES.index(name), loss.reach, loss.far, rows.data, rows.indices, rows.starts, rows.ends,
        where, t, mu, sides, lines, sums,
    )  # fmt: skip
    spread(task, len(sums), 1, 4 * len(t) * sides * rows.nnz)
    add_groups(sums, out)
    out[:, :-1] += out[:, -1:]
    return out


__all__ = ["compiled_losses", "coordinate_sums", "margins", "stencil_sums", "total", "total_of_margins"]
