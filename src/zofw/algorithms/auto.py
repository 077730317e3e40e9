"""The default: which method, and why."""

from __future__ import annotations

from typing import Any

from zofw.algorithms.zo_sfw import ZOSFW
from zofw.core import Task


def choose(task: Task) -> tuple[Any, str]:
    """A method for the task and the reason for it."""
    return (
        ZOSFW(),
        "zo-sfw: averaging of cheap estimates starts to move after one small batch, whatever n and d are",
    )
