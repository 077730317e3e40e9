"""What comes back over the wall: an answer, values that came late, or an error."""

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


class EvaluationError(ArithmeticError):
    """The objective answered with something that is not a finite number, or not of the right
    shape, or not at all.

    Attributes carry what is needed to repeat the evaluation: the point, the component, the
    number of the query within the run, its iteration and the seed.
    """

    def __init__(self, reason: str, *, point: Array | None = None, component: int | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.point = point
        self.component = component
        self.query: int | None = None
        self.iteration: int | None = None
        self.seed: tuple[int, ...] = ()
        self.paid: int | None = None

    def locate(
        self, *, query: int, iteration: int, seed: tuple[int, ...], paid: int, advice: str = ""
    ) -> None:
        """Say where in the run it happened, and what to do."""
        self.query, self.iteration, self.seed, self.paid = query, iteration, seed, paid
        reason = self.reason if self.reason.endswith((".", "!", "?")) else f"{self.reason}."
        self.args = (
            f"{reason} It was query {query} of the run (the first is 0), in iteration {iteration}, after {paid} paid "
            f"evaluations, with seed {seed}.{advice}",
        )
