"""The top eigenvector of a symmetric operator, to a stated accuracy."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from zofw.atoms import Array

EXACT = 64  # sizes up to this are decomposed whole
EVERY = 5  # Lanczos steps between two tests of convergence
BLEND = 0.5  # weight of the fixed random part in a warm start
CAUTION = 0.003  # a start vector is taken to have at least this much over √size of the eigenvector sought


def start_vector(size: int, warm: Array | None) -> Array:
    """Where Lanczos starts: a fixed Gaussian vector, blended into the warm start if there is
    one.

    A warm start alone might be orthogonal to the eigenvector that is sought, and Lanczos would
    never leave the invariant subspace around it.
    """
    noise = np.random.default_rng(size).standard_normal(size)
    noise /= np.linalg.norm(noise)
    return noise if warm is None else warm / np.linalg.norm(warm) + BLEND * noise


def top_eigenvector(matvec: Callable[[Array], Array], start: Array, tol: float) -> Array:
    r"""Return a unit vector v with :math:`v^\top A v \ge \lambda_{\max} -
    \mathrm{tol}\,(\lambda_{\max} - \lambda_{\min})`.

    Lanczos with full reorthogonalisation; at most as many steps as the size. The residual of a
    Ritz pair (θ, v) only says that *some* eigenvalue is near θ. If the greatest were missed, v
    would still hold the share ε of its eigenvector that the start had, and the residual would
    be at least :math:`\varepsilon (\lambda_{\max} - \theta)`; so the iteration stops when the
    residual is at most ε·tol times the spread of the Ritz values, with a cautious ε for a
    random start.

    Parameters
    ----------
    matvec
        v ↦ A v for a symmetric A.
    start
        A vector that is not zero, of the size of A.
    tol
        The accuracy.

    References
    ----------
    J. Kuczyński and H. Woźniakowski, Estimating the largest eigenvalue by the power and Lanczos algorithms with a random
    start, SIAM J. Matrix Anal. Appl. 13, 1992.
    """
    from scipy.linalg import eigh_tridiagonal

    size = start.size
    basis = np.empty((min(size, 4 * EVERY), size))
    alpha, beta = np.empty(size), np.empty(size)
    q = start / np.linalg.norm(start)
    target = tol * CAUTION / size**0.5
    for j in range(size):
        if j == len(basis):
            basis = np.concatenate([basis, np.empty((min(size - j, j), size))])
        basis[j] = q
        w = matvec(q)
        alpha[j] = q @ w
        for _ in range(2):
            w = w - (basis[: j + 1] @ w) @ basis[: j + 1]
        beta[j] = np.linalg.norm(w)
        exhausted = j + 1 == size or beta[j] <= 1e-14 * max(
            np.abs(alpha[: j + 1]).max(), beta[:j].max(initial=0.0)
        )
        if exhausted or (j + 1) % EVERY == 0:
            ritz, mix = eigh_tridiagonal(alpha[: j + 1], beta[:j])
            if exhausted or beta[j] * abs(mix[-1, -1]) <= target * (ritz[-1] - ritz[0]):
                break
        q = w / beta[j]
    v: Array = mix[:, -1] @ basis[: j + 1]
    return v / np.linalg.norm(v)
