"""The ℓ1 ball."""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite

import numpy as np
from numpy.typing import ArrayLike

from zofw.atoms import Array, Atom, Sparse
from zofw.core.query import DOUBLE
from zofw.sets.protocol import Ball, SetFacts, register
from zofw.sets.thresholds import shrink_to_l1


@register("l1-ball")
@dataclass(frozen=True)
class L1Ball(Ball):
    r"""The ball :math:`\{x : \sum_i |x_i| \le r\}`, whose vertices are :math:`\pm r e_i`.

    .. math:: \arg\min_s \langle g, s\rangle = -r\,\mathrm{sign}(g_i)\,e_i, \qquad i = \arg\max_j |g_j|,

    the lowest such i on ties, and :math:`-r e_0` for g = 0. Every dimension.

    Parameters
    ----------
    radius
        The radius r > 0.

    References
    ----------
    J. Duchi, S. Shalev-Shwartz, Y. Singer and T. Chandra, Efficient projections onto the ℓ1-ball for learning in high
    dimensions, ICML 2008 (projection).

    Examples
    --------
    >>> L1Ball(2.0).lmo([0.5, -3.0, 3.0])
    array([0., 2., 0.])
    """

    radius: float = 1.0

    facts = SetFacts(
        members=r"\|x\|_1 \le r",
        oracle=r"$\mp r e_i$ at the greatest $|g_i|$",
        cost="O(d)",
        atom="sparse, 1 entry",
        projection="one sort",
        diameter="2*r",
        inball="r/sqrt(d)",
    )

    def atom(self, g: ArrayLike, warm: Atom | None = None) -> Sparse:
        """Return the vertex ∓r e_i of the greatest |g_i|."""
        if not (isinstance(g, np.ndarray) and g.dtype == DOUBLE and g.ndim == 1 and g.size):
            g = self._point(g)
        highest, lowest = int(g.argmax()), int(g.argmin())
        up, down = g.item(highest), -g.item(lowest)
        if not (isfinite(up) and isfinite(down)):  # NaN is found by both; this ends in a sentence
            self._gradient(g)
        i = min(highest, lowest) if up == down else highest if up > down else lowest
        return Sparse.single(i, -self.radius if g.item(i) >= 0 else self.radius, g.size)

    def norm(self, x: Array) -> float:
        """Return Σ |x_i|."""
        return float(np.abs(x).sum())

    def radii(self, dim: int) -> tuple[float, float]:
        """Return 1/√d and 1: ‖x‖₂ ≤ ‖x‖₁ ≤ √d ‖x‖₂."""
        return float(dim**-0.5), 1.0

    def project(self, x: ArrayLike) -> Array:
        """Return the Euclidean projection: soft thresholding."""
        x = self._point(x)
        return np.copysign(shrink_to_l1(np.abs(x), self.radius), x)
