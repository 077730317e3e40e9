"""Sets as people have them: objects, names, bounds, linear constraints."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias, cast

import numpy as np
from numpy.typing import ArrayLike

from zofw.atoms import Array
from zofw.extras import lazy
from zofw.sets.box import Box
from zofw.sets.capped_simplex import CappedSimplex
from zofw.sets.custom import Custom, Oracle, oracle_of
from zofw.sets.polytope import Polytope
from zofw.sets.protocol import SETS, Region, name_of
from zofw.sets.simplex import Simplex

if TYPE_CHECKING:
    from scipy.optimize import Bounds, LinearConstraint


sp = lazy("scipy.sparse")

SetLike: TypeAlias = (
    "Region | Oracle | str | type | Bounds | LinearConstraint | Mapping[str, Any] | Sequence[object]"
)


def as_set(given: SetLike, *, dim: int | None = None, diameter: float | None = None) -> Region:
    """Return a set with everything this library asks, from what people have.

    Parameters
    ----------
    given
        A set of this library; a registered name or a class that needs no settings, such as
        ``"simplex"``; a ``scipy.optimize.Bounds`` or a list of pairs (low, high), which make a
        `Box`; a ``LinearConstraint``, or a list of them with at most one ``Bounds``, which make
        a `Polytope`, or a `Simplex` or `CappedSimplex` where they say no more than that; an
        object with a method ``lmo(g)``, or a function g ↦ s, whose missing methods are filled
        in as `Custom` describes.
    dim
        The dimension, if a set of your own has one.
    diameter
        Its Euclidean diameter or an upper bound of it, if it is known and the object does not
        tell.

    Examples
    --------
    >>> import numpy as np
    >>> as_set([(0, 1), (-1, 2)])
    Box(lower=array([ 0., -1.]), upper=array([1., 2.]))
    >>> from scipy.optimize import Bounds, LinearConstraint
    >>> as_set([LinearConstraint(np.ones(3), 1, 1), Bounds(0, 0.5)])
    CappedSimplex(total=1.0, upper=array([0.5, 0.5, 0.5]), lower=array([0., 0., 0.]))
    >>> ball = as_set(lambda g: -g / np.linalg.norm(g), diameter=2.0)
    >>> ball.lmo([0.0, 2.0])
    array([ 0., -1.])
    """
    if isinstance(given, str):
        return _of_class(SETS[given], f'The set "{given}" has no size yet')
    if isinstance(given, type):
        return _of_class(given, f"{given.__name__} is a class, and a set is needed")
    if isinstance(given, Region) and dim is None and diameter is None:
        return given
    if callable(oracle_of(given)):
        return Custom(cast(Oracle, given), dim, diameter)
    made = _of_scipy([*given] if isinstance(given, (Sequence, np.ndarray)) else [given])
    return _of_pairs(given) if made is None else made


def _of_class(cls: type, found: str) -> Region:
    """Return an instance of a class that needs no settings; else a sentence that begins with ``found``."""
    settings = inspect.signature(cls).parameters.values()
    if all(s.default is not s.empty for s in settings):
        return as_set(cls())
    names = ", ".join(f"{s.name}=…" for s in settings if s.default is s.empty)
    raise TypeError(f"{found}; write {cls.__name__}({names}).")


def without_dictionaries(given: Any, dim: int | None) -> Any:
    """Return the set as it was given, with SciPy's dictionaries of affine functions as
    LinearConstraints.

    Parameters
    ----------
    given
        Anything that `as_set` takes, or dictionaries such as ``{"type": "eq", "fun": lambda x:
        x.sum() - 1}``.
    dim
        Dimension d of x, if it is known. An affine function follows from its values at 0 and at
        the unit vectors; its value at one more point must agree.
    """
    parts = [*given] if isinstance(given, (list, tuple)) else [given]
    if not any(isinstance(part, dict) and "fun" in part for part in parts):
        return given
    if dim is None:
        raise ValueError("The dimension is not known from a dictionary of constraints: give dim=… or x0=….")
    return [_affine(part, dim) if isinstance(part, dict) else part for part in parts]


def _affine(constraint: dict[str, Any], dim: int) -> LinearConstraint:
    """Return the rows A x = b or A x ≥ b of SciPy's dictionary, if its function is affine."""
    from scipy.optimize import LinearConstraint

    fun: Callable[..., ArrayLike] = constraint["fun"]
    args = constraint.get("args", ())
    signs = (-1.0) ** np.arange(1, dim + 1)  # entries of both signs: |x| is no affine function
    check = signs * np.random.default_rng(dim).uniform(1.0, 2.0, dim)
    try:
        points = np.vstack([np.zeros(dim), np.eye(dim), check])
        values = np.array([np.atleast_1d(fun(x, *args)) for x in points], dtype=np.float64)
    except Exception as error:
        raise TypeError(
            f"The constraint of type {constraint.get('type')!r} failed: {error}. {LINEAR}"
        ) from error
    A = (values[1:-1] - values[0]).T
    size = 1e-9 * max(1.0, float(np.abs(values).max()))
    if (
        constraint.get("type") not in ("eq", "ineq")
        or not np.abs(A @ check + values[0] - values[-1]).max() <= size
    ):
        raise TypeError(f"The constraint of type {constraint.get('type')!r} is not affine. {LINEAR}")
    whole = np.round(A)
    A = np.where(np.abs(A - whole) <= 1e-3 * size, whole, A)  # x.sum() − 0.3 loses the last bits of 1
    return LinearConstraint(A, -values[0], -values[0] if constraint["type"] == "eq" else np.inf)


