"""Uniform directions on the sphere of radius √d."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from zofw.core import Array, Indices
from zofw.directions import words
from zofw.directions.implicit import Implicit, IndependentColumns
from zofw.directions.registry import laws


@laws.register("sphere")
@dataclass(frozen=True)
class Sphere(IndependentColumns):
    """Columns uniform on the sphere of radius √d: √d·v/‖v‖ with v Gaussian.

    E[UUᵀ] = bI and ‖u‖² = d, hence E‖UUᵀx‖² = b(d + b − 1)‖x‖². Papers that take unit vectors multiply their estimate
    by d; here that factor is in the length of the columns.
    """

    def second_moment(self, dim: int, count: int) -> float:
        return float(count * (dim + count - 1))

    def entries(self, key: int, rows: Indices, left: int, right: int) -> Array:
        return words.normals(key, rows, left, right)

    def factors(self, drawn: Implicit) -> Array:
        squares = np.zeros(drawn.count)
        for start, stop in drawn.row_tiles():
            tile = drawn.raw(np.arange(start, stop, dtype=np.int64), 0, drawn.count)
            squares += np.add.reduce(tile * tile, axis=0)
        return np.sqrt(drawn.dim / squares)
