"""Answering the queries of a session: parts and failures become events, on every engine.

    session.ask() → Query → tiles → engine → Outcome ─┬─ a part      → put(Part)
                                                      ├─ all parts   → tell(query, answer)
                                                      ├─ an error    → put(Failed), again, put(Dropped), or raise
                                                      └─ a signal    → nothing new is begun; put(Stopped)

A failure that ends a query is put behind everything that was under way. Diagnosis takes the same way,
except that nothing is charged.
"""

from __future__ import annotations

import itertools
import logging
import math
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from zofw.core import Array, Batch, EvaluationError, Problem, Query, Tile
from zofw.problems.abilities import Sums, abilities
from zofw.problems.evaluate import TilePart, single_evaluations
from zofw.run.answering.engine import Engine, ExecutorError, Outcome, Todo
from zofw.run.answering.job import Job
from zofw.run.answering.open_answer import OpenAnswer
from zofw.run.answering.policy import IN_A_ROW, Escaped, KeyboardStop, Retry
from zofw.run.answering.signals import Interrupted, Signals
from zofw.run.answering.stand_ins import stand_ins as stand_in_values
from zofw.run.record.run import Pending
from zofw.run.record.status import Status
from zofw.run.session.answer_checks import AnswerRefused
from zofw.run.session.events import Failed, Part
from zofw.run.session.session import Session

logger = logging.getLogger("zofw")

WALLS = "If f has no value on a part of the set, return np.inf there and write options={'worse': np.inf}."
ASKED_AGAIN = 3  # queries in a row for points that have failed, before the run is stopped


