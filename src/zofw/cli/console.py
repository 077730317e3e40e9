"""Output of commands, for people and for programs, and mistakes as sentences."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import wraps
from typing import Annotated, ParamSpec

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

PIPE_WIDTH = 160
P = ParamSpec("P")
Json = Annotated[bool, typer.Option("--json", help="Print only JSON on stdout, for programs.")]


class CommandError(ValueError):
    """A mistake in the arguments of a command."""


def console(*, stderr: bool = False) -> Console:
    """Return a console on stdout or stderr; a pipe does not break lines at 80 columns."""
    made = Console(stderr=stderr, highlight=False)
    return made if made.is_terminal else Console(stderr=stderr, highlight=False, width=PIPE_WIDTH)


def plain_table(title: str | None, *heads: str, rows: Iterable[Sequence[str]] = (), left: int = 1) -> Table:
    """Return a table whose first columns are words and the rest numbers."""
    table = Table(title=title, title_justify="left", header_style="bold", box=None, pad_edge=False)
    for k, head in enumerate(heads):
        whole = k == 0 and left == 1
        table.add_column(head, justify="left" if k < left else "right", overflow="fold", no_wrap=whole)
    for row in rows:
        table.add_row(*map(Text, row))
    return table


def print_result(as_json: bool, content: object, *shown: Table | Text | str) -> None:
    """Print one JSON document for programs, or what people read."""
    if as_json:
        sys.stdout.write(json.dumps(content) + "\n")
        return
    for part in shown:
        console().print(part, soft_wrap=not isinstance(part, Table))


def print_rows(
    as_json: bool, rows: Sequence[Mapping[str, object]], title: str | None = None, left: int = 99
) -> None:
    """Print rows as one JSON document, or as a table: words first, then numbers."""
    cells = [[_cell(value) for value in row.values()] for row in rows]
    print_result(as_json, rows, plain_table(title, *(rows[0] if rows else ()), rows=cells, left=left))


def _cell(value: object) -> str:
    if isinstance(value, (int, float)):
        return f"{value:,}" if isinstance(value, int) else f"{value:g}"
    return "" if value is None else str(value)


def errors(sentences: Iterable[str]) -> None:
    """Print sentences about what went wrong on stderr."""
    for sentence in sentences:
        console(stderr=True).print(Text(sentence, style="red"), soft_wrap=True)


def mistakes() -> tuple[type[Exception], ...]:
    """Return the errors that are mistakes of the user in every command."""
    from zofw.core import EvaluationError
    from zofw.desk import AnswerError
    from zofw.registry import UnknownName
    from zofw.run import BudgetError, FileError, LockedError

    about_files = (FileError, LockedError)
    return *about_files, CommandError, AnswerError, BudgetError, EvaluationError, UnknownName, ImportError


def guarded(
    function: Callable[P, None], *more: Callable[[], tuple[type[Exception], ...]]
) -> Callable[P, None]:
    """Return the command with exit code 2 and a sentence on stderr for a mistake, 130 for an
    interruption.

    ``more`` return further errors that are mistakes of the user.
    """

    @wraps(function)
    def guard(*args: P.args, **kwargs: P.kwargs) -> None:
        try:
            function(*args, **kwargs)
        except Exception as error:
            if not isinstance(error, tuple(kind for kinds in (mistakes, *more) for kind in kinds())):
                raise
            errors([str(error)])
            raise typer.Exit(2) from error
        except KeyboardInterrupt as interruption:
            words = "Interrupted. What was done is kept; the same command goes on from there."
            errors([words])
            raise typer.Exit(130) from interruption

    return guard
