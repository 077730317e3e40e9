"""What a run knows of f: the points at which all components were evaluated, and which of them is returned."""

from __future__ import annotations

import math
from collections.abc import Generator, Iterator
from typing import TYPE_CHECKING

import numpy as np

from zofw.core import Answer, Array, Batch, ConvexSet, Purpose, Query
from zofw.run.record.run import Known, Run
from zofw.run.record.status import Status
from zofw.run.session.seeds import Stream

if TYPE_CHECKING:
    from zofw.run.record.result import Result

SHARE = 50  # learning f at the end takes at most this part of the budget
GROUPS = 20  # of a sample, whose means tell the standard error
LOOKED_AT = 4  # points of a sum's answer, the lowest first, that are tried for membership of the set; of one function all
LAST = 0xFFFFFFFF  # the redraw whose random numbers draw that sample


def whole(query: Query, n: int) -> bool:
    """Whether an answer has means over all components."""
    return n == 1 or (query.batch.indices is None and not query.paired)


def anchors(query: Query, values: Array) -> Iterator[Known]:
    """The anchors of a query that asked for f there."""
    if query.stencil.has_base:
        for x, value in zip(query.anchors, values[:, -1].tolist(), strict=True):
            yield Known(x, value)


def lowest(query: Query, values: Array, region: ConvexSet, best: Known | None) -> Known | None:
    """The lowest point of an answer that is in the set, if it is below the best so far; else that one."""
    most = math.inf if best is None else best.value
    if values.min() >= most:
        return best
    flat = values.ravel()
    looked_at = flat.size if len(query.batch) == 1 else LOOKED_AT
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


def learn(run: Run, stream: Stream) -> Generator[Query, Answer, Known]:
    """f at x: the mean over all components or, where that is dear, over a sample whose groups tell its error."""
    x = run.x.copy()
    size = cost_of_value(run.n, run.limits.budget or run.nfev)
    if size == run.n:
        answer = yield Query(x, Batch(run.n), purpose=Purpose.RESULT)
        return Known(x, float(answer.values[0, 0]))
    drawn = stream.at(run.nit, LAST).choice(run.n, size, replace=False)
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
    """The last iterate, unless a point is known to be lower; where a bound certifies the last one, that one.

    Of a sum whose last iterate was not evaluated whole, nothing is known to be lower.
    """
    best = run.best
    if best is None or run.status is Status.CONVERGED or (math.isnan(last.value) and run.n > 1):
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
