"""The box."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from zofw.atoms import Array, Atom, Dense, by_value
from zofw.sets.protocol import Inball, SetFacts, Vertices, bound_rows, bounds_of, common_length, register


@register("box")
@by_value
@dataclass(frozen=True, eq=False)
class Box(Vertices):
    r"""The box :math:`\{x : l_i \le x_i \le u_i\}`.

    .. math:: s_i = l_i \text{ where } g_i \ge 0, \quad s_i = u_i \text{ where } g_i < 0.

    A coordinate with :math:`l_i = u_i` is fixed, and no direction of the affine hull moves it.

    Parameters
    ----------
    lower, upper
        Finite bounds: two numbers for a box that lives in every dimension, or arrays of shape
        (d,), or one of each.

    References
    ----------
    M. Jaggi, Revisiting Frank-Wolfe: projection-free sparse convex optimization, ICML 2013 (oracles of atomic sets).

    Examples
    --------
    >>> Box([0.0, -1.0, 2.0], [1.0, 1.0, 2.0]).lmo([3.0, -1.0, 5.0])
    array([0., 1., 2.])
    """

    lower: float | Array
    upper: float | Array

    facts = SetFacts(
        members=r"l \le x \le u",
        oracle="$l_i$ or $u_i$ by the sign of $g_i$",
        cost="O(d)",
        atom="dense",
        projection="clipping",
        diameter="sqrt(d)*(u - l)",
        inball="(u - l)/2",
    )

    def __post_init__(self) -> None:
        vars(self).update(bounds_of(self, self.lower, self.upper))
        if not (np.isfinite(self.lower).all() and np.isfinite(self.upper).all()):
            raise ValueError("Box: lower and upper must be finite; an unbounded box has no linear minimiser.")

    @property
    def fixed_dim(self) -> int | None:
        """Return the length of the bounds, None for two numbers."""
        return common_length(self.lower, self.upper)

    def atom(self, g: ArrayLike, warm: Atom | None = None) -> Dense:
        """Return the corner that g points away from."""
        return Dense(np.where(self._gradient(g) >= 0, self.lower, self.upper))

    def contains(self, x: ArrayLike, tol: float = 1e-9) -> bool:
        """Return True if l − tol·m ≤ x ≤ u + tol·m, with m the greater of |l| and |u| in each coordinate."""
        x = self._point(x)
        slack = tol * np.maximum(np.abs(self.lower), np.abs(self.upper))
        return bool(np.all((x >= self.lower - slack) & (x <= self.upper + slack)))

    def _bounds(self, dim: int) -> tuple[Array, Array]:
        return np.broadcast_to(self.lower, dim), np.broadcast_to(self.upper, dim)

    def _diameter(self, dim: int) -> float:
        """Return ‖u − l‖₂, exact."""
        lower, upper = self._bounds(dim)
        return float(np.linalg.norm(upper - lower))

    def _start(self, dim: int) -> Array:
        """Return 0 if it is a member, the centre otherwise."""
        return np.zeros(dim) if self.contains(np.zeros(dim), 0.0) else self._inball(dim)[0]

    def _inball(self, dim: int) -> Inball:
        """Return the centre, and half the least width of a coordinate that is not fixed."""
        lower, upper = self._bounds(dim)
        width = upper - lower
        return lower * 0.5 + upper * 0.5, float(np.min(width[width > 0], initial=np.inf)) / 2

    def tangent(self, v: ArrayLike) -> Array:
        """Return v with the fixed coordinates set to zero."""
        v = np.asarray(v, dtype=np.float64)
        moved: Array = (v.T * np.less(*self._bounds(len(v)))).T
        return moved

    def project(self, x: ArrayLike) -> Array:
        """Return the Euclidean projection: clipping."""
        return np.clip(self._point(x), self.lower, self.upper)

    def clip(self, x: ArrayLike) -> Array:
        """Return the projection, which is exact."""
        return self.project(self._finite(x))

    def facets(self, dim: int) -> tuple[Array, Array]:
        """Return A, b with A x ≤ b: the 2d bounds."""
        self.check_dim(dim)
        return bound_rows(*self._bounds(dim))
