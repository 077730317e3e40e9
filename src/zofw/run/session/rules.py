"""What each event makes of a run: the same rules, in the same order, live and on resume."""

from __future__ import annotations

import dataclasses
import math

import numpy as np

from zofw.core import Answer, Ending, Late, objective
from zofw.problems.evaluate import position, single_evaluations
from zofw.run.record.run import FAILED, FailedPoint, Iteration, Known, Pending, lower
from zofw.run.record.status import Status
from zofw.run.session.best_points import highest, member_of_cells, remembered, without_stand_ins
from zofw.run.session.events import (
    Answered,
    Diagnosed,
    Dropped,
    Event,
    Extended,
    Failed,
    Part,
    Stopped,
)
from zofw.run.session.inside import is_member
from zofw.run.session.stepping import Open, Stepping
from zofw.run.session.stopping import RETREATS, cost_of_value


class Rules(Stepping):
    """A run, and what each event makes of it."""

    # ------------------------------------------------------------------ events

    def check(self, event: Event) -> None:
        """Raise ValueError if the event does not fit the run as it is."""
        number = self.run.number if self.open is None else self.open.number
        if isinstance(event, (Answered, Dropped)) and (self.open is None or event.query != number):
            raise ValueError(f"Query {event.query} is not open.")
        if isinstance(event, Answered) and self.open is not None:
            query = self.open.query
            if self.run.status is not Status.RUNNING:
                raise ValueError("The run has stopped; extend it before it is answered.")
            if event.values.shape != (len(query.anchors), query.width) or query.variance == (
                event.variance is None
            ):
                raise ValueError(f"Query {event.query} has an answer of another shape.")
        if isinstance(event, Part):
            self._check_part(event)

    def _check_part(self, event: Part) -> None:
        if self.open is None or event.query != self.open.number:
            if self._find(event.query, event.tile.start) is None:
                raise ValueError(
                    f"Query {event.query} is not open, and no row {event.tile.start} of it is owed."
                )
            return
        query, tile = self.open.query, event.tile
        whole = tile.cells(0, 0)
        if not (0 <= tile.left <= tile.right <= query.count and 0 <= tile.top < tile.bottom <= query.size):
            raise ValueError(f"Query {event.query} has no tile {tile}.")
        if tile.stop and not tile.start < tile.stop <= query.tile_cost(whole):
            raise ValueError(f"Query {event.query} has no cells {tile.start} to {tile.stop} in {whole}.")
        for other in self.open.parts:
            if other.tile.cells(0, 0) == whole and (
                not tile.stop or max(other.tile.start, tile.start) < min(other.tile.stop, tile.stop)
            ):
                raise ValueError(f"Tile {tile} of query {event.query} has come before.")

    def apply(self, event: Event) -> None:
        """Make of the run what the event makes of it."""
        run = self.run
        run.serial += 1
        run.seconds = max(run.seconds, event.seconds)
        match event:
            case Answered():
                self._answered(event)
            case Part():
                self._part(event)
            case Failed():
                self._failed(event)
            case Dropped():
                self._dropped()
            case Diagnosed():
                self._diagnosed(event)
            case Extended():
                self._extended(event)
            case Stopped():
                self._stopped(event)

    def catch_up(self, event: Event) -> None:
        """Begin the iterations that had begun before the event came; on resume only."""
        run = self.run
        while run.waiting and run.status is Status.RUNNING:
            if isinstance(event, (Extended, Stopped)):
                if run.turns >= event.turn:
                    return
            elif isinstance(event, Diagnosed) and len(run.trace.rows) > event.row:
                return
            self.go_on()

    def _charge(self, line: str, cost: int) -> None:
        self.run.ledger[line] += cost
        self.run.nfev += cost

    # ------------------------------------------------------------------ answers

    def _answered(self, event: Answered) -> None:
        run, asked = self.run, self.open
        assert asked is not None
        if asked.rows is None:
            cost = asked.query.cost - asked.paid - asked.spared
            run.ledger[asked.query.purpose.line] += cost
            run.nfev += cost
            answer = Answer.__new__(Answer)  # ten times as fast as the constructor of a frozen class
            vars(answer).update(
                values=event.values, variance=event.variance, query=asked.number,
                late=self._late() if run.late else (),
                left_out=tuple(sorted(asked.left_out)) if asked.left_out else (),
            )  # fmt: skip
            self._use(answer)
            return
        for row in np.flatnonzero(np.isnan(asked.rows)).tolist():
            if not math.isnan(value := float(event.values[row, 0])):
                self._charge(asked.query.purpose.line, 1)
                asked.rows[row] = value
        self._use_rows()

    def _late(self) -> tuple[Late, ...]:
        run = self.run
        if not run.late or run.closing is not None:
            return ()
        late, run.late = tuple(run.late), []
        return late

    def _use(self, answer: Answer) -> None:
        """Take a complete answer: into the iteration, into the best points, and to the method."""
        run, asked = self.run, self.open
        assert asked is not None
        query = asked.query
        iteration = run.open if run.closing is None else run.learning
        iteration.spent += query.cost
        iteration.answers.append(answer)
        self.task.paid += query.cost
        run.number = asked.number + 1
        self.open = None
        whole = run.n == 1 or (query.batch.indices is None and not query.paired)
        if whole and not asked.left_out:
            values = objective(run.outer, answer.values)[:, None] if query.each else answer.values
            if asked.rows is not None:
                values = np.where(np.isnan(values), math.inf, values)
            elif asked.replaced:
                values = without_stand_ins(query, values, asked.replaced)
            elif run.high is None or values.item(values.argmax()) > run.high.value:
                run.high = highest(query, values)
            run.seen, run.here, run.best = remembered(run, query, values, self.task.set)
        self._advance(answer)

    def _part(self, event: Part) -> None:
        asked = self.open
        if asked is None or event.query != asked.number:
            for row, value in enumerate(event.values.tolist(), event.tile.start):
                self._late_row(event.query, row, value)
            return
        cost = asked.query.tile_cost(event.tile)
        self._charge(asked.query.purpose.line, cost)
        asked.paid += cost
        asked.parts.append(event)
        if self.run.n == 1 and event.tile.stop:
            found = member_of_cells(asked.query, event.tile, event.values, asked.best, self.task.set)
            asked.best = lower(asked.best, found)
        if asked.rows is not None:
            asked.rows[event.tile.start : event.tile.stop] = event.values
            asked.arrived += event.tile.stop - event.tile.start
            self._use_if_enough()

    def _use_if_enough(self) -> None:
        asked = self.open
        if asked is None or asked.rows is None:
            return
        missing = int(np.isnan(asked.rows).sum()) - len(asked.lost)
        if asked.arrived >= (asked.query.enough or 0) or (not missing and not self.run.pending):
            self._use_rows()

    def _use_rows(self) -> None:
        """Answer a query with ``enough``; rows that have not come are owed."""
        asked = self.open
        assert asked is not None and asked.rows is not None
        query, late = asked.query, list(self.run.late)
        late += [Late(asked.number, row, math.nan) for row in sorted(asked.lost)]
        points, component = query.members(query.anchors), int(query.batch.slice(0, 1)[0])
        missing = [row for row in np.flatnonzero(np.isnan(asked.rows)).tolist() if row not in asked.lost]
        self.run.pending += [
            Pending(asked.number, row, points[row], component, query.purpose) for row in missing
        ]
        self.run.late = late
        self._use(Answer(asked.rows[:, None], None, asked.number, self._late()))

    def _find(self, query: int, row: int) -> Pending | None:
        return next((one for one in self.run.pending if (one.query, one.row) == (query, row)), None)

    def _late_row(self, query: int, row: int, value: float) -> None:
        """Take a row of an earlier query, NaN if it is lost, to the next answer."""
        run, owed = self.run, self._find(query, row)
        if owed is None:
            return
        run.pending.remove(owed)
        run.late.append(Late(query, row, value))
        if not math.isnan(value):
            self._charge(owed.purpose.line, 1)
            found = Known(owed.x, value)
            if run.n == 1 and lower(run.best, found) is found and is_member(self.task.set, owed.x):
                run.best = found
        if self.open is not None and self.open.rows is not None:
            self.open.arrived += 1
            self._use_if_enough()
        elif run.ending is not None and not run.pending:
            ending, run.ending = run.ending, None
            self._end(ending)

    # ------------------------------------------------------------------ failures

    def _failed(self, event: Failed) -> None:
        run, asked = self.run, self.open
        self._charge(FAILED, event.cost)
        run.lost += event.cost
        run.recomputed += event.again
        if asked is None or event.query != asked.number:
            for tile in event.tiles if event.lost or self.short else ():
                for row in range(tile.start, tile.stop):
                    if (owed := self._find(event.query, row)) is not None:
                        run.failures.append(FailedPoint(owed.x, owed.component, event.reason))
                        self._late_row(event.query, row, math.nan)
            return
        asked.failures.append(event)
        if event.replaced:
            asked.spared += sum(map(asked.query.tile_cost, event.tiles))
            asked.replaced += event.tiles
            run.open.replaced = True
            run.reasons["failed"] = "points that failed count as worse than their neighbours"
            self._remember(asked, [event])
        elif event.lost or (asked.rows is not None and self.short and event.tiles):
            asked.spared += sum(map(asked.query.tile_cost, event.tiles))
            if event.cost:  # else it was known before
                self._remember(asked, [event])
            if asked.rows is None:  # means over the other components
                asked.left_out.add(position(asked.query, event.tiles[0]))
                run.reasons["failed"] = "some means leave out components that failed at their points"
                return
            for tile in event.tiles:
                asked.lost |= {*range(tile.start, tile.stop)}
                asked.arrived += tile.stop - tile.start
            self._use_if_enough()
        elif self.short:
            self._withdraw()
            self._advance(thrown=True)

    def _withdraw(self) -> None:
        """Close the open query without an answer; a value that it has had may still be the best."""
        run, asked = self.run, self.open
        assert asked is not None
        line = asked.query.purpose.line
        run.ledger[line] -= asked.paid
        run.ledger[FAILED] += asked.paid
        run.given = lower(run.given, asked.best)
        run.number, self.open = asked.number + 1, None

    def _remember(self, asked: Open, failures: list[Failed]) -> None:
        """Remember single evaluations that have failed for good."""
        for event in failures:
            if event.cost == 0:  # it has failed before
                continue
            for tile in event.tiles[:1] if asked.rows is None else event.tiles:
                for x, component in single_evaluations(asked.query, tile):
                    self.run.failures.append(FailedPoint(x, component, event.reason))

    def _dropped(self) -> None:
        run, asked = self.run, self.open
        assert asked is not None
        self._remember(asked, [one for one in asked.failures if not (one.lost or one.replaced)])
        self._withdraw()
        run.dropped += 1
        self._close()
        if run.closing is not None:
            run.retreats += 1
            run.learning = Iteration()
            if lower(run.best, run.given) is None and run.retreats < len(RETREATS):
                self._learn()
            else:
                self._end(run.closing)
            return
        run.redraws += 1
        run.open = Iteration()
        run.waiting = True

    # ------------------------------------------------------------------ from outside

    def _diagnosed(self, event: Diagnosed) -> None:
        run = self.run
        run.diagnosed += event.cost
        if 0 <= event.row < len(run.trace.rows):
            row = run.trace.rows[event.row]
            run.trace.rows[event.row] = (*row[:3], event.value, *row[4:])
            run.wants = False
            found = Known(run.x.copy(), event.value)
            if lower(run.given, found) is found and self.task.set.contains(found.x):
                run.given = found

    def _stopped(self, event: Stopped) -> None:
        run = self.run
        if event.reason:
            run.info = dataclasses.replace(run.info, ending=Ending(False, event.reason))
        run.verdict = None
        self._end(event.status)

    def _extended(self, event: Extended) -> None:
        run, limits = self.run, dict(event.limits)
        workers = limits.pop("workers", None)
        same = run.limits.with_(**limits) == run.limits
        ended = run.status is Status.STALLED and same
        if workers is not None and workers != run.workers:
            begun = run.nit + bool(run.open.workers)
            said = f"from iteration {begun} on {workers}, before {run.workers}"
            run.reasons["workers"] = "; ".join([*filter(None, [run.reasons.get("workers")]), said])
            run.workers = int(workers)
        if not same:
            if run.closing is not None:
                if self.open is not None:
                    self._withdraw()
                self._close()
                run.closing, run.learning = None, Iteration()
            run.retreats = 0
            run.ending = None
            run.limits = run.limits.with_(**limits)
            if run.pays and run.limits.budget is not None and not run.each:
                run.reserve = cost_of_value(run.n, run.limits.budget)
            run.granted = run.limits.granted(run.reserve)
        self.task.max_iter = run.limits.max_iter
        if ended or run.status in (Status.CONVERGED, Status.ESTIMATED):
            return  # its method has ended it; a stalled run goes on under other limits only
        if run.status is Status.INTERRUPTED:
            run.info = dataclasses.replace(run.info, ending=None)
        if run.status is not Status.RUNNING:
            run.status = Status.RUNNING
            if run.closing_row:
                run.trace.pop()
                run.closing_row = run.wants = False
        if self._steps is None:
            self._reopen()
        elif self.open is not None and self.short:
            self._withdraw()
            self._advance(thrown=True)
