"""The capped simplex."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from zofw.atoms import Array, Atom, Sparse
from zofw.sets.protocol import Inball, Vertices, gradient, point, positive, register, smallest
from zofw.sets.thresholds import project_capped

__all__ = ["CappedSimplex"]

ROUND = 1e-12  # a/c and d·c are compared with whole numbers and with a up to this relative error


@register("capped-simplex")
@dataclass(frozen=True)
class CappedSimplex(Vertices):
    r"""The capped simplex :math:`\{x : 0 \le x_i \le c,\ \sum_i x_i = a\}`.

    A vertex puts the cap c on :math:`\lfloor a/c \rfloor` coordinates and the remainder on one more; the minimiser of
    :math:`\langle g, s\rangle` fills the coordinates in increasing order of g, lowest index first on ties. Every
    dimension :math:`d \ge a/c`. With a = k and c = 1 this is the hypersimplex.

    Parameters
    ----------
    total
        The sum a > 0.
    cap
        The cap c > 0 on each coordinate.
    """

    total: float
    cap: float

    def __post_init__(self) -> None:
        positive(self, "total", "cap")

    def check_dim(self, dim: int) -> None:
        """Raise ValueError if the set is empty in this dimension."""
        if dim < 1 or dim * self.cap < self.total * (1 - ROUND):
            raise ValueError(
                f"CappedSimplex: in dimension {dim} no point has entries of at most {self.cap} that sum to {self.total}; "
                "use a greater cap, a smaller total, or a higher dimension."
            )

    def _is_point(self, dim: int) -> bool:
        return dim == 1 or dim * self.cap <= self.total * (1 + ROUND)

    def atom(self, g: ArrayLike, warm: Atom | None = None) -> Sparse:
        """The cap on the smallest entries of g, the remainder on the next."""
        g = gradient(self, g)
        full = int(self.total / self.cap * (1 + ROUND))
        rest = self.total - full * self.cap
        values = np.full(full + 1, self.cap)
        values[full] = rest if rest > ROUND * self.total else 0.0
        places = smallest(g, int(np.count_nonzero(values)))
        order = np.argsort(places)
        return Sparse(places[order], values[: places.size][order], g.size)

    def contains(self, x: ArrayLike, tol: float = 1e-9) -> bool:
        """Whether −tol·c ≤ x ≤ c (1 + tol) and |Σ x − a| ≤ tol·a."""
        x = point(self, x)
        slack = tol * self.cap
        inside = x.min() >= -slack and x.max() <= self.cap + slack
        return bool(inside and abs(x.sum() - self.total) <= tol * self.total)

    def diameter(self, dim: int) -> float:
        """Exact: all vertices are permutations of one, s, and the farthest from s minimises ⟨s, ·⟩."""
        self.check_dim(dim)
        s = self.lmo(np.zeros(dim))
        return float(np.linalg.norm(s - self.lmo(s)))

    def initial_point(self, dim: int) -> Array:
        """The barycentre, a/d in every coordinate."""
        self.check_dim(dim)
        return np.full(dim, self.total / dim)

    def inball(self, dim: int) -> Inball:
        """The inscribed ball: the barycentre and its distance from the nearest face, x_i = 0 or x_i = c."""
        centre = self.initial_point(dim)
        if self._is_point(dim):
            return centre, np.inf
        least = min(centre[0], self.cap - centre[0])
        return centre, float(least / (1 - 1 / dim) ** 0.5)  # ‖e_i − 1/d‖ = √(1 − 1/d)

    def tangent(self, v: ArrayLike) -> Array:
        """v minus its mean; zero if the set is a single point."""
        v = np.asarray(v, dtype=np.float64)
        return np.zeros_like(v) if self._is_point(len(v)) else v - v.mean(axis=0)

    def project(self, x: ArrayLike) -> Array:
        """Euclidean projection, by one sort."""
        return project_capped(point(self, x), self.total, self.cap)
