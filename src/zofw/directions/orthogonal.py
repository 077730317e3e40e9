"""Orthonormal blocks: a random subset of a randomly signed cosine basis."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from zofw.core import Array, Indices, Matrix, Operator
from zofw.directions.coordinate import OrthonormalColumns, random_subset
from zofw.directions.implicit import laws, new_key, touched_product
from zofw.kernels import words


@dataclass(frozen=True)
class CosineBlock(Operator):
    """U = D Cᵀ P: random signs D, the orthonormal DCT-II matrix C, and a random subset P of its
    rows.

    U_ij = σ_i a_k cos(π(2i + 1)k/(2d)) with k the j-th chosen frequency, a_0 = √(1/d) and a_k =
    √(2/d). Cosines come from a table over the 4d angles that occur, by exact integer
    arithmetic.
    """

    dim: int
    count: int
    key: int

    @cached_property
    def index(self) -> Indices:
        """Return the chosen frequencies, increasing."""
        return random_subset(self.key, self.dim, self.count)

    @cached_property
    def signs(self) -> Array:
        """Return σ, one bit of each row's word."""
        return words.signs(self.key, np.arange(self.dim, dtype=np.int64), 0, 1)[:, 0]

    @cached_property
    def table(self) -> Array:
        """Return cos(πm/(2d)), m = 0, …, 4d − 1."""
        return np.asarray(np.cos(np.arange(4 * self.dim) * (np.pi / (2 * self.dim))))

    @cached_property
    def amplitude(self) -> Array:
        """Return a_k for the chosen frequencies."""
        return np.sqrt(np.where(self.index == 0, 1.0, 2.0) / self.dim)

    def block(self, rows: Indices, left: int, right: int) -> Array:
        """Return U[rows, left:right]."""
        angle = ((2 * rows[:, None] + 1) * self.index[None, left:right]) % (4 * self.dim)
        return np.asarray(self.signs[rows][:, None] * self.amplitude[left:right] * self.table[angle])

    def columns(self, start: int, stop: int) -> Array:
        return self.block(np.arange(self.dim, dtype=np.int64), start, stop)

    def rows(self, index: Indices) -> Array:
        return self.block(np.asarray(index, dtype=np.int64), 0, self.count)

    def combine(self, c: Array) -> Array:
        import scipy.fft

        spectrum = np.zeros(self.dim)
        spectrum[self.index] = c
        return np.asarray(self.signs * scipy.fft.idct(spectrum, norm="ortho"))

    def project(self, g: Array) -> Array:
        import scipy.fft

        return np.asarray(scipy.fft.dct(self.signs * g, norm="ortho")[self.index])

    def product(self, Z: Matrix) -> Array:
        return touched_product(self, Z)


@laws.register("orthogonal")
@dataclass(frozen=True)
class Orthogonal(OrthonormalColumns):
    """b orthonormal directions of a randomised cosine basis; U·c and Uᵀg cost O(d log d).

    UUᵀ is a projection, and because the subset of basis vectors is uniform, E[UUᵀ] = (b/d)I
    exactly and E‖UUᵀx‖² = (b/d)‖x‖²: the constants of Haar-distributed blocks, without a QR
    factorisation.

    References
    ----------
    D. Kozak, C. Molinari, L. Rosasco, L. Tenorio, S. Villa, Zeroth-order optimization with orthogonal random
    directions, Mathematical Programming, 2022.

    Examples
    --------
    >>> U = Orthogonal().draw(np.random.default_rng(0), dim=4, count=2).columns(0, 2)
    >>> np.abs(U.T @ U).round(12)
    array([[1., 0.],
           [0., 1.]])
    """

    def draw(self, rng: np.random.Generator, dim: int, count: int) -> CosineBlock:
        self.check(dim, count)
        return CosineBlock(dim, count, new_key(rng))
