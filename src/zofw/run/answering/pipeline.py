"""From a query to its answer, whoever evaluates: errors are met, payments counted and parts kept here.

    session.ask() → Query → OpenAnswer (tiles) → engine → Part → OpenAnswer → Answer → session.tell()

An engine works tiles off, in this process or elsewhere. Diagnosis takes the same way, except that nothing is charged.
"""

from __future__ import annotations

import bisect
import itertools
import logging
import math
import time
from collections import deque
from collections.abc import Iterator, Sequence
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from zofw.core import Answer, Array, Batch, EvaluationError, Problem, Query, Tile
from zofw.problems.abilities import Abilities, Sums, abilities
from zofw.problems.evaluate import Part, assemble, cells, own_sums, reduce_table, tiles
from zofw.run.answering.policy import Escaped, Retry, Stopped, blamed, within
from zofw.run.answering.signals import Interrupted, Signals
from zofw.run.files.documents import FileError
from zofw.run.files.journal import EntryKind
from zofw.run.session.session import Session

logger = logging.getLogger("zofw")

KEPT_SECONDS = 1e-4  # evaluations quicker than this together are written down together
LOOK_SECONDS = 0.05  # and where nothing is written down, between two looks at signals

Todo = deque[Tile]


class ExecutorError(RuntimeError):
    """The workers are gone, or cannot do what they are asked."""


class OpenAnswer:
    """Which parts of a query are known, and what they came to; ``kept`` where they are written down as they come."""

    def __init__(self, able: Abilities, query: Query, kept: bool = False) -> None:
        self.query, self.shards = query, able.parts
        self.together = KEPT_SECONDS if kept else LOOK_SECONDS
        self.cellwise = able.cells is not None
        self.tiles = tiles(able, query)
        self.paid = 0  # evaluations in the parts that are known
        self._left = len(self.tiles)
        self._sums: list[Sums | None] = [None] * self._left
        self._cells: dict[int, tuple[Array, NDArray[np.bool_]]] = {}
        self._places: dict[Tile, int] = {}
        self._ends: list[int] = []

    @property
    def complete(self) -> bool:
        return self._left == 0

    def missing(self) -> list[Tile]:
        """What is not known, in its order."""
        if not self.paid and not self.cellwise:
            return list(self.tiles)
        wanted: list[Tile] = []
        for number, tile in enumerate(self.tiles):
            if self._sums[number] is not None:
                continue
            if not self.cellwise:
                wanted.append(tile)
            elif number not in self._cells:
                wanted.append(tile.cells(0, self.cost(tile)))
            else:
                known = self._cells[number][1]
                edges = np.flatnonzero(np.diff(np.concatenate([[True], known, [True]]).astype(np.int8)))
                wanted += [tile.cells(start, stop) for start, stop in edges.reshape(-1, 2).tolist()]
        return wanted

    def part(self, tile: Tile) -> int:
        """The part that owns a tile, where the problem is in parts."""
        return 0 if self.shards is None else self.shards.owner(self.query, tile)

    # ------------------------------------------------------------------ filling in

    def fill(self, part: Part) -> None:
        """Enter what a tile, or cells of it, came to; of what comes twice the first value counts."""
        tile, sums = part
        number = self._place(tile) if len(self.tiles) > 1 else 0
        if self._sums[number] is not None:
            return
        if tile.stop:
            self._fill_cells(number, tile, sums.values)
        else:
            self._sums[number] = sums
            self._left -= 1
            self.paid += self.cost(tile)

    def cost(self, tile: Tile) -> int:
        """Evaluations in a tile, or in the cells of it that are meant."""
        return self.query.cost if len(self.tiles) == 1 and not tile.stop else self.query.tile_cost(tile)

    def _place(self, tile: Tile) -> int:
        if not self._places:
            self._places = {one: number for number, one in enumerate(self.tiles)}
        return self._places[tile.cells(0, 0)]

    def _fill_cells(self, number: int, tile: Tile, values: Array) -> None:
        whole, outputs = self.tiles[number], self.query.each or 1
        if number not in self._cells:
            size = self.cost(whole)
            if len(values) == size * outputs:
                self.paid += size
                self._reduce(number, values)
                return
            self._cells[number] = np.empty((size, outputs)), np.zeros(size, dtype=bool)
        table, known = self._cells[number]
        place = slice(tile.start, tile.stop)
        fresh = ~known[place]
        table[place][fresh] = values.reshape(-1, outputs)[fresh]
        known[place] = True
        self.paid += int(fresh.sum())
        if known.all():
            self._reduce(number, table)
            del self._cells[number]

    def _reduce(self, number: int, values: Array) -> None:
        """All cells of a tile are known."""
        tile, query = self.tiles[number], self.query
        points = query.width if len(self.tiles) == 1 and not query.each else query.tile_width(tile)
        self._sums[number] = reduce_table(query, tile, values.reshape(len(query.anchors), points, -1))
        self._left -= 1

    def restore(self, part: Part) -> None:
        """Enter what a journal has of this query, or say that it is not of this query."""
        tile, sums = part
        whole = tile.cells(0, 0)
        fits = whole in self.tiles and bool(tile.stop) == self.cellwise
        if fits and not tile.stop:
            fits = sums.values.shape == (len(self.query.anchors), self.query.tile_values(tile))
            fits &= (sums.squares is not None) == self.query.variance
        elif fits:
            fits = tile.start < tile.stop <= self.query.tile_cost(whole)
            fits &= sums.values.shape == ((tile.stop - tile.start) * (self.query.each or 1),)
        if not fits:
            raise FileError(
                f"The journal has a part of an answer for columns {tile.left} to {tile.right} and rows {tile.top} to "
                f"{tile.bottom}, which the open query does not have. Is this the problem that the run was begun with, with the "
                "same at_once?"
            )
        self.fill(part)

    def answer(self) -> Answer:
        """All tiles together, in their fixed order."""
        return assemble(self.query, self.tiles, [sums for sums in self._sums if sums is not None])

    # ------------------------------------------------------------------ single evaluations by number

    @property
    def units(self) -> int:
        """How many single evaluations there are."""
        if not self._ends:
            self._ends = list(itertools.accumulate(self.query.tile_cost(tile) for tile in self.tiles))
        return self._ends[-1]

    def cut(self, start: int, stop: int) -> Iterator[Tile]:
        """Single evaluations start, …, stop − 1 of the whole query, tile by tile."""
        while start < min(stop, self.units):
            number = bisect.bisect_right(self._ends, start)
            begin = self._ends[number - 1] if number else 0
            last = min(stop, self._ends[number])
            yield self.tiles[number].cells(start - begin, last - begin)
            start = last

    def number(self, tile: Tile) -> int:
        """Which of all single evaluations the first of some cells is."""
        place = self._place(tile)
        return tile.start + (self._ends[place - 1] if self.units and place else 0)


