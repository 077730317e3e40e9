"""Products of sets."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from zofw.atoms import Array, Atom, Blocks
from zofw.core import Faceted
from zofw.sets.custom import can_clip, can_project
from zofw.sets.given import as_set
from zofw.sets.protocol import Inball, Region, SetFacts, Vertices, gradient, name_of, point, register


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
        free = [name_of(part) for part, dim in zip(parts, dims, strict=True) if dim is None]
        if free:
            raise ValueError(
                f"Product: {', '.join(free)} can have any dimension; give dims, one number for each set."
            )
        for part, dim in zip(parts, dims, strict=True):
            part.check_dim(dim or 0)
        object.__setattr__(self, "sets", parts)
        object.__setattr__(self, "dims", dims)

    def blocks(self, x: Array) -> list[tuple[Region, Array]]:
        """Return each factor with its rows of x."""
        dims = self.dims or ()
        return [
            (part, x[end - dim : end])
            for part, dim, end in zip(self.sets, dims, accumulate(dims), strict=True)
        ]

    @property
    def fixed_dim(self) -> int:
        """Return the sum of the dims."""
        return sum(self.dims or ())

    def atom(self, g: ArrayLike, warm: Atom | None = None) -> Blocks:
        """Return one atom for each factor."""
        g = gradient(self, g)
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
        return all(part.contains(block, tol) for part, block in self.blocks(point(self, x)))

    def diameter(self, dim: int) -> float:
        """Return √(Σ diameter²): exact if every factor's is."""
        self.check_dim(dim)
        return float(
            np.linalg.norm([part.diameter(block.size) for part, block in self.blocks(np.empty(dim))])
        )

    def initial_point(self, dim: int) -> Array:
        """Return the initial points of the factors."""
        self.check_dim(dim)
        return np.concatenate([part.initial_point(block.size) for part, block in self.blocks(np.empty(dim))])

    def inball(self, dim: int) -> Inball | None:
        """Return the centres of the factors with the least of their radii; None if a factor knows no ball."""
        self.check_dim(dim)
        balls = [part.inball(block.size) for part, block in self.blocks(np.empty(dim))]
        known = [ball for ball in balls if ball is not None]
        if len(known) < len(balls):
            return None
        return np.concatenate([centre for centre, _ in known]), min(radius for _, radius in known)

    def tangent(self, v: ArrayLike) -> Array:
        """Return the tangent parts of the blocks."""
        return np.concatenate(
            [part.tangent(rows) for part, rows in self.blocks(np.asarray(v, dtype=np.float64))]
        )

    @property
    def project(self) -> Callable[[ArrayLike], Array]:
        """Return the Euclidean projection, block by block; absent if a factor has none."""
        return self._blockwise("project", can_project)

    @property
    def clip(self) -> Callable[[ArrayLike], Array]:
        """Return exact members, block by block; absent if a factor has none."""
        return self._blockwise("clip", can_clip)

    @property
    def facets(self) -> Callable[[int], tuple[Array, Array]]:
        """Return A, b with A x ≤ b: the inequalities of the factors, block by block; absent if a factor lists none."""
        parts = [part.facets for part in self.sets if isinstance(part, Faceted)]
        if len(parts) < len(self.sets):
            raise AttributeError("Product: not every factor lists its facets.")

        def listed(dim: int) -> tuple[Array, Array]:
            from scipy.linalg import block_diag

            self.check_dim(dim)
            blocks = [facets(size) for facets, size in zip(parts, self.dims or (), strict=True)]
            return block_diag(*(A for A, _ in blocks)), np.concatenate([b for _, b in blocks])

        return listed

    def _blockwise(self, move: str, able: Callable[[object], bool]) -> Callable[[ArrayLike], Array]:
        """Return the method of that name of every factor, on its block."""
        unable = [name_of(part) for part in self.sets if not able(part)]
        if unable:
            raise AttributeError(f"Product: {', '.join(unable)} cannot {move}.")

        def moved(x: ArrayLike) -> Array:
            return np.concatenate([getattr(part, move)(block) for part, block in self.blocks(point(self, x))])

        return moved
