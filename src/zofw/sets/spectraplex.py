"""The spectraplex."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from zofw.atoms import Array, Atom, RankOne
from zofw.sets.lanczos import EXACT, start_vector, top_eigenvector
from zofw.sets.nuclear_ball import warm_factor
from zofw.sets.protocol import EPS, Inball, SetFacts, Vertices, positive, register
from zofw.sets.simplex import centred_radius
from zofw.sets.thresholds import project_capped, settle


@register("spectraplex")
@dataclass(frozen=True)
class Spectraplex(Vertices):
    r"""The set :math:`\{X \in \mathbb{R}^{n \times n} : X = X^\top \succeq 0,\ \mathrm{tr} X =
    a\}`, flattened by rows.

    .. math:: \arg\min_S \langle G, S\rangle = a\,v v^\top,

    with v a unit eigenvector of the least eigenvalue of the symmetric part of G; :math:`a\,e_0 e_0^\top` for G = 0. For
    n > 64 the vector comes from Lanczos and :math:`v^\top G v \le \lambda_{\min} + \mathrm{tol}\,(\lambda_{\max} -
    \lambda_{\min})`; otherwise from a full decomposition, exact to rounding.

    Parameters
    ----------
    size
        The number n of rows and columns.
    trace
        The trace a > 0.
    tol
        Accuracy of the oracle on large sizes, relative to the spread of the eigenvalues of G.

    References
    ----------
    E. Hazan, Sparse approximate solutions to semidefinite programs, LATIN 2008.

    Examples
    --------
    >>> Spectraplex(2).lmo([[1.0, 0.0], [0.0, -1.0]])
    array([[0., 0.],
           [0., 1.]])
    """

    size: int
    trace: float = 1.0
    tol: float = 1e-6

    facts = SetFacts(
        members=r"X \succeq 0,\ \mathrm{tr}X = a,\ k \times k",
        oracle=r"$a\,vv^\top$, least eigenvector",
        cost=r"\text{eigen or Lanczos}",
        atom="rank one",
        projection="full decomposition",
        diameter="sqrt(2)*a",
        inball="a/sqrt(k*(k - 1))",
    )

    def __post_init__(self) -> None:
        positive(self, "size", whole=True)
        positive(self, "trace", "tol")

    @property
    def shape(self) -> tuple[int, int]:
        """Return (n, n)."""
        return self.size, self.size

    _shape = shape

    def atom(self, g: ArrayLike, warm: Atom | None = None) -> RankOne:
        """Return a v vᵀ, with the greatest entry of v positive."""
        matrix = self._scaled(g).reshape(self.shape)
        matrix = (matrix + matrix.T) / 2
        previous = warm_factor(self, warm, "left", self.size)
        if not matrix.any():
            v = np.eye(1, self.size)[0]
        elif self.size <= EXACT:
            v = np.linalg.eigh(matrix)[1][:, 0]
        else:
            v = top_eigenvector(lambda z: -(matrix @ z), start_vector(self.size, previous), self.tol)
        v = v * np.sign(v[np.argmax(np.abs(v))])
        return RankOne(v, v, self.trace)

    def contains(self, x: ArrayLike, tol: float = 1e-9) -> bool:
        """Return True if x is symmetric, has trace a and no eigenvalue below 0, all up to tol·a."""
        matrix = self._point(x).reshape(self.shape)
        slack = tol * self.trace
        if not np.isfinite(matrix).all() or np.abs(matrix - matrix.T).max() > slack:
            return False
        return bool(abs(np.trace(matrix) - self.trace) <= slack and np.linalg.eigvalsh(matrix)[0] >= -slack)

    def _diameter(self, dim: int) -> float:
        """Return √2 a, exact; 0 for n = 1."""
        return self.trace * 2**0.5 if self.size > 1 else 0.0

    def _inball(self, dim: int) -> Inball:
        """Return a/n times the identity, at a/√(n(n − 1)) from the singular matrices."""
        centre = np.eye(self.size).reshape(-1) * (self.trace / self.size)
        return centre, centred_radius(self.trace, self.size)

    def tangent(self, v: ArrayLike) -> Array:
        """Return the symmetric part of v without its trace."""
        v = np.asarray(v, dtype=np.float64)
        cube = v.reshape(self.size, self.size, -1)
        cube = (cube + cube.swapaxes(0, 1)) / 2
        trace = np.einsum("iib->b", cube) / self.size
        traceless: Array = cube - np.eye(self.size)[:, :, None] * trace
        return traceless.reshape(v.shape)

    def project(self, x: ArrayLike) -> Array:
        """Return the Euclidean projection: the eigenvalues of the symmetric part on the simplex."""
        matrix = self._point(x).reshape(self.shape)
        values, vectors = np.linalg.eigh((matrix + matrix.T) / 2)
        nearest: Array = (vectors * project_capped(values, self.trace, self.trace)) @ vectors.T
        return nearest.reshape(np.shape(x))

    def clip(self, x: ArrayLike) -> Array:
        """Return a symmetric matrix, of trace a to one rounding, without negative eigenvalues."""
        flat = self._finite(x)
        matrix = (flat if self.contains(flat) else self.project(flat)).reshape(self.shape)
        centre = self.initial_point(flat.size).reshape(self.shape)
        inside, share = _with_trace((matrix + matrix.T) / 2, self.trace), EPS
        while np.linalg.eigvalsh(inside)[0] < 0:  # share = 1 is the centre
            inside = _with_trace(inside + share * (centre - inside), self.trace)
            share *= 2
        return inside.reshape(np.shape(x))


def _with_trace(matrix: Array, trace: float) -> Array:
    """Return the matrix with a diagonal that adds up to the trace."""
    fixed = matrix.copy()
    np.fill_diagonal(fixed, settle(np.diag(matrix), trace, trace))
    return fixed
