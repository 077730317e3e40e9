"""What comes back over the wall: the answer to a query, and values of earlier queries that came late."""

from __future__ import annotations

from dataclasses import dataclass

from zofw.atoms import Array


@dataclass(frozen=True)
class Late:
    """A value of an earlier query: the query's number, the row, and the value; NaN if it is lost."""

    query: int
    row: int
    value: float


@dataclass(frozen=True, eq=False)
class Answer:
    """The answer to a query.

    Attributes
    ----------
    values
        Means over the batch at every point of the stencil, (k, width), or the numbers of each
        component in its order. NaN for a row of a query with ``enough`` that has not come.
    variance
        Variances of differences, (k, b), if the query asks for them.
    query
        The number of the query that is answered, by which :class:`Late` values name it.
    late
        Values of queries with ``enough`` that have come since the last answer, in their order.
        A row that will never come, because its evaluation failed, is among them with NaN.
    """

    values: Array
    variance: Array | None = None
    query: int = -1
    late: tuple[Late, ...] = ()
    left_out: tuple[int, ...] = ()
