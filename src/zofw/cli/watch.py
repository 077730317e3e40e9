"""``zofw watch``: follow a run by the files that it writes; nothing runs inside the run."""

from __future__ import annotations

import dataclasses
import logging
import os
import time
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

import zofw
from zofw.cli.console import console, plain_table, print_result
from zofw.cli.guard import CommandError
from zofw.cli.options import Json

if TYPE_CHECKING:
    from zofw.run.files.store import Saved
    from zofw.run.session.events import Event

BARS = "▁▂▃▄▅▆▇█"
POINTS = 60  # of a curve
STALE = 30.0  # seconds without an answer after which the page says so
NAMED_SHARE = 0.12  # of the bar of queries by purpose, from which on a part has room for its name


@dataclass(frozen=True)
class Snapshot:
    """A run as its files have it now."""

    path: str
    method: str
    status: str
    queries: int
    budget: int | None
    iterations: int
    best: float | None
    gap: float | None
    ledger: dict[str, int]
    failures: int
    workers: int
    owner: str  # process that works on the run; empty if none does
    under_way: int  # answers of the open query that have come, or requests of a desk that are open
    seconds: float  # of queries and computation
    silent: float  # seconds since the last answer
    curve: tuple[tuple[float, float], ...]  # queries, best value

    @property
    def left(self) -> int | None:
        """Return the queries that are left of the budget."""
        return None if self.budget is None else max(0, self.budget - self.queries)

    @property
    def seconds_left(self) -> float | None:
        """Return the seconds that the rest of the budget takes at the rate so far."""
        if not self.left or not self.queries or self.status != "RUNNING":
            return None
        return self.left * self.seconds / self.queries

    def facts(self, price: float) -> dict[str, str]:
        """Return what people look for, as pairs of a name and a text."""
        spent = ", ".join(f"{count:,} {line}" for line, count in self.ledger.items() if count)
        share = f" of {self.budget:,} ({self.queries / self.budget:.0%})" if self.budget else ""
        left = self.seconds_left
        facts = {
            "run": f"{self.method}, {self.status.lower()}",
            "best value": "not known yet" if self.best is None else f"{self.best:.8g}",
            "gap": "not measured yet" if self.gap is None else f"{self.gap:.3g}",
            "queries": f"{self.queries:,}{share}",
            "time": f"{clock(self.seconds)}" + ("" if left is None else f", about {clock(left)} left"),
            "spent on": spent or "nothing yet",
            "failed": f"{self.failures:,}" if self.failures else "",
            "workers": f"{self.workers}, {self.owner or 'no process works on the run now'}",
            "under way": f"{self.under_way:,}" if self.under_way else "",
            "last answer": f"{clock(self.silent)} ago",
        }
        if price:
            rest = "" if self.left is None else f", {price * self.left:,.2f} left"
            facts["money"] = f"{price * self.queries:,.2f} spent{rest}"
        return {name: text for name, text in facts.items() if text}


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
    from zofw.run.files.store import read_saved
    from zofw.run.session.events import Failed, Stopped

    path = path / "run.npz" if path.is_dir() else path
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
    run, later = saved.run, saved.events
    spent = dict(run.ledger)
    if run.n == 1:  # the events of a sum do not say how many components they are of
        spent["since the last checkpoint"] = int(counted([*later])[-1][0]) if later else 0
    spent["failed"] += sum(event.cost for event in later if isinstance(event, Failed))
    curve = [(row[1], row[3]) for row in run.trace.rows if row[3] == row[3]]
    if run.n == 1 and reading is not None and reading.events:
        curve = [
            point for point in counted([event for _, event in reading.events]) if point[1] < float("inf")
        ]
    lowest = [one.value for one in (run.best, run.given) if one is not None] + [value for _, value in curve]
    written = max(
        file.stat().st_mtime for file in (path, path.with_name(f"{path.name}.journal")) if file.exists()
    )
    ended = (
        "ended, not yet closed"
        if later and isinstance(later[-1], Stopped)
        else run.status.name.replace("_", " ")
    )
    return Snapshot(
        str(path), run.method.name, ended, sum(spent.values()), run.limits.budget, run.nit,
        min(lowest, default=None), run.gap, spent, run.lost + spent["failed"] - run.ledger["failed"], run.workers,
        owner(path), under_way(saved, path), max([run.seconds, *(event.seconds for event in later[-1:])]),
        max(0.0, time.time() - written), thinned(curve),
    )  # fmt: skip


