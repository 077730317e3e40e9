"""The front door."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from zofw.core import EvaluationError, Problem
from zofw.problems import Sharded, mean_value
from zofw.run.answering import Answerer, Engine, ExecutorError, Here
from zofw.run.given import as_problem, best_known, refuse
from zofw.run.logbook import Logbook
from zofw.run.policy import Retry, as_policy
from zofw.run.seeds import entropy_of
from zofw.run.session import Observer, Session
from zofw.run.signals import Interrupted, Signals
from zofw.run.status import Status
from zofw.sets import as_set

if TYPE_CHECKING:
    from zofw.run.result import Result


def minimize(
    fun: Any,
    set: Any,
    *,
    method: Any = "auto",
    budget: int | None = None,
    x0: Any = None,
    dim: int | None = None,
    n: int | None = None,
    known: tuple[Any, Any] | None = None,
    rng: Any = None,
    max_iter: int | None = None,
    max_lmo: int | None = None,
    max_time: float | None = None,
    gap_tol: float | None = None,
    inside: bool = False,
    callback: Callable[..., Any] | None = None,
    observers: Sequence[Observer] = (),
    diagnose: int = 20,
    progress: bool | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    resume: bool | str = False,
    on_error: str | Retry = "raise",
    timeout: float | None = None,
    executor: Any = None,
    **unknown: Any,
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
    method
        A registered name (:func:`zofw.methods`), a settings object, or "auto".
    budget
        Most evaluations of single components f_i. Compared with the cost before every query; never exceeded.
    x0
        A point of the set. One that rounding took off it is put back, and ``result.reasons`` says so.
    dim, n
        For a function: its dimension, where neither x0 nor the set tells, and the number of components of a sum.
    known
        Points that were evaluated before and their values, (m, d) and (m,): the run starts from the best that lies in the set,
        at no charge. In place of x0.
    rng
        Seed, ``SeedSequence``, ``Generator`` or None. The same seed gives the same run, bit for bit.
    max_iter, max_lmo, max_time, gap_tol
        Further limits; see :class:`zofw.Session`.
    inside
        Evaluate only points of the set: for simulators and models that are undefined outside it.
    callback
        ``callback(intermediate_result=…)`` after every iteration; raising StopIteration stops the run with
        ``success=False``.
    diagnose
        How many times per decade of queries the exact objective is put on the trace. These evaluations are in no
        count; with an oracle that costs money set 0, and ``fun`` is NaN.
    progress
        Show a bar; by default only on a terminal.
    checkpoint
        A file to keep the run in. Every answer is written to a journal beside it before the run goes on, so a process
        that is killed at any instant pays again for the evaluation in flight and for nothing else (for a vectorised
        ``fun``, the tile in flight). SIGINT and SIGTERM then end the run with ``Status.INTERRUPTED`` after the evaluation
        in flight; a second one does what it always does. One process may work on a checkpoint at a time.
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
        Who evaluates: a :class:`dask.distributed.Client`, any :class:`concurrent.futures.Executor`, or a function that
        makes one and is called again when a pool breaks. The result is the same, bit for bit, as without.

    Returns
    -------
    Result
        x, fun, nfev, nlmo, nit, status, message, ledger, trace, …

    Examples
    --------
    >>> import numpy as np, zofw
    >>> result = zofw.minimize(lambda x: np.sum((x - 1) ** 2), zofw.L1Ball(2.0), dim=10, budget=5_000, rng=0)
    >>> result.nfev <= 5_000, zofw.L1Ball(2.0).contains(result.x)
    (True, True)
    """
    refuse(unknown, minimize)
    set = as_set(set)
    if known is not None and x0 is not None:
        raise ValueError("x0 and known both say where to start; give one of them.")
    fun = as_problem(fun, set, x0 if known is None else known[0][0], dim, n)
    x0 = x0 if known is None else best_known(known, set, fun.dim)
    if checkpoint is None and resume:
        raise ValueError(f"resume={resume!r} needs the path of a checkpoint: checkpoint=….")
    from zofw.run.observers import callback_observer

    watchers = [*observers, *([callback_observer(callback)] if callback is not None else [])]
    limits: dict[str, Any] = {
        "budget": budget,
        "max_iter": max_iter,
        "max_lmo": max_lmo,
        "max_time": max_time,
    }

    def fresh(engine: Engine | None) -> Session:
        return Session(
            set,
            dim=fun.dim,
            n=fun.n,
            method=method,
            x0=x0,
            rng=rng,
            gap_tol=gap_tol,
            inside=inside,
            diagnose=diagnose,
            observers=watchers,
            **_exact(fun, engine),
            **limits,
        )

    settings: dict[str, Any] = {
        "on_error": on_error,
        "timeout": timeout,
        "progress": progress,
    }
    if checkpoint is None:
        with _staff(executor, fun, timeout) as engine:
            return drive(fun, fresh(engine), engine, **settings)
    logbook = Logbook(checkpoint)
    try:
        if logbook.exists and not resume:
            raise FileExistsError(
                f"{checkpoint} holds a run already, and it is not overwritten. Continue it with resume=True, choose "
                "another path, or remove it and the files beside it."
            )
        if resume is True and not logbook.exists:
            raise FileNotFoundError(f"There is no run to resume in {checkpoint}; resume='auto' begins one.")
        with _staff(executor, fun, timeout) as engine:
            if logbook.exists:
                session = _continue(fun, engine, logbook, set, method, rng, limits, watchers)
            else:
                session = fresh(engine)
                logbook.begin(session)
            return drive(fun, session, engine, logbook=logbook, **settings)
    finally:
        logbook.close()


