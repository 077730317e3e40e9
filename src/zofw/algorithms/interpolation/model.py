r"""The quadratic through old values whose Hessian differs least from the one before.

    min ‖H − H₀‖_F²  subject to  f_i = c + ⟨g, u_i⟩ + ½ u_iᵀH u_i,   u_i = (y_i − x)/Δ

has H = H₀ + Σ λ_i u_i u_iᵀ, and with e_i = f_i − ½ u_iᵀH₀u_i the numbers λ, c, g solve

    [A + νI  E] [λ  ]   [e]
    [Eᵀ      0] [c,g] = [0],     A_ij = ½⟨u_i, u_j⟩²,  E = [1 u_i].

ν > 0 regresses instead of interpolating: it is the variance of the values over that of the entries of H.

References
----------
M. J. D. Powell, Least Frobenius norm updating of quadratic models that satisfy interpolation conditions, Math. Program. 100, 2004.
A. R. Conn, K. Scheinberg, L. N. Vicente, Introduction to Derivative-Free Optimization, SIAM, 2009.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from zofw.algorithms.interpolation.numerics import Factors, factorise, solve
from zofw.core import Array

SMOOTHING = 1e-13  # ν of an interpolation, relative to the greatest entry of A: points of a sphere fit many quadratics


@dataclass(frozen=True, eq=False)
class System:
    """The factorised equations of the points around x at scale Δ."""

    U: Array  # (m, r)
    delta: float
    nu: float | Array  # of all points, or of each
    factors: Factors

    @classmethod
    def of(cls, Y: Array, x: Array, delta: float, nu: float | Array = 0.0) -> System:
        """Points as rows; the last system is remembered, for the step after a fit asks for it again."""
        U = (Y - x) / delta
        if not isinstance(nu, float):
            return cls(U, delta, nu, factorise(_equations(U, nu)))
        return _factorised(U.tobytes(), U.shape[1], delta, nu)

    def solve(self, right: Array) -> Array:
        """The solution, or the shortest of those that come nearest where points lie on one flat."""
        *_, singular = self.factors
        if not singular and np.isfinite(found := solve(self.factors, right)).all():
            return found
        left, unit = _equations(self.U, self.nu), float(np.abs(right).max())
        if not (
            np.isfinite(left).all() and 0 < unit < np.inf
        ):  # beyond floating point: the model stays as it was
            return np.zeros_like(right)
        return unit * np.asarray(np.linalg.lstsq(left, right / unit, rcond=1e-13)[0], dtype=float)

    def fit(self, f: Array, H: Array) -> tuple[float, Array, Array]:
        """c, g and H at x, in the units of x, from values f and the Hessian before."""
        m, d2 = len(self.U), self.delta**2
        e = f - 0.5 * d2 * np.einsum("ij,ij->i", self.U @ H, self.U)
        found = self.solve(np.concatenate([e, np.zeros(self.U.shape[1] + 1)]))
        new = H + (self.U.T * found[:m]) @ self.U / d2
        return float(found[m]), found[m + 1 :] / self.delta, 0.5 * (new + new.T)

    def lagrange(self, z: Array) -> Array:
        """l_i at a point given as z − x, one for each interpolation point: how much its value counts there."""
        u = z / self.delta
        right = np.concatenate([0.5 * (self.U @ u) ** 2, [1.0], u])
        return self.solve(right)[: len(self.U)]

    def polynomial(self, i: int) -> tuple[Array, Array]:
        """Gradient at x and Hessian of l_i."""
        m = len(self.U)
        right = np.zeros(m + self.U.shape[1] + 1)
        right[i] = 1.0
        found = self.solve(right)
        H = (self.U.T * found[:m]) @ self.U / self.delta**2
        return found[m + 1 :] / self.delta, 0.5 * (H + H.T)


@lru_cache(maxsize=2)
def _factorised(entries: bytes, rank: int, delta: float, nu: float) -> System:
    U = np.frombuffer(entries).reshape(-1, rank)
    return System(U, delta, nu, factorise(_equations(U, nu)))


def _equations(U: Array, nu: float | Array) -> Array:
    """The matrix above."""
    m, r = U.shape
    K = np.zeros((m + r + 1, m + r + 1), order="F")
    A = K[:m, :m]
    np.matmul(U, U.T, out=A)
    np.multiply(A, A, out=A)
    A *= 0.5
    K.reshape(-1, order="F")[: m * (m + r + 2) : m + r + 2] += nu + SMOOTHING * max(float(A.max()), 1e-300)
    K[:m, m] = K[m, :m] = 1.0
    K[:m, m + 1 :], K[m + 1 :, :m] = U, U.T
    return K
