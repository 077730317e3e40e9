"""The front door."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from zofw.core import EvaluationError
from zofw.problems import evaluate, mean_value
from zofw.run.session import Observer, Session

if TYPE_CHECKING:
    from zofw.run.result import Result


def minimize(
    fun: Any,
    set: Any,
    *,
    method: Any = "auto",
    budget: int | None = None,
    x0: Any = None,
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
) -> Result:
    r"""Minimise :math:`\frac1n\sum_i f_i(x)` over a convex set from function values alone.

    Parameters
    ----------
    fun
        A problem of :mod:`zofw.problems`; a bare function goes in as ``BlackBox(function, dim=…)``.
    set
        A set such as ``L1Ball(2.0)``, or any object with ``lmo(g)``.
    method
        A registered name (:func:`zofw.methods`), a settings object, or "auto".
    budget
        Most evaluations of single components f_i. Compared with the cost before every query; never exceeded.
    x0
        A point of the set.
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

    Returns
    -------
    Result
        x, fun, nfev, nlmo, nit, status, message, ledger, trace, …

    Examples
    --------
    >>> import numpy as np, zofw
    >>> f = zofw.problems.BlackBox(lambda x: float(np.sum((x - 1) ** 2)), dim=10)
    >>> result = zofw.minimize(f, zofw.L1Ball(2.0), method="zo-fw", budget=5_000, rng=0)
    >>> result.nfev <= 5_000, zofw.L1Ball(2.0).contains(result.x)
    (True, True)
    """
    if not hasattr(fun, "values"):
        raise TypeError(
            f"minimize needs a problem; got {type(fun).__name__}. Wrap a function as zofw.problems.BlackBox(function, dim=…)."
        )
    from zofw.run.observers import callback_observer

    watchers = [*observers, *([callback_observer(callback)] if callback is not None else [])]
    session = Session(
        set,
        dim=fun.dim,
        n=fun.n,
        method=method,
        budget=budget,
        x0=x0,
        rng=rng,
        max_iter=max_iter,
        max_lmo=max_lmo,
        max_time=max_time,
        gap_tol=gap_tol,
        inside=inside,
        objective=getattr(fun, "value", lambda x: mean_value(fun, x)),
        gradient=getattr(fun, "gradient", None),
        diagnose=diagnose,
        observers=watchers,
    )
    return drive(fun, session, progress=progress)


def drive(fun: Any, session: Session, *, progress: bool | None = None) -> Result:
    """Answer a session's queries in this process until it stops."""
    from zofw.run.observers import Progress

    bar = Progress(session, shown=progress)
    session.observers.append(bar)
    try:
        while (query := session.ask()) is not None:
            session.tell(query, evaluate(fun, query))
    except EvaluationError as error:
        error.locate(query=session.number, iteration=session.nit, seed=session.entropy)
        raise
    finally:
        session.observers.remove(bar)
        bar.close()
    return session.result()
