"""Independent standard normal entries."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from zofw.directions.implicit import IndependentColumns, laws


@laws.register("gaussian")
@dataclass(frozen=True)
class Gaussian(IndependentColumns):
    """U_ij ~ N(0, 1), independent.

    E[UUᵀ] = bI, and E‖UUᵀx‖² = b(d + b + 1)‖x‖²: one column gives E[‖u‖²(uᵀx)²] = (d + 2)‖x‖²,
    two different ones give ‖x‖².

    Examples
    --------
    >>> Gaussian().scale(dim=10, count=5), Gaussian().second_moment(dim=10, count=5)
    (0.2, 80.0)
    """

    kind: ClassVar[str] = "normals"

    def second_moment(self, dim: int, count: int) -> float:
        return float(count * (dim + count + 1))
