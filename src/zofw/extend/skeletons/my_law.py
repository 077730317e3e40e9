"""Half signs: random signs on a random half of the entries, scaled to unit variance."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from zofw.core import Directions
from zofw.directions import Explicit


@dataclass(frozen=True)
class HalfSigns:
    """U_ij = ±√2 with probability ¼ each and 0 otherwise.

    E[UUᵀ] = bI. E‖UUᵀx‖² depends on x through the fourth moment E[u⁴] = 2 of an entry: for one
    column E[‖u‖²(uᵀx)²] = (d + 1)‖x‖², hence b(d + b)‖x‖² in all.

    >>> HalfSigns().scale(dim=10, count=5), HalfSigns().second_moment(dim=10, count=5)
    (0.2, 75.0)
    """

    def draw(self, rng: np.random.Generator, dim: int, count: int) -> Directions:
        self.check(dim, count)
        signs = rng.choice([-1.0, 1.0], size=(dim, count))
        kept = rng.random((dim, count)) < 0.5
        return Explicit(np.sqrt(2.0) * signs * kept)

    def scale(self, dim: int, count: int) -> float:
        return 1.0 / count

    def second_moment(self, dim: int, count: int) -> float:
        return float(count * (dim + count))

    def check(self, dim: int, count: int) -> None:
        if count < 1:
            raise ValueError(f"At least one direction is needed; directions={count} was asked for.")
