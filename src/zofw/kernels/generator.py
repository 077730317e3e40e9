"""The generator of :mod:`zofw.kernels.words` as pieces of kernels.

numba keeps compiled kernels by the date of their own file; :func:`zofw.kernels.forget_stale` empties its cache after a change in any. Where
NUMBA_CACHE_DIR names another folder, that is for you to do.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from zofw.kernels import words
from zofw.kernels.jit import as_bits32, as_float32, device
from zofw.kernels.plain import LANES
from zofw.kernels.words import (
    BIAS,
    COS_SERIES,
    EIGHTH_TURN,
    F32,
    HALF,
    LN2,
    LOG_SERIES,
    ONE,
    SIN_SERIES,
    SQRT2,
    STEP,
    TWO,
)  # fmt: skip

U64, U32 = np.uint64, np.uint32
GOLDEN, MIX_1, MIX_2 = U64(words.GOLDEN), U64(words.MIX_1), U64(words.MIX_2)
MANTISSA, ONE_BITS = U32(0x007FFFFF), U32(0x3F800000)
ANGLE, SWAP, LEFT, DOWN = U32(0x1FFFFFFF), U32(1 << 29), U32(1 << 30), U32(1 << 31)


@device
def mix(z: Any) -> Any:
    z = (z ^ (z >> U64(30))) * MIX_1
    z = (z ^ (z >> U64(27))) * MIX_2
    return z ^ (z >> U64(31))


@device
def stream(key: Any, row: Any) -> Any:
    return mix(key + (U64(row) + U64(1)) * GOLDEN)


@device
def horner(series: Any, x: Any) -> Any:
    total = series[len(series) - 1]
    for k in range(len(series) - 2, -1, -1):
        total = total * x + series[k]
    return total


@device
def pairs(drawn: Any, halves: Any, cosines: Any, sines: Any, n: int) -> None:
    """Box and Muller's pair of every word, in single precision; see :mod:`zofw.kernels.words`.

    The words are cut into ``halves`` first: a loop over numbers of one width fills whole registers.
    """
    upper, lower = halves[0], halves[1]
    for i in range(n):
        upper[i] = U32(drawn[i] >> U64(32))
        lower[i] = U32(drawn[i])
    for i in range(n):
        u = (F32(np.int32(upper[i] >> U32(1))) + HALF) * STEP
        bits = as_bits32(u)
        e = F32(np.int32(bits >> U32(23))) - BIAS
        m = as_float32(U32((bits & MANTISSA) | ONE_BITS))
        large = m > SQRT2
        m = HALF * m if large else m
        e = e + ONE if large else e
        s = (m - ONE) / (m + ONE)
        radius = math.sqrt(-TWO * (e * LN2 + s * horner(LOG_SERIES, s * s)))
        angle = (F32(np.int32(lower[i] & ANGLE)) + HALF) * EIGHTH_TURN
        square = angle * angle
        sine = angle * horner(SIN_SERIES, square)
        cosine = horner(COS_SERIES, square)
        swap = (lower[i] & SWAP) != U32(0)
        c = sine if swap else cosine
        s = cosine if swap else sine
        cosines[i] = radius * as_float32(U32(as_bits32(c) ^ U32((lower[i] & LEFT) << U32(1))))
        sines[i] = radius * as_float32(U32(as_bits32(s) ^ U32(lower[i] & DOWN)))


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
