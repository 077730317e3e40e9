"""A method for :func:`scipy.optimize.minimize`."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import Bounds, LinearConstraint, OptimizeResult, OptimizeWarning

from zofw.core import Array, MethodLike, Seed
from zofw.problems import BlackBox, mean_value
from zofw.residuals import least_squares
from zofw.run import BudgetError
from zofw.run.minimize import solve
from zofw.run.record.result import Result
from zofw.sets import Region, SetLike, as_set, can_clip, without_dictionaries

DERIVATIVES = (
    "jac",
    "method",
    "ftol",
    "xtol",
    "gtol",
    "x_scale",
    "diff_step",
    "tr_solver",
    "tr_options",
    "jac_sparsity",
    "verbose",
)
PER_COORDINATE = 1000  # evaluations for each coordinate where no limit is given


def scipy_method(
    set: SetLike | None = None,
    *more: object,
    method: MethodLike = "auto",
    budget: int | None = None,
    rng: Seed = None,
    **settings: Any,
) -> Callable[..., Result]:
    """Make a method that ``scipy.optimize.minimize(fun, x0, method=…)`` takes.

    Parameters
    ----------
    set
        A set such as ``L1Ball(2.0)``, or any object with ``lmo(g)``. By default that of SciPy's
        ``bounds`` and linear ``constraints``.
    more
        Nothing: an error says how to call this if SciPy was given the function itself.
    method, rng
        As in :func:`zofw.minimize`.
    budget
        Most evaluations of ``fun``, the one that gives ``result.fun`` included. By default 1000
        for each coordinate, unless another limit is given.
    settings
        Anything else that :func:`zofw.minimize` takes: ``inside``, ``on_error``,
        ``checkpoint``, …

    Returns
    -------
    callable
        A method in SciPy's protocol. It understands the options ``maxfev``, ``maxiter``, ``workers`` and ``disp`` (a bar),
        SciPy's ``tol`` (on the estimated Frank-Wolfe gap), ``bounds``, ``LinearConstraint`` and callbacks in both signatures, and returns a
        :class:`~zofw.Result`. ``nfev`` has every call of ``fun``, those that a callback causes by reading
        ``intermediate_result.fun`` included.

    Examples
    --------
    >>> import numpy as np, scipy.optimize, zofw
    >>> method = zofw.scipy_method(zofw.Simplex(), budget=500, rng=0)
    >>> result = scipy.optimize.minimize(lambda x, c: np.sum((x - c) ** 2), np.ones(4) / 4, args=(0.5,), method=method)
    >>> bool(result.fun < 0.2501), result.nfev <= 500
    (True, True)
    """
    if more:
        raise TypeError(
            "scipy_method makes a method and is called first: minimize(f, x0, method=zofw.scipy_method(), bounds=…)."
        )
    taken = {"x0", "callback", "diagnose"} & settings.keys()
    if taken:
        raise TypeError(
            f"scipy_method does not take {', '.join(sorted(taken))}: x0 and callback go to scipy.optimize.minimize, and "
            "nothing is evaluated for diagnosis, as SciPy counts every call."
        )
    return partial(_solve, set=set, method=method, budget=budget, rng=rng, settings=settings)


def scipy_least_squares(
    fun: Callable[..., ArrayLike],
    x0: ArrayLike,
    *,
    bounds: Bounds | Sequence[ArrayLike] = (-np.inf, np.inf),
    set: SetLike | None = None,
    max_nfev: int | None = None,
    **settings: Any,
) -> OptimizeResult:
    """Call :func:`zofw.least_squares` like :func:`scipy.optimize.least_squares`, without
    derivatives.

    Parameters
    ----------
    fun, x0, bounds, max_nfev
        As there; every call of ``fun`` counts, and ``max_nfev`` is 100 for each variable by
        default.
    set
        Any other set in place of ``bounds``, which have to be finite.
    settings
        ``loss``, ``f_scale``, ``args``, ``kwargs`` and all else that :func:`zofw.least_squares`
        takes. Tolerances and what belongs to derivatives is passed over with a warning.

    Returns
    -------
    scipy.optimize.OptimizeResult
        ``x``, ``cost``, ``fun`` (the residuals), ``jac`` (of the model), ``grad``, ``nfev``,
        ``success``, ``message``, ``result``.

    Examples
    --------
    >>> import numpy as np
    >>> from zofw.adapters import scipy_least_squares
    >>> found = scipy_least_squares(lambda x: [x[0] - 0.3, 10 * (x[1] - x[0] ** 2)], [0, 0], bounds=(-1, 1), max_nfev=40)
    >>> bool(found.cost < 1e-12), found.fun.shape
    (True, (2,))
    """
    _warn({name: settings.pop(name, None) for name in DERIVATIVES}, {})
    size = np.size(x0)
    given = [bounds.lb, bounds.ub] if isinstance(bounds, Bounds) else bounds
    if set is None and not all(np.isfinite(np.asarray(side, dtype=float)).all() for side in given):
        raise ValueError("zofw needs a bounded set: give finite bounds=(lower, upper), or set=….")
    place = {"bounds": bounds} if set is None else {"set": set}
    found = least_squares(fun, x0=x0, budget=max_nfev or 100 * size, **{"progress": False} | place | settings)
    names = ("x", "nfev", "success", "message")
    return OptimizeResult(
        {name: found[name] for name in names}, cost=found.fun, fun=found["residuals"], jac=found["jac"], status=int(found.success),
        grad=found["jac"].T @ found["residuals"], result=found,
    )  # fmt: skip


def _solve(
    fun: Callable[..., float],
    x0: ArrayLike,
    args: tuple[object, ...] = (),
    *,
    set: SetLike | None,
    method: MethodLike,
    budget: int | None,
    rng: Seed,
    settings: dict[str, Any],
    jac: object = None,
    hess: object = None,
    hessp: object = None,
    bounds: Bounds | None = None,
    constraints: LinearConstraint | Sequence[LinearConstraint] = (),
    callback: Callable[..., object] | None = None,
    maxfev: int | None = None,
    maxiter: int | None = None,
    tol: float | None = None,
    disp: bool = False,
    workers: object = None,
    **unknown: object,
) -> Result:
    """Return one call of ``scipy.optimize.minimize``."""
    _warn({"jac": jac, "hess": hess, "hessp": hessp}, unknown)
    start = np.atleast_1d(np.asarray(x0, dtype=float))
    most = min((limit for limit in (budget, maxfev) if limit is not None), default=None)
    if most is None and maxiter is None and not {"max_iter", "max_lmo", "max_time"} & settings.keys():
        most = PER_COORDINATE * start.size
    options = {"max_iter": maxiter, "gap_tol": tol, "progress": disp or None, "workers": workers}
    options["callback"] = callback and _in_one_signature(callback)
    return solved(
        BlackBox(_OfPoint(fun, args), dim=start.size),
        _region(set, bounds, constraints, start.size),
        most,
        method=method,
        rng=rng,
        x0=start,
        **{name: value for name, value in options.items() if value is not None} | settings,
    )


def _warn(derivatives: dict[str, object], unknown: dict[str, object]) -> None:
    """Say what is not used."""
    for name in (name for name, given in derivatives.items() if given):
        warnings.warn(
            f"zofw takes function values only and does not use {name}.", RuntimeWarning, stacklevel=4
        )
    if unknown:
        warnings.warn(f"Unknown solver options: {', '.join(unknown)}", OptimizeWarning, stacklevel=4)


def solved(problem: BlackBox, region: Region, most: int | None, **settings: Any) -> Result:
    """Return a run for a host that counts every call; the last is the value at x."""
    if most is not None and most < 2:
        raise ValueError(
            f"At least 2 evaluations are needed, one of them for the value at the end; {most} were allowed."
        )
    try:
        result = solve(problem, region, budget=None if most is None else most - 1, diagnose=0, **settings)
    except BudgetError as error:
        error.add_note(f"One of the {most} evaluations that were allowed is kept for the value at the end.")
        raise
    if can_clip(region):  # the last bit of a combination of vertices may lie beyond a bound
        result.x = region.clip(result.x)
    result.fun = mean_value(problem, result.x)
    result.ledger["objective"] = result.ndiagnosis + 1
    result.nfev, result.ndiagnosis = sum(result.ledger.values()), 0
    return result


@dataclass(frozen=True)
class _OfPoint:
    """``fun(x, *args)`` as a function of x, with a copy at every call, as in SciPy."""

    fun: Callable[..., float]
    args: tuple[object, ...]

    def __call__(self, x: Array) -> float:
        return self.fun(np.array(x), *self.args)


def _in_one_signature(callback: Callable[..., object]) -> Callable[..., object]:
    """Return a callback in SciPy's new signature."""
    if [*inspect.signature(callback).parameters] == ["intermediate_result"]:
        return callback
    return lambda intermediate_result: callback(intermediate_result.x)


