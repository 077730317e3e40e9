"""Random words addressed by (key, row, word): the numbers behind every implicit law, in plain NumPy.

Each row i of a direction matrix owns a SplitMix64 stream started at a hash of (key, i); word w of that stream is

    word(key, i, w) = mix(mix(key + (i + 1)·G) + (w + 1)·G),   G = 2⁶⁴/φ,

with Steele, Lea and Flood's finaliser ``mix``. A word depends on nothing but its address, so any block of any row can
be made again anywhere, in any order and on any number of threads. The Gaussian transform below uses only operations
that IEEE 754 rounds exactly (+, −, ×, ÷, √) and integer logic, so that another implementation of the same formula
gives the same bits. It works in single precision, eight numbers to a vector register: an entry is a normal number to
24 bits, of modulus at most 6.7, and everything that is done with it afterwards is in double precision.

References
----------
G. L. Steele, D. Lea, C. H. Flood, Fast splittable pseudorandom number generators, OOPSLA 2014.
G. E. P. Box, M. E. Muller, A note on the generation of random normal deviates, 1958.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from zofw.core import Array, Indices

Words = NDArray[np.uint64]
Halves = NDArray[np.uint32]
Singles = NDArray[np.float32]

GOLDEN = 0x9E3779B97F4A7C15
MIX_1 = 0xBF58476D1CE4E5B9
MIX_2 = 0x94D049BB133111EB
WORD_BITS = 64

F32 = np.float32
# ln m = 2s(1 + s²/3 + s⁴/5 + …), s = (m − 1)/(m + 1), |s| ≤ 0.1716 for m in [1/√2, √2]
LOG_SERIES = tuple(F32(2.0 / (2 * k + 1)) for k in range(5))
SIN_SERIES = tuple(F32((-1) ** k / math.factorial(2 * k + 1)) for k in range(5))
COS_SERIES = tuple(F32((-1) ** k / math.factorial(2 * k)) for k in range(6))
LN2, SQRT2 = F32(math.log(2.0)), F32(math.sqrt(2.0))
EIGHTH_TURN = F32(math.pi / 4 * 2.0**-29)  # π/4 over the 2²⁹ steps within an octant
HALF, ONE, TWO, BIAS, STEP = F32(0.5), F32(1.0), F32(2.0), F32(127.0), F32(2.0**-31)


def mix(z: Words) -> Words:
    """SplitMix64's finaliser, a bijection of 64-bit words."""
    z = (z ^ (z >> np.uint64(30))) * np.uint64(MIX_1)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(MIX_2)
    return z ^ (z >> np.uint64(31))


def words(key: int, rows: Indices, start: int, stop: int) -> Words:
    """Words start, …, stop − 1 of the given rows: (len(rows), stop − start)."""
    streams = mix(np.uint64(key) + (rows.astype(np.uint64) + np.uint64(1)) * np.uint64(GOLDEN))
    steps = np.arange(start + 1, stop + 1, dtype=np.uint64) * np.uint64(GOLDEN)
    return mix(streams[:, None] + steps[None, :])


def signs(key: int, rows: Indices, left: int, right: int) -> Array:
    """±1 for columns left, …, right − 1: entry (i, j) is bit j mod 64 of word j div 64, set for +1."""
    first = left // WORD_BITS
    drawn = words(key, rows, first, -(-right // WORD_BITS))
    bits = np.unpackbits(drawn.astype("<u8").view(np.uint8), axis=1, bitorder="little")
    offset = first * WORD_BITS
    return bits[:, left - offset : right - offset] * np.float64(2.0) - 1.0


def normals(key: int, rows: Indices, left: int, right: int) -> Array:
    """N(0, 1) for columns left, …, right − 1: word w makes the pair of columns 2w and 2w + 1 by Box and Muller."""
    first = left // 2
    drawn = words(key, rows, first, -(-right // 2))
    radius = np.sqrt(-TWO * _log((drawn >> np.uint64(32)).astype(np.uint32)))
    cosine, sine = _cos_sin(drawn.astype(np.uint32))
    pairs = np.stack([radius * cosine, radius * sine], axis=2).reshape(len(rows), 2 * drawn.shape[1])
    return pairs[:, left - 2 * first : right - 2 * first].astype(np.float64)


def _horner(series: tuple[np.float32, ...], x: Singles) -> Singles:
    total = np.full_like(x, series[-1])
    for coefficient in series[-2::-1]:
        total = total * x + coefficient
    return total


def _log(upper: Halves) -> Singles:
    """ln u, u = (the 31 higher bits + ½)·2⁻³¹."""
    u = ((upper >> np.uint32(1)).astype(np.int32).astype(np.float32) + HALF) * STEP
    bits = u.view(np.uint32)
    e = (bits >> np.uint32(23)).astype(np.int32).astype(np.float32) - BIAS
    m = ((bits & np.uint32(0x007FFFFF)) | np.uint32(0x3F800000)).view(np.float32)
    large = m > SQRT2
    m, e = np.where(large, HALF * m, m), np.where(large, e + ONE, e)
    s = (m - ONE) / (m + ONE)
    return np.asarray(e * LN2 + s * _horner(LOG_SERIES, s * s), dtype=np.float32)


def _cos_sin(lower: Halves) -> tuple[Singles, Singles]:
    """cos and sin of 2π·(32 bits + ½)·2⁻³²: an octant from three bits, an angle in (0, π/4) from 29."""
    octant = lower >> np.uint32(29)
    angle = ((lower & np.uint32(0x1FFFFFFF)).astype(np.int32).astype(np.float32) + HALF) * EIGHTH_TURN
    square = angle * angle
    sine = angle * _horner(SIN_SERIES, square)
    cosine = _horner(COS_SERIES, square)
    # octants reuse one angle of the first: swap the pair in odd ones, then set the signs; uniform over the circle
    swap = (octant & np.uint32(1)) != 0
    c, s = np.where(swap, sine, cosine), np.where(swap, cosine, sine)
    return np.where((octant & np.uint32(2)) != 0, -c, c), np.where((octant & np.uint32(4)) != 0, -s, s)
