"""Linear models: f_i(x) = φ(a_iᵀx − c_i), answered from A·x and A·U without forming a perturbed point."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from zofw import kernels
from zofw.core import Array, Batch, Directions, Indices, Matrix, Pattern, Query, Stencil, Tile, of_length
from zofw.directions import Coordinates, Implicit, UnitSteps
from zofw.extras import lazy
from zofw.kernels import table
from zofw.kernels.losses import LINES
from zofw.kernels.rows import KINDS, NO_OFFSETS, Rows, Shift, Source, StencilSteps
from zofw.problems.abilities import TILE_VALUES, Sums
from zofw.problems.evaluate import reduce_table
from zofw.problems.sample_rows import Touched, coordinates, largest_singular_value, paired_product, row_of

sp = lazy("scipy.sparse")

TALL = 4  # tiles of sparse rows are taller than others by this factor


class LinearModel(ABC):
    """A finite sum of losses of margins, f_i(x) = φ(t_i) with t_i = a_iᵀx − c_i.

    A batch of rows A_S costs one product A_S·x for each anchor and one A_S·U for all of them;
    the values at x ± μu are φ(t ± μ a_iᵀu). Along a unit vector e_j only the rows with a_ij ≠ 0
    change, so a whole basis costs O(nnz).
    """

    matrix: Any
    """A, (n, d): a CSR array or a dense array, in double precision."""
    offsets: Array | None
    """c, (n,); None for zeros."""
    curvature: ClassVar[float]
    """A bound on |φ″|."""
    formula: ClassVar[str | None] = None
    """The name of ψ among the kernels if φ(t) = height·ψ(t/unit); None if `loss` is defined."""
    unit: float = 1.0
    height: float = 1.0
    convex: ClassVar[bool]

    def loss(self, t: Array) -> Array:
        """Return φ(t), elementwise; a contiguous t, which may be overwritten."""
        if self.unit != 1.0:
            t /= self.unit
        out = kernels.routines(t.size).values(str(self.formula), t)
        if self.height != 1.0:
            out *= self.height
        return out

    @abstractmethod
    def slope(self, t: Array) -> Array:
        """Return φ′(t), elementwise."""

    def __repr__(self) -> str:
        entries = f", nnz={self.matrix.nnz}" if self.sparse else ""
        return f"{type(self).__name__}(n={self.n}, dim={self.dim}{entries})"

    @cached_property
    def n(self) -> int:
        return int(self.matrix.shape[0])

    @cached_property
    def dim(self) -> int:
        return int(self.matrix.shape[1])

    def value(self, x: ArrayLike) -> float:
        """Return the mean of all components at x."""
        x = of_length(self.dim, x, "value(x)")
        t = self._part(Batch(self.n), 0, self.n).margins(x[None])[0]
        if self.formula is None:
            return float(self.loss(t).sum() / self.n)
        t /= self.unit
        return self.height * kernels.routines(self.n).total(self.formula, t) / self.n

    def gradient(self, x: ArrayLike) -> Array:
        """Aᵀφ′(t)/n; for diagnosis."""
        t = self.matrix @ np.asarray(x, dtype=float)
        t = t if self.offsets is None else t - self.offsets
        return np.asarray(self.matrix.T @ self.slope(np.asarray(t))) / self.n

    @cached_property
    def sparse(self) -> bool:
        """Return True if A is a sparse array."""
        return bool(sp.issparse(self.matrix))

    @cached_property
    def L(self) -> float:
        """Return a bound of the smoothness of the mean, max|φ″|·σ₁(A)²/n."""
        return self.curvature * largest_singular_value(self.matrix) ** 2 / self.n

    @cached_property
    def L_hat(self) -> float:
        """Return smoothness of every component: max|φ″|·max‖a_i‖², for ∇²f_i = φ″(t_i) a_i a_iᵀ."""
        squares = self.matrix.multiply(self.matrix) if self.sparse else self.matrix**2
        return self.curvature * float(np.max(squares.sum(axis=1)))

    def pattern(self, batch: Batch) -> Pattern | None:
        """Return the coordinates of each component of a batch; None for dense rows, which have all of them."""
        if not self.sparse:
            return None
        rows = Rows.of(self.matrix, batch.indices).csr()
        return Pattern(rows.indptr.astype(np.int64), rows.indices.astype(np.int64))

    def values(self, points: Array, components: Indices) -> Array:
        batch = Batch(self.n, components)
        return self.loss(self._part(batch, 0, len(batch)).margins(points))

    def rows_at_once(self, query: Query) -> int:
        """Return rows whose table of values, or whose non-zeros along a basis, fill a tile;
        many where only sums are kept.

        A tile draws the entries of implicit directions itself, so many rows should share them.
        """
        U, sides = query.directions, 2 if query.stencil.two_sided else 1
        if self.sparse and isinstance(U, Implicit) and U.law.kernel is not None and not query.variance:
            return LINES * TILE_VALUES // (sides * query.count * len(query.anchors))
        sparse_along = self.sparse and isinstance(U, Coordinates)
        return TILE_VALUES // max(1, sides * (self._nonzeros if sparse_along else query.count))

    @property
    def tall(self) -> int:
        """Return how many times the usual rows a tile may have."""
        return TALL if self.sparse else 1

    def kernel(self, query: Query) -> table.Row:
        """Return the row of :mod:`zofw.kernels.table` that answers a query."""
        return kernel_for(query, self.sparse, self.formula is not None)

    def sums(self, query: Query, tile: Tile) -> Sums:
        row = kernel_for(query, self.sparse, self.formula is not None)
        if row.routine == "at_once" and tile.right - tile.left == query.count:
            return self._at_once(query, row, self._rows.some(query.batch.indices, tile.top, tile.bottom))
        if row.routine == "at_once":  # some columns alone, as parts of a sum may have them
            row = table.PRODUCTS
        return self._routines[row.routine](self, query, tile, self._part(query.batch, tile.top, tile.bottom))

    def _values(self, query: Query, tile: Tile, part: BatchRows) -> Sums:
        """Return Σ_i φ(t_i) at each anchor, (k, 1)."""
        return Sums(self.loss(part.margins(query.anchors)).sum(axis=1, keepdims=True))

    def _at_once(self, query: Query, row: table.Row, rows: Rows) -> Sums:
        """Return Σ_i φ(t_i ± μa_iᵀu_j) by one kernel, which draws U and multiplies as it goes."""
        U, kernel, loss = query.directions, row.kernel, self.formula
        assert isinstance(U, Implicit) and kernel is not None and loss is not None
        by = kernels.settled or kernels.routines(rows.size * U.count)
        source = Source(KINDS.index(U.law.kind), U.key, U.count)
        sums = by.answer(kernel, loss, rows, self._shift, query.anchors, source, self._steps(query))
        return self._scaled(sums)

    @cached_property
    def _rows(self) -> Rows:
        """Return all rows of a sparse A."""
        return Rows.of(self.matrix)

    @cached_property
    def _shift(self) -> Shift:
        return Shift(NO_OFFSETS if self.offsets is None else self.offsets, self.unit)

    def _along_products(self, query: Query, tile: Tile, part: BatchRows) -> Sums:
        """Return the same from the product A·U, (s, w), without a table of the 2w·s values."""
        along = np.ascontiguousarray(part.along(_directions(query))[:, tile.left : tile.right])
        t = part.margins(query.anchors) / self.unit
        steps = self._steps(query)._replace(base=query.stencil.has_base and tile.first)
        by = kernels.settled or kernels.routines(t.size * along.shape[1])
        return self._scaled(by.stencil_sums(str(self.formula), t, along, steps))

    def _along_coordinates(self, query: Query, tile: Tile, part: BatchRows) -> Sums:
        """Return the same along coordinates, as Σ_i φ(t_i) and the changes where a_ij ≠ 0."""
        (width, place), rows = coordinates(query, tile), part.sparse
        t, steps = part.margins(query.anchors) / self.unit, self._steps(query)
        by = kernels.settled or kernels.routines(len(t) * steps.sides * (rows.about + width))
        found = by.coordinate_sums(str(self.formula), rows, place, width, t, steps)
        return self._scaled(found if query.stencil.has_base and tile.first else found[:, :-1])

    def _table(self, query: Query, tile: Tile, part: BatchRows) -> Sums:
        """Return sums of a table of all φ(t ± μAU), for variances and losses without a kernel."""
        along = part.along(_directions(query))[:, tile.left : tile.right]
        steps = np.multiply(along.T, query.radius, order="C")  # (w, s)
        margins = part.margins(query.anchors)
        return _joined([self._table_sums(query, tile, t[None, :], steps) for t in margins])

    def _paired(self, query: Query, tile: Tile, part: BatchRows) -> Sums:
        """Return one value for each direction and its component: φ(t_j ± μa_jᵀu_j)."""
        along = paired_product(_directions(query), part.matrix, tile.left, tile.right)
        steps, margins = query.radius * along[:, None], part.margins(query.anchors)
        return _joined([self._table_sums(query, tile, t[:, None], steps) for t in margins])

    def _own(self, query: Query, tile: Tile, part: BatchRows) -> Sums:
        """Return φ(t_i + μ s_j a_ij) for every pair of a component and a coordinate."""
        U, pairs = query.directions, slice(tile.left, tile.right)
        assert isinstance(U, UnitSteps)
        components, position = np.unique(query.batch.slice(tile.left, tile.right), return_inverse=True)
        t = self._part(Batch(self.n, components), 0, len(components)).margins(query.anchors)
        steps = query.radius * (U.sign[pairs] * self._entries(components[position], U.index[pairs]))
        return Sums(self.loss(np.add(t[:, position], steps, order="C")))

    def _entries(self, rows: Indices, columns: Indices) -> Array:
        """Return a_ij for pairs of a row and a column."""
        if not self.sparse:
            return np.asarray(self.matrix[rows, columns])
        wanted = rows * self.dim + columns
        place = np.minimum(np.searchsorted(self._places, wanted), self._places.size - 1)
        return np.where(self._places[place] == wanted, self.matrix.data[place], 0.0)

    @cached_property
    def _places(self) -> Indices:
        """Return i·d + j of the entries of a sparse A, increasing."""
        return np.asarray(row_of(self.matrix) * self.dim + self.matrix.indices)

    def _touched(self, query: Query, tile: Tile, part: BatchRows) -> Sums:
        """Return the values that a step along a coordinate changes, in a table."""
        touched, margins = Touched.of(query, tile, part.matrix), part.margins(query.anchors)
        return _joined([self._coordinate_sums(query, tile, t, touched) for t in margins])

    _routines: ClassVar[dict[str, Callable[..., Sums]]] = {
        "values": _values,
        "along_products": _along_products,
        "along_coordinates": _along_coordinates,
        "table": _table,
        "paired": _paired,
        "own": _own,
        "touched": _touched,
    }

    def _steps(self, query: Query) -> StencilSteps:
        """Return the stencil, in units of the margins."""
        return StencilSteps(query.radius / self.unit, 1 + query.stencil.two_sided, query.stencil.has_base)

    def _scaled(self, sums: Array) -> Sums:
        return Sums(sums if self.height == 1.0 else self.height * sums)

    def _table_sums(self, query: Query, tile: Tile, t: Array, steps: Array) -> Sums:
        """Return sums of φ(t + step), φ(t − step), φ(t): steps (w, s) and t (1, s), or both (w, 1)."""
        table = np.empty((len(query.tile_columns(tile)), steps.shape[1]))
        width = len(steps)
        np.add(t, steps, out=table[:width])
        if query.stencil.two_sided:
            np.subtract(t, steps, out=table[width : 2 * width])
        if query.stencil.has_base and (query.paired or tile.first):
            table[-len(t) :] = t
        return reduce_table(query, tile, self.loss(table)[None])

    def _coordinate_sums(self, query: Query, tile: Tile, t: Array, touched: Touched) -> Sums:
        """Return Σf_i(x ± μe_j) = Σf_i(x) + the changes of the rows with a_ij ≠ 0."""
        base = self.loss(t.copy())
        before = base[touched.row]
        ahead = self.loss(t[touched.row] + touched.step) - before
        total = base.sum()
        values = [total + touched.sum(ahead)]
        change, distance = ahead, query.radius
        if query.stencil.two_sided:
            behind = self.loss(t[touched.row] - touched.step) - before
            values.append(total + touched.sum(behind))
            change, distance = ahead - behind, 2.0 * query.radius
        if query.stencil.has_base and tile.first:
            values.append(np.array([total]))
        squares = touched.centred_squares(change / distance)[None] if query.variance else None
        return Sums(np.concatenate(values)[None], squares)

    @cached_property
    def _nonzeros(self) -> int:
        """Return non-zeros of an average row, rounded up."""
        return -(-int(self.matrix.nnz) // self.n)

    def _part(self, batch: Batch, top: int, bottom: int) -> BatchRows:
        """Return positions top, …, bottom − 1 of a batch; sparse rows without a copy."""
        index = slice(top, bottom) if batch.indices is None else batch.indices[top:bottom]
        rows = self._rows.some(batch.indices, top, bottom) if self.sparse else self.matrix[index]
        return BatchRows(rows, index, self.offsets)


class BatchRows(NamedTuple):
    """Rows of A, where they are in it, and the offsets of all of them."""

    rows: Rows | Array
    place: Indices | slice
    offsets: Array | None

    @property
    def sparse(self) -> Rows:
        """Return the rows of a part that the table of kernels takes for a sparse one."""
        assert isinstance(self.rows, Rows)
        return self.rows

    @property
    def matrix(self) -> Matrix:
        """Return the rows as a matrix of their own, CSR or dense."""
        return self.rows.csr() if isinstance(self.rows, Rows) else self.rows

    def margins(self, points: Array) -> Array:
        """Return t for every point (rows) and component (columns), contiguous."""
        if isinstance(self.rows, Rows):
            by = kernels.settled or kernels.routines(len(points) * self.rows.size)
            t = by.margins(self.rows, points)
        else:
            t = np.ascontiguousarray((self.rows @ points.T).T)
        if self.offsets is not None:
            t -= self.offsets[self.place]
        return t

    def along(self, U: Directions) -> Array:
        """Return rows · U; laws with a rule for their entries take the rows as they are."""
        return U.product(self.rows if isinstance(U, Implicit) else self.matrix)


def kernel_for(query: Query, sparse: bool, by_formula: bool = True) -> table.Row:
    """Return the kernel for a query: of sparse or dense rows, of a loss among the kernels or not."""
    stencil = "differences" if by_formula and not query.variance else "variance"
    stencil = "value" if query.directions is None else "paired" if query.paired else stencil
    return table.KERNELS[_law(query), "sparse" if sparse else "dense", stencil]


def _law(query: Query) -> str:
    """Return what the table of kernels calls the directions."""
    U = query.directions
    if isinstance(U, Implicit) and U.law.kernel is not None:
        return f"few {U.law.kernel}" if U.dim * U.count <= table.FEW else U.law.kernel
    if isinstance(U, UnitSteps) and query.stencil is Stencil.AHEAD:
        return "unit steps"
    return "none" if U is None else "coordinates" if isinstance(U, Coordinates) else "other"


def _joined(parts: list[Sums]) -> Sums:
    """Return the anchors' sums in one."""
    squares = [part.squares for part in parts if part.squares is not None]
    return Sums(np.concatenate([part.values for part in parts]), np.concatenate(squares) if squares else None)


def _directions(query: Query) -> Directions:
    assert query.directions is not None
    return query.directions
