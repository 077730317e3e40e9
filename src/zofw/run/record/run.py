"""A run as one value: everything it has become, which is what a checkpoint contains, field for field."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from types import MappingProxyType

import numpy as np

from zofw.core import Algorithm, Answer, Array, ConvexSet, Info, Purpose, State
from zofw.run.record.limits import Limits
from zofw.run.record.status import Status
from zofw.run.record.trace import COLUMNS, Trace

FAILED = "failed"  # the line of the ledger for what was paid and brought no answer
RESULT = Purpose.RESULT.value  # and the one for learning f at the point that is returned


@dataclass(frozen=True, eq=False)
class Known:
    """A point of the set and f there: the mean over all components, or over a sample with its standard error."""

    x: Array
    value: float
    error: float = 0.0
    gap: float | None = None
    gap_error: float | None = None


@dataclass
class Iteration:
    """An open iteration: the answers it has had, and what its generator saw of the budget when it began."""

    answers: list[Answer] = field(default_factory=list)
    spent: int = 0
    paid: int = 0
    budget: int | None = None


@dataclass
class Run:
    """Everything a run is and has become. The rules that change it are :class:`~zofw.Session`'s, and nobody else's.

    Attributes
    ----------
    set, method, dim, n, limits, gap_tol, inside, resolution, structure, diagnose
        What was asked for; the method with its settings resolved.
    pays, reserve
        Whether f at the last iterate is asked for at the end, and the queries of the budget that are kept back for that.
    entropy, reasons, identity
        The integers behind everything random, why derived settings are what they are, and what tells this run from others.
    state, info, nit, nlmo, number, status
        Where it stands: the method's state and last words, iterations, LMO calls, answered queries.
    ledger
        Evaluations by purpose.
    trace
        What it looked like along the way.
    open, closing, learning
        The open iteration; the status that is to come once f is known at x, and the queries about that.
    best, here, seen
        The lowest point that was evaluated whole, f at x itself where that is known, and the last such points.
    diagnosed, recomputed
        Evaluations for diagnosis, and those made again because a worker died over them; in no other count.
    dearest, redraws, dropped, lost, closing_row
        Queries of the dearest iteration; how often the open iteration, and any, was begun again; evaluations that failed;
        whether stopping put a row
        on the trace that going on would not have.
    serial, seconds
        Entries of the journal that are included, and seconds of queries and computation.
    """

    set: ConvexSet | None  # None in a file, where it cannot be written
    method: Algorithm
    dim: int
    n: int
    limits: Limits
    gap_tol: float | None
    inside: bool
    resolution: float
    structure: bool
    diagnose: int
    pays: bool
    reserve: int
    entropy: tuple[int, ...]
    reasons: dict[str, str]
    identity: str
    state: State
    info: Info = field(default_factory=Info)
    nit: int = 0
    nlmo: int = 0
    number: int = 0
    status: Status = Status.RUNNING
    ledger: dict[str, int] = field(
        default_factory=lambda: {purpose.value: 0 for purpose in Purpose} | {FAILED: 0}
    )
    trace: Trace = field(default_factory=Trace)
    open: Iteration = field(default_factory=Iteration)
    closing: Status | None = None
    learning: Iteration = field(default_factory=Iteration)
    best: Known | None = None
    here: Known | None = None
    seen: list[Known] = field(default_factory=list)
    diagnosed: int = 0
    recomputed: int = 0
    dearest: int = 0
    redraws: int = 0
    dropped: int = 0
    lost: int = 0
    closing_row: bool = False
    serial: int = 0
    seconds: float = 0.0

    @property
    def nfev(self) -> int:
        """Evaluations of single components that were paid for."""
        return sum(self.ledger.values())

    @property
    def x(self) -> Array:
        """The current iterate, read-only."""
        x = np.asarray(self.state.x).view()
        x.setflags(write=False)
        return x

    @property
    def granted(self) -> int | None:
        """What iterations may spend in all: the budget without the reserve."""
        return None if self.limits.budget is None else self.limits.budget - self.reserve

    @property
    def remaining(self) -> float:
        """Queries that may still be asked: by iterations, or, once these have ended, about x."""
        budget = self.granted if self.closing is None else self.limits.budget
        return math.inf if budget is None else budget - self.nfev

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


class RunView:
    """The parts of a run that observers read."""

    run: Run

    @property
    def x(self) -> Array:
        """The current iterate, read-only."""
        return self.run.x

    @property
    def state(self) -> State:
        """The method's state."""
        return self.run.state

    @property
    def nit(self) -> int:
        """Iterations."""
        return self.run.nit

    @property
    def nfev(self) -> int:
        """Evaluations of single components that were paid for."""
        return self.run.nfev

    @property
    def nlmo(self) -> int:
        """Calls of the linear minimisation oracle."""
        return self.run.nlmo

    @property
    def status(self) -> Status:
        """Why the run stopped, or RUNNING."""
        return self.run.status

    @property
    def gap(self) -> float | None:
        """The method's estimate of the Frank-Wolfe gap at x itself; None where its last one is of the point before."""
        return self.run.gap

    @property
    def info(self) -> Info:
        """What the last step said about itself."""
        return self.run.info

    @property
    def ledger(self) -> Mapping[str, int]:
        """Evaluations by purpose."""
        return MappingProxyType(self.run.ledger)

    @property
    def trace(self) -> Trace:
        """What the run looked like along the way."""
        return self.run.trace


