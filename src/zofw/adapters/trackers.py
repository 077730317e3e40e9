"""Experiment trackers as callbacks."""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, TypeVar

from zofw.run import Session
from zofw.run.record.result import Result

logger = logging.getLogger("zofw")

Metrics = dict[str, float]
T = TypeVar("T")


class Tracker:
    """Send a run to an experiment tracker while it goes on.

    Parameters
    ----------
    target
        Who keeps the numbers: anything with ``log_metrics(numbers, step=…)`` or ``log_metric(name, number, step=…)``, such
        as the module ``mlflow`` with an active run, or with ``add_scalar(name, number, step)``, such as TensorBoard's
        ``SummaryWriter``. Settings go to its ``log_params``, ``log_param`` or ``add_text``, where it has one.
    prefix
        Put before every name.
    seconds
        Least time between two entries. A row of the trace, which has the objective, is an entry at any time.

    Notes
    -----
    Steps are queries, ``nfev``. The tracker causes no evaluation: the objective is that of the trace, as often as
    ``diagnose=`` puts it there. What a target raises does not end a run that was paid for: the first error is logged as a
    warning, and ``failures`` counts them.

    Examples
    --------
    >>> import zofw
    >>> class Notebook:
    ...     def __init__(self):
    ...         self.steps = []
    ...     def log_metrics(self, numbers, step):
    ...         self.steps.append(step)
    >>> notebook = Notebook()
    >>> f = zofw.problems.BlackBox(lambda x: float(x @ x), dim=3)
    >>> tracker = zofw.adapters.Tracker(notebook)
    >>> result = zofw.minimize(f, zofw.Simplex(), method="zo-fw", budget=50, rng=0, callback=tracker)
    >>> tracker.finish(result)
    >>> notebook.steps[0] <= notebook.steps[-1] == result.nfev
    True
    """

    def __init__(self, target: object, *, prefix: str = "", seconds: float = 1.0) -> None:
        self.target, self.prefix, self.seconds = target, prefix, seconds
        self.failures = 0
        self._send = _sender(target)
        self._session: Session | None = None
        self._rows = 0
        self._sent = -math.inf

    def __call__(self, session: Session | None = None, *, intermediate_result: Any = None) -> None:
        """As a callback (``minimize(…, callback=tracker)``) or as an observer (``observers=[tracker]``)."""
        watched: Session = intermediate_result["_session"] if session is None else session
        self._watch(watched)

    def _watch(self, session: Session) -> None:
        if session is not self._session:
            self._session, self._rows = session, 0
            self._try(_describe, self.target, self.prefix, _settings(session))
        fresh = session.trace.rows[self._rows :]
        for _, queries, _, objective, _ in fresh:
            self._log({"objective": objective}, int(queries))
        self._rows += len(fresh)
        if not fresh and time.monotonic() - self._sent < self.seconds:
            return
        self._sent = time.monotonic()
        numbers = {
            "iteration": session.nit,
            "lmos": session.run.nlmo,
            "seconds": session.seconds,
            **session.run.info.columns(),
        }
        if session.run.gap is not None:
            numbers["gap"] = session.run.gap
        self._log(numbers, session.nfev)

    def finish(self, result: Result) -> None:
        """The end of a run: objective, gap, and the queries by purpose."""
        ledger = {f"queries/{purpose}": number for purpose, number in result.ledger.items()}
        numbers = {
            "iteration": result.nit,
            "lmos": result.nlmo,
            "seconds": result.time,
            "objective": result.fun,
        }
        gap = {} if result.gap is None else {"gap": result.gap}
        self._log({**numbers, **gap, **ledger}, result.nfev)

    def _log(self, numbers: Mapping[str, float], step: int) -> None:
        finite = {
            self.prefix + name: float(number) for name, number in numbers.items() if math.isfinite(number)
        }
        if finite:
            self._try(self._send, finite, step)

    def _try(self, action: Callable[..., None], *arguments: object) -> None:
        try:
            action(*arguments)
        except Exception as error:
            self.failures += 1
            if self.failures == 1:
                logger.warning(
                    "%s could not be told about the run (%s: %s); the run goes on.",
                    type(self.target).__name__,
                    type(error).__name__,
                    error,
                )


def _method(target: object, ways: Mapping[str, T]) -> tuple[Callable[..., object], T] | None:
    """The first of the named methods that the target has, and how to use it."""
    found = (name for name in ways if hasattr(target, name))
    return next(((getattr(target, name), ways[name]) for name in found), None)


def _sender(target: object) -> Callable[[Metrics, int], None]:
    """How the target takes numbers."""
    found = _method(target, SENDERS)
    if found is None:
        raise TypeError(
            "A tracker needs a target with log_metrics, log_metric or add_scalar, such as the module mlflow or a TensorBoard "
            f"SummaryWriter; {type(target).__name__} has none of them."
        )
    log, send = found
    return partial(send, log)


def _together(log: Callable[..., object], numbers: Metrics, step: int) -> None:
    log(numbers, step=step)


def _by_name(log: Callable[..., object], numbers: Metrics, step: int) -> None:
    for name, number in numbers.items():
        log(name, number, step=step)


def _by_place(log: Callable[..., object], numbers: Metrics, step: int) -> None:
    for name, number in numbers.items():
        log(name, number, step)


SENDERS = {"log_metrics": _together, "log_metric": _by_name, "add_scalar": _by_place}
DESCRIBERS = {"log_params": True, "log_param": False, "add_text": False}  # whether all settings at once


def _describe(target: object, prefix: str, settings: Mapping[str, str]) -> None:
    """The settings, to a target that keeps such things."""
    named = {prefix + name: text for name, text in settings.items()}
    found = _method(target, DESCRIBERS)
    if found is None:
        return
    log, at_once = found
    if at_once:
        log(named)
        return
    for name, text in named.items():
        log(name, text)


def _settings(session: Session) -> dict[str, str]:
    limits = {name: limit for name, limit in vars(session.run.limits).items() if limit is not None}
    return {
        "method": session.run.method.name,
        "settings": repr(session.run.method),
        "set": repr(session.run.set),
        "seed": repr(session.run.entropy),
        **{
            name: str(value)
            for name, value in {"dim": session.task.dim, "n": session.task.n, **limits}.items()
        },
    }
