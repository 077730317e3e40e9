"""The operations of :mod:`zofw.kernels.plain` in numba: the same sums in the same order, hence the same bits."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp
from numba.core.types import int64, uint64, void

from zofw.core import Array, Indices
from zofw.directions import words
from zofw.directions.words import COS_SERIES, EIGHTH_TURN, LN2, LOG_SERIES, SIN_SERIES, SQRT2, WORD_BITS
from zofw.kernels.jit import (
    INTS,
    LONGS,
    OUT,
    OUT_LONGS,
    OUT_TABLE,
    REALS,
    TABLE,
    as_bits,
    as_float,
    device,
    kernel,
)
from zofw.kernels.plain import BYTE_BITS, BYTE_VALUES, LANES, TILE_ROWS, WORD_BYTES, Numbers
from zofw.kernels.threads import spread

U64 = np.uint64
GOLDEN, MIX_1, MIX_2 = U64(words.GOLDEN), U64(words.MIX_1), U64(words.MIX_2)
TWO_52 = 2.0**52
TWO_52_BITS = U64(0x4330000000000000)
MANTISSA, ONE_BITS = U64(0x000FFFFFFFFFFFFF), U64(0x3FF0000000000000)
ANGLE, SWAP, LEFT, DOWN = U64(0x1FFFFFFF), U64(1 << 29), U64(1 << 30), U64(1 << 31)
SIGN = U64(1 << 63)
FLAT = 512  # words of several rows transformed in one go
PIECE_ROWS = 1024  # rows of U in one piece of U c
PIECE_ENTRIES = 1 << 16  # entries of U in one piece of a block
PIECE_LINES = 32  # rows of Z in one piece of Z U
BLOCK_COLUMNS = 64  # columns of U kept at a time for Z U
BUFFER_ENTRIES = 1 << 22  # normals of one block of columns kept for Z U


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
    """Box and Muller's pair of every word; see :mod:`zofw.directions.words`."""
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


@kernel(void(uint64, LONGS, int64, int64, OUT_TABLE, int64, int64))
def normal_rows(key: Any, rows: Any, left: int, right: int, out: Any, start: int, stop: int) -> None:
    """out[start:stop] = U[rows[start:stop], left:right]."""
    first = left // 2
    width = (right + 1) // 2 - first
    drawn, cosines, sines = np.empty(FLAT, np.uint64), np.empty(FLAT), np.empty(FLAT)
    total = (stop - start) * width
    r, w, current = start, 0, stream(key, rows[start])
    for begin in range(0, total, FLAT):
        n = min(FLAT, total - begin)
        i, r0, w0 = 0, r, w
        while i < n:
            run = min(n - i, width - w)
            for k in range(run):
                drawn[i + k] = mix(current + U64(first + w + k + 1) * GOLDEN)
            i += run
            w += run
            if w == width:
                w = 0
                r += 1
                if r < stop:
                    current = stream(key, rows[r])
        pairs(drawn, cosines, sines, n)
        i = 0
        while i < n:
            run = min(n - i, width - w0)
            for k in range(run):
                j = 2 * (first + w0 + k) - left
                if j >= 0:
                    out[r0, j] = cosines[i + k]
                if j + 1 < right - left:
                    out[r0, j + 1] = sines[i + k]
            i += run
            w0 += run
            if w0 == width:
                w0 = 0
                r0 += 1


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


