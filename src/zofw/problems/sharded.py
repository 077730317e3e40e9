"""A sum whose components are held in parts, each of which may live on another worker."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable, Sequence
from functools import cached_property, partial
from typing import NamedTuple

import numpy as np

from zofw.core import Array, Batch, EvaluationError, Indices, Pattern, Problem, Query, Stencil, Tile, blocks
from zofw.problems.abilities import TILE_VALUES, Sums, has
from zofw.problems.evaluate import TILE_COMPONENTS, tile_sums

Loader = Callable[[], Problem]


class Sharded:
    r"""A finite sum in parts: part p has the :math:`n_p` components that follow those of the
    parts before it,

    .. math:: f(x) = \frac1n \sum_p \sum_{i=1}^{n_p} f_{p,i}(x), \qquad n = \sum_p n_p.

    With a dask client as ``executor`` a part lives on one worker, or on ``copies`` of them, and what concerns its components
    is computed there. A part that is given as a function is built where it lives and never passes through the process
    that asks. Everywhere else, in one process or a pool, parts are built when they are first needed and kept.

    Parameters
    ----------
    parts
        Problems of one dimension, or functions without arguments that return one:
        ``functools.partial(load_rows, "rows.npz", 0, 1000)``.
    sizes, dim
        :math:`n_p` of every part, and the dimension. Needed where a part is a function, for it is not called to find out.
    copies
        On how many workers of a dask cluster each part lives.
    at_once
        About how many evaluations make one tile: the grain in which work is sent, repeated and
        kept.

    Notes
    -----
    A query is answered part by part, in the order of the parts, on whichever worker: the bits of a run depend on the parts
    and on ``at_once``, and on nothing else. The same components in one piece are added in another order, and give the
    same run up to rounding.

    Examples
    --------
    >>> import numpy as np, zofw
    >>> from zofw.problems import LeastSquares, Sharded
    >>> Z, y = np.eye(4), np.ones(4)
    >>> f = Sharded([LeastSquares(Z[:1], y[:1]), lambda: LeastSquares(Z[1:], y[1:])], sizes=[1, 3], dim=4)
    >>> f
    Sharded(2 parts, n=4, dim=4)
    >>> zofw.minimize(f, zofw.L1Ball(8.0), budget=2_000, rng=0).fun < 1e-3
    True
    """

    def __init__(
        self,
        parts: Sequence[Problem | Loader],
        *,
        sizes: Sequence[int] | None = None,
        dim: int | None = None,
        copies: int = 1,
        at_once: int = TILE_VALUES,
    ) -> None:
        self.parts = tuple(parts)
        self._here = self._checked_parts()
        here = [*self._here.values()]
        if len(here) < len(self.parts) and (sizes is None or dim is None):
            raise ValueError(
                "Sharded has parts that are functions, and does not call them to find out how large they are: give sizes=[…], "
                "the number of components of every part, and dim=…."
            )
        self.sizes = tuple(int(part.n) for part in here) if sizes is None else tuple(sizes)
        self.dim = int(here[0].dim) if dim is None else dim
        for number, size in enumerate(self.sizes):
            _check_whole(f"sizes[{number}]", size)
        for name, value in (("dim", self.dim), ("copies", copies), ("at_once", at_once)):
            _check_whole(name, value)
        if len(self.sizes) != len(self.parts):
            raise ValueError(
                f"Sharded has {len(self.parts)} parts and {len(self.sizes)} sizes; give one for each."
            )
        self.copies, self.at_once = int(copies), int(at_once)
        for number, part in self._here.items():
            check_part(number, part, int(self.sizes[number]), self.dim)
        self._built = dict(self._here)
        self._last: tuple[Query, _Plan] | None = None

    def _checked_parts(self) -> dict[int, Problem]:
        """Return the parts that are problems; raise an error if another is no function."""
        if not self.parts:
            raise ValueError("Sharded needs at least one part.")
        here = {number: part for number, part in enumerate(self.parts) if isinstance(part, Problem)}
        for number, part in enumerate(self.parts):
            if number not in here and not callable(part):
                raise TypeError(
                    f"Part {number} of Sharded should be a problem, or a function without arguments that returns one; got "
                    f"{type(part).__name__}."
                )
        return here

    def __repr__(self) -> str:
        return f"Sharded({len(self.parts)} parts, n={self.n}, dim={self.dim})"

    def __getstate__(self) -> dict[str, object]:
        """What was built or planned here is not sent elsewhere."""
        return vars(self) | {"_built": dict(self._here), "_last": None}

    @property
    def n(self) -> int:
        return int(self.edges[-1])

    @cached_property
    def edges(self) -> Indices:
        """Part p has the components edges[p], …, edges[p + 1] − 1."""
        return np.array([0, *itertools.accumulate(self.sizes)], dtype=np.int64)

    def part(self, number: int) -> Problem:
        """Return a part, built if it has not been needed before."""
        if number not in self._built and (load := self.loader(number)) is not None:
            self._built[number] = load()
        return self._built[number]

    def loader(self, number: int) -> Loader | None:
        """How to build a part elsewhere; None for one that is here."""
        part = self.parts[number]
        if isinstance(part, Problem):
            return None
        return partial(_build, number, part, int(self.sizes[number]), self.dim)

    def values(self, points: Array, components: Indices) -> Array:
        """Return f_i(x) for every point (rows) and component (columns)."""
        owner = self._owner(components)
        table = np.empty((len(points), len(components)))
        for number in np.unique(owner).tolist():
            mine = np.flatnonzero(owner == number)
            table[:, mine] = self.part(number).values(points, components[mine] - self.edges[number])
        return table

    def pattern(self, batch: Batch) -> Pattern | None:
        """Return the coordinates of each component of a batch, where every part is here and knows them."""
        components = batch.slice(0, len(batch))
        if not all(has(part, "pattern") for part in self.parts):
            return None
        owner, lists = self._owner(components), [np.zeros(0, dtype=np.int64)] * len(components)
        for number in np.unique(owner).tolist():
            mine = np.flatnonzero(owner == number)
            own = Batch(int(self.sizes[number]), components[mine] - self.edges[number])
            found = self.parts[number].pattern(own)
            if found is None:
                return None
            for place, index in zip(mine.tolist(), np.split(found.index, found.starts[1:-1]), strict=True):
                lists[place] = index
        return Pattern.of(lists)

    # ------------------------------------------------------------------ queries, part by part

    def tiles(self, query: Query) -> list[Tile]:
        """Return the fixed partition of a query: no tile has components of two parts.

        Rows count through the batch sorted by parts. A paired query has no rows to sort: its
        tiles are the runs of directions that meet one part.
        """
        plan = self._plan(query)
        if query.paired:
            return plan.runs
        sides, b = 2 if query.stencil.two_sided else 1, query.count
        rows = max(1, min(TILE_COMPONENTS, self.at_once // (sides * max(1, b))))
        whole = rows > 1 or (query.variance and query.stencil is Stencil.FORWARD)
        width = b if whole else max(1, self.at_once // sides)
        columns = blocks(b, max(1, width)) or [(0, 0)]
        return [
            Tile(left, right, int(begin) + top, int(begin) + bottom)
            for begin, end in itertools.pairwise(plan.edges)
            for top, bottom in blocks(int(end - begin), rows)
            for left, right in columns
        ]

    def owner(self, query: Query, tile: Tile) -> int:
        """Return the part whose components a tile has."""
        plan = self._plan(query)
        if query.paired:
            return int(plan.owner[tile.left])
        return int(np.searchsorted(plan.edges, tile.top, side="right")) - 1

    def local(self, query: Query, number: int, tiles: Sequence[Tile]) -> tuple[Query, list[Tile]]:
        """Return a query and tiles of it, as the part that owns them knows them."""
        plan, size = self._plan(query), int(self.sizes[number])
        if query.paired:
            indices = np.where(plan.owner == number, plan.indices - self.edges[number], 0)
            return dataclasses.replace(query, batch=Batch(size, indices)), list(tiles)
        top, bottom = plan.edges[number : number + 2].tolist()
        batch = Batch(
            size, None if query.batch.indices is None else plan.indices[top:bottom] - self.edges[number]
        )
        moved = [Tile(tile.left, tile.right, tile.top - top, tile.bottom - top) for tile in tiles]
        return dataclasses.replace(query, batch=batch), moved

    def sums(self, query: Query, tile: Tile) -> Sums:
        """Return one tile, by the part that owns it."""
        number = self.owner(query, tile)
        asked, (mine,) = self.local(query, number, [tile])
        try:
            return tile_sums(self.part(number), asked, mine)
        except EvaluationError as error:
            raise self.blame(number, error) from error

    def blame(self, number: int, error: EvaluationError) -> EvaluationError:
        """Return an error of a part, with the component as it is counted in the whole."""
        first, last = self.edges[number : number + 2].tolist()
        component = None if error.component is None else error.component + first
        reason = f"In part {number}, which has components {first} to {last - 1}: {error.reason}"
        return EvaluationError(reason, point=error.point, component=component)

    def _owner(self, components: Indices) -> Indices:
        return np.searchsorted(self.edges, components, side="right").astype(np.int64) - 1

    def _plan(self, query: Query) -> _Plan:
        """Of the last query, as tiles of one are asked for together."""
        if self._last is None or self._last[0] is not query:
            self._last = query, self._sorted(query)
        return self._last[1]

    def _sorted(self, query: Query) -> _Plan:
        indices = query.batch.indices
        if indices is None and not query.paired:
            everyone = np.empty(0, dtype=np.int64)
            return _Plan(self.edges, everyone, everyone, [])
        components = query.batch.slice(0, query.size)
        owner = self._owner(components)
        if query.paired:
            starts = [0, *(np.flatnonzero(np.diff(owner)) + 1).tolist(), len(owner)]
            width = max(1, self.at_once // (2 if query.stencil.two_sided else 1))
            runs = [
                Tile(begin + left, begin + right, begin + left, begin + right)
                for begin, end in itertools.pairwise(starts)
                for left, right in blocks(end - begin, width)
            ]
            return _Plan(self.edges, components, owner, sorted(runs, key=lambda run: int(owner[run.left])))
        order = np.argsort(owner, kind="stable")
        if query.each and (np.diff(order) < 0).any():
            raise ValueError(
                "A query for each component of a Sharded problem needs a batch in ascending order."
            )
        counts = np.bincount(owner, minlength=len(self.parts))
        return _Plan(np.concatenate([[0], np.cumsum(counts)]), components[order], owner[order], [])


class _Plan(NamedTuple):
    """Where parts begin in a sorted batch; its components, their owners; tiles of pairs."""

    edges: Indices
    indices: Indices
    owner: Indices
    runs: list[Tile]


def _build(number: int, load: Loader, n: int, dim: int) -> Problem:
    return check_part(number, load(), n, dim)


def check_part(number: int, part: object, n: int, dim: int) -> Problem:
    """Return the part, if it is what it was said to be."""
    if not isinstance(part, Problem):
        raise TypeError(
            f"The function for part {number} of Sharded returned {type(part).__name__}, not a problem."
        )
    if (part.n, part.dim) != (n, dim):
        raise ValueError(
            f"Part {number} of Sharded should have n={n} and dim={dim}; it has n={part.n} and dim={part.dim}."
        )
    return part


def _check_whole(name: str, value: object) -> None:
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < 1:
        raise ValueError(f"Sharded needs {name} to be a whole number of at least 1; got {value!r}.")
