"""The outcome of a run, in SciPy's form."""

from __future__ import annotations

import math
import os
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from scipy.optimize import OptimizeResult

from zofw.core import WORST, Array
from zofw.extras import extra
from zofw.run.files.documents import read_document, write_document
from zofw.run.record.run import Known, Run, lower
from zofw.run.record.show import as_html, as_text
from zofw.run.record.status import Status
from zofw.run.record.trace import Trace

if TYPE_CHECKING:
    from matplotlib.axes import Axes

VERSION = 1
INFEASIBLE = "No feasible point was found: every value counts as worse than anything, as worse= says."


class Record(OptimizeResult):
    """SciPy's dictionary with attributes, made from keywords."""

    def __init__(self, **fields: object) -> None:
        super().__init__(**fields)

    if not TYPE_CHECKING:  # fields and methods are those that are declared

        def __getattr__(self, name: str) -> object:
            if name in self:
                return self[name]
            raise AttributeError(
                f"There is no {name!r} here; there are {', '.join(key for key in self if key[0] != '_')}."
            )

    def __repr__(self) -> str:
        shown = {
            name: value
            for name, value in self.items()
            if not (isinstance(value, dict) and not value) and not name.startswith("_")
        }
        return str(OptimizeResult.__repr__(OptimizeResult(**shown)))


