"""``zofw watch``: follow a run by the files that it writes; nothing runs inside the run."""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import zofw
from zofw.cli.console import CommandError, Json, console, plain_table, print_result

if TYPE_CHECKING:
    from zofw.run.files.store import Saved
    from zofw.run.record.run import Run
    from zofw.run.session.events import Event

Curve = list[tuple[float, float]]  # queries, best value
Snapshot = dict[str, Any]  # a run as its files have it now; what --json prints
BARS = "▁▂▃▄▅▆▇█"
POINTS = 60  # of a curve
STALE = 30.0  # seconds without an answer after which the page says so
NAMED_SHARE = 0.12  # of the bar of queries by purpose, from which on a part has room for its name


def facts(run: Snapshot, price: float) -> dict[str, str]:
    """Return what people look for, as pairs of a name and a text."""
    queries, budget, left, best, gap = (run[name] for name in ("queries", "budget", "left", "best", "gap"))
    spent = ", ".join(f"{count:,} {line}" for line, count in run["ledger"].items() if count)
    share = f" of {budget:,} ({queries / budget:.0%})" if budget else ""
    money = f", {price * left:,.2f} left" if left is not None else ""
    texts = {
        "run": f"{run['method']}, {run['status'].lower()}",
        "best value": shown(best, ".8g", "not known yet"),
        "gap": shown(gap, ".3g", "not measured yet"),
        "queries": f"{queries:,}{share}",
        "time": f"{clock(run['seconds'])}{rest(run)}",
        "spent on": spent or "nothing yet",
        "failed": f"{run['failures']:,}" * bool(run["failures"]),
        "workers": f"{run['workers']}, {run['owner'] or 'no process works on the run now'}",
        "under way": f"{run['under_way']:,}" * bool(run["under_way"]),
        "last answer": f"{clock(run['silent'])} ago",
        "money": f"{price * queries:,.2f} spent{money}" * bool(price),
    }
    return {name: text for name, text in texts.items() if text}


def shown(value: float | None, form: str, otherwise: str) -> str:
    """Return a number as text, or other words if there is none."""
    return otherwise if value is None else format(value, form)


def rest(run: Snapshot) -> str:
    """Return how long the rest of the budget takes at the rate so far, in words."""
    seconds = 0.0 if over(run) else (run["left"] or 0) * run["seconds"] / max(1, run["queries"])
    return f", about {clock(seconds)} left" if seconds else ""


def over(run: Snapshot) -> bool:
    """Return True if the run has ended."""
    return bool(run["status"] != zofw.Status.RUNNING.name)


def clock(seconds: float) -> str:
    """Return a duration as people say it.

    Examples
    --------
    >>> clock(75), clock(7260)
    ('1 min 15 s', '2 h 1 min')
    """
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes} min"
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"


