"""SIGINT and SIGTERM as a request to stop: the evaluation in flight is still taken, then the run ends."""

from __future__ import annotations

import logging
import os
import signal
import threading
import time
from types import FrameType, TracebackType

logger = logging.getLogger("zofw")

NAP_SECONDS = 0.05


class Interrupted(Exception):
    """A signal asked the run to stop; the session is at an open query, and what that has had is in the journal."""


_open: list[Signals] = []


def look() -> None:
    """For whoever waits: raise :class:`Interrupted` where a signal has asked a run of this process to stop."""
    if any(signals.received is not None for signals in _open):
        raise Interrupted


class Signals:
    """Turns the first SIGINT or SIGTERM into a flag, and the second back into what it was before.

    Only the main thread of a process can do so; elsewhere signals do what they always do.
    """

    HANDLED = (signal.SIGINT, signal.SIGTERM)

    def __init__(self) -> None:
        self.active = threading.current_thread() is threading.main_thread()
        self.received: int | None = None
        self._before: dict[int, signal._HANDLER] = {}

    def __enter__(self) -> Signals:
        _open.append(self)
        if self.active:
            self._before = {number: signal.signal(number, self._handle) for number in self.HANDLED}
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        _open.remove(self)
        self._restore()

    def _restore(self) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)
        self._before = {}

    def _handle(self, number: int, frame: FrameType | None) -> None:
        if self.received is not None:
            self._restore()
            os.kill(os.getpid(), number)
            return
        self.received = number
        logger.warning(
            "%s: the run stops after the evaluation in flight; send it again to stop at once.",
            signal.Signals(number).name,
        )

    def sleep(self, seconds: float) -> None:
        """Wait, unless a signal comes."""
        end = time.monotonic() + seconds
        while self.received is None and (left := end - time.monotonic()) > 0:
            time.sleep(min(left, NAP_SECONDS))
