"""What happens when the objective raises, answers nonsense, or does not answer at all."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import ParamSpec, TypeVar

from zofw.core import EvaluationError

SLICE_SECONDS = 0.1  # of a wait: a suspended process loses at most one of them

P = ParamSpec("P")
T = TypeVar("T")

DROPS = (
    10  # evaluations or iterations that on_error="skip" gives up before it looks at how many fail in a row
)
IN_A_ROW = 50  # evaluations beside four whole queries that may fail in a row if the run goes on without them


@dataclass(frozen=True)
class Retry:
    """Ask again, wait, and in the end give the iteration up or raise.

    Parameters
    ----------
    times
        How often one evaluation (or, for a vectorised objective, one tile of them) is repeated.
    backoff
        Seconds before the first repetition; doubled for each further one, up to ``longest``.
    skip
        How many evaluations may be given up once repeating has not helped; beyond that number, as many as there are until
        50 of them and four whole queries fail in a row. A sum goes on without the component; otherwise a stand-in worse than
        its neighbours takes the place of the value. A tile of a vectorised objective that fails drops its iteration, which
        is begun again with new random numbers. 0 gives none up.
    longest
        The longest wait in seconds.

    Notes
    -----
    Every failed attempt is charged to the line "failed" of the ledger, as the oracle may have charged for it: one
    evaluation for a function of one point and component, a whole tile for a vectorised one. The budget includes these.
    Dropping conditions the run on points where the objective answers: estimates are then unbiased for that law only. No
    certificate counts in an iteration that had a stand-in, except those of methods that know walls.

    Examples
    --------
    >>> import zofw
    >>> zofw.Retry(3, backoff=0.5).wait(2)
    1.0
    """

    times: int = 3
    backoff: float = 1.0
    skip: int = 0
    longest: float = 60.0

    def __post_init__(self) -> None:
        for name in ("times", "skip"):
            value = vars(self)[name]
            if isinstance(value, bool) or not isinstance(value, int) or value < 0:
                raise ValueError(f"Retry needs {name} to be a whole number of at least 0; got {value!r}.")
        for name in ("backoff", "longest"):
            value = vars(self)[name]
            if not 0 <= value < float("inf"):
                raise ValueError(f"Retry needs {name} to be a number of seconds ≥ 0; got {value!r}.")

    def gives_up(self, given_up: int, in_a_row: int, most: float) -> bool:
        """Return True if, after so many that were given up, and failures in a row, one more is too many."""
        return given_up >= self.skip and (self.skip == 0 or in_a_row > most)

    def wait(self, attempt: int) -> float:
        """Seconds to wait after the given failed attempt, the first being 1."""
        return float(min(self.longest, self.backoff * 2.0 ** min(attempt - 1, 60)))


def as_policy(on_error: str | Retry) -> Retry:
    """Return ``"raise"``, ``"skip"`` or a :class:`Retry`."""
    if isinstance(on_error, Retry):
        return on_error
    if on_error == "raise":
        return Retry(0)
    if on_error == "skip":
        return Retry(0, skip=DROPS)
    raise ValueError(f"on_error should be 'raise', 'skip' or a Retry(times, backoff); got {on_error!r}.")


class KeyboardStop(EvaluationError):
    """The objective was interrupted, by Ctrl-C or from within, and the run is to end where it is."""


class Escaped(EvaluationError):
    """An exception that no policy may catch, such as GeneratorExit: charged, and raised as it is once the run is saved."""

    def __init__(self, reason: str, raised: BaseException | None = None) -> None:
        super().__init__(reason)
        self.raised = raised

    def __reduce__(self) -> tuple[type[Escaped], tuple[str]]:
        """Leave the exception behind: in another process it is an error of the objective like any other."""
        return Escaped, (self.reason,)


def blamed(error: BaseException) -> EvaluationError:
    """Return an error of the objective as an :class:`EvaluationError`."""
    if isinstance(error, EvaluationError):
        return error
    reason = f"The objective raised {type(error).__name__}: {error}"
    found: EvaluationError
    if isinstance(error, Exception):
        found = EvaluationError(reason)
    elif isinstance(error, (KeyboardInterrupt, SystemExit)):
        found = KeyboardStop(reason)
    else:
        found = Escaped(reason, error)
    found.__cause__ = error
    return found


def within(timeout: float | None, call: Callable[P, T], *arguments: P.args, **named: P.kwargs) -> T:
    """Call the objective; too long a wait becomes an :class:`EvaluationError`.

    A call that takes too long cannot be ended: its thread is left alone and its answer ignored.
    """
    if timeout is None:
        return call(*arguments, **named)
    ended: queue.SimpleQueue[BaseException | None] = queue.SimpleQueue()
    answer: list[T] = []

    def work() -> None:
        try:
            answer.append(call(*arguments, **named))
            ended.put(None)
        except BaseException as error:
            ended.put(error)

    threading.Thread(target=work, daemon=True, name="zofw-oracle").start()
    left = timeout
    while True:
        slice_ = min(left, SLICE_SECONDS)
        began = time.monotonic()
        try:
            error = ended.get(timeout=slice_)
            break
        except queue.Empty:  # a longer wait is one in which this process was suspended
            left -= min(time.monotonic() - began, 2 * slice_)
            if left <= 0:
                raise EvaluationError(f"The objective did not answer within {timeout:g} seconds.") from None
    if error is not None:
        raise error
    return answer[0]
