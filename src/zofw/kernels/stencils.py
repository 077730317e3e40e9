"""Sums of losses over the points of a stencil, from margins: Σ_i φ(t_i ± μ a_iᵀu_j) without a table of values.

Sums run over rows one after the other within groups of 32, then over the groups; plain and compiled code agree bit for
bit, and no result depends on the threads.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp

from zofw import kernels
from zofw.core import Array, Indices, blocks
from zofw.kernels import losses

LINES = 32  # rows of a group


def half_square(t: Any) -> Any:
    """½t²."""
    return 0.5 * (t * t)


FORMULAS: dict[str, Callable[[Any], Any]] = {
    "logistic": losses.logistic_formula,
    "welsch": losses.welsch_formula,
    "half square": half_square,
}


def stencil_sums(formula: str, t: Array, along: Array, mu: float, two_sided: bool, base: bool) -> Array:
    """Σ_i φ(t_i + μp_ij), then Σ_i φ(t_i − μp_ij), then Σ_i φ(t_i), for every row of t.

    Parameters
    ----------
    formula
        The name of φ.
    t
        (k, s) margins.
    along
        (s, b): p = A U.
    mu
        The radius, in units of t.
    two_sided, base
        Whether the second and the third part are wanted.
    """
    if kernels.wanted(t.size * along.shape[1]):
        compiled: Array = kernels.load("compiled_stencils").stencil_sums(formula, t, along, mu, two_sided, base)
        return compiled
    phi, b, sides = FORMULAS[formula], along.shape[1], 1 + two_sided
    out = np.zeros((len(t), sides * b + base))
    for top, bottom in blocks(t.shape[1], LINES):
        step = mu * along[top:bottom]
        for k, row in enumerate(t):
            margins = row[top:bottom, None]
            parts = [margins + step] + [margins - step] * two_sided + [margins] * base
            out[k] += _one_by_one(phi(np.concatenate(parts, axis=1)))
    return out


def _one_by_one(rows: Array) -> Array:
    total = np.zeros(rows.shape[1])
    for row in rows:
        total += row
    return total


def take_rows(matrix: Any, index: Indices) -> Any:
    """matrix[index] for a CSR or a dense matrix."""
    if not sp.issparse(matrix) or not kernels.wanted(16 * len(index)):
        return matrix[index]
    taken = sp.csr_array((len(index), matrix.shape[1]))
    taken.data, taken.indices, taken.indptr = kernels.load("compiled_stencils").take_rows(
        matrix.data, matrix.indices, matrix.indptr, np.ascontiguousarray(index, dtype=np.int64)
    )
    return taken


def margins(rows: Any, points: Array) -> Array:
    """rows · x for every point (rows of the result): (k, s)."""
    if not sp.issparse(rows) or not kernels.wanted(len(points) * rows.nnz):
        return np.ascontiguousarray((rows @ points.T).T)
    compiled: Array = kernels.load("compiled_stencils").margins(rows, np.ascontiguousarray(points))
    return compiled
