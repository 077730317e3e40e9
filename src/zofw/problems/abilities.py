"""Abilities of a problem beyond ``values``, asked in one place.

Every problem gives f_i(x) for points and components. Some answer a query in closed form from
the directions, pair points with components, know their gradient (for diagnosis only), or on
which coordinates a component depends. `Able` lists these, all of them optional; nothing else in
the library asks a problem what it has.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol, cast

import numpy as np
from numpy.typing import DTypeLike

from zofw.core import Array, Batch, EvaluationError, Indices, Pattern, Problem, Query, Tile
from zofw.registry import Registry

problems: Registry[Problem] = Registry("problem")

TILE_VALUES = 1 << 22  # most values in one table, or coordinates in one array of points: 32 MB


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
    tall: int  # how many times the usual number of rows a tile may have

    def sums(self, query: Query, tile: Tile) -> Sums: ...
    def rows_at_once(self, query: Query) -> int:
        """Return how many components fill a tile that takes all directions together."""

    # Queries from points.
    at_once: int | None  # about how many evaluations one call takes
    cellwise: bool  # every evaluation is a call of its own, which can be made alone, elsewhere, and again
    outputs: int  # how many numbers one evaluation brings, such as residuals
    dtype: DTypeLike  # the precision in which values are computed

    def pairs(self, points: Array, components: Indices) -> Array:
        """Return f_{i_j}(x_j) for point j and component i_j: (len(points),)."""

    def one(self, x: Array, component: int) -> float | Array:
        """Return f_i(x), or the numbers that an evaluation brings if these are several."""

    # Components that live in parts, each of which may be held elsewhere.
    sizes: Sequence[int]

    def part(self, number: int) -> Problem: ...
    def tiles(self, query: Query) -> list[Tile]:
        """Return the fixed partition of a query: no tile has components of two parts."""

    def owner(self, query: Query, tile: Tile) -> int:
        """Return the part whose components a tile has."""

    def local(self, query: Query, number: int, tiles: Sequence[Tile]) -> tuple[Query, list[Tile]]:
        """Return a query and tiles of it, as the part that owns them counts them."""

    def blame(self, number: int, error: EvaluationError) -> EvaluationError:
        """Return an error of a part, with the component as it is counted in the whole."""

    # The mean, and the coordinates on which components depend.
    asks: bool  # the mean is asked of a person or service that may charge for it, and not computed
    convex: bool

    def value(self, x: Array) -> float: ...
    def gradient(self, x: Array) -> Array: ...
    def pattern(self, batch: Batch) -> Pattern | None:
        """Return the coordinates of each component of a batch; None if they are not known."""


PARTS = ("sizes", "part", "tiles", "owner", "local", "sums", "blame")
OPTIONAL = (
    *PARTS, "rows_at_once", "tall", "at_once", "cellwise", "dtype", "pairs", "one", "asks", "value",
    "gradient", "pattern",
)  # fmt: skip


@dataclass(frozen=True, eq=False)
class Abilities:
    """The abilities of one problem, as `Able` names them; None for those that it lacks.

    Attributes
    ----------
    structured, pairs, cells, parts
        The problem, if it answers tiles itself; if it takes points with one component each; if
        every evaluation is a call of its own; if it is held in parts.
    mean, value
        Its exact mean, if that is free; and its own way to the mean, free or not.
    """

    structured: Able | None
    pairs: Able | None
    cells: Able | None
    parts: Able | None
    tall: int
    at_once: int
    mean: Callable[[Array], float] | None
    value: Callable[[Array], float] | None
    gradient: Callable[[Array], Array] | None
    pattern: Callable[[Batch], Pattern | None] | None
    dtype: DTypeLike


MEMO = "_zofw_abilities"


def abilities(problem: Problem) -> Abilities:
    """Return the abilities of a problem; found once and kept in it, so that both end together."""
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
    own = {name: getattr(problem, name, None) for name in OPTIONAL}

    def if_all(*names: str) -> Able | None:
        return cast(Able, problem) if all(own[name] is not None for name in names) else None

    pattern = own["pattern"]
    if pattern is not None:
        first = Batch(problem.n, np.zeros(1, dtype=np.int64))
        pattern = None if pattern(first) is None else pattern
    return Abilities(
        structured=if_all("rows_at_once", "sums"),
        pairs=if_all("pairs"),
        cells=if_all("one") if own["cellwise"] else None,
        parts=if_all(*PARTS),
        tall=own["tall"] or 1,
        at_once=own["at_once"] or TILE_VALUES,
        mean=None if own["asks"] else own["value"],
        value=own["value"],
        gradient=own["gradient"],
        pattern=pattern,
        dtype=np.float64 if own["dtype"] is None else own["dtype"],
    )
