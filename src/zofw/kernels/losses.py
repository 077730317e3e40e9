"""Losses of margins, their Taylor series, and their sums over rows: operations that IEEE 754
rounds exactly.

Each formula is one function that NumPy applies to arrays and numba to numbers, with the same
bits either way. Both losses are built on e^{−a} = 2^{−k}(1 + r·P(r)) with k = ⌊a·log₂e⌉, r =
k·ln 2 − a and |r| ≤ ½ ln 2. Polynomials interpolate at Chebyshev points and are summed in pairs
(Estrin), which shortens the chain of operations that wait for each other.

Along b directions the margins t ± δ_j lie close to t, δ = μ aᵀu. Where |δ| is within the reach
of a loss, the polynomial of degree six at t has a remainder below half a unit in the last
place, so that it is the loss to rounding at an eighth of the price. Margins beyond the reach
take the formula itself.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from zofw.core import Array, Indices, blocks
from zofw.kernels.rows import Rows, StencilSteps
from zofw.kernels.words import LANES, halve

if TYPE_CHECKING:
    from scipy.sparse import csr_array

LINES = 32  # rows of a group
STRIP = 16  # columns that take the polynomial together, or the formula
GROUP_LINES = 2048  # rows of a group along coordinates, unless groups of that size would be too many
TOTAL_LINES = 1024  # rows of a group of the sum over all of them
GROUP_ENTRIES = 1 << 22  # sums of all groups together
CHUNK = 1 << 12  # numbers that a formula is applied to at a time: 32 kB each
LARGEST = 708.0  # e^{−a} is a normal number up to here; beyond, its value there (3e-308) stands for it
LOG2E = 1.4426950408889634
LN2 = 0.6931471805599453
LN2_HIGH = 0.6931471803691238  # its last 20 bits are zero: k·LN2_HIGH is exact
LN2_LOW = 1.9082149292705877e-10
BIASED = (
    6755399441055744.0 + 1023.0
)  # 3·2⁵¹ + 1023: the lowest bits of BIASED − a·log₂e are the exponent of 2^{−k}
ABOVE = 0.5857864  # ⌊e + ABOVE⌋ = [e > √2 − 1]
# P(r) = (eʳ − 1)/r on |r| ≤ ½ ln 2, relative error 2.4e-17
P = (
    1.0, 0.5000000000000006, 0.1666666666666667, 0.041666666666573066, 0.008333333333326136, 0.001388888893251478,
    0.00019841269874820627, 2.480150431378554e-05, 2.7557255400206422e-06, 2.7626371065696354e-07,
    2.5105217004720745e-08,
)  # fmt: skip
# Q(s²) = 2 artanh(s)/s on |s| ≤ 0.1717, relative error 2.5e-18
Q = (
    2.0, 0.6666666666666766, 0.39999999999293206, 0.28571428762709467, 0.22222196836007319, 0.18183643672648317,
    0.15312207324389188, 0.14813061921614032,
)  # fmt: skip


def reduced(a: Any) -> Any:
    """Return 2^{−k} and r, for a ≥ 0."""
    a = np.minimum(a, LARGEST)
    shifted = BIASED - a * LOG2E
    k = BIASED - shifted
    power = np.int64(np.float64(shifted).view(np.int64) << np.int64(52)).view(np.float64)
    return power, (k * LN2_HIGH - a) + k * LN2_LOW


def exp_rest(r: Array) -> Array:
    """Return r·P(r) = eʳ − 1."""
    r2 = r * r
    r4 = r2 * r2
    low = (P[0] + r * P[1]) + r2 * (P[2] + r * P[3])
    middle = (P[4] + r * P[5]) + r2 * (P[6] + r * P[7])
    high = (P[8] + r * P[9]) + r2 * P[10]
    return r * (low + r4 * (middle + r4 * high))


def exp_parts(a: Array) -> tuple[Array, Array]:
    """Return 2^{−k} and r·P(r) with e^{−a} = 2^{−k}(1 + r·P(r)), for a ≥ 0."""
    power, r = reduced(a)
    return power, exp_rest(r)


def exp_minus(a: Array) -> Array:
    """Return e^{−a} for a ≥ 0."""
    power, rest = exp_parts(a)
    return power + power * rest


def quotient(e: Array) -> tuple[Array, Array]:
    """Return s = (e − h)/(e + 2 + h) and h = [e > √2 − 1], for 0 ≤ e ≤ 1."""
    h = np.floor(e + ABOVE)
    return (e - h) / (e + (2.0 + h)), h


def twice_artanh(s: Array) -> Array:
    """Return 2 artanh s = s·Q(s²)."""
    q = s * s
    q2 = q * q
    low = (Q[0] + q * Q[1]) + q2 * (Q[2] + q * Q[3])
    high = (Q[4] + q * Q[5]) + q2 * (Q[6] + q * Q[7])
    return s * (low + (q2 * q2) * high)


def softplus(t: Array, s: Array, h: Array) -> Array:
    """Return log(1 + e^{−t}) = max(−t, 0) + log(1 + e), e = e^{−|t|}, and log(1 + e) = h·ln 2 + 2 artanh s."""
    return np.maximum(-t, 0.0) + (twice_artanh(s) + h * LN2)


def logistic_formula(t: Array) -> Array:
    """Return log(1 + e^{−t})."""
    s, h = quotient(exp_minus(np.abs(t)))
    return softplus(t, s, h)


def welsch_formula(t: Array) -> Array:
    """Return 1 − e^{−t²} = (1 − 2^{−k}) − 2^{−k} r·P(r); the first term is 0 near t = 0, where nothing may cancel."""
    power, rest = exp_parts(t * t)
    return (1.0 - power) - power * rest


LOGISTIC_REACH = 2.0**-6  # |φ⁗‴δ⁷/7!| ≤ δ⁷φ/7! < 2⁻⁵³φ
WELSCH_REACH = 2.0**-8  # |φ⁗‴|/7! ≤ 0.23
WELSCH_FAR = 26.0  # margins whose e^{−t²} is 0 to rounding many times over


def logistic_slopes(t: Array, e: Any) -> tuple[Array, Array, Array]:
    """Return σ = 1/(1 + eᵗ), s = 1 − 2σ and w = σ(1 − σ), from e = e^{−|t|}."""
    e = np.float64(np.abs(t) <= LARGEST) * e
    inverse = 1.0 / (1.0 + e)
    right = np.float64(t >= 0.0)
    sigma = (right * e + (1.0 - right)) * inverse
    s = (2.0 * right - 1.0) * ((1.0 - e) * inverse)
    return sigma, s, e * inverse * inverse


def logistic_higher(s: Array, w: Array) -> tuple[Array, ...]:
    """Return the second to the sixth coefficient: w′ = −ws and s′ = 2w."""
    ws = w * s
    c4, c5 = w * (1.0 - 6.0 * w) * (1 / 24), ws * (1.0 - 12.0 * w) * (-1 / 120)
    return w * (1 / 2), ws * (-1 / 6), c4, c5, w * (1.0 - 30.0 * w + 120.0 * (w * w)) * (1 / 720)


def logistic_series(t: Array) -> tuple[Array, ...]:
    """Return the coefficients of log(1 + e^{−(t+δ)})."""
    sigma, s, w = logistic_slopes(t, exp_minus(np.abs(t)))
    c2, c3, c4, c5, c6 = logistic_higher(s, w)
    return logistic_formula(t), -sigma, c2, c3, c4, c5, c6


def welsch_series(t: Array) -> tuple[Array, ...]:
    """Return the coefficients of 1 − e^{−(t+δ)²}: −(−1)ᵏ H_k(t) e^{−t²}/k! with Hermite's polynomials."""
    g, double = exp_minus(t * t), 2.0 * t
    h2 = double * double - 2.0
    h3 = double * h2 - 4.0 * double
    h4 = double * h3 - 6.0 * h2
    h5 = double * h4 - 8.0 * h3
    h6 = double * h5 - 10.0 * h4
    c2, c3, c4 = g * h2 * (-1 / 2), g * h3 * (1 / 6), g * h4 * (-1 / 24)
    return welsch_formula(t), g * double, c2, c3, c4, g * h5 * (1 / 120), g * h6 * (-1 / 720)


