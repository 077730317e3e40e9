"""Sums of losses over the points of a stencil, from margins: Σ_i φ(t_i ± μ a_iᵀu_j) without a table of values.

Sums run over rows one after the other within groups of 32, then over the groups; plain and compiled code agree bit for
bit, and no result depends on the threads.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import numpy as np

from zofw import kernels
from zofw.core import Array, Indices, blocks
from zofw.extras import lazy
from zofw.kernels import losses, series
from zofw.kernels.plain import LANES, halve
from zofw.kernels.rows import Rows

sp: Any = lazy("scipy.sparse")

LINES = 32  # rows of a group
STRIP = 16  # columns that take the polynomial together, or the formula
GROUP_LINES = 2048  # rows of a group along coordinates, unless groups of that size would be too many
TOTAL_LINES = 1024  # rows of a group of the sum over all of them
GROUP_ENTRIES = 1 << 22  # sums of all groups together


class Loss(NamedTuple):
    """φ, and where its Taylor polynomial may stand for it: steps up to ``reach`` from margins up to ``far``."""

    phi: Callable[[Any], Any]
    series: Callable[[Any], Any] | None
    reach: float
    far: float


def half_square(t: Any) -> Any:
    """½t²."""
    return 0.5 * (t * t)


LOSSES = {
    "logistic": Loss(losses.logistic_formula, series.logistic_series, series.LOGISTIC_REACH, np.inf),
    "welsch": Loss(losses.welsch_formula, series.welsch_series, series.WELSCH_REACH, series.WELSCH_FAR),
    "half square": Loss(half_square, None, -1.0, -1.0),
}


def stencil_sums(name: str, t: Array, along: Array, mu: float, two_sided: bool, base: bool) -> Array:
    """Σ_i φ(t_i + μp_ij), then Σ_i φ(t_i − μp_ij), then Σ_i φ(t_i), for every row of t.

    Parameters
    ----------
    name
        The loss φ.
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
        compiled: Array = kernels.load("compiled_stencils").stencil_sums(name, t, along, mu, two_sided, base)
        return compiled
    out = np.zeros((len(t), (1 + two_sided) * along.shape[1] + base))
    for top, bottom in blocks(t.shape[1], LINES):
        steps = mu * along[top:bottom]
        for k, margins in enumerate(t[:, top:bottom]):
            parts = _values(LOSSES[name], margins[:, None], steps, two_sided)
            parts += [LOSSES[name].phi(margins[:, None])] * base
            out[k] += _one_by_one(np.concatenate(parts, axis=1))
    return out


class Source(Protocol):
    """Directions whose entries are those of a key."""

    @property
    def kind(self) -> str | None: ...
    @property
    def key(self) -> int: ...
    @property
    def dim(self) -> int: ...
    @property
    def count(self) -> int: ...


def answer(
    name: str,
    A: Any,
    picked: Indices | None,
    part: tuple[int, int],
    shift: tuple[Array | None, float],
    points: Array,
    U: Source,
    mu: float,
    two_sided: bool,
    base: bool,
) -> Array | None:
    """The sums of :func:`stencil_sums` for sparse rows and implicit directions in one compiled call; None without one.

    Parameters
    ----------
    name
        The loss φ.
    A, picked, part
        The rows: positions ``part[0]``, …, ``part[1] − 1`` of the list ``picked``, or of all rows for None.
    shift
        c and the unit of t = (a_iᵀx − c_i)/unit.
    points
        (k, d).
    U, mu, two_sided, base
        Directions and stencil.
    """
    if U.kind is None or not kernels.wanted((part[1] - part[0]) * U.count):
        return None
    sums: Array = kernels.load("fused").answer(name, A, picked, part, shift, points, U, mu, two_sided, base)
    return sums


def _values(loss: Loss, t: Array, steps: Array, two_sided: bool) -> list[Array]:
    """φ(t + step) and φ(t − step) for margins (m, 1) and steps (m, b): strips of a row within reach by its polynomial."""
    sides = [loss.phi(t + steps)] + [loss.phi(t - steps)] * two_sided
    if loss.series is None:
        return sides
    for left, right in blocks(steps.shape[1], STRIP):
        d = steps[:, left:right]
        near = (np.abs(t[:, 0]) <= loss.far) & ~(np.abs(d) > loss.reach).any(axis=1)
        c, d = loss.series(t[near]), d[near]
        x = d * d
        even = c[0] + x * (c[2] + x * (c[4] + x * c[6]))
        odd = d * (c[1] + x * (c[3] + x * c[5]))
        for side, values in zip(sides, (even + odd, even - odd), strict=False):
            side[near, left:right] = values
    return sides


