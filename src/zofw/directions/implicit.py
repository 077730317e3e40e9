"""Direction matrices that exist only as a rule for their entries."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from zofw.core import Array, Indices, Operator, blocks

TILE_ENTRIES = 1 << 20  # entries of U alive at any time: 8 MB


def new_key(rng: np.random.Generator) -> int:
    """A 64-bit key for one direction matrix."""
    return int(rng.integers(1 << 64, dtype=np.uint64))


def at_least_one(count: int) -> None:
    """Every law needs a direction to draw."""
    if count < 1:
        raise ValueError(f"At least one direction is needed; directions={count} was asked for.")


class IndependentColumns:
    """What laws with b independent columns and E[UUᵀ] = bI share; entry (i, j) is a function of (key, i, j) alone."""

    def entries(self, key: int, rows: Indices, left: int, right: int) -> Array:
        """U[rows, left:right], up to one factor per column."""
        raise NotImplementedError

    def factors(self, drawn: Implicit) -> Array | None:
        """The factor of each column, where the law has one."""
        return None

    def draw(self, rng: np.random.Generator, dim: int, count: int) -> Implicit:
        self.check(dim, count)
        return Implicit(self, dim, count, new_key(rng))

    def scale(self, dim: int, count: int) -> float:
        return 1.0 / count

    def check(self, dim: int, count: int) -> None:
        at_least_one(count)


@dataclass(frozen=True)
class Implicit(Operator):
    """The d×b matrix that ``law`` draws for ``key``; any block is made when it is needed and forgotten afterwards."""

    law: IndependentColumns
    dim: int
    count: int
    key: int

    @cached_property
    def _factors(self) -> Array | None:
        return self.law.factors(self)

    def raw(self, rows: Indices, left: int, right: int) -> Array:
        """Entries before the column factors."""
        return self.law.entries(self.key, rows, left, right)

    def block(self, rows: Indices, left: int, right: int) -> Array:
        """U[rows, left:right]."""
        entries = self.raw(rows, left, right)
        return entries if self._factors is None else entries * self._factors[left:right]

    def row_tiles(self) -> list[tuple[int, int]]:
        """Ranges of rows small enough to hold with all b columns; fixed, so that sums have one order."""
        return list(blocks(self.dim, max(1, TILE_ENTRIES // max(1, self.count))))

    def columns(self, start: int, stop: int) -> Array:
        return self.block(np.arange(self.dim, dtype=np.int64), start, stop)

    def rows(self, index: Indices) -> Array:
        return self.block(np.asarray(index, dtype=np.int64), 0, self.count)

    def combine(self, c: Array) -> Array:
        out = np.zeros(self.dim)
        if c.any():
            for start, stop in self.row_tiles():
                tile = self.rows(np.arange(start, stop, dtype=np.int64))
                out[start:stop] = np.einsum("ij,j->i", tile, c)
        return out

    def project(self, g: Array) -> Array:
        out = np.zeros(self.count)
        if g.any():
            for start, stop in self.row_tiles():
                tile = self.rows(np.arange(start, stop, dtype=np.int64))
                out += np.einsum("ij,i->j", tile, g[start:stop])
        return out

    def product(self, Z: Any) -> Array:
        return touched_product(self, Z)


def touched_product(directions: Any, Z: Any) -> Array:
    """Z U from the rows of U that Z touches: all of them in tiles for a dense Z, the non-zero columns of a sparse one."""
    if not sp.issparse(Z):
        Z = np.atleast_2d(np.asarray(Z, dtype=float))
        out = np.zeros((Z.shape[0], directions.count))
        for start, stop in blocks(Z.shape[1], max(1, TILE_ENTRIES // max(1, directions.count))):
            out += Z[:, start:stop] @ directions.rows(np.arange(start, stop, dtype=np.int64))
        return out
    Z = sp.csr_array(Z)
    touched, position = np.unique(Z.indices, return_inverse=True)
    out = np.zeros((Z.shape[0], directions.count))
    for start, stop in blocks(len(touched), max(1, TILE_ENTRIES // max(1, directions.count))):
        inside = (position >= start) & (position < stop)
        before = np.concatenate([[0], np.cumsum(inside)])
        part = sp.csr_array(
            (Z.data[inside], position[inside] - start, before[Z.indptr]), shape=(Z.shape[0], stop - start)
        )
        out += part @ directions.rows(touched[start:stop].astype(np.int64))
    return out
