"""The rules of a run: budget, counting, seeding, stopping, observers, and what is written down when.

An iteration is a generator of queries. Its random numbers derive from (seed, t), and it is a pure function of the state
before it and the answers it has had; so a checkpoint is that state plus those answers, and resuming replays them.
"""

from __future__ import annotations

import dataclasses
import logging
import math
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from zofw.core import (
    Answer,
    Array,
    Batch,
    Ending,
    Indices,
    MethodLike,
    OutOfBudget,
    Pattern,
    Query,
    Seed,
    Task,
    Tile,
)  # fmt: skip
from zofw.run.files.journal import NOWHERE, Entry, EntryKind
from zofw.run.files.run_files import RunFiles, write_alone
from zofw.run.record.run import FAILED, Iteration, Known, Limits, Run, RunView
from zofw.run.record.status import Status
from zofw.run.session.beginning import Asked, Handed, begin, resume
from zofw.run.session.diagnosis import Diagnosis
from zofw.run.session.inside import keep_inside
from zofw.run.session.iteration import Iterations, StepEnd, StepGenerator, cost_of_value, ending_status
from zofw.run.session.told import AssumptionWatch, RadiusWatch, check_answer, remembered, too_near
from zofw.sets import SetLike

if TYPE_CHECKING:
    from zofw.run.record.result import Result

logger = logging.getLogger("zofw")

Observer = Callable[["Session"], None]
Tables = Sequence[Array | None]


