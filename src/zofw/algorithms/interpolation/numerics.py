"""What SciPy computes for the method; it is imported when first needed, for ``import zofw`` should not wait for it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from zofw.core import Array

Factors = tuple[Array, NDArray[np.int32], bool]


def factorise(K: Array) -> Factors:
    """LU factors, in the place of K where it is stored by columns, and whether they are singular."""
    from scipy.linalg import lapack

    factors, pivots, zero = lapack.dgetrf(K, overwrite_a=True)
    return factors, pivots, zero > 0


def solve(factors: Factors, right: Array) -> Array:
    """K⁻¹ right."""
    from scipy.linalg import lapack

    return np.asarray(lapack.dgetrs(factors[0], factors[1], right)[0])


def positive_solve(K: Array, right: Array) -> Array:
    """K⁻¹ right for a positive definite K; NaN where it is none."""
    from scipy.linalg import lapack

    _, found, failed = lapack.dposv(K, right)
    return np.full_like(right, np.nan) if failed else np.asarray(found)


def complement(N: Array) -> Array:
    """An orthonormal basis, (r, r − rank), of the vectors orthogonal to the columns of N, which may depend on each other."""
    from scipy.linalg import qr

    Q, R, _ = qr(N, pivoting=True, check_finite=False)
    heights = np.abs(np.diagonal(R))
    rank = int(np.count_nonzero(heights > len(N) * np.finfo(float).eps * heights.max(initial=0.0)))
    return np.asarray(Q[:, rank:])


def least_eigenvector(H: Array) -> Array:
    """The direction of least curvature of a symmetric H."""
    from scipy.linalg import lapack

    _, V, found, _, failed = lapack.dsyevr(H, range="I", il=1, iu=1)
    return np.asarray(V[:, 0]) if found and not failed else np.asarray(np.linalg.eigh(H)[1][:, 0])


def spectral(H: Array) -> tuple[Array, Array]:
    """Eigenvalues, ascending, and eigenvectors of a symmetric H."""
    from scipy.linalg import lapack

    values, V, failed = lapack.dsyevd(H)
    return (values, V) if not failed else np.linalg.eigh(H)


def triangular(K: Array, right: Array) -> Array:
    """L⁻¹ right for a positive definite K = LLᵀ."""
    from scipy.linalg import cholesky, solve_triangular

    L = cholesky(K, lower=True, check_finite=False)
    return np.asarray(solve_triangular(L, right, lower=True, check_finite=False))
