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
from zofw.kernels.jit import INTS, LONGS, OUT_TABLE, REALS, TABLE, device, kernel
from zofw.kernels.rows import Rows
from zofw.kernels.stencils import LINES, LOSSES
from zofw.kernels.threads import spread

GROUPS = types.Array(float64, 3, "C")
NAMES = list(LOSSES)
LOGISTIC, WELSCH = NAMES.index("logistic"), NAMES.index("welsch")
PIECE_LINES = 256  # rows whose margins are one piece

for formula in (losses.logistic_formula, losses.welsch_formula):
    register_jitable(formula)
logistic, welsch, half_square = map(
    device, (losses.logistic_formula, losses.welsch_formula, stencils.half_square)
)
logistic_series, welsch_series = map(device, (series.logistic_series, series.welsch_series))


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
def add_by_formula(loss: int, t: Any, steps: Any, two_sided: Any, values: Any, total: Any) -> None:
    """φ(t + step) and φ(t − step) for every step, added to the total."""
    b = len(steps)
    n = 2 * b if two_sided else b
    for j in range(b):
        values[j] = t + steps[j]
    for j in range(n - b):
        values[b + j] = t - steps[j]
    apply(loss, values[:n])
    for j in range(n):
        total[j] += values[j]


@device
def add_by_series(loss: int, t: Any, steps: Any, two_sided: Any, total: Any) -> None:
    """The same by the polynomial at t."""
    b = len(steps)
    c = logistic_series(t) if loss == LOGISTIC else welsch_series(t)
    ahead, behind = total[:b], total[b : 2 * b]
    if two_sided:
        for j in range(b):
            d = steps[j]
            x = d * d
            even = c[0] + x * (c[2] + x * (c[4] + x * c[6]))
            odd = d * (c[1] + x * (c[3] + x * c[5]))
            ahead[j] += even + odd
            behind[j] += even - odd
    else:
        for j in range(b):
            d = steps[j]
            x = d * d
            even = c[0] + x * (c[2] + x * (c[4] + x * c[6]))
            odd = d * (c[1] + x * (c[3] + x * c[5]))
            ahead[j] += even + odd


@device
def scaled_steps(mu: Any, p: Any, reach: Any, steps: Any) -> Any:
    """steps = μp; whether all of them are within reach."""
    beyond = 0
    for j in range(len(p)):
        d = mu * p[j]
        steps[j] = d
        beyond += 1 if abs(d) > reach else 0
    return beyond == 0


@kernel(void(int64, float64, float64, TABLE, TABLE, float64, boolean, boolean, GROUPS, int64, int64))
def group_sums(
    loss: int, reach: float, far: float, t: Any, along: Any, mu: Any, two_sided: Any, base: Any, sums: Any,
    start: int, stop: int,
) -> None:  # fmt: skip
    """Groups start, …, stop − 1: every row's values at x + μu, x − μu and x, added to their sums."""
    b, width = along.shape[1], sums.shape[2]
    values, steps, one = np.empty(2 * b), np.empty(b), np.empty(1)
    for g in range(start, stop):
        sums[g] = 0.0
        for i in range(g * LINES, min(t.shape[1], (g + 1) * LINES)):
            near = scaled_steps(mu, along[i], reach, steps)
            for a in range(t.shape[0]):
                margin, total = t[a, i], sums[g, a]
                if near and abs(margin) <= far:
                    add_by_series(loss, margin, steps, two_sided, total)
                else:
                    add_by_formula(loss, margin, steps, two_sided, values, total)
                if base:
                    one[0] = margin
                    apply(loss, one)
                    total[width - 1] += one[0]


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


def _margins(index: Any) -> Any:
    return void(REALS, index, index, index, TABLE, OUT_TABLE, int64, int64)


@kernel(_margins(INTS), _margins(LONGS))
def row_margins(
    data: Any, indices: Any, starts: Any, ends: Any, points: Any, out: Any, start: int, stop: int
) -> None:
    """out[a, s] = Σ_p data[p] x_a[indices[p]] over the non-zeros of row s, in their order."""
    for s in range(start, stop):
        for a in range(len(points)):
            total = 0.0
            for p in range(starts[s], ends[s]):
                total += data[p] * points[a, indices[p]]
            out[a, s] = total


def margins(rows: Rows, points: Array) -> Array:
    """See :func:`zofw.kernels.stencils.margins`."""
    out = np.empty((len(points), rows.shape[0]))
    task = partial(row_margins, rows.data, rows.indices, rows.starts, rows.ends, points, out)
    spread(task, rows.shape[0], PIECE_LINES, 4 * rows.nnz * len(points))
    return out


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


__all__ = ["compiled_losses", "coordinate_sums", "margins", "stencil_sums"]
