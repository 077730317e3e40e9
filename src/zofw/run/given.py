"""What was given at the door: a problem or a function, a starting point, a seed, keywords of other libraries."""

from __future__ import annotations

import difflib
import inspect
import logging
import warnings
from collections.abc import Callable, Iterable
from contextlib import suppress

import numpy as np
from numpy.typing import ArrayLike

from zofw.arrays import to_numpy
from zofw.core import Array, Outer, Problem, Seed
from zofw.differences import LARGEST
from zofw.problems import BlackBox
from zofw.run.spec import size
from zofw.sets import Region, can_clip, can_project

logger = logging.getLogger("zofw")

ROUNDING = 1e-6  # a start this near to the set, relative to its size, was taken off it by rounding
FAR = 1e-2  # times the norm of x0 or of the member nearest to it: farther away, a start is not what was meant

A_SETTING = (
    "it is a setting of a method: method=zofw.ZSFWDVR(batch_size=…, directions=…, step_size=…, radius=…)"
)
EVALUATIONS = "write budget=…, the most evaluations"
TOLERANCE = "write gap_tol=…, which is compared with a bound of the Frank-Wolfe gap"
WORKERS = "write workers=…, the number of evaluations side by side"

ELSEWHERE = {
    "args": "bind them to the function: zofw.minimize(functools.partial(f, c=c), …) or lambda x: f(x, c)",
    "batch_size": A_SETTING,
    "bounds": "give them as the set: zofw.minimize(f, bounds, …) takes scipy.optimize.Bounds or pairs (low, high)",
    "constraints": "give them as the set: zofw.minimize(f, [LinearConstraint(…), Bounds(…)], …)",
    "direction": "return −f(x) from the function to maximise f",
    "directions": A_SETTING,
    "disp": "write options={'progress': True}",
    "ftol": TOLERANCE,
    "gtol": TOLERANCE,
    "integrality": "every set is convex, so x is not whole; round the result, or use another library",
    "jac": "only values are used; leave it out",
    "law": A_SETTING,
    "learning_rate": A_SETTING,
    "lr": A_SETTING,
    "max_evals": EVALUATIONS,
    "max_nfev": EVALUATIONS,
    "maximize": "return −f(x) from the function",
    "maxfev": EVALUATIONS,
    "maxfun": EVALUATIONS,
    "maxiter": "write max_iter=…",
    "n_calls": EVALUATIONS,
    "n_iter": "write max_iter=…",
    "n_jobs": WORKERS,
    "n_trials": EVALUATIONS,
    "popsize": "no method here has a population; leave it out",
    "radius": A_SETTING,
    "random_state": "write rng=…, a seed or a numpy.random.Generator",
    "seed": "write rng=…",
    "sigma0": "no method here has a first step size of this kind; leave it out",
    "step_size": A_SETTING,
    "tol": TOLERANCE,
    "verbose": "write options={'progress': True}",
    "x_scale": "variables are scaled by the widths of the set; leave it out",
    "xtol": TOLERANCE,
}


def refuse(
    unknown: Iterable[str], function: Callable[..., object], options: Iterable[str] | None = None
) -> None:
    """Raise TypeError for keywords, or ``options``, that a function does not have, with the right names where there are such."""
    arguments = [*inspect.signature(function).parameters]
    kind, names = ("argument", arguments) if options is None else ("option", sorted(options))
    for name in unknown:
        advice = f"{ELSEWHERE.get(name, 'it has ' + ', '.join(names))}."
        if name in arguments:
            advice = f"write {name}=… as an argument of {function.__name__}."
        elif name not in ELSEWHERE and (near := difflib.get_close_matches(name, names, 1)):
            advice = f"did you mean {near[0]}?"
        raise TypeError(f"{function.__name__} has no {kind} {name!r}; {advice}")


