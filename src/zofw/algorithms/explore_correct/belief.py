"""What is believed of ∇f(x): a Gaussian with one variance, except along the directions that were measured."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from zofw.atoms import Atom, Sparse
from zofw.core import Array, Indices, Matrix
from zofw.extras import lazy

if TYPE_CHECKING:
    from scipy.sparse import coo_array

sp = lazy("scipy.sparse")

REMEMBERED = 128  # measured slopes kept
SPARSE = 0.1  # share of non-zeros below which directions are stored sparsely
LARGE = 1000  # dimensions from which on that saves time
TINY = 1e-300
MOVED = 1e-20  # relative variance that any move leaves behind


def offsets(atoms: tuple[Atom, ...], origin: Array) -> Matrix:
    """The d×k matrix of columns a_j − o, sparse where it is."""
    few = len(origin) >= LARGE and np.count_nonzero(origin) < SPARSE * len(origin)
    sparse = [a for a in atoms if isinstance(a, Sparse) and len(a.index) < SPARSE * a.dim]
    if few and len(sparse) == len(atoms):
        centre = sp.csc_array(origin[:, None])
        return sp.hstack([sp.csc_array(_column(a)) - centre for a in sparse], format="csc")
    return np.stack([a.dense() - origin for a in atoms], axis=1)


def _column(atom: Sparse) -> coo_array:
    return sp.coo_array(
        (atom.value, (atom.index, np.zeros(len(atom.index), dtype=np.int64))), shape=(atom.dim, 1)
    )


def squares(matrix: Matrix) -> Array:
    """Squared norms of the columns."""
    return np.asarray((matrix * matrix).sum(axis=0)).reshape(-1)


def touched(matrix: Matrix) -> tuple[Indices, Array]:
    """The rows in which a d×k matrix is not zero, and those rows, dense."""
    if isinstance(matrix, np.ndarray):
        rows = np.flatnonzero(matrix.any(axis=1))
        return rows, matrix[rows]
    rows = np.unique(matrix.indices).astype(np.int64)
    return rows, matrix.tocsr()[rows].toarray()


@dataclass(frozen=True)
class MeasuredSlope:
    """A slope ⟨∇f(x), a − o⟩ that was measured: the atom, ‖a − o‖², the curvature there, the measurement's variance."""

    atom: Atom
    square: float
    curvature: float
    variance: float


class Complement:
    """Removes from a vector its part along some directions; the identity where there are none."""

    def __init__(self, directions: Matrix | None) -> None:
        self._rows = None
        if directions is not None:
            self._rows, self._A = touched(directions)
            gram = self._A.T @ self._A
            gram[np.diag_indices_from(gram)] *= 1 + 1e-10
            self._inverse = np.linalg.inv(gram)

    def __call__(self, v: Array) -> Array:
        if self._rows is None:
            return v
        out = v.copy()
        out[self._rows] -= self._A @ (self._inverse @ (self._A.T @ v[self._rows]))
        return out


@dataclass(frozen=True)
class Belief:
    """∇f(x) ~ N(g, s²I) on the complement of the known directions a − o; s² is ``variance``."""

    g: Array
    variance: float
    origin: Array
    known: tuple[MeasuredSlope, ...] = ()

    def complement(self) -> Complement:
        """Of the directions known better than the Gaussian knows them."""
        better = tuple(k.atom for k in self.known if k.variance < self.variance * k.square)
        return Complement(offsets(better, self.origin) if better else None)

    def kalman(self, measured: Array, own: float, noise: float) -> Belief:
        """Take in an estimate whose error has variance ``noise`` per coordinate, ``own`` of it from the directions.

        The innovation measures how far the gradient has moved since: the prior is the larger of s² and that.
        """
        if not np.isfinite(self.variance):
            return replace(self, g=measured, variance=noise)
        innovation = measured - self.g
        prior = max(self.variance, float(innovation @ innovation) / len(measured) - own)
        gain = prior / (prior + noise) if prior > 0 else 0.0
        return replace(self, g=self.g + gain * self.complement()(innovation), variance=(1 - gain) * prior)

    def take(self, measured: Array, noise: float) -> Belief:
        """The same, without looking for motion of the gradient and without the known directions."""
        if not np.isfinite(self.variance):
            return replace(self, g=measured, variance=noise)
        gain = self.variance / (self.variance + noise) if self.variance > 0 else 0.0
        return replace(self, g=self.g + gain * (measured - self.g), variance=(1 - gain) * self.variance)

    def agree(self, directions: Matrix, slopes: Array, variances: Array) -> Belief:
        """Move g so that it has the measured slopes along the columns, as far as their variances deserve."""
        rows, A = touched(directions)
        gram = A.T @ A
        gram[np.diag_indices_from(gram)] += variances / max(self.variance, TINY) + 1e-12 * np.diag(gram)
        g = self.g.copy()
        g[rows] += A @ np.linalg.solve(gram, slopes - A.T @ g[rows])
        return replace(self, g=g)

    def remember(self, slopes: tuple[MeasuredSlope, ...], most: int = REMEMBERED) -> Belief:
        """Keep measured slopes, each in place of an older one of the same atom."""
        keys = {k.atom.key() for k in slopes}
        others = tuple(k for k in self.known if k.atom.key() not in keys)
        return replace(self, known=(*others, *slopes)[-max(most, len(slopes)) :])

    def age(self, move: float, drift: float) -> Belief:
        """After a step with pᵀHp = ``move``: measured slopes lose precision with it, the Gaussian gains ``drift``."""
        older = tuple(replace(k, variance=k.variance + abs(k.curvature) * move) for k in self.known)
        least = MOVED * float(self.g @ self.g) / len(self.g)
        return replace(self, known=older, variance=max(self.variance + drift, least))