def counted(log: list[Event]) -> list[tuple[float, float]]:
    """Return queries and the best value so far after each event of one function.

    An answer has the values of its query again that came as parts.
    """
    from zofw.run.session.events import Answered, Part

    found: list[tuple[float, float]] = [(0.0, float("inf"))]
    parts: dict[int, int] = {}
    spent, lowest = 0, float("inf")
    for event in log:
        if isinstance(event, (Answered, Part)) and event.values.size:
            lowest = min(lowest, float(event.values.min()))
            spent += event.values.size - (parts.pop(event.query, 0) if isinstance(event, Answered) else 0)
            if isinstance(event, Part):
                parts[event.query] = parts.get(event.query, 0) + event.values.size
            found.append((float(spent), lowest))
    return found


def thinned(curve: list[tuple[float, float]]) -> tuple[tuple[float, float], ...]:
    """Return at most about as many points of a curve as are shown, the last among them."""
    step = max(1, len(curve) // POINTS)
    return tuple(curve[:-1:step] + curve[-1:])


def owner(path: Path) -> str:
    """Return who holds the lock of a run, empty if no process does."""
    try:
        return path.with_name(f"{path.name}.lock").read_text(encoding="utf-8", errors="replace")[:200]
    except OSError:
        return ""


def under_way(saved: Saved, path: Path) -> int:
    """Return the requests of a desk that are open, else the parts of the open query that have come."""
    from zofw.run.session.events import Part

    requests = path.parent / "requests"
    if requests.is_dir():
        return sum(1 for name in os.listdir(requests) if name[:1].isdigit())
    last = [event.query for event in saved.events[-1:] if isinstance(event, Part)]
    return sum(isinstance(event, Part) and event.query in last for event in saved.events)


def spark(curve: tuple[tuple[float, float], ...]) -> str:
    """Return the curve as a line of blocks."""
    heights = [value for _, value in curve]
    if len(heights) < 2:
        return ""
    low, high = min(heights), max(heights)
    scale = (len(BARS) - 1) / (high - low) if high > low else 0.0
    return "".join(BARS[round((value - low) * scale)] for value in heights)


def page(seen: Snapshot, price: float, every: float) -> str:
    """Return one HTML page that shows the run and loads itself again."""
    facts = seen.facts(price)
    rows = "".join(f"<tr><th>{escape(name)}</th><td>{escape(text)}</td></tr>" for name, text in facts.items())
    curve = seen.curve or ((0.0, 0.0), (1.0, 0.0))
    across, up = [point[0] for point in curve], [point[1] for point in curve]
    width, height = max(across) - min(across) or 1.0, max(up) - min(up) or 1.0
    points = " ".join(
        f"{600 * (x - min(across)) / width:.1f},{190 - 180 * (y - min(up)) / height:.1f}" for x, y in curve
    )
    total = max(1, sum(seen.ledger.values()))
    ledger = "".join(
        f"<div style='width:{100 * count / total:.1f}%' title='{escape(line)}: {count:,}'>"
        f"{escape(line) * (count >= NAMED_SHARE * total)}</div>"
        for line, count in seen.ledger.items()
        if count
    )
    done = 100 * seen.queries / seen.budget if seen.budget else 0
    over = seen.status != "RUNNING"
    return PAGE.format(
        refresh="" if over else f'<meta http-equiv="refresh" content="{max(1, round(every))}">', rows=rows,
        title=escape(Path(seen.path).name), points=points, ledger=ledger, done=f"{done:.1f}",
        best=escape(facts["best value"]), note="The run has ended." if over else
        f"No answer for {clock(seen.silent)}." if seen.silent > STALE else "",
        low=f"{min(up):.5g}", high=f"{max(up):.5g}",
    )  # fmt: skip


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
            write_whole(page_, lambda stream: stream.write(page(found, price, every).encode()))
        return found

    def shown(found: Snapshot) -> Group:
        table = plain_table(None, "", "", rows=[*found.facts(price).items()], left=2)
        return Group(Text(spark(found.curve), style="cyan"), table)

    found = seen()
    if once or as_json:
        return print_result(
            as_json, dataclasses.asdict(found) | {"left": found.left}, *found_lines(found, price)
        )
    with Live(shown(found), console=console(), auto_refresh=False) as live:
        # a folder of a desk has an owner only while answers are read; any other run needs a process to go on
        while found.status == zofw.Status.RUNNING.name and (found.owner or run.is_dir()):
            time.sleep(every)
            found = seen()
            live.update(shown(found), refresh=True)
    return None


def found_lines(found: Snapshot, price: float) -> list[str]:
    """Return the facts as lines for a pipe."""
    return [f"{name:12} {text}" for name, text in found.facts(price).items()]