def half_square(t: Array) -> Array:
    """Return ½t²."""
    return 0.5 * (t * t)


class Loss(NamedTuple):
    """φ, and where its Taylor polynomial may stand for it: steps up to ``reach`` from margins up to ``far``."""

    phi: Callable[[Array], Array]
    series: Callable[[Array], tuple[Array, ...]] | None
    reach: float
    far: float


LOSSES = {
    "logistic": Loss(logistic_formula, logistic_series, LOGISTIC_REACH, np.inf),
    "welsch": Loss(welsch_formula, welsch_series, WELSCH_REACH, WELSCH_FAR),
    "half square": Loss(half_square, None, -1.0, -1.0),
}


def values(loss: str, t: Array) -> Array:
    """Return φ(t), elementwise, written over a contiguous t."""
    flat = t.reshape(-1)
    for start, stop in blocks(flat.size, CHUNK):
        flat[start:stop] = LOSSES[loss].phi(flat[start:stop])
    return t


def total(loss: str, t: Array) -> float:
    """Return Σ_i φ(t_i); the margins may be overwritten."""
    out = 0.0
    for start, stop in blocks(len(t), TOTAL_LINES):
        lanes = np.zeros(-(-(stop - start) // LANES) * LANES)
        lanes[: stop - start] = LOSSES[loss].phi(t[start:stop])
        out += float(halve(in_order(lanes.reshape(-1, LANES))))
    return out


def stencil_sums(loss: str, t: Array, along: Array, steps: StencilSteps) -> Array:
    """Return Σ_i φ(t_i + μp_ij), then Σ_i φ(t_i − μp_ij) for two sides, then Σ_i φ(t_i) for a base: margins t (k, s), p = A U (s, b)."""
    out = np.zeros((len(t), steps.sides * along.shape[1] + steps.base))
    for top in range(0, t.shape[1], LINES):
        rows = slice(top, top + LINES)
        for k, line in enumerate(t[:, rows, None]):
            parts = _values(LOSSES[loss], line, steps.mu * along[rows], steps.sides)
            parts += [LOSSES[loss].phi(line)] * steps.base
            out[k] += in_order(np.concatenate(parts, axis=1))
    return out


def _values(loss: Loss, t: Array, steps: Array, sides: int) -> list[Array]:
    """Return φ(t + step) and φ(t − step) for margins (m, 1) and steps (m, b): strips of a row within reach by its polynomial."""
    found = [loss.phi(t + steps), loss.phi(t - steps)][:sides]
    if loss.series is None:
        return found
    for left in range(0, steps.shape[1], STRIP):
        strip = slice(left, left + STRIP)
        d = steps[:, strip]
        near = (np.abs(t[:, 0]) <= loss.far) & ~(np.abs(d) > loss.reach).any(axis=1)
        c, d = loss.series(t[near]), d[near]
        x = d * d
        even = c[0] + x * (c[2] + x * (c[4] + x * c[6]))
        odd = d * (c[1] + x * (c[3] + x * c[5]))
        for side, values in zip(found, (even + odd, even - odd), strict=False):
            side[near, strip] = values
    return found


def coordinate_sums(
    loss: str, rows: Rows, place: Indices | None, width: int, t: Array, steps: StencilSteps
) -> Array:
    """Return Σ_i φ(t_i ± μ a_ij) for every coordinate j, from the non-zeros of A alone; then
    Σ_i φ(t_i), asked for or not.

    place[j] in [0, width) is where coordinate j goes, −1 for nowhere; None stands for a whole
    basis in order.
    """
    out = np.zeros((len(t), steps.sides * width + 1))
    for top, bottom in blocks(rows.size, coordinate_lines(rows, len(t) * steps.sides * width)):
        part = rows._replace(first=rows.first + top, last=rows.first + bottom).csr()
        out += _group_of_coordinates(LOSSES[loss], part, place, width, t[:, top:bottom], steps)
    out[:, :-1] += out[:, -1:]
    return out


def coordinate_lines(rows: Rows, width: int) -> int:
    """Return rows of a group along coordinates, where each has so many sums."""
    return max(GROUP_LINES, -(-rows.size // max(1, GROUP_ENTRIES // width)))


def _group_of_coordinates(
    loss: Loss, A: csr_array, place: Indices | None, width: int, t: Array, steps: StencilSteps
) -> Array:
    """Return Σ_i [φ(t_i ± μ a_ij) − φ(t_i)] for every j, and Σ_i φ(t_i), over one group of rows."""
    row = np.repeat(np.arange(A.shape[0]), np.diff(A.indptr))
    column = A.indices if place is None else place[A.indices]
    inside = column >= 0
    row, column, step = row[inside], column[inside], steps.mu * A.data[inside]
    out = np.empty((len(t), steps.sides * width + 1))
    for k, line in enumerate(t):
        before = loss.phi(line)
        for side, after in enumerate(_values(loss, line[row][:, None], step[:, None], steps.sides)):
            change = np.bincount(column, after[:, 0] - before[row], width)
            out[k, side * width : (side + 1) * width] = change
        out[k, -1] = in_order(before[:, None])[0]
    return out


def in_order(parts: Array) -> Array:
    """Return the sum over the first axis, one after the other."""
    total = np.zeros(parts.shape[1:])
    for part in parts:
        total += part
    return total
