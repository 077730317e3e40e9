"""What was given at the door: a problem or a function, a starting point, keywords of other libraries."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from contextlib import suppress

import numpy as np
from numpy.typing import ArrayLike

from zofw.arrays import to_numpy
from zofw.core import Array, Problem
from zofw.problems import BlackBox
from zofw.sets import Region, can_clip

logger = logging.getLogger("zofw")

ROUNDING = 1e-6  # a start this near to the set, relative to its size, was taken off it by rounding

ELSEWHERE = {
    "args": "bind them to the function: zofw.minimize(functools.partial(f, c=c), …) or lambda x: f(x, c)",
    "bounds": "give them as the set: zofw.minimize(f, bounds, …) takes scipy.optimize.Bounds or pairs (low, high)",
    "constraints": "give them as the set: zofw.minimize(f, [LinearConstraint(…), Bounds(…)], …)",
    "disp": "write progress=True",
    "integrality": "every set is convex, so x is not whole; round the result, or use another library",
    "jac": "only values are used; leave it out",
    "maximize": "return −f(x) from the function",
    "maxfev": "write budget=…, the most evaluations",
    "maxfun": "write budget=…, the most evaluations",
    "maxiter": "write max_iter=…",
    "n_jobs": "write executor=…, such as concurrent.futures.ProcessPoolExecutor(4)",
    "options": "every option is a keyword of its own: budget=…, max_iter=…, gap_tol=…",
    "random_state": "write rng=…, a seed or a numpy.random.Generator",
    "seed": "write rng=…",
    "tol": "write gap_tol=…, which is compared with a bound of the Frank-Wolfe gap",
    "workers": "write executor=…, such as concurrent.futures.ProcessPoolExecutor(4)",
}


def refuse(unknown: Mapping[str, object], function: Callable[..., object]) -> None:
    """Raise TypeError for keywords that a function does not have, with the right names where other libraries have them."""
    for name in unknown:
        advice = ELSEWHERE.get(name)
        raise TypeError(
            f"{function.__name__} has no argument {name!r}"
            + (f"; {advice}." if advice else f". It has {', '.join([*function.__annotations__][:-2])}.")
        )


def as_problem(
    fun: Problem | Callable[..., float],
    region: Region,
    x0: ArrayLike | None = None,
    dim: int | None = None,
    n: int | None = None,
    worse: float | None = None,
) -> Problem:
    """The problem itself, or a black box of a function whose dimension is known from dim, x0 or the set.

    Examples
    --------
    >>> from zofw.sets import Simplex
    >>> as_problem(lambda x: float(x @ x), Simplex(), x0=[0.5, 0.5]).dim
    2
    """
    if isinstance(fun, Problem):
        for name, given, own in (("dim", dim, fun.dim), ("n", n, fun.n)):
            if given is not None and given != own:
                raise ValueError(
                    f"{name}={given} was given, and the problem has {name}={own}; leave {name} out."
                )
        if worse is not None:
            raise ValueError(
                f"worse={worse:g} was given with a problem, which has its own rule; give it there: BlackBox(…, worse={worse:g})."
            )
        return fun
    if not callable(fun):
        raise TypeError(
            f"minimize needs a function or a problem of zofw.problems first, and {type(fun).__name__} is neither: "
            "zofw.minimize(f, set, …)."
        )
    if isinstance(fun, type):
        raise TypeError(f"{fun.__name__} is a class; give an instance of it, {fun.__name__}(…).")
    known = {
        "dim": dim,
        "the length of x0": None if x0 is None else int(np.size(to_numpy(x0))),
        "the dimension of the set": region.fixed_dim,
    }
    sizes = {source: size for source, size in known.items() if size is not None}
    if not sizes:
        raise ValueError(
            f"The dimension is not known, neither from the function nor from {region!r}: give dim=… or x0=…."
        )
    if len({*sizes.values()}) > 1:
        said = ", ".join(f"{source} is {size}" for source, size in sizes.items())
        raise ValueError(f"The dimension is not clear: {said}. Give one of them, or make them agree.")
    found = next(iter(sizes.values()))
    if n is None:
        return BlackBox(fun, dim=found, worse=worse)
    return BlackBox(fun, dim=found, n=n, worse=worse)


def first_known(known: tuple[ArrayLike, ArrayLike]) -> Array:
    """The first of the points that were evaluated before, which tells the dimension."""
    points = np.atleast_2d(np.asarray(to_numpy(known[0]), dtype=np.float64))
    if not points.size:
        raise ValueError("known has no points; leave it out, or give x0=… or dim=….")
    return np.asarray(points[0])


def known_members(known: tuple[ArrayLike, ArrayLike], region: Region, dim: int) -> tuple[Array, Array]:
    """The points of the set among those that were evaluated before, and their values, the least first.

    Parameters
    ----------
    known
        Points, (m, d), and the mean of all components at each, (m,). Points outside the set are passed over.
    """
    points, values = (np.asarray(to_numpy(part), dtype=np.float64) for part in known)
    points, values = np.atleast_2d(points), np.atleast_1d(values)
    if points.ndim != 2 or points.shape[1] != dim or values.shape != (len(points),):
        raise ValueError(
            f"known should be a pair of points, (m, {dim}), and their values, (m,); got shapes {points.shape} and {values.shape}."
        )
    finite = np.isfinite(values) & np.isfinite(points).all(axis=1)
    members, found = [], []
    for i in np.argsort(np.where(finite, values, np.inf), kind="stable")[: np.count_nonzero(finite)]:
        with suppress(ValueError):
            members.append(starting_point(region, dim, points[i])[0])
            found.append(float(values[i]))
    if not members:
        raise ValueError(f"None of the {len(points)} known points with a finite value lies in {region!r}.")
    logger.info("The run starts from the best of %d known points, with value %.6g.", len(members), found[0])
    return np.array(members), np.array(found)


def starting_point(region: Region, dim: int, x0: ArrayLike | None = None) -> tuple[Array, str | None]:
    """The point a run starts from, and a note if x0 had to be moved.

    A point that rounding took off the set, as single precision does, is put back; any other that is not a member is refused
    with its distance.
    """
    if x0 is None:
        return np.asarray(region.initial_point(dim), dtype=np.float64), None
    x = np.array(to_numpy(x0), dtype=np.float64).reshape(-1)
    if x.shape != (dim,):
        raise ValueError(f"x0 should have {dim} entries; it has {x.size}.")
    if not np.isfinite(x).all():
        raise ValueError("x0 has entries that are not finite.")
    if region.contains(x):
        return x, None
    member = region.clip(x) if can_clip(region) else towards(region, x)
    distance = float(np.linalg.norm(member - x))
    if distance > ROUNDING * max(float(np.linalg.norm(x)), float(np.linalg.norm(member))):
        raise ValueError(
            f"x0 is not a point of {region!r}: a member is {distance:.3g} away, such as {np.array2string(member, threshold=6)}. "
            "Start from a point of the set, or leave x0 out."
        )
    return member, f"x0 was {distance:.1g} outside the set by rounding and was put back"


def towards(region: Region, x: Array) -> Array:
    """The member nearest to x on the way to the initial point, by bisection."""
    centre = np.asarray(region.initial_point(x.size), dtype=np.float64)
    inside, outside = 1.0, 0.0
    for _ in range(60):
        middle = (inside + outside) / 2
        inside, outside = (
            (middle, outside) if region.contains(x + middle * (centre - x)) else (inside, middle)
        )
    return x + inside * (centre - x)
