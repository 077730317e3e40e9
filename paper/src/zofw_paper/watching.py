"""The terminal while runs go on: a live table, or one line for each finished run in a pipe."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console, Group
from rich.live import Live
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.progress import Progress as Bar
from rich.text import Text

from zofw.cli.console import console, plain_table
from zofw.comparison import number
from zofw_paper.runner import UnitOutcome, UnitProgress, Watcher


class _Live:
    """Running runs as rows; finished ones as a count."""

    def __init__(self) -> None:
        self.bar = Bar(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TextColumn("left:"),
            TimeRemainingColumn(),
        )
        self.task = self.bar.add_task("", total=None)
        self.rows: dict[str, UnitProgress] = {}

    def stage(self, words: str, runs: int) -> None:
        self.rows.clear()
        self.bar.reset(self.task, description=words, total=runs)

    def progress(self, progress: UnitProgress) -> None:
        self.rows[progress.path] = progress

    def outcome(self, outcome: UnitOutcome) -> None:
        self.rows.pop(outcome.unit.path, None)
        self.bar.advance(self.task)

    def __rich__(self) -> Group:
        table = plain_table(None, "running", "of budget", "queries", "iterations", "objective", "seconds")
        for row in list(self.rows.values()):
            share = f"{100 * row.spent / row.budget:.0f} %"
            table.add_row(
                Text(row.name),
                share,
                number(row.spent),
                number(row.iterations),
                number(row.objective, 5),
                f"{row.seconds:.1f}",
            )
        return Group(self.bar, table)


@contextmanager
def watching(out: Console | None = None, *, quiet: bool = False) -> Iterator[Watcher]:
    """A live table on a terminal, one line for each finished run in a pipe, nothing where quiet is wanted."""
    out = out or console()
    if quiet:
        yield Watcher()
    elif out.is_terminal:
        live = _Live()
        with Live(live, console=out, refresh_per_second=4, transient=True):
            yield Watcher(live.stage, live.progress, live.outcome)
    else:
        began = time.monotonic()

        def stage(words: str, runs: int) -> None:
            out.print(f"{words}: {runs}")

        def outcome(ended: UnitOutcome) -> None:
            if ended.result is not None:
                end = ended.result
                status = end.status.replace("_", " ")
                words = f"{status}, objective {number(end.objective, 5)}, {number(end.queries)} queries"
                out.print(Text(f"{time.monotonic() - began:7.1f} s  {ended.unit.name}: {words}"))

        yield Watcher(stage, outcome=outcome)
