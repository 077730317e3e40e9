"""The Euclidean ball."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from zofw.atoms import Array, Atom, Dense
from zofw.sets.protocol import Ball, SetFacts, length, register


@register("l2-ball")
@dataclass(frozen=True)
class L2Ball(Ball):
    r"""The ball :math:`\{x : \|x\|_2 \le r\}`, every boundary point of which is extreme.

    .. math:: \arg\min_s \langle g, s\rangle = -r\,g / \|g\|_2,

    and :math:`-r e_0` for g = 0. Every dimension.

    Parameters
    ----------
    radius
        The radius r > 0.

    References
    ----------
    M. Jaggi, Revisiting Frank-Wolfe: projection-free sparse convex optimization, ICML 2013 (oracles of atomic sets).

    Examples
    --------
    >>> L2Ball(5.0).lmo([3.0, -4.0])
    array([-3.,  4.])
    """

    radius: float = 1.0

    facts = SetFacts(
        members=r"\|x\|_2 \le r",
        oracle=r"$-rg/\|g\|$",
        cost="O(d)",
        atom="dense",
        projection="scaling",
        diameter="2*r",
        inball="r",
    )

    def atom(self, g: ArrayLike, warm: Atom | None = None) -> Dense:
        """Return the boundary point opposite to g."""
        g = self._scaled(g)
        if not g.any():
            g[0] = 1.0
        return Dense(g / np.linalg.norm(g) * -self.radius)

    def norm(self, x: Array) -> float:
        """Return ‖x‖₂."""
        return length(x)

    def project(self, x: ArrayLike) -> Array:
        """Return the Euclidean projection: x scaled back to the sphere if it lies outside."""
        x = self._point(x)
        return x * (self.radius / max(length(x), self.radius))
