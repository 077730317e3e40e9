"""The small quadratic programme of a correction."""

from __future__ import annotations

import numpy as np

from zofw.core import Array


def simplex_step(c: Array, H: Array, w: Array) -> Array:
    """p with w + p in the simplex that minimises cᵀp + ½pᵀHp, by pairwise exact steps from p = 0.

    Weight goes from the atom with the worst slope to the best one; along negative curvature it goes whole, and that counts.
    """
    v, g, diagonal = w.copy(), c.copy(), np.diag(H)
    first = None
    for _ in range(200 * len(w) + 1000):
        worst = int(np.argmax(np.where(v > 0, g, -np.inf)))
        bends = H[worst, worst] + diagonal - 2 * H[worst]
        best = int(np.argmin(g + 0.5 * v[worst] * np.minimum(bends, 0.0)))
        gap, bend = g[worst] - g[best], bends[best]
        first = max(abs(gap), -bend) if first is None else first
        if best == worst or max(gap, -bend) <= 1e-13 * first:
            break
        step = min(v[worst], gap / bend) if bend > 0 else v[worst]
        v[best] += step
        v[worst] -= step
        if v[worst] < 1e-15:
            v[best] += v[worst]
            v[worst] = 0.0
        g += step * (H[:, best] - H[:, worst])
    return v - w
