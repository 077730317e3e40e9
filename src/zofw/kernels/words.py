"""Random words addressed by (key, row, word), the entries of U made of them, and products with
U, in plain NumPy.

Each row i of a direction matrix owns a SplitMix64 stream started at a hash of (key, i); word w
of that stream is

    word(key, i, w) = mix(mix(key + (i + 1)·G) + (w + 1)·G),   G = 2⁶⁴/φ,

with Steele, Lea and Flood's finaliser ``mix``. A word depends on nothing but its address, so
any block of any row can be made again anywhere, in any order and on any number of threads. The
Gaussian transform below uses only operations that IEEE 754 rounds exactly (+, −, ×, ÷, √) and
integer logic, so that another implementation of the same formula gives the same bits. It works
in single precision, eight numbers to a vector register: an entry is a normal number to 24 bits,
of modulus at most 6.7, and everything that is done with it afterwards is in double precision.

References
----------
G. L. Steele, D. Lea, C. H. Flood, Fast splittable pseudorandom number generators, OOPSLA 2014.
G. E. P. Box, M. E. Muller, A note on the generation of random normal deviates, 1958.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from zofw.core import Array, Indices, blocks
from zofw.extras import lazy
from zofw.kernels.rows import Rows

sp = lazy("scipy.sparse")

Words = NDArray[np.uint64]

GOLDEN = 0x9E3779B97F4A7C15
MIX_1 = 0xBF58476D1CE4E5B9
MIX_2 = 0x94D049BB133111EB
WORD_BITS, WORD_BYTES = 64, 8
BYTE_BITS, BYTE_VALUES = 8, 256
TILE_ENTRIES = 1 << 20  # entries of U alive at any time: 8 MB
TILE_ROWS = 4096
LANES = 64

F32, U32 = np.float32, np.uint32
# ln m = 2s(1 + s²/3 + s⁴/5 + …), s = (m − 1)/(m + 1), |s| ≤ 0.1716 for m in [1/√2, √2]
LOG_SERIES = tuple(F32(2.0 / (2 * k + 1)) for k in range(5))
SIN_SERIES = tuple(F32((-1) ** k / math.factorial(2 * k + 1)) for k in range(5))
COS_SERIES = tuple(F32((-1) ** k / math.factorial(2 * k)) for k in range(6))
LN2, SQRT2 = F32(math.log(2.0)), F32(math.sqrt(2.0))
EIGHTH_TURN = F32(math.pi / 4 * 2.0**-29)  # π/4 over the 2²⁹ steps within an octant
ZERO, HALF, ONE, TWO = F32(0.0), F32(0.5), F32(1.0), F32(2.0)
BIAS, STEP = F32(127.0), F32(2.0**-31)


def mix(z: Any) -> Any:
    """Return SplitMix64's finaliser, a bijection of 64-bit words; of arrays or, in numba, of numbers."""
    z = (z ^ (z >> np.uint64(30))) * np.uint64(MIX_1)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(MIX_2)
    return z ^ (z >> np.uint64(31))


def words(key: int, rows: Indices, start: int, stop: int) -> Words:
    """Return words start, …, stop − 1 of the given rows: (len(rows), stop − start)."""
    streams = mix(np.uint64(key) + (rows.astype(np.uint64) + np.uint64(1)) * np.uint64(GOLDEN))
    steps = np.arange(start + 1, stop + 1, dtype=np.uint64) * np.uint64(GOLDEN)
    drawn: Words = mix(streams[:, None] + steps[None, :])
    return drawn


