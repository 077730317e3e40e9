"""Directions given column by column, such as the atoms of a set.

What every matrix of directions can do, written out for one that is there: for U of shape (d, b)
with columns u_j

    columns(l, r)  U[:, l:r], (d, r − l)            rows(i)   U[i, :], (|i|, b)
    combine(c)     U c = Σ_j c_j u_j, (d,)          project(g)   Uᵀg, the slopes ⟨g, u_j⟩, (b,)
    product(Z)     Z U, the changes of n linear forms along each u_j, (n, b)
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from zofw.core import Array, Indices, Matrix, Operator
from zofw.extras import lazy

sp = lazy("scipy.sparse")


@dataclass(frozen=True, eq=False)
class Explicit(Operator):
    """A given d×b matrix, dense or sparse; d·b numbers in memory, where the laws of the library
    keep a key.

    Examples
    --------
    >>> U = Explicit(np.array([[1.0, 0.0], [0.0, 2.0], [0.0, 0.0]]))
    >>> U.dim, U.count, U @ np.array([3.0, 4.0]), U.T @ np.array([1.0, 1.0, 1.0])
    (3, 2, array([3., 8., 0.]), array([1., 2.]))
    """

    matrix: Matrix

    def __post_init__(self) -> None:
        matrix = (
            sp.csc_array(self.matrix) if sp.issparse(self.matrix) else np.asarray(self.matrix, dtype=float)
        )
        if matrix.ndim != 2:
            raise ValueError(
                f"Explicit directions are the columns of a d×b matrix; got an array of shape {matrix.shape}."
            )
        object.__setattr__(self, "matrix", matrix)

    @property
    def dim(self) -> int:
        return int(self.matrix.shape[0])

    @property
    def count(self) -> int:
        return int(self.matrix.shape[1])

    def columns(self, start: int, stop: int) -> Array:
        return _dense(self.matrix[:, start:stop])

    def rows(self, index: Indices) -> Array:
        return _dense(self.matrix[np.asarray(index), :])

    def combine(self, c: Array) -> Array:
        return np.asarray(self.matrix @ c)

    def project(self, g: Array) -> Array:
        return np.asarray(self.matrix.T @ g)

    def product(self, Z: Matrix) -> Array:
        return _dense(Z @ self.matrix)


def _dense(matrix: Matrix) -> Array:
    return np.array(matrix if isinstance(matrix, np.ndarray) else matrix.todense(), dtype=float)
