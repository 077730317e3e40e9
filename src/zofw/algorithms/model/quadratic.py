"""The small quadratic programme of a correction."""

from __future__ import annotations

import numpy as np

from zofw.core import Array

FLAT = 1e-13  # curvature over the greatest entry of H and the step's length that is rounding


def simplex_step(c: Array, H: Array, w: Array) -> Array:
    """p with w + p in the simplex that minimises cᵀp + ½pᵀHp, by pairwise exact steps from p = 0, and Newton steps on the support.

    Weight goes from the atom with the worst slope to the best one; along negative curvature it goes whole, and that counts.
    """
    v, g, diagonal = w.copy(), c.copy(), np.diag(H)
    first = None
    for _ in range(20 * len(w) + 100):
        worst = int(np.argmax(np.where(v > 0, g, -np.inf)))
        bends = H[worst, worst] + diagonal - 2 * H[worst]
        best = int(np.argmin(g + 0.5 * v[worst] * np.minimum(bends, 0.0)))
        gap, bend = g[worst] - g[best], bends[best]
        first = max(abs(gap), -bend) if first is None else first
        if best == worst or max(gap, -bend) <= max(1e-13 * first, 1e-15 * float(np.abs(g).max())):
            break
        step = np.zeros_like(v)
        step[best] = min(v[worst], gap / bend) if bend > 0 else v[worst]
        step[worst] = -step[best]
        for move in (step, None):
            move = newton(v, g, H) if move is None else move
            v, g = v + move, g + H @ move
            v[v < 1e-15] = 0.0
    return v - w


def newton(v: Array, g: Array, H: Array) -> Array:
    """Return the step to the minimiser on the atoms with weight, or as far as the first of them loses its own; 0 where that is no descent.

    A bend that is rounding, of either sign where H has a low rank, is none: the step then goes downhill, and all the way.
    """
    step, heavy = np.zeros_like(v), int(np.argmax(v))
    others = np.flatnonzero(v)
    others = others[others != heavy]
    if len(others):
        bends = H[np.ix_(others, others)] - H[others, heavy][:, None] - H[heavy, others] + H[heavy, heavy]
        bends[np.diag_indices_from(bends)] += 1e-14 * np.trace(bends)
        try:
            step[others] = np.linalg.solve(bends, g[heavy] - g[others])
        except np.linalg.LinAlgError:
            return step
        step[heavy] = -step[others].sum()
        bend, slope = float(step @ H @ step), float(g @ step)
        flat = abs(bend) <= FLAT * float(np.abs(H).max()) * float(np.abs(step).sum()) ** 2
        if slope == 0 or not (flat or slope < 0 < bend):
            return np.zeros_like(v)
        step *= -np.sign(slope)
        down = step < 0
        most = float((v[down] / -step[down]).min())
        step *= min(1.0, most) if bend > 0 else most
    return step
