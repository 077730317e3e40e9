"""Every operation in NumPy alone: the reference of the compiled kernels, and their stand-in.

Entry (i, j) of an implicit matrix U is a function of (key, i, j). Every sum has one order, stated here, whatever the tiles
or the threads:

========== ===========================================================================================================
U c        normals: over j, one after the other. Signs: a table of the 256 sums ±c₀ ± … ± c₇ for every byte of a row,
           eight entries of it added in pairs for every word, then word after word.
Uᵀ g       per tile of 4096 rows, tiles one after the other. Normals: in a tile, rows i ≡ l (mod 64) one after the
           other for each lane l, then lanes by halving. Signs: in a tile, a histogram of g over the 256 values of each
           byte, folded bit by bit from the highest.
Z U        per row of Z, non-zeros one after the other; for a dense Z by the BLAS, in tiles of rows of U.
Σ_i φ(…)   over rows one after the other within groups of 32, of 2048 or more along coordinates, then over the groups;
           of all margins in groups of 1024: rows i ≡ l (mod 64) one after the other for each lane l, then lanes by halving.
========== ===========================================================================================================
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

from zofw.core import Array, Indices, blocks
from zofw.extras import lazy
from zofw.kernels import words
from zofw.kernels.losses import LOSSES, Loss
from zofw.kernels.rows import KINDS, Rows, Shift, Source, StencilSteps

if TYPE_CHECKING:
    from scipy.sparse import csr_array

sp = lazy("scipy.sparse")

TILE_ENTRIES = 1 << 20  # entries of U alive at any time: 8 MB
TILE_ROWS = 4096
LANES = 64
LINES = 32  # rows of a group
STRIP = 16  # columns that take the polynomial together, or the formula
GROUP_LINES = 2048  # rows of a group along coordinates, unless groups of that size would be too many
TOTAL_LINES = 1024  # rows of a group of the sum over all of them
GROUP_ENTRIES = 1 << 22  # sums of all groups together
CHUNK = 1 << 12  # numbers that a formula is applied to at a time: 32 kB each
BYTE_BITS = 8
BYTE_VALUES = 1 << BYTE_BITS
WORD_BYTES = 8


class Numbers(Protocol):
    """The entries of a d×b matrix as a rule, and the products a method needs of it."""

    def block(self, key: int, rows: Indices, left: int, right: int) -> Array: ...  # U[rows, left:right]
    def combine(self, key: int, dim: int, c: Array) -> Array: ...  # U c
    def project(self, key: int, g: Array, count: int) -> Array: ...  # Uᵀ g
    def squares(self, key: int, dim: int, count: int) -> Array: ...  # ‖u_j‖² for every column
    def product(self, key: int, Z: Rows, count: int) -> Array: ...  # Z U for a sparse Z


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
        rows, (touched, place) = Z.csr(), Z.touched()
        compact = sp.csr_array((rows.data, place[rows.indices], rows.indptr), shape=(Z.size, len(touched)))
        out = np.zeros((Z.size, count))
        for left, right in blocks(count, max(1, TILE_ENTRIES // max(1, len(touched)))):
            out[:, left:right] = compact @ self.entries(key, touched, left, right)
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
    padded = np.zeros(words.WORD_BITS * -(-len(c) // words.WORD_BITS))
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


SOURCES: dict[str, Numbers] = {"signs": Signs(words.signs), "normals": Entries(words.normals)}


def integers(rng: np.random.Generator, n: int, size: int) -> Indices:
    """``size`` numbers below n."""
    return rng.integers(n, size=size, dtype=np.int64)


def values(loss: str, t: Array) -> Array:
    """φ(t), elementwise, written over a contiguous t."""
    flat = t.reshape(-1)
    for start, stop in blocks(flat.size, CHUNK):
        flat[start:stop] = LOSSES[loss].phi(flat[start:stop])
    return t


def total(loss: str, t: Array) -> float:
    """Σ_i φ(t_i); the margins may be overwritten."""
    out = 0.0
    for start, stop in blocks(len(t), TOTAL_LINES):
        lanes = np.zeros(-(-(stop - start) // LANES) * LANES)
        lanes[: stop - start] = LOSSES[loss].phi(t[start:stop])
        out += float(halve(in_order(lanes.reshape(-1, LANES))))
    return out


def margins(rows: Rows, points: Array) -> Array:
    """rows · x for every point (rows of the result): (k, s)."""
    return np.ascontiguousarray((rows.csr() @ points.T).T)


def answer(
    kernel: str, loss: str, rows: Rows, shift: Shift, points: Array, U: Source, steps: StencilSteps
) -> Array:
    """:func:`stencil_sums` of sparse rows and implicit directions; ``kernel`` says how compiled code does it."""
    along = SOURCES[KINDS[U.kind]].product(U.key, rows, U.columns)
    return stencil_sums(loss, shift.of(margins(rows, points), rows), along, steps)


def stencil_sums(loss: str, t: Array, along: Array, steps: StencilSteps) -> Array:
    """Σ_i φ(t_i + μp_ij), then Σ_i φ(t_i − μp_ij) for two sides, then Σ_i φ(t_i) for a base: margins t (k, s), p = A U (s, b)."""
    out = np.zeros((len(t), steps.sides * along.shape[1] + steps.base))
    for top in range(0, t.shape[1], LINES):
        rows = slice(top, top + LINES)
        for k, line in enumerate(t[:, rows, None]):
            parts = _values(LOSSES[loss], line, steps.mu * along[rows], steps.sides)
            parts += [LOSSES[loss].phi(line)] * steps.base
            out[k] += in_order(np.concatenate(parts, axis=1))
    return out


def _values(loss: Loss, t: Array, steps: Array, sides: int) -> list[Array]:
    """φ(t + step) and φ(t − step) for margins (m, 1) and steps (m, b): strips of a row within reach by its polynomial."""
    found = [loss.phi(t + steps), loss.phi(t - steps)][:sides]
    if loss.series is None:
        return found
    for left in range(0, steps.shape[1], STRIP):
        strip = slice(left, left + STRIP)
        d = steps[:, strip]
        near = (np.abs(t[:, 0]) <= loss.far) & ~(np.abs(d) > loss.reach).any(axis=1)
        c, d = loss.series(t[near]), d[near]
        x = d * d
        even = c[0] + x * (c[2] + x * (c[4] + x * c[6]))
        odd = d * (c[1] + x * (c[3] + x * c[5]))
        for side, values in zip(found, (even + odd, even - odd), strict=False):
            side[near, strip] = values
    return found


def coordinate_sums(
    loss: str, rows: Rows, place: Indices | None, width: int, t: Array, steps: StencilSteps
) -> Array:
    """Σ_i φ(t_i ± μ a_ij) for every coordinate j, from the non-zeros of A alone; then Σ_i φ(t_i), asked for or not.

    place[j] in [0, width) is where coordinate j goes, −1 for nowhere; None stands for a whole basis in order.
    """
    out = np.zeros((len(t), steps.sides * width + 1))
    for top, bottom in blocks(rows.size, coordinate_lines(rows, len(t) * steps.sides * width)):
        part = rows._replace(first=rows.first + top, last=rows.first + bottom).csr()
        out += _group_of_coordinates(LOSSES[loss], part, place, width, t[:, top:bottom], steps)
    out[:, :-1] += out[:, -1:]
    return out


def coordinate_lines(rows: Rows, width: int) -> int:
    """Rows of a group along coordinates, where each has so many sums."""
    return max(GROUP_LINES, -(-rows.size // max(1, GROUP_ENTRIES // width)))


def _group_of_coordinates(
    loss: Loss, A: csr_array, place: Indices | None, width: int, t: Array, steps: StencilSteps
) -> Array:
    """Σ_i [φ(t_i ± μ a_ij) − φ(t_i)] for every j, and Σ_i φ(t_i), over one group of rows."""
    row = np.repeat(np.arange(A.shape[0]), np.diff(A.indptr))
    column = A.indices if place is None else place[A.indices]
    inside = column >= 0
    row, column, step = row[inside], column[inside], steps.mu * A.data[inside]
    out = np.empty((len(t), steps.sides * width + 1))
    for k, line in enumerate(t):
        before = loss.phi(line)
        for side, after in enumerate(_values(loss, line[row][:, None], step[:, None], steps.sides)):
            change = np.bincount(column, after[:, 0] - before[row], width)
            out[k, side * width : (side + 1) * width] = change
        out[k, -1] = in_order(before[:, None])[0]
    return out


def in_order(parts: Array) -> Array:
    """The sum over the first axis, one after the other."""
    total = np.zeros(parts.shape[1:])
    for part in parts:
        total += part
    return total