@kernel(void(uint64, REALS, OUT, int64, int64))
def normal_combine(key: Any, c: Any, out: Any, start: int, stop: int) -> None:
    """out[start:stop] = (U c)[start:stop]; c of even length."""
    streams, drawn = np.empty(LANES, np.uint64), np.empty(LANES, np.uint64)
    cosines, sines, total = np.empty(LANES), np.empty(LANES), np.empty(LANES)
    for top in range(start, stop, LANES):
        lane_streams(key, top, streams)
        total[:] = 0.0
        for w in range(len(c) // 2):
            lane_words(streams, w, drawn)
            pairs(drawn, cosines, sines, LANES)
            even, odd = c[2 * w], c[2 * w + 1]
            for r in range(LANES):
                total[r] = (total[r] + cosines[r] * even) + sines[r] * odd
        for r in range(min(LANES, stop - top)):
            out[top + r] = total[r]


@device
def halve(x: Any, size: int) -> Any:
    """Sum of the first ``size`` = 2^m entries by halving; destroys them."""
    while size > 1:
        size //= 2
        for k in range(size):
            x[k] += x[size + k]
    return x[0]


@device
def project_tile(key: Any, g: Any, power: int, top: int, bottom: int, lanes: Any) -> None:
    """lanes[j, l] = Σ U[i, j]^power g_i over the rows i ≡ l of one tile."""
    streams, drawn = np.empty(LANES, np.uint64), np.empty(LANES, np.uint64)
    cosines, sines, weights = np.empty(LANES), np.empty(LANES), np.empty(LANES)
    lanes[:] = 0.0
    for start in range(top, bottom, LANES):
        lane_streams(key, start, streams)
        for r in range(LANES):
            weights[r] = g[start + r] if start + r < bottom else 0.0
        for w in range(len(lanes) // 2):
            lane_words(streams, w, drawn)
            pairs(drawn, cosines, sines, LANES)
            even, odd = lanes[2 * w], lanes[2 * w + 1]
            if power == 2:
                for r in range(LANES):
                    cosines[r] = cosines[r] * cosines[r]
                    sines[r] = sines[r] * sines[r]
            for r in range(LANES):
                even[r] += cosines[r] * weights[r]
                odd[r] += sines[r] * weights[r]


@kernel(void(uint64, REALS, int64, OUT_TABLE, int64, int64))
def normal_project(key: Any, g: Any, power: int, out: Any, start: int, stop: int) -> None:
    """Tiles start, …, stop − 1 of Uᵀg for power 1; of the squares of the columns for power 2 and g = 1."""
    count = out.shape[1]
    lanes = np.empty((count + count % 2, LANES))
    for tile in range(start, stop):
        project_tile(key, g, power, tile * TILE_ROWS, min(len(g), (tile + 1) * TILE_ROWS), lanes)
        for j in range(count):
            out[tile, j] = halve(lanes[j], LANES)


@kernel(OUT_LONGS(INTS, OUT_LONGS), OUT_LONGS(LONGS, OUT_LONGS))
def touched_rows(indices: Any, where: Any) -> Any:
    """The coordinates that occur, increasing; where[i] becomes the place of i among them."""
    where[:] = 0
    for p in range(len(indices)):
        where[indices[p]] = 1
    rows = np.empty(where.sum(), np.int64)
    place = 0
    for i in range(len(where)):
        if where[i] == 1:
            rows[place] = i
            where[i] = place
            place += 1
    return rows


@device
def add_rows(data: Any, indices: Any, begin: int, end: int, where: Any, table: Any, total: Any) -> None:
    """total += Σ_p data[p] · table[where[indices[p]]], four non-zeros to a pass, in their order."""
    width = len(total)
    p = begin
    while p + 4 <= end:
        z0, z1, z2, z3 = data[p], data[p + 1], data[p + 2], data[p + 3]
        u0, u1 = table[where[indices[p]]], table[where[indices[p + 1]]]
        u2, u3 = table[where[indices[p + 2]]], table[where[indices[p + 3]]]
        for j in range(width):
            total[j] = (((total[j] + z0 * u0[j]) + z1 * u1[j]) + z2 * u2[j]) + z3 * u3[j]
        p += 4
    while p < end:
        z0, u0 = data[p], table[where[indices[p]]]
        for j in range(width):
            total[j] += z0 * u0[j]
        p += 1


def _gather(index: Any) -> Any:
    return void(REALS, index, index, LONGS, TABLE, int64, OUT_TABLE, int64, int64)


@kernel(_gather(INTS), _gather(LONGS))
def gather_rows(
    data: Any, indices: Any, indptr: Any, where: Any, table: Any, left: int, out: Any, start: int, stop: int
) -> None:
    """out[start:stop, left:left + width] = Z table, the table holding the touched rows of U."""
    total = np.empty(table.shape[1])
    for s in range(start, stop):
        total[:] = 0.0
        add_rows(data, indices, indptr[s], indptr[s + 1], where, table, total)
        for j in range(len(total)):
            out[s, left + j] = total[j]


@kernel(void(uint64, TABLE, OUT, int64, int64))
def sign_combine(key: Any, tables: Any, out: Any, start: int, stop: int) -> None:
    """out[start:stop] = (U c)[start:stop] from the 256 sums of every byte."""
    streams, drawn, total = np.empty(LANES, np.uint64), np.empty(LANES, np.uint64), np.empty(LANES)
    byte = U64(BYTE_VALUES - 1)
    for top in range(start, stop, LANES):
        lane_streams(key, top, streams)
        total[:] = 0.0
        for w in range(len(tables) // WORD_BYTES):
            lane_words(streams, w, drawn)
            k = w * WORD_BYTES
            for r in range(LANES):
                z = drawn[r]
                total[r] += (
                    (tables[k, z & byte] + tables[k + 1, (z >> U64(8)) & byte])
                    + (tables[k + 2, (z >> U64(16)) & byte] + tables[k + 3, (z >> U64(24)) & byte])
                ) + (
                    (tables[k + 4, (z >> U64(32)) & byte] + tables[k + 5, (z >> U64(40)) & byte])
                    + (tables[k + 6, (z >> U64(48)) & byte] + tables[k + 7, z >> U64(56)])
                )
        for r in range(min(LANES, stop - top)):
            out[top + r] = total[r]


@kernel(void(REALS, OUT_TABLE))
def byte_tables(c: Any, tables: Any) -> None:
    """tables[k, v] = Σ ± c over the eight columns of byte k, signs by the bits of v."""
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


@device
def fold(column: Any, scratch: Any, out: Any, offset: int) -> None:
    """out[offset + bit] = Σ_v ± column[v], signs by the bits of v, from the highest down; destroys the column."""
    for back in range(BYTE_BITS):
        bit = BYTE_BITS - 1 - back
        size = 1 << bit
        for v in range(size):
            scratch[v] = column[size + v] - column[v]
            column[v] += column[size + v]
        if offset + bit < len(out):
            out[offset + bit] = halve(scratch, size)


@device
def add_histograms(streams: Any, word: int, g: Any, top: int, bottom: int, sums: Any) -> None:
    """sums[k, v] = Σ g_i over rows i of a tile whose byte k of the word is v."""
    drawn = np.empty(LANES, np.uint64)
    byte, step = U64(BYTE_VALUES - 1), U64(word + 1) * GOLDEN
    sums[:] = 0.0
    for start in range(top, bottom, LANES):
        n = min(LANES, bottom - start)
        for r in range(n):
            drawn[r] = mix(streams[start - top + r] + step)
        for r in range(n):
            z, weight = drawn[r], g[start + r]
            for k in range(WORD_BYTES):
                sums[k, (z >> U64(BYTE_BITS * k)) & byte] += weight


@kernel(void(uint64, REALS, OUT_TABLE, int64, int64))
def sign_project(key: Any, g: Any, out: Any, start: int, stop: int) -> None:
    """Tiles start, …, stop − 1 of Uᵀg."""
    streams = np.empty(TILE_ROWS, np.uint64)
    sums, scratch = np.empty((WORD_BYTES, BYTE_VALUES)), np.empty(BYTE_VALUES)
    for tile in range(start, stop):
        top, bottom = tile * TILE_ROWS, min(len(g), (tile + 1) * TILE_ROWS)
        for i in range(top, bottom):
            streams[i - top] = stream(key, i)
        for w in range((out.shape[1] + WORD_BITS - 1) // WORD_BITS):
            add_histograms(streams, w, g, top, bottom, sums)
            for k in range(WORD_BYTES):
                fold(sums[k], scratch, out[tile], w * WORD_BITS + k * BYTE_BITS)


@kernel(void(uint64, LONGS, int64, int64, OUT_TABLE, int64, int64))
def sign_rows(key: Any, rows: Any, left: int, right: int, out: Any, start: int, stop: int) -> None:
    """out[start:stop] = U[rows[start:stop], left:right]."""
    for r in range(start, stop):
        current = stream(key, rows[r])
        for w in range(left // WORD_BITS, (right + WORD_BITS - 1) // WORD_BITS):
            word = mix(current + U64(w + 1) * GOLDEN)
            low = max(left, w * WORD_BITS)
            for j in range(low, min(right, (w + 1) * WORD_BITS)):
                out[r, j - left] = 1.0 if (word >> U64(j - w * WORD_BITS)) & U64(1) else -1.0


@device
def signed(z: Any, flipped: Any, bit: int) -> Any:
    """z times the sign at ``bit`` of the complemented word."""
    return as_float(z ^ ((flipped << U64(WORD_BITS - 1 - bit)) & SIGN))


def _sign_product(index: Any) -> Any:
    return void(uint64, REALS, index, index, OUT_TABLE, int64, int64)


@kernel(_sign_product(INTS), _sign_product(LONGS))
def sign_product(key: Any, data: Any, indices: Any, indptr: Any, out: Any, start: int, stop: int) -> None:
    """out[start:stop] = (Z U)[start:stop], four non-zeros to a pass, in their order."""
    total = np.empty(WORD_BITS)
    count = out.shape[1]
    longest = 0
    for s in range(start, stop):
        longest = max(longest, indptr[s + 1] - indptr[s])
    streams = np.empty(longest, np.uint64)
    for s in range(start, stop):
        begin, n = indptr[s], indptr[s + 1] - indptr[s]
        for p in range(n):
            streams[p] = stream(key, indices[begin + p])
        for w in range((count + WORD_BITS - 1) // WORD_BITS):
            step = U64(w + 1) * GOLDEN
            width = min(WORD_BITS, count - w * WORD_BITS)
            total[:] = 0.0
            p = 0
            while p + 4 <= n:
                z0, z1 = as_bits(data[begin + p]), as_bits(data[begin + p + 1])
                z2, z3 = as_bits(data[begin + p + 2]), as_bits(data[begin + p + 3])
                f0, f1 = ~mix(streams[p] + step), ~mix(streams[p + 1] + step)
                f2, f3 = ~mix(streams[p + 2] + step), ~mix(streams[p + 3] + step)
                for j in range(width):
                    total[j] = (
                        ((total[j] + signed(z0, f0, j)) + signed(z1, f1, j)) + signed(z2, f2, j)
                    ) + signed(z3, f3, j)
                p += 4
            while p < n:
                z0, f0 = as_bits(data[begin + p]), ~mix(streams[p] + step)
                for j in range(width):
                    total[j] += signed(z0, f0, j)
                p += 1
            for j in range(width):
                out[s, w * WORD_BITS + j] = total[j]


class Normals:
    """Standard normal entries."""

    def block(self, key: int, rows: Indices, left: int, right: int) -> Array:
        rows = np.ascontiguousarray(rows, dtype=np.int64)
        out = np.empty((len(rows), right - left))
        size = max(1, PIECE_ENTRIES // max(1, right - left))
        spread(partial(normal_rows, U64(key), rows, left, right, out), len(rows), size, 3 * out.size)
        return out

    def combine(self, key: int, dim: int, c: Array) -> Array:
        out, even = np.empty(dim), np.zeros(len(c) + len(c) % 2)
        even[: len(c)] = c
        spread(partial(normal_combine, U64(key), even, out), dim, PIECE_ROWS, 3 * dim * len(c))
        return out

    def project(self, key: int, g: Array, count: int) -> Array:
        return self._project(key, np.ascontiguousarray(g), count, 1)

    def squares(self, key: int, dim: int, count: int) -> Array:
        return self._project(key, np.ones(dim), count, 2)

    def _project(self, key: int, g: Array, count: int, power: int) -> Array:
        parts = np.empty((-(-len(g) // TILE_ROWS), count))
        spread(partial(normal_project, U64(key), g, power, parts), len(parts), 1, 3 * len(g) * count)
        return _in_order(parts)

    def product(self, key: int, Z: sp.csr_array, count: int) -> Array:
        where = np.empty(Z.shape[1], dtype=np.int64)
        rows = touched_rows(Z.indices, where)
        out = np.empty((Z.shape[0], count))
        width = min(BLOCK_COLUMNS, max(4, BUFFER_ENTRIES // max(1, len(rows)) // 2 * 2))
        for left in range(0, count, width):
            table = self.block(key, rows, left, min(count, left + width))
            task = partial(gather_rows, Z.data, Z.indices, Z.indptr, where, table, left, out)
            spread(task, Z.shape[0], PIECE_LINES, Z.nnz * table.shape[1] // 2)
        return out


class Signs:
    """Random signs."""

    def block(self, key: int, rows: Indices, left: int, right: int) -> Array:
        rows = np.ascontiguousarray(rows, dtype=np.int64)
        out = np.empty((len(rows), right - left))
        size = max(1, PIECE_ENTRIES // max(1, right - left))
        spread(partial(sign_rows, U64(key), rows, left, right, out), len(rows), size, out.size)
        return out

    def combine(self, key: int, dim: int, c: Array) -> Array:
        out, tables = np.empty(dim), np.empty((-(-len(c) // WORD_BITS) * WORD_BYTES, BYTE_VALUES))
        byte_tables(np.ascontiguousarray(c), tables)
        spread(partial(sign_combine, U64(key), tables, out), dim, PIECE_ROWS, dim * len(c) // 12)
        return out

    def project(self, key: int, g: Array, count: int) -> Array:
        parts = np.empty((-(-len(g) // TILE_ROWS), count))
        spread(
            partial(sign_project, U64(key), np.ascontiguousarray(g), parts),
            len(parts),
            1,
            len(g) * count // 8,
        )
        return _in_order(parts)

    def squares(self, key: int, dim: int, count: int) -> Array:
        return np.full(count, float(dim))

    def product(self, key: int, Z: sp.csr_array, count: int) -> Array:
        out = np.empty((Z.shape[0], count))
        task = partial(sign_product, U64(key), Z.data, Z.indices, Z.indptr, out)
        spread(task, Z.shape[0], PIECE_LINES, Z.nnz * count // 5)
        return out


def _in_order(parts: Array) -> Array:
    """The sum of the tiles, one after the other."""
    total = np.zeros(parts.shape[1])
    for part in parts:
        total += part
    return total


SOURCES: dict[str, Numbers] = {"signs": Signs(), "normals": Normals()}
