"""The front door."""

from __future__ import annotations

import logging
import os
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Unpack, cast

from zofw.algorithms import is_first_order
from zofw.core import Array, EvaluationError, MethodLike, Outer, Problem, Seed
from zofw.problems import BlackBox
from zofw.problems.abilities import abilities
from zofw.run.answering.drive import Answering, Diagnosing, drive
from zofw.run.answering.engine import ExecutorError, Here
from zofw.run.answering.policy import Retry, as_policy
from zofw.run.answering.signals import Signals, look
from zofw.run.files.store import RunFiles
from zofw.run.given import as_problem, entropy_of, first_known, numbers, refuse
from zofw.run.session.resume import check_agreement
from zofw.run.session.session import Observer, Session
from zofw.run.spec import LimitSettings, Settings, hands, with_settings
from zofw.sets import SetLike, as_set, without_dictionaries

if TYPE_CHECKING:
    from zofw.run.record.result import Result
    from zofw.run.workers.pools import WorkersLike
    from zofw.run.workers.workers import ExecutorLike

logger = logging.getLogger("zofw")

GOING_ON = " To go on after failed evaluations, write on_error='skip', or on_error=zofw.Retry(…) to repeat them first."


@with_settings
def minimize(
    fun: Problem | Callable[..., float],
    set: SetLike | None = None,
    *,
    dim: int | None = None,
    n: int | None = None,
    worse: float | None = None,
    callback: Callable[..., object] | None = None,
    observers: Sequence[Observer] = (),
    progress: bool | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    resume: bool | str = False,
    on_error: str | Retry = "raise",
    timeout: float | None = None,
    executor: ExecutorLike | None = None,
    **settings: Unpack[Settings],
) -> Result:
    r"""Minimise :math:`\frac1n\sum_i f_i(x)` over a convex set from function values alone.

    Parameters
    ----------
    fun
        A function ``f(x)``, or ``f(x, i)`` with ``n``; or a problem of :mod:`zofw.problems`, such as ``BlackBox`` for
        functions that take many points at once.
    set
        A set such as ``L1Ball(2.0)``; SciPy's ``Bounds``, pairs (low, high) or ``LinearConstraint``; ``"simplex"``; or any
        object with ``lmo(g)``.
    dim, n
        For a function: its dimension, if neither x0 nor the set determines it, and the number of
        components of a sum.
    worse
        For a function with walls: a value from here on is worse than anything, ``worse=np.inf`` for infinity alone. See
        :class:`~zofw.problems.BlackBox`. NaN is an error always.
    <settings>
    callback
        ``callback(intermediate_result=…)`` after every iteration, or ``callback(x)`` if it has no such argument. Raising
        StopIteration stops the run with ``success=False``.
    progress
        Show a bar; by default only on a terminal.
    checkpoint
        A file to keep the run in. Every answer is written to a journal beside it before the run goes on. A process that is
        killed pays again only for the evaluation in flight (for a vectorised ``fun``, the tile in flight; for a quick one, up to
        0.1 ms of evaluations). One process may work on a checkpoint at a time. With or without one, SIGINT and SIGTERM end the
        run with ``Status.INTERRUPTED`` after the evaluation in flight. A notebook gets the result. A script then ends as well, by
        KeyboardInterrupt or SystemExit(143), whose attribute ``result`` holds it. A second signal does what it always does.
    resume
        What to do with a run that is already in ``checkpoint``: False refuses, so that a paid run is never overwritten;
        True continues it, bit for bit, or refuses where there is none; "auto" continues it or begins one. A run that is
        continued keeps its own settings: ``set``, ``method`` and ``rng`` may be given again and must agree, x0 is not
        looked at, and limits that are given replace the saved ones.
    on_error
        When the objective raises, returns NaN, infinity or the wrong shape, or exceeds ``timeout``: "raise" an
        :class:`~zofw.EvaluationError` with the run saved, "skip" the iteration, or repeat, ``Retry(times, backoff)``.
    timeout
        Seconds to wait for one evaluation (for a vectorised ``fun``, one tile).
    executor
        Deprecated: write ``workers=``.

    Returns
    -------
    Result
        x, fun, last, nfev, nlmo, nit, status, message, ledger, trace, …

    Examples
    --------
    >>> import numpy as np, zofw
    >>> result = zofw.minimize(lambda x: np.sum((x - 1) ** 2), zofw.L1Ball(2.0), dim=10, budget=5_000, rng=0)
    >>> result.nfev <= 5_000, zofw.L1Ball(2.0).contains(result.x)
    (True, True)
    """
    refuse(
        {name: given for name, given in settings.items() if name not in Settings.__annotations__}, minimize
    )
    if resume not in (False, True, "auto"):
        raise ValueError(f"resume should be True, False or 'auto'; got {resume!r}.")
    if callback is not None and not callable(callback):
        raise TypeError(
            f"callback should be a function that takes x, or intermediate_result; got {callback!r:.60}."
        )
    if checkpoint is not None and not isinstance(checkpoint, (str, os.PathLike)):
        raise TypeError(f"checkpoint should be the path of a file; got {checkpoint!r:.60}.")
    x0 = settings.get("x0")
    region = as_set(without_dictionaries(set, dim if x0 is None else numbers("x0", x0).size))
    outer, known, diagnose = settings.get("outer"), settings.get("known"), settings.get("diagnose")
    if outer is not None and diagnose:
        raise ValueError(
            "diagnose=… evaluates means; with outer=… leave it out: the trace has the values paid for."
        )
    if known is None:
        problem = as_problem(fun, region, x0, dim, n, worse)
    else:
        problem = as_problem(fun, region, first_known(known), dim, n, worse, "the length of a known point")
    if outer is not None and problem.n == abilities(problem).outputs == 1:
        raise ValueError(
            "outer=… is a function of several components, and f has one: write f(x, i) with n=…, or zofw.least_squares."
        )
    if outer is None and isinstance(problem, BlackBox) and problem.worse is not None and problem.n > 1:
        raise ValueError(
            f"worse={problem.worse:g} works for one function, and this is a sum of n={problem.n}, whose methods take slopes across it. "
            "Raise an exception if a component has no value, and choose on_error='skip'; or give outer=zofw.outer.Mean()."
        )
    if checkpoint is None and resume:
        raise ValueError(f"resume={resume!r} needs the path of a checkpoint: checkpoint=….")
    from zofw.run.session.observers import callback_observer

    watchers = [*observers, *([callback_observer(callback)] if callback is not None else [])]
    method, rng = settings.get("method", "auto"), settings.get("rng")
    limits = {name: limit for name, limit in settings.items() if name in LimitSettings.__annotations__}
    workers = settings.pop("workers", None)
    with _files(checkpoint) as files, _answering(problem, timeout, on_error) as answering:
        if files is not None and files.exists and not resume:
            raise FileExistsError(
                f"{checkpoint} holds a run already, and it is not overwritten. Continue it with resume=True, choose another "
                "path, or remove it and the files beside it."
            )
        if files is not None and files.exists:
            given = {name: cast(float, limit) for name, limit in limits.items() if limit is not None}
            session = _continue(
                answering, files, region, method, rng, watchers, outer, given, workers, executor
            )
            check_agreement(session.run, settings, files.path)
        elif resume is True:
            raise FileNotFoundError(f"There is no run to resume in {checkpoint}; resume='auto' begins one.")
        else:
            settings["workers"], reason = _employ(answering, workers, executor)
            session = Session(
                region,
                dim=problem.dim,
                n=problem.n,
                observers=watchers,
                outputs=abilities(problem).outputs,
                **({} if outer else _attached(answering, diagnose is not None or is_first_order(method))),
                **settings,
            )
            session.run.reasons |= reason
            if files is not None:
                session.write_to(files)
        return _driven(answering, session, progress)


