"""What crosses the wall: a query with its directions out, an answer back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeAlias, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from zofw.atoms import Array

if TYPE_CHECKING:
    from scipy.sparse import csr_array

Indices = NDArray[np.int64]
Seed: TypeAlias = (
    int | Sequence[int] | np.random.SeedSequence | np.random.BitGenerator | np.random.Generator | None
)
Matrix: TypeAlias = "Array | csr_array"  # dense, or SciPy's by rows

WORST = 1e100  # a value from here on is worse than anything, and says nothing about slopes
FINE = 2e-50  # values below that one have slopes over this radius, and longer ones, that can be squared
DOUBLE = np.dtype(np.float64)


def of_length(length: int, vector: ArrayLike, product: str) -> Array:
    """Return the vector as floats, or a sentence about its shape."""
    array: Array = np.asarray(vector, dtype=float)
    if array.shape != (length,):
        raise ValueError(f"{product} needs a vector of shape ({length},); got {array.shape}.")
    return array


class Operator:
    """``U @ c``, ``U.T @ g`` and ``Z @ U`` for an implicit matrix that knows combine, project and product."""

    __array_ufunc__ = None

    def __matmul__(self: Directions, c: ArrayLike) -> Array:
        return self.combine(of_length(self.count, c, "U @ c"))

    def __rmatmul__(self: Directions, Z: Matrix) -> Array:
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
        """Return U[:, start:stop], dense (d, stop − start)."""

    def rows(self, index: Indices) -> Array:
        """Return U[index, :], dense (len(index), b)."""

    def combine(self, c: Array) -> Array:
        """Return U c, (d,)."""

    def project(self, g: Array) -> Array:
        """Uᵀ g, (b,)."""

    def product(self, Z: Matrix) -> Array:
        """Return Z U for a sparse or dense Z of shape (m, d): dense (m, b)."""

    def __matmul__(self, c: Array, /) -> Array: ...
    @property
    def T(self) -> Transposed: ...


class Derived(Operator):
    """Directions made of others."""

    base: Directions


@dataclass(frozen=True)
class Transposed:
    """Uᵀ as an operator."""

    directions: Directions

    def __matmul__(self, g: Array) -> Array:
        return self.directions.project(of_length(self.directions.dim, g, "U.T @ g"))


@runtime_checkable
class Law(Protocol):
    """A probability law of d×b direction matrices, carrying its own constants.

    ``scale`` is s with s·E[UUᵀ] = I, and ``second_moment`` is κ with E‖UUᵀx‖² = κ‖x‖². Together
    they give the step 1/(sκ) that minimises E‖(I − αUUᵀ)e‖² over α, and the contraction 1 −
    1/(s²κ) which that step attains.
    """

    def draw(self, rng: np.random.Generator, dim: int, count: int) -> Directions: ...
    def scale(self, dim: int, count: int) -> float: ...
    def second_moment(self, dim: int, count: int) -> float: ...
    def check(self, dim: int, count: int) -> None:
        """Refuse, with a sentence, a count of directions that the law cannot supply."""


class Stencil(Enum):
    """Which points around an anchor x a query evaluates, for each direction u and radius μ."""

    CENTRAL = "central"  # x + μu, x − μu
    FORWARD = "forward"  # x + μu, and x once
    QUADRATIC = "quadratic"  # x + μu, x − μu, and x once: slope and curvature
    VALUE = "value"  # x alone
    AHEAD = "ahead"  # x + μu alone

    def __init__(self, name: str) -> None:
        self.two_sided = name in ("central", "quadratic")
        self.has_base = name not in ("central", "ahead")


class Purpose(Enum):
    """What the queries were spent on; the ledger has one line for each."""

    NOISE = "noise"
    ESTIMATE = "estimate"
    REFRESH = "refresh"
    LINE_SEARCH = "line search"
    CERTIFICATE = "certificate"
    RESULT = "result"

    def __init__(self, line: str) -> None:
        self.line = line


@dataclass(frozen=True, eq=False)
class Batch:
    """Components of the sum: a list of indices, repetitions allowed, or all n of them (``indices=None``)."""

    n: int
    indices: Indices | None = None

    def __post_init__(self) -> None:
        if self.indices is None:
            return
        indices = np.ascontiguousarray(self.indices)
        if indices.ndim != 1 or (indices.size and indices.dtype.kind not in "iu"):
            raise ValueError(
                f"A batch needs a list of whole numbers; got shape {indices.shape} and dtype {indices.dtype}."
            )
        if indices.size and not 0 <= indices.min() <= indices.max() < self.n:
            raise ValueError(
                f"A batch of a sum with n = {self.n} components has indices from 0 to {self.n - 1}; got some from "
                f"{indices.min()} to {indices.max()}."
            )
        vars(self).update(indices=indices.astype(np.int64, copy=False))

    @classmethod
    def drawn(cls, n: int, indices: Indices) -> Batch:
        """Return indices from a generator that was asked for numbers below n: nothing is looked at."""
        batch = cls.__new__(cls)
        vars(batch).update(n=n, indices=indices)
        return batch

    def __len__(self) -> int:
        return self.n if self.indices is None else len(self.indices)

    def slice(self, start: int, stop: int) -> Indices:
        """Return component indices at positions start, …, stop − 1 of the batch."""
        if self.indices is None:
            return np.arange(start, min(stop, self.n), dtype=np.int64)
        return self.indices[start:stop]


@dataclass(frozen=True, eq=False)
class Pattern:
    """Coordinates that components depend on: index[starts[s]:starts[s + 1]] for position s."""

    starts: Indices
    index: Indices

    @classmethod
    def full(cls, size: int, dim: int) -> Pattern:
        """Return every component may depend on all coordinates."""
        index = np.tile(np.arange(dim, dtype=np.int64), size)
        return cls(np.arange(size + 1, dtype=np.int64) * dim, index)

    @classmethod
    def of(cls, lists: Sequence[Indices]) -> Pattern:
        """Return the pattern of components that depend on the coordinates of these lists."""
        starts = np.cumsum([0, *map(len, lists)], dtype=np.int64)
        return cls(starts, np.concatenate([np.zeros(0, dtype=np.int64), *lists]))

    @property
    def sizes(self) -> Indices:
        """Return how many coordinates each component has."""
        return np.diff(self.starts)

    def places(self, positions: Indices) -> Indices:
        """Where the coordinates of these positions stand in the list of all."""
        sizes, ends = self.sizes[positions], np.cumsum(self.sizes[positions])
        return np.arange(sizes.sum()) + np.repeat(self.starts[positions] - ends + sizes, sizes)

    @property
    def cost(self) -> int:
        """Return evaluations of a forward difference along each of them: Σ(|support_i| + 1)."""
        return self.index.size + self.sizes.size


class Clips(Protocol):
    """A set that can make a point an exact member."""

    def clip(self, x: ArrayLike) -> Array:
        """Return a member near x, without tolerance."""


class Tile(NamedTuple):
    """A slice of work: columns [left, right) of the directions against positions [top, bottom)
    of the batch.

    Of these, all together (stop = 0), or the single evaluations [start, stop) in the order
    anchor, point, component.
    """

    left: int
    right: int
    top: int
    bottom: int
    start: int = 0
    stop: int = 0

    def cells(self, start: int, stop: int) -> Tile:
        """Return some of its single evaluations."""
        return Tile(self.left, self.right, self.top, self.bottom, start, stop)

    @property
    def first(self) -> bool:
        """Return True if this tile carries the base values of its rows."""
        return self.left == 0


@dataclass(frozen=True, eq=False, init=False)
class Query:
    """A request for function values; the only message from a method to the session.

    Attributes
    ----------
    anchors
        (k, d): the points around which to evaluate.
    batch
        The components whose mean is wanted.
    directions, radius, stencil
        U and μ, and which of x ± μu, x to evaluate. ``VALUE`` needs neither U nor μ.
    purpose
        The line of the ledger to charge.
    variance
        Whether the variance over the batch of each directional difference is wanted as well.
    paired
        Direction j meets component ``batch[j]`` alone, instead of every direction meeting every
        component.
    each
        0 for the mean over the batch; m to get the m numbers of every component separately
        (``VALUE`` only).
    enough
        None to wait for all values. A number m to continue once m values of this query or of
        earlier ones have come: the rest are NaN in the answer and reach the method later, in
        ``Answer.late``. For the VALUE stencil and one component: a row is one evaluation.
    inside
        The set that every evaluated point is to be an exact member of, where one is.
    size, count
        |S| and b, the numbers of components and of directions (0 for plain values).
    width
        Values per anchor in the answer: those at x + μu, then those at x − μu, then those at x;
        or m of each component.
    cost
        Number of evaluations of single components f_i, known before any is made.
    """

    anchors: Array
    batch: Batch
    directions: Directions | None
    radius: float
    stencil: Stencil
    purpose: Purpose
    variance: bool
    paired: bool
    inside: Clips | None
    each: int
    enough: int | None
    size: int = field(init=False, repr=False)
    count: int = field(init=False, repr=False)
    width: int = field(init=False, repr=False)
    cost: int = field(init=False, repr=False)

    def __init__(
        self,
        anchors: Array,
        batch: Batch,
        directions: Directions | None = None,
        radius: float = 0.0,
        stencil: Stencil = Stencil.VALUE,
        purpose: Purpose = Purpose.ESTIMATE,
        variance: bool = False,
        paired: bool = False,
        inside: Clips | None = None,
        each: int = 0,
        enough: int | None = None,
    ) -> None:
        anchors = np.asarray(anchors, dtype=float).view()
        anchors = anchors if anchors.ndim == 2 else np.atleast_2d(anchors)
        anchors.setflags(write=False)
        size, count = len(batch), 0 if directions is None else directions.count
        base = (count if paired else 1) if stencil.has_base else 0
        points = count * (2 if stencil.two_sided else 1) + base
        vars(self).update(
            anchors=anchors, batch=batch, directions=directions, radius=radius, stencil=stencil, purpose=purpose,
            variance=variance, paired=paired, inside=inside, each=each, enough=enough, size=size, count=count,
            width=size * each or points, cost=len(anchors) * points * (1 if paired else size),
        )  # fmt: skip
        self._check_stencil()
        if directions is not None:
            self._check_directions(directions)

    def _check_stencil(self) -> None:
        """Raise ValueError if the stencil does not go with what is asked."""
        stencil, plain = self.stencil, self.stencil is Stencil.VALUE
        if self.size == 0:
            raise ValueError("A query needs a component: its batch is empty.")
        if (self.directions is None) != plain:
            raise ValueError(
                f"A query with the {stencil.value} stencil and directions {self.directions!r}: "
                "every stencil needs directions, except VALUE, which takes none."
            )
        if self.each and (self.variance or not plain):
            raise ValueError("A query for the numbers of each component takes the VALUE stencil.")
        if self.enough is not None:
            self._check_enough(self.enough)
        if self.paired and (plain or self.variance or stencil is Stencil.QUADRATIC):
            raise ValueError(
                "A paired query takes the CENTRAL, FORWARD or AHEAD stencil and has no variance over its batch."
            )

    def _check_enough(self, enough: int) -> None:
        """Raise ValueError if values of this query cannot come late."""
        if enough < 1 or self.size != 1 or self.each or self.stencil is not Stencil.VALUE:
            raise ValueError(
                "enough= is a number of at least 1, for the VALUE stencil and one component; got "
                f"{enough!r} with {self.stencil.value} and {self.size} components."
            )

    def _check_directions(self, U: Directions) -> None:
        """Raise ValueError if the directions do not go with the anchors, the stencil or the batch."""
        if not self.radius > 0:
            raise ValueError(f"A query along directions needs a radius > 0; got {self.radius!r}.")
        if U.dim != self.anchors.shape[1]:
            raise ValueError(f"The anchors have dimension {self.anchors.shape[1]}, the directions {U.dim}.")
        if self.variance and self.stencil is Stencil.AHEAD:
            raise ValueError("A query with the AHEAD stencil has no differences, and so no variance of them.")
        if self.paired and self.size != self.count:
            raise ValueError(
                f"A paired query needs one component per direction; got {self.size} components and {self.count} directions."
            )

    @property
    def asked(self) -> Directions | None:
        """Return the directions as the method gave them, before a set's affine hull was seen to."""
        return self.directions.base if isinstance(self.directions, Derived) else self.directions

    def fits(self, values: Array) -> bool:
        """Return True if values are doubles of the right shape and usable sizes; else look closer."""
        return (
            isinstance(values, np.ndarray)
            and values.dtype == DOUBLE
            and values.shape == (len(self.anchors), self.width)
            and (self.count == 0 or self.radius >= FINE)
            and bool(np.vdot(values, values) <= WORST * WORST)
        )

    def tile_width(self, tile: Tile) -> int:
        """Return how many points a tile evaluates at each anchor."""
        along = tile.right - tile.left
        if self.stencil is Stencil.VALUE:
            return 1
        base = along if self.paired else int(tile.left == 0)
        return along * (2 if self.stencil.two_sided else 1) + (base if self.stencil.has_base else 0)

    def tile_values(self, tile: Tile) -> int:
        """Return how many values per anchor of the answer come from a tile."""
        return (tile.bottom - tile.top) * self.each if self.each else self.tile_width(tile)

    def tile_cost(self, tile: Tile) -> int:
        """Return evaluations in a tile, or in the cells of it that are meant."""
        if tile.stop:
            return tile.stop - tile.start
        return len(self.anchors) * self.tile_width(tile) * (1 if self.paired else tile.bottom - tile.top)

    def point(self, anchor: int, column: int) -> Array:
        """Return the point of one value of the answer."""
        x = self.anchors[anchor]
        sides = 2 if self.stencil.two_sided else 1
        if self.directions is None or column >= sides * self.count:
            return self.members(x[None]).reshape(-1)
        side, j = divmod(column, self.count)
        step = self.radius * self.directions.columns(j, j + 1)[:, 0]
        return self.members((x - step if side else x + step)[None]).reshape(-1)

    def members(self, points: Array) -> Array:
        """Return the points, (m, d), made exact members of the set they are to lie in; always fresh memory."""
        return np.array(points if self.inside is None else [self.inside.clip(x) for x in points])

    def tile_columns(self, tile: Tile) -> NDArray[np.intp]:
        """Positions, within the ``width`` values of an anchor, of what a tile evaluates."""
        if self.each:
            return np.arange(tile.top * self.each, tile.bottom * self.each, dtype=np.intp)
        along = np.arange(tile.left, tile.right)
        parts = [along] + ([along + self.count] if self.stencil.two_sided else [])
        if self.stencil is Stencil.VALUE:
            parts = [np.zeros(1, dtype=np.intp)]
        elif self.stencil.has_base and self.paired:
            parts.append(along + self.count)
        elif self.stencil.has_base and tile.first:
            parts.append(np.array([self.width - 1]))
        return np.concatenate(parts).astype(np.intp)

    def points(self, anchor: int, tile: Tile) -> Array:
        """Return dense points of one anchor in a tile, (m, d), in the order of ``tile_columns``."""
        x = self.anchors[anchor]
        if self.directions is None:
            return self.members(x[None, :])
        steps = self.radius * self.directions.columns(tile.left, tile.right).T
        parts = [x + steps] + ([x - steps] if self.stencil.two_sided else [])
        if self.stencil.has_base and self.paired:
            parts.append(np.repeat(x[None, :], tile.right - tile.left, axis=0))
        elif self.stencil.has_base and tile.first:
            parts.append(x[None, :])
        points = np.concatenate(parts)
        return points if self.inside is None else self.members(points)


def blocks(total: int, size: int) -> list[tuple[int, int]]:
    """Return consecutive ranges of at most ``size`` covering 0, …, total − 1."""
    return [(start, min(start + size, total)) for start in range(0, total, size)]
