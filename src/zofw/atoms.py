r"""Atoms: the vertices an oracle returns, in the form that makes a step cost what it must.

A Frank-Wolfe step is :math:`x \leftarrow x + \gamma (s - x)`. When the vertex :math:`s` is sparse or of rank one, that is
one scaled copy of :math:`x` and a correction on a few entries (or one rank-one update), never a dense vertex first.

Every atom is immutable, holds only arrays, numbers and other atoms, and compares by value *within its own form*: a
`Dense` and a `Sparse` atom of the same vector are different atoms.
"""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, fields, is_dataclass
from functools import cached_property, lru_cache
from itertools import accumulate
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
T = TypeVar("T")

CHUNK = 1 << 16  # entries of the temporary of a rank-one update


def digest(value: object) -> bytes:
    """Return sixteen bytes that name a value: equal for equal values, whatever the process that asks.

    Parameters
    ----------
    value
        A number, a string, None, an array, a tuple of values, or a dataclass of values.
    """
    if isinstance(value, np.ndarray):
        head = f"{value.dtype.str}{value.shape}".encode()
        body = np.ascontiguousarray(value).tobytes()
    elif isinstance(value, tuple):
        head, body = b"tuple", b"".join(map(digest, value))
    elif is_dataclass(value):
        head = type(value).__name__.encode()
        body = digest(tuple(vars(value)[f.name] for f in fields(value) if f.compare))
    else:
        head, body = type(value).__name__.encode(), repr(value).encode()
    return hashlib.blake2b(head + b"\0" + body, digest_size=16).digest()


def by_value(cls: type[T]) -> type[T]:
    """Give a frozen dataclass with array fields its ``==`` and ``hash`` by value."""

    def equal(self: object, other: object) -> bool:
        return type(self) is type(other) and digest(self) == digest(other)

    def hashed(self: object) -> int:
        return hash(digest(self))

    for name, method in (("__eq__", equal), ("__hash__", hashed)):
        setattr(cls, name, method)
    return cls


def _frozen(atom: Atom, name: str) -> Array:
    """Return a field as a read-only copy; 0.0 for -0.0, so that equal atoms have equal bytes."""
    array: Array = np.add(np.asarray(vars(atom)[name], dtype=np.float64), 0.0)
    if array.ndim != 1:
        raise ValueError(
            f"{type(atom).__name__}: {name} must be one-dimensional, but has shape {array.shape}."
        )
    if not np.isfinite(array).all():
        raise ValueError(
            f"{type(atom).__name__}: {name} has NaN or infinite entries; an atom is a point of a bounded set."
        )
    array.setflags(write=False)
    return array


@by_value
class Atom(ABC):
    """What a step needs to know of a vertex s."""

    if TYPE_CHECKING:  # a field of some atoms, a property of others

        @property
        def dim(self) -> int: ...

    @abstractmethod
    def dot(self, g: Array) -> float:
        """Return the inner product ⟨g, s⟩ with a flat g of length dim."""

    @abstractmethod
    def add_to(self, out: Array, weight: float) -> None:
        """Add weight·s to the flat contiguous array out, in place."""

    def dense(self) -> Array:
        """Return the vertex as a fresh array of shape (dim,)."""
        out = np.zeros(self.dim)
        self.add_to(out, 1.0)
        return out

    def move(self, x: Array, gamma: float) -> Array:
        """Return a fresh (1 − gamma) x + gamma s; the vertex itself, exactly, for gamma = 1."""
        if x.shape != (self.dim,):
            raise ValueError(
                f"An atom of dimension {self.dim} cannot move a point of shape {x.shape}; flatten the point first."
            )
        if not 0.0 <= gamma <= 1.0:
            raise ValueError(f"A step of size {gamma!r} leaves the set; step sizes lie in (0, 1].")
        if gamma == 1.0:
            return self.dense()
        out: Array = np.multiply(x, 1.0 - gamma, dtype=np.float64)
        self.add_to(out, gamma)
        return out

    def key(self) -> bytes:
        """Return a short hashable name: equal atoms have equal keys."""
        return self._digest

    @cached_property
    def _digest(self) -> bytes:
        return digest(self)


@dataclass(frozen=True, eq=False)
class Dense(Atom):
    """A vertex with no structure.

    Parameters
    ----------
    vector
        The vertex, shape (dim,); copied.
    """

    vector: Array

    def __post_init__(self) -> None:
        vars(self)["vector"] = _frozen(self, "vector")

    @property
    def dim(self) -> int:
        return self.vector.size

    def dot(self, g: Array) -> float:
        return float(self.vector @ g)

    def add_to(self, out: Array, weight: float) -> None:
        out += weight * self.vector


