"""Independent random signs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from zofw.directions.implicit import IndependentColumns, laws


@laws.register("rademacher")
@dataclass(frozen=True)
class Rademacher(IndependentColumns):
    """U_ij = ±1 with equal probability, independent.

    E[UUᵀ] = bI, and since ‖u‖² = d always, E‖UUᵀx‖² = b(d + b − 1)‖x‖²: less than the Gaussian
    law's by 2b.

    Examples
    --------
    >>> import numpy as np
    >>> U = Rademacher().draw(np.random.default_rng(0), dim=3, count=2)
    >>> U.columns(0, 2)
    array([[-1.,  1.],
           [ 1., -1.],
           [-1., -1.]])
    """

    kind: ClassVar[str] = "signs"

    def second_moment(self, dim: int, count: int) -> float:
        return float(count * (dim + count - 1))
