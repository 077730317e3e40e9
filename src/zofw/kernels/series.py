"""Taylor series of the losses: values at many points near one margin cost a polynomial each.

Along b directions the margins t ± δ_j lie close to t, δ = μ aᵀu. Where |δ| is within the reach of a loss, the polynomial of
degree six at t has a remainder below half a unit in the last place, so that it is the loss to rounding at an eighth of the
price. Margins beyond the reach take the formula itself. Functions here serve NumPy arrays and numba numbers alike.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from zofw.core import Array
from zofw.kernels.losses import (
    LARGEST,
    exp_minus,
    exp_parts,
    exp_rest,
    logistic_formula,
    quotient,
    reduced,
    softplus,
    welsch_formula,
)

LOGISTIC_REACH = 2.0**-6  # |φ⁗‴δ⁷/7!| ≤ δ⁷φ/7! < 2⁻⁵³φ
WELSCH_REACH = 2.0**-8  # |φ⁗‴|/7! ≤ 0.23
WELSCH_FAR = 26.0  # margins whose e^{−t²} is 0 to rounding many times over


def logistic_slopes(t: Any, e: Any) -> Any:
    """σ = 1/(1 + eᵗ), s = 1 − 2σ and w = σ(1 − σ), from e = e^{−|t|}."""
    e = np.float64(np.abs(t) <= LARGEST) * e
    inverse = 1.0 / (1.0 + e)
    right = np.float64(t >= 0.0)
    sigma = (right * e + (1.0 - right)) * inverse
    s = (2.0 * right - 1.0) * ((1.0 - e) * inverse)
    return sigma, s, e * inverse * inverse


def logistic_higher(s: Any, w: Any) -> Any:
    """The second to the sixth coefficient: w′ = −ws and s′ = 2w."""
    ws = w * s
    return (
        w * (1 / 2),
        ws * (-1 / 6),
        w * (1.0 - 6.0 * w) * (1 / 24),
        ws * (1.0 - 12.0 * w) * (-1 / 120),
        w * (1.0 - 30.0 * w + 120.0 * (w * w)) * (1 / 720),
    )


def logistic_series(t: Any) -> Any:
    """The coefficients of log(1 + e^{−(t+δ)})."""
    sigma, s, w = logistic_slopes(t, exp_minus(np.abs(t)))
    c2, c3, c4, c5, c6 = logistic_higher(s, w)
    return logistic_formula(t), -sigma, c2, c3, c4, c5, c6


def logistic_series_passes(t: Array, c: Array, a: Array, b: Array, e: Array) -> None:
    """c[:, i], the coefficients at t_i, in passes like those of the loss; a, b and e are spare."""
    c0, c1, c2, c3, c4, c5, c6 = c[0], c[1], c[2], c[3], c[4], c[5], c[6]
    for i in range(t.size):
        a[i], b[i] = reduced(np.abs(t[i]))
    for i in range(t.size):
        b[i] = exp_rest(b[i])
    for i in range(t.size):
        e[i] = a[i] + a[i] * b[i]
    for i in range(t.size):
        a[i], b[i] = quotient(e[i])
    for i in range(t.size):
        c0[i] = softplus(t[i], a[i], b[i])
    for i in range(t.size):
        sigma, a[i], b[i] = logistic_slopes(t[i], e[i])
        c1[i] = -sigma
    for i in range(t.size):
        c2[i], c3[i], c4[i], c5[i], c6[i] = logistic_higher(a[i], b[i])


def welsch_series(t: Any) -> Any:
    """The coefficients of 1 − e^{−(t+δ)²}: −(−1)ᵏ H_k(t) e^{−t²}/k! with Hermite's polynomials."""
    power, rest = exp_parts(t * t)
    g = power + power * rest
    double = 2.0 * t
    h2 = double * double - 2.0
    h3 = double * h2 - 4.0 * double
    h4 = double * h3 - 6.0 * h2
    h5 = double * h4 - 8.0 * h3
    h6 = double * h5 - 10.0 * h4
    return (
        welsch_formula(t),
        g * double,
        g * h2 * (-1 / 2),
        g * h3 * (1 / 6),
        g * h4 * (-1 / 24),
        g * h5 * (1 / 120),
        g * h6 * (-1 / 720),
    )
