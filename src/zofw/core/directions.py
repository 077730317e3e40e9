"""Matrices of search directions, implicit or not, and the laws they are drawn from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Indices = NDArray[np.int64]


def of_length(length: int, vector: Any, product: str) -> Array:
    """The vector as floats, or a sentence about its shape."""
    array: Array = np.asarray(vector, dtype=float)
    if array.shape != (length,):
        raise ValueError(f"{product} needs a vector of shape ({length},); got {array.shape}.")
    return array


class Operator:
    """``U @ c``, ``U.T @ g`` and ``Z @ U`` for an implicit matrix that knows combine, project and product."""

    __array_ufunc__ = None

    def __matmul__(self: Directions, c: Any) -> Array:
        return self.combine(of_length(self.count, c, "U @ c"))

    def __rmatmul__(self: Directions, Z: Any) -> Array:
        return self.product(Z)

    @property
    def T(self: Directions) -> Transposed:
        return Transposed(self)


@runtime_checkable
class Directions(Protocol):
    """A d×b matrix U of search directions, usually implicit: a law and a key, never stored densely."""

    @property
    def dim(self) -> int: ...
    @property
    def count(self) -> int: ...
    def columns(self, start: int, stop: int) -> Array:
        """U[:, start:stop], dense (d, stop − start)."""

    def rows(self, index: Indices) -> Array:
        """U[index, :], dense (len(index), b)."""

    def combine(self, c: Array) -> Array:
        """U c, (d,)."""

    def project(self, g: Array) -> Array:
        """Uᵀ g, (b,)."""

    def product(self, Z: Any) -> Array:
        """Z U for a sparse or dense Z of shape (m, d): dense (m, b)."""

    def __matmul__(self, c: Array, /) -> Array: ...
    @property
    def T(self) -> Transposed: ...


@runtime_checkable
class Derived(Protocol):
    """Directions made of others."""

    @property
    def base(self) -> Directions: ...


@dataclass(frozen=True)
class Transposed:
    """Uᵀ as an operator."""

    directions: Directions

    def __matmul__(self, g: Array) -> Array:
        return self.directions.project(of_length(self.directions.dim, g, "U.T @ g"))


@runtime_checkable
class Law(Protocol):
    """A probability law of d×b direction matrices, carrying its own constants.

    ``scale`` is s with s·E[UUᵀ] = I, and ``second_moment`` is κ with E‖UUᵀx‖² = κ‖x‖². Together they give the step
    1/(sκ) that minimises E‖(I − αUUᵀ)e‖² over α, and the contraction 1 − 1/(s²κ) which that step attains.
    """

    def draw(self, rng: np.random.Generator, dim: int, count: int) -> Directions: ...
    def scale(self, dim: int, count: int) -> float: ...
    def second_moment(self, dim: int, count: int) -> float: ...
    def check(self, dim: int, count: int) -> None:
        """Refuse, with a sentence, a count of directions that the law cannot supply."""
