"""What a problem can do beyond ``values``, asked in one place.

Every problem gives f_i(x) for points and components. Some answer a query in closed form from the directions (`Structured`), pair points
with components (`Pairwise`), know their gradient (for diagnosis alone), or on which coordinates a component depends. Each of these is
a protocol here, and nothing else in the library asks a problem what it has.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.typing import DTypeLike

from zofw.core import Array, Batch, EvaluationError, Indices, Pattern, Problem, Query, Tile

TILE_VALUES = 1 << 22  # numbers in one table of values, or in one array of points: 32 MB


class Sums(NamedTuple):
    """One tile's share: sums over its components, (k, values), and centred sums of squares of slopes, (k, columns).

    Of single evaluations, their values, one after another.
    """

    values: Array
    squares: Array | None = None


@runtime_checkable
class Structured(Protocol):
    """A problem that answers tiles itself, without forming perturbed points: Σ_i f_i(x ± μu_j) from the structure of f_i."""

    def rows_at_once(self, query: Query) -> int:
        """How many components fill a tile that takes all directions together."""

    def sums(self, query: Query, tile: Tile) -> Sums: ...


@runtime_checkable
class Tall(Protocol):
    """A structured problem whose tiles may have more rows than others'."""

    @property
    def tall(self) -> int:
        """How many times the usual rows."""


@runtime_checkable
class Grained(Protocol):
    """A problem that says how many evaluations it wants to be asked for at once."""

    @property
    def at_once(self) -> int | None: ...


@runtime_checkable
class Pairwise(Protocol):
    """A problem that evaluates many points with one component each in one call."""

    def pairs(self, points: Array, components: Indices) -> Array:
        """f_{i_j}(x_j) for point j and component i_j: (len(points),)."""


@runtime_checkable
class Cellwise(Protocol):
    """A problem whose evaluations are calls of their own, which can be made alone, elsewhere, and again."""

    @property
    def cellwise(self) -> bool: ...
    def one(self, x: Array, component: int) -> float | Array:
        """Return f_i(x), or the numbers that an evaluation brings if these are several."""


@runtime_checkable
class Vectorial(Protocol):
    """A problem of which one evaluation brings several numbers, such as residuals."""

    @property
    def outputs(self) -> int: ...


@runtime_checkable
class InParts(Protocol):
    """A problem whose components live in parts, each of which may be held elsewhere."""

    @property
    def sizes(self) -> Sequence[int]: ...
    def part(self, number: int) -> Problem: ...
    def tiles(self, query: Query) -> list[Tile]:
        """The fixed partition of a query: no tile has components of two parts."""

    def owner(self, query: Query, tile: Tile) -> int:
        """The part whose components a tile has."""

    def local(self, query: Query, number: int, tiles: Sequence[Tile]) -> tuple[Query, list[Tile]]:
        """A query and tiles of it, as the part that owns them knows them."""

    def sums(self, query: Query, tile: Tile) -> Sums: ...
    def blame(self, number: int, error: EvaluationError) -> EvaluationError:
        """An error of a part, with the component as it is counted in the whole."""


@runtime_checkable
class Averaged(Protocol):
    """A problem that computes its exact mean."""

    def value(self, x: Array) -> float: ...


@runtime_checkable
class Asking(Protocol):
    """A problem that says whether its mean is asked of somebody, who may charge for it, and not computed."""

    @property
    def asks(self) -> bool: ...


@runtime_checkable
class Differentiable(Protocol):
    """A problem that knows the gradient of its mean."""

    def gradient(self, x: Array) -> Array: ...


@runtime_checkable
class Supported(Protocol):
    """A problem that knows on which coordinates a batch depends."""

    def support(self, batch: Batch) -> Indices: ...


@runtime_checkable
class Patterned(Protocol):
    """A problem that may know on which coordinates each of its components depends."""

    def pattern(self, batch: Batch) -> Pattern | None:
        """The coordinates of each component of a batch; None where they are not known."""


@runtime_checkable
class Shaped(Protocol):
    """A problem that says whether its mean is convex."""

    @property
    def convex(self) -> bool: ...


@runtime_checkable
class Precise(Protocol):
    """A problem that says in which precision its values are computed."""

    @property
    def dtype(self) -> DTypeLike: ...


@dataclass(frozen=True, eq=False)
class Abilities:
    """What one problem can do; None for what it cannot.

    Attributes
    ----------
    structured, tall, at_once
        It answers tiles itself; how many times the usual rows these may have; evaluations that are asked for at once.
    pairs, cells, parts
        It takes points with one component each; every evaluation is a call of its own; it is held in parts.
    mean, value
        Its exact mean where that is computed and asked of nobody, and where it has its own way to it at all.
    gradient, support, pattern, dtype
        The gradient of the mean, the coordinates that a batch depends on, those of each of its components, the precision of
        the values.
    """

    structured: Structured | None
    tall: int
    at_once: int
    pairs: Pairwise | None
    cells: Cellwise | None
    parts: InParts | None
    mean: Callable[[Array], float] | None
    value: Callable[[Array], float] | None
    gradient: Callable[[Array], Array] | None
    support: Callable[[Batch], Indices] | None
    pattern: Callable[[Batch], Pattern | None] | None
    dtype: DTypeLike


MEMO = "_zofw_abilities"


def abilities(problem: Problem) -> Abilities:
    """What a problem can do; asked once, and remembered by the problem itself, so that both are forgotten together."""
    try:
        own = vars(problem)
    except TypeError:  # it has slots
        return _abilities(problem)
    known: tuple[Problem, Abilities] | None = own.get(MEMO)
    if known is not None and known[0] is problem:  # and no copy of it
        return known[1]
    found = _abilities(problem)
    own[MEMO] = problem, found
    return found


def _known_support(problem: Problem) -> Callable[[Batch], Indices] | None:
    """A black box has the support it was given where others have a method."""
    known = problem.support if isinstance(problem, Supported) else None
    return None if isinstance(problem, Patterned) and not inspect.ismethod(known) else known


def _known_pattern(problem: Problem) -> Callable[[Batch], Pattern | None] | None:
    """Where a problem knows the coordinates of its first component, it knows those of all."""
    first = Batch(problem.n, np.zeros(1, dtype=np.int64))
    return problem.pattern if isinstance(problem, Patterned) and problem.pattern(first) is not None else None


def _abilities(problem: Problem) -> Abilities:
    value = problem.value if isinstance(problem, Averaged) else None
    asks = isinstance(problem, Asking) and problem.asks
    return Abilities(
        problem if isinstance(problem, Structured) else None,
        problem.tall if isinstance(problem, Tall) else 1,
        (problem.at_once if isinstance(problem, Grained) else None) or TILE_VALUES,
        problem if isinstance(problem, Pairwise) else None,
        problem if isinstance(problem, Cellwise) and problem.cellwise else None,
        problem if isinstance(problem, InParts) else None,
        None if asks else value,
        value,
        problem.gradient if isinstance(problem, Differentiable) else None,
        _known_support(problem),
        _known_pattern(problem),
        problem.dtype if isinstance(problem, Precise) else np.float64,
    )