def resume(
    path: str | os.PathLike[str],
    fun: Any,
    *,
    set: Any = None,
    method: Any = "auto",
    observers: Sequence[Observer] = (),
    progress: bool | None = None,
    on_error: str | Retry = "raise",
    timeout: float | None = None,
    executor: Any = None,
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
    observers, progress, on_error, timeout, executor
        As in :func:`minimize`.

    Examples
    --------
    >>> import tempfile, zofw
    >>> f = zofw.problems.BlackBox(lambda x: float(x @ x), dim=3)
    >>> path = tempfile.mkdtemp() + "/run.npz"
    >>> zofw.minimize(f, zofw.Simplex(), method="zo-fw", budget=50, checkpoint=path).nfev
    48
    >>> zofw.resume(path, f, budget=100).nfev
    100
    """
    if not isinstance(fun, Problem):
        raise TypeError(
            "resume needs the problem; of a function make zofw.problems.BlackBox(function, dim=…), or go on with "
            "zofw.minimize(function, set, …, checkpoint=path, resume=True)."
        )
    logbook = Logbook(path)
    try:
        if not logbook.exists:
            raise FileNotFoundError(f"There is no run to resume in {path}.")
        with _staff(executor, fun, timeout) as engine:
            session = _continue(fun, engine, logbook, set, method, None, limits, observers)
            return drive(
                fun, session, engine, logbook=logbook, progress=progress, on_error=on_error, timeout=timeout
            )
    finally:
        logbook.close()


@contextmanager
def _staff(executor: Any, fun: Any, timeout: float | None) -> Iterator[Engine | None]:
    """Workers for the time of a run, where there are to be any."""
    if timeout is not None and not (isinstance(timeout, (int, float)) and timeout > 0):
        raise ValueError(f"timeout should be a positive number of seconds; got {timeout!r}.")
    if executor is None:
        yield None
        return
    from zofw.run.executor import as_engine

    engine = as_engine(executor, fun, timeout)
    try:
        yield engine
    finally:
        engine.close()


def drive(
    fun: Any,
    session: Session,
    engine: Engine | None = None,
    *,
    progress: bool | None = None,
    on_error: str | Retry = "raise",
    timeout: float | None = None,
    logbook: Logbook | None = None,
) -> Result:
    """Have a session's queries answered until it stops."""
    from zofw.run.observers import Progress

    policy = as_policy(on_error)
    if engine is None and not (logbook is None and timeout is None and policy == Retry(0)):
        engine = Here(fun, timeout)
    bar = Progress(session, shown=progress)

    with Signals(active=logbook is not None) as signals:

        def watch(session: Session) -> None:
            if logbook is not None:
                logbook.save_if_due(session)
            if signals.received is not None:
                session.stop(Status.INTERRUPTED)

        answerer = Answerer(fun, engine, policy, logbook, signals)
        session.observers += [bar, watch]
        try:
            while (query := session.ask()) is not None:
                answer = answerer(session, query)
                if answer is not None:
                    if logbook is not None:
                        logbook.answered(session, answer)
                    session.tell(query, answer)
        except Interrupted:
            session.stop(Status.INTERRUPTED)
        except (EvaluationError, ExecutorError) as error:
            if isinstance(error, EvaluationError):
                error.locate(
                    query=session.number, iteration=session.nit, seed=session.entropy, paid=session.nfev
                )
            if logbook is not None:
                logbook.save(session)
                error.add_note(
                    f"The run is saved in {logbook.path}; zofw.resume(path, problem) continues it."
                )
            raise
        finally:
            session.observers.remove(bar)
            session.observers.remove(watch)
            bar.close()
        if logbook is not None:
            logbook.save(session)
    return session.result()


def _exact(fun: Any, engine: Engine | None) -> dict[str, Any]:
    """Mean and gradient, for diagnosis; and which coordinates a batch depends on, where the problem knows.

    Workers who hold the parts of a problem compute its mean; every other is computed in this process.
    """
    objective = getattr(fun, "value", functools.partial(mean_value, fun))
    if engine is not None and isinstance(fun, Sharded):
        from zofw.run.executor import mean_by

        objective = functools.partial(mean_by, engine, fun)
    return {
        "objective": objective,
        "gradient": getattr(fun, "gradient", None),
        "support": getattr(fun, "support", None),
    }


def _continue(
    fun: Any,
    engine: Engine | None,
    logbook: Logbook,
    set: Any,
    method: Any,
    rng: Any,
    limits: Mapping[str, float | None],
    observers: Sequence[Observer],
) -> Session:
    """The run of a logbook, if it is the one that was asked for."""
    given = {name: limit for name, limit in limits.items() if limit is not None}
    session = logbook.resume(given, set=set, method=method, observers=observers, **_exact(fun, engine))
    if (fun.dim, fun.n) != (session.task.dim, session.task.n):
        raise ValueError(
            f"{logbook.path} holds a run with dim={session.task.dim} and n={session.task.n}; the problem has "
            f"dim={fun.dim} and n={fun.n}."
        )
    if rng is not None and entropy_of(rng) != session.entropy:
        raise ValueError(
            f"{logbook.path} holds a run with the seed {session.entropy}; {rng!r} was given. Leave rng out to continue it."
        )
    return session
