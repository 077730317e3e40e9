"""Distances: the mean squared distance to n given points."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from zofw.core import Array, Indices


def _cloud() -> Array:
    return np.random.default_rng(0).normal(0.3, 1.0, size=(20, 6))


@dataclass(frozen=True, eq=False)
class Distances:
    """f_i(x) = ½‖x − p_i‖².

    >>> Distances(np.zeros((3, 2))).values(np.array([[3.0, 4.0]]), np.arange(3))
    array([[12.5, 12.5, 12.5]])
    """

    points: Array = field(default_factory=_cloud)

    @property
    def n(self) -> int:
        return len(self.points)

    @property
    def dim(self) -> int:
        return int(self.points.shape[1])

    def values(self, points: Array, components: Indices) -> Array:
        difference = points[:, None, :] - self.points[components]
        return np.asarray(0.5 * (difference**2).sum(axis=2))

    def gradient(self, x: Array) -> Array:
        return np.asarray(x - self.points.mean(axis=0))
