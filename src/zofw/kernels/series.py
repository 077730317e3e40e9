"""Taylor series of the losses: values at many points near one margin cost a polynomial each.

Along b directions the margins t ± δ_j lie close to t, δ = μ aᵀu. Where |δ| is within the reach of a loss, the polynomial of
degree six at t has a remainder below half a unit in the last place, so that it is the loss to rounding at an eighth of the
price. Margins beyond the reach take the formula itself. Functions here serve NumPy arrays and numba numbers alike.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from zofw.kernels.losses import LARGEST, exp_parts, logistic_formula, welsch_formula

LOGISTIC_REACH = 2.0**-6  # |φ⁗‴δ⁷/7!| ≤ δ⁷φ/7! < 2⁻⁵³φ
WELSCH_REACH = 2.0**-8  # |φ⁗‴|/7! ≤ 0.23
WELSCH_FAR = 26.0  # margins whose e^{−t²} is 0 to rounding many times over


def logistic_series(t: Any) -> Any:
    """The coefficients of log(1 + e^{−(t+δ)}): with w = σ(1 − σ) and s = 1 − 2σ, w′ = −ws and s′ = 2w."""
    a = np.abs(t)
    power, rest = exp_parts(a)
    e = np.float64(a <= LARGEST) * (power + power * rest)
    inverse = 1.0 / (1.0 + e)
    right = np.float64(t >= 0.0)
    sigma = (right * e + (1.0 - right)) * inverse
    s = (2.0 * right - 1.0) * ((1.0 - e) * inverse)
    w = e * inverse * inverse
    ws = w * s
    return (
        logistic_formula(t),
        -sigma,
        w * (1 / 2),
        ws * (-1 / 6),
        w * (1.0 - 6.0 * w) * (1 / 24),
        ws * (1.0 - 12.0 * w) * (-1 / 120),
        w * (1.0 - 30.0 * w + 120.0 * (w * w)) * (1 / 720),
    )


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
