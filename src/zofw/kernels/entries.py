"""Kernels of implicit entries: the functions of :mod:`zofw.kernels.words`, compiled, and what
is made of random signs and normals.

numba keeps kernels by the date of their own file, so :func:`zofw.kernels.forget_stale` empties
its cache after a change in any.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import types
from numba.core.types import int64, uint64, void
from numba.extending import overload, register_jitable
from numpy.typing import NDArray

from zofw.core import Array, Indices
from zofw.kernels import words
from zofw.kernels.jit import LONGS, OUT, OUT_LONGS, OUT_TABLE, REALS, Emission, device, emitting, kernel
from zofw.kernels.packs import SIGN_BITS, half_word_signs, of_size, put
from zofw.kernels.rows import Rows
from zofw.kernels.words import BYTE_BITS, BYTE_VALUES, LANES, TILE_ROWS, WORD_BITS, WORD_BYTES, Words

Singles = NDArray[np.float32]
U64, U32 = np.uint64, np.uint32
GOLDEN = U64(words.GOLDEN)
FLAT = 512  # words of several rows transformed in one go
SHARING = 512  # rows that meet the tables of one word together: they and the tables lie in the nearest cache
_, each = of_size(SIGN_BITS)


def _choose(condition: types.Type, this: types.Type, other: types.Type) -> Callable[..., float]:
    return lambda condition, this, other: this if condition else other


overload(words.choose, strict=False)(_choose)
register_jitable(words.horner)
mix, log, cos_sin = map(device, (words.mix, words.log, words.cos_sin))


@device
def stream(key: int, row: Any) -> Any:
    """Where the words of a row begin."""
    return mix(key + (U64(row) + U64(1)) * GOLDEN)


@device
def pairs(drawn: Words, halves: NDArray[np.uint32], cosines: Singles, sines: Singles, n: int) -> None:
    """Box and Muller's pair of every word.

    The words are cut into ``halves`` first: a loop over numbers of one width fills whole
    registers.
    """
    upper, lower = halves[0], halves[1]
    for i in range(n):
        upper[i] = U32(drawn[i] >> U64(32))
        lower[i] = U32(drawn[i])
    for i in range(n):
        radius, (cosine, sine) = math.sqrt(-words.TWO * log(upper[i])), cos_sin(lower[i])
        cosines[i], sines[i] = radius * cosine, radius * sine


@device
def lane_streams(key: int, start: int, streams: Words) -> None:
    """The streams of LANES consecutive rows."""
    for r in range(LANES):
        streams[r] = stream(key, start + r)


@device
def lane_words(streams: Words, word: int, drawn: Words) -> None:
    """Word ``word`` of each."""
    step = U64(word + 1) * GOLDEN
    for r in range(LANES):
        drawn[r] = mix(streams[r] + step)


@device
def halve(x: Array, size: int) -> Any:
    """Return sum of the first ``size`` = 2^m entries by halving; destroys them."""
    while size > 1:
        size //= 2
        for k in range(size):
            x[k] += x[size + k]
    return x[0]


@kernel(void(uint64, LONGS, int64, int64, OUT_TABLE, int64, int64))
def normal_rows(key: int, rows: Indices, first: int, last: int, out: Array, start: int, stop: int) -> None:
    """out[start:stop] = U[rows[start:stop], 2 first : 2 last]; short rows share one go, a long one takes several."""
    drawn, halves = np.empty(FLAT, np.uint64), np.empty((2, FLAT), np.uint32)
    cosines, sines = np.empty(FLAT, np.float32), np.empty(FLAT, np.float32)
    together = max(1, FLAT // max(1, last - first))
    for top in range(start, stop, together):
        lines = min(together, stop - top)
        for cut in range(first, last, FLAT):
            run = min(FLAT, last - cut)
            for r in range(lines):
                step = stream(key, rows[top + r]) + U64(cut) * GOLDEN
                for k in range(r * run, (r + 1) * run):
                    step += GOLDEN
                    drawn[U64(k)] = mix(step)
            pairs(drawn, halves, cosines, sines, lines * run)
            for r in range(lines):
                line, place = U64(top + r), U64(2 * (cut - first))
                for k in range(r * run, (r + 1) * run):
                    out[line, place] = cosines[U64(k)]
                    out[line, place + U64(1)] = sines[U64(k)]
                    place += U64(2)


@device
def lanes_of_pairs() -> tuple[Words, Words, NDArray[np.uint32], Singles, Singles]:
    """Return room for the streams, words, halves, cosines and sines of LANES rows."""
    return (
        np.empty(LANES, np.uint64), np.empty(LANES, np.uint64), np.empty((2, LANES), np.uint32),
        np.empty(LANES, np.float32), np.empty(LANES, np.float32),
    )  # fmt: skip


@kernel(void(uint64, REALS, OUT, int64, int64))
def normal_combine(key: int, c: Array, out: Array, start: int, stop: int) -> None:
    """out[start:stop] = (U c)[start:stop]; c of even length."""
    streams, drawn, halves, cosines, sines = lanes_of_pairs()
    total = np.empty(LANES)
    for top in range(start, stop, LANES):
        lane_streams(key, top, streams)
        total[:] = 0.0
        for w in range(len(c) // 2):
            lane_words(streams, w, drawn)
            pairs(drawn, halves, cosines, sines, LANES)
            even, odd = c[2 * w], c[2 * w + 1]
            for r in range(LANES):
                total[r] = (total[r] + cosines[r] * even) + sines[r] * odd
        for r in range(min(LANES, stop - top)):
            out[top + r] = total[r]


@kernel(void(uint64, REALS, OUT_TABLE, int64, int64))
def normal_project(key: int, g: Array, out: Array, start: int, stop: int) -> None:
    """Tiles start, …, stop − 1 of Uᵀg."""
    count = out.shape[1]
    streams, drawn, halves, cosines, sines = lanes_of_pairs()
    lanes, weights = np.empty((count + count % 2, LANES)), np.empty(LANES)
    for tile in range(start, stop):
        bottom = min(len(g), (tile + 1) * TILE_ROWS)
        lanes[:] = 0.0
        for top in range(tile * TILE_ROWS, bottom, LANES):
            lane_streams(key, top, streams)
            for r in range(LANES):
                weights[r] = g[top + r] if top + r < bottom else 0.0
            for w in range(len(lanes) // 2):
                lane_words(streams, w, drawn)
                pairs(drawn, halves, cosines, sines, LANES)
                even, odd = lanes[2 * w], lanes[2 * w + 1]
                for r in range(LANES):
                    even[r] += cosines[r] * weights[r]
                    odd[r] += sines[r] * weights[r]
        for j in range(count):
            out[tile, j] = halve(lanes[j], LANES)


@device
def byte_tables(c: Array) -> Array:
    """Return tables[k, v] = Σ ± c over the eight columns of byte k, signs by the bits of v; bytes fill whole words."""
    tables = np.empty(((len(c) + WORD_BITS - 1) // WORD_BITS * WORD_BYTES, BYTE_VALUES))
    for k in range(len(tables)):
        table, size = tables[k], 1
        table[0] = 0.0
        for bit in range(BYTE_BITS):
            j = k * BYTE_BITS + bit
            part = c[j] if j < len(c) else 0.0
            for v in range(size):
                table[size + v] = table[v] + part
                table[v] = table[v] - part
            size *= 2
    return tables


@kernel(void(uint64, REALS, OUT, int64, int64))
def sign_combine(key: int, c: Array, out: Array, start: int, stop: int) -> None:
    """out[start:stop] = (U c)[start:stop] from the 256 sums of every byte; many rows share the tables of a word."""
    tables = byte_tables(c)
    streams, drawn, total = np.empty(SHARING, np.uint64), np.empty(SHARING, np.uint64), np.empty(SHARING)
    byte = U64(BYTE_VALUES - 1)
    for top in range(start, stop, SHARING):
        n = min(SHARING, stop - top)
        for r in range(n):
            streams[r] = stream(key, top + r)
            total[r] = 0.0
        for w in range(len(tables) // WORD_BYTES):
            k, step = w * WORD_BYTES, U64(w + 1) * GOLDEN
            for r in range(n):
                drawn[r] = mix(streams[r] + step)
            for r in range(n):
                z = drawn[r]
                total[r] += (
                    (tables[k, z & byte] + tables[k + 1, (z >> U64(8)) & byte])
                    + (tables[k + 2, (z >> U64(16)) & byte] + tables[k + 3, (z >> U64(24)) & byte])
                ) + (
                    (tables[k + 4, (z >> U64(32)) & byte] + tables[k + 5, (z >> U64(40)) & byte])
                    + (tables[k + 6, (z >> U64(48)) & byte] + tables[k + 7, z >> U64(56)])
                )
        for r in range(n):
            out[top + r] = total[r]


@device
def fold(column: Array, scratch: Array, out: Array, offset: int) -> None:
    """out[offset + bit] = Σ_v ± column[v], signs by the bits of v, from the highest down; destroys the column."""
    for back in range(BYTE_BITS):
        bit = BYTE_BITS - 1 - back
        size = 1 << bit
        for v in range(size):
            scratch[v] = column[size + v] - column[v]
            column[v] += column[size + v]
        if offset + bit < len(out):
            out[offset + bit] = halve(scratch, size)


@kernel(void(uint64, REALS, OUT_TABLE, int64, int64))
def sign_project(key: int, g: Array, out: Array, start: int, stop: int) -> None:
    """Tiles start, …, stop − 1 of Uᵀg, from sums[k, v] = Σ g_i over the rows i of a tile whose byte k of a word is v."""
    streams, drawn = np.empty(TILE_ROWS, np.uint64), np.empty(LANES, np.uint64)
    sums, scratch, byte = np.empty((WORD_BYTES, BYTE_VALUES)), np.empty(BYTE_VALUES), U64(BYTE_VALUES - 1)
    for tile in range(start, stop):
        first, bottom = tile * TILE_ROWS, min(len(g), (tile + 1) * TILE_ROWS)
        for i in range(first, bottom):
            streams[i - first] = stream(key, i)
        for w in range((out.shape[1] + WORD_BITS - 1) // WORD_BITS):
            step = U64(w + 1) * GOLDEN
            sums[:] = 0.0
            for top in range(first, bottom, LANES):
                n = min(LANES, bottom - top)
                for r in range(n):
                    drawn[r] = mix(streams[top - first + r] + step)
                for r in range(n):
                    z, weight = drawn[r], g[top + r]
                    for k in range(WORD_BYTES):
                        sums[k, (z >> U64(BYTE_BITS * k)) & byte] += weight
            for k in range(WORD_BYTES):
                fold(sums[k], scratch, out[tile], w * WORD_BITS + k * BYTE_BITS)


@kernel(void(uint64, LONGS, int64, int64, OUT_TABLE, int64, int64))
def sign_rows(key: int, rows: Indices, left: int, right: int, out: Array, start: int, stop: int) -> None:
    """out[start:stop] = U[rows[start:stop], left:right]."""
    for r in range(start, stop):
        current = stream(key, rows[r])
        for w in range(left // WORD_BITS, (right + WORD_BITS - 1) // WORD_BITS):
            word = mix(current + U64(w + 1) * GOLDEN)
            low = max(left, w * WORD_BITS)
            for j in range(low, min(right, (w + 1) * WORD_BITS)):
                out[r, j - left] = 1.0 if (word >> U64(j - w * WORD_BITS)) & U64(1) else -1.0


@device
def group_signs(key: int, rows: Rows, begins: Words, ends: Words, n: int, out: Array) -> None:
    """out[i] = z_iᵀU for random signs, non-zeros in their order, half a word of columns at a time."""
    data, indices, wide = rows.data, rows.indices, U64(out.shape[1])
    words = np.empty((2, (ends[:n] - begins[:n]).max()), np.uint64)
    for i in range(n):
        begin, end, line = begins[i], ends[i], U64(i) * wide
        for p in range(begin, end):
            words[0, p - begin] = stream(key, U64(indices[p]))
        for left in range(U64(0), wide, U64(WORD_BITS)):
            step = (left // U64(WORD_BITS) + U64(1)) * GOLDEN
            for p in range(begin, end):
                words[1, p - begin] = mix(words[0, p - begin] + step)
            for half in range(U64(0), min(U64(WORD_BITS), wide - left), U64(SIGN_BITS)):
                total = each(0.0)
                for p in range(begin, end):
                    total = total + data[p] * half_word_signs(words[1, p - begin] >> half)
                put(out, line + left + half, total)


@emitting(lambda function, state: uint64(int64, int64))
def next_word(to: Emission, function: ir.Value, state: ir.Value) -> ir.Value:
    """Return the next 32 bits of the generator in ``state``, by its own C function; both are addresses."""
    builder, form = to.builder, ir.FunctionType(ir.IntType(32), [ir.IntType(64)])
    return builder.zext(builder.call(builder.inttoptr(function, form.as_pointer()), [state]), ir.IntType(64))


@kernel(void(int64, int64, int64, OUT_LONGS))
def draw_indices(function: int, state: int, n: int, out: Indices) -> None:
    """Indices below n < 2³²: the upper half of n times a word, words whose lower half is below
    2³² mod n set aside.

    As NumPy draws them (D. Lemire, Fast random integer generation in an interval, 2019),
    sooner: for "a9a iteration, Rademacher".
    """
    threshold, lower = (U64(1) << U64(32)) % U64(n), U64(0xFFFFFFFF)
    for i in range(len(out)):
        product = next_word(function, state) * U64(n)
        while product & lower < threshold:
            product = next_word(function, state) * U64(n)
        out[i] = product >> U64(32)