def signs(key: int, rows: Indices, left: int, right: int) -> Array:
    """Return ±1 for columns left, …, right − 1: entry (i, j) is bit j mod 64 of word j div 64, set for +1."""
    first = left // WORD_BITS
    drawn = words(key, rows, first, -(-right // WORD_BITS))
    bits = np.unpackbits(drawn.astype("<u8").view(np.uint8), axis=1, bitorder="little")
    offset = first * WORD_BITS
    return bits[:, left - offset : right - offset] * np.float64(2.0) - 1.0


def normals(key: int, rows: Indices, left: int, right: int) -> Array:
    """Return N(0, 1) for columns left, …, right − 1: word w makes the pair of columns 2w and 2w + 1 by Box and Muller."""
    first = left // 2
    drawn = words(key, rows, first, -(-right // 2))
    radius = np.sqrt(-TWO * log((drawn >> np.uint64(32)).astype(np.uint32)))
    cosine, sine = cos_sin(drawn.astype(np.uint32))
    pairs = np.stack([radius * cosine, radius * sine], axis=2).reshape(len(rows), 2 * drawn.shape[1])
    return pairs[:, left - 2 * first : right - 2 * first].astype(np.float64)


def choose(condition: Any, this: Any, other: Any) -> Any:
    """Return ``this`` where the condition holds, for arrays; numba has its own for numbers."""
    return np.where(condition, this, other)


def horner(series: tuple[np.float32, ...], x: Any) -> Any:
    """Return Σ_k series[k] xᵏ."""
    total = series[len(series) - 1]
    for k in range(len(series) - 2, -1, -1):
        total = total * x + series[k]
    return total


def log(upper: Any) -> Any:
    """Return ln u, u = (the 31 higher bits + ½)·2⁻³¹ = m·2ᵉ, for arrays of 32 bits or, in numba, for numbers."""
    u = (F32(np.int32(upper >> U32(1))) + HALF) * STEP
    bits = np.float32(u).view(np.uint32)
    m = np.uint32((bits & U32(0x007FFFFF)) | U32(0x3F800000)).view(np.float32)
    large = m > SQRT2
    m = choose(large, HALF * m, m)
    e = F32(np.int32(bits >> U32(23))) - BIAS + choose(large, ONE, ZERO)
    s = (m - ONE) / (m + ONE)
    return e * LN2 + s * horner(LOG_SERIES, s * s)


def cos_sin(lower: Any) -> Any:
    """Return cos and sin of 2π·(32 bits + ½)·2⁻³²: an octant from three bits, an angle in (0,
    π/4) from 29.

    Octants reuse one angle of the first: swap the pair in odd ones, then set the signs; uniform
    over the circle.
    """
    angle = (F32(np.int32(lower & U32(0x1FFFFFFF))) + HALF) * EIGHTH_TURN
    sine, cosine = angle * horner(SIN_SERIES, angle * angle), horner(COS_SERIES, angle * angle)
    swap = (lower & U32(1 << 29)) != U32(0)
    c, s = choose(swap, sine, cosine), choose(swap, cosine, sine)
    left, down = (lower & U32(1 << 30)) != U32(0), (lower & U32(1 << 31)) != U32(0)
    return choose(left, -c, c), choose(down, -s, s)


@dataclass(frozen=True)
class Entries:
    """A rule for entries: ``entries(key, rows, left, right)`` is U[rows, left:right].

    Of it are made U c, Uᵀg, ‖u_j‖² for every column, and Z U for a sparse Z.
    """

    entries: Callable[[int, Indices, int, int], Array]

    def block(self, key: int, rows: Indices, left: int, right: int) -> Array:
        return self.entries(key, rows, left, right)

    def combine(self, key: int, dim: int, c: Array) -> Array:
        out = np.zeros(dim)
        at_once = max(1, TILE_ENTRIES // len(c))
        for start in range(0, dim, at_once):
            part = out[start : start + at_once]
            tile = self.entries(key, np.arange(start, start + len(part), dtype=np.int64), 0, len(c))
            for j, weight in enumerate(c):
                part += tile[:, j] * weight
        return out

    def project(self, key: int, g: Array, count: int) -> Array:
        return self._over_rows(key, len(g), count, lambda tile, start, stop: tile * g[start:stop, None])

    def squares(self, key: int, dim: int, count: int) -> Array:
        return self._over_rows(key, dim, count, lambda tile, start, stop: tile * tile)

    def product(self, key: int, Z: Rows, count: int) -> Array:
        rows, (touched, place) = Z.csr(), Z.touched()
        compact = sp.csr_array((rows.data, place[rows.indices], rows.indptr), shape=(Z.size, len(touched)))
        out = np.zeros((Z.size, count))
        for left, right in blocks(count, max(1, TILE_ENTRIES // max(1, len(touched)))):
            out[:, left:right] = compact @ self.entries(key, touched, left, right)
        return out

    def _over_rows(self, key: int, dim: int, count: int, terms: Callable[[Array, int, int], Array]) -> Array:
        """Return Σ_i terms(U[i, :]) in tiles and lanes."""
        out = np.zeros(count)
        for top, bottom in blocks(dim, TILE_ROWS):
            lanes = np.zeros((LANES, count))
            for start, stop in blocks(bottom - top, LANES):
                tile = self.entries(key, np.arange(top + start, top + stop, dtype=np.int64), 0, count)
                lanes[: stop - start] += terms(tile, top + start, top + stop)
            out += halve(lanes)
        return out


def halve(x: Array) -> Array:
    """Return sum over the first axis, of length 2^m: upper half added to lower half, m times."""
    while len(x) > 1:
        middle = len(x) // 2
        x = x[:middle] + x[middle:]
    return np.asarray(x[0])


def byte_tables(c: Array) -> Array:
    """Return Σ ± c over the eight columns of each byte, for its 256 values, (bytes, 256); bytes fill whole words."""
    padded = np.zeros(WORD_BITS * -(-len(c) // WORD_BITS))
    padded[: len(c)] = c
    parts = padded.reshape(-1, BYTE_BITS, 1)
    table = np.zeros((len(parts), 1))
    for bit in range(BYTE_BITS):
        table = np.concatenate([table - parts[:, bit], table + parts[:, bit]], axis=1)
    return table


def _row_bytes(key: int, start: int, stop: int, count: int) -> NDArray[np.uint8]:
    """Return the bytes behind rows start, …, stop − 1."""
    drawn = words(key, np.arange(start, stop, dtype=np.int64), 0, -(-count // WORD_BITS))
    return drawn.astype("<u8").view(np.uint8)


class Signs(Entries):
    """Random signs: sixty-four entries to a word, eight at a time from a table."""

    def combine(self, key: int, dim: int, c: Array) -> Array:
        tables, out = byte_tables(c), np.zeros(dim)
        for start, stop in blocks(dim, TILE_ROWS):
            drawn = _row_bytes(key, start, stop, len(c))
            found = tables[np.arange(len(tables)), drawn].reshape(stop - start, -1, WORD_BYTES)
            while found.shape[2] > 1:
                found = found[:, :, 0::2] + found[:, :, 1::2]
            for word in range(found.shape[1]):
                out[start:stop] += found[:, word, 0]
        return out

    def project(self, key: int, g: Array, count: int) -> Array:
        out = np.zeros(count)
        for start, stop in blocks(len(g), TILE_ROWS):
            drawn = _row_bytes(key, start, stop, count)
            counts = [np.bincount(column, g[start:stop], BYTE_VALUES) for column in drawn.T]
            sums: Array = np.stack(counts, axis=1, dtype=float)
            folded = np.empty((sums.shape[1], BYTE_BITS))
            for bit in reversed(range(BYTE_BITS)):
                low, high = sums[: 1 << bit], sums[1 << bit :]
                folded[:, bit] = halve(high - low)
                sums = low + high
            out += folded.ravel()[:count]
        return out


def kept(drawn: Array) -> Entries:
    """Return entries that were drawn before: the table U itself stands for their rule."""
    return Entries(lambda _, rows, left, right: drawn[rows, left:right])


SOURCES: dict[str, Entries] = {"signs": Signs(signs), "normals": Entries(normals)}
