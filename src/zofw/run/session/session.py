"""A run whose queries are answered from outside: every change of it is an event that is checked, kept, applied.

put(event)  =  rules.check(event)  →  store.append(event)  →  rules.apply(event)
"""

from __future__ import annotations

import logging
import math
import os
import threading
import warnings
from collections.abc import Callable, Mapping, Sequence
from operator import attrgetter
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from zofw.core import Answer, Array, Batch, EvaluationError, Pattern, Query, Task, offers
from zofw.run.files.store import MemoryStore, RunFiles, write_alone
from zofw.run.given import refuse
from zofw.run.record.run import Run
from zofw.run.record.status import Status
from zofw.run.session.answer_checks import check_answer
from zofw.run.session.clock import Clock
from zofw.run.session.events import Answered, Diagnosed, Dropped, Event, Extended, Stopped
from zofw.run.session.rules import Rules
from zofw.run.session.run_warnings import AssumptionWatch, RadiusWatch
from zofw.run.session.start import Attached, begin
from zofw.run.spec import Settings, Spec, size, with_settings
from zofw.sets import SetLike

if TYPE_CHECKING:
    from zofw.run.record.result import Result

logger = logging.getLogger("zofw")

Observer = Callable[["Session"], None]


@with_settings
class Session:
    """Ask, tell, checkpoint: a run whose queries are answered by the caller.

    Parameters
    ----------
    set
        The convex set: one of :func:`zofw.sets` or any object with ``lmo(g)``.
    dim, n
        Dimension of x and number of components.
    <settings>
    objective, gradient, pattern
        Exact mean, for diagnosis; its gradient, for first-order methods; and the coordinates that
        each component of a batch depends on.
    observers
        Called with the session after every iteration; raising StopIteration stops the run.
    dtype
        The precision of the values, for the warning about radii that are too small for it.
    outputs
        How many numbers each component brings, for ``outer``. An answer then has all of them, in
        order: shape (k, n·outputs).

    Attributes
    ----------
    run
        What the run's events have made of it, as one value.
    task
        What the method sees.
    rules
        The rules of events; ``rules.open`` is the open query with its parts.
    store
        What keeps the events: memory or files.

    Notes
    -----
    A session may be used by several threads: one at a time asks or puts an event.

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

    x = property(attrgetter("run.x"), doc="The current iterate, read-only.")
    state = property(attrgetter("run.state"), doc="The method's state.")
    nit = property(attrgetter("run.nit"), doc="Iterations.")
    nfev = property(attrgetter("run.nfev"), doc="Evaluations of single components that were paid for.")
    nlmo = property(attrgetter("run.nlmo"), doc="Calls of the linear minimisation oracle.")
    status = property(attrgetter("run.status"), doc="Why the run stopped, or RUNNING.")
    gap = property(
        attrgetter("run.gap"), doc="The estimated Frank-Wolfe gap at x; None if it is of the point before."
    )
    info = property(attrgetter("run.info"), doc="What the last step said about itself.")
    trace = property(attrgetter("run.trace"), doc="What the run looked like along the way.")
    number = property(attrgetter("run.number"), doc="The number of the open query, or of the next one.")
    remaining = property(attrgetter("rules.remaining"), doc="Queries that may still be asked.")

    def __init__(
        self,
        set: SetLike,
        *,
        dim: int,
        n: int = 1,
        objective: Callable[[Array], float] | None = None,
        gradient: Callable[[Array], Array] | None = None,
        pattern: Callable[[Batch], Pattern | None] | None = None,
        observers: Sequence[Observer] = (),
        dtype: DTypeLike = np.float64,
        outputs: int = 1,
        **settings: Unpack[Settings],
    ) -> None:
        refuse(settings.keys() - Settings.__annotations__.keys(), Session)
        spec = Spec(set=set, dim=dim, n=n, outputs=outputs, **settings)
        attached = Attached(None, None, objective, gradient, pattern, observers, dtype)
        self.take(*begin(spec, attached), attached)

    def take(self, run: Run, task: Task, attached: Attached) -> None:
        """Take over a run as it is, new or saved."""
        self.run, self.task = run, task
        self.rules = Rules(run, task)
        self.store: MemoryStore | RunFiles = MemoryStore(run)
        self.observers: list[Observer] = list(attached.observers)
        self.objective = attached.objective
        self.clock = Clock(run.seconds)
        self._lock = threading.RLock()
        self._radii, self._assumptions = RadiusWatch(attached.dtype), AssumptionWatch(run.number == 0)
        self._observed, self._ended = run.nit, False
        self._answered: Query | None = None

    def mark_observed(self) -> None:
        """Leave out observers for iterations that ended before the run was resumed, except the last one."""
        run = self.run
        last = run.waiting and run.status is Status.RUNNING and run.nit > 0
        self._observed, self._ended = run.nit - last, run.status is not Status.RUNNING

    def settle(self) -> None:
        """Begin what is to be begun."""
        with self._lock:
            self._settle()

    # ------------------------------------------------------------------ asking and telling

    def ask(self) -> Query | None:
        """Return the open query, or None: the run has stopped, or waits for rows that are owed."""
        asked = self.rules.open
        if asked is None:
            with self._lock:
                self._settle()
                asked = self.rules.open
        return None if asked is None or self.run.status is not Status.RUNNING else asked.query

    def tell(self, query: Query, answer: Answer | ArrayLike, *, by: str = "") -> None:
        """Answer the open query: an :class:`~zofw.core.Answer`, or its means as an array of shape (k, width).

        The answer is checked, then kept, then counted and used. ``by`` says in the log who evaluated.
        """
        with self._lock:
            asked = self.rules.open
            if asked is None or query is not asked.query:
                known = query is self._answered
                known_said = ": it was answered before, and its first answer counts" if known else ""
                raise ValueError(
                    f"This is not the open query{known_said}. Ask for the open one, answer it, and tell "
                    "the answer once."
                )
            if isinstance(answer, Answer) and not query.variance and query.fits(answer.values):
                sound, values, variance = answer, answer.values.copy(), None
            else:
                sound = check_answer(query, answer)
                values, variance = sound.values, sound.variance
            if self.run.status is not Status.RUNNING:
                raise ValueError("The run has stopped; extend it before it is answered.")
            if query.radius <= self._radii.below and not asked.replaced:
                self._radii(query, sound)
            whole = query.batch.indices is None and not query.paired and not asked.left_out
            if (self.run.n == 1 or whole) and not asked.replaced:
                self._assumptions(query, sound, self.run)
            self._answered = query
            self._keep(
                Answered(asked.number, values, variance, by)
            )  # checked, more closely than rules.check does
            self._settle()

    def put(self, event: Event) -> None:
        """Take an event: check it, keep it, apply it; then begin what is to be begun.

        This is the only way to change a run. A desk, a pool or a person that has a value of the open
        query, or of one whose rows come late, puts a :class:`~zofw.run.session.events.Part`.
        """
        with self._lock:
            self._enter(event)
            self._settle()

    def _enter(self, event: Event) -> None:
        self.rules.check(event)
        self._keep(event)

    def _keep(self, event: Event) -> None:
        event.seconds = self.clock.read()
        self.store.append(self.run.serial, event)
        self.rules.apply(event)

    def drop(self) -> None:
        """Give up the open iteration, charge what its open query has had, and begin it again with new random numbers."""
        self.put(Dropped(self.number))

    def stop(self, status: Status = Status.INTERRUPTED, reason: str = "") -> None:
        """End the run here; an open iteration is kept and continued if the run is resumed."""
        self.put(Stopped(self.number, status, self.run.turns, reason))

    def extend(self, **limits: float | None) -> None:
        """Replace some of the limits; a run that has stopped continues where it was.

        Another number of ``workers`` counts from the coming iteration on, and ``reasons`` says so.
        """
        workers = limits.get("workers")
        if workers is not None and size("workers", workers) != self.run.workers:
            logger.info("The run continues with %d workers; its bits are now those of that number.", workers)
        with self._lock:
            old = {**vars(self.run.limits), "workers": self.run.workers}
            changed = {name: limit for name, limit in limits.items() if old.get(name, math.nan) != limit}
            self._ended = False
            self.put(Extended(self.number, changed, self.run.turns))

    # ------------------------------------------------------------------ between two iterations

    def _settle(self) -> None:
        """Do what is due: diagnose, call observers, look at the time, save, and begin the next iteration."""
        run, rules = self.run, self.rules
        while True:
            while rules.notices:
                warnings.warn(rules.notices.pop(), UserWarning, stacklevel=4)
            if run.wants and self.objective is not None:
                self._diagnose(len(run.trace.rows) - 1)
            if run.status is not Status.RUNNING:
                break
            if not run.waiting:
                return
            if self._observed != run.nit:
                self._observed = run.nit
                if self.observers and not self._observe():
                    self._enter(Stopped(run.number, Status.CALLBACK, run.turns))
                    continue
            limit = run.limits.max_time
            late = limit is not None and self.seconds >= limit
            if late and run.verdict is None and rules.limit_reached() is None:
                self._enter(Stopped(run.number, Status.MAX_TIME, run.turns))
                continue
            if run.waiting and run.status is Status.RUNNING:
                if not run.nfev:  # no event has the time
                    run.seconds = self.clock.read()
                if self.store.due:
                    self.store.keep(run)
                rules.go_on()
        if not self._ended:
            self._ended = True
            self._assumptions.at_the_end(run)
            said = run.method.name, run.nit, run.nfev, run.message
            logger.info("%s stopped after %d iterations and %d queries: %s", *said)

    def _observe(self) -> bool:
        """Call the observers; return False if one of them stops the run."""
        try:
            for observer in self.observers:
                observer(self)
        except StopIteration:
            return False
        return True

    def _diagnose(self, row: int) -> float:
        """Compute the exact mean at the current iterate for a row of the trace; not charged, not timed."""
        run, before = self.run, _made(self.objective)
        value, cost = math.nan, run.n
        assert self.objective is not None
        try:
            with self.clock:
                value = float(self.objective(run.x))
        except StopIteration as error:
            raise EvaluationError(f"The objective raised StopIteration: {error}") from error
        except BaseException:
            row = -1
            raise
        finally:
            made = _made(self.objective)
            cost = run.n if made is None or before is None else made - before
            self._enter(Diagnosed(run.number, row, value, cost))
        return value

    def value(self) -> float:
        """Return the exact mean at the current iterate, not charged; NaN if nothing can compute it."""
        run = self.run
        if self.objective is None or run.pays:
            return math.nan if run.here is None or run.here.error else run.here.value
        with self._lock:
            return self._diagnose(-1)

    # ------------------------------------------------------------------ files and the result

    @property
    def ledger(self) -> Mapping[str, int]:
        """Evaluations by purpose."""
        return MappingProxyType(self.run.ledger)

    @property
    def seconds(self) -> float:
        """Return the seconds spent on queries and computation, without diagnosis."""
        return self.clock.read()

    @property
    def files(self) -> RunFiles | None:
        """Return the files that keep the run, if there are any."""
        return self.store if isinstance(self.store, RunFiles) else None

    def write_to(self, files: RunFiles) -> None:
        """Keep the run in files from here on."""
        with self._lock:
            files.begin(self.store.saved())
            self.store = files

    def keep(self) -> None:
        """Write a checkpoint if the run is between two iterations; its log has everything at any time."""
        with self._lock:
            if self.rules.settled:
                self.store.keep(self.snapshot())

    def snapshot(self) -> Run:
        """Return the run with the time that it has taken."""
        self.run.seconds = self.clock.read()
        return self.run

    def checkpoint(self, path: str | os.PathLike[str]) -> None:
        """Save the run to one file: its state between two iterations, and the events since."""
        with self._lock:
            if self.run.waiting:  # a method that asks nothing leaves no events to repeat
                self.store.keep(self.snapshot())
            write_alone(self.store.saved(), Path(path))

    @classmethod
    def resume(cls, path: str | os.PathLike[str] | RunFiles, **given: Any) -> Session:
        """Continue a saved run bit for bit; with other limits (budget, max_iter, …), as far as they allow.

        Events that ``minimize(…, checkpoint=path)`` wrote to the log beside the file are applied, so no
        answer is paid twice. ``objective``, ``gradient``, ``pattern``, ``observers`` and
        ``dtype`` are those of the constructor. For a set or method of your own, give the object again
        as ``set`` or ``method``, or its class in ``known`` under ``"module:name"``; it must equal what
        was saved, as must other settings that are given again. A set that is no dataclass is not in the file and has to be given again.
        """
        from zofw.run.session.resume import resume

        return resume(cls, path, given)

    def result(self) -> Result:
        """Return the run so far: at the lowest point that was paid for, stated or diagnosed."""
        from zofw.run.record.result import Result  # brings scipy.optimize, which takes long to import

        with self._lock:
            run, asked = self.snapshot(), self.rules.open
            if run.diagnose > 0 and self.objective is not None:
                rows = run.trace.rows
                fun = rows[-1][3] if rows and rows[-1][0] == run.nit else self._diagnose(-1)
            else:
                fun = None
            found = Result.of(run, fun, None if asked is None else asked.best)
            if offers(run.method, "report"):
                report = dict(run.method.report(self.task, run.state, found.x))
                found.message += str(report.pop("message", ""))
                if not math.isnan(found.fun):  # a value that was paid for, and not that of a model
                    report = {name: said for name, said in report.items() if name not in ("fun", "fun_error")}
                found.update(report)
            return found


def _made(objective: object) -> int | None:
    """Return how many evaluations a function of the mean has made, if it counts them."""
    try:
        made = vars(objective).get("made")
    except TypeError:  # a built-in
        return None
    return made if isinstance(made, int) else None
