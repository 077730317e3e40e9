"""Commands of this package: mistakes in specifications, stored runs and data are sentences too."""

from __future__ import annotations

from collections.abc import Callable
from typing import ParamSpec

from zofw.cli import console

P = ParamSpec("P")


def guarded(function: Callable[P, None]) -> Callable[P, None]:
    """Return the command with exit code 2 and a sentence on stderr for a mistake of the user."""
    return console.guarded(function, mistakes)


def mistakes() -> tuple[type[Exception], ...]:
    """Return the errors that are mistakes of the user in the commands of this package."""
    from zofw_paper.data import DataError
    from zofw_paper.records import SpecError
    from zofw_paper.store import StoreError

    return SpecError, StoreError, DataError
