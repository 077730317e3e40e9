"""SIGINT and SIGTERM as a request to stop: the evaluation in flight is still taken, then the run ends.

After that a script ends too, as it would have without zofw; in a notebook or at a prompt the call returns its result.
"""

from __future__ import annotations

import logging
import signal
import sys
import threading
import time
from types import FrameType, TracebackType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from zofw.run.record.result import Result

logger = logging.getLogger("zofw")

NAP_SECONDS = 0.05


class Interrupted(Exception):
    """A signal asked the run to stop; the session is at an open query, and what that has had is in the journal."""


_open: list[Signals] = []


def look() -> None:
    """Raise :class:`Interrupted` where a signal has asked a run of this process to stop."""
    if any(signals.received is not None for signals in _open):
        raise Interrupted


class Signals:
    """Turns the first SIGINT or SIGTERM into a flag, and the second back into what it was before.

    Only the main thread of a process can do so; elsewhere signals do what they always do. When the run has ended, the
    signal is passed on: to another ``Signals`` around this one, to the program's own handler, or, if it had none, as
    KeyboardInterrupt or SystemExit with the attribute ``result``. An interactive session gets none of these.
    """

    HANDLED = (signal.SIGINT, signal.SIGTERM)

    def __init__(self) -> None:
        self.active = threading.current_thread() is threading.main_thread()
        self.received: int | None = None
        self.result: Result | None = None  # of the run that a signal has ended
        self.where = ""  # it is kept
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
        handler = self._before.get(self.received or 0)
        self._restore()
        stopping = kind is not None and not issubclass(kind, Exception)
        if self.received is None or stopping or "ps1" in vars(sys):
            return
        if outer := next((one for one in reversed(_open) if one.active), None):
            outer.received = self.received
        else:
            self._pass_on(self.received, handler)

    def _pass_on(self, number: int, handler: signal._HANDLER) -> None:
        """Do what the program does at this signal."""
        if handler == signal.SIG_IGN:
            return
        if callable(handler) and handler is not signal.default_int_handler:
            handler(number, None)
            return
        ended = (
            ""
            if self.result is None
            else f" after {self.result.nfev} evaluations, fun = {self.result.fun:.6g}"
        )
        said = f"{signal.Signals(number).name}: the run stopped{ended}{self.where}."
        logger.warning("%s The script ends; error.result holds the result.", said)
        stop = KeyboardInterrupt(said) if number == signal.SIGINT else SystemExit(128 + number)
        vars(stop).update(result=self.result)
        raise stop

    def _restore(self) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)
        self._before = {}

    def _handle(self, number: int, frame: FrameType | None) -> None:
        if self.received is not None:
            self._restore()
            signal.raise_signal(number)
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
