r"""Points that tell a quadratic most: members around a centre where its posterior variance is largest, one after another.

    k(u, v) = ½⟨u, v⟩² + 100 (1 + ⟨u, v⟩),  u = (y − c)/R,  and a value at u has variance (0.1 |u|³)², its third order

The least change of the Hessian is regression with this kernel. A variance needs no value, so that points whose values are still to
come count as known.

References
----------
C. E. Rasmussen, C. K. I. Williams, Gaussian Processes for Machine Learning, MIT Press, 2006, chapter 2.
"""

from __future__ import annotations

import numpy as np

from zofw.algorithms.interpolation.frame import Frame
from zofw.algorithms.interpolation.numerics import complement, triangular
from zofw.core import Array, Indices

LINEAR = 100.0  # variance of value and slope over that of a second derivative
THIRD = 0.1  # deviation of the third order at distance 1 over that of a second derivative
MOST_KNOWN = 300  # points that count as known: the nearest ones
ROUNDING = 1e-10


def kernel(U: Array, V: Array) -> Array:
    """Return the covariance of the values at scaled points U and V."""
    products = U @ V.T
    return 0.5 * products**2 + LINEAR * (1.0 + products)


def cube(U: Array) -> Array:
    """Return |u|³ of every row."""
    return np.asarray(np.einsum("ij,ij->i", U, U) ** 1.5)


def spread(
    frame: Frame,
    known: Array,
    centre: Array,
    radius: float,
    count: int,
    atoms: Array,
    rng: np.random.Generator,
) -> Array:
    """Return ``count`` members within ``radius`` of ``centre`` (or fewer, if these have no variance left) given known points."""
    r = frame.rank
    if count <= 0:
        return np.zeros((0, r))
    Y = candidates(frame, centre, radius, max(4 * r, 2 * count), atoms, rng)
    near = np.argsort(np.linalg.norm(known - centre, axis=1), kind="stable")[:MOST_KNOWN]
    U, C = (known[near] - centre) / radius, (Y - centre) / radius
    K = kernel(U, U)
    K[np.diag_indices(len(U))] += (THIRD * cube(U)) ** 2 + ROUNDING * LINEAR
    part = triangular(K, kernel(U, C))
    return Y[pivots(kernel(C, C) - part.T @ part, (THIRD * cube(C)) ** 2, count)]


def pivots(S: Array, noise: Array, count: int) -> Indices:
    """Return the indices of largest variance, one after another, each with what those before leave of it; S is overwritten."""
    chosen: list[int] = []
    floor = ROUNDING * max(float(np.diagonal(S).max(initial=0.0)), 1e-300)
    while len(chosen) < min(count, len(S)):
        variance = np.diagonal(S).copy()
        variance[chosen] = -1.0
        i = int(np.argmax(variance))
        if variance[i] <= floor:
            break
        chosen.append(i)
        S -= np.outer(S[:, i], S[i] / (S[i, i] + noise[i]))
    return np.array(chosen, dtype=np.int64)


def candidates(
    frame: Frame, centre: Array, radius: float, count: int, atoms: Array, rng: np.random.Generator
) -> Array:
    """Return random members within ``radius`` of the member ``centre``, half of them along its face."""
    r = frame.rank
    u = rng.standard_normal((count, r))
    u[: count // 2] = _along_face(frame, centre, u[: count // 2])
    lengths = np.linalg.norm(u, axis=1)
    u = u[lengths > 0] / lengths[lengths > 0, None]
    return np.array([_member(frame, centre, radius * step, atoms, rng) for step in u]).reshape(-1, r)


def _along_face(frame: Frame, centre: Array, u: Array) -> Array:
    """Return the steps without their parts across the facets that hold the centre, if the set lists these."""
    if frame.facets is None:
        return u
    A, b = frame.facets
    held = b - A @ centre <= 1e-9 * frame.size
    if not held.any():
        return u
    Q = complement(A[held].T)
    return u if Q.shape[1] == 0 else (u @ Q) @ Q.T


def _member(frame: Frame, centre: Array, step: Array, atoms: Array, rng: np.random.Generator) -> Array:
    """Return the member that a step leads to: its end, the projection of this, or a point on the way to a mixture of atoms."""
    if frame.sure_to_contain(centre + step):
        return np.asarray(centre + step)
    if frame.task.can_project:
        return frame.inward(frame.task.project(frame.outward(centre + step)))
    way = frame.lmo(-step)
    if len(atoms):
        share = rng.random()
        way = share * way + (1 - share) * atoms[rng.integers(len(atoms))]
    way = way - centre
    return np.asarray(
        centre + way * min(1.0, float(np.linalg.norm(step)) / max(float(np.linalg.norm(way)), 1e-300))
    )
