"""Rows of a CSR matrix, picked without a copy."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from zofw.core import Array, Indices
from zofw.extras import lazy

sp: Any = lazy("scipy.sparse")


@dataclass(frozen=True, eq=False)
class Rows:
    """Row s has the entries data[starts[s]:ends[s]] in the columns indices[starts[s]:ends[s]]."""

    data: Array
    indices: NDArray[Any]
    starts: NDArray[Any]
    ends: NDArray[Any]
    shape: tuple[int, int]

    @classmethod
    def of(cls, matrix: sp.csr_array, picked: Indices | slice = slice(None)) -> Rows:
        """The picked rows of a CSR matrix of doubles, in that order; all by default."""
        starts, ends = matrix.indptr[:-1][picked], matrix.indptr[1:][picked]
        return cls(matrix.data, matrix.indices, starts, ends, (len(starts), matrix.shape[1]))

    def part(self, top: int, bottom: int) -> Rows:
        """Rows top, …, bottom − 1 of these."""
        shape = (bottom - top, self.shape[1])
        return Rows(self.data, self.indices, self.starts[top:bottom], self.ends[top:bottom], shape)

    @cached_property
    def nnz(self) -> int:
        """The number of entries."""
        return int(np.add.reduce(self.ends) - np.add.reduce(self.starts))

    def columns(self) -> NDArray[Any]:
        """The columns of the entries, row after row."""
        return np.asarray(self.indices[self._places(self._pointers())])

    def csr(self) -> sp.csr_array:
        """The same rows as a matrix of their own."""
        pointers = self._pointers()
        place = self._places(pointers)
        return sp.csr_array((self.data[place], self.indices[place], pointers), shape=self.shape)

    def _pointers(self) -> NDArray[Any]:
        return np.concatenate([[0], np.cumsum(self.ends - self.starts)]).astype(self.starts.dtype)

    def _places(self, pointers: NDArray[Any]) -> NDArray[Any]:
        """Where the entries lie in the matrix they come from."""
        return np.asarray(np.arange(pointers[-1]) + np.repeat(self.starts - pointers[:-1], np.diff(pointers)))
