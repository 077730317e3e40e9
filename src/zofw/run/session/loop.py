"""The loop of a run: an answer is counted and used, an iteration ends, the next one is begun if it can be paid.

An iteration is a generator of queries. Its random numbers derive from (seed, t), and it is a pure function of the state
before it and the answers it has had; so a checkpoint is that state plus those answers, and resuming replays them.
"""

from __future__ import annotations

import dataclasses
import logging
import math
import warnings
from abc import abstractmethod
from collections.abc import Callable, Generator, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from zofw.core import Answer, Array, Ending, Info, OutOfBudget, Pricing, Query, State, Task, Tile, objective
from zofw.run.files.journal import NOWHERE, Entry, EntryKind
from zofw.run.files.run_files import RunFiles
from zofw.run.given import put_back
from zofw.run.record.run import BudgetError, Iteration, Known, Run, RunView
from zofw.run.record.status import Status
from zofw.run.session.diagnosis import Diagnosis
from zofw.run.session.ending import ending_status, learn, least_budget
from zofw.run.session.inside import OutsideError, keep_inside
from zofw.run.session.stated import check_first, contradiction
from zofw.run.session.told import AssumptionWatch, RadiusWatch, check_answer, remembered, too_near

logger = logging.getLogger("zofw")

LAST = 0xFFFFFFFF  # the redraw whose random numbers draw a sample for f at the end
NEAR_THE_END = 4  # rehearse an iteration when fewer than this many of the dearest so far can be paid
REHEARSED_QUERIES = 10_000  # a rehearsal that asks more than this is stopped

StepEnd = tuple[State, Info] | Known
StepGenerator = Generator[Query, Answer, tuple[State, Info]] | Generator[Query, Answer, Known]

HashedWords = Any  # one word, or an array of them
POOL = 4  # words of the pool
AHEAD = 256  # iterations whose keys are made together
MASK = 0xFFFFFFFF
MULT_A, INIT_B, MULT_B = 0x931E8875, 0x8B51F9DD, 0x58F38DED
MIX_LEFT, MIX_RIGHT = 0xCA01F9DD, 0x4973F715
INIT_A = 0x43B0D7E5
Tables = Sequence[Array | None]


@lru_cache(maxsize=64)
def pool_of(entropy: tuple[int, ...]) -> tuple[tuple[int, ...], int]:
    """NumPy's pool after the words of the entropy, padded to four, and the constant that hashes the next word."""
    words = [word >> shift & MASK for word in entropy for shift in range(0, max(1, word.bit_length()), 32)]
    pool = np.random.SeedSequence(list(entropy), spawn_key=()).pool
    hashed = POOL * POOL + POOL * max(0, len(words) - POOL)
    return tuple(int(word) for word in pool), INIT_A * pow(MULT_A, hashed, 1 << 32) & MASK


def stirred(pool: Sequence[HashedWords], constant: int, word: HashedWords) -> tuple[list[HashedWords], int]:
    """The pool and the constant after one more word, of one iteration or of many."""
    out: list[HashedWords] = []
    for old in pool:
        value = word ^ constant
        constant = constant * MULT_A & MASK
        value = value * constant & MASK
        mixed = (MIX_LEFT * old - MIX_RIGHT * (value ^ value >> 16)) & MASK
        out.append(mixed ^ mixed >> 16)
    return out, constant


class Stream:
    """The random numbers of a run: one generator, set to the beginning of whichever iteration needs it.

    Philox seeded by ``SeedSequence(entropy, spawn_key=(iteration,))``, or (iteration, redraws). The hash of the entropy
    is kept, so that only the words of the spawn key are added to it, for many iterations together; and so is the
    generator, for making one takes longer than drawing from it.
    """

    def __init__(self, entropy: Sequence[int]) -> None:
        self.pool, self.constant = pool_of(tuple(entropy))
        self.bits = np.random.Philox(0)
        self.generator = np.random.Generator(self.bits)
        self.state: Any = {**self.bits.state, "state": {"counter": np.zeros(4, np.uint64)}}
        self.first, self.keys = -AHEAD, np.empty((AHEAD, 2), np.uint64)

    def at(self, iteration: int, redraws: int = 0) -> np.random.Generator:
        """The generator of one iteration; of its j-th redraw where it was begun again. It ends the one before."""
        if redraws:
            key = self._keys_of(np.array([iteration], np.uint64), redraws)[0]
        else:
            if not 0 <= iteration - self.first < AHEAD:
                self.first = iteration - iteration % AHEAD
                self.keys = self._keys_of(np.arange(self.first, self.first + AHEAD, dtype=np.uint64))
            key = self.keys[iteration - self.first]
        self.state["state"]["key"] = key
        self.bits.state = self.state
        return self.generator

    def _keys_of(self, iterations: NDArray[np.uint64], redraws: int = 0) -> NDArray[np.uint64]:
        """Philox's keys, (len(iterations), 2), of iterations whose numbers are equally long."""
        mixed: Sequence[HashedWords]
        mixed, constant = self.pool, self.constant
        for shift in range(0, max(1, int(iterations[-1]).bit_length()), 32):
            mixed, constant = stirred(mixed, constant, iterations >> np.uint64(shift) & np.uint64(MASK))
        for shift in range(0, redraws.bit_length(), 32):
            mixed, constant = stirred(mixed, constant, redraws >> shift & MASK)
        constant, words = INIT_B, []
        for word in mixed:
            value = word ^ constant
            constant = constant * MULT_B & MASK
            value = value * constant & MASK
            words.append(value ^ value >> 16)
        return np.stack([words[0] | words[1] << 32, words[2] | words[3] << 32], axis=1)


