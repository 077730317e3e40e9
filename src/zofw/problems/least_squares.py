"""Linear least squares."""

from __future__ import annotations

from typing import ClassVar

from numpy.typing import ArrayLike

from zofw.core import Array, Matrix
from zofw.problems.abilities import problems
from zofw.problems.linear import LinearModel
from zofw.problems.sample_rows import samples


@problems.register("least-squares")
class LeastSquares(LinearModel):
    r"""Mean squared residual, :math:`f(x) = \frac1n \sum_i \tfrac12 (z_i^\top x - y_i)^2`;
    convex.

    Parameters
    ----------
    Z
        (n, d) samples, sparse or dense.
    y
        n targets.

    Examples
    --------
    >>> LeastSquares([[1.0, 0.0], [0.0, 2.0]], [1.0, 2.0]).value([0.0, 0.0])
    1.25
    """

    curvature: ClassVar[float] = 1.0
    formula: ClassVar[str | None] = "half square"
    convex: ClassVar[bool] = True

    def __init__(self, Z: ArrayLike | Matrix, y: ArrayLike) -> None:
        self.matrix, self.offsets = samples(type(self).__name__, Z, y)

    def loss(self, t: Array) -> Array:
        """Return ½t², t = z_iᵀx − y_i, written over t."""
        t *= t
        t *= 0.5
        return t

    def slope(self, t: Array) -> Array:
        """Return t."""
        return t
