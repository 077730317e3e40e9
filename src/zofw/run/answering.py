"""From a query to its answer: whoever evaluates the units, errors are met, payments counted and parts kept here."""

from __future__ import annotations

import logging
import time
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, Protocol

import numpy as np

from zofw.core import Answer, EvaluationError, Query
from zofw.problems.evaluate import Sums, evaluate
from zofw.run.journal import Entry, Kind
from zofw.run.logbook import Logbook
from zofw.run.policy import Retry
from zofw.run.session import Session
from zofw.run.sheet import Sheet, Unit, evaluate_units
from zofw.run.signals import Interrupted, Signals

logger = logging.getLogger("zofw")

TOGETHER_SECONDS = 1e-4  # units quicker than this together are written down together

Todo = deque[tuple[int, int]]


class ExecutorError(RuntimeError):
    """The workers are gone, or cannot do what they are asked."""


@dataclass(frozen=True, eq=False)
class Outcome:
    """What units start, start + 1, … came to and, where the one behind them failed, its error; asked for up to stop."""

    start: int
    stop: int
    found: Sequence[Unit]
    error: EvaluationError | None = None
    recomputed: int = 0

    @property
    def failed(self) -> int:
        """The unit that failed, where one did."""
        return self.start + len(self.found)


class Engine(Protocol):
    """Somebody who evaluates units."""

    def outcomes(self, sheet: Sheet, todo: Todo) -> Iterator[Outcome | None]:
        """Work off a list of ranges of units, which may grow meanwhile; None now and then while nothing happens."""

    def cancel(self) -> None:
        """Give up what nobody has begun."""

    def close(self) -> None:
        """Let go of whatever is held for this run."""


class Here:
    """Units evaluated in this process, one after another."""

    def __init__(self, problem: Any, timeout: float | None) -> None:
        self.problem, self.timeout = problem, timeout
        self._cancelled = False

    def outcomes(self, sheet: Sheet, todo: Todo) -> Iterator[Outcome | None]:
        self._cancelled = False
        while todo:
            start, stop = todo.popleft()
            units = evaluate_units(self.problem, sheet.query, sheet.spans(start, stop), self.timeout)
            found: list[Unit] = []
            began = time.perf_counter()
            while start + len(found) < stop and not self._cancelled:
                try:
                    found.append(next(units))
                except EvaluationError as error:
                    yield Outcome(start, stop, found, error)
                    break
                if time.perf_counter() - began >= TOGETHER_SECONDS or start + len(found) == stop:
                    yield Outcome(start, stop, found)
                    start, found, began = start + len(found), [], time.perf_counter()

    def cancel(self) -> None:
        self._cancelled = True

    def close(self) -> None:
        """Nothing is held."""


class Ending(Enum):
    """Why a query is left without an answer."""

    INTERRUPTED = "interrupted"
    BUDGET = "budget"
    DROPPED = "dropped"
    RAISED = "raised"


class Answerer:
    """Answers the queries of one session.

    Parameters
    ----------
    problem
        Whom to ask.
    engine
        Who asks; None for plain evaluation in this process, where nothing is kept, repeated or timed.
    policy
        What to do about errors.
    logbook
        Where parts of answers and failures are written down.
    signals
        Who may want to stop.
    """

    def __init__(
        self, problem: Any, engine: Engine | None, policy: Retry, logbook: Logbook | None, signals: Signals
    ) -> None:
        self.problem, self.engine, self.policy = problem, engine, policy
        self.logbook, self.signals = logbook, signals

    def __call__(self, session: Session, query: Query) -> Answer | None:
        """The answer, or None where the session has given the query up."""
        if self.engine is None:
            return evaluate(self.problem, query)
        sheet = Sheet(self.problem, query)
        if self.logbook is not None:
            for part in self.logbook.parts:
                sheet.restore(part.a, _units(part))
        attempts: Counter[int] = Counter()
        ending: Ending | None = None
        lost, error = 0, None
        todo = deque(sheet.missing())
        for outcome in self.engine.outcomes(sheet, todo):
            if outcome is not None:
                sheet.fill(outcome.start, outcome.found)
                session.recomputed += outcome.recomputed
                self._keep(session, sheet, outcome)
                if outcome.error is not None:
                    lost += sheet.cost(outcome.failed, outcome.failed + 1)
                    attempts[outcome.failed] += 1
                    if ending is None:
                        error = outcome.error
                        ending = self._judge(session, query, error, attempts[outcome.failed], lost)
                    if ending is None:
                        self._charge(session, lost)
                        lost = 0
                        self.signals.sleep(self.policy.wait(attempts[outcome.failed]))
                        todo.appendleft((outcome.failed, outcome.stop))
            if ending is None and self.signals.received is not None:
                ending = Ending.INTERRUPTED
            if ending is not None and not sheet.complete:
                todo.clear()
                self.engine.cancel()
        if sheet.complete:
            return sheet.answer()
        self._end(session, ending, error, lost, sheet.paid)
        return None

    def _judge(
        self, session: Session, query: Query, error: EvaluationError, attempt: int, lost: int
    ) -> Ending | None:
        """Whether to go on after a failed attempt; None to repeat it."""
        logger.warning("Query %d, attempt %d: %s", session.number, attempt, error)
        if query.cost > session.remaining - lost:
            return Ending.BUDGET
        if attempt <= self.policy.times:
            return None
        return Ending.DROPPED if session.dropped < self.policy.skip else Ending.RAISED

    def _charge(self, session: Session, cost: int, paid: int = 0) -> None:
        if self.logbook is not None:
            self.logbook.note(session, Kind.FAILED, cost, paid)
        session.fail(cost, paid)

    def _keep(self, session: Session, sheet: Sheet, outcome: Outcome) -> None:
        """Write parts down, unless they complete the answer, which is written down at once."""
        if self.logbook is None or sheet.complete or not outcome.found:
            return
        if sheet.cellwise:
            self.logbook.note(session, Kind.CELLS, outcome.start, arrays=[np.asarray(outcome.found)])
            return
        for number, sums in enumerate(outcome.found, outcome.start):
            if isinstance(sums, Sums):
                arrays = [sums.values] if sums.squares is None else [sums.values, sums.squares]
                self.logbook.note(session, Kind.SUMS, number, arrays=arrays)

    def _end(
        self, session: Session, ending: Ending | None, error: EvaluationError | None, lost: int, paid: int
    ) -> None:
        """Leave the query without an answer: what was paid is charged, or waits in the journal to be taken up again."""
        if ending is Ending.INTERRUPTED:
            raise Interrupted
        if ending is Ending.BUDGET:
            self._charge(session, lost, paid)
            return
        self._charge(session, lost)
        if error is not None and ending is Ending.RAISED:
            raise error
        if self.logbook is not None:
            self.logbook.note(session, Kind.DROPPED, b=paid)
            self.logbook.parts = []
        session.drop(paid)


def _units(part: Entry) -> Sequence[Unit]:
    """What an entry of the journal says about units from ``part.a`` on."""
    if part.kind is Kind.CELLS:
        return [float(value) for value in part.arrays[0]]
    return [Sums(*part.arrays)]
