"""What a set knows of itself, and the few pieces every set shares."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from numbers import Integral, Real
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from zofw.atoms import Array, Atom
from zofw.core import ConvexSet as Region
from zofw.registry import Registry

__all__ = ["SETS", "Ball", "Inball", "Region", "SetFacts", "Vertices", "register"]

SETS: Registry[Region] = Registry("set")
register = SETS.register

Inball = tuple[Array, float]
Shape = tuple[int, int]
EPS = float(np.finfo(np.float64).eps)


@dataclass(frozen=True)
class SetFacts:
    """The row of a set in the documentation's table, compared with the code by the tests.

    Attributes
    ----------
    members, cost
        TeX of the condition for members, and of the cost of the oracle.
    oracle, atom, projection
        The oracle's vertex, its form ("dense", "sparse", "rank one" or "blocks"), and the way
        of the Euclidean projection, in a few words; a dash if there is no projection.
    diameter, inball
        Formulas of the diameter and of the radius of the inner ball, or words; None where there
        is no formula or no known ball.
    """

    members: str
    oracle: str
    cost: str
    atom: str
    projection: str = "—"
    diameter: str | None = None
    inball: str | None = None


def name_of(owner: object) -> str:
    """Return the class name that opens a sentence about a set."""
    return type(owner).__name__


def positive(owner: object, *names: str, whole: bool = False) -> None:
    """Require positive finite numbers, or whole ones, in fields, and store them as such."""
    kind, wanted = (Integral, "whole number of at least 1") if whole else (Real, "positive finite number")
    for name in names:
        value = vars(owner)[name]
        if not isinstance(value, kind) or not 0 < float(value) < np.inf:
            raise ValueError(f"{name_of(owner)}: {name} must be a {wanted}, but {value!r} was given.")
        vars(owner)[name] = int(value) if isinstance(value, Integral) and whole else float(value)


def frozen(owner: object, name: str, value: ArrayLike, ndim: int) -> Array:
    """Return a read-only float64 copy without NaN, with a given number of axes."""
    kind = ("one number", "a list of numbers", "a matrix of numbers")[ndim]
    try:
        array = np.array(value, dtype=np.float64)
    except (TypeError, ValueError):
        raise TypeError(f"{name_of(owner)}: {name} must be {kind}, but {value!r:.60} was given.") from None
    strange = bool(np.isnan(array).any())
    if array.ndim != ndim or strange:
        raise ValueError(
            f"{name_of(owner)}: {name} must be {kind}, but an array of shape {array.shape}{' with NaN' * strange} was given."
        )
    array.setflags(write=False)
    return array


def bounds_of(owner: object, lower: ArrayLike, upper: ArrayLike) -> dict[str, float | Array]:
    """Return two bounds, each a number or an array of shape (d,), with lower ≤ upper."""
    bounds: dict[str, float | Array] = {}
    for name, given in (("lower", lower), ("upper", upper)):
        bound = frozen(owner, name, given, min(np.ndim(given), 1))
        bounds[name] = bound if bound.ndim else float(bound)
    sizes = {np.size(b) for b in bounds.values() if np.ndim(b)}
    if len(sizes) > 1 or 0 in sizes:
        raise ValueError(
            f"{name_of(owner)}: lower and upper must have one common length of at least 1, but have {sorted(sizes)}."
        )
    wrong = np.flatnonzero(np.greater(bounds["lower"], bounds["upper"]))
    if wrong.size:
        raise ValueError(
            f"{name_of(owner)}: lower must not exceed upper, but does at {wrong.size} places, first at {wrong[0]}."
        )
    return bounds


def common_length(*bounds: float | Array) -> int | None:
    """Return the length of those bounds that are arrays, None if all are numbers."""
    return max((np.size(bound) for bound in bounds if np.ndim(bound)), default=None)


def bound_rows(lower: Array, upper: Array) -> tuple[Array, Array]:
    """Return A, b with A x ≤ b for the finite ones among the bounds l ≤ x ≤ u."""
    eye, low, high = np.eye(len(lower)), np.isfinite(lower), np.isfinite(upper)
    return np.concatenate([eye[high], -eye[low]]), np.concatenate([upper[high], -lower[low]])


def length(x: Array) -> float:
    """Return ‖x‖₂, infinite only if it is no finite number: the squares are of x over a power of two."""
    power = int(np.frexp(np.abs(x).max())[1])
    with np.errstate(over="ignore"):
        return float(np.ldexp(np.linalg.norm(np.ldexp(x, -power)), power))


def smallest(values: Array, k: int) -> NDArray[np.int64]:
    """Return places of the k smallest values by (value, place), in that order; O(d + k log k).

    By the k-th smallest value as a threshold: all below it, and of those equal to it the first
    ones. Ties are decided by the place alone, so that the vertex is a function of g.
    """
    if k >= values.size:
        places = np.arange(values.size)
    else:
        threshold = np.partition(values, k - 1)[k - 1]
        below = np.flatnonzero(values < threshold)
        ties = np.flatnonzero(values == threshold)
        places = np.concatenate([below, ties[: k - below.size]])
    return places[np.lexsort((places, values[places]))].astype(np.int64)


class Vertices(ABC):
    """What a set derives from its oracle `atom`, its matrix shape or own dimension, and its ball.

    A set defines `atom`, `contains`, `_inball` and `_diameter`, and what else it can.
    """

    facts: ClassVar[SetFacts]

    @property
    def _shape(self) -> Shape | None:
        """Return the shape of the points if they are matrices, flattened by rows."""
        return None

    @property
    def fixed_dim(self) -> int | None:
        """Return the dimension d if the set has one of its own, None if it lives in every dimension."""
        shape = self._shape
        return None if shape is None else shape[0] * shape[1]

    def check_dim(self, dim: int) -> None:
        """Raise ValueError if the set does not live in this dimension."""
        if dim < 1:
            raise ValueError(f"{name_of(self)}: the dimension must be at least 1, but {dim} was given.")
        own = self.fixed_dim
        if own is not None and dim != own:
            raise ValueError(
                f"{name_of(self)}: this set lives in dimension {own}, but dimension {dim} was asked for."
            )

    @abstractmethod
    def atom(self, g: ArrayLike, warm: Atom | None = None) -> Atom:
        """Return a vertex s that minimises ⟨g, s⟩, in structured form."""

    def lmo(self, g: ArrayLike, warm: Atom | None = None) -> Array:
        """Return a vertex s that minimises ⟨g, s⟩, as a fresh array with the shape of g."""
        return self.atom(g, warm).dense().reshape(np.shape(g))

    def diameter(self, dim: int) -> float:
        """Return the greatest Euclidean distance of two members, or an upper bound of it."""
        self.check_dim(dim)
        return float(self._diameter(dim))

    @abstractmethod
    def _diameter(self, dim: int) -> float: ...

    def initial_point(self, dim: int) -> Array:
        """Return a member to start from: the centre of the inner ball, unless the set says otherwise."""
        self.check_dim(dim)
        return self._start(dim)

    def _start(self, dim: int) -> Array:
        ball = self._inball(dim)
        assert ball is not None
        return ball[0]

    def inball(self, dim: int) -> Inball | None:
        """Return centre and radius of a ball of the affine hull that lies inside, or None."""
        self.check_dim(dim)
        return self._inball(dim)

    def _inball(self, dim: int) -> Inball | None:
        return None

    def tangent(self, v: ArrayLike) -> Array:
        """Return a copy of v: the set has an interior point, and its affine hull is the whole space."""
        return np.array(v, dtype=np.float64)

    def _point(self, x: ArrayLike) -> Array:
        """Return x as a flat float64 array of a dimension the set lives in."""
        array = np.asarray(x)
        if array.ndim == 1 and array.dtype == np.float64:
            self.check_dim(array.size)
            return array
        if array.dtype.kind not in "fiub":
            raise ValueError(
                f"{name_of(self)}: real numbers are needed, but an array of dtype {array.dtype} was given."
            )
        if array.ndim != 1 and array.shape != self._shape:
            also = f" or {self._shape}" if self._shape else ""
            raise ValueError(
                f"{name_of(self)}: a point or gradient of shape (dim,){also} is needed, but {array.shape} was given."
            )
        self.check_dim(array.size)
        return np.asarray(array, dtype=np.float64).reshape(-1)

    def _finite(
        self, x: ArrayLike, need: str = "the point has {}; only a finite point can be clipped."
    ) -> Array:
        """Return a flat finite x, which may share memory with x and is read only."""
        flat = self._point(x)
        finite = np.isfinite(flat)
        if not finite.all():
            wrong = f"{np.count_nonzero(~finite)} NaN or infinite entries of {flat.size}"
            raise ValueError(
                f"{name_of(self)}: " + need.format(f"{wrong}, the first at index {np.argmin(finite)}")
            )
        return flat

    def _gradient(self, g: ArrayLike) -> Array:
        """Return a finite flat gradient; it may share memory with g and is read only."""
        return self._finite(g, "the gradient has {}; a linear minimiser exists for finite gradients only.")

    def _scaled(self, g: ArrayLike) -> Array:
        """Return a fresh finite flat gradient divided by the power of two that brings its
        greatest entry into [1/2, 1).

        The division is exact down to the least normal number, so that ties stay ties, and no
        later product overflows.
        """
        flat = self._gradient(g)
        fresh: Array = np.ldexp(flat, -int(np.frexp(np.abs(flat).max())[1]))
        return fresh


class Ball(Vertices):
    """What a norm ball {x : ‖x‖ ≤ r} derives from how its unit ball lies among Euclidean balls.

    With inner·‖x‖ ≤ ‖x‖₂ ≤ outer·‖x‖ for all x, both attained: the Euclidean ball of radius
    r·inner lies inside, the diameter is 2r·outer. ℓ1: 1/√d and 1; ℓ∞: 1 and √d; nuclear norm of
    an m×n matrix: 1/√min(m, n) and 1. The LMO is −r times a subgradient of the dual norm at g.
    """

    radius: float

    def __post_init__(self) -> None:
        positive(self, "radius")

    @abstractmethod
    def norm(self, x: Array) -> float:
        """Return ‖x‖ of a flat x."""

    def radii(self, dim: int) -> tuple[float, float]:
        """Return inner and outer: by default those of a norm equal to ‖x‖₂."""
        return 1.0, 1.0

    def contains(self, x: ArrayLike, tol: float = 1e-9) -> bool:
        """Return True if ‖x‖ ≤ r (1 + tol)."""
        return bool(self.norm(self._point(x)) <= self.radius * (1 + tol))

    def clip(self, x: ArrayLike) -> Array:
        """Return x, scaled until ‖x‖ ≤ r as `norm` computes it."""
        inside, less = self._finite(x).copy(), EPS
        while (norm := self.norm(inside)) > self.radius:
            inside *= self.radius / norm * (1 - less)
            less *= 2
        return inside.reshape(np.shape(x))

    def _diameter(self, dim: int) -> float:
        """Return twice the outer radius, exact because a ball is symmetric."""
        return 2.0 * self.radius * self.radii(dim)[1]

    def _inball(self, dim: int) -> Inball:
        return np.zeros(dim), self.radius * self.radii(dim)[0]
