"""Every operation in NumPy alone: the reference of the compiled kernels, and their stand-in.

Entry (i, j) of an implicit matrix U is a function of (key, i, j). Every sum has one order,
stated here, whatever the tiles or the threads:

========== ===========================================================================================================
U c        normals: over j, one after the other. Signs: a table of the 256 sums ±c₀ ± … ± c₇ for every byte of a row,
           eight entries of it added in pairs for every word, then word after word.
Uᵀ g       per tile of 4096 rows, tiles one after the other. Normals: in a tile, rows i ≡ l (mod 64) one after the
           other for each lane l, then lanes by halving. Signs: in a tile, a histogram of g over the 256 values of each
           byte, folded bit by bit from the highest.
Z U        per row of Z, non-zeros one after the other; for a dense Z by the BLAS, in tiles of rows of U.
Σ_i φ(…)   over rows one after the other within groups of 32, of 2048 or more along coordinates, then over the groups;
           of all margins in groups of 1024: rows i ≡ l (mod 64) one after the other for each lane l, then lanes by halving.
========== ===========================================================================================================
"""

from __future__ import annotations

import numpy as np

from zofw.core import Array
from zofw.core.task import integers
from zofw.kernels.losses import coordinate_sums, stencil_sums, total, values
from zofw.kernels.rows import KINDS, Rows, Shift, Source, StencilSteps
from zofw.kernels.words import SOURCES, Entries

__all__ = [
    "SOURCES", "Entries", "answer", "coordinate_sums", "integers", "margins", "stencil_sums", "total", "values",
]  # fmt: skip


def margins(rows: Rows, points: Array) -> Array:
    """Return rows · x for every point (rows of the result): (k, s)."""
    return np.ascontiguousarray((rows.csr() @ points.T).T)


def answer(
    kernel: str, loss: str, rows: Rows, shift: Shift, points: Array, U: Source, steps: StencilSteps
) -> Array:
    """:func:`stencil_sums` of sparse rows and implicit directions; ``kernel`` says how compiled code does it."""
    along = SOURCES[KINDS[U.kind]].product(U.key, rows, U.columns)
    return stencil_sums(loss, shift.of(margins(rows, points), rows), along, steps)
