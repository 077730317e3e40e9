"""A run as one value: everything it has become, which is what a checkpoint contains, field for field."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace

import numpy as np

from zofw.core import Algorithm, Answer, Array, ConvexSet, Info, Late, Outer, Purpose, State
from zofw.run.record.status import Status
from zofw.run.record.trace import Trace
from zofw.run.spec import Limits

ROWS_PER_DECADE = 20  # of the trace, by default
SPEAKING = (Status.CONVERGED, Status.STALLED, Status.INTERRUPTED)  # these may have a sentence of their own
FAILED = "failed"  # the line of the ledger for what was paid and brought no answer


class BudgetError(ValueError):
    """The budget cannot pay for one iteration; ``least`` is what it takes."""

    def __init__(self, budget: int, least: int, reserve: int, method: str, sized: bool = False) -> None:
        verb = "is" if reserve == 1 else "are"
        kept = f", and {reserve} {verb} kept back to evaluate f at the end" if reserve else ""
        other = ", or choose a smaller batch or fewer directions" if sized else ""
        super().__init__(
            f"A budget of {budget} queries is too small: the first iteration of {method} takes "
            f"{least - reserve}{kept}. Give at least {least}{other}."
        )
        self.least = least


@dataclass(eq=False)
class Known:
    """A point of the set and f there: the mean over all components, or over a sample with its standard error."""

    x: Array
    value: float
    error: float = 0.0
    gap: float | None = None
    gap_error: float | None = None
    drawn: int = 0  # components of a sample; 0 if all were asked


def lower(one: Known | None, other: Known | None) -> Known | None:
    """Return the point with the lower value, the first of equal ones."""
    if one is None or math.isnan(one.value):
        return other if other is not None and math.isfinite(other.value) else one
    return other if other is not None and other.value < one.value else one


@dataclass(frozen=True, eq=False)
class Pending:
    """An evaluation under way of a query that was answered without it; it is owed."""

    query: int
    row: int
    x: Array
    component: int
    purpose: Purpose


@dataclass(frozen=True, eq=False)
class FailedPoint:
    """An evaluation that failed for good, and the reason."""

    x: Array
    component: int
    reason: str


@dataclass
class Iteration:
    """An open iteration: its answers, and what its generator saw when it began."""

    answers: list[Answer] = field(default_factory=list)
    spent: int = 0
    paid: int = 0
    budget: int | None = None
    failures: int = 0
    workers: int = 0  # 0 before it begins
    replaced: bool = False  # a value of an answer is a stand-in


@dataclass
class Run:
    """Everything a run is and has become. Only :class:`~zofw.run.session.rules.Rules` changes it, by events."""

    set: ConvexSet | None  # None in a file, where it cannot be written
    method: Algorithm  # with its settings resolved
    dim: int
    n: int
    limits: Limits
    gap_tol: float | None
    inside: bool
    resolution: float
    structure: bool  # there is a pattern, and the method may know it
    diagnose: int  # rows of the trace a decade whose exact objective is not charged
    pays: bool  # f at the last iterate is asked for at the end
    reserve: int  # queries of the budget that are kept back for that
    entropy: tuple[int, ...]  # behind everything random
    reasons: dict[str, str]  # why derived settings are what they are
    identity: str  # that tells this run from others
    state: State  # of the method
    info: Info = field(default_factory=Info)  # of its last step
    nit: int = 0
    nlmo: int = 0
    number: int = 0  # of the open query, or of the next one
    status: Status = Status.RUNNING
    ledger: dict[str, int] = field(  # evaluations by purpose
        default_factory=lambda: {purpose.value: 0 for purpose in Purpose} | {FAILED: 0}
    )
    trace: Trace = field(default_factory=Trace)
    open: Iteration = field(default_factory=Iteration)
    closing: Status | None = None  # to come once f is known at x
    learning: Iteration = field(default_factory=Iteration)  # the queries about that
    best: Known | None = None  # the lowest point that was evaluated whole
    here: Known | None = None  # f at x itself, if it is known
    seen: list[Known] = field(default_factory=list)  # the last points evaluated whole
    diagnosed: int = 0  # evaluations for diagnosis, in no other count
    recomputed: int = 0  # evaluations made again because a worker died over them, in no other count
    dearest: int = 0  # queries of the dearest iteration
    redraws: int = 0  # how often the open iteration was begun again
    dropped: int = 0  # how often any iteration was
    lost: int = 0  # evaluations that failed
    closing_row: bool = False  # stopping put a row on the trace that going on would not have
    serial: int = 0  # events that are included
    seconds: float = 0.0  # of queries and computation
    outer: Outer | None = None  # in place of the mean; None in a file too, if it cannot be written
    each: int = 0  # numbers that a component has for it
    stated: Known | None = None  # the best known point, if its value is checked in the first iteration
    workers: int = 1  # evaluations at the same time, from the coming iteration on
    in_order: bool = True  # a round waits for all of them
    given: Known | None = None  # the lowest point stated, diagnosed, or paid for in a withdrawn query
    failures: list[FailedPoint] = field(default_factory=list)  # oldest first
    pending: list[Pending] = field(default_factory=list)  # under way, of queries answered without them
    late: list[Late] = field(default_factory=list)  # such values, for the next answer
    waiting: bool = True  # between two iterations
    turns: int = 0  # iterations that were begun
    verdict: Status | None = None  # with which the next iteration is not begun
    ending: Status | None = None  # to come once nothing is pending
    wants: bool = False  # the last row of the trace is to be diagnosed
    high: Known | None = None  # the highest value of the whole objective
    retreats: int = 0  # how often f had no value at the point that was to be returned
    idle: int = 0  # iterations in a row that asked nothing
    nfev: int = field(init=False, default=0)  # the sum of the ledger; in no file
    granted: int | None = field(init=False, default=None)  # the budget without the reserve; in no file

    def copy(self) -> Run:
        """Return the run as it is now, which later events leave alone."""
        copied = replace(self, trace=Trace(list(self.trace.rows), list(self.trace.infos)))
        for name in ("seen", "failures", "pending", "late", "ledger", "reasons"):
            vars(copied)[name] = vars(self)[name].copy()
        for name in ("open", "learning"):
            vars(copied)[name] = replace(vars(self)[name], answers=list(vars(self)[name].answers))
        copied.nfev, copied.granted = self.nfev, self.granted
        return copied

    def release(self) -> bool:
        """Give the reserve to the iterations if f at x is paid for already; return whether it was still kept."""
        paid = self.here is not None and not self.here.error and not self.pending
        kept = self.granted != self.limits.budget and paid
        if kept:
            self.granted = self.limits.budget
        return kept

    @property
    def x(self) -> Array:
        """The current iterate, read-only."""
        x = np.asarray(self.state.x).view()
        x.setflags(write=False)
        return x

    @property
    def rows_per_decade(self) -> int:
        """Return the rows of the trace per decade of queries."""
        return self.diagnose or (ROWS_PER_DECADE if self.pays else 0)

    @property
    def gap(self) -> float | None:
        """The method's estimate of the Frank-Wolfe gap at x itself; None where its last one is of the point before."""
        here = not self.info.at_start or self.status in (Status.CONVERGED, Status.ESTIMATED)
        return self.info.gap if here else None

    @property
    def message(self) -> str:
        """Why the run stopped: the method's own sentence where it has one."""
        said = self.info.ending if self.status in SPEAKING else None
        if self.status is Status.BUDGET and self.limits.budget is not None:
            if self.nfev > self.limits.budget:
                return (
                    f"The budget is now {self.limits.budget:,} queries, and {self.nfev:,} were spent before: none is left. "
                    "Give a larger budget to go on."
                )
            after = "" if self.nfev == self.limits.budget else "; the next iteration costs more than the rest"
            return f"The run spent {self.nfev:,} of {self.limits.budget:,} queries{after}."
        return self.status.sentence if said is None else said.sentence
