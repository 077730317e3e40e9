"""The rules of a run beyond its loop: failures, drops, new limits, observers, and what is written down when."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from zofw.core import Array, Batch, Indices, MethodLike, Outer, Pattern, Seed
from zofw.run.files.journal import EntryKind
from zofw.run.files.run_files import RunFiles, write_alone
from zofw.run.record.run import FAILED, Iteration, Limits, Run
from zofw.run.record.status import Status
from zofw.run.session.beginning import Asked, Handed, begin, resume
from zofw.run.session.ending import cost_of_value
from zofw.run.session.loop import Loop
from zofw.sets import SetLike

if TYPE_CHECKING:
    from zofw.run.record.result import Result

Observer = Callable[["Session"], None]


class Session(Loop):
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
    structure
        Whether the method may know the pattern.
    known
        Points evaluated before the run and their values, (m, d) and (m,); see :func:`zofw.minimize`.
    objective, gradient, support, pattern
        Exact mean, for diagnosis; its gradient, for first-order methods; what a batch depends on, for lazy laws; and the
        coordinates that each of its components depends on.
    diagnose
        How many times per decade of queries the objective is put on the trace: by default 20 where there is one. Without an
        objective, f at the last iterate is asked for at the end and charged to the line "result" of the ledger; the cost, n
        queries or a sample for a hundredth of the budget, is kept back from the start. 0 switches both off.
    observers
        Called with the session after every iteration; raising StopIteration stops the run.
    dtype
        The precision of the values, for the warning about radii that are too small for it.
    outer, outputs
        A function of the components that is minimised in place of their mean, such as ``zofw.outer.CVaR(0.9)``, and how many
        numbers each component brings. An answer then has all of them, in order: shape (k, n·outputs).

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
        known: tuple[ArrayLike, ArrayLike] | None = None,
        objective: Callable[[Array], float] | None = None,
        gradient: Callable[[Array], Array] | None = None,
        support: Callable[[Batch], Indices] | None = None,
        pattern: Callable[[Batch], Pattern | None] | None = None,
        diagnose: int | None = None,
        observers: Sequence[Observer] = (),
        dtype: DTypeLike = np.float64,
        outer: Outer | None = None,
        outputs: int = 1,
    ) -> None:
        limits = Limits(budget, max_iter, max_lmo, max_time)
        asked = Asked(
            set, dim, n, method, limits, x0, rng, gap_tol, inside, resolution, structure, known, diagnose,
            outer, outputs if outer else 0,
        )  # fmt: skip
        handed = Handed(None, None, objective, gradient, support, pattern, observers, dtype)
        run, task = begin(asked, handed)
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
        """Replace some of the limits, of a run that has stopped as well: it then goes on where it was."""
        run = self.run
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
        names = {field.name for field in dataclasses.fields(Handed)}
        handed = Handed(**{name: thing for name, thing in given.items() if name in names})
        return resume(cls, path, handed, {name: limit for name, limit in given.items() if name not in names})

    def result(self) -> Result:
        """The run so far, as a :class:`~zofw.Result`: at the better of the last iterate and the best point paid for."""
        from zofw.run.record.result import Result  # brings scipy.optimize, which takes long to import

        return Result.of(self.snapshot(), self.diagnosis.last(), self.in_hand)
