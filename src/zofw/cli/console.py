"""Output of commands: tables and sentences for people, JSON for programs."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping, Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

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


def print_result(as_json: bool, content: object, *shown: Table | Text | str) -> None:
    """One JSON document for programs, or what people read."""
    if as_json:
        sys.stdout.write(json.dumps(content) + "\n")
        return
    for part in shown:
        console().print(part, soft_wrap=not isinstance(part, Table))


def print_rows(
    as_json: bool, rows: Sequence[Mapping[str, object]], title: str | None = None, left: int = 99
) -> None:
    """Rows alike as one JSON document, or as a table whose first columns are words and the rest numbers."""
    cells = [[_cell(value) for value in row.values()] for row in rows]
    print_result(as_json, rows, plain_table(title, *(rows[0] if rows else ()), rows=cells, left=left))


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
