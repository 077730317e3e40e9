"""The rules of a run beyond its loop: failures, drops, new limits, observers, and what is written down when."""

from __future__ import annotations

import dataclasses
import logging
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np
from numpy.typing import DTypeLike

from zofw.core import Array, Batch, Indices, Pattern
from zofw.run.files.journal import EntryKind
from zofw.run.files.run_files import RunFiles, write_alone
from zofw.run.given import refuse
from zofw.run.record.run import FAILED, Iteration, Run
from zofw.run.record.status import Status
from zofw.run.session.beginning import Attached, begin, resume
from zofw.run.session.ending import cost_of_value
from zofw.run.session.loop import Loop
from zofw.run.spec import Settings, Spec, size, with_settings
from zofw.sets import SetLike

if TYPE_CHECKING:
    from zofw.run.record.result import Result

logger = logging.getLogger("zofw")
Observer = Callable[["Session"], None]


@with_settings
class Session(Loop):
    """Ask, tell, checkpoint: a run whose queries somebody else answers.

    Parameters
    ----------
    set
        The convex set: one of :func:`zofw.sets` or any object with ``lmo(g)``.
    dim, n
        Dimension of x and number of components.
    <settings>
    objective, gradient, support, pattern
        Exact mean, for diagnosis; its gradient, for first-order methods; the coordinates that a
        batch depends on, for lazy laws; and those of each component of a batch.
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

    observers: list[Observer]

    def __init__(
        self,
        set: SetLike,
        *,
        dim: int,
        n: int = 1,
        objective: Callable[[Array], float] | None = None,
        gradient: Callable[[Array], Array] | None = None,
        support: Callable[[Batch], Indices] | None = None,
        pattern: Callable[[Batch], Pattern | None] | None = None,
        observers: Sequence[Observer] = (),
        dtype: DTypeLike = np.float64,
        outputs: int = 1,
        **settings: Unpack[Settings],
    ) -> None:
        refuse(
            {name: given for name, given in settings.items() if name not in Settings.__annotations__}, Session
        )
        spec = Spec(set=set, dim=dim, n=n, outputs=outputs, **settings)
        run, task = begin(spec, Attached(None, None, objective, gradient, support, pattern, observers, dtype))
        self.observers = list(observers)
        self.take_up(run, task, objective, dtype)

    def _charge(self, line: str, cost: int) -> None:
        self.run.ledger[line] += cost
        self.run.nfev += cost

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
        """Replace some of the limits, of a run that has stopped as well: it then goes on where it was.

        Another number of ``workers`` counts from the coming iteration on, and ``reasons`` says so.
        """
        run, workers = self.run, limits.pop("workers", None)
        if workers is not None and size("workers", workers) != run.workers:
            said = f"from iteration {run.nit + bool(run.open.workers)} on {workers}, before {run.workers}"
            run.reasons["workers"] = "; ".join([*filter(None, [run.reasons.get("workers")]), said])
            run.workers = int(workers)
            logger.info("The run continues with %d workers; its bits are now those of that number.", workers)
        if limits and run.closing is not None:
            self._close()
            run.closing, run.learning = None, Iteration()
        if limits:
            run.limits = run.limits.with_(**limits)
        if run.pays and run.limits.budget is not None and not run.each:
            run.reserve = cost_of_value(run.n, run.limits.budget)
        run.granted = run.limits.granted(run.reserve)
        self.task.max_iter = run.limits.max_iter
        if self._step is None:
            self.reopen()
        elif self._open is not None and self._open.cost > self.remaining:
            self._open = None
            self._advance()

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
            self._step = self._again(iteration)
            self._advance(iteration.answers[-1])

    # ------------------------------------------------------------------ observers and files

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

    def write_to(self, files: RunFiles, anew: bool = True) -> None:
        """Keep the run in files from here on; ``anew`` with a checkpoint first."""
        self.files = files
        if anew and not files.exists:
            files.begin(self.snapshot())
        elif anew:
            files.turn_over(self.snapshot())
            for part in self.parts:
                self.note(part.kind, part.a, part.b, part.tile, part.arrays)

    def snapshot(self) -> Run:
        """The run as a checkpoint writes it."""
        self.run.seconds = self.diagnosis.clock.read()
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
        names = {field.name for field in dataclasses.fields(Attached)}
        attached = Attached(**{name: thing for name, thing in given.items() if name in names})
        return resume(
            cls, path, attached, {name: limit for name, limit in given.items() if name not in names}
        )

    def result(self) -> Result:
        """The run so far, as a :class:`~zofw.Result`: at the better of the last iterate and the best point paid for."""
        from zofw.run.record.result import Result  # brings scipy.optimize, which takes long to import

        return Result.of(self.snapshot(), self.diagnosis.last(), self.in_hand)
