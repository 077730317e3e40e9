"""The rows of a run's trace, and the clock that stands still while they are made."""

from __future__ import annotations

import math
import time
from collections.abc import Callable

from zofw.core import Array, EvaluationError
from zofw.run.record.run import Known, Run

ROWS_PER_DECADE = 20  # of the trace, by default


class Clock:
    """Seconds since it was made, on top of what was spent before; never runs backwards, and stands still within ``with``."""

    def __init__(self, before: float = 0.0) -> None:
        self._before = before
        self._start = time.monotonic()
        self._pause: float | None = None
        self._latest = before

    def read(self) -> float:
        now = time.monotonic() if self._pause is None else self._pause
        self._latest = max(self._latest, self._before + now - self._start)
        return self._latest

    def at_least(self, seconds: float) -> None:
        """Go forward to a time that was read before."""
        self._before += max(0.0, seconds - self.read())

    def __enter__(self) -> None:
        self._pause = time.monotonic()

    def __exit__(self, *exception: object) -> None:
        if self._pause is not None:
            self._start += time.monotonic() - self._pause
        self._pause = None


class Diagnosis:
    """The rows of a run's trace, with the mean where somebody computes it or it was paid for."""

    def __init__(self, run: Run, objective: Callable[[Array], float] | None) -> None:
        self.run, self.objective = run, objective
        self.clock = Clock(run.seconds)
        self.rows = run.diagnose or (ROWS_PER_DECADE if run.pays else 0)  # per decade of queries

    def value(self) -> float:
        """Exact mean at the current iterate, neither charged nor timed; NaN where nobody can tell."""
        run = self.run
        if self.objective is None or run.pays:
            return math.nan if run.here is None or run.here.error else run.here.value
        with self.clock:
            run.diagnosed += run.n
            try:
                return float(self.objective(run.x))
            except StopIteration as error:
                raise EvaluationError(f"The objective raised StopIteration: {error}") from error

    def due(self) -> bool:
        """Whether the next of the log-spaced marks has been passed."""
        run = self.run
        last = run.trace.rows[-1][1] if run.limits.budget is not None or run.nfev else run.trace.rows[-1][0]
        now = run.nfev or run.nit
        return now >= max(last, 1) * 10 ** (1 / self.rows) or last == 0

    def record(self) -> None:
        """One row."""
        run = self.run
        fun = self.value() if run.diagnose > 0 or run.pays else math.nan
        run.trace.append(run.nit, run.nfev, run.nlmo, fun, self.clock.read(), run.info.columns())

    def last(self) -> Known:
        """Return the last iterate with f there and its standard error; NaN if f is not known."""
        run = self.run
        if run.diagnose > 0 and self.objective is not None:
            row = run.trace.rows[-1] if run.trace.rows else None
            return Known(run.x, row[3] if row and row[0] == run.nit else self.value())
        return Known(run.x, math.nan) if run.here is None else run.here
