"""The corner of the ℓ1 ball: the convex hull of the origin and the scaled unit vectors."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from zofw.core import Array


@dataclass(frozen=True)
class Corner:
    """{x ≥ 0, Σx ≤ size}."""

    size: float = 1.0

    def lmo(self, g: Array) -> Array:
        s = np.zeros(len(g))
        j = int(np.argmin(g))
        if g[j] < 0:
            s[j] = self.size
        return s
