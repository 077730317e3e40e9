"""The log of a run, read: a table of every evaluation that was paid for, and the run in words."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from zofw.core import Array, Query, Tile
from zofw.extras import extra
from zofw.problems.evaluate import single_evaluations
from zofw.run.files.store import read_log
from zofw.run.record.run import FAILED, Pending
from zofw.run.session.best_points import without_stand_ins
from zofw.run.session.events import Answered, Diagnosed, Event, Extended, Failed, Part, Stopped
from zofw.run.session.resume import apply_event, open_run
from zofw.run.session.session import Session
from zofw.run.session.start import Attached
from zofw.run.session.stepping import Open

if TYPE_CHECKING:
    import pandas

SHOWN_EVENTS = 10
COLUMNS = ("query", "iteration", "purpose", "x", "component", "evaluations", "value", "time", "by", "reason")


class Step(NamedTuple):
    """An event, the run as it was after it, and what was open and owed before it."""

    session: Session
    event: Event
    open: Open | None
    owed: list[Pending]


def history(path: str | os.PathLike[str], **given: Any) -> Iterator[Step]:
    """Yield every event of a saved run."""
    where, attached = Path(path), Attached(**given)
    saved = read_log(where, attached.classes())
    session = open_run(Session, saved.run, where, attached)
    for event in saved.events:
        session.rules.catch_up(event)
        before, owed = session.rules.open, list(session.run.pending)
        apply_event(session, event, where)
        yield Step(session, event, before, owed)


def evaluations(path: str | os.PathLike[str], **given: Any) -> pandas.DataFrame:
    """Return a table of every evaluation that a saved run has paid for (extra ``frame``).

    Parameters
    ----------
    path
        The checkpoint of ``minimize(…, checkpoint=path)`` or of a session, or ``run.npz`` of a desk.
    given
        ``set``, ``method`` or ``outer`` of your own, as for :meth:`zofw.Session.resume`.

    Returns
    -------
    DataFrame
        A row for each evaluation, or for each mean over components that came as one value. ``query``,
        ``iteration`` and ``purpose`` say why it was asked; ``x`` and ``component`` (-1: a mean) what;
        ``evaluations`` how many single evaluations the value is the mean of; ``value`` is NaN if it
        failed, for the ``reason`` given; ``time`` in seconds of the run; ``by``: the worker, or who said so at a desk.

    Notes
    -----
    A log that has grown long begins again with a checkpoint; evaluations before that are not in it.
    """
    rows: list[tuple[object, ...]] = []
    for session, event, before, owed in history(path, **given):
        if before is not None and event.query == before.number:
            rows += _rows(before, event, session.run.nit)
        elif isinstance(event, (Part, Failed)):
            rows += _late_rows(owed, event, session.run.nit)
    pd = extra("pandas", "frame")
    frame: pandas.DataFrame = pd.DataFrame(rows, columns=list(COLUMNS))
    return frame


def _rows(asked: Open, event: Event, iteration: int) -> Iterator[tuple[object, ...]]:
    """Return the rows of one event about the open query."""
    query = asked.query
    line = query.purpose.line
    match event:
        case Part() if event.tile.stop:
            found = zip(single_evaluations(query, event.tile), event.values.tolist(), strict=False)
            for (x, component), value in found:
                yield event.query, iteration, line, x, component, 1, value, event.seconds, event.by, ""
        case Part():
            yield from _means(query, event, event.tile, iteration)
        case Answered() if not asked.parts:
            known = np.isfinite(without_stand_ins(query, event.values, asked.replaced))
            yield from _means(query, event, Tile(0, query.count, 0, query.size), iteration, known)
        case Failed():
            alone = asked.rows is None and (event.lost or event.replaced)
            for tile in () if alone and not event.cost else event.tiles[:1] if alone else event.tiles:
                single = single_evaluations(query, tile)
                for x, component in single:
                    yield (
                        event.query, iteration, FAILED, x, component, 1, np.nan, event.seconds, event.by, event.reason
                    )  # fmt: skip
                if not single:  # a tile of a vectorised function
                    cost = query.tile_cost(tile)
                    yield (
                        event.query, iteration, FAILED, None, -1, cost, np.nan, event.seconds, event.by, event.reason
                    )  # fmt: skip


def _late_rows(owed: list[Pending], event: Part | Failed, iteration: int) -> Iterator[tuple[object, ...]]:
    """Return the rows of one event about evaluations that were owed."""
    found: dict[int, float] = {}
    if isinstance(event, Part):
        found = dict(enumerate(event.values.tolist(), event.tile.start))
    elif event.cost:
        found = {row: np.nan for tile in event.tiles for row in range(tile.start, tile.stop)}
    reason = event.reason if isinstance(event, Failed) else ""
    for one in owed:
        if one.query == event.query and one.row in found:
            line = FAILED if reason else one.purpose.line
            yield (
                one.query, iteration, line, one.x, one.component, 1, found[one.row], event.seconds, event.by, reason
            )  # fmt: skip


def _means(
    query: Query, event: Part | Answered, tile: Tile, iteration: int, known: Array | None = None
) -> Iterator[tuple[object, ...]]:
    """Return a row for every point of a tile that is known: the mean over its components."""
    count = 1 if query.paired else tile.bottom - tile.top
    component = int(query.batch.slice(tile.top, tile.top + 1)[0]) if count == 1 else -1
    shares = count if isinstance(event, Part) else 1
    for anchor, values in enumerate(event.values if not query.each else ()):
        here = np.ones(len(values), dtype=bool) if known is None else known[anchor]
        for x, value in zip(query.points(anchor, tile)[here], values[here].tolist(), strict=False):
            mean = value / shares
            yield (
                event.query, iteration, query.purpose.line, x, component, count, mean, event.seconds, event.by, ""
            )  # fmt: skip


def describe(path: str | os.PathLike[str], **given: Any) -> str:
    """Return a saved run in words: what was asked for, where it stands, its ledger, its last events."""
    where, attached = Path(path), Attached(**given)
    session = open_run(Session, read_log(where, attached.classes()).run, where, attached)
    last: deque[str] = deque(maxlen=SHOWN_EVENTS)
    count = 0
    for session, event, *_ in history(path, **given):  # noqa: B007
        last.append(f"  {event.seconds:10.3f} s  {_said(event)}")
        count += 1
    run, asked = session.run, session.rules.open
    limits = ", ".join(f"{name}={limit:g}" for name, limit in vars(run.limits).items() if limit is not None)
    best = session.result()
    lines = [
        f"{run.method!r} on {session.task.set!r:.200}",
        f"dim={run.dim}, n={run.n}, {limits}, seed {', '.join(map(str, run.entropy))}",
        f"{run.status.name}: {run.message}",
        f"{run.nit:,} iterations, {run.nfev:,} evaluations, {run.seconds:.3g} s, fun = {best.fun:.8g}",
        *(f"  {line:<12} {cost:>12,}" for line, cost in run.ledger.items() if cost),
    ]
    if asked is not None:
        lines.append(
            f"Open: query {asked.number}, {asked.query.purpose.line}, {asked.left} of {asked.query.cost} left"
        )
    if run.pending:
        lines.append(f"Owed: {len(run.pending)} rows of earlier queries")
    return "\n".join([*lines, f"The last of {count:,} events:", *last])


def _said(event: Event) -> str:
    """Return one event in words."""
    match event:
        case Answered():
            return f"query {event.query} answered, {event.values.size} values"
        case Part():
            return f"query {event.query}: {event.values.size} values of {event.tile}"
        case Failed():
            return f"query {event.query}: {event.cost} failed. {event.reason:.100}"
        case Diagnosed():
            return f"diagnosed: {event.value:.8g} for {event.cost} evaluations"
        case Extended():
            return f"continues {dict(event.limits) or ''}".rstrip()
        case Stopped():
            return f"stopped: {event.status.name} {event.reason}".rstrip()
    return f"query {event.query} dropped, its iteration begins again"