def look(path: Path) -> Snapshot:
    """Return what the files of a run, or of a desk's folder, say now."""
    from zofw.run.session.events import Stopped

    path = path / "run.npz" if path.is_dir() else path
    saved, log = read(path)
    run, later = saved.run, saved.events
    ledger, failures = spent(saved)
    curve = curve_of(run, log)
    known = [one.value for one in (run.best, run.given) if one is not None]
    queries, budget = sum(ledger.values()), run.limits.budget
    ended = bool(later) and isinstance(later[-1], Stopped)
    step = max(1, len(curve) // POINTS)
    return {
        "method": run.method.name,
        "status": "ended, not yet closed" if ended else run.status.name.replace("_", " "),
        "queries": queries,
        "budget": budget,
        "left": None if budget is None else max(0, budget - queries),
        "iterations": run.nit,
        "best": min([*known, *(value for _, value in curve)], default=None),
        "gap": run.gap,
        "ledger": ledger,
        "failures": failures,
        "workers": run.workers,
        "owner": owner(path),
        "under_way": under_way(saved, path),
        "seconds": max([run.seconds, *(event.seconds for event in later[-1:])]),
        "silent": silence(path, beside(path, "journal")),
        "curve": curve[:-1:step] + curve[-1:],
    }


def curve_of(run: Run, log: Sequence[Event]) -> Curve:
    """Return queries and best value: of a sum by iterations, of one function by events."""
    if run.n == 1 and log:
        return [point for point in counted(log) if point[1] < math.inf]
    return [(row[1], row[3]) for row in run.trace.rows if not math.isnan(row[3])]


def spent(saved: Saved) -> tuple[dict[str, int], int]:
    """Return queries by purpose and failures, those since the last checkpoint included."""
    from zofw.run.session.events import Failed

    run, later = saved.run, saved.events
    failed = sum(event.cost for event in later if isinstance(event, Failed))
    ledger = dict(run.ledger) | {"failed": run.ledger["failed"] + failed}
    if run.n == 1:  # the events of a sum do not say how many components they are of
        ledger["since the last checkpoint"] = int(counted(later)[-1][0])
    return ledger, run.lost + failed


def silence(*files: Path) -> float:
    """Return the seconds since the last of the files was written."""
    return max(0.0, time.time() - max(file.stat().st_mtime for file in files if file.exists()))


def read(path: Path) -> tuple[Saved, list[Event]]:
    """Return a run with the events since its checkpoint, and all events that its log has."""
    from zofw.run.files.store import read_saved

    logger, level = logging.getLogger("zofw"), logging.getLogger("zofw").level
    logger.setLevel(logging.CRITICAL)  # an entry that is being written looks torn
    try:
        saved, reading, _ = read_saved(path, {}, lambda run: run)
    except FileNotFoundError as error:
        raise CommandError(
            f"There is no run in {path}. A run is there with checkpoint={str(path)!r}."
        ) from error
    finally:
        logger.setLevel(level)
    return saved, [] if reading is None else [event for _, event in reading.events]


def counted(log: Sequence[Event]) -> Curve:
    """Return queries and the best value so far after each event of one function.

    An answer has the values of its query again that came as parts.
    """
    from zofw.run.session.events import Answered, Part

    found, parts = [(0.0, math.inf)], dict[int, int]()
    for event in log:
        if not isinstance(event, (Answered, Part)) or not event.values.size:
            continue
        size = event.values.size
        if isinstance(event, Part):
            parts[event.query] = parts.get(event.query, 0) + size
        else:
            size -= parts.pop(event.query, 0)
        spent, lowest = found[-1]
        found.append((spent + size, min(lowest, float(event.values.min()))))
    return found


def beside(path: Path, suffix: str) -> Path:
    return path.with_name(f"{path.name}.{suffix}")


def owner(path: Path) -> str:
    """Return who holds the lock of a run, empty if no process does."""
    try:
        return beside(path, "lock").read_text(encoding="utf-8", errors="replace")[:200]
    except OSError:
        return ""


def under_way(saved: Saved, path: Path) -> int:
    """Return open requests of a desk, else the parts of the open query that have come."""
    from zofw.run.session.events import Part

    if (path.parent / "requests").is_dir():
        return sum(1 for _ in (path.parent / "requests").glob("[0-9]*"))
    last = [event.query for event in saved.events[-1:] if isinstance(event, Part)]
    return sum(isinstance(event, Part) and event.query in last for event in saved.events)


def spark(curve: Curve) -> str:
    """Return the curve as a line of blocks."""
    heights = [value for _, value in curve]
    low, high = min(heights, default=0.0), max(heights, default=0.0)
    scale = (len(BARS) - 1) / (high - low) if high > low else 0.0
    return "".join(
        BARS[round((value - low) * scale)] for value in heights[: len(heights) * (len(heights) > 1)]
    )


def polyline(curve: Curve) -> str:
    """Return the points of the curve in a box of 600 by 200."""
    across, up = zip(*curve, strict=True)
    width, height = max(across) - min(across) or 1.0, max(up) - min(up) or 1.0
    return " ".join(
        f"{600 * (x - min(across)) / width:.1f},{190 - 180 * (y - min(up)) / height:.1f}" for x, y in curve
    )


def page(seen: Snapshot, title: str, price: float, every: float) -> str:
    """Return one HTML page that shows the run and loads itself again."""
    texts, curve = facts(seen, price), seen["curve"] or [(0.0, 0.0)]
    quiet = f"No answer for {clock(seen['silent'])}." if seen["silent"] > STALE else ""
    shares = {line: count / seen["queries"] for line, count in seen["ledger"].items() if count}
    return PAGE.format(
        refresh="" if over(seen) else f'<meta http-equiv="refresh" content="{max(1, round(every))}">',
        rows="".join(
            f"<tr><th>{escape(name)}</th><td>{escape(text)}</td></tr>" for name, text in texts.items()
        ),
        title=escape(title),
        points=polyline(curve),
        ledger="".join(
            f"<div style='width:{share:.1%}' title='{escape(line)}: {seen['ledger'][line]:,}'>"
            f"{escape(line) * (share >= NAMED_SHARE)}</div>"
            for line, share in shares.items()
        ),
        done=f"{100 * seen['queries'] / seen['budget']:.1f}" if seen["budget"] else "0.0",
        best=escape(texts["best value"]),
        note="The run has ended." if over(seen) else quiet,
        low=f"{min(value for _, value in curve):.5g}",
        high=f"{max(value for _, value in curve):.5g}",
    )


PAGE = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8">{refresh}
<meta name="viewport" content="width=device-width, initial-scale=1"><title>{title}</title>
<style>
:root {{ color-scheme: light dark; --ink: #1c2430; --soft: #5b6675; --line: #dfe4ea; --paper: #fff; --accent: #0072b2; }}
@media (prefers-color-scheme: dark) {{ :root {{ --ink: #e6e9ee; --soft: #9aa5b4; --line: #313943; --paper: #14181d;
  --accent: #5ab4e6; }} }}
body {{ font: 16px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper); margin: 0 auto;
  max-width: 760px; padding: 1rem; }}
h1 {{ font-size: 2.4rem; margin: 0; }} .soft {{ color: var(--soft); }}
.bar {{ display: flex; border: 1px solid var(--line); border-radius: 6px; overflow: hidden; font-size: 0.75rem; }}
.bar div {{ background: var(--accent); color: var(--paper); padding: 0.15rem 0.3rem; overflow: hidden; white-space: nowrap;
  border-right: 1px solid var(--paper); box-sizing: border-box; }}
svg {{ width: 100%; height: auto; }} table {{ border-collapse: collapse; width: 100%; }}
th, td {{ text-align: left; vertical-align: top; border-top: 1px solid var(--line); padding: 0.3rem 0.6rem 0.3rem 0; }}
th {{ font-weight: 600; white-space: nowrap; }} td {{ overflow-wrap: anywhere; }}
</style></head><body>
<p class="soft">{title}: best value</p><h1>{best}</h1><p class="soft">{note}</p>
<div class="bar"><div style="width:{done}%">{done} % of the budget</div></div>
<svg viewBox="0 0 600 200" role="img" aria-label="best value from {high} to {low}"><polyline points="{points}" fill="none"
stroke="var(--accent)" stroke-width="2.5"/></svg>
<p class="soft">Best value against queries, from {high} to {low}. Queries by purpose:</p>
<div class="bar">{ledger}</div><table>{rows}</table>
</body></html>
"""


def watch(
    run: Annotated[Path, typer.Argument(help="The checkpoint of a run, or the folder of a desk.")],
    every: Annotated[float, typer.Option("--every", min=0.1, help="The seconds between two looks.")] = 2.0,
    page_: Annotated[
        Path | None, typer.Option("--page", help="Write an HTML page that shows the run.", show_default=False)
    ] = None,
    price: Annotated[float, typer.Option("--price", min=0.0, help="The price of one query.")] = 0.0,
    once: Annotated[bool, typer.Option("--once", help="Look once.")] = False,
    as_json: Json = False,
) -> None:
    """Watch a run by its files: best value, gap, queries, workers, time and money left.

    [dim]Example:[/dim]  zofw watch run.npz --page watch.html --price 0.25
    """
    from rich.console import Group
    from rich.live import Live
    from rich.text import Text

    from zofw.storage import write_whole

    def seen() -> Snapshot:
        found = look(run)
        if page_ is not None:
            text = page(found, run.name, price, every).encode()
            write_whole(page_, lambda stream: stream.write(text))
        return found

    def screen(found: Snapshot) -> Group:
        table = plain_table(None, "", "", rows=[*facts(found, price).items()], left=2)
        return Group(Text(spark(found["curve"]), style="cyan"), table)

    found = seen()
    if once or as_json:
        lines = (f"{name:12} {text}" for name, text in facts(found, price).items())
        return print_result(as_json, found, *lines)
    with Live(screen(found), console=console(), auto_refresh=False) as live:
        # a folder of a desk has an owner only while answers are read; any other run needs a process to go on
        while not over(found) and (found["owner"] or run.is_dir()):
            time.sleep(every)
            found = seen()
            live.update(screen(found), refresh=True)
    return None
