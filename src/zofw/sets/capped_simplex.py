"""The capped simplex."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from zofw.atoms import Array, Atom, Dense, Sparse, by_value
from zofw.sets.protocol import (
    Inball,
    SetFacts,
    Vertices,
    bound_rows,
    bounds_of,
    common_length,
    positive,
    register,
    smallest,
)
from zofw.sets.thresholds import project_capped, settle

ROUND = 1e-12  # sums of bounds are compared with the total up to this relative error


@register("capped-simplex")
@by_value
@dataclass(frozen=True, eq=False)
class CappedSimplex(Vertices):
    r"""The capped simplex :math:`\{x : l_i \le x_i \le u_i,\ \sum_i x_i = a\}`: shares with a
    floor and a cap on each.

    The minimiser of :math:`\langle g, s\rangle` starts from the floors and fills the
    coordinates up to their caps in increasing order of g, lowest index first on ties, until the
    sum is a. With a = k, no floors and caps of 1 this is the hypersimplex.

    Parameters
    ----------
    total
        The sum a > 0.
    upper
        The caps u: one number for all coordinates or an array of shape (d,). Without, only the
        sum limits a coordinate.
    lower
        The floors l ≥ 0, in the same way.

    References
    ----------
    M. Jaggi, Revisiting Frank-Wolfe: projection-free sparse convex optimization, ICML 2013 (oracles of atomic sets).

    Examples
    --------
    >>> shares = CappedSimplex(1.0, lower=[0.1, 0.0, 0.0], upper=[0.6, 0.5, 1.0])
    >>> shares.lmo([1.0, 2.0, 3.0])
    array([0.6, 0.4, 0. ])
    """

    total: float
    upper: float | Array = np.inf
    lower: float | Array = 0.0

    facts = SetFacts(
        members=r"0 \le x \le c,\ \sum x_i = a",
        oracle="fills the least $g_i$",
        cost="O(d)",
        atom=r"sparse, $\lceil a/c\rceil$ entries",
        projection="one sort",
        diameter="sqrt(2*a*c)",
        inball="min(a/d, c - a/d)/sqrt(1 - 1/d)",
    )

    def __post_init__(self) -> None:
        positive(self, "total")
        vars(self).update(bounds_of(self, self.lower, self.upper))
        if np.min(self.lower) < 0 or not np.all(np.isfinite(self.lower)) or np.min(self.upper) <= 0:
            raise ValueError(
                "CappedSimplex: floors must be finite and not negative, and caps positive, but "
                f"lower={self.lower!r} and upper={self.upper!r} were given."
            )
        if self.fixed_dim is not None:
            self.check_dim(self.fixed_dim)

    @property
    def fixed_dim(self) -> int | None:
        """Return the length of the floors or caps, None for two numbers."""
        return common_length(self.lower, self.upper)

    def _bounds(self, dim: int) -> tuple[Array, Array]:
        """Return floors and caps as arrays; no cap exceeds the total."""
        return np.broadcast_to(self.lower, dim), np.broadcast_to(np.minimum(self.upper, self.total), dim)

    def check_dim(self, dim: int) -> None:
        """Raise ValueError if the set is empty in this dimension, or does not live in it."""
        super().check_dim(dim)
        least, most = (float(np.sum(np.broadcast_to(b, dim))) for b in (self.lower, self.upper))
        if most < self.total * (1 - ROUND) or least > self.total * (1 + ROUND):
            raise ValueError(
                f"CappedSimplex: in dimension {dim} no point has entries between the floors, which sum to {least:g}, and the "
                f"caps, which sum to {most:g}, and adds up to {self.total:g}; change the bounds, the total or the dimension."
            )

    def _is_point(self, dim: int) -> bool:
        lower, upper = self._bounds(dim)
        full = upper.sum() <= self.total * (1 + ROUND) or lower.sum() >= self.total * (1 - ROUND)
        return bool(full or np.count_nonzero(lower < upper) <= 1)

    def atom(self, g: ArrayLike, warm: Atom | None = None) -> Atom:
        """Return the floors, filled up to the caps in increasing order of g."""
        g = self._gradient(g)
        if np.ndim(self.upper) or np.any(self.lower):
            lower, upper = self._bounds(g.size)
            order = np.argsort(g, kind="stable")
            room = (upper - lower)[order]
            before = np.cumsum(room) - room
            s = lower.copy()
            s[order] += np.clip(self.total - lower.sum() - before, 0.0, room)
            return Dense(np.minimum(s, upper))
        cap = min(float(self.upper), self.total)
        full = int(self.total / cap * (1 + ROUND))
        rest = self.total - full * cap
        values = np.full(full + 1, cap)
        values[full] = rest if rest > ROUND * self.total else 0.0
        places = smallest(g, int(np.count_nonzero(values)))
        order = np.argsort(places)
        return Sparse(places[order], values[: places.size][order], g.size)

    def contains(self, x: ArrayLike, tol: float = 1e-9) -> bool:
        """Return True if l − tol·m ≤ x ≤ u + tol·m, with m the greatest cap, and |Σ x − a| ≤ tol·a."""
        x = self._point(x)
        lower, upper = self._bounds(x.size)
        slack = tol * upper.max()
        inside = np.all(x >= lower - slack) and np.all(x <= upper + slack)
        return bool(inside and abs(x.sum() - self.total) <= tol * self.total)

    def _diameter(self, dim: int) -> float:
        """Return the diameter: exact for one cap and no floors, where the farthest vertex from
        s minimises ⟨s, ·⟩; else an upper bound.

        With w = u − l and e = a − Σ l to distribute, ‖s − t‖₂ ≤ ‖w‖₂ and ‖s − t‖₂² ≤ max w · ‖s
        − t‖₁ ≤ max w · 2e.
        """
        if not (np.ndim(self.upper) or np.any(self.lower)):
            s = self.lmo(np.zeros(dim))
            return float(np.linalg.norm(s - self.lmo(s)))
        lower, upper = self._bounds(dim)
        free = max(self.total - float(lower.sum()), 0.0)
        width = np.minimum(upper - lower, free)
        return float(min(np.linalg.norm(width), (2 * free * width.max()) ** 0.5))

    def _start(self, dim: int) -> Array:
        """Return the point farthest from floors and caps; the barycentre for common bounds."""
        lower, upper = self._bounds(dim)
        if np.ndim(self.lower) + np.ndim(self.upper) == 0 or self._is_point(dim):
            return settle(np.full(dim, self.total / dim), self.total, upper, lower)
        moves, width = lower < upper, upper - lower
        # the greatest t with Σ (l + t) ≤ a ≤ Σ (u − t) over the m coordinates that move, and 2t ≤ u − l
        m = np.count_nonzero(moves)
        least = min((self.total - lower.sum()) / m, (upper.sum() - self.total) / m)
        room = np.where(moves, float(min(least, np.min(width[moves]) / 2)), 0.0)
        rest = width - 2 * room
        share = (self.total - (lower + room).sum()) / max(rest.sum(), np.finfo(float).tiny)
        return settle(lower + room + share * rest, self.total, upper, lower)

    def _inball(self, dim: int) -> Inball:
        """Return the initial point and its distance from the nearest face, x_i = l_i or x_i = u_i."""
        centre = self._start(dim)
        if self._is_point(dim):
            return centre, np.inf
        lower, upper = self._bounds(dim)
        moves = lower < upper
        least = float(np.min(np.minimum(centre - lower, upper - centre)[moves]))
        return centre, least / (1 - 1 / np.count_nonzero(moves)) ** 0.5  # ‖e_i − 1/m‖ = √(1 − 1/m)

    def tangent(self, v: ArrayLike) -> Array:
        """Return v minus its mean over the coordinates that move; zero in all others."""
        v = np.asarray(v, dtype=np.float64)
        if self._is_point(len(v)):
            return np.zeros_like(v)
        moves = np.less(*self._bounds(len(v)))
        centred: Array = ((v - v[moves].mean(axis=0)).T * moves).T
        return centred

    def project(self, x: ArrayLike) -> Array:
        """Return the Euclidean projection, by one sort."""
        x = self._point(x)
        lower, upper = self._bounds(x.size)
        return project_capped(x, self.total, upper, lower)

    def clip(self, x: ArrayLike) -> Array:
        """Return exact bounds, and a sum within one rounding of a."""
        x = self._finite(x)
        lower, upper = self._bounds(x.size)
        near = x if self.contains(x) else self.project(x)
        return settle(near, self.total, upper, lower)

    def facets(self, dim: int) -> tuple[Array, Array]:
        """Return A, b with A x ≤ b: the 2d bounds that with the sum make the set."""
        self.check_dim(dim)
        return bound_rows(*self._bounds(dim))
