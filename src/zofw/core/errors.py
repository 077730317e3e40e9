"""An evaluation that went wrong."""

from __future__ import annotations

from zofw.atoms import Array


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
