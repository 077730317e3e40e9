"""Uniform directions on the sphere of radius √d."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from zofw.core import Array
from zofw.directions.implicit import Implicit, IndependentColumns, laws


@laws.register("sphere")
@dataclass(frozen=True)
class Sphere(IndependentColumns):
    """Columns uniform on the sphere of radius √d: √d·v/‖v‖ with v Gaussian.

    E[UUᵀ] = bI and ‖u‖² = d, hence E‖UUᵀx‖² = b(d + b − 1)‖x‖². Papers that take unit vectors
    multiply their estimate by d; here that factor is in the length of the columns.

    Examples
    --------
    >>> U = Sphere().draw(np.random.default_rng(0), dim=4, count=3)
    >>> (U.columns(0, 3) ** 2).sum(axis=0).round(12)
    array([4., 4., 4.])
    """

    kind: ClassVar[str] = "normals"

    def second_moment(self, dim: int, count: int) -> float:
        return float(count * (dim + count - 1))

    def factors(self, drawn: Implicit) -> Array:
        return np.sqrt(
            drawn.dim / drawn.numbers(drawn.dim * drawn.count).squares(drawn.key, drawn.dim, drawn.count)
        )
