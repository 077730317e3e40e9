"""The k-sparse polytope."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from zofw.atoms import Array, Atom, Sparse
from zofw.sets.protocol import Ball, SetFacts, positive, register, smallest
from zofw.sets.thresholds import project_capped


@register("k-sparse")
@dataclass(frozen=True)
class KSparse(Ball):
    r"""The polytope :math:`\{x : \|x\|_\infty \le r,\ \|x\|_1 \le k r\}`, the hull of the
    k-sparse sign vectors times r.

    .. math:: s_i = -r\,\mathrm{sign}(g_i) \text{ on the } k \text{ greatest } |g_i|,

    lowest index first on ties, with :math:`s_i = -r` where :math:`g_i = 0`. Every dimension; for :math:`k \ge d` it is
    the cube.

    Parameters
    ----------
    k
        How many entries of a vertex are not zero.
    radius
        Their size r > 0.

    References
    ----------
    M. Besançon, A. Carderera and S. Pokutta, FrankWolfe.jl: a high-performance and flexible toolbox for Frank-Wolfe
    algorithms and conditional gradients, INFORMS J. Comput. 34, 2022.

    Examples
    --------
    >>> KSparse(2, 1.0).lmo([0.5, -3.0, 3.0])
    array([ 0.,  1., -1.])
    """

    k: int
    radius: float = 1.0

    facts = SetFacts(
        members=r"\|x\|_\infty \le r,\ \|x\|_1 \le kr",
        oracle=r"$\mp r$ at the $k$ greatest $|g_i|$",
        cost=r"O(d + k\log k)",
        atom="sparse, $k$ entries",
        projection="one sort",
        diameter="2*r*sqrt(min(k, d))",
        inball="r*min(1, k/sqrt(d))",
    )

    def __post_init__(self) -> None:
        positive(self, "k", whole=True)
        positive(self, "radius")

    def atom(self, g: ArrayLike, warm: Atom | None = None) -> Sparse:
        """Return the signs opposite to the k greatest |g_i|."""
        g = self._gradient(g)
        places = np.sort(smallest(-np.abs(g), self.k))
        return Sparse(places, np.where(g[places] >= 0, -self.radius, self.radius), g.size)

    def norm(self, x: Array) -> float:
        """Return max(‖x‖_∞, ‖x‖₁/k)."""
        size = np.abs(x)
        return float(np.maximum(size.max(), size.sum() / self.k))

    def radii(self, dim: int) -> tuple[float, float]:
        """Return min(1, k/√d) and √min(k, d), the norm of a vertex."""
        return float(min(1.0, self.k / dim**0.5)), float(min(self.k, dim) ** 0.5)

    def project(self, x: ArrayLike) -> Array:
        """Return the Euclidean projection: clipping, or that of |x| on a capped simplex."""
        x = self._point(x)
        clipped: Array = np.clip(x, -self.radius, self.radius)
        total = self.k * self.radius
        if np.abs(clipped).sum() <= total:
            return clipped
        return np.copysign(project_capped(np.abs(x), total, self.radius), x)
