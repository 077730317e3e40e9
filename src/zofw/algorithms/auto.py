"""The default: which method, and why."""

from __future__ import annotations

from typing import Any

from zofw.algorithms.explore_correct import ExploreCorrect
from zofw.core import Task


def choose(task: Task) -> tuple[Any, str]:
    """A method for the task and the reason for it."""
    return ExploreCorrect(), (
        "explore-correct: it splits its queries between finding atoms and correcting on them by what each promises, "
        "and has nothing to tune"
    )