class Session(RunView):
    """Ask, tell, checkpoint: a run whose queries somebody else answers.

    Parameters
    ----------
    set
        The convex set: one of :func:`zofw.sets` or any object with ``lmo(g)``.
    dim, n
        Dimension of x and number of components.
    method
        A registered name or a settings object; see :func:`zofw.methods`.
    budget
        Most evaluations of single components; never exceeded.
    x0
        A point of the set; the set's own initial point by default.
    rng
        Seed, ``SeedSequence``, ``Generator`` or None, as in SPEC 7.
    max_iter, max_lmo, max_time
        Limits on iterations, LMO calls and seconds (of queries and computation, not of diagnosis), checked between iterations.
    gap_tol
        Stop when the method's bound of the Frank-Wolfe gap, or its estimate where it has no bound, is at most this.
    inside
        Keep every evaluated point inside the set; see :func:`~zofw.run.session.inside.keep_inside`.
    resolution
        How far apart two points must lie, in Euclidean distance, to be different for whoever evaluates: a laboratory that weighs
        to 0.01 can do nothing with points 1e-9 apart. The default methods choose their radii by it, and learn the noise
        of the values by asking for one point again; a method with a shorter radius of its own is refused.
    structure, known
        Whether the method may know the pattern; points of the set with f there from before the run, the least first.
    objective, gradient, support, pattern
        Exact mean, for diagnosis; its gradient, for first-order methods; what a batch depends on, for lazy laws; and the
        coordinates that each of its components depends on.
    diagnose
        How many times per decade of queries the objective is put on the trace: by default 20 where there is one. Without an
        objective, f at the last iterate is asked for at the end and charged to the line "result" of the ledger; the cost, n
        queries or a sample for a fiftieth of the budget, is kept back from the start. 0 switches both off.
    observers
        Called with the session after every iteration; raising StopIteration stops the run.
    dtype
        The precision of the values, for the warning about radii that are too small for it.

    Attributes
    ----------
    run
        Everything the run has become, as one value: what :meth:`checkpoint` writes.
    task
        What the method sees.

    Examples
    --------
    >>> import zofw
    >>> from zofw.problems import BlackBox, evaluate
    >>> f = BlackBox(lambda x: float((x**2).sum()), dim=3)
    >>> session = zofw.Session(zofw.Simplex(), dim=3, budget=100, rng=0)
    >>> while (query := session.ask()) is not None:
    ...     session.tell(query, evaluate(f, query))
    >>> session.result().nfev <= 100, session.result().success
    (True, True)
    """

    def __init__(
        self,
        set: SetLike,
        *,
        dim: int,
        n: int = 1,
        method: MethodLike = "auto",
        budget: int | None = None,
        x0: ArrayLike | None = None,
        rng: Seed = None,
        max_iter: int | None = None,
        max_lmo: int | None = None,
        max_time: float | None = None,
        gap_tol: float | None = None,
        inside: bool = False,
        resolution: float = 0.0,
        structure: bool = True,
        known: tuple[Array, Array] | None = None,
        objective: Callable[[Array], float] | None = None,
        gradient: Callable[[Array], Array] | None = None,
        support: Callable[[Batch], Indices] | None = None,
        pattern: Callable[[Batch], Pattern | None] | None = None,
        diagnose: int | None = None,
        observers: Sequence[Observer] = (),
        dtype: DTypeLike = np.float64,
    ) -> None:
        limits = Limits(budget, max_iter, max_lmo, max_time)
        asked = Asked(
            set, dim, n, method, limits, x0, rng, gap_tol, inside, resolution, structure, known, diagnose
        )
        handed = Handed(None, None, objective, gradient, support, pattern, observers, dtype)
        self.take_up(*begin(asked, handed), handed)

    def take_up(self, run: Run, task: Task, handed: Handed) -> None:
        """Begin to be the rules of a run."""
        self.run, self.task, self.observers = run, task, list(handed.observers)
        self.files: RunFiles | None = None  # where what is paid for is written down, if anywhere
        self.parts: list[Entry] = []  # of the open query, from before this process
        self.in_hand = 0  # evaluations of the open query that were paid for and are not in the ledger yet
        self.diagnosis = Diagnosis(run, handed.objective)
        self._set = task.set
        self._iterations = Iterations(run, task)
        self._watch, self._assumptions = RadiusWatch(handed.dtype), AssumptionWatch(run.number == 0)
        self._open: Query | None = None
        self._told: Query | None = None
        self._step: StepGenerator | None = None
        run.nfev, run.granted = sum(run.ledger.values()), run.limits.granted(run.reserve)

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

    def _charge(self, line: str, cost: int) -> None:
        self.run.ledger[line] += cost
        self.run.nfev += cost

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
        run, sound = self.run, check_answer(query, answer)
        self._watch(query, sound)
        whole = run.n == 1 or (query.batch.indices is None and not query.paired)
        if whole:
            self._assumptions(query, sound, run)
        self.note(EntryKind.ANSWER, arrays=(sound.values, sound.variance))
        self.parts, self.in_hand = [], 0
        self._charge(query.purpose.line, query.cost)
        iteration = run.open if run.closing is None else run.learning
        iteration.spent += query.cost
        iteration.answers.append(sound)
        self.task.paid += query.cost
        run.number += 1
        self._open, self._told = None, query
        if whole:
            run.seen, run.here, run.best = remembered(run, query, sound.values, self._set)
        self._advance(sound)

    def fail(self, cost: int, paid: int = 0) -> bool:
        """Charge ``cost`` evaluations that brought nothing; whether the budget still allows the open query.

        Where it does not, the ``paid`` evaluations that the query has already had are charged as well, and the iteration
        ends as one that runs out of budget does.
        """
        run = self.run
        allowed = self._open is None or self._open.cost <= self.remaining - cost
        if cost or not allowed:
            self.note(EntryKind.FAILED, cost, 0 if allowed else paid)
        self._charge(FAILED, cost)
        run.lost += cost
        if not allowed:
            self._charge(FAILED, paid)
            self._open, self.parts, self.in_hand = None, [], 0
            self._advance()
        return allowed

    def drop(self, paid: int = 0) -> None:
        """Begin the open iteration again with new random numbers, charging what its open query has already had."""
        run = self.run
        self.note(EntryKind.DROPPED, b=paid)
        self.parts, self.in_hand = [], 0
        self._charge(FAILED, paid)
        run.dropped += 1
        self._close()
        if run.closing is None:
            run.redraws += 1
            run.open = Iteration()
        else:
            self._end(run.closing)

    def recompute(self, cost: int) -> None:
        """Count evaluations that are made again because a worker died over them."""
        self.run.recomputed += cost

    def stop(self, status: Status = Status.INTERRUPTED) -> None:
        """End the run here; the open iteration is dropped from the result but kept by a checkpoint."""
        self._end(status)

    def extend(self, **limits: float | None) -> None:
        """Replace some of the limits, of a run that has stopped as well: it then goes on where it was."""
        run = self.run
        if limits and run.closing is not None:
            self._close()
            run.closing, run.learning = None, Iteration()
        run.limits = run.limits.with_(**limits)
        if run.pays and run.limits.budget is not None:
            run.reserve = cost_of_value(run.n, run.limits.budget)
        run.granted = run.limits.granted(run.reserve)
        self.task.max_iter = run.limits.max_iter
        if self._step is None:
            self.reopen()
        elif self._open is not None and self._open.cost > self.remaining:
            self._open = None
            self._advance()

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
                    self._step = self._iterations.begin()
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
                self._end(Status.BUDGET if run.closing is None else run.closing)
            elif ended is not None:
                self._finish(ended)
            elif query.cost <= self.remaining:
                if run.resolution and (found := too_near(query, run)):
                    run.info = dataclasses.replace(run.info, ending=Ending(False, found))
                    self._end(Status.STALLED)
                    continue
                self._open = keep_inside(query, self._set) if run.inside else query
                return

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

    def _finish(self, ended: StepEnd) -> None:
        run = self.run
        self._step = None
        if isinstance(ended, Known):
            run.here = ended
            if run.closing is not None:
                self._end(run.closing)
            return
        state, info = ended
        how = ending_status(info, run.gap_tol, run.method.name)
        if not (how is not None and info.at_start):  # else x stays where the gap was found small
            run.state, x = state, state.x
            known = dict.fromkeys((run.best, run.here, *run.seen))
            run.here = next((one for one in known if one and (one.x == x).all()), None)
        run.info = info
        run.nit += 1
        run.nlmo += self.task.lmos
        run.dearest = max(run.dearest, run.open.spent)
        run.redraws = 0
        run.open, run.seen = Iteration(), []
        if run.best is not None and info.gap is not None and (run.best.x == run.state.x).all():
            run.best = dataclasses.replace(run.best, gap=run.gap, gap_error=info.gap_error)
        if self.diagnosis.rows and self.diagnosis.due():
            self.diagnosis.record()
        if not self._observed():
            self._end(Status.CALLBACK)
        elif how is not None:
            self._end(how)

    def _observed(self) -> bool:
        """Whether no observer wants to stop."""
        try:
            for observer in self.observers:
                observer(self)
        except StopIteration:
            return False
        if self.files is not None and self.files.due:
            self.files.turn_over(self.snapshot())
        return True

    def _end(self, status: Status) -> None:
        """Stop, once f at x is known where somebody wants to know it and it can be paid."""
        run = self.run
        self._close()
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

    def _close(self) -> None:
        self._open = None
        if self._step is not None:
            self._step.close()
            self._step = None

    def reopen(self) -> None:
        """Let a run that had stopped short of convergence go on: its limits are looked at again."""
        run = self.run
        if run.status in (Status.CONVERGED, Status.ESTIMATED):
            return
        if run.status is not Status.RUNNING:
            run.status = Status.RUNNING
            if run.closing_row:
                run.trace.pop()
                run.closing_row = False
        iteration = run.open if run.closing is None else run.learning
        if iteration.answers:
            self._step = self._iterations.again(iteration)
            self._advance(iteration.answers[-1])

    def result(self) -> Result:
        """The run so far, as a :class:`~zofw.Result`: at the better of the last iterate and the best point paid for."""
        from zofw.run.record.result import Result  # brings scipy.optimize, which takes long to import

        return Result.of(self.snapshot(), *self.diagnosis.last_value(), self.in_hand)

    # ------------------------------------------------------------------ saving and resuming

    def snapshot(self) -> Run:
        """The run as a checkpoint writes it."""
        self.run.seconds = self.seconds
        return self.run

    def checkpoint(self, path: str | os.PathLike[str]) -> None:
        """Save the run to one file: the state before the open iteration and the answers it has had."""
        write_alone(self.snapshot(), Path(path))

    @classmethod
    def resume(cls, path: str | os.PathLike[str] | RunFiles, **given: Any) -> Session:
        """Continue a saved run bit for bit; with other limits (budget, max_iter, max_lmo, max_time), as far as they allow.

        Answers that ``minimize(…, checkpoint=path)`` wrote to a journal beside the file after it are told again, so none is
        paid twice. ``objective``, ``gradient``, ``support``, ``pattern``, ``observers`` and ``dtype`` are those of the constructor. A set or
        method of your own is recognised by handing over the object itself as ``set`` or ``method``, or its class in ``known``
        under ``"module:name"``; what is handed over must equal what was saved. A set that is no dataclass is not in the
        file and has to be handed over.
        """
        names = {field.name for field in dataclasses.fields(Handed)}
        handed = Handed(**{name: thing for name, thing in given.items() if name in names})
        return resume(cls, path, handed, {name: limit for name, limit in given.items() if name not in names})

    def write_to(self, files: RunFiles, anew: bool = True) -> None:
        """Keep the run in files from here on; ``anew`` with a checkpoint first."""
        self.files = files
        if anew and not files.exists:
            files.begin(self.snapshot())
        elif anew:
            files.turn_over(self.snapshot())
            for part in self.parts:
                self.note(part.kind, part.a, part.b, part.tile, part.arrays)

    def note(
        self, kind: EntryKind, a: int = 0, b: int = 0, tile: Tile = NOWHERE, arrays: Tables = ()
    ) -> None:
        """Write down what has become of the open query, where there is a journal, so that nothing is paid for twice."""
        run = self.run
        if self.files is not None:
            tables = tuple(array for array in arrays if array is not None)
            self.files.append(Entry(kind, run.serial, run.number, a, b, self.seconds, tile, tables))
        run.serial += 1