class Unsound(TypeError):
    """Something that a file says of a run and that no run could have written."""


def check_run(run: Run, example: State) -> None:
    """Whether what a file says could have been written by a run, whose state would look like the example."""
    for name, kind in KINDS.items():
        value: object = vars(run)[name]
        if not isinstance(value, kind) or (isinstance(value, bool) and kind is int):
            raise Unsound(f"its {name} is {value!r:.60}")
        if isinstance(value, int) and value < 0:
            raise Unsound(f"its {name} is {value!r:.60}")
    if not (isinstance(run.seconds, float) and 0 <= run.seconds < math.inf):
        raise Unsound(f"its seconds are {run.seconds!r:.60}")
    if not (_numbers(run.x) and run.x.shape == (run.dim,)):
        raise Unsound(f"its iterate is not a vector of the stated dimension {run.dim!r}")
    lines = {purpose.value for purpose in Purpose} | {FAILED}
    if run.ledger.keys() != lines or not all(type(paid) is int and paid >= 0 for paid in run.ledger.values()):
        raise Unsound(f"its ledger is {run.ledger!r:.60}")
    if not _is_trace(run.trace):
        raise Unsound("its trace is not a trace")
    for known in (run.best, run.here, *run.seen):
        if known is not None and not (isinstance(known, Known) and _numbers(known.x)):
            raise Unsound("it has points that are not finite numbers")
    for iteration in (run.open, run.learning):
        counts = (iteration.spent, iteration.paid)
        sound = isinstance(iteration.answers, list) and all(type(c) is int and c >= 0 for c in counts)
        if not sound or not all(isinstance(one, Answer) and _is_answer(one) for one in iteration.answers):
            raise Unsound("it has answers that are not finite numbers")
    if type(run.state) is not type(example):
        raise Unsound(f"its state is a {type(run.state).__name__}")
    for part in dataclasses.fields(example):  # type: ignore[arg-type]
        if not _like(vars(example)[part.name], vars(run.state)[part.name]):
            raise Unsound(f"its state has {part.name} = {vars(run.state)[part.name]!r:.60}")


KINDS: dict[str, type | tuple[type, ...]] = {
    "dim": int, "n": int, "limits": Limits, "inside": bool, "resolution": float, "structure": bool, "diagnose": int, "pays": bool, "reserve": int, "entropy": tuple,
    "reasons": dict, "identity": str, "info": Info, "nit": int, "nlmo": int, "number": int, "status": Status,
    "ledger": dict, "trace": Trace, "open": Iteration, "closing": (Status, type(None)), "learning": Iteration,
    "seen": list, "diagnosed": int, "recomputed": int, "dearest": int, "redraws": int, "dropped": int,
    "closing_row": bool, "serial": int, "gap_tol": (int, float, type(None)),
}  # fmt: skip


def _like(example: object, found: object) -> bool:
    """A part of a method's state: numbers where it had numbers, nothing told of what it had not."""
    if isinstance(example, np.ndarray):
        return found is None or (
            isinstance(found, np.ndarray) and _numbers(found) and found.ndim == example.ndim
        )
    if isinstance(example, Enum):
        return type(found) is type(example)
    if isinstance(example, (int, float)):
        return isinstance(found, (int, float, np.number)) or found is None
    return example is None or type(found) is type(example) or found is None


def _is_trace(trace: Trace) -> bool:
    rows, infos = trace.rows, trace.infos
    return (
        isinstance(rows, list)
        and isinstance(infos, list)
        and len(rows) == len(infos)
        and all(isinstance(row, tuple) and len(row) == len(COLUMNS) for row in rows)
        and all(isinstance(number, (int, float)) for row in rows for number in row)
        and all(isinstance(info, dict) for info in infos)
    )


def _is_answer(answer: Answer) -> bool:
    tables = [answer.values] + ([] if answer.variance is None else [answer.variance])
    return all(_numbers(table) and table.ndim == 2 for table in tables)


def _numbers(array: object) -> bool:
    return isinstance(array, np.ndarray) and array.dtype.kind in "fiub" and bool(np.isfinite(array).all())
