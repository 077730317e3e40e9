"""Commands whose mistakes are sentences."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec

import typer

from zofw.cli.console import errors

P = ParamSpec("P")


class CommandError(ValueError):
    """A mistake in the arguments of a command."""


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
    """Return the command with exit code 2 and a sentence on stderr for a mistake, 130 for an interruption.

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
