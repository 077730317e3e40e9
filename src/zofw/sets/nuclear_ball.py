"""The nuclear-norm ball."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from zofw.atoms import Array, Atom, RankOne
from zofw.sets.lanczos import EXACT, start_vector, top_eigenvector
from zofw.sets.protocol import Ball, SetFacts, Shape, name_of, positive, register
from zofw.sets.thresholds import shrink_to_l1


def as_shape(owner: object, shape: Shape) -> Shape:
    """Return two whole numbers of at least 1, or a sentence."""
    sides = tuple(int(n) for n in shape)
    if len(sides) != 2 or min(sides) < 1:
        raise ValueError(
            f"{name_of(owner)}: shape must be two whole numbers of at least 1, but {shape!r} was given."
        )
    return sides[0], sides[1]


def singular_values(x: Array, shape: Shape) -> Array:
    """Return the singular values of a flat matrix; NaN if it has a NaN."""
    if not np.isfinite(x).all():
        return np.full(1, np.nan)
    return np.asarray(np.linalg.svd(x.reshape(shape), compute_uv=False))


def warm_factor(owner: object, warm: Atom | None, side: str, size: int) -> Array | None:
    """Return the left or right factor of a warm rank-one atom, checked."""
    if warm is None:
        return None
    if not isinstance(warm, RankOne) or vars(warm)[side].size != size:
        raise ValueError(
            f"{name_of(owner)}: a warm start must be a RankOne atom of this set, but {type(warm).__name__} of dimension "
            f"{warm.dim} was given."
        )
    return np.asarray(vars(warm)[side])


class MatrixBall(Ball):
    """What a ball of matrices, flattened by rows, derives from a norm of their singular values."""

    shape: Shape

    def __post_init__(self) -> None:
        super().__post_init__()
        vars(self)["shape"] = as_shape(self, self.shape)

    @property
    def _shape(self) -> Shape:
        return self.shape

    @abstractmethod
    def shrunk(self, sigma: Array) -> Array:
        """Return the nearest singular values of a member."""

    def project(self, x: ArrayLike) -> Array:
        """Return the Euclidean projection: that of the singular values."""
        u, sigma, vt = np.linalg.svd(self._point(x).reshape(self.shape), full_matrices=False)
        nearest: Array = (u * self.shrunk(sigma)) @ vt
        return nearest.reshape(np.shape(x))


@register("nuclear-ball")
@dataclass(frozen=True)
class NuclearBall(MatrixBall):
    r"""The ball :math:`\{X \in \mathbb{R}^{m \times k} : \sum_i \sigma_i(X) \le r\}`, flattened
    by rows.

    .. math:: \arg\min_S \langle G, S\rangle = -r\,u v^\top,

    with u, v the top singular vectors of G; :math:`-r e_0 e_0^\top` for G = 0. When both sides of the shape exceed 64 the
    vectors come from Lanczos on :math:`G^\top G` and satisfy :math:`u^\top G v \ge (1 - \mathrm{tol})\,\sigma_1(G)`;
    otherwise from a full decomposition, exact to rounding.

    Parameters
    ----------
    radius
        The radius r > 0.
    shape
        The numbers of rows and columns (m, k).
    tol
        Relative accuracy of the oracle on large shapes.

    References
    ----------
    M. Jaggi and M. Sulovský, A simple algorithm for nuclear norm regularized problems, ICML 2010.

    Examples
    --------
    >>> NuclearBall(2.0, (2, 2)).lmo([[0.0, 3.0], [0.0, 0.0]])
    array([[ 0., -2.],
           [ 0.,  0.]])
    """

    radius: float
    shape: tuple[int, int]
    tol: float = 1e-6

    facts = SetFacts(
        members=r"\sum\sigma_i(X) \le r,\ X \in \mathbb R^{m \times k}",
        oracle=r"$-r\,uv^\top$, top singular pair",
        cost=r"\text{SVD or Lanczos}",
        atom="rank one",
        projection="full SVD",
        diameter="2*r",
        inball="r/sqrt(min(m, k))",
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        positive(self, "tol")

    def atom(self, g: ArrayLike, warm: Atom | None = None) -> RankOne:
        """Return −r u vᵀ, with the greatest entry of u positive."""
        matrix = self._scaled(g).reshape(self.shape)
        if not matrix.any():
            matrix[0, 0] = 1.0
        rows, columns = self.shape
        tall = matrix if rows >= columns else matrix.T
        previous = warm_factor(self, warm, "right" if rows >= columns else "left", tall.shape[1])
        if tall.shape[1] <= EXACT:
            v = np.linalg.svd(tall, full_matrices=False)[2][0]
        else:
            v = top_eigenvector(
                lambda z: tall.T @ (tall @ z), start_vector(tall.shape[1], previous), self.tol
            )
        u = tall @ v
        u /= np.linalg.norm(u)
        left, right = (u, v) if rows >= columns else (v, u)
        sign = np.sign(left[np.argmax(np.abs(left))])
        return RankOne(sign * left, sign * right, -self.radius)

    def norm(self, x: Array) -> float:
        """Return Σ σ_i(X)."""
        return float(singular_values(x, self.shape).sum())

    def radii(self, dim: int) -> tuple[float, float]:
        """Return 1/√min(m, k) and 1: the nuclear norm is at most √rank times the Frobenius norm."""
        return float(min(self.shape) ** -0.5), 1.0

    def shrunk(self, sigma: Array) -> Array:
        """Soft thresholding."""
        return shrink_to_l1(sigma, self.radius)
