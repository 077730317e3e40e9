"""Rows of a matrix of samples: checked, picked for a batch, and multiplied by directions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from zofw.arrays import to_numpy
from zofw.core import Array, Directions, Indices, Matrix, Query, Tile, blocks
from zofw.directions import Coordinates
from zofw.directions.implicit import as_csr
from zofw.extras import lazy
from zofw.problems.abilities import TILE_VALUES

if TYPE_CHECKING:
    from scipy.sparse import csr_array

sp = lazy("scipy.sparse")

SMALL = 64  # sides up to which a largest singular value comes from a full decomposition


class Touched(NamedTuple):
    """The non-zeros of s rows in the coordinates of a tile: where a step along one of them
    changes something.

    Along e_j the margin of row i moves by μa_ij, so that only rows with a_ij ≠ 0 have to be
    evaluated again: O(nnz) values for a whole basis instead of s·d. ``row``, ``column`` and
    ``step`` have an entry (i, j, μa_ij) for each.
    """

    row: Indices
    column: Indices
    step: Array
    rows: int
    width: int

    @classmethod
    def of(cls, query: Query, tile: Tile, rows: csr_array) -> Touched:
        """From CSR rows; column counts from the left edge of the tile, and step is μa_ij."""
        row, (width, place) = row_of(rows), coordinates(query, tile)
        column = rows.indices if place is None else place[rows.indices]
        inside = column >= 0
        return cls(row[inside], column[inside], query.radius * rows.data[inside], rows.shape[0], width)

    def sum(self, entries: Array) -> Array:
        """Return sums over each column, in the order of the rows."""
        return np.bincount(self.column, weights=entries, minlength=self.width).astype(float, copy=False)

    def centred_squares(self, slopes: Array) -> Array:
        """Return Σ_i(δ_ij − δ̄_j)², (width,); rows that a column does not touch have δ_ij = 0."""
        mean = self.sum(slopes) / self.rows
        untouched = self.rows - np.bincount(self.column, minlength=self.width)
        return self.sum((slopes - mean[self.column]) ** 2) + untouched * mean**2


def paired_product(directions: Directions, rows: Any, left: int, right: int) -> Array:
    """Return a_jᵀu_{left+j} for each of the given rows, (right − left,), and no other product."""
    out = np.empty(right - left)
    if not sp.issparse(rows):
        for start, stop in blocks(right - left, max(1, TILE_VALUES // directions.dim)):
            columns = directions.columns(left + start, left + stop)
            out[start:stop] = np.einsum("ij,ji->i", rows[start:stop], columns)
        return out
    touched, place = np.unique(rows.indices, return_inverse=True)
    if len(touched) * directions.count <= TILE_VALUES:
        row = row_of(rows)
        entries = directions.rows(touched.astype(np.int64))[place, left + row]
        out[:] = np.bincount(row, weights=rows.data * entries, minlength=right - left)
        return out
    for start, stop in blocks(right - left, max(1, TILE_VALUES // directions.dim)):
        part = _consecutive(rows, start, stop)
        row = row_of(part)
        entries = directions.columns(left + start, left + stop)[part.indices, row]
        out[start:stop] = np.bincount(row, weights=part.data * entries, minlength=stop - start)
    return out


def coordinates(query: Query, tile: Tile) -> tuple[int, Indices | None]:
    """Return a tile's number of unit vectors and the place of each coordinate, −1 for none."""
    assert isinstance(query.directions, Coordinates)
    wanted, dim = query.directions.index[tile.left : tile.right], query.directions.dim
    if len(wanted) == dim:
        return dim, None
    place = np.full(dim, -1, dtype=np.int64)
    place[wanted] = np.arange(len(wanted))
    return len(wanted), place


def samples(owner: str, Z: ArrayLike | Matrix, y: ArrayLike) -> tuple[Any, Array]:
    """Return Z as a CSR or dense array of doubles, and y; or a sentence on what is wrong."""
    sparse = sp.issparse(Z)
    matrix: Any = sp.csr_array(Z) if sparse else to_numpy(Z)
    targets = to_numpy(y)
    if matrix.ndim != 2 or 0 in matrix.shape:
        raise ValueError(
            f"{owner} needs a matrix Z of n ≥ 1 rows and d ≥ 1 columns; got an array of shape {matrix.shape}."
        )
    if targets.shape != matrix.shape[:1]:
        raise ValueError(
            f"{owner} needs one label for each of the {matrix.shape[0]} rows of Z; y has the shape {targets.shape}."
        )
    for name, array in (("Z", matrix.data if sparse else matrix), ("y", targets)):
        if array.dtype.kind not in "fiub":
            raise ValueError(f"{owner} needs real numbers; {name} has the dtype {array.dtype}.")
        if not np.isfinite(array).all():
            wrong = np.count_nonzero(~np.isfinite(array))
            raise ValueError(f"{owner} needs finite numbers; {name} has {wrong} that are NaN or infinite.")
    if not sparse:
        return np.ascontiguousarray(matrix, dtype=float), targets.astype(float)
    matrix.check_format(full_check=True)
    matrix = as_csr(matrix)
    if not matrix.has_canonical_format:
        matrix = matrix.copy()
        matrix.sum_duplicates()
    return matrix, targets.astype(float)


def row_of(rows: csr_array) -> Indices:
    """Return the row of every stored entry of a CSR array."""
    return np.repeat(np.arange(rows.shape[0], dtype=np.int64), np.diff(rows.indptr))


def _consecutive(matrix: Any, top: int, bottom: int) -> Any:
    """Return rows top, …, bottom − 1 that share the memory of the matrix."""
    if not sp.issparse(matrix):
        return matrix[top:bottom]
    first, last = matrix.indptr[top], matrix.indptr[bottom]
    parts = (matrix.data[first:last], matrix.indices[first:last], matrix.indptr[top : bottom + 1] - first)
    return sp.csr_array(parts, shape=(bottom - top, matrix.shape[1]))


def largest_singular_value(matrix: Any) -> float:
    """Return σ₁(A), by the smaller Gram matrix up to 64 rows or columns, by Lanczos beyond."""
    if min(matrix.shape) <= SMALL:
        gram = matrix.T @ matrix if matrix.shape[0] >= matrix.shape[1] else matrix @ matrix.T
        dense = gram.toarray() if sp.issparse(gram) else gram
        return float(np.sqrt(max(0.0, np.linalg.eigvalsh(dense)[-1])))
    from scipy.sparse.linalg import svds

    start = np.ones(min(matrix.shape))
    return float(svds(matrix, k=1, v0=start, return_singular_vectors=False)[0])
