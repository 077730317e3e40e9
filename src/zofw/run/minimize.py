"""The front door."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, closing
from functools import partial
from typing import TYPE_CHECKING, Unpack

from zofw.algorithms import is_first_order
from zofw.core import Array, EvaluationError, MethodLike, Problem
from zofw.deprecations import deprecated_keyword
from zofw.problems import BlackBox
from zofw.problems.abilities import abilities
from zofw.run.answering.drive import Answering, Diagnosing, drive
from zofw.run.answering.engine import ExecutorError, Here
from zofw.run.answering.policy import Retry, as_policy
from zofw.run.answering.signals import Signals, look
from zofw.run.files.store import RunFiles
from zofw.run.given import as_problem, first_known, numbers, refuse
from zofw.run.session.session import Observer, Session
from zofw.run.spec import OF_OPTIONS, Given, Keywords, LimitSettings, Settings, hands, switch, with_settings
from zofw.sets import Region, SetLike, as_set, without_dictionaries

if TYPE_CHECKING:
    from zofw.run.record.result import Result
    from zofw.run.session.observers import CallbackLike
    from zofw.run.workers.pools import WorkersLike
    from zofw.run.workers.workers import ExecutorLike

logger = logging.getLogger("zofw")

GOING_ON = " To go on after failed evaluations, write on_error='skip', or on_error=zofw.Retry(…) to repeat them first."


OPTIONS = {
    "progress": "Show a bar; by default only on a terminal.",
    "timeout": "Seconds to wait for one evaluation (for a vectorised ``fun``, one tile).",
    "worse": "For a function with walls: a value from here on is worse than anything, np.inf for infinity alone;\n"
    "see :class:`~zofw.problems.BlackBox`. NaN is an error always.",
} | {one.name: one.metadata["text"] for one in OF_OPTIONS}  # name → text
DEPRECATED = {
    "executor": "workers=",
    "observers": "callback=[…], of functions with an argument named session,",
} | {name: f"options={{{name!r}: …}}" for name in OPTIONS}  # keyword of its own → what to write instead


@partial(with_settings, options=OPTIONS)
def minimize(
    fun: Problem | Callable[..., float],
    set: SetLike | None = None,
    *,
    dim: int | None = None,
    n: int | None = None,
    callback: CallbackLike | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    resume: bool | str = False,
    on_error: str | Retry = "raise",
    options: Mapping[str, object] | None = None,
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
    <settings>
    callback
        Called after every iteration: ``callback(intermediate_result=…)``, ``callback(session)`` or ``callback(x)``, by the name of
        its argument; or a list of such functions. Raising StopIteration stops the run with ``success=False``.
    checkpoint
        A file to keep the run in. Every answer is written to a journal beside it before the run goes on. A process that is
        killed pays again only for the evaluation in flight (for a vectorised ``fun``, the tile in flight; for a quick one, up to
        0.1 ms of evaluations). One process may work on a checkpoint at a time. With or without one, SIGINT and SIGTERM end the
        run with ``Status.INTERRUPTED`` after the evaluation in flight. A notebook gets the result. A script then ends as well, by
        KeyboardInterrupt or SystemExit(143), whose attribute ``result`` holds it. A second signal does what it always does.
    resume
        What to do with a run that is already in ``checkpoint``: False refuses, so that a paid run is never overwritten;
        True continues it, bit for bit, or refuses where there is none; "auto" continues it or begins one. A run that is
        continued keeps its own settings: ``set``, ``method``, ``rng`` and ``gap_tol`` may be given again and must agree, x0 is
        not looked at, and ``budget``, ``max_iter``, ``max_lmo``, ``max_time`` and ``target`` replace the saved ones.
    on_error
        When the objective raises, returns NaN, infinity or the wrong shape, or takes too long: "raise" an
        :class:`~zofw.EvaluationError` with the run saved, "skip" to go on without the component, or with the point as
        worse than its neighbours; or repeat, ``Retry(times, backoff)``.
    options
        Settings that few runs need, as in ``options={"max_time": 3600}``:

        <options>

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
    given = _gathered(options or {}, dict(settings))
    return _solve(
        fun,
        set,
        dim=dim,
        n=n,
        callback=callback,
        checkpoint=checkpoint,
        resume=resume,
        on_error=on_error,
        **given,
    )


def _gathered(options: Mapping[str, object], settings: Keywords) -> Keywords:
    """Return options and settings as keywords of :func:`_solve`; warn of options that are keywords of their own."""
    refuse(settings.keys() - Settings.__annotations__.keys() - DEPRECATED.keys(), minimize)
    if not isinstance(options, Mapping):
        raise TypeError(f"options should be a dictionary, such as {{'max_time': 3600}}; got {options!r:.60}.")
    refuse(options.keys() - OPTIONS.keys(), minimize, OPTIONS)
    for name in settings.keys() & DEPRECATED.keys():
        deprecated_keyword(name, since="0.2", removed="0.4", instead=DEPRECATED[name], stacklevel=4)
    limits = LimitSettings.__annotations__
    return {
        name: given
        for name, given in {**settings, **options}.items()
        if name not in limits or given is not None
    }


def solve(
    fun: Problem | Callable[..., float],
    set: SetLike | None = None,
    *,
    options: Mapping[str, object] | None = None,
    **settings: Given,
) -> Result:
    """Return the result of :func:`minimize` for adapters, whose options may be keywords of their own."""
    return _solve(fun, set, **settings | dict(options or {}))


def _solve(
    fun: Problem | Callable[..., float],
    set: SetLike | None = None,
    *,
    dim: int | None = None,
    n: int | None = None,
    worse: float | None = None,
    callback: CallbackLike | None = None,
    observers: Sequence[Observer] = (),
    progress: bool | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    resume: bool | str = False,
    on_error: str | Retry = "raise",
    timeout: float | None = None,
    executor: ExecutorLike | None = None,
    workers: WorkersLike | None = None,
    **settings: Given,
) -> Result:
    """Return the result of a run, every option a keyword of its own; None as a limit lifts a saved one."""
    refuse(settings.keys() - Settings.__annotations__.keys(), minimize)
    progress = switch("progress", progress)
    if resume not in (False, True, "auto"):
        raise ValueError(f"resume should be True, False or 'auto'; got {resume!r}.")
    if checkpoint is not None and not isinstance(checkpoint, (str, os.PathLike)):
        raise TypeError(f"checkpoint should be the path of a file; got {checkpoint!r:.60}.")
    if checkpoint is None and resume:
        raise ValueError(f"resume={resume!r} needs the path of a checkpoint: checkpoint=….")
    problem, region = _asked(fun, set, dim, n, worse, settings)
    if timeout is not None and not (isinstance(timeout, (int, float)) and timeout > 0):
        raise ValueError(f"timeout should be a positive number of seconds; got {timeout!r}.")
    from zofw.run.session.observers import as_observers

    settings |= {"set": region, "observers": [*observers, *as_observers(callback)]}
    with ExitStack() as held:
        files = None if checkpoint is None else held.enter_context(closing(RunFiles(checkpoint)))
        if files is not None and files.exists and not resume:
            raise FileExistsError(
                f"{checkpoint} holds a run already, and it is not overwritten. Continue it with resume=True, choose another "
                "path, or remove it and the files beside it."
            )
        if resume is True and files is not None and not files.exists:
            raise FileNotFoundError(f"There is no run to resume in {checkpoint}; resume='auto' begins one.")
        policy, signals = as_policy(on_error), held.enter_context(Signals())
        answering = Answering(problem, Here(problem, timeout), policy, signals)
        held.callback(lambda: answering.engine.close())  # the engine may be another by then
        return _driven(answering, _session(answering, files, settings, workers, executor), progress)


def resume(
    path: str | os.PathLike[str],
    fun: Problem,
    *,
    set: SetLike | None = None,
    method: MethodLike = "auto",
    **settings: Given,
) -> Result:
    """Continue a run that ``minimize(…, checkpoint=path)`` began, as if it had never stopped.

    Parameters
    ----------
    path
        The checkpoint; where it is broken, the log beside it is used.
    fun
        The same problem as before; the file does not hold it.
    set, method
        Needed where they are of your own making; see :meth:`zofw.Session.resume`.
    settings
        Limits (budget, max_iter, max_lmo, max_time, target) replace the saved ones: so a run that has ended is taken
        further. ``workers``: by default a pool of as many as before; with another number the run continues as one of
        that number from its next iteration on, and ``result.reasons`` says so. ``callback``, ``progress``, ``on_error``,
        ``timeout`` and ``outer`` are those of :func:`minimize`.

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
    return solve(fun, set, method=method, checkpoint=path, resume=True, **settings)


