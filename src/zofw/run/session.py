"""The one place that owns budget, counting, seeding, stopping and observers.

An iteration is a generator of queries. Its random numbers derive from (seed, t), and it is a pure function of the state
before it and the answers it has had; so a checkpoint is that state plus those answers, and resuming replays them.
"""

from __future__ import annotations

import logging
import math
import os
import uuid
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from zofw import kernels
from zofw.algorithms import as_algorithm, is_first_order
from zofw.core import (
    Answer,
    Array,
    Batch,
    FirstOrderTask,
    Indices,
    Info,
    OutOfBudget,
    Purpose,
    Query,
    Step,
    Task,
)
from zofw.core.task import no_gradient
from zofw.run.answers import check_answer
from zofw.run.checkpoint import resume, save
from zofw.run.clock import Clock
from zofw.run.given import starting_point
from zofw.run.inside import keep_inside
from zofw.run.limits import BudgetError, check_limits, check_sizes
from zofw.run.seeds import Stream, entropy_of
from zofw.run.status import Status, ending_status
from zofw.run.trace import Trace
from zofw.sets import as_set

if TYPE_CHECKING:
    from zofw.run.result import Result

logger = logging.getLogger("zofw")

REHEARSED_QUERIES = 10_000  # a rehearsal that asks more than this is stopped
NEAR_THE_END = 4  # rehearse an iteration when fewer than this many of the dearest so far can be paid
FAILED = "failed"  # the line of the ledger for what was paid and brought no answer

Observer = Callable[["Session"], None]


