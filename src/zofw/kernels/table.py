"""The one table that says which kernel answers which query of a linear model.

A linear model looks its query up by (law, storage, stencil); ``zofw doctor --kernels`` and the
page on speed print the rows.
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

FEW = 1 << 15  # entries of U that are drawn once for a query and kept


class Row(NamedTuple):
    """A routine of the model, the kernel behind it (none: NumPy), what it does, and the benchmark row that measures it."""

    routine: str
    kernel: str | None
    does: str
    measured: str | None = None


AT_ONCE = partial(Row, "at_once")
VALUES = Row("values", "loss_values", "A·x, then φ of it", None)
TABLED = AT_ONCE("row_groups, table", "U drawn once into a table, one pass over the rows", "a9a iteration")
STREAMED = AT_ONCE("row_groups, streams", "signs drawn again for each non-zero", "rcv1 refresh, Rademacher")
BLOCKS = AT_ONCE("column_blocks", "32 columns of U at a time, all rows past them", "rcv1 refresh, Gaussian")
COORDINATES = Row(
    "along_coordinates", "coordinate_groups", "the rows with a_ij ≠ 0 alone", "w8a zo-fw gradient"
)
PRODUCTS = Row("along_products", "product_groups", "A·U by the law, then sums without a table of values")
TABLE_OF_VALUES = Row("table", None, "A·U by the law, then a table of all values")
TOUCHED = Row("touched", None, "a table of the values of the rows with a_ij ≠ 0")
OWN = Row("own", "loss_values", "φ(t_i ± μa_ij) for the coordinates of each component")
PAIRED = Row("paired", None, "a_jᵀu_j for each pair, then a table of their values")

# few: at most FEW entries of U
LAWS = ("few signs", "signs", "few normals", "normals", "coordinates", "unit steps", "other")
STORAGES = ("sparse", "dense")
STENCILS = ("value", "differences", "variance", "paired")  # a loss without a kernel goes with the variance

KERNELS: dict[tuple[str, str, str], Row] = {
    **{("none", storage, "value"): VALUES for storage in STORAGES},
    **{(law, storage, "paired"): PAIRED for law in LAWS for storage in STORAGES},
    **{(law, storage, "variance"): TABLE_OF_VALUES for law in LAWS for storage in STORAGES},
    **{(law, storage, "differences"): PRODUCTS for law in LAWS for storage in STORAGES},
    **{("unit steps", storage, "paired"): OWN for storage in STORAGES},
    ("few signs", "sparse", "differences"): TABLED,
    ("few normals", "sparse", "differences"): TABLED,
    ("signs", "sparse", "differences"): STREAMED,
    ("normals", "sparse", "differences"): BLOCKS,
    ("coordinates", "sparse", "differences"): COORDINATES,
    ("coordinates", "sparse", "variance"): TOUCHED,
}
