"""Logistic regression."""

from __future__ import annotations

from typing import ClassVar, final

import numpy as np
from numpy.typing import ArrayLike

from zofw.core import Array, Matrix
from zofw.extras import lazy
from zofw.problems.abilities import problems
from zofw.problems.linear import LinearModel
from zofw.problems.sample_rows import samples

sp = lazy("scipy.sparse")


@problems.register("logistic")
@final
class Logistic(LinearModel):
    r"""Mean logistic loss of linear predictions,

    .. math:: f(x) = \frac1n \sum_{i=1}^n \log\bigl(1 + e^{-y_i z_i^\top x}\bigr),

    to full relative accuracy for any margin. Convex; each component is :math:`\tfrac14\|z_i\|^2`-smooth.

    Parameters
    ----------
    Z
        (n, d) samples, sparse or dense. The rows are kept as y_i z_i: one copy of the stored
        numbers.
    y
        n labels, each −1 or +1.

    Examples
    --------
    >>> import numpy as np
    >>> from zofw.problems import Logistic
    >>> round(Logistic(np.eye(2), [1, -1]).value([0.0, 0.0]), 6)
    0.693147
    """

    curvature: ClassVar[float] = 0.25
    formula: ClassVar[str] = "logistic"
    convex: ClassVar[bool] = True

    def __init__(self, Z: ArrayLike | Matrix, y: ArrayLike) -> None:
        matrix, labels = samples("Logistic", Z, y)
        strange = labels[np.abs(labels) != 1.0]
        if strange.size:
            raise ValueError(
                f"Logistic needs labels −1 and +1; {strange.size} of {labels.size} are something else, the first "
                f"{strange[0]:g}. For two classes a and b pass np.where(y == a, 1, -1)."
            )
        if sp.issparse(matrix):
            signed = matrix.data * np.repeat(labels, np.diff(matrix.indptr))
            self.matrix = sp.csr_array((signed, matrix.indices, matrix.indptr), shape=matrix.shape)
        else:
            self.matrix = matrix * labels[:, None]
        self.offsets = None

    def slope(self, t: Array) -> Array:
        """Return −1/(1 + eᵗ)."""
        e = np.exp(-np.abs(t))
        return np.asarray(-np.where(t >= 0, e, 1.0) / (1.0 + e))
