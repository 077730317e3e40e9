"""The Birkhoff polytope."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from zofw.atoms import Array, Atom, Sparse
from zofw.sets.protocol import EPS, Inball, SetFacts, Vertices, positive, register


@register("birkhoff")
@dataclass(frozen=True)
class Birkhoff(Vertices):
    r"""The doubly stochastic matrices :math:`\{X \ge 0 : X 1 = 1,\ X^\top 1 = 1\}` of size n,
    flattened by rows.

    The vertices are the permutation matrices, and the oracle is a linear assignment problem,
    solved exactly by SciPy in O(n³). On ties it returns one optimal assignment, always the same
    for the same g.

    Parameters
    ----------
    size
        The number n of rows and columns.

    References
    ----------
    D. F. Crouse, On implementing 2D rectangular assignment algorithms, IEEE Trans. Aerosp. Electron. Syst. 52, 2016.

    Examples
    --------
    >>> Birkhoff(2).lmo([[0.0, -1.0], [-1.0, 0.0]])
    array([[0., 1.],
           [1., 0.]])
    """

    size: int

    facts = SetFacts(
        members=r"X \ge 0,\ X1 = X^\top 1 = 1,\ k \times k",
        oracle="linear assignment",
        cost="O(k^3)",
        atom="sparse, $k$ entries",
        diameter="sqrt(2*k)",
        inball="1/(k - 1)",
    )

    def __post_init__(self) -> None:
        positive(self, "size", whole=True)

    @property
    def shape(self) -> tuple[int, int]:
        """Return (n, n)."""
        return self.size, self.size

    _shape = shape

    def atom(self, g: ArrayLike, warm: Atom | None = None) -> Sparse:
        """Return the permutation matrix of a cheapest assignment."""
        from scipy.optimize import linear_sum_assignment

        rows, columns = linear_sum_assignment(self._scaled(g).reshape(self.shape))
        return Sparse(rows * self.size + columns, np.ones(self.size), self.size**2)

    def contains(self, x: ArrayLike, tol: float = 1e-9) -> bool:
        """Return True if x ≥ −tol and every row and column sums to 1 up to tol."""
        matrix = self._point(x).reshape(self.shape)
        sums = np.concatenate([matrix.sum(axis=0), matrix.sum(axis=1)])
        return bool(matrix.min() >= -tol and np.abs(sums - 1).max() <= tol)

    def _diameter(self, dim: int) -> float:
        """Return √(2n), exact: two permutations that agree nowhere; 0 for n = 1."""
        return float((2 * self.size) ** 0.5) if self.size > 1 else 0.0

    def _inball(self, dim: int) -> Inball:
        """Return the barycentre and its distance 1/(n − 1) from the faces x_ij = 0."""
        return np.full(dim, 1 / self.size), 1 / (self.size - 1) if self.size > 1 else np.inf

    def clip(self, x: ArrayLike) -> Array:
        """No entry below 0, and rows and columns that sum to 1 up to n roundings.

        The sums are put right along the affine hull; entries that are negative then vanish on
        the way to the barycentre.
        """
        flat, centre = self._finite(x), 1 / self.size
        for _ in range(2):  # what rounding leaves of a far point is off by little
            if flat.min() >= 0 and self.contains(flat, 4 * self.size * EPS):
                break
            out = self.tangent(flat - centre)
            flat = np.maximum(centre + out * (centre / max(-float(out.min()), centre)), 0.0)
        return flat.reshape(np.shape(x)).copy()

    def facets(self, dim: int) -> tuple[Array, Array]:
        """Return A, b with A x ≤ b: the n² inequalities x ≥ 0 that with the sums make the polytope."""
        self.check_dim(dim)
        return -np.eye(dim), np.zeros(dim)

    def tangent(self, v: ArrayLike) -> Array:
        """Return v with the mean of every row and column removed."""
        v = np.asarray(v, dtype=np.float64)
        cube = v.reshape(self.size, self.size, -1)
        cube = cube - cube.mean(axis=0)
        centred: Array = cube - cube.mean(axis=1, keepdims=True)
        return centred.reshape(v.shape)
