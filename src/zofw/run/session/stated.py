"""The value of the best known point, bought once: a wrong one would ruin a run in silence."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from typing import TypeVar

import numpy as np

from zofw.core import Answer, Batch, Purpose, Query, State
from zofw.run.record.run import Known
from zofw.run.session.stopping import cost_of_value

T = TypeVar("T")

ROUNDING = 1e-9  # of the values: a smaller difference is no contradiction
SPREADS = 6.0  # of three values at one point: a smaller difference is noise


def can_check(n: int, budget: int | None) -> bool:
    """Return True if f at one point takes a small part of the budget."""
    return budget is None or cost_of_value(n, budget) == n


def contradiction(stated: Known, answers: Sequence[Answer]) -> str | None:
    """Return a sentence if the values at the point, the first three of a run, contradict the one that was stated."""
    values = np.concatenate([answer.values[:, -1] for answer in answers[:2]])
    if len(values) < 3 or abs(values.mean() - stated.value) <= SPREADS * np.ptp(values):
        return None
    return (
        f"known= states f = {stated.value:.6g} at its best point, and f is {values.mean():.6g} there: the run takes none of its "
        "values. Is it the same function, and a mean rather than a sum?"
    )


def check_first(
    stated: Known,
    n: int,
    state: State,
    without: Callable[[], State],
    steps: Callable[[State], Generator[Query, Answer, T]],
) -> Generator[Query, Answer, T]:
    """Run the first iteration after asking for f at the known point, and two times more if it is another."""
    answers = [(yield Query(stated.x, Batch(n), purpose=Purpose.NOISE))]
    value = float(answers[0].values[0, 0])
    if abs(value - stated.value) > ROUNDING * max(abs(value), abs(stated.value)):
        answers.append((yield Query(np.tile(stated.x, (2, 1)), Batch(n), purpose=Purpose.NOISE)))
    wrong = len(answers) > 1 and contradiction(stated, answers)
    return (yield from steps(without() if wrong else state))
