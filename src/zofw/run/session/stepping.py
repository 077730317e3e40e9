"""From one query to the next: how iterations begin and end, and how a run does.

between two iterations (`run.waiting`) ── go_on() ──► a query is open, or the run has ended
a query is open ── its answer ──► the next query, or the end of the iteration
"""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass, field

import numpy as np

from zofw.core import Answer, Array, Ending, FirstOrder, Info, OutOfBudget, Query, Task, Tile
from zofw.run.given import put_back
from zofw.run.record.run import Iteration, Known, Run, lower
from zofw.run.record.status import Status
from zofw.run.session.events import Failed, Part
from zofw.run.session.inside import OutsideError, keep_inside, too_near
from zofw.run.session.iterations import Iterations, StepEnd, Steps
from zofw.run.session.stated import contradiction
from zofw.run.session.stopping import ending_status

IDLE = 50  # iterations in a row that asked nothing, before the run is stopped
NOTHING_ASKED = (
    "The method asks for nothing any more: the points that it wants are known, or f has no value there."
)
NO_CERTIFICATE = "No decrease was found, and points around x at which f has no value certify nothing."


@dataclass
class Open:
    """The open query: its number, its parts so far, what they cost, and what has failed."""

    query: Query
    number: int
    parts: list[Part] = field(default_factory=list)
    paid: int = 0
    failures: list[Failed] = field(default_factory=list)
    best: Known | None = None
    rows: Array | None = None  # of a query with ``enough``; NaN for those that have not come
    lost: set[int] = field(default_factory=set)  # rows of it that will not come
    left_out: set[int] = field(default_factory=set)  # positions of the batch
    replaced: list[Tile] = field(default_factory=list)  # single evaluations that have a stand-in
    spared: int = 0  # evaluations that will not be made
    arrived: int = 0  # its rows and those of earlier queries, lost ones too

    @property
    def left(self) -> int:
        """Return the evaluations that are still to be paid for."""
        return self.query.cost - self.paid - self.spared


