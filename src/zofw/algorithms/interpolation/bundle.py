r"""Kinks: a proximal bundle of difference gradients, which needs no curvature.

    cuts  f(y_j) + ⟨g_j, z − y_j⟩ from sweeps of r + 1 values at y_j, width h far below the steps
    y = argmin over X of  max_j cut_j(z) + σ/2 |z − c|²
    c is the lowest point so far; a gain of more than half of what was predicted: σ/2; a loss beyond it: 2σ

A cut above f(c) at c is lowered to f(c): the function need not be convex. The minimisation is a least distance problem in
(z, max), solved by its dual; where the set does not list its facets, the half-spaces that hold it are found as they are needed.

References
----------
K. C. Kiwiel, Proximity control in bundle methods for convex nondifferentiable minimization, Math. Program. 46, 1990.
J.-B. Hiriart-Urruty, C. Lemaréchal, Convex Analysis and Minimization Algorithms II, Springer, 1993.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from zofw.algorithms.interpolation.frame import Frame
from zofw.algorithms.interpolation.subproblem import nearest
from zofw.arrays import nonnegative
from zofw.core import Array

MOST_HALF_SPACES = 40
EPSILON = np.finfo(float).eps


@dataclass(frozen=True)
class Bundle:
    """Cuts a_j + ⟨g_j, z⟩, the proximity σ, and the last step's length."""

    g: Array  # (k, r)
    a: Array  # (k,)
    sigma: float
    step: float

    @classmethod
    def empty(cls, rank: int, size: float) -> Bundle:
        return cls(np.zeros((0, rank)), np.zeros(0), 0.0, 0.1 * size)

    def with_cut(self, z: Array, value: float, g: Array, reach: float) -> Bundle:
        """One cut more; σ comes from the first, which alone would lead half of ``reach`` away."""
        sigma = self.sigma or 2 * float(np.linalg.norm(g)) / reach
        return replace(self, g=np.vstack([self.g, g]), a=np.append(self.a, value - float(g @ z)), sigma=sigma)

    def width(self, value: float, size: float) -> float:
        """Of the differences: far below the steps, and wide enough that values differ."""
        slope = max(float(np.median(np.linalg.norm(self.g, axis=1))), 1e-300) if len(self.g) else 1e300
        floor = min(1e7 * EPSILON * abs(value) / slope, 1e-8 * size)
        return max(min(1e-8 * size, 1e-3 * self.step), floor, 1e-13 * size)

    def trial(self, frame: Frame, c: Array, value: float) -> tuple[Array, float, Bundle]:
        """The next point, the gain it promises, and the bundle without what has become idle."""
        level = np.minimum(self.a + self.g @ c - value, 0.0)  # of the cuts at c, below f(c)
        facets = frame.facets
        A, slack = (
            (np.zeros((0, len(c))), np.zeros(0)) if facets is None else (facets[0], facets[1] - facets[0] @ c)
        )
        for _ in range(MOST_HALF_SPACES):
            s, active = _proximal(self.g, level, A, np.maximum(slack, 0.0), self.sigma)
            if facets is not None:
                break
            p = nearest(frame, c, c + s)
            out = c + s - p
            if float(np.linalg.norm(out)) <= 1e-3 * float(np.linalg.norm(s)):
                break
            normal = frame.normal(out)
            A, slack = np.vstack([A, normal]), np.append(slack, float(normal @ (p - c)))
        if facets is None:
            s = p - c
        gain = -float((level + self.g @ s).max())
        kept = active.copy()
        kept[-2 * len(c) - 10 :] = True
        return c + s, gain, replace(self, g=self.g[kept], a=self.a[kept], step=float(np.linalg.norm(s)))


def _proximal(
    G: Array, level: Array, A: Array, slack: Array, sigma: float
) -> tuple[Array, NDArray[np.bool_]]:
    """min over (s, t) of t + ½εt² + σ/2 |s|² subject to level + G s ≤ t and A s ≤ slack; s and which cuts hold it.

    ε, which only scales σ a little, makes it a least distance problem: in t' = √ε(t + 1/ε) and s' = √σ s.
    """
    size = max(float(np.linalg.norm(G, axis=1).max()) ** 2 / sigma + float(np.abs(level).max()), 1e-300)
    eps, root = 0.01 / size, np.sqrt(sigma)
    cuts = np.column_stack([-G / root, np.full(len(G), 1 / np.sqrt(eps))])  # cuts · (s', t') ≥ level + 1/ε
    walls = np.column_stack([-A / root, np.zeros(len(A))])
    left = np.vstack([cuts, walls])
    right = np.concatenate([level + 1 / eps, -slack])
    unit = np.linalg.norm(np.column_stack([left, right * np.sqrt(eps)]), axis=1)
    unit[unit == 0] = 1.0
    E = np.vstack([left.T, right * np.sqrt(eps)]) / unit
    target = np.append(np.zeros(len(E) - 1), 1.0)
    dual = nonnegative(E, target)
    residual = E @ dual - target
    s = -residual[:-2] / residual[-1] / np.sqrt(eps) / root
    return s, dual[: len(G)] > 0