def _region(
    set: SetLike | None,
    bounds: Bounds | None,
    constraints: LinearConstraint | Sequence[LinearConstraint],
    dim: int,
) -> Region:
    """Return the set itself, or that of SciPy's bounds and linear constraints."""
    given = [*np.atleast_1d(constraints)]
    if (set is None) == (bounds is None and not given):
        found = "neither" if set is None else "both"
        raise ValueError(
            f"zofw.scipy_method needs either a set or SciPy's bounds and constraints, and {found} was given: "
            "minimize(f, x0, method=zofw.scipy_method(zofw.Simplex())), or bounds=[(0, 1), …] for a box."
        )
    if set is not None:
        return as_set(set)
    if bounds is not None:
        given.append(bounds if isinstance(bounds, Bounds) else _of_pairs([*bounds], dim))
    return as_set(without_dictionaries(given, dim))


def _of_pairs(pairs: Sequence[tuple[float | None, float | None]], dim: int) -> Bounds:
    """Return SciPy's pairs as bounds; None for no bound."""
    if len(pairs) != dim:
        raise ValueError(
            f"bounds should have a pair for each of the {dim} coordinates of x0; it has {len(pairs)}."
        )
    lower = [-np.inf if low is None else low for low, _ in pairs]
    return Bounds(lower, [np.inf if high is None else high for _, high in pairs])
