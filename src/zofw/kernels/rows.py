"""The structures that kernels take for their arguments; numba knows them as Python does."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from zofw.core import Array, Indices
from zofw.extras import lazy

if TYPE_CHECKING:
    from scipy.sparse import csr_array

sp = lazy("scipy.sparse")

IndexArray = NDArray[np.integer]  # of 32 or 64 bits
EVERY_ROW = np.empty(0, dtype=np.int64)
NO_OFFSETS = np.empty(0)
KINDS = ("signs", "normals")


class Rows(NamedTuple):
    """Positions first, …, last − 1 of a list of rows of a CSR matrix, without a copy; an empty list is every row in order."""

    data: Array
    indices: IndexArray
    indptr: IndexArray
    picked: Indices
    first: int
    last: int
    dim: int

    @classmethod
    def of(
        cls, matrix: csr_array, picked: Indices | None = None, first: int = 0, last: int | None = None
    ) -> Rows:
        """Return rows of a CSR matrix of doubles; of all of them by default."""
        listed = EVERY_ROW if picked is None else picked
        if last is None:
            last = matrix.shape[0] if picked is None else len(picked)
        return cls(matrix.data, matrix.indices, matrix.indptr, listed, first, last, matrix.shape[1])

    def some(self, picked: Indices | None, first: int, last: int) -> Rows:
        """Return positions of another list of rows of the same matrix."""
        listed = EVERY_ROW if picked is None else picked
        return Rows(self.data, self.indices, self.indptr, listed, first, last, self.dim)

    @property
    def size(self) -> int:
        """Return how many rows these are."""
        return self.last - self.first

    @property
    def about(self) -> int:
        """Return how many entries, if these rows are like the others."""
        return len(self.data) * (self.last - self.first) // max(1, len(self.indptr) - 1)

    def touched(self) -> tuple[Indices, Indices]:
        """Return the columns that have entries, increasing, and the place of each column among them."""
        seen, whole = np.zeros(self.dim, dtype=bool), slice(self.indptr[self.first], self.indptr[self.last])
        seen[self.indices[self._places()[0] if self.picked.size else whole]] = True
        return np.flatnonzero(seen), np.cumsum(seen) - 1

    def csr(self) -> csr_array:
        """Return the same rows as a matrix of their own."""
        place, pointers = self._places()
        return sp.csr_array((self.data[place], self.indices[place], pointers), shape=(self.size, self.dim))

    def numbers(self) -> Indices | slice:
        """What these rows are called in the matrix."""
        listed = slice(self.first, self.last)
        return self.picked[listed] if self.picked.size else listed

    def _places(self) -> tuple[IndexArray, IndexArray]:
        """Where the entries lie in the matrix they come from, and where each row begins among them."""
        index = self.numbers()
        starts, ends = self.indptr[:-1][index], self.indptr[1:][index]
        pointers = np.concatenate([[0], np.cumsum(ends - starts)]).astype(self.indptr.dtype)
        return np.arange(pointers[-1]) + np.repeat(starts - pointers[:-1], np.diff(pointers)), pointers


class Shift(NamedTuple):
    """c and the unit of the margins t_i = (a_iᵀx − c_i)/unit; c is empty for zeros."""

    offsets: Array = NO_OFFSETS
    unit: float = 1.0

    def of(self, t: Array, rows: Rows) -> Array:
        """Return (t − c)/unit for margins of these rows."""
        return (t - self.offsets[rows.numbers()] if self.offsets.size else t) / self.unit


class StencilSteps(NamedTuple):
    """The radius in units of t, one side or both, and whether φ(t_i) is wanted too."""

    mu: float
    sides: int
    base: bool


class Source(NamedTuple):
    """The entries of implicit directions: their place among the KINDS, their key, and how many columns."""

    kind: int
    key: int
    columns: int
