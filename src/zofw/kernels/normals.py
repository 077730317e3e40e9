"""Kernels of standard normal entries."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba.core.types import int64, uint64, void

from zofw.kernels.generator import GOLDEN, U64, halve, lane_streams, lane_words, mix, pairs, stream
from zofw.kernels.jit import INTS, LONGS, OUT, OUT_LONGS, OUT_TABLE, REALS, TABLE, device, kernel
from zofw.kernels.plain import LANES, TILE_ROWS

FLAT = 512  # words of several rows transformed in one go


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


@kernel(OUT_LONGS(INTS, INTS, INTS, OUT_LONGS), OUT_LONGS(LONGS, LONGS, LONGS, OUT_LONGS))
def touched_rows(indices: Any, starts: Any, ends: Any, where: Any) -> Any:
    """The coordinates that occur, increasing; where[i] becomes the place of i among them."""
    where[:] = 0
    for s in range(len(starts)):
        for p in range(starts[s], ends[s]):
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
    return void(REALS, index, index, index, LONGS, TABLE, int64, OUT_TABLE, int64, int64)


@kernel(_gather(INTS), _gather(LONGS))
def gather_rows(
    data: Any,
    indices: Any,
    starts: Any,
    ends: Any,
    where: Any,
    table: Any,
    left: int,
    out: Any,
    start: int,
    stop: int,
) -> None:
    """out[start:stop, left:left + width] = Z table, the table holding the touched rows of U."""
    total = np.empty(table.shape[1])
    for s in range(start, stop):
        total[:] = 0.0
        add_rows(data, indices, starts[s], ends[s], where, table, total)
        for j in range(len(total)):
            out[s, left + j] = total[j]