@dataclass(frozen=True, eq=False)
class Sparse(Atom):
    """A vertex with few entries that are not zero.

    Parameters
    ----------
    index
        Their places, strictly increasing, in [0, dim).
    value
        Their values.
    dim
        Length of the vertex.
    """

    index: NDArray[np.int64]
    value: Array
    dim: int

    def __post_init__(self) -> None:
        value = _frozen(self, "value")
        index = np.array(self.index, dtype=np.int64)
        if index.shape != value.shape:
            raise ValueError(f"Sparse: index has shape {index.shape} but value has shape {value.shape}.")
        if index.size and (index[0] < 0 or index[-1] >= self.dim or (np.diff(index) <= 0).any()):
            raise ValueError(
                f"Sparse: index must be strictly increasing within [0, {self.dim}), but is {index}."
            )
        index.setflags(write=False)
        vars(self).update(index=index, value=value, dim=int(self.dim))

    @staticmethod
    @lru_cache(maxsize=1 << 12)
    def single(index: int, value: float, dim: int) -> Sparse:
        """Return the vertex with one finite entry in its place; few of them are made often."""
        atom, place, entry = Sparse.__new__(Sparse), np.array([index]), np.array([value + 0.0])
        for array in (place, entry):
            array.setflags(write=False)
        vars(atom).update(index=place, value=entry, dim=dim, only=(index, value + 0.0))
        return atom

    @cached_property
    def only(self) -> tuple[int, float] | None:
        """Return place and value of the entry of a vertex that has one."""
        return (self.index.item(), self.value.item()) if self.index.size == 1 else None

    def dot(self, g: Array) -> float:
        if self.only is not None:
            place, value = self.only
            return float(value * g[place])
        return float(self.value @ g[self.index])

    def add_to(self, out: Array, weight: float) -> None:
        if self.only is not None:
            place, value = self.only
            out[place] += weight * value
        else:
            out[self.index] += weight * self.value


@dataclass(frozen=True, eq=False)
class RankOne(Atom):
    """The matrix scale · left rightᵀ, flattened by rows.

    Parameters
    ----------
    left, right
        Vectors of shape (m,) and (k,).
    scale
        The factor in front.
    """

    left: Array
    right: Array
    scale: float

    def __post_init__(self) -> None:
        scale = float(self.scale)
        vars(self).update(left=_frozen(self, "left"), right=_frozen(self, "right"), scale=scale)
        if not np.isfinite(self.scale):
            raise ValueError(f"RankOne: scale must be finite, but is {self.scale}.")

    @property
    def dim(self) -> int:
        return self.left.size * self.right.size

    def dot(self, g: Array) -> float:
        return self.scale * float(self.left @ (np.reshape(g, (self.left.size, -1)) @ self.right))

    def add_to(self, out: Array, weight: float) -> None:
        rows = out.reshape(self.left.size, self.right.size)
        column = (weight * self.scale) * self.left
        height = max(1, CHUNK // self.right.size)
        for i in range(0, column.size, height):
            rows[i : i + height] += np.outer(column[i : i + height], self.right)


@dataclass(frozen=True, eq=False)
class Blocks(Atom):
    """A vertex of a product of sets: the concatenation of one atom per factor.

    Parameters
    ----------
    parts
        The atoms, in order.
    """

    parts: tuple[Atom, ...]

    def __post_init__(self) -> None:
        vars(self)["parts"] = tuple(self.parts)
        strangers = [type(part).__name__ for part in self.parts if not isinstance(part, Atom)]
        if strangers or not self.parts:
            raise ValueError(f"Blocks: parts must be one or more atoms, but found {strangers or 'none'}.")

    @property
    def dim(self) -> int:
        return sum(part.dim for part in self.parts)

    def _slices(self) -> Iterator[tuple[Atom, slice]]:
        ends = accumulate(part.dim for part in self.parts)
        return ((part, slice(end - part.dim, end)) for part, end in zip(self.parts, ends, strict=True))

    def dot(self, g: Array) -> float:
        return float(sum(part.dot(g[where]) for part, where in self._slices()))

    def add_to(self, out: Array, weight: float) -> None:
        for part, where in self._slices():
            part.add_to(out[where], weight)


def as_atom(s: Any) -> Atom:
    """Return an atom as it is; an array as a `Dense` atom of its flattened values."""
    if hasattr(s, "move"):
        atom: Atom = s
        return atom
    return Dense(np.ravel(s))
