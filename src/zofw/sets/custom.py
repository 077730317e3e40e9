"""The user's own set: one method is enough."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias, TypeGuard

import numpy as np
from numpy.typing import ArrayLike

from zofw.arrays import nonnegative
from zofw.atoms import Array, Atom, as_atom
from zofw.core import FullSet
from zofw.sets.protocol import Inball, Vertices, name_of

MOST_VERTICES = 1000  # that a point is mixed from
IS_ORACLE = " A function in the set's place is its oracle, lmo(g); a constraint is written as scipy.optimize.LinearConstraint."


class HasOracle(Protocol):
    """An object that knows the minimisers of linear functions."""

    def lmo(self, g: Array, /) -> ArrayLike: ...


Oracle: TypeAlias = HasOracle | Callable[[Array], ArrayLike]


def can_project(region: object) -> TypeGuard[FullSet]:
    """Return True if a set has a Euclidean projection ``project(x)``."""
    return hasattr(region, "project")


def can_clip(region: object) -> TypeGuard[FullSet]:
    """Return True if a set has ``clip(x)``, which returns members without tolerance."""
    return hasattr(region, "clip")


def oracle_of(given: Any) -> Any:
    """Return the method ``lmo`` of an object, or the object itself."""
    return getattr(given, "lmo", given)


@dataclass(frozen=True)
class Custom(Vertices):
    """A set known through its oracle alone, and through whatever other methods the oracle's
    object has.

    What is missing is filled in as follows. ``contains`` asks the oracle once, along x minus
    the initial point: when it says no, x is outside; when it says yes, x has not been shown to
    be outside. ``initial_point`` is the midpoint of two opposite vertices. ``diameter`` is an
    error. ``inball`` is None, ``tangent`` the identity, ``project`` and ``clip`` absent.

    Parameters
    ----------
    oracle
        The object with ``lmo``, or the function.
    dim, bound
        Its own dimension and its diameter, where given.
    """

    oracle: Oracle
    dim: int | None = None
    bound: float | None = None

    def _own(self, name: str) -> Any:
        """Return the method of that name of the user's object, or None."""
        return getattr(self.oracle, name, None)

    @property
    def fixed_dim(self) -> int | None:
        """Return the dimension given, if any."""
        return self._own("fixed_dim") if self.dim is None else self.dim

    def atom(self, g: ArrayLike, warm: Atom | None = None) -> Atom:
        """Return the user's vertex, copied and checked; the oracle sees a read-only g."""
        g = self._gradient(g).view()
        g.setflags(write=False)
        s = (self._own("atom") or oracle_of(self.oracle))(g)
        if isinstance(s, Atom):
            return s
        if np.shape(s) != g.shape:
            raise ValueError(
                f"The oracle {name_of(self.oracle)} must return an array of shape {g.shape}, the shape of the gradient, "
                f"but returned {np.shape(s)}.{IS_ORACLE if oracle_of(self.oracle) is self.oracle else ''}"
            )
        return as_atom(s)

    def contains(self, x: ArrayLike, tol: float = 1e-9) -> bool:
        """Return the user's answer, or False only if the oracle shows that x is outside."""
        if own := self._own("contains"):
            return bool(own(x, tol))
        x = self._point(x)
        if not np.isfinite(x).all():
            return False
        centre = self.initial_point(x.size)
        out = x - centre
        s = self.lmo(-out)  # maximises ⟨out, s⟩
        scale = np.linalg.norm(out) * max(float(np.linalg.norm(s)), float(np.linalg.norm(s - centre)))
        return bool(out @ (x - s) <= tol * scale)

    @property
    def judges(self) -> bool:
        """Return True if the user's object has ``contains``, which decides."""
        return self._own("contains") is not None

    def mixes(self, x: Array, tol: float = 1e-9) -> bool:
        """Return True if x is a mixture of vertices up to tol: the nearest mixture, with one
        vertex more at a time.

        References
        ----------
        P. Wolfe, Finding the nearest point in a polytope, Math. Program. 11, 1976.
        """
        centre = self.initial_point(x.size)
        vertices, p = centre[None, :], centre
        for _ in range(MOST_VERTICES):
            out = x - p
            s = self.lmo(-out)  # maximises ⟨out, s⟩
            size = max(float(np.abs(s).max()), float(np.abs(x).max()), float(np.abs(s - centre).max()))
            if np.abs(out).max() <= tol * size:
                return True
            if not out @ (x - s) <= tol * np.linalg.norm(out) * size:
                return False
            vertices = np.vstack([vertices, s])
            away = np.column_stack([(vertices - x) / size, np.ones(len(vertices))])
            weights = nonnegative(away.T, np.append(np.zeros(x.size), 1.0))
            vertices, weights = vertices[weights > 0], weights[weights > 0]
            p = weights @ vertices / weights.sum()
        return False

    def _diameter(self, dim: int) -> float:
        """Return the diameter given, or the user's."""
        if self.bound is not None:
            return float(self.bound)
        if own := self._own("diameter"):
            return float(own(dim))
        raise ValueError(
            f"The diameter of {name_of(self.oracle)} is needed but not known; give it with as_set(…, diameter=…), or give "
            "the object a method diameter(dim)."
        )

    def _start(self, dim: int) -> Array:
        """Return the user's, or the midpoint of the vertices along (1, …, 1) and its opposite."""
        if own := self._own("initial_point"):
            return np.array(own(dim), dtype=np.float64)
        ones = np.ones(dim)
        return (self.lmo(ones) + self.lmo(-ones)) / 2

    def _inball(self, dim: int) -> Inball | None:
        """Return the user's, or None."""
        own = self._own("inball")
        ball: Inball | None = own(dim) if own else None
        return ball

    def tangent(self, v: ArrayLike) -> Array:
        """Return the user's, or a copy of v."""
        own = self._own("tangent")
        return np.array(own(v) if own else v, dtype=np.float64)

    @property
    def project(self) -> Callable[[ArrayLike], Array]:
        """Return the user's Euclidean projection; absent if there is none."""
        return self._move("project")

    @property
    def clip(self) -> Callable[[ArrayLike], Array]:
        """Return the user's exact members; absent if there is no such method."""
        return self._move("clip")

    def _move(self, name: str) -> Callable[[ArrayLike], Array]:
        own: Callable[[ArrayLike], Array] | None = self._own(name)
        if own is None:
            raise AttributeError(f"{name_of(self.oracle)} cannot {name}.")
        return own
