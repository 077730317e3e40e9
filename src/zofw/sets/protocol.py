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

__all__ = ["SETS", "Ball", "Inball", "Region", "SetFacts", "Square", "Vertices", "register"]

SETS: Registry[Region] = Registry("set")
register = SETS.register

Inball = tuple[Array, float]
EPS = float(np.finfo(np.float64).eps)


@dataclass(frozen=True)
class SetFacts:
    """Facts that a set states: its row of the table in the documentation, compared with the
    code by the tests.

    Attributes
    ----------
    members, cost
        TeX of the condition for members, and of the cost of the oracle.
    oracle, atom, projection
        The oracle's vertex, the form in which it is kept ("dense", "sparse", "rank one" or
        "blocks"), and the way of the Euclidean projection, all in a few words; a dash if there
        is no projection.
    diameter, inball
        Formulas of the diameter and of the radius of the inner ball, or words; None for a
        diameter that has none, or a set that knows no inner ball.
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


def positive(owner: object, *names: str) -> None:
    """Require that fields of a frozen dataclass are positive finite numbers, and store them as floats."""
    for name in names:
        value = vars(owner)[name]
        if not isinstance(value, Real) or not 0 < float(value) < np.inf:
            raise ValueError(
                f"{name_of(owner)}: {name} must be a positive finite number, but {value!r} was given."
            )
        object.__setattr__(owner, name, float(value))


def counting(owner: object, *names: str) -> None:
    """Require that fields of a frozen dataclass are whole numbers ≥ 1, and store them as ints."""
    for name in names:
        value = vars(owner)[name]
        if not isinstance(value, Integral) or value < 1:
            raise ValueError(
                f"{name_of(owner)}: {name} must be a whole number of at least 1, but {value!r} was given."
            )
        object.__setattr__(owner, name, int(value))


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
    """Return bounds on coordinates, each one number or an array of shape (d,), with lower ≤ upper everywhere."""
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


def point(owner: Vertices, x: ArrayLike, shape: tuple[int, int] | None = None) -> Array:
    """Return x as a flat float64 array of a dimension the set lives in; a matrix of the given shape is flattened."""
    array = np.asarray(x)
    if array.ndim == 1 and array.dtype == np.float64:
        owner.check_dim(array.size)
        return array
    if array.dtype.kind not in "fiub":
        raise ValueError(
            f"{name_of(owner)}: real numbers are needed, but an array of dtype {array.dtype} was given."
        )
    if array.ndim != 1 and array.shape != shape:
        also = f" or {shape}" if shape else ""
        raise ValueError(
            f"{name_of(owner)}: a point or gradient of shape (dim,){also} is needed, but {array.shape} was given."
        )
    owner.check_dim(array.size)
    return np.asarray(array, dtype=np.float64).reshape(-1)


def finite(owner: Vertices, x: ArrayLike) -> Array:
    """Return x as a flat float64 array without NaN or infinite entries."""
    flat = np.asarray(x, dtype=np.float64).reshape(-1)
    owner.check_dim(flat.size)
    if not np.isfinite(flat).all():
        raise ValueError(
            f"{name_of(owner)}: the point has {np.count_nonzero(~np.isfinite(flat))} NaN or infinite entries of "
            f"{flat.size}; only a finite point can be clipped."
        )
    return flat


def gradient(owner: Vertices, g: ArrayLike, shape: tuple[int, int] | None = None) -> Array:
    """Return a finite flat gradient; it may share memory with g and is read only."""
    flat = point(owner, g, shape)
    finite = np.isfinite(flat)
    if not finite.all():
        raise ValueError(
            f"{name_of(owner)}: the gradient has {np.count_nonzero(~finite)} NaN or infinite entries of {flat.size}, "
            f"the first at index {int(np.argmin(finite))}; a linear minimiser exists for finite gradients only."
        )
    return flat


def scaled(owner: Vertices, g: ArrayLike, shape: tuple[int, int] | None = None) -> Array:
    """Return a fresh finite flat gradient divided by the power of two that brings its greatest
    entry into [1/2, 1).

    The division is exact down to the least normal number, so that ties stay ties, and no later
    product overflows.
    """
    flat = gradient(owner, g, shape)
    fresh: Array = np.ldexp(flat, -int(np.frexp(np.abs(flat).max())[1]))
    return fresh


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
    """What a set derives from its oracle `atom`; a set that lives in one dimension only says so in `fixed_dim`."""

    facts: ClassVar[SetFacts]

    @property
    def fixed_dim(self) -> int | None:
        """Return the dimension d if the set has one of its own, None if it lives in every dimension."""
        return None

    def check_dim(self, dim: int) -> None:
        """Raise ValueError if the set does not live in this dimension."""
        if dim < 1:
            raise ValueError(f"{name_of(self)}: the dimension must be at least 1, but {dim} was given.")
        if self.fixed_dim is not None and dim != self.fixed_dim:
            raise ValueError(
                f"{name_of(self)}: this set lives in dimension {self.fixed_dim}, but dimension {dim} was asked for."
            )

    @abstractmethod
    def atom(self, g: ArrayLike, warm: Atom | None = None) -> Atom:
        """Return a vertex s that minimises ⟨g, s⟩, in structured form."""

    def lmo(self, g: ArrayLike, warm: Atom | None = None) -> Array:
        """Return a vertex s that minimises ⟨g, s⟩, as a fresh array with the shape of g."""
        return self.atom(g, warm).dense().reshape(np.shape(g))

    def tangent(self, v: ArrayLike) -> Array:
        """Return a copy of v: the set has an interior point, and its affine hull is the whole space."""
        return np.array(v, dtype=np.float64)


class Ball(Vertices):
    """What a norm ball {x : ‖x‖ ≤ r} derives from how its unit ball lies among Euclidean balls.

    With inner·‖x‖ ≤ ‖x‖₂ ≤ outer·‖x‖ for all x, both attained: the Euclidean ball of radius
    r·inner lies inside, the diameter is 2r·outer. ℓ1: 1/√d and 1; ℓ∞: 1 and √d; nuclear norm of
    an m×n matrix: 1/√min(m, n) and 1. The LMO is −r times a subgradient of the dual norm at g.
    """

    radius: float

    def __post_init__(self) -> None:
        positive(self, "radius")

    @property
    def matrix_shape(self) -> tuple[int, int] | None:
        """Return the shape of the points if they are matrices."""
        return None

    @abstractmethod
    def norm(self, x: Array) -> float:
        """Return ‖x‖ of a flat x."""

    @abstractmethod
    def inner(self, dim: int) -> float:
        """Return radius of the greatest Euclidean ball around 0 inside the unit ball of the norm."""

    @abstractmethod
    def outer(self, dim: int) -> float:
        """Return radius of the least Euclidean ball around 0 that holds the unit ball of the norm."""

    def contains(self, x: ArrayLike, tol: float = 1e-9) -> bool:
        """Return True if ‖x‖ ≤ r (1 + tol)."""
        return bool(self.norm(point(self, x, self.matrix_shape)) <= self.radius * (1 + tol))

    def clip(self, x: ArrayLike) -> Array:
        """Return x, scaled by r/‖x‖ and a few roundings less if ‖x‖ > r: then ‖x‖ ≤ r as `norm` computes it."""
        inside, less = finite(self, x).copy(), EPS
        while (norm := self.norm(inside)) > self.radius:
            inside *= self.radius / norm * (1 - less)
            less *= 2
        return inside.reshape(np.shape(x))

    def diameter(self, dim: int) -> float:
        """Return twice the Euclidean radius: exact, for a ball is symmetric."""
        self.check_dim(dim)
        return 2.0 * self.radius * self.outer(dim)

    def initial_point(self, dim: int) -> Array:
        """Return the centre 0."""
        self.check_dim(dim)
        return np.zeros(dim)

    def inball(self, dim: int) -> Inball:
        """Return the greatest Euclidean ball around 0."""
        self.check_dim(dim)
        return np.zeros(dim), self.radius * self.inner(dim)


class Square(Vertices):
    """What a set of square matrices, flattened by rows, derives from its size."""

    size: int

    @property
    def fixed_dim(self) -> int:
        """Return n²."""
        return self.size**2

    @property
    def shape(self) -> tuple[int, int]:
        """Return (n, n)."""
        return self.size, self.size