def _asked(
    fun: Problem | Callable[..., float],
    set: SetLike | None,
    dim: int | None,
    n: int | None,
    worse: float | None,
    settings: Keywords,
) -> tuple[Problem, Region | None]:
    """Return the problem and its set, or say why they do not go together; a problem may leave the set to its file."""
    x0, known, outer = settings.get("x0"), settings.get("known"), settings.get("outer")
    if set is None and isinstance(fun, Problem):
        return fun, None
    region = as_set(without_dictionaries(set, dim if x0 is None else numbers("x0", x0).size))
    if outer is not None and settings.get("diagnose"):
        raise ValueError(
            "diagnose=… evaluates means; with outer=… leave it out: the trace has the values paid for."
        )
    if known is None:
        problem = as_problem(fun, region, x0, dim, n, worse)
    else:
        problem = as_problem(fun, region, first_known(known), dim, n, worse, "the length of a known point")
    if outer is not None and problem.n == 1 and problem is not fun:
        raise ValueError(
            "outer=… is a function of several components, and f has one: write f(x, i) with n=…, or zofw.least_squares."
        )
    if outer is None and isinstance(problem, BlackBox) and problem.worse is not None and problem.n > 1:
        raise ValueError(
            f"worse={problem.worse:g} works for one function, and this is a sum of n={problem.n}, whose methods take slopes across it. "
            "Raise an exception if a component has no value, and choose on_error='skip'; or give outer=zofw.outer.Mean()."
        )
    return problem, region


