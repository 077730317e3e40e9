"""The convex hull of given points."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from zofw.atoms import Array, Atom, Dense, by_value
from zofw.sets.lp import solve_scipy
from zofw.sets.protocol import SetFacts, Vertices, frozen, register

PAIRS = 2000  # up to this many points the diameter is taken over all pairs


@register("convex-hull")
@by_value
@dataclass(frozen=True, eq=False)
class ConvexHull(Vertices):
    r"""The hull :math:`\{\sum_i \lambda_i p_i : \lambda \ge 0,\ \sum_i \lambda_i = 1\}` of the
    rows of a matrix.

    .. math:: \arg\min_s \langle g, s\rangle = p_i, \qquad i = \arg\min_j \langle g, p_j\rangle,

    the lowest such i on ties.

    The diameter is the greatest distance of two points, for more than 2,000 of them twice the
    greatest from their mean.

    Parameters
    ----------
    points
        The points, shape (N, d); copied.

    References
    ----------
    M. Jaggi, Revisiting Frank-Wolfe: projection-free sparse convex optimization, ICML 2013 (oracles of atomic sets).

    Examples
    --------
    >>> ConvexHull([[0.0, 0.0], [2.0, 0.0], [0.0, 1.0]]).lmo([-1.0, -1.0])
    array([2., 0.])
    """

    points: Array

    facts = SetFacts(
        members=r"\mathrm{conv}\{p_1, \dots, p_N\}",
        oracle=r"least $\langle g, p_i\rangle$",
        cost="O(Nd)",
        atom="dense",
    )

    def __post_init__(self) -> None:
        points = frozen(self, "points", self.points, 2)
        if not points.size or not np.isfinite(points).all():
            raise ValueError(
                f"ConvexHull: points must be a finite (N, d) array with N, d ≥ 1, but an array of shape {points.shape} was given"
                + (", with infinite entries." if points.size else ".")
            )
        vars(self)["points"] = points

    @property
    def fixed_dim(self) -> int:
        """Return d."""
        return int(self.points.shape[1])

    def atom(self, g: ArrayLike, warm: Atom | None = None) -> Dense:
        """Return the first point of the least ⟨g, p⟩."""
        return Dense(self.points[int(np.argmin(self.points @ self._scaled(g)))])

    def contains(self, x: ArrayLike, tol: float = 1e-9) -> bool:
        """Return True if some convex combination is within tol of x, in units of the greatest
        |entry| of the points.

        The combination comes from one linear programme, min t subject to |Pᵀλ − x| ≤ t, and its
        distance is recomputed.
        """
        x = self._point(x)
        scale = max(float(np.abs(self.points).max()), np.finfo(float).tiny)
        if not np.isfinite(x).all() or np.abs(x).max() > scale * (1 + tol):
            return False
        count = len(self.points)
        columns = self.points.T / scale  # (d, N)
        ones = np.ones((x.size, 1))
        solution = solve_scipy(
            np.append(np.zeros(count), 1.0),
            A_ub=np.block([[columns, -ones], [-columns, -ones]]),
            b_ub=np.concatenate([x, -x]) / scale,
            A_eq=np.append(np.ones(count), 0.0)[None],
            b_eq=[1.0],
        )
        weights = np.maximum(np.asarray(solution)[:count], 0.0)
        return bool(np.abs(columns @ (weights / weights.sum()) - x / scale).max() <= tol)

    def _diameter(self, dim: int) -> float:
        """Return the greatest distance of two points; of many, twice the greatest from the mean."""
        if len(self.points) <= PAIRS:
            return max(float(np.linalg.norm(self.points - p, axis=1).max()) for p in self.points)
        return 2.0 * float(np.linalg.norm(self.points - self.points.mean(axis=0), axis=1).max())

    def _start(self, dim: int) -> Array:
        """Return the mean of the points; no ball inside is known without the faces."""
        mean: Array = self.points.mean(axis=0)
        return mean

    @cached_property
    def _frame(self) -> Array:
        """Return orthonormal rows that span the differences of the points, (rank, d)."""
        _, sigma, rows = np.linalg.svd(self.points - self.points.mean(axis=0), full_matrices=False)
        cut = max(self.points.shape) * np.finfo(float).eps * max(float(np.abs(self.points).max()), sigma[0])
        frame: Array = rows[sigma > cut]
        return frame

    def tangent(self, v: ArrayLike) -> Array:
        """Return the part of v in the span of the differences of the points."""
        along: Array = self._frame.T @ (self._frame @ np.asarray(v, dtype=np.float64))
        return along