class Session:
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
        Looked at between iterations: limits on iterations, LMO calls and seconds (of queries and computation, not of diagnosis).
    gap_tol
        Stop when the method's estimate of the Frank-Wolfe gap is at most this.
    inside
        Keep every evaluated point inside the set; see :func:`~zofw.run.inside.keep_inside`.
    objective, gradient, support
        Exact mean and its gradient, for diagnosis and first-order methods; what a batch depends on, for lazy laws.
    diagnose
        How many times per decade of queries the objective is put on the trace; 0 for never.
    observers
        Called with the session after every iteration; raising StopIteration stops the run.

    Examples
    --------
    >>> import zofw
    >>> from zofw.problems import BlackBox, evaluate
    >>> f = BlackBox(lambda x: float((x**2).sum()), dim=3)
    >>> session = zofw.Session(zofw.Simplex(), dim=3, method="zo-fw", budget=100, rng=0)
    >>> while (query := session.ask()) is not None:
    ...     session.tell(query, evaluate(f, query))
    >>> session.result().nfev
    100
    """

    def __init__(
        self,
        set: Any,
        *,
        dim: int,
        n: int = 1,
        method: Any = "auto",
        budget: int | None = None,
        x0: Any = None,
        rng: Any = None,
        max_iter: int | None = None,
        max_lmo: int | None = None,
        max_time: float | None = None,
        gap_tol: float | None = None,
        inside: bool = False,
        objective: Callable[[Array], float] | None = None,
        gradient: Callable[[Array], Array] | None = None,
        support: Callable[[Batch], Indices] | None = None,
        diagnose: int = 20,
        observers: Sequence[Observer] = (),
    ) -> None:
        limits = {"budget": budget, "max_iter": max_iter, "max_lmo": max_lmo, "max_time": max_time}
        self.limits = check_limits(limits)
        self.set = as_set(set)
        self.set.check_dim(dim)
        check_sizes(n=n, dim=dim, gap_tol=gap_tol, diagnose=diagnose)
        self.gap_tol = gap_tol
        self.inside = inside
        self.diagnose = diagnose
        self.objective = objective
        self.observers = list(observers)
        budget = None if budget is None else int(budget)
        first_order = is_first_order(method)
        self.task = Task(
            self.set,
            int(dim),
            int(n),
            budget,
            None if max_iter is None else int(max_iter),
            None if support is None else lambda batch: support(batch),
            inside,
            kernels.integers,
        )
        if first_order:
            self.task = FirstOrderTask(**vars(self.task), gradient=gradient or no_gradient)
        self.algorithm, self.reasons = as_algorithm(method, self.task)
        if all(limit is None for limit in limits.values()):
            raise ValueError(
                "Nothing would ever stop this run: give a budget, or max_iter, max_lmo or max_time."
            )
        if first_order and all(self.limits[name] is None for name in ("max_iter", "max_lmo", "max_time")):
            raise ValueError(
                f"{self.algorithm.name} asks no queries, so no budget ends it: give max_iter, max_lmo or max_time."
            )
        if first_order and gradient is None:
            raise ValueError(
                f"{self.algorithm.name} is a first-order reference method and needs a problem with a gradient."
            )
        self.entropy = entropy_of(rng)
        self.stream = Stream(self.entropy)
        self.identity = uuid.uuid4().hex  # of its journal
        self.serial = 0  # entries of the journal that this state includes
        self.ledger: dict[str, int] = {purpose.value: 0 for purpose in Purpose} | {FAILED: 0}
        self.trace = Trace()
        self.nit = self.nlmo = 0
        self.number = 0  # queries answered so far, the index of the open one
        self.status = Status.RUNNING
        self.info = Info()
        self.diagnosed = 0  # component evaluations spent on diagnosis
        self.recomputed = 0  # evaluations made again because a worker died over them, in no other count
        self.dearest = 0  # queries of the dearest iteration so far
        self.redraws = self.dropped = 0  # how often the open iteration, and any, was begun again
        self.answers: list[Answer] = []
        self.closing_row = False  # whether stopping put a row on the trace that going on would not have
        self.clock = Clock()
        start, note = starting_point(self.set, self.task.dim, x0)
        if note is not None:
            self.reasons = {**self.reasons, "x0": note}
        self.state = self.algorithm.init(self.task, start)
        self._open: Query | None = None
        self._told: Query | None = None
        self._step: Step | None = None
        self.spent = 0  # queries of the open iteration

    # ------------------------------------------------------------------ asking and telling

    @property
    def x(self) -> Array:
        """The current iterate, read-only."""
        x = np.asarray(self.state.x).view()
        x.setflags(write=False)
        return x

    @property
    def nfev(self) -> int:
        """Evaluations of single components that were paid for."""
        return sum(self.ledger.values())

    @property
    def seconds(self) -> float:
        """Time spent on queries and computation, diagnosis excepted."""
        return self.clock.read()

    @property
    def gap(self) -> float | None:
        """The method's estimate of the Frank-Wolfe gap at x itself; None where its last one is of the point before."""
        here = not self.info.at_start or self.status in (Status.CONVERGED, Status.ESTIMATED)
        return self.info.gap if here else None

    @property
    def message(self) -> str:
        """Why the run stopped: the method's own sentence where it has one."""
        said = self.info.ending if self.status in (Status.CONVERGED, Status.STALLED) else None
        return self.status.sentence if said is None else said.sentence

    @property
    def remaining(self) -> float:
        """Queries that may still be asked."""
        return math.inf if self.task.budget is None else self.task.budget - self.nfev

    def ask(self) -> Query | None:
        """The query that is wanted next, or None when the run has stopped. Asking again returns the same query."""
        if self._open is None and self.status is Status.RUNNING:
            self._advance()
        return self._open

    def tell(self, query: Query, answer: Answer | Any) -> None:
        """Answer the open query: an :class:`~zofw.core.Answer`, or its means as an array of shape (k, width)."""
        if self._open is None or query is not self._open:
            known = ": it was answered before, and its first answer counts" if query is self._told else ""
            raise ValueError(
                f"This is not the open query{known}. Ask for the open one, answer it, and tell the answer once."
            )
        answer = check_answer(query, answer)
        self._account(query, answer)
        self._advance(answer)

    def fail(self, cost: int, paid: int = 0) -> bool:
        """Charge ``cost`` evaluations that brought nothing; whether the budget still allows the open query.

        Where it does not, the ``paid`` evaluations that the query has already had are charged as well, and the iteration
        ends as one that runs out of budget does.
        """
        self.ledger[FAILED] += cost
        if self._open is None or self._open.cost <= self.remaining:
            return True
        self.ledger[FAILED] += paid
        self._open = None
        self._advance()
        return False

    def drop(self, paid: int = 0) -> None:
        """Begin the open iteration again with new random numbers, charging what its open query has already had."""
        self.ledger[FAILED] += paid
        self.redraws += 1
        self.dropped += 1
        self._close()

    def _account(self, query: Query, answer: Answer) -> None:
        self.ledger[query.purpose.line] += query.cost
        self.spent += query.cost
        self.task.paid += query.cost
        self.number += 1
        self.answers.append(answer)
        self._open, self._told = None, query

    def _advance(self, answer: Answer | None = None) -> None:
        """Run the algorithm to its next query, through as many iterations as ask nothing."""
        if not self.trace.rows:
            self._record()
        while self.status is Status.RUNNING:
            try:
                if self._step is None:
                    if not self._may_begin():
                        return
                    self._step = self._begin()
                    query = next(self._step)
                elif answer is not None:
                    query, answer = self._step.send(answer), None
                else:
                    query = self._step.throw(OutOfBudget())
                if query.cost > self.remaining:
                    continue
                self._open = keep_inside(query, self.set) if self.inside else query
                return
            except StopIteration as end:
                self._finish_iteration(*end.value)
            except OutOfBudget:
                self._stop(Status.BUDGET)

    def _begin(self) -> Step:
        self.task.lmos = 0
        self.task.paid = self.nfev
        self.spent = 0
        self.answers = []
        return self._generator()

    def _generator(self) -> Step:
        rng = self.stream.at(self.nit, self.redraws)
        step: Step = self.algorithm.step(self.task, self.state, rng)
        return step

    def _may_begin(self) -> bool:
        """Whether limits and budget allow another iteration; the cost of one is known by rehearsing it."""
        limits = self.limits
        if limits["max_iter"] is not None and self.nit >= limits["max_iter"]:
            self._stop(Status.MAX_ITER)
        elif limits["max_lmo"] is not None and self.nlmo >= limits["max_lmo"]:
            self._stop(Status.MAX_LMO)
        elif limits["max_time"] is not None and self.seconds >= limits["max_time"]:
            self._stop(Status.MAX_TIME)
        elif self.task.budget is not None and (self.nit == 0 or self.remaining < NEAR_THE_END * self.dearest):
            least = self._rehearse()
            if least > self.remaining:
                if self.nit == self.nfev == 0:
                    raise BudgetError(self.task.budget, least, self.algorithm.name)
                self._stop(Status.BUDGET)
        return self.status is Status.RUNNING

    def _rehearse(self) -> int:
        """Cost of the coming iteration, asked of a copy that is told zeros; nothing is evaluated."""
        lmos, cost = self.task.lmos, 0
        self.task.paid = self.nfev
        step = self._generator()
        try:
            with np.errstate(all="ignore"):
                query = next(step)
                for _ in range(REHEARSED_QUERIES):
                    cost += query.cost
                    self.task.paid += query.cost
                    shape = (len(query.anchors), query.width)
                    spread = np.zeros((len(query.anchors), query.count)) if query.variance else None
                    query = step.send(Answer(np.zeros(shape), spread))
        except StopIteration:
            pass
        finally:
            step.close()
            self.task.lmos = lmos
        return cost

    def _finish_iteration(self, state: Any, info: Info) -> None:
        reached = ending_status(info, self.gap_tol, self.algorithm.name)
        if not (reached is not None and info.at_start):  # else x stays where the gap was found small
            self.state = state
        self.info = info
        self.nit += 1
        self.nlmo += self.task.lmos
        self.dearest = max(self.dearest, self.spent)
        self.redraws = 0
        self._step = None
        self.answers = []
        if self._due():
            self._record()
        try:
            for observer in self.observers:
                observer(self)
        except StopIteration:
            self._stop(Status.CALLBACK)
            return
        if reached is not None:
            self._stop(reached)

    def stop(self, status: Status = Status.INTERRUPTED) -> None:
        """End the run here; the open iteration is dropped from the result but kept by a checkpoint."""
        self._stop(status)

    def _stop(self, status: Status) -> None:
        self.status = status
        self._close()
        if not self.trace.rows or self.trace.rows[-1][0] != self.nit:
            self._record()
            self.closing_row = True
        logger.info(
            "%s stopped after %d iterations and %d queries: %s",
            self.algorithm.name,
            self.nit,
            self.nfev,
            self.message,
        )

    def _close(self) -> None:
        self._open = None
        if self._step is not None:
            self._step.close()
            self._step = None

    # ------------------------------------------------------------------ diagnosis

    def value(self) -> float:
        """Exact mean at the current iterate: diagnosis, neither charged nor timed; NaN where nobody can tell."""
        if self.objective is None:
            return math.nan
        with self.clock.paused():
            self.diagnosed += self.task.n
            return float(self.objective(self.x))

    def _due(self) -> bool:
        """Whether the next of the log-spaced marks has been passed."""
        if self.diagnose <= 0:
            return False
        last = self.trace.rows[-1][1] if self.task.budget is not None or self.nfev else self.trace.rows[-1][0]
        now = self.nfev or self.nit
        return now >= max(last, 1) * 10 ** (1 / self.diagnose) or last == 0

    def _record(self) -> None:
        fun = self.value() if self.diagnose > 0 else math.nan
        self.trace.append(self.nit, self.nfev, self.nlmo, fun, self.seconds, self.info.columns())

    def result(self) -> Result:
        """The run so far, as a :class:`~zofw.Result`."""
        from zofw.run.result import Result  # brings scipy.optimize, for which import zofw should not wait

        last = self.trace.rows[-1] if self.trace.rows else None
        fun = last[3] if last and last[0] == self.nit else (self.value() if self.diagnose > 0 else math.nan)
        return Result(
            x=self.x.copy(),
            fun=fun,
            success=self.status.success,
            status=self.status,
            message=self.message,
            nit=self.nit,
            nfev=self.nfev,
            nlmo=self.nlmo,
            gap=self.gap,
            gap_error=None if self.gap is None else self.info.gap_error,
            ledger=dict(self.ledger),
            trace=self.trace,
            method=self.algorithm.name,
            settings=repr(self.algorithm),
            reasons=dict(self.reasons),
            seed=self.entropy,
            time=self.seconds,
            ndiagnosis=self.diagnosed,
            nrecomputed=self.recomputed,
        )

    # ------------------------------------------------------------------ saving and resuming

    def checkpoint(self, path: str | os.PathLike[str]) -> None:
        """Save the run to one file: the state before the open iteration and the answers it has had."""
        save(self, path)

    @classmethod
    def resume(cls, path: str | os.PathLike[str], **given: Any) -> Session:
        """Continue a saved run bit for bit; see :func:`zofw.run.checkpoint.resume`."""
        return resume(cls, path, **given)

    def extend(self, **limits: float | None) -> None:
        """Replace some of the limits, of a run that has stopped as well."""
        self.limits |= check_limits(limits)
        self.task.budget, self.task.max_iter = (self.limits[name] for name in ("budget", "max_iter"))
        self.reopen()
        self.fail(0)

    def reopen(self) -> None:
        """Let a run that had stopped short of convergence go on: its limits are looked at again."""
        if self.status not in (Status.CONVERGED, Status.ESTIMATED):
            self.status = Status.RUNNING
            if self.closing_row:
                self.trace.pop()
                self.closing_row = False

    def replay(self, answers: Sequence[Answer], spent: int) -> None:
        """Bring the open iteration to where it was after the given answers, which were paid for already."""
        if answers:
            self._step = self._begin()
            self.answers, self.spent = list(answers), spent
            self.task.paid = self.nfev
            next(self._step)
            for answer in answers[:-1]:
                self._step.send(answer)
            self._advance(answers[-1])