def _session(
    answering: Answering,
    files: RunFiles | None,
    settings: Keywords,
    workers: WorkersLike | None,
    executor: ExecutorLike | None,
) -> Session:
    """Return the run in the files, if it is the one that was asked for; else a new one, which is kept there."""
    problem, outer, saved = answering.problem, settings.get("outer"), files is not None and files.exists
    outputs = (
        1 if saved else getattr(problem, "outputs", 1)
    )  # a first call may show it, before workers copy the problem
    number, reason = _employ(answering, workers, executor)
    settings |= {"dim": problem.dim, "n": problem.n}
    if files is not None and saved:
        settings |= {} if workers is None else {"workers": number}
        session = Session.resume(files, **settings, **_attached(answering, True))
        if workers is executor is None:
            _employ(answering, session.run.workers, None)
        return session
    diagnosed = settings.get("diagnose") is not None or is_first_order(settings.get("method", "auto"))
    attached = {} if outer else _attached(answering, diagnosed)
    session = Session(workers=number, outputs=outputs, **attached, **settings)
    session.run.reasons |= reason
    if files is not None:
        session.write_to(files)
    return session


def _employ(
    answering: Answering, workers: WorkersLike | None, executor: ExecutorLike | None
) -> tuple[int, dict[str, str]]:
    """Let workers evaluate. Return their number, which is 1 for ``executor``, and a reason."""
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


def _attached(answering: Answering, diagnosed: bool) -> Keywords:
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