def coordinate_sums(
    name: str, rows: Rows, place: Indices | None, width: int, t: Array, mu: float, sides: int
) -> Array:
    """Σ_i φ(t_i ± μ a_ij) for every coordinate j, from the non-zeros of A alone; then Σ_i φ(t_i).

    Parameters
    ----------
    name
        The loss φ.
    rows
        A.
    place, width
        place[j] in [0, width) is where coordinate j goes, −1 for nowhere; None for a whole basis in order.
    t
        (k, s) margins.
    mu
        The radius, in units of t.
    sides
        1 for x + μe_j, 2 for x − μe_j after it.
    """
    groups = max(1, GROUP_ENTRIES // (len(t) * sides * width))
    lines = max(GROUP_LINES, -(-len(rows.starts) // groups))
    if kernels.wanted(len(t) * sides * (rows.nnz + width)):
        module = kernels.load("compiled_stencils")
        compiled: Array = module.coordinate_sums(name, rows, place, width, t, mu, sides, lines)
        return compiled
    out = np.zeros((len(t), sides * width + 1))
    for top, bottom in blocks(len(rows.starts), lines):
        out += _group_of_coordinates(
            LOSSES[name], rows.part(top, bottom).csr(), place, width, t[:, top:bottom], mu, sides
        )
    changes, totals = out[:, :-1], out[:, -1:]
    return np.concatenate([totals + changes, totals], axis=1)


def _group_of_coordinates(
    loss: Loss, A: Any, place: Indices | None, width: int, t: Array, mu: float, sides: int
) -> Array:
    """Σ_i [φ(t_i ± μ a_ij) − φ(t_i)] for every j, and Σ_i φ(t_i), over one group of rows."""
    row = np.repeat(np.arange(A.shape[0]), np.diff(A.indptr))
    column = A.indices if place is None else place[A.indices]
    inside = column >= 0
    row, column, steps = row[inside], column[inside], mu * A.data[inside]
    out = np.empty((len(t), sides * width + 1))
    for k, margins in enumerate(t):
        before = loss.phi(margins)
        values = _values(loss, margins[row][:, None], steps[:, None], sides == 2)
        for side, after in enumerate(values):
            change = np.bincount(column, after[:, 0] - before[row], width)
            out[k, side * width : (side + 1) * width] = change
        out[k, -1] = _one_by_one(before[:, None])[0]
    return out


def _one_by_one(rows: Array) -> Array:
    total = np.zeros(rows.shape[1])
    for row in rows:
        total += row
    return total


def total(name: str, A: Any, x: Array, offsets: Array | None, unit: float) -> float:
    """Σ_i φ((a_iᵀx − c_i)/unit) over all rows of A.

    Groups of 1024 rows one after the other; in a group, rows i ≡ l (mod 64) one after the other for each lane l, then
    lanes by halving.
    """
    sparse = sp.issparse(A)
    by_kernel = kernels.wanted(int(A.nnz) if sparse else A.shape[0])
    if by_kernel and sparse:
        fused: float = kernels.load("compiled_stencils").total(name, A, x, offsets, unit)
        return fused
    t = np.asarray(A @ x)
    t = (t if offsets is None else t - offsets) / unit
    if by_kernel:
        compiled: float = kernels.load("compiled_stencils").total_of_margins(name, t)
        return compiled
    out = 0.0
    for start, stop in blocks(len(t), TOTAL_LINES):
        lanes = np.zeros(-(-(stop - start) // LANES) * LANES)
        lanes[: stop - start] = LOSSES[name].phi(t[start:stop])
        out += float(halve(_one_by_one(lanes.reshape(-1, LANES))))
    return out


def margins(rows: Rows, points: Array) -> Array:
    """rows · x for every point (rows of the result): (k, s)."""
    if kernels.wanted(len(points) * rows.shape[0]):
        compiled: Array = kernels.load("compiled_stencils").margins(rows, np.ascontiguousarray(points))
        return compiled
    return np.ascontiguousarray((rows.csr() @ points.T).T)
