"""Least squares: residual vectors over any convex set, every call a query."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from zofw.core import WORST, Array, EvaluationError, Indices, Problem
from zofw.outer import SumOfSquares
from zofw.problems import BlackBox
from zofw.problems.evaluate import Cell
from zofw.run.given import first_known, numbers, starting_point
from zofw.run.minimize import solve
from zofw.run.spec import size
from zofw.sets import Box, SetLike, as_set

if TYPE_CHECKING:
    from scipy.optimize import Bounds

    from zofw.run.record.result import Result


@dataclass(frozen=True, eq=False)
class Residuals:
    """A problem with one component, of which every call brings m residuals.

    Parameters
    ----------
    fun
        ``fun(x)`` → m numbers.
    dim, start
        The dimension of x, and the point of the first call.
    m
        How many residuals; by default the first call shows it, and counts as the first query.
    worse
        Residuals at or above this number in modulus make the point infeasible; by default
        infinity is an error. NaN always is.
    why
        What says that there are m, for messages.
    bought
        The vector of that call by its point.
    """

    fun: Callable[..., ArrayLike]
    dim: int
    start: Array
    m: int | None = None
    worse: float | None = None
    why: str = "as at the first call"
    bought: dict[bytes, Array] = field(default_factory=dict)
    n: int = 1
    cellwise: bool = True

    @cached_property
    def outputs(self) -> int:
        """How many residuals there are. Only a run that begins asks for it: one that is resumed has it in its file."""
        if self.m is not None:
            return self.m
        vector = called(self.fun, self.start, self.worse)
        self.bought[self.start.tobytes()] = vector
        return vector.size

    def one(self, x: Array, component: int) -> Cell:
        """Return the m residuals at x; a number if m = 1."""
        vector = self.vector(x)
        return vector if vector.size > 1 else float(vector[0])

    def vector(self, x: Array) -> Array:
        """Return the m residuals at x."""
        vector = self.bought.pop(x.tobytes(), None)
        vector = (
            called(self.fun, x, self.worse, vars(self).get("outputs", self.m)) if vector is None else vector
        )
        m = vars(self).setdefault("outputs", self.m or vector.size)
        if vector.shape != (m,):
            raise EvaluationError(
                f"residuals(x) returned {len(vector)} numbers, and should return {m} at every x, {self.why}: fill what is missing with 0.",
                point=x,
            )
        if self.worse is not None and (np.abs(vector) >= self.worse).any():
            return np.full(m, WORST)
        if not np.isfinite(vector).all():
            k = int(np.flatnonzero(~np.isfinite(vector))[0])
            raise EvaluationError(
                f"Residual {k} of {m} is {vector[k]}: return np.inf where a simulation fails, and write worse=np.inf.",
                point=x,
            )
        return vector

    def values(self, points: Array, components: Indices) -> Array:
        return np.array([self.vector(x) for x in points])


def called(fun: Callable[..., ArrayLike], x: Array, worse: float | None, m: int | None = None) -> Array:
    """Return the residuals of one call as doubles, or raise a sentence; a single number from ``worse`` on stands for all m."""
    try:
        found = fun(np.array(x))
    except Exception as error:
        raise EvaluationError(f"The residuals raised {type(error).__name__}: {error}", point=x) from error
    try:
        vector = numbers("residuals", found)
    except TypeError:
        vector, said = np.zeros((0, 0)), f"it returned {found!r:.60}"
    else:
        said = f"it returned an array of shape {vector.shape}: " + (
            "return .ravel() of it" if vector.size else "it is empty"
        )
    if vector.ndim == 1 and vector.size:
        return vector
    if vector.ndim == 0 and worse is not None and abs(vector) >= worse:
        if m is not None:
            return np.full(m, vector)
        said = f"the first call returned {vector}, which does not show how many they are: give m=…"
    elif found is None:
        said = "it returned None"
    elif vector.ndim == 0 and np.isinf(vector):
        said = f"it returned {vector}: write worse=np.inf if that means a simulation that fails"
    elif vector.ndim == 0:
        said = "it returned a single number: return the residuals, not the sum of their squares"
    raise EvaluationError(f"residuals(x) should return an array of all residuals; {said}.", point=x)


def _refuse_arguments(residuals: Callable[..., ArrayLike], n: int | None, more: Sequence[object]) -> None:
    """Raise TypeError if residuals cannot be called with x, and i where ``n`` is given."""
    with suppress(ValueError):  # some functions in C have no signature
        signature = inspect.signature(residuals)
        try:
            signature.bind(*[None] * (1 + (n is not None)), *more)
        except TypeError as error:
            raise TypeError(
                f"residuals{signature} cannot be called as residuals(x): {error}. A function that returns only residual i of n "
                "is written residuals(x, i), with n=…." if n is None
                else f"With n={n}, residuals should be a function of x and of the number i of one residual; "
                f"here it is residuals{signature}. Leave n out if one call returns all residuals."
            ) from None  # fmt: skip


def least_squares(
    residuals: Callable[..., ArrayLike],
    set: SetLike | None = None,
    *,
    x0: ArrayLike | None = None,
    bounds: Bounds | Sequence[ArrayLike] | None = None,
    m: int | None = None,
    n: int | None = None,
    loss: str = "linear",
    f_scale: float = 1.0,
    args: Sequence[object] = (),
    kwargs: Mapping[str, object] | None = None,
    worse: float | None = None,
    known: tuple[ArrayLike, ArrayLike] | None = None,
    **settings: object,
) -> Result:
    r"""Minimise :math:`\frac12 C^2 \sum_i \rho((r_i(x)/C)^2)` over a convex set from residuals alone.

    Parameters
    ----------
    residuals
        ``residuals(x, *args, **kwargs)`` → m numbers: one query. With ``n``,
        ``residuals(x, i)`` → only residual i, one query each.
    set
        As in :func:`zofw.minimize`; or give ``bounds``.
    x0
        The start, by default the initial point of the set.
    bounds
        A pair (lower, upper) of numbers or arrays, or ``scipy.optimize.Bounds``, as SciPy's
        ``least_squares`` takes them.
    m
        The number of residuals. By default the first call shows it, and counts as the first query.
    n
        The number of residuals, if each is evaluated by a call of its own.
    loss, f_scale
        ρ and C: "linear", "soft_l1", "huber" or "cauchy", as in
        :func:`scipy.optimize.least_squares`.
    args, kwargs
        Further arguments of ``residuals``.
    worse
        Residuals at or above this number in modulus make a point infeasible:
        ``worse=np.inf`` for simulations that fail.
    known
        Points that were evaluated before and their residuals, (k, d) and (k, m), instead of x0.
    settings
        Everything else that :func:`zofw.minimize` takes: ``budget``, ``rng``, ``checkpoint``,
        ``workers``, ``on_error``, …

    Returns
    -------
    Result
        That of :func:`zofw.minimize`, and ``residuals`` at x; ``jac``, the Jacobian of the model
        at x, (m, d); ``jac_error``, how far it changes over the points it comes from (NaN if
        there are too few); ``covariance`` of x, 2·fun/(m − rank)·(JᵀJ)⁺.

    Examples
    --------
    >>> import numpy as np, zofw
    >>> t = np.linspace(0, 4, 20)
    >>> residuals = lambda p: p[0] * np.exp(-p[1] * t) - 3 * np.exp(-0.7 * t)
    >>> result = zofw.least_squares(residuals, bounds=(0, 10), x0=[1, 1], budget=30)
    >>> bool(np.allclose(result.x, [3, 0.7], atol=1e-3)), result.jac.shape
    (True, (20, 2))
    """
    if (set is None) == (bounds is None):
        found = "neither was given" if set is None else "both were given. The start is written x0=…"
        raise ValueError(f"least_squares needs a set or bounds=(lower, upper), and {found}.")
    if "outer" in settings:
        raise TypeError(
            "least_squares minimises a sum of squares, and takes no outer=…: write loss=…, or zofw.minimize(f, set, n=…, outer=…)."
        )
    options = dict(settings.pop("options", None) or {})  # type: ignore[call-overload]
    worse = options.pop("worse", worse)
    start = None if x0 is None else numbers("x0", x0).reshape(-1)
    if known is not None:
        start = first_known(known)
    region = as_set(set if bounds is None else _box(bounds, start))
    dim = region.fixed_dim if start is None else start.size
    if known is not None and region.fixed_dim not in (None, dim):
        raise ValueError(
            f"known=(X, values) has points with {dim} numbers, and {region!r} lives in dimension {region.fixed_dim}."
        )
    if dim is None:
        raise ValueError("The dimension is not known: give x0=….")
    if not callable(residuals):
        raise TypeError(f"residuals should be a function of x; got {residuals!r:.60}.")
    outer = SumOfSquares(loss, f_scale)
    _refuse_arguments(partial(residuals, **kwargs or {}), n, args)
    settings = {**settings, "options": options, "known": known, "x0": x0, "outer": outer}

    def fun(x: Array, *component: int) -> ArrayLike:
        return residuals(x, *component, *args, **(kwargs or {}))

    problem: Problem
    if n is None:
        first, why = starting_point(region, dim, start)[0], "as at the first call"
        if m is not None:
            m, why = size("m", m), f"as m={m} says"
        elif known is not None:
            m, why = _width(known[1]), "as known=(X, values) has"
        problem = Residuals(fun, dim, first, m, worse, why)
    else:
        problem = BlackBox(lambda x, i: fun(x, i), dim=dim, n=n, worse=worse)
    result = solve(problem, region, **settings)  # type: ignore[arg-type]
    if "jac" in result:
        result["covariance"] = _covariance(np.asarray(result["jac"]), result.fun)
    return result


def _width(values: ArrayLike) -> int:
    """Return how many residuals known points have."""
    rows = numbers("values of known=(X, values)", values)
    if rows.ndim != 2:
        raise ValueError(
            f"known=(X, values) of least_squares has all residuals at every point, (k, m); got values of shape {rows.shape}."
        )
    return int(rows.shape[1])


def _box(bounds: Bounds | Sequence[ArrayLike], start: Array | None) -> SetLike:
    """Return SciPy's bounds as a set: ``Bounds``, or a pair of numbers or arrays."""
    if not isinstance(bounds, (tuple, list)):
        return bounds
    lower, upper = (np.asarray(side, dtype=float) for side in bounds)
    size = max(lower.size, upper.size, 1 if start is None else start.size)
    return Box(np.broadcast_to(lower, size).copy(), np.broadcast_to(upper, size).copy())


def _covariance(J: Array, cost: float) -> Array:
    """Return the covariance of least squares with independent errors of equal variance; NaN if m ≤ rank J."""
    free = len(J) - int(np.linalg.matrix_rank(J)) if np.isfinite(J).all() else 0
    if free <= 0:
        return np.full((J.shape[1], J.shape[1]), np.nan)
    return np.asarray(2 * cost / free * np.linalg.pinv(J.T @ J, hermitian=True))
