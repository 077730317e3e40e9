"""What the terminal shows: a live table while runs go on, a line for each in a pipe, and tables at the end."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager

from rich.console import Console, Group
from rich.live import Live
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
from rich.progress import Progress as Bar
from rich.table import Table
from rich.text import Text

from zofw.lab.numbers import number
from zofw.lab.runner import UnitOutcome, UnitProgress, Watcher

__all__ = ["console", "errors", "plain_table", "told", "told_rows", "watching"]

PIPE_WIDTH = 160


def console(*, stderr: bool = False) -> Console:
    """A console on the present stdout or stderr; lines are not broken at 80 columns in a pipe."""
    made = Console(stderr=stderr, highlight=False)
    return made if made.is_terminal else Console(stderr=stderr, highlight=False, width=PIPE_WIDTH)


def plain_table(title: str | None, *heads: str, rows: Iterable[Sequence[str]] = (), left: int = 1) -> Table:
    """A table whose first columns are words and the rest numbers."""
    table = Table(title=title, title_justify="left", header_style="bold", box=None, pad_edge=False)
    for k, head in enumerate(heads):
        table.add_column(
            head, justify="left" if k < left else "right", overflow="fold", no_wrap=k == 0 and left == 1
        )
    for row in rows:
        table.add_row(*map(Text, row))
    return table


def told(as_json: bool, content: object, *shown: Table | Text | str) -> None:
    """One JSON document for programs, or what people read."""
    if as_json:
        sys.stdout.write(json.dumps(content) + "\n")
        return
    for part in shown:
        console().print(part, soft_wrap=not isinstance(part, Table))


def told_rows(
    as_json: bool, rows: Sequence[Mapping[str, object]], title: str | None = None, left: int = 99
) -> None:
    """Rows alike as one JSON document, or as a table whose first columns are words and the rest numbers."""
    cells = [[_cell(value) for value in row.values()] for row in rows]
    told(as_json, rows, plain_table(title, *(rows[0] if rows else ()), rows=cells, left=left))


def _cell(value: object) -> str:
    if value is None:
        return ""
    return (
        f"{value:,}" if isinstance(value, int) else f"{value:g}" if isinstance(value, float) else str(value)
    )


def errors(sentences: Iterable[str]) -> None:
    """Sentences about what went wrong, on stderr."""
    for sentence in sentences:
        console(stderr=True).print(Text(sentence, style="red"), soft_wrap=True)


class _Live:
    """Running runs as rows; finished ones as a count."""

    def __init__(self) -> None:
        self.bar = Bar(
            TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn()
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
