"""What watches a run: the user's callback, and progress on a terminal."""

from __future__ import annotations

import inspect
import logging
import math
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias, cast

from tqdm import tqdm

from zofw.run.record.result import Record
from zofw.run.session.session import Observer, Session

CallbackLike: TypeAlias = Callable[..., object] | Sequence[Callable[..., object]]

logger = logging.getLogger("zofw")


class Intermediate(Record):
    """What a callback sees. ``fun`` is computed when it is read: n evaluations of diagnosis."""

    def __getattr__(self, name: str) -> Any:
        if name == "fun":
            self["fun"] = self["_session"].value()
            return self["fun"]
        return super().__getattr__(name)


def as_observers(callback: CallbackLike | None) -> list[Observer]:
    """Return a callback, or several, as functions of the session."""
    callbacks = callback if isinstance(callback, (list, tuple)) else () if callback is None else (callback,)
    for one in callbacks:
        if not callable(one):
            raise TypeError(
                f"callback should be a function that takes x, or intermediate_result; got {one!r:.60}."
            )
    return [_as_observer(one) for one in callbacks]


def _as_observer(callback: Callable[..., object]) -> Observer:
    """Return what calls a callback with the session, intermediate_result, or, as SciPy does, x, by its argument's name."""
    try:
        parameters: Mapping[str, inspect.Parameter] = inspect.signature(callback).parameters
    except (TypeError, ValueError):  # a built-in
        parameters = {}
    if "session" in parameters:
        return cast(Observer, callback)
    named = "intermediate_result" in parameters or any(p.kind is p.VAR_KEYWORD for p in parameters.values())
    needed = [p.name for p in parameters.values() if p.default is p.empty and p.kind is not p.VAR_POSITIONAL]
    if parameters and not named and len(needed) > 1:
        raise TypeError(
            f"callback takes {', '.join(needed)}, and is called with x only; with callback(intermediate_result) it "
            "gets x, nit, nfev, gap and fun by name."
        )

    def observe(session: Session) -> None:
        if parameters and not named:
            callback(session.x.copy())
            return
        callback(
            intermediate_result=Intermediate(
                x=session.x.copy(),
                nit=session.nit,
                nfev=session.nfev,
                nlmo=session.run.nlmo,
                gap=session.run.gap,
                info=session.run.info.columns(),
                _session=session,
            )
        )

    return observe


def _with_workers(session: Session) -> list[str]:
    """Return the words about workers, rounds and the time left, if there are several workers or a limit of time."""
    run, left = session.run, session.run.limits.max_time
    words = []
    if run.workers > 1:
        owed = (
            f"{len(run.pending)} of {run.workers} workers busy, "
            if run.pending
            else f"{run.workers} workers, "
        )
        words = [f"{owed}{math.ceil(run.nfev / run.workers)} rounds"]
    return words if left is None else [*words, f"{max(left - session.seconds, 0):.0f} s left"]


class Progress:
    """A bar on a terminal: queries of the budget, objective, speed, time left. Nothing where there is no terminal.

    The logger "zofw" has the same in words at level INFO: how the run begins, and every ten seconds how it goes.
    """

    EVERY = 0.1  # seconds between two drawings
    SAID = 10.0  # seconds between two lines of the log

    def __init__(self, session: Session, *, shown: bool | None = None) -> None:
        total, unit = session.run.limits.budget, "query"
        if total is None:
            total, unit = session.run.limits.max_iter, "it"
        self._counts_queries = unit == "query"
        self._bar: tqdm | None = None
        if sys.stderr.isatty() if shown is None else shown:  # a bar takes a lock shared with forked processes
            name = session.run.method.name
            self._bar = tqdm(total=total, unit=unit, unit_scale=True, desc=name, leave=False)
        self.shown = self._bar is not None or logger.isEnabledFor(logging.INFO)  # whether to be called
        self._drawn = self._said = time.monotonic()
        self._say(session, "begins" if session.nit == 0 else "goes on")

    def _say(self, session: Session, what: str) -> None:
        budget, gap, said = session.run.limits.budget, session.gap, session.info.numbers
        actions = [
            f"{name.removesuffix(' times')} {said[name]:.0f}" for name in said if name.endswith(" times")
        ]
        words = [] if gap is None else [f"gap {gap:.3g}"]
        if session.run.best is not None:
            words.append(f"best value {session.run.best.value:.6g}")
        logger.info(
            "%s on %r %s: %s queries%s, %d iterations%s%s.",
            session.run.method.name,
            session.task.set,
            what,
            f"{session.nfev:,}",
            "" if budget is None else f" of {budget:,}",
            session.nit,
            "".join(f", {one}" for one in [*words, *_with_workers(session)]),
            f" ({', '.join(actions)})" if actions else "",
        )

    def __call__(self, session: Session) -> None:
        now = time.monotonic()
        if now - self._said >= self.SAID:
            self._said = now
            self._say(session, "is on its way")
        if self._bar is None or now - self._drawn < self.EVERY:
            return
        self._drawn = now
        self._bar.n = session.nfev if self._counts_queries else session.nit
        objective = session.trace.rows[-1][3] if session.trace.rows else math.nan
        if math.isnan(objective) and session.run.best is not None:
            objective = session.run.best.value
        best = [] if math.isnan(objective) else [f"objective {objective:.6g}"]
        self._bar.set_postfix_str(", ".join([*best, *_with_workers(session)]), refresh=False)
        self._bar.refresh()

    def close(self) -> None:
        if self._bar is not None:
            self._bar.close()