def numbers(name: str, given: object) -> Array:
    """An array of doubles, or a sentence."""
    try:
        array = to_numpy(given)
        if array.dtype.kind in "fiubO":
            return np.array(array, dtype=np.float64)
    except (TypeError, ValueError):
        pass
    raise TypeError(f"{name} should be a list or an array of real numbers; got {given!r:.60}.")


def as_problem(
    fun: Problem | Callable[..., float],
    region: Region,
    x0: ArrayLike | None = None,
    dim: int | None = None,
    n: int | None = None,
    worse: float | None = None,
    source: str = "the length of the starting point",
) -> Problem:
    """The problem itself, or a black box of a function whose dimension is known from dim, x0 or the set.

    Examples
    --------
    >>> from zofw.sets import Simplex
    >>> as_problem(lambda x: float(x @ x), Simplex(), x0=[0.5, 0.5]).dim
    2
    """
    if isinstance(fun, type):
        raise TypeError(f"{fun.__name__} is a class; give an instance of it, {fun.__name__}(…).")
    dim, n = (None if given is None else size(name, given) for name, given in (("dim", dim), ("n", n)))
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
    if isinstance(x0, (int, float)) and 1 not in (dim, region.fixed_dim):
        raise ValueError(
            f"x0 should be a list of coordinates; got {x0!r:.60}. Write [{x0!r:.20}] if x has only one."
        )
    known = {
        "dim": dim,
        source: None if x0 is None else numbers("x0", x0).size,
        "the dimension of the set": region.fixed_dim,
    }
    sizes = {name: size for name, size in known.items() if size is not None}
    if not sizes:
        raise ValueError(
            f"The dimension is not known, neither from the function nor from {region!r}: give dim=… or x0=…."
        )
    if len({*sizes.values()}) > 1:
        said = ", ".join(f"{name} is {size}" for name, size in sizes.items())
        raise ValueError(f"The dimension is not clear: {said}. Give one of them, or make them agree.")
    found = next(iter(sizes.values()))
    if not found:
        raise ValueError("x0 is empty; give a point of the set, or leave x0 out and give dim=….")
    if n is None:
        return BlackBox(fun, dim=found, worse=worse)
    return BlackBox(fun, dim=found, n=n, worse=worse)


def first_known(known: tuple[ArrayLike, ArrayLike]) -> Array:
    """The first of the points that were evaluated before, which tells the dimension."""
    if not isinstance(known, (tuple, list)) or len(known) != 2:
        raise TypeError(
            f"known should be a pair (X, values): points of shape (m, d), and their values, (m,); got {known!r:.60}."
        )
    points = np.atleast_2d(numbers("X of known=(X, values)", known[0]))
    if not points.size:
        raise ValueError("known has no points; leave it out, or give x0=… or dim=….")
    return np.asarray(points[0])


def known_members(
    known: tuple[ArrayLike, ArrayLike], region: Region, dim: int, outer: Outer | None = None, width: int = 1
) -> tuple[Array, Array]:
    """Return the known points that lie in the set, and their values, lowest value first.

    Parameters
    ----------
    known
        Points, (m, d), and the mean of all components at each, (m,). Points outside the set are passed over.
    outer, width
        A function of all numbers of all components, and how many they are: values are then vectors, (m, width).
    """
    first_known(known)
    points = np.atleast_2d(numbers("X of known=(X, values)", known[0]))
    rows = np.atleast_1d(numbers("values of known=(X, values)", known[1]))
    shape = (len(points),) if outer is None else (len(points), width)
    if points.ndim != 2 or points.shape[1] != dim or rows.shape != shape:
        stated = "(m,)" if outer is None else f"(m, {width})"
        raise ValueError(
            f"known should be a pair of points, (m, {dim}), and their values, {stated}; got shapes {points.shape} and {rows.shape}."
        )
    values = (
        rows
        if outer is None
        else np.where(np.isfinite(rows).all(axis=1), outer.of(np.nan_to_num(rows)), np.nan)
    )
    if (size := np.abs(values[np.isfinite(values)]).max(initial=0.0)) > LARGEST:
        raise ValueError(
            f"values of known=(X, values) must be at most {LARGEST:g} in modulus; one is {size:g}."
        )
    finite = np.isfinite(values) & np.isfinite(points).all(axis=1)
    members, found = [], []
    for i in np.argsort(np.where(finite, values, np.inf), kind="stable")[: np.count_nonzero(finite)]:
        with suppress(ValueError):
            members.append(starting_point(region, dim, points[i], move=False)[0])
            found.append(i)
    if not members:
        raise ValueError(f"None of the {len(points)} known points with a finite value lies in {region!r}.")
    logger.info(
        "The run starts from the best of %d known points, with value %.6g.", len(members), values[found[0]]
    )
    return np.array(members), rows[found]


