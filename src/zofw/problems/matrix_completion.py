"""A matrix from some of its entries."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, final

import numpy as np
from numpy.typing import ArrayLike

from zofw.core import Indices
from zofw.extras import lazy
from zofw.problems.abilities import problems
from zofw.problems.least_squares import LeastSquares

sp = lazy("scipy.sparse")


@problems.register("matrix-completion")
@final
class MatrixCompletion(LeastSquares):
    r"""Mean squared error on the observed entries of a matrix X, flattened by rows,

    .. math:: f(X) = \frac1n \sum_{i=1}^n \tfrac12 (X_{r_i c_i} - v_i)^2 .

    Convex; every component is 1-smooth. It is the linear model whose rows are unit vectors, and goes with
    ``NuclearBall(radius, shape)``.

    Parameters
    ----------
    shape
        Numbers of rows and columns of X.
    rows, columns, values
        The n observed entries; an entry may be observed more than once.

    Examples
    --------
    >>> MatrixCompletion((2, 2), rows=[0, 1], columns=[0, 1], values=[1.0, 2.0]).value(np.zeros(4))
    1.25
    """

    formula: ClassVar[str | None] = None  # none of the kernels: its sums come from a table of values

    def __init__(self, shape: Sequence[int], rows: ArrayLike, columns: ArrayLike, values: ArrayLike) -> None:
        self.shape = tuple(int(side) for side in shape)
        if len(self.shape) != 2 or min(self.shape) < 1:
            raise ValueError(
                f"MatrixCompletion needs a shape of two whole numbers of at least 1; got {shape!r}."
            )
        row, column = _places("rows", rows, self.shape[0]), _places("columns", columns, self.shape[1])
        n = len(row)
        if len(column) != n or n == 0:
            raise ValueError(
                f"MatrixCompletion needs as many rows as columns of observed entries, and at least one; got {n} and "
                f"{len(column)}."
            )
        place = row * self.shape[1] + column
        unit = sp.csr_array((np.ones(n), place, np.arange(n + 1)), shape=(n, self.shape[0] * self.shape[1]))
        super().__init__(unit, values)


def _places(name: str, index: ArrayLike, side: int) -> Indices:
    places = np.asarray(index)
    if places.ndim != 1 or (places.size and places.dtype.kind not in "iu"):
        raise ValueError(
            f"MatrixCompletion needs {name} to be a list of whole numbers; got shape {places.shape} and dtype {places.dtype}."
        )
    outside = places[(places < 0) | (places >= side)]
    if outside.size:
        raise ValueError(
            f"MatrixCompletion: {name} holds {outside[0]}, but the matrix has {name} 0 to {side - 1}."
        )
    return places.astype(np.int64)
