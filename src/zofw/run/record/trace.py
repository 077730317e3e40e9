"""What a run looked like along the way."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from zofw.core import Array
from zofw.extras import extra

if TYPE_CHECKING:
    import pandas

COLUMNS = ("iteration", "queries", "lmos", "objective", "time")
FIELDS = {"iteration": "nit", "queries": "nfev", "lmos": "nlmo", "objective": "fun"}  # of a result


@dataclass(repr=False)
class Trace:
    """Rows (iteration, queries, LMO calls, objective, seconds) and each method's own numbers.

    The first row is x_0. The objective is the exact mean, computed for diagnosis: its evaluations are in no count and
    its time in no clock.
    """

    rows: list[tuple[float, ...]] = field(default_factory=list)
    infos: list[dict[str, float]] = field(default_factory=list)

    def append(
        self,
        iteration: int,
        queries: int,
        lmos: int,
        objective: float,
        time: float,
        info: Mapping[str, float],
    ) -> None:
        self.rows.append((iteration, queries, lmos, objective, time))
        self.infos.append(dict(info))

    def pop(self) -> None:
        """Take the last row back."""
        self.rows.pop()
        self.infos.pop()

    def __repr__(self) -> str:
        return f"Trace({len(self)} rows of {', '.join((*COLUMNS, *self.names))})"

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[tuple[float, ...]]:
        return iter(self.rows)

    def column(self, name: str) -> Array:
        """Return a column by name: one of the five, or a number the method reports (NaN where it did not)."""
        if name in COLUMNS:
            at = COLUMNS.index(name)
            return np.array([row[at] for row in self.rows], dtype=float)
        if name not in self.names:
            raise KeyError(f"The trace has no column {name!r}; it has {', '.join((*COLUMNS, *self.names))}.")
        return np.array([info.get(name, np.nan) for info in self.infos], dtype=float)

    __getitem__ = column

    @property
    def names(self) -> Sequence[str]:
        """Return names of the method's own numbers, in order of appearance."""
        return list(dict.fromkeys(name for info in self.infos for name in info))

    iteration = property(partial(column, name="iteration"), doc="Iterations made at each row.")
    queries = property(partial(column, name="queries"), doc="Queries paid for at each row.")
    lmos = property(partial(column, name="lmos"), doc="Calls of the oracle at each row.")
    objective = property(partial(column, name="objective"), doc="Exact mean at each row.")
    time = property(partial(column, name="time"), doc="Seconds at each row, without diagnosis.")

    def to_frame(self) -> pandas.DataFrame:
        """As a pandas DataFrame (extra ``frame``), with the names of the fields of :class:`~zofw.Result`."""
        pd = extra("pandas", "frame")
        frame: pandas.DataFrame = pd.DataFrame({name: self.column(name) for name in (*COLUMNS, *self.names)})
        counts = {"iteration": int, "queries": int, "lmos": int}
        return frame.astype(counts).rename(columns=FIELDS)
