"""Independent standard normal entries."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from zofw.core import Array, Indices, Operator
from zofw.directions.implicit import Implicit, IndependentColumns
from zofw.directions.registry import laws


@dataclass(frozen=True, eq=False)
class Conditioned(Operator):
    """U c for a c that depends on U through the ``touched`` rows alone.

    The other rows are then independent of c, so that their part of U c is N(0, ‖c‖²),
    independent over coordinates: one normal for each of them stands for b. Only ``U @ c`` is
    defined, and for one c; a second one would meet other rows.
    """

    source: Implicit
    touched: Indices

    @property
    def dim(self) -> int:
        return self.source.dim

    @property
    def count(self) -> int:
        return self.source.count

    def combine(self, c: Array) -> Array:
        spare = self.count + self.count % 2  # the first word behind the b columns
        everywhere = np.arange(self.dim, dtype=np.int64)
        out = np.linalg.norm(c) * self.source.block(everywhere, spare, spare + 1)[:, 0]
        out[self.touched] = self.source.combine_rows(self.touched, c)
        return out


@dataclass(frozen=True)
class LazyNormals(Implicit):
    """A Gaussian matrix whose rows that no query has used may be replaced."""

    def given(self, touched: Indices | None) -> Conditioned:
        """Return U after a query whose answer depends on the touched rows alone."""
        if touched is None:
            raise ValueError(
                "Gaussian(lazy=True) has to know which coordinates a batch depends on, and this problem or session does "
                "not say. Give it a method support(batch) (a Session: support=problem.support), or use Gaussian()."
            )
        return Conditioned(self, touched)


@laws.register("gaussian")
@dataclass(frozen=True)
class Gaussian(IndependentColumns):
    """U_ij ~ N(0, 1), independent.

    E[UUᵀ] = bI, and E‖UUᵀx‖² = b(d + b + 1)‖x‖²: one column gives E[‖u‖²(uᵀx)²] = (d + 2)‖x‖²,
    two different ones give ‖x‖².

    Parameters
    ----------
    lazy
        After a query over a batch that depends on few coordinates (sparse rows), make the other
        entries of U c from one normal each instead of b. The law of the iterates is the same,
        the numbers are others. The problem has to say which coordinates a batch depends on;
        methods that do not ask are not changed.

    Examples
    --------
    >>> Gaussian().scale(dim=10, count=5), Gaussian().second_moment(dim=10, count=5)
    (0.2, 80.0)
    """

    lazy: bool = False

    kind: ClassVar[str] = "normals"
    forgetful: ClassVar[type[Implicit]] = LazyNormals

    def second_moment(self, dim: int, count: int) -> float:
        return float(count * (dim + count + 1))
