"""Abilities of a problem beyond ``values``, asked in one place.

Every problem gives f_i(x) for points and components. Some answer a query in closed form from
the directions, pair points with components, know their gradient (for diagnosis only), or on
which coordinates a component depends. `Able` lists these, all of them optional; nothing else in
the library asks a problem what it has.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol, TypeVar, cast

import numpy as np
from numpy.typing import DTypeLike

from zofw.core import Array, Batch, EvaluationError, Indices, Pattern, Problem, Query, Tile

TILE_VALUES = (
    1 << 22
)  # Maximum number of values in one table, or of coordinates in one array of points: 32 MB.

T = TypeVar("T")


class Sums(NamedTuple):
    """One tile's share: sums over its components, (k, values), and centred sums of squares of
    slopes, (k, columns).

    Of single evaluations, their values, one after another.
    """

    values: Array
    squares: Array | None = None


class Able(Problem, Protocol):
    """A problem with every ability; a problem of your own defines those that it has."""

    # Queries without perturbed points: Σ_i f_i(x ± μu_j) from the structure of f_i.
    def sums(self, query: Query, tile: Tile) -> Sums: ...
    def rows_at_once(self, query: Query) -> int:
        """Return how many components fill a tile that takes all directions together."""

    @property
    def tall(self) -> int:
        """Return how many times the usual number of rows a tile may have."""

    # Queries from points.
    @property
    def at_once(self) -> int | None:
        """About how many evaluations one call takes."""

    def pairs(self, points: Array, components: Indices) -> Array:
        """Return f_{i_j}(x_j) for point j and component i_j: (len(points),)."""

    @property
    def cellwise(self) -> bool:
        """Return True if every evaluation is a call of its own, which can be made alone, elsewhere, and again."""

    def one(self, x: Array, component: int) -> float | Array:
        """Return f_i(x), or the numbers that an evaluation brings if these are several."""

    @property
    def outputs(self) -> int:
        """Return how many numbers one evaluation brings, such as residuals."""

    @property
    def dtype(self) -> DTypeLike:
        """Return the precision in which values are computed."""

    # Components that live in parts, each of which may be held elsewhere.
    @property
    def sizes(self) -> Sequence[int]: ...
    def part(self, number: int) -> Problem: ...
    def tiles(self, query: Query) -> list[Tile]:
        """Return the fixed partition of a query: no tile has components of two parts."""

    def owner(self, query: Query, tile: Tile) -> int:
        """Return the part whose components a tile has."""

    def local(self, query: Query, number: int, tiles: Sequence[Tile]) -> tuple[Query, list[Tile]]:
        """Return a query and tiles of it, as the part that owns them counts them."""

    def blame(self, number: int, error: EvaluationError) -> EvaluationError:
        """Return an error of a part, with the component as it is counted in the whole."""

    # The mean.
    def value(self, x: Array) -> float: ...
    def gradient(self, x: Array) -> Array: ...
    @property
    def asks(self) -> bool:
        """Return True if the mean is asked of a person or service that may charge for it, and not computed."""

    @property
    def convex(self) -> bool: ...

    # Coordinates on which components depend.
    def support(self, batch: Batch) -> Indices:
        """Return the coordinates on which a batch depends."""

    def pattern(self, batch: Batch) -> Pattern | None:
        """Return the coordinates of each component of a batch; None if they are not known."""


@dataclass(frozen=True, eq=False)
class Abilities:
    """The abilities of one problem; None for those that it lacks.

    Attributes
    ----------
    structured, tall, at_once
        The problem, if it answers tiles itself; how many times the usual rows these may have;
        evaluations in one call.
    pairs, cells, parts
        The problem, if it takes points with one component each; if every evaluation is a call
        of its own; if it is held in parts.
    mean, value
        Its exact mean, if that is free; and its own way to the mean, free or not.
    gradient, support, pattern, dtype, outputs
        The gradient of the mean, the coordinates that a batch depends on, those of each of its
        components, the precision of the values, the numbers that one evaluation brings.
    """

    structured: Able | None
    tall: int
    at_once: int
    pairs: Able | None
    cells: Able | None
    parts: Able | None
    mean: Callable[[Array], float] | None
    value: Callable[[Array], float] | None
    gradient: Callable[[Array], Array] | None
    support: Callable[[Batch], Indices] | None
    pattern: Callable[[Batch], Pattern | None] | None
    dtype: DTypeLike
    outputs: int


MEMO = "_zofw_abilities"


def abilities(problem: Problem) -> Abilities:
    """Return the abilities of a problem; found once, and kept in the problem itself, so that both end together."""
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


def has(problem: object, *names: str) -> bool:
    """Return True if a problem has all these abilities."""
    return all(hasattr(problem, name) for name in names)


def _abilities(problem: Problem) -> Abilities:
    able = cast(Able, problem)

    def if_has(found: Callable[[], T], *names: str) -> T | None:
        return found() if has(problem, *names) else None

    value = if_has(lambda: able.value, "value")
    support = if_has(lambda: able.support, "support")
    if has(problem, "pattern") and not inspect.ismethod(support):
        support = None  # a black box has the support it was given
    first = Batch(problem.n, np.zeros(1, dtype=np.int64))
    patterned = has(problem, "pattern") and able.pattern(first) is not None
    return Abilities(
        structured=if_has(lambda: able, "rows_at_once", "sums"),
        tall=if_has(lambda: able.tall, "tall") or 1,
        at_once=(able.at_once if has(problem, "at_once") else None) or TILE_VALUES,
        pairs=if_has(lambda: able, "pairs"),
        cells=able if has(problem, "one", "cellwise") and able.cellwise else None,
        parts=if_has(lambda: able, "sizes", "part", "tiles", "owner", "local", "sums", "blame"),
        mean=None if has(problem, "asks") and able.asks else value,
        value=value,
        gradient=if_has(lambda: able.gradient, "gradient"),
        support=support,
        pattern=able.pattern if patterned else None,
        dtype=able.dtype if has(problem, "dtype") else np.float64,
        outputs=if_has(lambda: able.outputs, "outputs") or 1,
    )
