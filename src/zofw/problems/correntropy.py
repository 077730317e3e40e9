"""Robust regression by correntropy."""

from __future__ import annotations

from numbers import Real
from typing import ClassVar, final

import numpy as np
from numpy.typing import ArrayLike

from zofw.core import Array, Matrix
from zofw.problems.abilities import problems
from zofw.problems.linear import LinearModel
from zofw.problems.sample_rows import samples


@problems.register("correntropy")
@final
class Correntropy(LinearModel):
    r"""Correntropy-induced loss of linear predictions,

    .. math:: f(x) = \frac1n \sum_{i=1}^n \frac{\sigma^2}{2}\Bigl(1 - e^{-(y_i - z_i^\top x)^2/\sigma^2}\Bigr).

    Not convex; each component is :math:`\|z_i\|^2`-smooth and at most :math:`\sigma^2/2`, whatever the outlier.

    Parameters
    ----------
    Z
        (n, d) samples, sparse or dense.
    y
        n targets.
    sigma
        The scale σ > 0 of residuals that still count; 10 gives 50·(1 − exp(−(y − zᵀx)²/100)).

    References
    ----------
    Y. Feng, X. Huang, L. Shi, Y. Yang, J. A. K. Suykens, Learning with the maximum correntropy criterion induced losses
    for regression, JMLR 2015.

    Examples
    --------
    >>> near, far = (Correntropy([[1.0]], [y], sigma=10.0).value([0.0]) for y in (1.0, 1000.0))
    >>> round(near, 4), far
    (0.4975, 50.0)
    """

    curvature: ClassVar[float] = 1.0
    formula: ClassVar[str] = "welsch"
    convex: ClassVar[bool] = False

    def __init__(self, Z: ArrayLike | Matrix, y: ArrayLike, sigma: float = 10.0) -> None:
        self.matrix, self.offsets = samples("Correntropy", Z, y)
        self.sigma: float = sigma
        if not isinstance(sigma, Real) or not 0 < sigma < np.inf:
            raise ValueError(f"Correntropy needs a positive finite sigma; got {sigma!r}.")
        self.unit, self.height = float(sigma), 0.5 * float(sigma) ** 2

    def slope(self, t: Array) -> Array:
        """Return t·exp(−t²/σ²)."""
        return np.asarray(t * np.exp(-((t / self.sigma) ** 2)))
