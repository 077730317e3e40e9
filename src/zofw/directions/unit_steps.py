"""Steps along single coordinates, given one by one."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from zofw.core import Array, Indices, Matrix, Operator
from zofw.extras import lazy

sp = lazy("scipy.sparse")


@dataclass(frozen=True, eq=False)
class UnitSteps(Operator):
    """Column j is sign_j e_{index_j}: a step ahead, a step back, or for the sign 0 none at all.

    Steps of components along their own coordinates, f_i(x ± μe_j) and f_i(x), are one paired
    query with such columns. A coordinate may occur many times, once for each component that
    depends on it. Nothing of size d·b is made but by ``columns`` and ``rows``: (U c)_k = Σ_{j :
    index_j = k} sign_j c_j, (Uᵀg)_j = sign_j g_{index_j}, and Z U has the columns sign_j Z
    e_{index_j}.

    Examples
    --------
    >>> U = UnitSteps(3, np.array([2, 2, 0]), np.array([1.0, -1.0, 0.0]))
    >>> U @ np.array([5.0, 1.0, 7.0]), U.T @ np.array([1.0, 2.0, 3.0])
    (array([0., 0., 4.]), array([ 3., -3.,  0.]))
    """

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
        return picked(Z, self.index) * self.sign


def picked(Z: Matrix, index: Indices) -> Array:
    """Return Z[:, index], dense."""
    return np.asarray(sp.csc_array(Z)[:, index].todense() if sp.issparse(Z) else np.asarray(Z)[:, index])
