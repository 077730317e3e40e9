"""Losses of margins, elementwise: polynomials in operations that IEEE 754 rounds exactly.

Each formula is one function that NumPy applies to arrays and numba to numbers, with the same bits either way. Both losses
are built on e^{−a} = 2^{−k}(1 + r·P(r)) with k = ⌊a·log₂e⌉, r = k·ln 2 − a, |r| ≤ ½ ln 2 and P the Taylor polynomial of
(eʳ − 1)/r to a remainder below 2⁻⁵²; relative errors stay within a few units in the last place. Polynomials are summed
in pairs (Estrin), which shortens the chain of operations that wait for each other.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from zofw import kernels
from zofw.core import Array, blocks

CHUNK = 1 << 12  # numbers that NumPy carries through a formula at a time: 32 kB each
LARGEST = 708.0  # e^{−a} is a normal number up to here, and 0 beyond
LOG2E = 1.4426950408889634
LN2 = 0.6931471805599453
LN2_HIGH = 0.6931471803691238  # its last 20 bits are zero: k·LN2_HIGH is exact
LN2_LOW = 1.9082149292705877e-10
WHOLE = 6755399441055744.0  # 3·2⁵¹: adding it rounds to a whole number, found in the low bits of the sum
SPLIT = 0.41421356  # √2 − 1


def exp_parts(a: Any) -> Any:
    """2^{−k} and r·P(r) with e^{−a} = 2^{−k}(1 + r·P(r)), for 0 ≤ a ≤ LARGEST; larger a count as LARGEST."""
    a = np.minimum(a, LARGEST)
    shifted = a * LOG2E + WHOLE
    k = shifted - WHOLE
    r = (k * LN2_HIGH - a) + k * LN2_LOW
    r2 = r * r
    r4 = r2 * r2
    low = (1.0 + r * (1 / 2)) + r2 * (1 / 6 + r * (1 / 24))
    middle = (1 / 120 + r * (1 / 720)) + r2 * (1 / 5040 + r * (1 / 40320))
    high = (1 / 362880 + r * (1 / 3628800)) + r2 * (1 / 39916800 + r * (1 / 479001600))
    p = (low + r4 * middle) + (r4 * r4) * (high + r4 * (1 / 6227020800))
    exponent = np.int64(1023) - (np.float64(shifted).view(np.int64) & np.int64(0xFFFF))
    power = np.int64(exponent << np.int64(52)).view(np.float64)
    return power, r * p


def log1p_unit(e: Any) -> Any:
    """log(1 + e) for 0 ≤ e ≤ 1: h·ln 2 + 2 artanh s, s = (e − h)/(e + 2 + h), h = [e > √2 − 1], |s| ≤ 0.172."""
    h = np.float64(e > SPLIT)
    s = (e - h) / (e + (2.0 + h))
    q = s * s
    q2 = q * q
    q4 = q2 * q2
    low = (2.0 + q * (2 / 3)) + q2 * (2 / 5 + q * (2 / 7))
    high = (2 / 9 + q * (2 / 11)) + q2 * (2 / 13 + q * (2 / 15))
    return s * ((low + q4 * high) + (q4 * q4) * (2 / 17 + q * (2 / 19))) + h * LN2


def logistic_formula(t: Any) -> Any:
    """log(1 + e^{−t}) = max(−t, 0) + log(1 + e^{−|t|})."""
    a = np.abs(t)
    power, rest = exp_parts(a)
    e = np.float64(a <= LARGEST) * (power + power * rest)
    return np.maximum(-t, 0.0) + log1p_unit(e)


def welsch_formula(t: Any) -> Any:
    """1 − e^{−t²} = (1 − 2^{−k}) − 2^{−k} r·P(r); the first term is 0 near t = 0, where nothing may cancel."""
    power, rest = exp_parts(t * t)
    return (1.0 - power) - power * rest


def logistic_loop(t: Array) -> None:
    """The formula over t, number by number."""
    for i in range(t.size):
        t[i] = logistic_formula(t[i])


def welsch_loop(t: Array) -> None:
    """The formula over t, number by number."""
    for i in range(t.size):
        t[i] = welsch_formula(t[i])


def logistic(t: Array) -> Array:
    """log(1 + e^{−t}), written over a contiguous t."""
    return _apply("logistic", logistic_formula, t)


def welsch(t: Array) -> Array:
    """1 − e^{−t²}, written over a contiguous t."""
    return _apply("welsch", welsch_formula, t)


def _apply(name: str, formula: Callable[[Any], Any], t: Array) -> Array:
    flat = t.reshape(-1)
    if kernels.wanted(t.size):
        getattr(kernels.load("compiled_losses"), name)(flat)
        return t
    for start, stop in blocks(flat.size, CHUNK):
        flat[start:stop] = formula(flat[start:stop])
    return t