class Stepping:
    """A run and the generator of its open iteration.

    Attributes
    ----------
    run, task
        What events have made of the run, and what its method sees.
    open
        The open query, if there is one.
    notices
        Warnings for the user that have not been given.
    """

    def __init__(self, run: Run, task: Task) -> None:
        self.run, self.task = run, task
        self.open: Open | None = None
        self.notices: list[str] = []
        self._iterations = Iterations(run, task)
        self._steps: Steps | None = None
        self._rows = run.rows_per_decade
        run.nfev, run.granted = sum(run.ledger.values()), run.limits.granted(run.reserve)

    @property
    def remaining(self) -> float:
        """Return the queries that may still be asked: by iterations or, at the end, about x."""
        run = self.run
        most = run.granted if run.closing is None else run.limits.budget
        return math.inf if most is None else most - run.nfev - len(run.pending)

    @property
    def short(self) -> bool:
        """Return True if the budget cannot pay for the open query, or for what is owed."""
        return self.remaining < (0 if self.open is None else self.open.left)

    @property
    def settled(self) -> bool:
        """Return True if the run is all in its record: nothing is open, no generator has begun."""
        run = self.run
        return self.open is None and self._steps is None and not run.open.answers

    # ------------------------------------------------------------------ iterations

    def limit_reached(self) -> Status | None:
        """Return the status with which a limit other than budget and time ends the run here."""
        run, limits = self.run, self.run.limits
        if limits.max_iter is not None and run.nit >= limits.max_iter:
            return Status.MAX_ITER
        if limits.max_lmo is not None and run.nlmo >= limits.max_lmo:
            return Status.MAX_LMO
        if limits.target is not None and run.best is not None and run.best.value <= limits.target:
            return Status.TARGET
        return None

    def go_on(self) -> None:
        """Begin the next iteration, or end the run."""
        run = self.run
        run.granted = run.limits.granted(run.reserve)
        verdict = self.limit_reached() if run.verdict is None else run.verdict
        try:
            self._steps = self._iterations.begin() if verdict is None else None
        except OutOfBudget:
            verdict = self._without_budget()
        run.waiting, run.verdict = False, None
        run.turns += 1
        if verdict is not None:
            self._end(verdict)
            return
        if not run.trace.rows:  # x_0, once an iteration can be paid
            self._record()
            if run.wants and isinstance(run.method, FirstOrder):  # it asks nothing, so x_0 would be gone
                self._steps, run.waiting, run.turns = None, True, run.turns - 1
                return
        self._advance()

    def _without_budget(self) -> Status:
        """Return how a run ends whose next query cannot be paid."""
        run = self.run
        stalled = run.info.ending is not None and not run.open.answers  # no iteration has begun since
        status = Status.STALLED if stalled else Status.BUDGET
        return status if run.closing is None else run.closing

    def _beyond(self, query: Query) -> bool:
        """Return True if the budget does not pay for a query."""
        return self.run.granted is not None and query.cost > self.remaining

    def _advance(self, answer: Answer | None = None, thrown: bool = False) -> None:
        """Run the iteration to its next query that can be paid, or to its end."""
        run, steps = self.run, self._steps
        assert steps is not None
        try:
            while True:
                if thrown:
                    query = steps.throw(OutOfBudget())
                elif answer is None:
                    query = next(steps)
                else:
                    query = steps.send(answer)
                thrown = self._beyond(query)
                if thrown and run.closing is None and run.release():
                    thrown = self._beyond(query)
                if not thrown:
                    self._allow(query)
                    return
        except StopIteration as end:
            self._steps = None
            ended: StepEnd = end.value
        except OutOfBudget:
            self._steps = None
            self._end(self._without_budget())
            return
        self._finish(ended)

    def _allow(self, query: Query) -> None:
        """Open a query if its points may be asked for; else end the run, or refuse it if nothing is paid."""
        run = self.run
        if not (run.inside or run.resolution or query.enough):
            self.open = Open(query, run.number)
            return
        try:
            found = too_near(query, run) if run.resolution else None
            query = keep_inside(query, self.task.set) if run.inside and found is None else query
        except OutsideError as error:
            found = str(error)
        if found is None:
            rows = None if query.enough is None else np.full(len(query.anchors), np.nan)
            self.open = Open(query, run.number, rows=rows)
        elif run.nfev == 0:
            self._close()
            raise ValueError(found)
        else:
            run.info = dataclasses.replace(run.info, ending=Ending(False, found))
            self._end(Status.STALLED)

    def _finish(self, ended: StepEnd) -> None:
        run = self.run
        if isinstance(ended, Known):
            if run.retreats:  # it is another point
                run.given = lower(run.given, ended)
            else:
                run.here = ended
            if run.closing is not None:
                self._end(run.closing)
            return
        state, info = ended
        first = run.stated if run.nit == 0 else None
        if first is not None and not run.open.replaced and (wrong := contradiction(first, run.open.answers)):
            run.reasons["known"] = wrong
            run.given = None
            self.notices.append(wrong)
        plain = run.gap_tol is None and type(info) is Info and info.ending is None
        verdict = None if plain else ending_status(info, run.gap_tol, run.method.name)
        if (
            verdict in (Status.CONVERGED, Status.ESTIMATED)
            and run.open.replaced
            and not getattr(state, "walls", False)
        ):
            info = dataclasses.replace(info, bound=None, ending=Ending(False, NO_CERTIFICATE))
            verdict = Status.STALLED
        run.idle = 0 if run.open.answers or isinstance(run.method, FirstOrder) else run.idle + 1
        if verdict is None and run.idle > IDLE:
            info = dataclasses.replace(info, ending=Ending(False, NOTHING_ASKED))
            verdict = Status.STALLED
        moved = verdict is None or not info.at_start  # else x stays where the gap was found small
        if moved:
            run.state = state
            key, last, run.here = np.asarray(state.x, dtype=float).tobytes(), run.here, None
            for one in (run.best, last, *run.seen):
                if one is not None and one.x.tobytes() == key:
                    run.here = one
                    break
        run.info = info
        run.nit += 1
        run.nlmo += self.task.lmos
        run.dearest = max(run.dearest, run.open.spent)
        run.redraws = 0
        run.open, run.seen = Iteration(), []
        best = run.best
        if (
            best is not None
            and info.gap is not None
            and (run.here is best if moved else (best.x == run.state.x).all())
        ):
            run.best = dataclasses.replace(best, gap=run.gap, gap_error=info.gap_error)
        run.wants = False
        if self._rows and self._row_due():
            self._record()
        run.verdict, run.waiting = verdict, True

    def _row_due(self) -> bool:
        """Return True if the next of the log-spaced marks of the trace has been passed."""
        run = self.run
        last = run.trace.rows[-1][1] if run.limits.budget is not None or run.nfev else run.trace.rows[-1][0]
        now = run.nfev or run.nit
        return now >= max(last, 1) * 10 ** (1 / self._rows) or last == 0

    def _record(self) -> None:
        """Put a row on the trace; its objective is diagnosed, or the value that was paid for."""
        run, fun = self.run, math.nan
        if (run.pays or run.diagnose > 0) and run.here is not None and not run.here.error:
            fun = run.here.value
        run.trace.append(run.nit, run.nfev, run.nlmo, fun, run.seconds, run.info.columns())
        run.wants = run.diagnose > 0 and not run.pays

    # ------------------------------------------------------------------ the end

    def _end(self, status: Status) -> None:
        """Stop: at once if interrupted, else once nothing is owed and f at x is known."""
        run = self.run
        if status is not Status.INTERRUPTED:
            self._close()
            run.waiting = False
            if run.pending:
                run.ending = status
                return
            if run.closing is None and not self.task.set.contains(run.x):
                status = self._put_back(status)
            if run.pays and run.closing is None and run.here is None and not run.retreats:
                run.closing = status
                self._learn()
                return
            run.closing, run.learning = None, Iteration()
        run.status = status
        if not run.trace.rows or run.trace.rows[-1][0] != run.nit:
            self._record()
            run.closing_row = True

    def _learn(self) -> None:
        """Begin the queries about f at x."""
        self._steps = self._iterations.begin()
        self._advance()

    def _put_back(self, status: Status) -> Status:
        """Replace an x outside the set by a member: the nearest if rounding took it out, else the best one."""
        run = self.run
        member, distance, rounding = put_back(self.task.set, run.x)
        if not rounding:
            said = (
                f"x was {distance:.3g} outside {self.task.set!r:.200}, whose methods contradict each "
                "other; `zofw check set` shows where."
            )
            run.info, status = dataclasses.replace(run.info, ending=Ending(False, said)), Status.STALLED
        if run.trace.rows and run.trace.rows[-1][0] == run.nit:
            run.trace.pop()
        run.here = None if rounding else run.best
        x = member if run.here is None else run.here.x
        run.state = dataclasses.replace(run.state, x=x)  # type: ignore[type-var]
        return status

    def _close(self) -> None:
        self.open = None
        if self._steps is not None:
            self._steps.close()
            self._steps = None

    def _reopen(self) -> None:
        """Continue the iteration in which the run had stopped, or wait for the next one."""
        run = self.run
        iteration = run.open if run.closing is None else run.learning
        if run.ending is not None:
            return
        if iteration.answers:
            self._steps = self._iterations.rebuild(iteration)
            self._advance(iteration.answers[-1])
        elif run.closing is not None:
            self._learn()
        else:
            run.waiting = True
