"""What is known of f: the points at which all components were evaluated, which of them is returned, and the trace."""

from __future__ import annotations

import dataclasses
import math
import time
from collections.abc import Callable, Generator, Iterable, Iterator
from typing import TYPE_CHECKING

import numpy as np

from zofw.core import Answer, Array, Batch, ConvexSet, EvaluationError, Purpose, Query
from zofw.run.record.run import Known, Run
from zofw.run.record.status import Status

if TYPE_CHECKING:
    from zofw.run.record.result import Result

ROWS_PER_DECADE = 20  # of the trace, by default
SEEN = 4  # points evaluated whole in an iteration that are remembered to its end
SHARE = 50  # learning f at the end takes at most this part of the budget
GROUPS = 20  # of a sample, whose means tell the standard error
LOOKED_AT = 4  # points of a sum's answer, the lowest first, that are tried for membership of the set; of one function all


def anchors(query: Query, values: Array) -> Iterator[Known]:
    """The anchors of a query that asked for f there."""
    if query.stencil.has_base:
        for x, value in zip(query.anchors, values[:, -1].tolist(), strict=True):
            yield Known(x, value)


def at(x: Array, known: Iterable[Known]) -> Known | None:
    """What is known of f at x."""
    return next((one for one in known if same(one.x, x)), None)


def same(x: Array, y: Array) -> bool:
    """Whether two points of one space are the same."""
    return bool((x == y).all())


def asks_whole(query: Query, n: int) -> bool:
    """Whether an answer has means over all components."""
    return n == 1 or (query.batch.indices is None and not query.paired)


def look_at(run: Run, query: Query, values: Array, region: ConvexSet) -> None:
    """Remember points at which all components were evaluated: the last ones, and the lowest that is in the set."""
    if not asks_whole(query, run.n):
        return
    for known in anchors(query, values):
        run.seen = [*run.seen[1 - SEEN :], known]
        if same(known.x, run.state.x):
            run.here = known
    best = lowest(query, values, region, run.best)
    if best is not run.best and best is not None and run.nit and same(best.x, run.state.x):
        best = dataclasses.replace(best, gap=run.gap, gap_error=run.info.gap_error)
    run.best = best


def lowest(query: Query, values: Array, region: ConvexSet, best: Known | None) -> Known | None:
    """The lowest point of an answer that is in the set, if it is below the best so far; else that one."""
    most = math.inf if best is None else best.value
    if values.min() >= most:
        return best
    flat = values.ravel()
    looked_at = flat.size if query.size == 1 else LOOKED_AT
    for place in np.argsort(flat, kind="stable")[:looked_at].tolist():
        if flat[place] >= most:
            break
        x = query.point(*divmod(place, query.width))
        if region.contains(x):
            return Known(x, float(flat[place]))
    return best


def cost_of_value(n: int, budget: int) -> int:
    """Queries that f at one point may take: n, or a sample of a fiftieth of the budget where that is less."""
    most = max(2, budget // SHARE)
    return n if n <= most else most


def least_budget(n: int, iteration: int) -> int:
    """The least budget that pays for an iteration beside f at one point."""
    budget = iteration + 1
    while budget - cost_of_value(n, budget) < iteration:
        budget = iteration + cost_of_value(n, budget)
    return budget


def learn(run: Run, sample: Callable[[], np.random.Generator]) -> Generator[Query, Answer, Known]:
    """f at x: the mean over all components or, where that is dear, over a sample whose groups tell its error."""
    x = run.x.copy()
    size = cost_of_value(run.n, run.limits.budget or run.nfev)
    if size == run.n:
        answer = yield Query(x, Batch(run.n), purpose=Purpose.RESULT)
        return Known(x, float(answer.values[0, 0]))
    drawn = sample().choice(run.n, size, replace=False)
    groups = np.array_split(drawn, min(GROUPS, size))
    means = []
    for indices in groups:
        answer = yield Query(x, Batch(run.n, indices), purpose=Purpose.RESULT)
        means.append(float(answer.values[0, 0]))
    weights = np.array([len(indices) for indices in groups]) / size
    mean = float(weights @ means)
    spread = float(weights @ (np.array(means) - mean) ** 2) / (len(groups) - 1)
    return Known(x, mean, math.sqrt(spread * (1.0 - size / run.n)))


def returned(run: Run, last: Known) -> Known:
    """The last iterate, unless a point is known to be lower; where its gap was found small, that one.

    Of a sum whose last iterate was not evaluated whole, nothing is known to be lower; where a method has measured noise, the
    least of many values is the luckiest, and no point is known to be lower either.
    """
    best = run.best
    if run.info.numbers.get("noise", 0.0) > 0:
        return last
    if (
        best is None
        or run.status in (Status.CONVERGED, Status.ESTIMATED)
        or (math.isnan(last.value) and run.n > 1)
    ):
        return last
    return last if best.value >= last.value - 2.0 * last.error else best


def result_of(run: Run, value: float, error: float, paid: int = 0) -> Result:
    """A run as a result, with f at its last iterate; ``paid`` evaluations of the open query are in hand."""
    from zofw.run.record.result import Result  # brings scipy.optimize, for which import zofw should not wait

    gap = run.gap
    point = returned(run, Known(run.x, value, error, gap, None if gap is None else run.info.gap_error))
    return Result(
        x=point.x.copy(),
        fun=point.value,
        fun_error=point.error,
        last=run.x.copy(),
        success=run.status.success,
        status=run.status,
        message=run.message,
        nit=run.nit,
        nfev=run.nfev + paid,
        nlmo=run.nlmo,
        gap=point.gap,
        gap_error=point.gap_error,
        ledger=run.ledger | ({"open query": paid} if paid else {}),
        trace=run.trace,
        method=run.method.name,
        settings=repr(run.method),
        reasons=dict(run.reasons),
        seed=run.entropy,
        time=run.seconds,
        ndiagnosis=run.diagnosed,
        nrecomputed=run.recomputed,
    )


class Clock:
    """Seconds since it was made, pauses excepted, on top of what was spent before; never runs backwards."""

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

    def paused(self) -> Clock:
        return self

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
        with self.clock.paused():
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

    def last_value(self) -> tuple[float, float]:
        """f at the last iterate and its standard error; NaN where nobody knows."""
        run = self.run
        if run.diagnose > 0 and self.objective is not None:
            row = run.trace.rows[-1] if run.trace.rows else None
            return (row[3] if row and row[0] == run.nit else self.value()), 0.0
        return (math.nan, 0.0) if run.here is None else (run.here.value, run.here.error)