def resume(
    path: str | os.PathLike[str],
    fun: Problem,
    *,
    set: SetLike | None = None,
    method: MethodLike = "auto",
    observers: Sequence[Observer] = (),
    progress: bool | None = None,
    on_error: str | Retry = "raise",
    timeout: float | None = None,
    workers: WorkersLike | None = None,
    executor: ExecutorLike | None = None,
    outer: Outer | None = None,
    **limits: float | None,
) -> Result:
    """Continue a run that ``minimize(…, checkpoint=path)`` began, as if it had never stopped.

    Parameters
    ----------
    path
        The checkpoint; where it is broken, the one before it is used.
    fun
        The same problem as before; the file does not hold it.
    set, method
        Needed where they are of your own making; see :meth:`zofw.Session.resume`.
    limits
        budget, max_iter, max_lmo or max_time in place of the saved ones: how a run that ended is taken further.
    workers
        As in :func:`minimize`; by default a pool of as many as before. With another number the run continues as one of that
        number from its next iteration on, and ``result.reasons`` says so.
    observers, progress, on_error, timeout, executor, outer
        As in :func:`minimize`.

    Examples
    --------
    >>> import tempfile, zofw
    >>> f = zofw.problems.BlackBox(lambda x: float(x @ x), dim=3)
    >>> path = tempfile.mkdtemp() + "/run.npz"
    >>> zofw.minimize(f, zofw.Simplex(), method="zo-fw", budget=50, checkpoint=path).nfev
    49
    >>> zofw.resume(path, f, budget=100).nfev
    98
    """
    if not isinstance(fun, Problem):
        raise TypeError(
            "resume needs a problem. Make one with zofw.problems.BlackBox(function, dim=…), or continue with "
            "zofw.minimize(function, set, …, checkpoint=path, resume=True)."
        )
    with _files(path) as files, _answering(fun, timeout, on_error) as answering:
        if files is None or not files.exists:
            raise FileNotFoundError(f"There is no run to resume in {path}.")
        session = _continue(answering, files, set, method, None, observers, outer, limits, workers, executor)
        return _driven(answering, session, progress)