class Result(Record):
    """Where a run ended and what it cost.

    Attributes
    ----------
    x : ndarray
        The best point of the set that was evaluated whole, or the last iterate if none is known to be lower.
    fun, fun_error : float
        The mean of the components at x, and its standard error where it comes from a sample; NaN where nothing evaluated it, and
        an error of NaN where all values of the sample were the same, or ``fun`` is that of models (``outer=`` with noise).
    last : ndarray
        The last iterate.
    success, status, message
        Whether convergence was certified, the :class:`~zofw.Status`, and its sentence.
    nit, nfev, nlmo : int
        Iterations, evaluations of single components, calls of the linear minimisation oracle.
    gap, gap_error : float or None
        The method's last estimate of the Frank-Wolfe gap, and its standard error where it has one.
    ledger : dict
        ``nfev`` by purpose; the line "failed" has what was paid and brought no answer.
    trace : Trace
        Queries and objective along the way.
    method, settings, reasons : str, str, dict
        Registered name, resolved settings, and why the derived ones were chosen.
    seed : tuple
        Entropy from which everything random was derived.
    time : float
        Seconds of queries and computation, diagnosis excepted.
    ndiagnosis : int
        Evaluations made for diagnosis; no other count includes them.
    nrecomputed : int
        Evaluations that were sent again because their workers died: an upper bound of those made twice. No other count includes
        them.
    """

    x: Array
    fun: float
    success: bool
    status: Status
    message: str
    nit: int
    nfev: int
    nlmo: int
    gap: float | None
    gap_error: float | None
    ledger: dict[str, int]
    trace: Trace
    method: str
    settings: str
    reasons: dict[str, str]
    seed: tuple[int, ...]
    time: float
    ndiagnosis: int
    nrecomputed: int

    @classmethod
    def of(cls, run: Run, fun: float | None = None, found: Known | None = None) -> Result:
        """Return a run as a result.

        Parameters
        ----------
        run
            The run as it is now.
        fun
            The exact mean at the last iterate, if it was diagnosed.
        found
            The lowest point among single evaluations of the open query.
        """
        gap = run.gap
        here = run.here if fun is None else None
        last = Known(run.x, math.nan if fun is None else fun) if here is None else here
        last = replace(last, gap=gap, gap_error=None if gap is None else run.info.gap_error)
        point = returned(run, last, found)
        infeasible = f" {INFEASIBLE}" if point.value >= WORST else ""
        sampled = f" fun is the mean of {point.drawn:,} of {run.n:,} components." if point.drawn else ""
        return cls(
            x=point.x.copy(),
            fun=point.value,
            fun_error=point.error,
            last=run.x.copy(),
            success=run.status.success,
            status=run.status,
            message=run.message + sampled + infeasible,
            nit=run.nit,
            nfev=run.nfev,
            nlmo=run.nlmo,
            gap=point.gap,
            gap_error=point.gap_error,
            ledger=dict(run.ledger),
            trace=run.trace,
            method=run.method.name,
            settings=repr(run.method),
            reasons=dict(run.reasons),
            seed=run.entropy,
            time=run.seconds,
            ndiagnosis=run.diagnosed,
            nrecomputed=run.recomputed,
        )

    def __repr__(self) -> str:
        return as_text(self)

    def _repr_html_(self) -> str:
        """Return the same in a notebook, with the curve."""
        return as_html(self)

    def story(self) -> str:
        """What the run did with its budget, a line for each kind of action that the method tells of.

        A method tells by four columns of its trace for an action: ``<action> times``, ``queries``, ``promised`` and ``brought``, the last two
        decreases of the objective on the batches that it asked. The last line has the queries of no action.
        """
        last = self.trace.infos[-1] if len(self.trace) else {}
        names = [name.removesuffix(" times") for name in last if name.endswith(" times")]
        lines = [f"{self.method}: {self.nfev:,} queries in {self.nit:,} iterations. {self.message}"]
        for name in sorted(names, key=lambda name: -last[f"{name} queries"]):
            times, queries, promised, brought = (
                last[f"{name} {column}"] for column in ("times", "queries", "promised", "brought")
            )
            words = f"{name}: {times:,.0f} times, {queries:,.0f} queries ({queries / max(self.nfev, 1):.0%})"
            words += f", promised a decrease of {promised:.2g}" if promised else ""
            lines.append(words + (f", brought {brought:.2g}" if brought else ""))
        rest = self.nfev - sum(round(last[f"{name} queries"]) for name in names)
        if names and rest:
            beside = [
                f"{name} {self.ledger[name]:,}"
                for name in ("noise", "result", "failed")
                if self.ledger.get(name)
            ]
            lines.append(
                f"beside these: {rest:,} queries ({', '.join(beside) or 'an iteration that was not finished'})"
            )
        return "\n  ".join(lines)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write to one npz file, without pickle."""
        write_document(path, "result", VERSION, dict(self))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Result:
        """Read what :meth:`save` wrote."""
        return cls(**read_document(path, "result", VERSION))

    def plot(self, *, optimum: float | None = None, ax: Axes | None = None) -> Axes:
        """Draw the objective, or its distance to ``optimum`` on a log axis, against queries; return the axes.

        The last point of the curve is marked with what ended the run. Needs the extra ``plot``.
        """
        pyplot = extra("matplotlib.pyplot", "plot")
        if ax is None:
            _, ax = pyplot.subplots(figsize=(6, 4), layout="constrained")
        trace = self.trace
        height = trace.objective if optimum is None else trace.objective - optimum
        ax.plot(trace.queries, height, label=self.method)
        known = np.flatnonzero(np.isfinite(height))
        if known.size:
            end = float(trace.queries[known[-1]]), float(height[known[-1]])
            words = self.status.name.lower().replace("_", " ")
            (mark,) = ax.plot(
                *end, marker="o" if self.success else "X", color="C2" if self.success else "C3", linestyle=""
            )
            ax.annotate(
                words,
                end,
                (0, 8),
                textcoords="offset points",
                ha="right",
                va="bottom",
                color=mark.get_color(),
            )
        ax.set_xscale("symlog", linthresh=max(1.0, float(trace.queries[1]) if len(trace) > 1 else 1.0))
        if optimum is not None:
            ax.set_yscale("log")
        ax.set_xlabel("queries (evaluations of single components)")
        ax.set_ylabel("objective" if optimum is None else "objective − optimum")
        ax.grid(alpha=0.3)
        ax.legend(frameon=False)
        return ax


def returned(run: Run, last: Known, found: Known | None = None) -> Known:
    """Return the lowest point that was paid for, stated or diagnosed; the last iterate if it is certified.

    If the mean at the last iterate of a sum is unknown, no point is known to be lower. If a method has
    measured noise, the lowest of many values is the luckiest: it has to be lower by eight times the
    noise.
    """
    noise, best = run.info.numbers.get("noise", 0.0), lower(lower(run.best, run.given), found)
    if (
        best is None
        or run.status is Status.CONVERGED
        or (math.isnan(last.value) and (noise > 0 or (run.n > 1 and not run.each)) and not run.retreats)
    ):
        return last
    unknown = math.isnan(last.error)  # f at last is of a sample, and how far off is not known
    return last if unknown or best.value >= last.value - 2.0 * last.error - 8.0 * noise else best
