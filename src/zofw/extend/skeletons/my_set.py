"""The corner of the ℓ1 ball: the convex hull of the origin and the scaled unit vectors."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from zofw.core import Array


@dataclass(frozen=True)
class Corner:
    """{x ≥ 0, Σx ≤ size}: lmo(g) is size·e_j for the lowest g_j < 0, and 0 where there is none.

    >>> Corner(2.0).lmo(np.array([1.0, -3.0, -1.0]))
    array([0., 2., 0.])
    """

    size: float = 1.0

    def lmo(self, g: Array) -> Array:
        s = np.zeros(len(g))
        j = int(np.argmin(g))
        if g[j] < 0:
            s[j] = self.size
        return s