@contextmanager
def _files(path: str | os.PathLike[str] | None) -> Iterator[RunFiles | None]:
    """The files of a run, held for its time."""
    if path is None:
        yield None
        return
    files = RunFiles(path)
    try:
        yield files
    finally:
        files.close()


@contextmanager
def _answering(problem: Problem, timeout: float | None, on_error: str | Retry) -> Iterator[Answering]:
    """Whoever answers queries, for the time of a run."""
    if timeout is not None and not (isinstance(timeout, (int, float)) and timeout > 0):
        raise ValueError(f"timeout should be a positive number of seconds; got {timeout!r}.")
    policy = as_policy(on_error)
    with Signals() as signals:
        answering = Answering(problem, Here(problem, timeout), policy, signals)
        try:
            yield answering
        finally:
            answering.engine.close()


def _employ(
    answering: Answering, workers: WorkersLike | None, executor: ExecutorLike | None
) -> tuple[int, dict[str, str]]:
    """Let workers evaluate. Return their number, which is 1 for ``executor``, and a reason."""
    if executor is not None:
        warnings.warn(
            "executor= is deprecated since zofw 0.2 and will be removed in 0.4. Write workers= instead, with which "
            "interpolation asks for as many points at a time as there are workers.",
            DeprecationWarning,
            stacklevel=4,
        )
    given = workers if executor is None else executor
    if given is None or (isinstance(given, int) and given == 1):
        return 1, {}
    from zofw.run.workers.pools import crew

    found = crew(given, answering.problem, answering.engine.timeout)
    answering.engine = found.engine
    if executor is not None:
        return hands("workers", 1 if workers is None else workers), {}
    logger.info("Workers: %s.", found.reason)
    return found.number, {"workers": found.reason}


def _driven(answering: Answering, session: Session, progress: bool | None) -> Result:
    """Return the result of a run whose queries are answered here, with progress on a terminal."""
    from zofw.run.session.observers import Progress

    bar = Progress(session, shown=progress)
    watchers: list[Observer] = [bar] if bar.shown else []
    if is_first_order(session.run.method):  # it asks nothing, so nothing else looks for signals
        watchers.append(lambda session: look())
    session.observers += watchers
    files = session.files
    try:
        drive(answering, session)
    except (EvaluationError, ExecutorError) as error:
        if isinstance(error, EvaluationError):
            run = session.run
            error.locate(
                query=run.number, iteration=run.nit, seed=run.entropy, paid=run.nfev,
                advice="" if answering.policy != Retry(0) or "should return" in error.reason else GOING_ON,
            )  # fmt: skip
        if files is not None:
            error.add_note(f"The run is saved in {files.path}; zofw.resume(path, problem) continues it.")
        raise
    finally:
        session.observers = [one for one in session.observers if one not in watchers]
        bar.close()
    if files is not None:
        session.keep()
        answering.signals.where = f", saved in {files.path}"
    answering.signals.result = result = session.result()
    return result


def _attached(answering: Answering, diagnosed: bool) -> dict[str, Any]:
    """What a session is handed of a problem: its mean, computed or, where diagnosis was asked for, evaluated."""
    able = abilities(answering.problem)
    objective: Callable[[Array], float] | None = able.mean or (
        able.value or Diagnosing(answering) if diagnosed else None
    )
    return {
        "objective": objective,
        "gradient": able.gradient,
        "pattern": able.pattern,
        "dtype": able.dtype,
    }


def _continue(
    answering: Answering,
    files: RunFiles,
    set: SetLike | None,
    method: MethodLike,
    rng: Seed,
    observers: Sequence[Observer],
    outer: Outer | None,
    limits: Mapping[str, float | None],
    workers: WorkersLike | None,
    executor: ExecutorLike | None,
) -> Session:
    """The run in the files, if it is the one that was asked for."""
    problem = answering.problem
    number, _ = _employ(answering, workers, executor)
    if workers is not None:
        limits = {**limits, "workers": number}
    session = Session.resume(
        files,
        set=set,
        method=method,
        observers=observers,
        outer=outer,
        **_attached(answering, True),
        **limits,
    )
    run = session.run
    if workers is executor is None:
        _employ(answering, run.workers, None)
    if (problem.dim, problem.n) != (run.dim, run.n):
        raise ValueError(
            f"{files.path} holds a run with dim={run.dim} and n={run.n}; the problem has dim={problem.dim} and "
            f"n={problem.n}."
        )
    if rng is not None and entropy_of(rng) != run.entropy:
        raise ValueError(
            f"{files.path} holds a run with the seed {run.entropy}; {rng!r} was given. Leave rng out to continue it."
        )
    return session
