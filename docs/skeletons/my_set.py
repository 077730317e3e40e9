"""A set of your own: the convex hull of the origin and the scaled unit vectors (a corner of the ℓ1 ball)."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Corner:
    """{x ≥ 0, Σx ≤ size}."""

    size: float

    def lmo(self, g):
        s = np.zeros(len(g))
        j = int(np.argmin(g))
        if g[j] < 0:
            s[j] = self.size
        return s
