"""The spectral-norm ball."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from zofw.atoms import Array, Atom, Dense
from zofw.sets.nuclear_ball import MatrixBall, singular_values
from zofw.sets.protocol import SetFacts, register


@register("spectral-ball")
@dataclass(frozen=True)
class SpectralBall(MatrixBall):
    r"""The ball :math:`\{X \in \mathbb{R}^{m \times k} : \sigma_1(X) \le r\}`, flattened by
    rows.

    .. math:: \arg\min_S \langle G, S\rangle = -r\,U V^\top, \qquad G = U \Sigma V^\top,

    with the thin singular value decomposition of G; where G lacks full rank, the decomposition completes U and V. It is
    the dual of `NuclearBall`, and bounds how much a linear map can stretch.

    Parameters
    ----------
    radius
        The radius r > 0.
    shape
        The numbers of rows and columns (m, k).

    References
    ----------
    K. Jordan, Muon: an optimizer for hidden layers in neural networks, 2024 (the same linear minimiser as a step).

    Examples
    --------
    >>> SpectralBall(2.0, (2, 2)).lmo([[0.0, 3.0], [-1.0, 0.0]])
    array([[ 0., -2.],
           [ 2.,  0.]])
    """

    radius: float
    shape: tuple[int, int]

    facts = SetFacts(
        members=r"\sigma_1(X) \le r,\ X \in \mathbb R^{m \times k}",
        oracle=r"$-r\,UV^\top$ of $G = U\Sigma V^\top$",
        cost=r"\text{SVD}",
        atom="dense",
        projection="full SVD",
        diameter="2*r*sqrt(min(m, k))",
        inball="r",
    )

    def atom(self, g: ArrayLike, warm: Atom | None = None) -> Dense:
        """Return −r U Vᵀ."""
        u, _, vt = np.linalg.svd(self._scaled(g).reshape(self.shape), full_matrices=False)
        return Dense((-self.radius * (u @ vt)).reshape(-1))

    def norm(self, x: Array) -> float:
        """Return σ₁(X)."""
        return float(singular_values(x, self.shape)[0])

    def radii(self, dim: int) -> tuple[float, float]:
        """Return 1 and √min(m, k), where all singular values are 1."""
        return 1.0, float(min(self.shape) ** 0.5)

    def shrunk(self, sigma: Array) -> Array:
        """Clipped at r."""
        return np.minimum(sigma, self.radius)
