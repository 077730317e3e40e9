"""Operations on implicit matrices in NumPy alone: the reference of the compiled kernels, and their stand-in.

Entry (i, j) is a function of (key, i, j). Every sum has one order, stated here, whatever the tiles or the threads:

========== ===========================================================================================================
U c        normals: over j, one after the other. Signs: a table of the 256 sums ±c₀ ± … ± c₇ for every byte of a row,
           eight entries of it added in pairs for every word, then word after word.
Uᵀ g       per tile of 4096 rows, tiles one after the other. Normals: in a tile, rows i ≡ l (mod 64) one after the
           other for each lane l, then lanes by halving. Signs: in a tile, a histogram of g over the 256 values of each
           byte, folded bit by bit from the highest.
Z U        per row of Z, non-zeros one after the other; for a dense Z by the BLAS, in tiles of rows of U.
========== ===========================================================================================================
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from zofw.core import Array, Indices, blocks
from zofw.extras import lazy
from zofw.kernels import words
from zofw.kernels.rows import Rows

sp: Any = lazy("scipy.sparse")

TILE_ENTRIES = 1 << 20  # entries of U alive at any time: 8 MB

TILE_ROWS = 4096
LANES = 64
BYTE_BITS = 8
BYTE_VALUES = 1 << BYTE_BITS
WORD_BYTES = 8


class Numbers(Protocol):
    """The entries of a d×b matrix as a rule, and the products a method needs of it."""

    def block(self, key: int, rows: Indices, left: int, right: int) -> Array:
        """U[rows, left:right]."""

    def combine(self, key: int, dim: int, c: Array) -> Array:
        """U c."""

    def project(self, key: int, g: Array, count: int) -> Array:
        """Uᵀ g."""

    def squares(self, key: int, dim: int, count: int) -> Array:
        """‖u_j‖² for every column."""

    def product(self, key: int, Z: Rows, count: int) -> Array:
        """Z U for a sparse Z."""


@dataclass(frozen=True)
class Entries:
    """Any rule for entries: ``entries(key, rows, left, right)`` is U[rows, left:right]."""

    entries: Callable[[int, Indices, int, int], Array]

    def block(self, key: int, rows: Indices, left: int, right: int) -> Array:
        return self.entries(key, rows, left, right)

    def combine(self, key: int, dim: int, c: Array) -> Array:
        out = np.zeros(dim)
        for start, stop in blocks(dim, max(1, TILE_ENTRIES // len(c))):
            tile = self.entries(key, np.arange(start, stop, dtype=np.int64), 0, len(c))
            for j, weight in enumerate(c):
                out[start:stop] += tile[:, j] * weight
        return out

    def project(self, key: int, g: Array, count: int) -> Array:
        return self._over_rows(key, len(g), count, lambda tile, start, stop: tile * g[start:stop, None])

    def squares(self, key: int, dim: int, count: int) -> Array:
        return self._over_rows(key, dim, count, lambda tile, start, stop: tile * tile)

    def product(self, key: int, Z: Rows, count: int) -> Array:
        rows = Z.csr()
        touched, position = np.unique(rows.indices, return_inverse=True)
        compact = sp.csr_array((rows.data, position, rows.indptr), shape=(Z.shape[0], len(touched)))
        out = np.zeros((Z.shape[0], count))
        for left, right in blocks(count, max(1, TILE_ENTRIES // max(1, len(touched)))):
            out[:, left:right] = compact @ self.entries(key, touched.astype(np.int64), left, right)
        return out

    def _over_rows(self, key: int, dim: int, count: int, terms: Callable[[Array, int, int], Array]) -> Array:
        """Σ_i terms(U[i, :]) in tiles and lanes."""
        out = np.zeros(count)
        for top, bottom in blocks(dim, TILE_ROWS):
            lanes = np.zeros((LANES, count))
            for start, stop in blocks(bottom - top, LANES):
                tile = self.entries(key, np.arange(top + start, top + stop, dtype=np.int64), 0, count)
                lanes[: stop - start] += terms(tile, top + start, top + stop)
            out += halve(lanes)
        return out


def halve(x: Array) -> Array:
    """Sum over the first axis, of length 2^m: upper half added to lower half, m times."""
    while len(x) > 1:
        middle = len(x) // 2
        x = x[:middle] + x[middle:]
    return np.asarray(x[0])


def byte_tables(c: Array) -> Array:
    """Σ ± c over the eight columns of each byte, for its 256 values, (bytes, 256); bytes fill whole words."""
    width = words.WORD_BITS * -(-len(c) // words.WORD_BITS)
    padded = np.zeros(width)
    padded[: len(c)] = c
    parts = padded.reshape(-1, BYTE_BITS, 1)
    table = np.zeros((len(parts), 1))
    for bit in range(BYTE_BITS):
        table = np.concatenate([table - parts[:, bit], table + parts[:, bit]], axis=1)
    return table


def _row_bytes(key: int, start: int, stop: int, count: int) -> NDArray[np.uint8]:
    """The bytes behind rows start, …, stop − 1."""
    drawn = words.words(key, np.arange(start, stop, dtype=np.int64), 0, -(-count // words.WORD_BITS))
    return drawn.astype("<u8").view(np.uint8)


class Signs(Entries):
    """Random signs: sixty-four entries to a word, eight at a time from a table."""

    def combine(self, key: int, dim: int, c: Array) -> Array:
        tables = byte_tables(c)
        out = np.zeros(dim)
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
            weights = g[start:stop]
            sums: Array = np.stack(
                [np.bincount(column, weights, BYTE_VALUES) for column in drawn.T], axis=1, dtype=float
            )
            folded = np.empty((sums.shape[1], BYTE_BITS))
            for bit in reversed(range(BYTE_BITS)):
                low, high = sums[: 1 << bit], sums[1 << bit :]
                folded[:, bit] = halve(high - low)
                sums = low + high
            out += folded.ravel()[:count]
        return out


SOURCES: dict[str, Numbers] = {"signs": Signs(words.signs), "normals": Entries(words.normals)}
