"""Kernels of standard normal entries."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba.core.types import int64, uint64, void

from zofw.kernels.generator import GOLDEN, U64, halve, lane_streams, lane_words, mix, pairs, stream
from zofw.kernels.jit import LONGS, OUT, OUT_TABLE, REALS, device, kernel
from zofw.kernels.plain import LANES, TILE_ROWS

FLAT = 512  # words of several rows transformed in one go


@kernel(void(uint64, LONGS, int64, int64, OUT_TABLE, int64, int64))
def normal_rows(key: Any, rows: Any, left: int, right: int, out: Any, start: int, stop: int) -> None:
    """out[start:stop] = U[rows[start:stop], left:right]."""
    if start >= stop:
        return
    first = left // 2
    width = (right + 1) // 2 - first
    drawn, halves = np.empty(FLAT, np.uint64), np.empty((2, FLAT), np.uint32)
    cosines, sines = np.empty(FLAT, np.float32), np.empty(FLAT, np.float32)
    total = (stop - start) * width
    r, w, current = start, 0, stream(key, rows[start])
    for begin in range(0, total, FLAT):
        n = min(FLAT, total - begin)
        i, r0, w0 = 0, r, w
        while i < n:
            run = min(n - i, width - w)
            step = current + U64(first + w) * GOLDEN
            for k in range(i, i + run):
                step += GOLDEN
                drawn[U64(k)] = mix(step)
            i += run
            w += run
            if w == width:
                w = 0
                r += 1
                if r < stop:
                    current = stream(key, rows[r])
        pairs(drawn, halves, cosines, sines, n)
        i = 0
        while i < n:
            run = min(n - i, width - w0)
            j = 2 * (first + w0) - left
            begin, end = 0, run
            if j < 0:  # the first column is the second of its pair
                begin = 1
                out[r0, 0] = sines[i]
            if j + 2 * run > right - left:  # and the last the first of its
                end = run - 1
                out[r0, right - left - 1] = cosines[i + end]
            line, place = U64(r0), U64(j + 2 * begin)
            for k in range(i + begin, i + end):
                out[line, place] = cosines[U64(k)]
                out[line, place + U64(1)] = sines[U64(k)]
                place += U64(2)
            i += run
            w0 += run
            if w0 == width:
                w0 = 0
                r0 += 1


@kernel(void(uint64, REALS, OUT, int64, int64))
def normal_combine(key: Any, c: Any, out: Any, start: int, stop: int) -> None:
    """out[start:stop] = (U c)[start:stop]; c of even length."""
    streams, drawn, halves = (
        np.empty(LANES, np.uint64),
        np.empty(LANES, np.uint64),
        np.empty((2, LANES), np.uint32),
    )
    cosines, sines, total = np.empty(LANES, np.float32), np.empty(LANES, np.float32), np.empty(LANES)
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


@device
def project_tile(key: Any, g: Any, power: int, top: int, bottom: int, lanes: Any) -> None:
    """lanes[j, l] = Σ U[i, j]^power g_i over the rows i ≡ l of one tile."""
    streams, drawn, halves = (
        np.empty(LANES, np.uint64),
        np.empty(LANES, np.uint64),
        np.empty((2, LANES), np.uint32),
    )
    cosines, sines, weights = np.empty(LANES, np.float32), np.empty(LANES, np.float32), np.empty(LANES)
    lanes[:] = 0.0
    for start in range(top, bottom, LANES):
        lane_streams(key, start, streams)
        for r in range(LANES):
            weights[r] = g[start + r] if start + r < bottom else 0.0
        for w in range(len(lanes) // 2):
            lane_words(streams, w, drawn)
            pairs(drawn, halves, cosines, sines, LANES)
            even, odd = lanes[2 * w], lanes[2 * w + 1]
            for r in range(LANES):
                cosine, sine = np.float64(cosines[r]), np.float64(sines[r])
                even[r] += (cosine * cosine if power == 2 else cosine) * weights[r]
                odd[r] += (sine * sine if power == 2 else sine) * weights[r]


@kernel(void(uint64, REALS, int64, OUT_TABLE, int64, int64))
def normal_project(key: Any, g: Any, power: int, out: Any, start: int, stop: int) -> None:
    """Tiles start, …, stop − 1 of Uᵀg for power 1; of the squares of the columns for power 2 and g = 1."""
    count = out.shape[1]
    lanes = np.empty((count + count % 2, LANES))
    for tile in range(start, stop):
        project_tile(key, g, power, tile * TILE_ROWS, min(len(g), (tile + 1) * TILE_ROWS), lanes)
        for j in range(count):
            out[tile, j] = halve(lanes[j], LANES)
