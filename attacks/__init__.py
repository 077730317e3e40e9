"""Attacks on what the library promises, in their long form: ``make attack``.

Every attack breaks something on purpose, many times, and counts how often a promise did not hold. The table that comes out
is docs/details/reliability.md. What is attacked is the installed library, through its public interface alone.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np


@dataclass
class Finding:
    """How often one promise was attacked in one way, and what did not hold."""

    promise: str
    attack: str
    tried: int = 0
    failures: list[str] = field(default_factory=list)
    skipped: str = ""

    def check(self, holds: bool, what: str) -> None:
        """Count one attempt."""
        self.tried += 1
        if not holds:
            self.failures.append(what)


Attack = Callable[[float, np.random.Generator], list[Finding]]


def until(seconds: float) -> Iterator[int]:
    """0, 1, 2, … until the time is up, at least once."""
    end, number = time.monotonic() + seconds, 0
    while number == 0 or time.monotonic() < end:
        yield number
        number += 1
