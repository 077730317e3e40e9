"""Products of sets."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from zofw.atoms import Array, Atom, Blocks
from zofw.sets.given import as_set
from zofw.sets.protocol import Inball, Region, SetFacts, Vertices, name_of, register


@register("product")
@dataclass(frozen=True)
class Product(Vertices):
    r"""The product :math:`X_1 \times \dots \times X_m`: concatenated points, each block in its
    own set.

    Oracle, membership, projection and tangent act block by block.

    The diameter is :math:`\sqrt{\sum_k D_k^2}` of the factors' own.

    Parameters
    ----------
    sets
        The factors; an object with only a method ``lmo(g)`` will do.
    dims
        The dimension of each factor; may be left out if every factor has a dimension of its
        own.

    References
    ----------
    S. Lacoste-Julien, M. Jaggi, M. Schmidt and P. Pletscher, Block-coordinate Frank-Wolfe optimization for structural SVMs,
    ICML 2013.

    Examples
    --------
    >>> from zofw.sets import L1Ball, Simplex
    >>> Product([Simplex(), L1Ball(2.0)], dims=[2, 3]).lmo([1.0, 0.0, 0.0, 5.0, 0.0])
    array([ 0.,  1.,  0., -2.,  0.])
    """

    sets: Sequence[Any]
    dims: Sequence[int] | None = None

    facts = SetFacts(
        members=r"X_1 \times \dots \times X_m",
        oracle="block by block",
        cost=r"\text{sum}",
        atom="blocks",
        projection="where every factor has one",
        inball="least",
    )

    def __post_init__(self) -> None:
        if not isinstance(self.sets, Sequence):
            raise TypeError(
                f"Product: sets must be a list, as in Product([a, b]), but {name_of(self.sets)} was given."
            )
        parts = tuple(map(as_set, self.sets))
        dims = tuple(part.fixed_dim for part in parts) if self.dims is None else tuple(map(int, self.dims))
        if not parts or len(dims) != len(parts):
            raise ValueError(
                f"Product: {len(parts)} sets and {len(dims)} dims were given; give one dim for each set."
            )
        for part, dim in zip(parts, dims, strict=True):
            if dim is None:
                raise ValueError(
                    f"Product: {name_of(part)} can have any dimension; give dims, one number for each set."
                )
            part.check_dim(dim)
        vars(self).update(sets=parts, dims=dims)

    def blocks(self, x: Array) -> list[tuple[Region, Array]]:
        """Return each factor with its rows of x."""
        dims = self.dims or ()
        ends = accumulate(dims)
        return [(part, x[end - dim : end]) for part, dim, end in zip(self.sets, dims, ends, strict=True)]

    def _each(self, name: str, dim: int) -> list[Any]:
        """Return what a method of every factor makes of its dimension."""
        self.check_dim(dim)
        return [method(size) for method, size in zip(self._every(name), self.dims or (), strict=True)]

    def _every(self, name: str) -> list[Callable[..., Any]]:
        """Return the method of that name of every factor, or say that it is absent."""
        methods = [getattr(part, name, None) for part in self.sets]
        if None in methods:
            raise AttributeError(f"Product: {name_of(self.sets[methods.index(None)])} cannot {name}.")
        return list(filter(None, methods))

    @property
    def fixed_dim(self) -> int:
        """Return the sum of the dims."""
        return sum(self.dims or ())

    def atom(self, g: ArrayLike, warm: Atom | None = None) -> Blocks:
        """Return one atom for each factor."""
        g = self._gradient(g)
        if warm is not None and (not isinstance(warm, Blocks) or len(warm.parts) != len(self.sets)):
            raise ValueError(
                f"Product: a warm start must be a Blocks atom with {len(self.sets)} parts, but {name_of(warm)} was given."
            )
        starts = [None] * len(self.sets) if warm is None else warm.parts
        return Blocks(
            tuple(part.atom(h, start) for (part, h), start in zip(self.blocks(g), starts, strict=True))
        )

    def contains(self, x: ArrayLike, tol: float = 1e-9) -> bool:
        """Return True if every block is in its set."""
        return all(part.contains(block, tol) for part, block in self.blocks(self._point(x)))

    def _diameter(self, dim: int) -> float:
        """Return √(Σ diameter²): exact if every factor's is."""
        return float(np.linalg.norm(self._each("diameter", dim)))

    def _start(self, dim: int) -> Array:
        """Return the initial points of the factors."""
        return np.concatenate(self._each("initial_point", dim))

    def _inball(self, dim: int) -> Inball | None:
        """Return the centres of the factors with the least of their radii; None if a factor knows no ball."""
        balls = self._each("inball", dim)
        if any(ball is None for ball in balls):
            return None
        return np.concatenate([centre for centre, _ in balls]), min(radius for _, radius in balls)

    def tangent(self, v: ArrayLike) -> Array:
        """Return the tangent parts of the blocks."""
        v = np.asarray(v, dtype=np.float64)
        return np.concatenate([part.tangent(rows) for part, rows in self.blocks(v)])

    @property
    def project(self) -> Callable[[ArrayLike], Array]:
        """Return the Euclidean projection, block by block; absent if a factor has none."""
        return self._blockwise("project")

    @property
    def clip(self) -> Callable[[ArrayLike], Array]:
        """Return exact members, block by block; absent if a factor has none."""
        return self._blockwise("clip")

    def _blockwise(self, name: str) -> Callable[[ArrayLike], Array]:
        methods = self._every(name)

        def moved(x: ArrayLike) -> Array:
            blocks = self.blocks(self._point(x))
            return np.concatenate([move(block) for move, (_, block) in zip(methods, blocks, strict=True)])

        return moved

    @property
    def facets(self) -> Callable[[int], tuple[Array, Array]]:
        """Return A, b with A x ≤ b, block by block; absent if a factor lists none."""
        self._every("facets")

        def listed(dim: int) -> tuple[Array, Array]:
            from scipy.linalg import block_diag

            matrices, sides = zip(*self._each("facets", dim), strict=True)
            return block_diag(*matrices), np.concatenate(sides)

        return listed
