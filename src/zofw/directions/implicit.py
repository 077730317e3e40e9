"""Direction matrices that exist only as a rule for their entries.

U_ij is a function of (key, i, j), so that a d×b matrix is a key and a shape: blocks are made
where they are needed, in any order and on any machine, and are the same numbers everywhere. A
method needs three products of it, each in O(TILE_ENTRIES) memory:

    U c      an estimate from slopes, s·U c                            (d,)
    Uᵀ g     what a known g predicts for the slopes                     (b,)
    Z U      the changes of the margins of a linear model along U       (rows of Z, b), from the rows of U that Z touches
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar, Protocol

import numpy as np

from zofw import kernels
from zofw.core import Array, Directions, Indices, Law, Matrix, Operator
from zofw.extras import lazy
from zofw.kernels.rows import Rows
from zofw.kernels.words import SOURCES, TILE_ENTRIES, Entries, kept
from zofw.registry import Registry

if TYPE_CHECKING:
    from scipy.sparse import csr_array

sp = lazy("scipy.sparse")

laws: Registry[Law] = Registry("law of directions")

KEPT = 1 << 14  # entries of a matrix that are drawn once and kept: 128 kB
NORMALS = SOURCES["normals"]


def new_key(rng: np.random.Generator) -> int:
    """Return A 64-bit key for one direction matrix."""
    bits = rng.bit_generator
    if isinstance(bits, np.random.Philox):  # the same word, sooner than integers finds it
        return int(bits.random_raw())
    return int(rng.integers(1 << 64, dtype=np.uint64))


def at_least_one(count: int) -> None:
    """Every law needs a direction to draw."""
    if int(count) != count or count < 1:
        raise ValueError(
            f"At least one direction is needed, and a whole number of them; directions={count} was asked for."
        )


class IndependentColumns:
    """What laws with b independent columns and E[uuᵀ] = I share; entry (i, j) is a function of
    (key, i, j) alone.

    E[UUᵀ] = bI, so that the scale s with s·E[UUᵀ] = I is 1/b. For columns u and v that are
    independent, E‖UUᵀx‖² = b·E[‖u‖²(uᵀx)²] + b(b − 1)‖x‖², and each law states the first term.
    """

    kind: ClassVar[str]
    """Name of the entries among the kernels: ``"signs"`` or ``"normals"``."""
    kernel: ClassVar[str | None]
    """The same name where the entries are those of the kernels and nothing else; None where they are not."""

    def __init_subclass__(cls) -> None:
        base = IndependentColumns
        plain = cls.numbers is base.numbers and cls.factors is base.factors
        cls.kernel = cls.kind if plain else None

    def numbers(self, entries: int) -> Entries:
        """Return who draws so many entries; a law of your own gives ``kernels.plain.Entries(rule)``."""
        return (kernels.settled or kernels.routines(entries)).SOURCES[self.kind]

    def factors(self, drawn: Implicit) -> Array | None:
        """Return the factor of each column, where the law has one."""
        return None

    def draw(self, rng: np.random.Generator, dim: int, count: int) -> Implicit:
        self.check(dim, count)
        return Implicit(self, dim, count, new_key(rng))

    def scale(self, dim: int, count: int) -> float:
        return 1.0 / count

    def check(self, dim: int, count: int) -> None:
        if type(count) is not int or count < 1:
            at_least_one(count)


@dataclass(frozen=True)
class Implicit(Operator):
    """The d×b matrix that ``law`` draws for ``key``.

    Blocks of a large one are made when they are needed and forgotten afterwards. Normal entries
    that are few are kept where plain code draws them: an iteration needs them three times, and
    drawing takes longer than all else that is done with them.
    """

    law: IndependentColumns
    dim: int
    count: int
    key: int

    @cached_property
    def _factors(self) -> Array | None:
        return self.law.factors(self)

    def numbers(self, entries: int) -> Entries:
        """Who draws the next ``entries`` entries, or has them."""
        own = vars(self)
        before: Entries | None = own.get("_kept")
        if before is not None:
            return before
        found = self.law.numbers(entries)
        if found is NORMALS and self.dim * self.count <= KEPT:
            every = np.arange(self.dim, dtype=np.int64)
            found = own["_kept"] = kept(found.block(self.key, every, 0, self.count))
        return found

    def block(self, rows: Indices, left: int, right: int) -> Array:
        """Return U[rows, left:right]."""
        numbers = self.numbers(len(rows) * (right - left))
        return self._scaled(numbers.block(self.key, rows, left, right), left, right)

    def columns(self, start: int, stop: int) -> Array:
        return self.block(np.arange(self.dim, dtype=np.int64), start, stop)

    def rows(self, index: Indices) -> Array:
        return self.block(np.asarray(index, dtype=np.int64), 0, self.count)

    def combine(self, c: Array) -> Array:
        if c[0] == 0.0 and not c.any():
            return np.zeros(self.dim)
        if self.law.kernel is None:
            c = self._scaled(c, 0, self.count)
        return self.numbers(self.dim * self.count).combine(self.key, self.dim, c)

    def project(self, g: Array) -> Array:
        if not g.any():
            return np.zeros(self.count)
        return self._scaled(
            self.numbers(self.dim * self.count).project(self.key, g, self.count), 0, self.count
        )

    def product(self, Z: Matrix | Rows) -> Array:
        if isinstance(Z, np.ndarray):
            return dense_product(self, Z)
        rows = Z if isinstance(Z, Rows) else Rows.of(as_csr(Z))
        numbers = self.numbers(min(rows.about, self.dim) * self.count)
        return self._scaled(numbers.product(self.key, rows, self.count), 0, self.count)

    def _scaled(self, entries: Array, left: int, right: int) -> Array:
        if self.law.kernel is not None or self._factors is None:
            return entries
        return entries * self._factors[left:right]


class InBlocks(Directions, Protocol):
    """Directions any block of which can be made."""

    def block(self, rows: Indices, left: int, right: int) -> Array:
        """Return U[rows, left:right]."""


def as_csr(Z: Matrix) -> csr_array:
    """Return Z by rows, in double precision and contiguous; untouched where it is that already."""
    rows = Z if isinstance(Z, sp.csr_array) and Z.dtype == np.float64 else sp.csr_array(Z, dtype=float)
    parts = (rows.data, rows.indices, rows.indptr)
    if all(part.flags.c_contiguous for part in parts):
        return rows
    return sp.csr_array(tuple(map(np.ascontiguousarray, parts)), shape=rows.shape)


def touched_product(directions: InBlocks, Z: Matrix | Rows) -> Array:
    """Return Z U from rows of U: in tiles for a dense Z, those that a sparse Z touches."""
    if isinstance(Z, np.ndarray):
        return dense_product(directions, Z)
    entries = Entries(lambda _, rows, left, right: directions.block(rows, left, right))
    return entries.product(0, Z if isinstance(Z, Rows) else Rows.of(as_csr(Z)), directions.count)


def dense_product(directions: Directions, Z: Array) -> Array:
    """Return Z U = Σ_tiles Z[:, tile] U[tile, :] for a dense Z, (m, b), by the BLAS."""
    Z = np.atleast_2d(np.asarray(Z, dtype=float))
    out = np.zeros((Z.shape[0], directions.count))
    at_once = max(1, TILE_ENTRIES // directions.count)
    for start in range(0, Z.shape[1], at_once):
        stop = min(Z.shape[1], start + at_once)
        out += Z[:, start:stop] @ directions.rows(np.arange(start, stop, dtype=np.int64))
    return out