class Answering:
    """Answers the queries of one session.

    Parameters
    ----------
    problem
        The problem that is evaluated.
    engine
        Who evaluates.
    policy
        What to do about errors.
    signals
        The signals that may stop the run.
    """

    def __init__(self, problem: Problem, engine: Engine, policy: Retry, signals: Signals) -> None:
        self.problem, self.engine, self.policy, self.signals = problem, engine, policy, signals
        self.able = abilities(problem)
        self.foreign: list[Outcome] = []  # that came while something else was evaluated
        self._jobs: dict[OpenAnswer, Job] = {}
        self.todo: Todo = deque()
        self.in_a_row = 0  # evaluations that failed since the last value
        self._again, self._paid = 0, -1  # queries for points that failed, since so much was paid

    def answer(self, session: Session) -> None:
        """Have the open query evaluated, and rows that are owed, until the session asks another one."""
        asked, pending = session.rules.open, session.run.pending
        if self._jobs or pending:
            self._look_for_owed(pending)
        if asked is not None:
            stand_ins = partial(stand_in_values, session.run, session.task)
            answer = OpenAnswer(self.able, asked.query, session.files is not None, stand_ins)
            for part in asked.parts:  # from before this process
                answer.restore(TilePart(part.tile, Sums(part.values, part.squares)))
            for event in asked.failures if asked.rows is None else ():
                if event.replaced:
                    answer.replace(event.tiles[0], ())
                elif event.lost:
                    answer.leave_out(event.tiles[0], event.tiles)
            if answer.complete and asked.rows is None:  # all parts were kept, and the answer was not
                Attempts(self, session).tell(session, answer)
                return
            rows = None if asked.rows is None else range(len(asked.rows))
            self._begin(Job(answer, asked.number, rows))
        attempts = Attempts(self, session)
        known = asked is not None and asked.rows is None and self.policy.skip and session.run.failures
        if known and self.spare(attempts, session, answer):
            del self._jobs[answer]
            return
        self._work(attempts)
        if asked is not None and asked.rows is None:
            del self._jobs[answer]
        if attempts.over or not attempts.answered:
            attempts.end()

    def spare(self, attempts: Attempts, session: Session, answer: OpenAnswer) -> bool:
        """Give up evaluations that have failed for good before, at no cost. Return True if that ends the query."""
        run, asked = session.run, session.rules.open
        failures = {(one.x.tobytes(), one.component): one.reason for one in run.failures}
        for tile in [tile for one, tile in self.todo if one is answer]:
            for at, (x, component) in enumerate(single_evaluations(answer.query, tile), tile.start):
                reason = failures.get((x.tobytes(), component))
                if reason is None or not self._is_to_do(answer, tile, at):
                    continue
                event = Failed(session.number, (tile.cells(at, at + 1),), 0, reason)
                if attempts.goes_on(answer, (), event):
                    continue
                self.todo.clear()
                if not self._stalls(session, reason):
                    session.drop()
                return True
        if session.rules.open is asked:
            return False
        self._stalls(session, next(reversed(failures.values())))
        return True

    def _is_to_do(self, answer: OpenAnswer, tile: Tile, at: int) -> bool:
        mine = [one for given, one in self.todo if given is answer and one.cells(0, 0) == tile.cells(0, 0)]
        return any(one.start <= at < max(one.stop, 1) for one in mine)

    def _stalls(self, session: Session, reason: str) -> bool:
        """Count queries in a row for points that have failed; stop the run, and return True, if they are too many."""
        run = session.run
        self._again = self._again + 1 if self._paid == run.nfev else 1
        self._paid = run.nfev
        logger.info("Query %d asks for a point that has failed before: %s", session.number, reason)
        going = run.status is Status.RUNNING and run.closing is None
        if self._again <= ASKED_AGAIN or not going:
            return False
        session.stop(
            Status.STALLED,
            f"{run.method.name} needs a point at which f has failed for good: {reason.rstrip('.')}. {WALLS}",
        )
        return True

    def _begin(self, job: Job) -> None:
        self._jobs[job.answer] = job
        self.todo.extend((job.answer, tile) for tile in job.answer.missing())

    def _look_for_owed(self, pending: Sequence[Pending]) -> None:
        """Begin evaluations that a run owed when it was saved; forget queries that owe nothing."""
        owed = {one.query for one in pending}
        for answer, job in list(self._jobs.items()):
            if job.number not in owed:
                del self._jobs[answer]
        begun = {job.number for job in self._jobs.values()}
        for number in sorted(owed - begun):
            mine = [one for one in pending if one.query == number]
            batch = Batch(self.problem.n, np.array([mine[0].component]))
            query = Query(np.array([one.x for one in mine]), batch, purpose=mine[0].purpose)
            self._begin(Job(OpenAnswer(self.able, query, kept=True), number, [one.row for one in mine]))

    def job(self, answer: OpenAnswer) -> Job:
        """Return the job whose answer this is."""
        return self._jobs[answer]

    def _work(self, attempts: Attempts) -> None:
        """Have tiles evaluated, as far as policy, budget and signals allow."""
        signals = self.signals
        if attempts.stops and signals.received is not None:
            attempts.interrupted = True
            self.todo.clear()
        try:
            outcomes = self.engine.outcomes(self.todo)
            for outcome in itertools.chain(self._came(), outcomes) if self.foreign else outcomes:
                if outcome is not None and outcome.answer not in self._jobs:
                    self.foreign.append(outcome)
                elif outcome is not None:
                    attempts.note(outcome)
                    if outcome.error is not None:
                        wait = attempts.failed(outcome)
                        if wait is not None:
                            signals.sleep(wait)
                            again = [(outcome.answer, tile) for tile in outcome.left]
                            self.todo.extendleft(reversed(again))
                if signals.received is not None:
                    attempts.interrupted |= attempts.stops
                if attempts.over:
                    self.todo.clear()
                    if attempts.stops:  # else rows that the run owes are under way too
                        self.engine.cancel()
                elif attempts.answered:
                    return
        except ExecutorError:
            if signals.received is None:  # else the signal may have ended the workers too
                raise
            attempts.interrupted |= attempts.stops

    def _came(self) -> Iterator[Outcome]:
        """Outcomes that came while something else was evaluated; those that are not taken here stay."""
        for _ in range(len(self.foreign)):
            yield self.foreign.pop(0)


class Diagnosing(Answering):
    """Evaluates the exact mean, for diagnosis: the same way, with nothing charged.

    Attributes
    ----------
    made
        Evaluations so far, failed ones too.
    """

    def __init__(self, of: Answering) -> None:
        super().__init__(of.problem, of.engine, of.policy, of.signals)
        self.made, self.foreign, self._of = 0, of.foreign, of

    def __call__(self, x: Array) -> float:
        """Return the mean at x; NaN if the policy gives it up. A signal does not end it."""
        self.engine = self._of.engine
        self._jobs.clear()
        job = Job(OpenAnswer(self.able, Query(x, Batch(self.problem.n))), -1)
        self._begin(job)
        attempts = Attempts(self, None)
        try:
            self._work(attempts)
        finally:
            self.made += job.answer.paid + attempts.lost
        if job.answer.complete:
            return float(job.answer.answer().values[0, 0])
        attempts.end()
        return math.nan


