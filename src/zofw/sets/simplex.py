"""The simplex."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from zofw.atoms import Array, Atom, Sparse
from zofw.sets.protocol import Inball, SetFacts, Vertices, positive, register
from zofw.sets.thresholds import project_capped, settle


def centred_radius(total: float, dim: int) -> float:
    """Return the distance of a simplex's barycentre from its faces, a/√(d(d − 1))."""
    return total / (dim * (dim - 1)) ** 0.5 if dim > 1 else np.inf


@register("simplex")
@dataclass(frozen=True)
class Simplex(Vertices):
    r"""The simplex :math:`\{x \ge 0 : \sum_i x_i = a\}`, whose vertices are :math:`a e_i`.

    .. math:: \arg\min_s \langle g, s\rangle = a\,e_i, \qquad i = \arg\min_j g_j,

    the lowest such i on ties. Every dimension.

    Parameters
    ----------
    total
        The sum a > 0; 1 is the probability simplex.
    dim
        Dimension d, if the simplex should refuse all others; by default it has none of its own.

    References
    ----------
    M. Held, P. Wolfe and H. P. Crowder, Validation of subgradient optimization, Math. Program. 6, 1974 (projection).

    Examples
    --------
    >>> Simplex().lmo([0.5, -3.0, 3.0])
    array([0., 1., 0.])
    """

    total: float = 1.0
    dim: int | None = field(default=None, repr=False, compare=False)

    facts = SetFacts(
        members=r"x \ge 0,\ \sum x_i = a",
        oracle="$a e_i$ at the least $g_i$",
        cost="O(d)",
        atom="sparse, 1 entry",
        projection="one sort",
        diameter="sqrt(2)*a",
        inball="a/sqrt(d*(d - 1))",
    )

    def __post_init__(self) -> None:
        positive(self, "total")
        if self.dim is not None:
            positive(self, "dim", whole=True)

    @property
    def fixed_dim(self) -> int | None:
        """Return the dimension given, if any."""
        return self.dim

    def atom(self, g: ArrayLike, warm: Atom | None = None) -> Sparse:
        """Return the vertex a e_i of the least g_i."""
        g = self._gradient(g)
        return Sparse.single(int(g.argmin()), self.total, g.size)

    def contains(self, x: ArrayLike, tol: float = 1e-9) -> bool:
        """Return True if x ≥ −tol·a and |Σ x − a| ≤ tol·a."""
        x = self._point(x)
        slack = tol * self.total
        return bool(x.min() >= -slack and abs(x.sum() - self.total) <= slack)

    def _diameter(self, dim: int) -> float:
        """Return √2 a, exact; 0 in dimension 1."""
        return self.total * 2**0.5 if dim > 1 else 0.0

    def _inball(self, dim: int) -> Inball:
        """Return the barycentre and its distance a/√(d(d − 1)) from the faces."""
        return np.full(dim, self.total / dim), centred_radius(self.total, dim)

    def tangent(self, v: ArrayLike) -> Array:
        """Return v minus its mean."""
        v = np.asarray(v, dtype=np.float64)
        centred: Array = v - v.mean(axis=0)
        return centred

    def project(self, x: ArrayLike) -> Array:
        """Return the Euclidean projection, by one sort."""
        return project_capped(self._point(x), self.total, self.total)

    def clip(self, x: ArrayLike) -> Array:
        """No entry below 0 or above a, and a sum within one rounding of a."""
        x = self._finite(x)
        return settle(x if self.contains(x) else self.project(x), self.total, self.total)

    def facets(self, dim: int) -> tuple[Array, Array]:
        """Return A, b with A x ≤ b: the d inequalities that with the sum make the simplex."""
        self.check_dim(dim)
        return -np.eye(dim), np.zeros(dim)
