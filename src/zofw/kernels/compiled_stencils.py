"""The sums of :mod:`zofw.kernels.stencils` in numba."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from numba.core import types
from numba.core.types import boolean, float64, int32, int64, void

from zofw.core import Array
from zofw.kernels import compiled_losses, losses, stencils
from zofw.kernels.jit import INTS, LONGS, OUT_TABLE, REALS, TABLE, device, kernel
from zofw.kernels.stencils import FORMULAS, LINES
from zofw.kernels.threads import spread

GROUPS = types.Array(float64, 3, "C")
NAMES = list(FORMULAS)
LOGISTIC, WELSCH = NAMES.index("logistic"), NAMES.index("welsch")
PIECE_LINES = 256  # rows whose margins are one piece

logistic, welsch, half_square = map(
    device, (losses.logistic_formula, losses.welsch_formula, stencils.half_square)
)


@device
def apply(formula: int, values: Any) -> None:
    """φ over every value."""
    if formula == LOGISTIC:
        for j in range(len(values)):
            values[j] = logistic(values[j])
    elif formula == WELSCH:
        for j in range(len(values)):
            values[j] = welsch(values[j])
    else:
        for j in range(len(values)):
            values[j] = half_square(values[j])


@kernel(void(int64, TABLE, TABLE, float64, boolean, boolean, GROUPS, int64, int64))
def group_sums(
    formula: int, t: Any, along: Any, mu: Any, two_sided: Any, base: Any, sums: Any, start: int, stop: int
) -> None:
    """Groups start, …, stop − 1: every row's values at x + μu, x − μu and x, added to their sums."""
    b, width = along.shape[1], sums.shape[2]
    values = np.empty(width)
    for g in range(start, stop):
        sums[g] = 0.0
        for i in range(g * LINES, min(t.shape[1], (g + 1) * LINES)):
            p = along[i]
            for a in range(t.shape[0]):
                margin, total = t[a, i], sums[g, a]
                for j in range(b):
                    values[j] = margin + mu * p[j]
                if two_sided:
                    for j in range(b):
                        values[b + j] = margin - mu * p[j]
                if base:
                    values[width - 1] = margin
                apply(formula, values)
                for j in range(width):
                    total[j] += values[j]


@kernel(void(GROUPS, OUT_TABLE))
def add_groups(sums: Any, out: Any) -> None:
    """One group after the other."""
    out[:] = 0.0
    for g in range(len(sums)):
        for a in range(out.shape[0]):
            for j in range(out.shape[1]):
                out[a, j] += sums[g, a, j]


def stencil_sums(formula: str, t: Array, along: Array, mu: float, two_sided: bool, base: bool) -> Array:
    """See :func:`zofw.kernels.stencils.stencil_sums`."""
    width = along.shape[1] * (1 + two_sided) + base
    sums, out = np.empty((-(-t.shape[1] // LINES), len(t), width)), np.empty((len(t), width))
    task = partial(group_sums, NAMES.index(formula), t, along, mu, two_sided, base, sums)
    spread(task, len(sums), 1, 4 * t.shape[1] * out.size)
    add_groups(sums, out)
    return out


def _taken(index: Any, kind: Any) -> Any:
    made = types.Array(kind, 1, "C")
    return types.Tuple((types.Array(float64, 1, "C"), made, made))(REALS, index, index, LONGS)


@kernel(_taken(INTS, int32), _taken(LONGS, int64))
def take_rows(data: Any, indices: Any, indptr: Any, picked: Any) -> Any:
    """The arrays of the CSR matrix of the picked rows."""
    starts = np.empty(len(picked) + 1, indptr.dtype)
    starts[0] = 0
    for k in range(len(picked)):
        starts[k + 1] = starts[k] + (indptr[picked[k] + 1] - indptr[picked[k]])
    values, columns = np.empty(starts[-1]), np.empty(starts[-1], indices.dtype)
    for k in range(len(picked)):
        first = indptr[picked[k]]
        for p in range(starts[k + 1] - starts[k]):
            values[starts[k] + p] = data[first + p]
            columns[starts[k] + p] = indices[first + p]
    return values, columns, starts


def _margins(index: Any) -> Any:
    return void(REALS, index, index, TABLE, OUT_TABLE, int64, int64)


@kernel(_margins(INTS), _margins(LONGS))
def row_margins(data: Any, indices: Any, indptr: Any, points: Any, out: Any, start: int, stop: int) -> None:
    """out[a, s] = Σ_p data[p] x_a[indices[p]] over the non-zeros of row s, in their order."""
    for s in range(start, stop):
        for a in range(len(points)):
            total = 0.0
            for p in range(indptr[s], indptr[s + 1]):
                total += data[p] * points[a, indices[p]]
            out[a, s] = total


def margins(rows: Any, points: Array) -> Array:
    """See :func:`zofw.kernels.stencils.margins`."""
    out = np.empty((len(points), rows.shape[0]))
    task = partial(row_margins, rows.data, rows.indices, rows.indptr, points, out)
    spread(task, rows.shape[0], PIECE_LINES, 2 * rows.nnz * len(points))
    return out


__all__ = ["compiled_losses", "margins", "stencil_sums", "take_rows"]
