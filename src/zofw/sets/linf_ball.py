"""The ℓ∞ ball."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from zofw.atoms import Array, Atom, Dense
from zofw.sets.protocol import Ball, SetFacts, bound_rows, register


@register("linf-ball")
@dataclass(frozen=True)
class LinfBall(Ball):
    r"""The cube :math:`\{x : \max_i |x_i| \le r\}`, whose vertices are the sign vectors times
    r.

    .. math:: \arg\min_s \langle g, s\rangle = -r\,\mathrm{sign}(g),

    with :math:`s_i = -r` where :math:`g_i = 0`. Every dimension.

    Parameters
    ----------
    radius
        The radius r > 0.

    References
    ----------
    M. Jaggi, Revisiting Frank-Wolfe: projection-free sparse convex optimization, ICML 2013 (oracles of atomic sets).

    Examples
    --------
    >>> LinfBall(2.0).lmo([0.5, -3.0, 0.0])
    array([-2.,  2., -2.])
    """

    radius: float = 1.0

    facts = SetFacts(
        members=r"\|x\|_\infty \le r",
        oracle=r"$-r\,\mathrm{sign}(g)$",
        cost="O(d)",
        atom="dense",
        projection="clipping",
        diameter="2*r*sqrt(d)",
        inball="r",
    )

    def atom(self, g: ArrayLike, warm: Atom | None = None) -> Dense:
        """Return the corner opposite to the signs of g."""
        return Dense(np.where(self._gradient(g) >= 0, -self.radius, self.radius))

    def norm(self, x: Array) -> float:
        """Return max |x_i|."""
        return float(np.abs(x).max())

    def radii(self, dim: int) -> tuple[float, float]:
        """Return 1 and √d, the norm of a corner."""
        return 1.0, float(dim**0.5)

    def project(self, x: ArrayLike) -> Array:
        """Return the Euclidean projection: clipping."""
        return np.clip(self._point(x), -self.radius, self.radius)

    def clip(self, x: ArrayLike) -> Array:
        """Return the projection, which is exact."""
        return self.project(self._finite(x)).reshape(np.shape(x))

    def facets(self, dim: int) -> tuple[Array, Array]:
        """Return A, b with A x ≤ b: the 2d bounds."""
        self.check_dim(dim)
        return bound_rows(np.full(dim, -self.radius), np.full(dim, self.radius))