class Outcome(NamedTuple):
    """Parts that are done and, where one failed, why, and what is left with it at the front."""

    parts: list[Part]
    left: Sequence[Tile] = ()
    error: EvaluationError | None = None
    recomputed: int = 0


class Engine(Protocol):
    """Somebody who evaluates tiles."""

    timeout: float | None

    def outcomes(self, answer: OpenAnswer, todo: Todo) -> Iterator[Outcome | None]:
        """Work off a list of tiles, which may grow meanwhile; None now and then while nothing happens."""

    def cancel(self) -> None:
        """Give up what nobody has begun."""

    def close(self) -> None:
        """Let go of whatever is held for this run."""


class Here:
    """Tiles evaluated in this process, one after another."""

    def __init__(self, problem: Problem, timeout: float | None = None) -> None:
        self.problem, self.timeout = problem, timeout
        self._able = abilities(problem)
        self._cancelled = False

    def outcomes(self, answer: OpenAnswer, todo: Todo) -> Iterator[Outcome | None]:
        self._cancelled = False
        while todo and not self._cancelled:
            tile = todo.popleft()
            sums, error = self.evaluate(answer.query, tile, answer.together)
            done = left = tile
            if tile.stop and sums is not None:
                reached = tile.start + len(sums.values) // (answer.query.each or 1)
                done, left = tile.cells(tile.start, reached), tile.cells(reached, tile.stop)
                if error is None and reached < tile.stop:
                    todo.appendleft(left)
            yield Outcome([] if sums is None else [Part(done, sums)], [left], error)

    def evaluate(
        self, query: Query, tile: Tile, seconds: float = math.inf
    ) -> tuple[Sums | None, EvaluationError | None]:
        """A tile, or of its cells those that come before an error or the end of the time."""
        single, found = self._able.cells, []
        try:
            if single is None or not tile.stop:
                if self.timeout is None:
                    return own_sums(self._able, self.problem, query, tile), None
                return within(self.timeout, own_sums, self._able, self.problem, query, tile), None
            one = single.one if self.timeout is None else lambda x, i: within(self.timeout, single.one, x, i)
            began = time.perf_counter()
            for value in cells(one, query, tile):
                found.append(value)
                if time.perf_counter() - began >= seconds:
                    break
        except BaseException as error:
            return (Sums(np.array(found).ravel()) if found else None), blamed(error)
        return Sums(np.array(found).ravel()), None

    def cancel(self) -> None:
        self._cancelled = True

    def close(self) -> None:
        """Nothing is held."""


