"""Coordinate directions: all of them, or a random subset without replacement."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np

from zofw.core import Array, Indices, Matrix, Operator
from zofw.directions.implicit import at_least_one, laws, new_key
from zofw.directions.unit_steps import picked


def random_subset(key: int, dim: int, count: int) -> Indices:
    """Return ``count`` of 0, …, dim − 1, increasing: a function of the key."""
    if count == dim:
        return np.arange(dim, dtype=np.int64)
    generator = np.random.Generator(np.random.Philox(key=key))
    return np.sort(generator.choice(dim, size=count, replace=False)).astype(np.int64)


@dataclass(frozen=True)
class Coordinates(Operator):
    """Unit vectors e_j for the j of a subset J, |J| = b, drawn from the key: O(b) numbers, and
    only once they are asked for.

    U c puts c at the places J, Uᵀg = g_J, Z U = Z[:, J], and UUᵀ is the projection onto the
    coordinates in J.
    """

    dim: int
    count: int
    key: int

    @cached_property
    def index(self) -> Indices:
        """Return the coordinates, increasing."""
        return random_subset(self.key, self.dim, self.count)

    def columns(self, start: int, stop: int) -> Array:
        out = np.zeros((self.dim, stop - start))
        out[self.index[start:stop], np.arange(stop - start)] = 1.0
        return out

    def rows(self, index: Indices) -> Array:
        return np.equal(np.asarray(index)[:, None], self.index[None, :]).astype(float)

    def combine(self, c: Array) -> Array:
        out = np.zeros(self.dim)
        out[self.index] = c
        return out

    def project(self, g: Array) -> Array:
        return np.asarray(g, dtype=float)[self.index]

    def product(self, Z: Matrix) -> Array:
        return picked(Z, self.index)


class OrthonormalColumns:
    """What laws of b orthonormal columns share: UᵀU = I, so that UUᵀ is a projection of rank b.

    Its trace is b, hence E[UUᵀ] = (b/d)I for a law that prefers no coordinate, and E‖UUᵀx‖² = E
    xᵀUUᵀx = (b/d)‖x‖². The step 1/(sκ) of a refresh is 1: the error e becomes (I − UUᵀ)e, with
    E‖(I − UUᵀ)e‖² = (1 − b/d)‖e‖².
    """

    def scale(self, dim: int, count: int) -> float:
        return dim / count

    def second_moment(self, dim: int, count: int) -> float:
        return count / dim

    def check(self, dim: int, count: int) -> None:
        at_least_one(count)
        if count > dim:
            raise ValueError(
                f"{type(self).__name__} has at most d = {dim} directions; directions={count} was asked for. "
                f"Take at most {dim}, or a law without that limit such as Rademacher."
            )


@laws.register("coordinate")
@dataclass(frozen=True)
class Coordinate(OrthonormalColumns):
    """b of the d unit vectors, uniformly without replacement; b = d gives the whole basis in
    order.

    UUᵀ keeps b of the d coordinates of x, each with probability b/d: E[UUᵀ] = (b/d)I and
    E‖UUᵀx‖² = (b/d)‖x‖². The best step of a refresh is 1, and it contracts the error by 1 −
    b/d.

    Examples
    --------
    >>> U = Coordinate().draw(np.random.default_rng(0), dim=4, count=2)
    >>> U.T @ [1.0, 2.0, 3.0, 4.0], U @ [5.0, 6.0]
    (array([1., 2.]), array([5., 6., 0., 0.]))
    """

    def draw(self, rng: np.random.Generator, dim: int, count: int) -> Coordinates:
        self.check(dim, count)
        return Coordinates(dim, count, new_key(rng))


@lru_cache(maxsize=4)
def basis(dim: int) -> Coordinates:
    """Return all coordinate directions, in order."""
    return Coordinates(dim, dim, 0)
