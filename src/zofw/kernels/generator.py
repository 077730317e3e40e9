"""The generator of :mod:`zofw.kernels.words` as pieces of kernels.

numba keeps compiled kernels by the date of their own file: after a change here, empty ``__pycache__``.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from zofw.kernels import words
from zofw.kernels.jit import as_bits, as_float, device
from zofw.kernels.plain import LANES
from zofw.kernels.words import COS_SERIES, EIGHTH_TURN, LN2, LOG_SERIES, SIN_SERIES, SQRT2

U64 = np.uint64
GOLDEN, MIX_1, MIX_2 = U64(words.GOLDEN), U64(words.MIX_1), U64(words.MIX_2)
TWO_52 = 2.0**52
TWO_52_BITS = U64(0x4330000000000000)
MANTISSA, ONE_BITS = U64(0x000FFFFFFFFFFFFF), U64(0x3FF0000000000000)
ANGLE, SWAP, LEFT, DOWN = U64(0x1FFFFFFF), U64(1 << 29), U64(1 << 30), U64(1 << 31)


@device
def mix(z: Any) -> Any:
    z = (z ^ (z >> U64(30))) * MIX_1
    z = (z ^ (z >> U64(27))) * MIX_2
    return z ^ (z >> U64(31))


@device
def stream(key: Any, row: Any) -> Any:
    return mix(key + (U64(row) + U64(1)) * GOLDEN)


@device
def small(word: Any) -> Any:
    """A whole number below 2⁵² as a float, exactly, by operations that vectorise."""
    return as_float(word | TWO_52_BITS) - TWO_52


@device
def horner(series: Any, x: Any) -> Any:
    total = series[len(series) - 1]
    for k in range(len(series) - 2, -1, -1):
        total = total * x + series[k]
    return total


@device
def pairs(drawn: Any, cosines: Any, sines: Any, n: int) -> None:
    """Box and Muller's pair of every word; see :mod:`zofw.kernels.words`."""
    for i in range(n):
        word = drawn[i]
        u = (small(word >> U64(32)) + 0.5) * 2.0**-32
        bits = as_bits(u)
        e = small(bits >> U64(52)) - 1023.0
        m = as_float((bits & MANTISSA) | ONE_BITS)
        large = m > SQRT2
        m = 0.5 * m if large else m
        e = e + 1.0 if large else e
        s = (m - 1.0) / (m + 1.0)
        radius = math.sqrt(-2.0 * (e * LN2 + s * horner(LOG_SERIES, s * s)))
        angle = (small(word & ANGLE) + 0.5) * EIGHTH_TURN
        square = angle * angle
        sine = angle * horner(SIN_SERIES, square)
        cosine = horner(COS_SERIES, square)
        swap = (word & SWAP) != U64(0)
        c = sine if swap else cosine
        s = cosine if swap else sine
        cosines[i] = radius * as_float(as_bits(c) ^ ((word & LEFT) << U64(33)))
        sines[i] = radius * as_float(as_bits(s) ^ ((word & DOWN) << U64(32)))


@device
def lane_streams(key: Any, start: int, streams: Any) -> None:
    for r in range(LANES):
        streams[r] = stream(key, start + r)


@device
def lane_words(streams: Any, word: int, drawn: Any) -> None:
    """Word ``word`` of LANES consecutive rows."""
    step = U64(word + 1) * GOLDEN
    for r in range(LANES):
        drawn[r] = mix(streams[r] + step)


@device
def halve(x: Any, size: int) -> Any:
    """Sum of the first ``size`` = 2^m entries by halving; destroys them."""
    while size > 1:
        size //= 2
        for k in range(size):
            x[k] += x[size + k]
    return x[0]
