"""Kernels of random signs."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba.core.types import int64, uint64, void

from zofw.kernels.generator import GOLDEN, U64, halve, mix, stream
from zofw.kernels.jit import INTS, LONGS, OUT, OUT_TABLE, REALS, TABLE, as_bits, as_float, device, kernel
from zofw.kernels.packs import QUAD, four_signs, put
from zofw.kernels.plain import BYTE_BITS, BYTE_VALUES, LANES, TILE_ROWS, WORD_BYTES
from zofw.kernels.words import WORD_BITS

SIGN = U64(1 << 63)
SHARING = 512  # rows that meet the tables of one word together: they and the tables lie in the nearest cache


@kernel(void(uint64, TABLE, OUT, int64, int64))
def sign_combine(key: Any, tables: Any, out: Any, start: int, stop: int) -> None:
    """out[start:stop] = (U c)[start:stop] from the 256 sums of every byte; many rows share the tables of a word."""
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


@kernel(void(uint64, REALS, OUT))
def sign_combine_at_once(key: Any, c: Any, out: Any) -> None:
    """U c, the tables included."""
    tables = np.empty(((len(c) + WORD_BITS - 1) // WORD_BITS * WORD_BYTES, BYTE_VALUES))
    byte_tables(c, tables)
    sign_combine(key, tables, out, 0, len(out))


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
def sign_table(key: Any, count: int, table: Any) -> None:
    """table[:, :count] = U, four entries at a time; columns up to the next multiple of four become zero."""
    wide, last = U64(table.shape[1]), U64(count)
    for i in range(len(table)):
        current, word = stream(key, i), U64(0)
        for j in range(U64(0), last, U64(QUAD)):
            if j % U64(WORD_BITS) == U64(0):
                word = mix(current + (j // U64(WORD_BITS) + U64(1)) * GOLDEN)
            put(table, U64(i) * wide + j, four_signs(word))
            word >>= U64(QUAD)
    table[:, count : (count + QUAD - 1) // QUAD * QUAD] = 0.0


@device
def signed(z: Any, flipped: Any, bit: int) -> Any:
    """z times the sign at ``bit`` of the complemented word."""
    return as_float(z ^ ((flipped << U64(WORD_BITS - 1 - bit)) & SIGN))


def _sign_product(index: Any) -> Any:
    return void(uint64, REALS, index, index, index, OUT_TABLE, int64, int64)


@kernel(_sign_product(INTS), _sign_product(LONGS))
def sign_product(
    key: Any, data: Any, indices: Any, starts: Any, ends: Any, out: Any, start: int, stop: int
) -> None:
    """out[start:stop] = (Z U)[start:stop], four non-zeros to a pass, in their order."""
    total = np.empty(WORD_BITS)
    count = out.shape[1]
    longest = 0
    for s in range(start, stop):
        longest = max(longest, ends[s] - starts[s])
    streams = np.empty(longest, np.uint64)
    for s in range(start, stop):
        begin, n = starts[s], ends[s] - starts[s]
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