def starting_point(
    region: Region, dim: int, x0: ArrayLike | None = None, *, move: bool = True
) -> tuple[Array, str | None]:
    """Return the point a run starts from, and a note if it is not x0 but the nearest member of the set.

    A start that moved far is warned of. Without ``move``, only a point that rounding took off the set is put back, as single
    precision does, and any other is refused with its distance.
    """
    if x0 is None:
        return np.asarray(region.initial_point(dim), dtype=np.float64), None
    x = numbers("x0", x0).reshape(-1)
    if x.shape != (dim,):
        raise ValueError(f"x0 should have {dim} entries; it has {x.size}.")
    if not np.isfinite(x).all():
        raise ValueError("x0 has entries that are not finite.")
    if region.contains(x):
        return x, None
    member, distance, rounding = put_back(region, x)
    if rounding:
        return member, f"x0 was {distance:.1g} outside the set by rounding and was put back"
    if not move:
        raise ValueError(f"{np.array2string(x, threshold=6)} is {distance:.3g} away from {region!r}.")
    note = f"x0 is not a point of {region!r:.200}; the run starts {distance:.2g} away, at {np.array2string(member, threshold=6)}"
    if distance > FAR * max(float(np.linalg.norm(x)), float(np.linalg.norm(member))):
        warnings.warn(f"{note}. Give a point of the set, or leave x0 out.", UserWarning, stacklevel=5)
    return member, note


def put_back(region: Region, x: Array) -> tuple[Array, float, bool]:
    """Return a member near x, its distance, and whether rounding explains it."""
    if can_project(region):
        nearest = np.asarray(region.project(x), dtype=np.float64)
        member = region.clip(nearest) if can_clip(region) else nearest
    else:
        member = region.clip(x) if can_clip(region) else towards(region, x)
    distance = float(np.linalg.norm(member - x))
    return (
        member,
        distance,
        distance <= ROUNDING * max(float(np.linalg.norm(x)), float(np.linalg.norm(member))),
    )


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


def entropy_of(rng: Seed) -> tuple[int, ...]:
    """The integers behind a seed, a ``SeedSequence``, a ``Generator`` or ``BitGenerator`` (drawn from) or None."""
    if isinstance(rng, (np.random.Generator, np.random.BitGenerator)):
        return tuple(int(word) for word in np.random.default_rng(rng).integers(1 << 32, size=4))
    if isinstance(rng, np.random.SeedSequence) and rng.spawn_key:
        return tuple(int(word) for word in rng.generate_state(4))
    try:
        sequence = rng if isinstance(rng, np.random.SeedSequence) else np.random.SeedSequence(rng)
    except (TypeError, ValueError) as error:
        raise TypeError(
            "rng should be a whole number of at least 0, a list of them, a numpy.random.Generator, BitGenerator or "
            f"SeedSequence, or None; got {rng!r:.60}. For a RandomState write numpy.random.default_rng(seed)."
        ) from error
    words = np.atleast_1d(np.asarray(sequence.entropy, dtype=object))
    return tuple(int(word) for word in words)