LINEAR = (
    "Write linear constraints as scipy.optimize.LinearConstraint(A, lb, ub), a ball as zofw.L2Ball(radius), or any convex "
    "set as an object with lmo(g) that returns a minimiser of ⟨g, s⟩."
)


def _of_pairs(given: object) -> Box:
    """Return a box from pairs (low, high)."""
    try:
        rows = [*given] if isinstance(given, Iterator) else given
        pairs = np.asarray(rows).astype(np.float64)  # None becomes NaN
    except (TypeError, ValueError):
        pairs = np.empty(0)
    ends = isinstance(given, tuple) and len(given) == 2 and all(isinstance(end, np.ndarray) for end in given)
    if pairs.ndim != 2 or pairs.shape[1] != 2 or ends:
        raise TypeError(_no_set(given, is_point=pairs.ndim == 1 and pairs.size > 2))
    if not np.isfinite(pairs).all():
        raise ValueError(
            f"A pair of bounds for coordinate {int(np.argmin(np.isfinite(pairs).all(axis=1)))} is open; a Frank-Wolfe method "
            "needs a bounded set. Give two numbers for every coordinate."
        )
    return Box(pairs[:, 0], pairs[:, 1])


def _no_set(given: object, is_point: bool) -> str:
    found = "none was given" if given is None else f"{name_of(given)} is not one: {given!r:.60}"
    return (
        f"A set is needed, and {found}{'; a point goes after the set, as x0=…' * is_point}. Give a set such as zofw.Simplex(), "
        "zofw.Box(low, high) or zofw.Polytope(A_ub=…, b_ub=…), a list of pairs (low, high), scipy.optimize.Bounds or "
        "LinearConstraint, or an object with lmo(g) that returns a minimiser of ⟨g, s⟩."
    )


def _of_scipy(parts: Sequence[object]) -> Region | None:
    """Return the set of SciPy's Bounds and LinearConstraints; None if the parts are something else."""
    from scipy.optimize import Bounds, LinearConstraint, NonlinearConstraint

    for part in parts:
        if isinstance(part, (NonlinearConstraint, dict)):
            raise TypeError(_not_linear(part))
    bounds = [part for part in parts if isinstance(part, Bounds)]
    rows = [part for part in parts if isinstance(part, LinearConstraint)]
    if not parts or len(bounds) + len(rows) != len(parts) or len(bounds) > 1:
        return None
    box = bounds[0] if bounds else Bounds()
    lower, upper = _side(box.lb), _side(box.ub)
    return _polytope(rows, lower, upper) if rows else Box(lower, upper)


def _side(values: ArrayLike) -> Array:
    """Return bounds as an array; SciPy writes one number for all coordinates as an array of length 1."""
    array = np.asarray(values, dtype=np.float64)
    return array.reshape(()) if array.size == 1 else array


def _not_linear(part: object) -> str:
    """Return the sentence about a nonlinear constraint, or a dictionary of names as other optimisers take."""
    if not isinstance(part, dict) or "fun" in part:
        return f"A set is needed, and a nonlinear constraint does not describe one. {LINEAR}"
    names = ", ".join(f"{name}=x[{i}]" for i, name in enumerate(part))
    return (
        "A set is needed, and a dictionary of names is not one. Give its pairs (low, high) as a list, "
        f"{[*part.values()]!r:.60}, and a function of one array: lambda x: f({names})."
    )


def _rows(constraint: LinearConstraint) -> tuple[Array, Array, Array]:
    """Return A, and lower and upper bounds of its rows."""
    A = np.atleast_2d(constraint.A.toarray() if sp.issparse(constraint.A) else constraint.A).astype(
        np.float64
    )
    return A, np.broadcast_to(constraint.lb, len(A)), np.broadcast_to(constraint.ub, len(A))


def _polytope(constraints: Sequence[LinearConstraint], lower: Array, upper: Array) -> Region:
    """Return {x : lb ≤ A x ≤ ub, l ≤ x ≤ u}, as the simplest set that says the same."""
    A, low, high = map(np.concatenate, zip(*map(_rows, constraints), strict=True))
    dim = A.shape[1]
    wrong = [side.size for side in (lower, upper) if side.size not in (1, dim)]
    if wrong:
        raise ValueError(
            f"The rows of the linear constraints have {dim} coordinates, and the bounds {wrong[0]}; make them agree."
        )
    lower, upper = np.broadcast_to(lower, dim), np.broadcast_to(upper, dim)
    equal = low == high
    above, below = np.isfinite(high) & ~equal, np.isfinite(low) & ~equal
    if equal.sum() == 1 and not (above | below).any():
        shares = _shares(A[equal][0], float(high[equal][0]), lower, upper)
        if shares is not None:
            return shares
    return Polytope(
        np.concatenate([A[above], 0.0 - A[below]]),
        np.concatenate([high[above], -low[below]]),
        A[equal],
        high[equal],
        np.stack([lower, upper], axis=1),
    )


def _shares(row: Array, right: float, lower: Array, upper: Array) -> Region | None:
    """Return {x : l ≤ x ≤ u, aᵀx = b} as a simplex, capped or not, where it is one."""
    total = right / row[0] if row[0] else 0.0
    if lower.min() < 0 or np.any(row != row[0]) or not total > 0:
        return None
    free = not lower.any() and upper.min() >= total
    return Simplex(total, lower.size) if free else CappedSimplex(total, upper, lower)
