"""A law of your own: random signs on a random half of the entries, scaled to unit variance."""

from dataclasses import dataclass

import numpy as np

from zofw import Explicit


@dataclass(frozen=True)
class HalfSigns:
    """U_ij = ±√2 with probability ¼ each and 0 otherwise.

    E[UUᵀ] = bI. E‖UUᵀx‖² depends on x through the fourth moment E[u⁴] = 2 of an entry: for one column
    E[‖u‖²(uᵀx)²] = (d + 1)‖x‖², hence b(d + b)‖x‖² in all.
    """

    def draw(self, rng, dim, count):
        signs = rng.choice([-1.0, 1.0], size=(dim, count))
        kept = rng.random((dim, count)) < 0.5
        return Explicit(np.sqrt(2.0) * signs * kept)

    def scale(self, dim, count):
        return 1.0 / count

    def second_moment(self, dim, count):
        return float(count * (dim + count))

    def check(self, dim, count):
        if count < 1:
            raise ValueError(f"At least one direction is needed; directions={count} was asked for.")
