"""Steps along single coordinates, given one by one."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from zofw.core import Array, Indices, Matrix, Operator
from zofw.extras import lazy

sp = lazy("scipy.sparse")


@dataclass(frozen=True, eq=False)
class UnitSteps(Operator):
    """Column j is sign_j e_{index_j}: a step ahead, a step back, or for the sign 0 none at all."""

    dim: int
    index: Indices
    sign: Array

    @property
    def count(self) -> int:
        return len(self.index)

    def columns(self, start: int, stop: int) -> Array:
        out = np.zeros((self.dim, stop - start))
        out[self.index[start:stop], np.arange(stop - start)] = self.sign[start:stop]
        return out

    def rows(self, index: Indices) -> Array:
        return np.where(np.asarray(index)[:, None] == self.index[None, :], self.sign[None, :], 0.0)

    def combine(self, c: Array) -> Array:
        return np.bincount(self.index, self.sign * c, self.dim).astype(float, copy=False)

    def project(self, g: Array) -> Array:
        return np.asarray(self.sign * np.asarray(g, dtype=float)[self.index])

    def product(self, Z: Matrix) -> Array:
        columns = sp.csc_array(Z)[:, self.index].todense() if sp.issparse(Z) else np.asarray(Z)[:, self.index]
        return np.asarray(columns * self.sign)