class Loop(RunView):
    """What becomes of a run with each answer; :class:`~zofw.Session` has what else may happen to it."""

    run: Run
    task: Task
    observers: Sequence[object]
    files: RunFiles | None  # where what is paid for is written down, if anywhere
    parts: list[Entry]  # of the open query, from before this process
    in_hand: int  # evaluations of the open query that were paid for and are not in the ledger yet

    def take_up(
        self, run: Run, task: Task, objective: Callable[[Array], float] | None, dtype: DTypeLike
    ) -> None:
        """Go on with a run from where it is."""
        self.run, self.task = run, task
        self.files, self.parts, self.in_hand = None, [], 0
        self.diagnosis = Diagnosis(run, objective)
        self._set, self._stream = task.set, Stream(run.entropy)
        self._radii, self._assumptions = RadiusWatch(dtype), AssumptionWatch(run.number == 0)
        self._open: Query | None = None
        self._told: Query | None = None
        self._step: StepGenerator | None = None
        run.nfev, run.granted = sum(run.ledger.values()), run.limits.granted(run.reserve)

    def note(
        self, kind: EntryKind, a: int = 0, b: int = 0, tile: Tile = NOWHERE, arrays: Tables = ()
    ) -> None:
        """Write down what has become of the open query, where there is a journal, so that nothing is paid for twice."""
        run = self.run
        if self.files is not None:
            tables = tuple(array for array in arrays if array is not None)
            self.files.append(Entry(kind, run.serial, run.number, a, b, self.seconds, tile, tables))
        run.serial += 1

    @abstractmethod
    def _observed(self) -> bool:
        """Whether no observer wants to stop."""

    @property
    def seconds(self) -> float:
        """Time spent on queries and computation, diagnosis excepted."""
        return self.diagnosis.clock.read()

    @property
    def remaining(self) -> float:
        """Queries that may still be asked: by iterations, or, once these have ended, about x."""
        run = self.run
        most = run.granted if run.closing is None else run.limits.budget
        return math.inf if most is None else most - run.nfev

    # ------------------------------------------------------------------ asking and telling

    def ask(self) -> Query | None:
        """The query that is wanted next, or None when the run has stopped. Asking again returns the same query."""
        if self._open is None and self.run.status is Status.RUNNING:
            self._advance()
        return self._open

    def tell(self, query: Query, answer: Answer | ArrayLike) -> None:
        """Answer the open query: an :class:`~zofw.core.Answer`, or its means as an array of shape (k, width).

        The answer is checked, then written to the journal where there is one, then counted and used.
        """
        if self._open is None or query is not self._open:
            known = ": it was answered before, and its first answer counts" if query is self._told else ""
            raise ValueError(
                f"This is not the open query{known}. Ask for the open one, answer it, and tell the answer once."
            )
        run, cost = self.run, query.cost
        if isinstance(answer, Answer) and not query.variance and query.fits(answer.values):
            sound = Answer(answer.values.copy())  # nothing to say about it
        else:
            sound = check_answer(query, answer)
        if query.radius <= self._radii.below:
            self._radii(query, sound)
        whole = run.n == 1 or (query.batch.indices is None and not query.paired)
        if whole:
            self._assumptions(query, sound, run)
        if self.files is None:
            run.serial += 1
        else:
            self.note(EntryKind.ANSWER, arrays=(sound.values, sound.variance))
        self.parts, self.in_hand = [], 0
        run.ledger[query.purpose.line] += cost
        run.nfev += cost
        iteration = run.open if run.closing is None else run.learning
        iteration.spent += cost
        iteration.answers.append(sound)
        self.task.paid += cost
        run.number += 1
        self._open, self._told = None, query
        if whole:
            values = objective(run.outer, sound.values)[:, None] if query.each else sound.values
            run.seen, run.here, run.best = remembered(run, query, values, self._set)
        self._advance(sound)

    # ------------------------------------------------------------------ iterations

    def _advance(self, answer: Answer | None = None) -> None:
        """Run the algorithm to its next query, through as many iterations as ask nothing."""
        run = self.run
        while run.status is Status.RUNNING:
            ended: StepEnd | None = None
            out_of_budget = False
            try:
                if self._step is None:
                    if self._past_limits():
                        continue
                    self._step = self._begin()
                    if not run.trace.rows:  # x_0, once an iteration can be paid
                        self.diagnosis.record()
                    query = next(self._step)
                elif answer is not None:
                    query, answer = self._step.send(answer), None
                else:
                    query = self._step.throw(OutOfBudget())
            except StopIteration as end:
                ended = end.value
            except OutOfBudget:
                out_of_budget = True
            if out_of_budget:
                stalled = (
                    run.info.ending is not None and not run.open.answers
                )  # and no iteration has begun since
                short = Status.STALLED if stalled else Status.BUDGET
                self._end(short if run.closing is None else run.closing)
            elif ended is not None:
                self._finish(ended)
            elif (run.granted is None or query.cost <= self.remaining) and self._allow(query):
                return

    def _allow(self, query: Query) -> bool:
        """Open a query if its points may be asked for; else refuse the run, or end it if it has paid already."""
        run = self.run
        try:
            found = too_near(query, run) if run.resolution else None
            self._open = keep_inside(query, self._set) if run.inside and found is None else query
        except OutsideError as error:
            found = str(error)
        if found is None:
            return True
        self._open = None
        if run.nfev == 0:
            raise ValueError(found)
        run.info = dataclasses.replace(run.info, ending=Ending(False, found))
        self._end(Status.STALLED)
        return False

    def _past_limits(self) -> bool:
        """Whether a limit other than the budget ends the run before another iteration."""
        run, limits = self.run, self.run.limits
        past: Status | None = None
        if limits.max_iter is not None and run.nit >= limits.max_iter:
            past = Status.MAX_ITER
        elif limits.max_lmo is not None and run.nlmo >= limits.max_lmo:
            past = Status.MAX_LMO
        elif limits.max_time is not None and self.seconds >= limits.max_time:
            past = Status.MAX_TIME
        if past is None or run.closing is not None:
            return False
        self._end(past)
        return True

    def _begin(self) -> StepGenerator:
        """The coming iteration, if it can be paid: a step of the method or, where the run is closing, the queries about f at x."""
        run, task = self.run, self.task
        paid, granted, closing = run.nfev, run.granted, run.closing is not None
        iteration = run.learning if closing else run.open
        iteration.workers = task.workers = iteration.workers or run.workers
        if granted is not None and not closing:
            left = granted - paid
            if left < NEAR_THE_END * run.dearest or run.nit == 0:
                self._afford(left)
        task.lmos, task.paid, task.budget = 0, paid, granted
        iteration.paid, iteration.budget = paid, granted
        return self._steps()

    def _afford(self, left: float) -> None:
        """Raise OutOfBudget where the coming iteration, as the method prices it or a rehearsal shows, costs more than is left."""
        run = self.run
        if run.nit and isinstance(run.method, Pricing) and run.method.most(self.task, run.state) <= left:
            return
        least = self.rehearse()
        if least <= left:
            return
        if run.nit == run.nfev == 0:
            needed = least_budget(run.n, least) if run.reserve else least
            sized = not {"batch_size", "directions"}.isdisjoint(vars(run.method))
            raise BudgetError(run.limits.budget or 0, needed, needed - least, run.method.name, sized)
        raise OutOfBudget

    def _again(self, iteration: Iteration) -> StepGenerator:
        """An iteration brought to where it was before the last of the answers it has had."""
        task = self.task
        task.lmos, task.paid, task.budget = 0, iteration.paid, iteration.budget
        task.workers = iteration.workers or self.run.workers
        steps = self._steps()
        query = next(steps)
        for answer in iteration.answers[:-1]:
            task.paid += query.cost
            query = steps.send(answer)
        task.paid += query.cost
        return steps

    def _steps(self) -> StepGenerator:
        run = self.run
        if run.closing is not None:
            return learn(run, lambda: self._stream.at(run.nit, LAST))

        def steps(state: State) -> Generator[Query, Answer, tuple[State, Info]]:
            begun: Generator[Query, Answer, tuple[State, Info]] = run.method.step(
                self.task, state, self._stream.at(run.nit, run.redraws)
            )
            return begun

        stated = run.stated if run.nit == 0 else None
        if stated is None:
            return steps(run.state)
        return check_first(stated, run.n, run.state, lambda: run.method.init(self.task, stated.x), steps)

    def rehearse(self) -> int:
        """Cost of the coming iteration, asked of a copy that is told zeros; nothing is evaluated."""
        task, cost = self.task, 0
        lmos, task.paid, task.budget = task.lmos, self.run.nfev, self.run.granted
        steps = self._steps()
        try:
            with np.errstate(all="ignore"):
                query = next(steps)
                for _ in range(REHEARSED_QUERIES):
                    cost += query.cost
                    task.paid += query.cost
                    spread = np.zeros((len(query.anchors), query.count)) if query.variance else None
                    query = steps.send(Answer(np.zeros((len(query.anchors), query.width)), spread))
        except StopIteration:
            pass
        finally:
            steps.close()
            task.lmos = lmos
        return cost

    def _finish(self, ended: StepEnd) -> None:
        run = self.run
        self._step = None
        if isinstance(ended, Known):
            run.here = ended
            if run.closing is not None:
                self._end(run.closing)
            return
        state, info = ended
        if run.nit == 0 and run.stated is not None and (wrong := contradiction(run.stated, run.open.answers)):
            run.reasons["known"] = wrong
            warnings.warn(wrong, UserWarning, stacklevel=3)
        plain = run.gap_tol is None and type(info) is Info and info.ending is None
        how = None if plain else ending_status(info, run.gap_tol, run.method.name)
        moved = how is None or not info.at_start  # else x stays where the gap was found small
        if moved:
            run.state = state
            if run.best is not None or run.here is not None or run.seen:
                x, known = np.asarray(state.x, dtype=float), dict.fromkeys((run.best, run.here, *run.seen))
                key = x.tobytes()
                run.here = next((one for one in known if one and one.x.tobytes() == key), None)
        run.info = info
        run.nit += 1
        run.nlmo += self.task.lmos
        run.dearest = max(run.dearest, run.open.spent)
        run.redraws = 0
        run.open, run.seen = Iteration(), []
        if (
            run.best is not None
            and info.gap is not None
            and (run.here is run.best if moved else (run.best.x == run.state.x).all())
        ):
            run.best = dataclasses.replace(run.best, gap=run.gap, gap_error=info.gap_error)
        if self.diagnosis.rows and self.diagnosis.due():
            self.diagnosis.record()
        if (self.observers or self.files is not None) and not self._observed():
            self._end(Status.CALLBACK)
        elif how is not None:
            self._end(how)

    def _end(self, status: Status) -> None:
        """Stop, once f at x is known where somebody wants to know it and it can be paid."""
        run = self.run
        self._close()
        if run.closing is None and status is not Status.INTERRUPTED and not self._set.contains(run.x):
            status = self._put_back(status)
        if run.pays and run.closing is None and run.here is None and status is not Status.INTERRUPTED:
            run.closing = status
            return
        run.status = status
        if status is not Status.INTERRUPTED:
            run.closing, run.learning = None, Iteration()
        if not run.trace.rows or run.trace.rows[-1][0] != run.nit:
            self.diagnosis.record()
            run.closing_row = True
        self._assumptions.at_the_end(run)
        said = run.method.name, run.nit, run.nfev, run.message
        logger.info("%s stopped after %d iterations and %d queries: %s", *said)

    def _put_back(self, status: Status) -> Status:
        """Replace an x outside the set by a member: the nearest if rounding took it out, else the best one, and nothing converged."""
        run = self.run
        member, distance, rounding = put_back(self._set, run.x)
        if not rounding:
            said = f"x was {distance:.3g} outside {self._set!r:.200}, whose methods contradict each other; `zofw check set` shows where."
            run.info, status = dataclasses.replace(run.info, ending=Ending(False, said)), Status.STALLED
        if run.trace.rows and run.trace.rows[-1][0] == run.nit:
            run.trace.pop()
        run.here = None if rounding else run.best
        state: Any = run.state
        run.state = dataclasses.replace(state, x=member if run.here is None else run.here.x)
        return status

    def _close(self) -> None:
        self._open = None
        if self._step is not None:
            self._step.close()
            self._step = None