class Pipeline:
    """Answers the queries of one session.

    Parameters
    ----------
    problem
        Whom to ask.
    engine
        Who asks.
    policy
        What to do about errors.
    signals
        Who may want to stop.
    """

    def __init__(self, problem: Problem, engine: Engine, policy: Retry, signals: Signals) -> None:
        self.problem, self.engine, self.policy, self.signals = problem, engine, policy, signals
        self._able = abilities(problem)

    def answer(self, session: Session, query: Query) -> Answer | None:
        """The answer, or None where the session has given the query up."""
        answer = OpenAnswer(self._able, query, session.files is not None)
        for entry in session.parts:  # of this query, from before this process
            if entry.kind is EntryKind.PART:
                answer.restore(Part(entry.tile, Sums(*entry.arrays)))
        attempts = Attempts(self.policy, session)
        self._work(answer, attempts)
        if answer.complete:
            return answer.answer()
        attempts.end(answer.paid)
        return None

    def mean(self, x: Array) -> float:
        """The exact mean at x, for diagnosis: the same way, with nothing charged; NaN where the policy gives it up.

        A signal does not end it: the row of a trace is the same whether or not the run is interrupted behind it.
        """
        answer = OpenAnswer(self._able, Query(x, Batch(self.problem.n)))
        attempts = Attempts(self.policy, None)
        self._work(answer, attempts)
        if answer.complete:
            return float(answer.answer().values[0, 0])
        attempts.end(answer.paid)
        return math.nan

    def _work(self, answer: OpenAnswer, attempts: Attempts) -> None:
        """Have the tiles of a query evaluated, as far as policy, budget and signals allow."""
        signals, ends = self.signals, attempts.session is not None  # a signal ends it, but for diagnosis
        attempts.interrupted = ends and signals.received is not None
        todo = deque(() if attempts.interrupted else answer.missing())
        try:
            for outcome in self.engine.outcomes(answer, todo):
                if outcome is not None:
                    attempts.note(answer, outcome)
                    if outcome.error is not None:
                        wait = attempts.failed(outcome.left[0], answer.query, outcome.error)
                        if wait is not None:
                            signals.sleep(wait)
                            todo.extendleft(reversed(outcome.left))
                attempts.interrupted |= ends and signals.received is not None
                if attempts.over and not answer.complete:
                    todo.clear()
                    self.engine.cancel()
        except ExecutorError:
            if signals.received is None:  # else the signal may have ended the workers too
                raise
            attempts.interrupted |= ends


class Attempts:
    """What has been tried in vain for one query, what that has cost, and whether to go on.

    Parameters
    ----------
    policy
        What to do about errors.
    session
        Who pays; None for diagnosis, which nobody pays for.
    """

    def __init__(self, policy: Retry, session: Session | None) -> None:
        self.policy, self.session = policy, session
        self.error: EvaluationError | None = None
        self.interrupted = self.unaffordable = False
        self._lost = 0
        self._tried: dict[Tile, int] = {}

    @property
    def over(self) -> bool:
        """Whether no further tile is to be evaluated."""
        return self.error is not None or self.interrupted or self.unaffordable

    def note(self, answer: OpenAnswer, outcome: Outcome) -> None:
        """Enter parts, and write them down, unless they complete the answer, which is written down at once."""
        session = self.session
        for part in outcome.parts:
            answer.fill(part)
        if session is None:
            return
        if outcome.recomputed:
            session.recompute(outcome.recomputed)
        session.in_hand = answer.paid
        if not answer.complete:
            for tile, sums in outcome.parts:
                session.note(EntryKind.PART, tile=tile, arrays=sums)

    def failed(self, tile: Tile, query: Query, error: EvaluationError) -> float | None:
        """Seconds to wait before a tile is tried again; None where it is not."""
        first = tile.cells(tile.start, tile.start + 1) if tile.stop else tile
        attempt = self._tried[first] = self._tried.get(first, 0) + 1
        self._lost += query.tile_cost(first)
        what = "Diagnosis" if self.session is None else f"Query {self.session.run.number}"
        logger.warning("%s, attempt %d: %s", what, attempt, error)
        self.interrupted |= isinstance(error, Stopped)
        if isinstance(error, Escaped):
            self.error = error
        if self.over:
            return None
        if self.session is not None and query.cost > self.session.remaining - self._lost:
            self.unaffordable = True
            return None
        if attempt > self.policy.times:
            self.error = error
            return None
        self._charge()
        return self.policy.wait(attempt)

    def _charge(self, paid: int = 0) -> None:
        if self.session is not None:
            self.session.fail(self._lost, paid)
        self._lost = 0

    def end(self, paid: int) -> None:
        """Leave the query without an answer: what was paid is charged, or waits in the journal to be taken up again."""
        self._charge(paid)
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
        run = None if self.session is None else self.session.run
        if run is None or self.policy.gives_up(run.dropped, run.lost, run.nfev + paid):
            raise self.error
        if self.session is not None:
            self.session.drop(paid)
