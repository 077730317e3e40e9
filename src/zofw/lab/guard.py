"""Commands whose mistakes are sentences."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec

import typer

from zofw.core import EvaluationError
from zofw.data import DataError
from zofw.desk import AnswerError
from zofw.lab.console import errors
from zofw.lab.spec import SpecError
from zofw.lab.store import StoreError
from zofw.registry import UnknownName
from zofw.run import BudgetError, FileError, LockedError

__all__ = ["guarded"]

P = ParamSpec("P")

ABOUT_FILES = (SpecError, StoreError, DataError, FileError, LockedError)
MISTAKES = (*ABOUT_FILES, AnswerError, BudgetError, EvaluationError, UnknownName, ImportError)


def guarded(function: Callable[P, None]) -> Callable[P, None]:
    """Exit code 2 with a sentence on stderr for a mistake, 130 for an interruption."""

    @wraps(function)
    def guard(*args: P.args, **kwargs: P.kwargs) -> None:
        try:
            function(*args, **kwargs)
        except MISTAKES as error:
            errors([str(error)])
            raise typer.Exit(2) from error
        except KeyboardInterrupt as interruption:
            words = "Interrupted. What was done is kept; the same command goes on from there."
            errors([words])
            raise typer.Exit(130) from interruption

    return guard
