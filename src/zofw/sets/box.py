"""The box."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from zofw.atoms import Array, Atom, Dense, by_value
from zofw.sets.protocol import (
    Inball,
    SetFacts,
    Vertices,
    bounds_of,
    common_length,
    finite,
    gradient,
    point,
    register,
)


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
        for name, value in bounds_of(self, self.lower, self.upper).items():
            object.__setattr__(self, name, value)
        if not (np.isfinite(self.lower).all() and np.isfinite(self.upper).all()):
            raise ValueError("Box: lower and upper must be finite; an unbounded box has no linear minimiser.")

    @property
    def fixed_dim(self) -> int | None:
        """Return the length of the bounds, None for two numbers."""
        return common_length(self.lower, self.upper)

    def atom(self, g: ArrayLike, warm: Atom | None = None) -> Dense:
        """Return the corner that g points away from."""
        return Dense(np.where(gradient(self, g) >= 0, self.lower, self.upper))

    def contains(self, x: ArrayLike, tol: float = 1e-9) -> bool:
        """Return True if l − tol·m ≤ x ≤ u + tol·m, with m the greater of |l| and |u| in each coordinate."""
        x = point(self, x)
        slack = tol * np.maximum(np.abs(self.lower), np.abs(self.upper))
        return bool(np.all((x >= self.lower - slack) & (x <= self.upper + slack)))

    def diameter(self, dim: int) -> float:
        """Return ‖u − l‖₂, exact."""
        self.check_dim(dim)
        return float(np.linalg.norm(np.broadcast_to(np.subtract(self.upper, self.lower), dim)))

    def initial_point(self, dim: int) -> Array:
        """Return 0 if it is a member, the centre otherwise."""
        self.check_dim(dim)
        return np.zeros(dim) if self.contains(np.zeros(dim), 0.0) else self._centre(dim)

    def _centre(self, dim: int) -> Array:
        return np.broadcast_to(np.multiply(self.lower, 0.5) + np.multiply(self.upper, 0.5), dim).copy()

    def inball(self, dim: int) -> Inball:
        """Return the centre, and half the least width of a coordinate that is not fixed."""
        self.check_dim(dim)
        width = np.broadcast_to(np.subtract(self.upper, self.lower), dim)
        return self._centre(dim), float(np.min(width[width > 0], initial=np.inf)) / 2

    def tangent(self, v: ArrayLike) -> Array:
        """Return v with the fixed coordinates set to zero."""
        v = np.asarray(v, dtype=np.float64)
        moves = np.broadcast_to(np.less(self.lower, self.upper), len(v))
        moved: Array = (v.T * moves).T
        return moved

    def project(self, x: ArrayLike) -> Array:
        """Return the Euclidean projection: clipping."""
        return np.clip(point(self, x), self.lower, self.upper)

    def clip(self, x: ArrayLike) -> Array:
        """Return the projection, which is exact."""
        return self.project(finite(self, x))

    def facets(self, dim: int) -> tuple[Array, Array]:
        """Return A, b with A x ≤ b: the 2d bounds."""
        self.check_dim(dim)
        right = np.concatenate([np.broadcast_to(self.upper, dim), -np.broadcast_to(self.lower, dim)])
        return np.concatenate([np.eye(dim), -np.eye(dim)]), right
