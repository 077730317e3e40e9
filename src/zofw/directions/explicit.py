"""Directions given column by column, such as the atoms of a set."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from zofw.core import Array, Indices, Matrix, Operator
from zofw.extras import lazy

sp = lazy("scipy.sparse")


@dataclass(frozen=True, eq=False)
class Explicit(Operator):
    """A given d×b matrix, dense or sparse."""

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
