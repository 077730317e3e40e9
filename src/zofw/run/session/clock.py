"""The clock of a run, which stands still while its objective is diagnosed."""

from __future__ import annotations

import time


class Clock:
    """Seconds since it was made, on top of what was spent before; never runs backwards, and stands still within ``with``."""

    def __init__(self, before: float = 0.0) -> None:
        self._before = before
        self._start = time.monotonic()
        self._pause: float | None = None
        self._latest = before

    def read(self) -> float:
        now = time.monotonic() if self._pause is None else self._pause
        self._latest = max(self._latest, self._before + now - self._start)
        return self._latest

    def at_least(self, seconds: float) -> None:
        """Go forward to a time that was read before."""
        self._before += max(0.0, seconds - self.read())

    def __enter__(self) -> None:
        self._pause = time.monotonic()

    def __exit__(self, *exception: object) -> None:
        if self._pause is not None:
            self._start += time.monotonic() - self._pause
        self._pause = None