class Attempts:
    """Failures while one query is open: what they cost, and whether to try again.

    Parameters
    ----------
    answering
        Who has the jobs and the policy.
    session
        Who pays; None for diagnosis.
    """

    def __init__(self, answering: Answering, session: Session | None) -> None:
        self.answering, self.session = answering, session
        self.policy = answering.policy
        self.number = -1 if session is None else session.number
        self.stops = session is not None  # a signal ends it
        self.idle = session is not None and session.rules.open is None  # only rows that are owed come
        self.error: EvaluationError | None = None
        self.interrupted = self.unaffordable = self.answered = False
        self.lost = 0  # evaluations that failed
        self._held: list[Failed] = []  # behind which the query ends

    @property
    def over(self) -> bool:
        """Return True if no further tile is to be evaluated."""
        return self.error is not None or self.interrupted or self.unaffordable

    def note(self, outcome: Outcome) -> None:
        """Put parts that are news; if they complete a query, the answer instead."""
        session, answer = self.session, outcome.answer
        if outcome.parts:
            self.answering.in_a_row = 0
        news = [part for part in outcome.parts if answer.fill(part)]
        if outcome.by:
            answer.by[outcome.by] = None
        if session is None:
            self.answered = answer.complete
            return
        job = self.answering.job(answer)
        if outcome.recomputed:
            session.put(Failed(job.number, again=outcome.recomputed))
        whole = answer.complete and job.rows is None
        for tile, sums in news if not whole or self._is_kept_apart(session, answer) else ():
            for named, place in job.tiles(tile):
                values = sums.values if job.rows is None else sums.values.reshape(-1)[place]
                session.put(Part(job.number, named, values, sums.squares, outcome.by))
        if whole:
            self.tell(session, answer)
            return
        self._look(session)

    def _look(self, session: Session) -> None:
        """See whether a row has ended the wait; the last one that was owed may have let the run ask for f(x) at its end."""
        asked = session.rules.open
        self.answered |= session.number != self.number or (self.idle and asked is not None)
        self.answered |= asked is None and not session.run.pending

    def _is_kept_apart(self, session: Session, answer: OpenAnswer) -> bool:
        """Return True if single evaluations go into the log beside the means, of which they are no function."""
        asked = session.rules.open
        if asked is None or session.files is None:
            return False
        return bool(asked.parts) or (answer.cellwise and answer.query.size > 1)

    def tell(self, session: Session, answer: OpenAnswer) -> None:
        self.answered = True
        try:
            session.tell(answer.query, answer.answer(), by=", ".join(answer.by))
        except AnswerRefused as error:  # paid for and given up, so that the run can go on with another
            asked = session.rules.open
            session.put(Failed(session.number, cost=0 if asked is None else asked.left, reason=str(error)))
            if session.rules.open is asked:
                session.drop()
            raise EvaluationError(str(error)) from error

    def failed(self, outcome: Outcome) -> float | None:
        """Return the seconds to wait before a tile is tried again; None if it is not."""
        error, query, session = outcome.error, outcome.answer.query, self.session
        assert error is not None
        tile, job = outcome.left[0], self.answering.job(outcome.answer)
        first = tile.cells(tile.start, tile.start + 1) if tile.stop else tile
        attempt = job.tried[first] = job.tried.get(first, 0) + 1
        cost = query.tile_cost(first)
        self.lost += cost
        self.answering.in_a_row += cost
        what = "Diagnosis" if session is None else f"Query {job.number}"
        logger.warning("%s, attempt %d: %s", what, attempt, error)
        named = tuple(one for one, _ in job.tiles(first))
        event = Failed(job.number, named, cost, error.reason, by=outcome.by)
        self.interrupted |= isinstance(error, KeyboardStop)
        if isinstance(error, Escaped):
            self.error = error
        if self.over:
            self._held.append(event)
            return None
        if session is None:
            self.error = error if attempt > self.policy.times else None
            return None if self.over else self.policy.wait(attempt)
        asked = session.rules.open
        short = session.remaining - cost < (0 if asked is None else asked.left)
        if job.rows is not None and (short or self._gives_row_up(session, attempt)):
            session.put(replace(event, lost=True))
            self._look(session)
            self._skip(outcome)
            return None
        last = attempt > self.policy.times
        if job.rows is None and (short or last) and self.goes_on(outcome.answer, outcome.left, event):
            return None
        if last and not (short and self.policy.skip):
            self.error = error
        else:
            self.unaffordable = short
        if self.over:
            self._held.append(event)
            return None
        session.put(event)
        return self.policy.wait(attempt)

    def _gives_up(self, given_up: int) -> bool:
        """Return True if the run ends because so much has failed."""
        assert self.session is not None
        run, asked = self.session.run, self.session.rules.open
        whole = 0 if asked is None else asked.query.cost
        most = 0 if run.lost == run.nfev else IN_A_ROW + 4 * whole
        return self.policy.gives_up(given_up, self.answering.in_a_row, most)

    def _gives_row_up(self, session: Session, attempt: int) -> bool:
        """Return True if a row of a query with ``enough`` is given up, and the run continues."""
        return attempt > self.policy.times and not self._gives_up(len(session.run.failures))

    def goes_on(self, answer: OpenAnswer, left: Sequence[Tile], event: Failed) -> bool:
        """Go on without an evaluation if the policy skips: without its component, or with a stand-in."""
        session, policy = self.session, self.policy
        if session is None or not policy.skip:
            return False
        run, cell, todo = session.run, event.tiles[0], self.answering.todo
        if event.cost and self._gives_up(len(run.failures)):
            return False
        rest = [*left, *(tile for one, tile in todo if one is answer)]
        if run.n > 1 and answer.can_leave_out(cell):
            spared, wanted = answer.leave_out(cell, rest)
            event = replace(event, tiles=tuple(spared), lost=True)
        elif answer.can_replace(cell) and run.closing is None:
            wanted = answer.replace(cell, rest)
            event = replace(event, replaced=True)
        else:
            return False
        others = [(one, tile) for one, tile in todo if one is not answer]
        todo.clear()
        todo.extend([*others, *((answer, tile) for tile in wanted)])
        session.put(event)
        if answer.complete:
            self.tell(session, answer)
        elif event.cost and (event.replaced or _repeats(answer.query)):
            self.answering.spare(self, session, answer)
        return True

    def _skip(self, outcome: Outcome) -> None:
        """Continue behind the evaluation that was given up."""
        tile = outcome.left[0]
        rest = [tile.cells(tile.start + 1, tile.stop), *outcome.left[1:]]
        again = [(outcome.answer, one) for one in rest if one.start < one.stop]
        self.answering.todo.extendleft(reversed(again))

    def end(self) -> None:
        """Put the failures that end the query; then drop it, raise, or leave it to the session."""
        session, held = self.session, self._held
        if session is not None:
            for event in held:
                session.put(event)
        if isinstance(self.error, Escaped):
            raise self.error.raised or self.error
        if self.unaffordable:
            return
        if self.interrupted:
            raise Interrupted
        if self.error is None:
            raise ExecutorError(
                "The workers gave up tasks without an answer. Is the pool shut down? Continue with a new one."
            )
        if not self.policy.skip:
            raise self.error
        if session is None:  # a diagnosis that is given up
            return
        run = session.run
        if self._gives_up(max(run.dropped, len(run.failures))):
            if run.lost == run.nfev:
                raise self.error
            many = (
                f"The last {self.answering.in_a_row} of {run.nfev} evaluations failed: {self.error.reason.rstrip('.')}. "
                f"{WALLS}"
            )
            session.stop(Status.INTERRUPTED, many)
        elif session.number == self.number and session.rules.open is not None:
            session.drop()


def _repeats(query: Query) -> bool:
    """Return True if a query may ask for one evaluation several times."""
    indices = query.batch.indices
    return query.paired or (indices is not None and len(np.unique(indices)) < len(indices))


def drive(answering: Answering, session: Session) -> None:
    """Have a session's queries answered until it stops; a signal stops it."""
    try:
        while session.ask() is not None or (session.run.pending and session.run.status is Status.RUNNING):
            answering.answer(session)
    except Interrupted:
        if session.run.status is Status.RUNNING:  # else the answer in flight has ended it
            session.stop(Status.INTERRUPTED)
