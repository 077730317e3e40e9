"""What f(x*) is: a first-order reference value, with its certificate where the problem is
convex.

    gap(x) = max over s in X of ⟨∇f(x), x − s⟩ ≥ f(x) − min f          for convex f

Sets that project get accelerated projected gradients with restarts, the others Frank-Wolfe with
pairwise (or, where f is not convex, away) steps; either way the gap is computed at the very
point that is returned. Nothing here is zeroth-order, and nothing is counted.

References
----------
Y. Nesterov, A method for solving the convex programming problem with convergence rate O(1/k²), 1983.
B. O'Donoghue, E. Candès, Adaptive restart for accelerated gradient schemes, Foundations of Computational Mathematics
15, 2015.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Protocol, cast

import numpy as np

from zofw.core import Array, FirstOrderTask, Seed
from zofw.papers import FrankWolfe
from zofw.problems.abilities import Able, has
from zofw.sets import Region, SetLike, as_set, can_project

STEEPEST = 1e30  # a Lipschitz constant beyond which rounding decides


@dataclass(frozen=True, eq=False)
class Reference:
    """A value to compare with.

    Attributes
    ----------
    value, x, gap
        f(x), x and the Frank-Wolfe gap there.
    certified
        Whether f is convex and the gap within the tolerance, so that value − gap ≤ min f ≤
        value.
    label
        What it is, in words, for a caption.
    """

    value: float
    x: Array
    gap: float
    certified: bool
    label: str


class Smooth(Protocol):
    """A problem with its mean and the gradient of it."""

    @property
    def n(self) -> int: ...
    @property
    def dim(self) -> int: ...
    def value(self, x: Array) -> float: ...
    def gradient(self, x: Array) -> Array: ...


def reference(
    problem: Smooth,
    set: SetLike,
    *,
    tol: float = 1e-10,
    starts: int = 16,
    rng: Seed = 0,
    max_iter: int = 20_000,
) -> Reference:
    """Return the minimum of a problem with a gradient over a set.

    Parameters
    ----------
    problem
        A problem with ``dim``, ``value(x)`` and ``gradient(x)``; ``convex=True`` makes its
        minimum certifiable.
    set
        The convex set.
    tol
        The Frank-Wolfe gap to reach.
    starts
        For a problem that is not convex: how many starting points, the set's own and random
        members.
    rng
        Seed or generator of the random members.
    max_iter
        Most iterations from each start.

    Examples
    --------
    >>> import numpy as np, zofw
    >>> from types import SimpleNamespace
    >>> c = np.array([2.0, 0.0])
    >>> f = SimpleNamespace(
    ...     n=1, dim=2, convex=True, value=lambda x: 0.5 * float((x - c) @ (x - c)), gradient=lambda x: x - c
    ... )
    >>> best = reference(f, zofw.L1Ball(1.0))
    >>> best.certified, round(best.value, 9)
    (True, 0.5)
    """
    for name in ("value", "gradient"):
        if not has(problem, name):
            raise ValueError(
                f"A reference value needs a problem with value(x) and gradient(x); {type(problem).__name__} has no "
                f"{name}. Compare with the best run instead."
            )
    if not (starts >= 1 and max_iter >= 1 and tol > 0):
        raise ValueError(
            f"starts and max_iter should be at least 1 and tol positive; got {starts}, {max_iter}, {tol}."
        )
    region, convex = as_set(set), has(problem, "convex") and bool(cast(Able, problem).convex)
    solve = _accelerated if can_project(region) else _active_sets
    if convex:
        x = solve(problem, region, region.initial_point(problem.dim), tol, max_iter, True)
        gap = _gap(problem.gradient(x), region, x)
        reached = "certified" if gap <= tol else f"not certified to {tol:.0e}"
        label = f"minimum, {reached}: Frank-Wolfe gap {gap:.1e}"
        return Reference(float(problem.value(x)), x, gap, gap <= tol, label)
    generator = np.random.default_rng(rng)
    points = [
        solve(problem, region, x0, tol, max_iter, False)
        for x0 in (region.initial_point(problem.dim), *_members(region, problem.dim, starts - 1, generator))
    ]
    values = [float(problem.value(x)) for x in points]
    best = int(np.argmin(values))
    gap = _gap(problem.gradient(points[best]), region, points[best])
    label = f"best of {starts} starts, not certified: the problem is not convex; Frank-Wolfe gap {gap:.1e}"
    return Reference(values[best], points[best], gap, False, label)


def _gap(g: Array, region: Region, x: Array) -> float:
    return float(g @ x) - float(region.atom(g).dot(g))


def _members(region: Region, dim: int, count: int, rng: np.random.Generator) -> list[Array]:
    """Return random members: mixtures of 1, 2, 4, … vertices with Dirichlet weights."""
    members = []
    for k in range(count):
        weights = rng.dirichlet(np.ones(2 ** (k % 5)))
        members.append(sum(w * region.lmo(rng.standard_normal(dim)) for w in weights))
    return members


def _active_sets(
    problem: Smooth, region: Region, x0: Array, tol: float, max_iter: int, convex: bool
) -> Array:
    """Frank-Wolfe with an active set, to the point whose own gap is at most tol."""
    method = FrankWolfe("pairwise" if convex else "away", 0.1)
    task = FirstOrderTask(region, problem.dim, problem.n, gradient=problem.gradient)
    state, rng = method.init(task, x0), np.random.default_rng(0)
    for _ in range(max_iter):
        try:
            next(method.step(task, state, rng))
        except StopIteration as end:
            after, info = end.value
        if info.bound <= tol:
            break
        state = after
    return state.x


def _accelerated(problem: Smooth, region: Any, x0: Array, tol: float, max_iter: int, convex: bool) -> Array:
    """Projected gradients: with momentum and restarts for convex f, monotone and plain
    otherwise.

    The step 1/L comes from backtracking on ⟨∇f(z) − ∇f(y), z − y⟩ ≤ L‖z − y‖², which unlike a
    test on values stays meaningful when z is within rounding of the minimum.
    """
    x = y = x0
    L, theta = 1.0, 1.0
    for _ in range(max_iter):
        z, g, L = _backtracked(problem, region, y, 0.9 * L, convex)
        if _gap(g, region, z) <= tol or L > STEEPEST or not (z - y).any():
            return z
        if not convex or float((y - z) @ (z - x)) > 0.0:
            y, theta = z, 1.0
        else:
            longer = (1.0 + math.sqrt(1.0 + 4.0 * theta**2)) / 2.0
            y, theta = z + (theta - 1.0) / longer * (z - x), longer
        x = z
    return x


def _backtracked(
    problem: Smooth, region: Any, y: Array, L: float, convex: bool
) -> tuple[Array, Array, float]:
    """Return the end of a projected step of 1/L from y, the gradient there, and L."""
    g, ceiling = problem.gradient(y), math.inf if convex else problem.value(y)
    while True:
        z: Array = region.project(y - g / L)
        g_z, move = problem.gradient(z), z - y
        smooth = float((g_z - g) @ move) <= L * float(move @ move)
        if (smooth and (convex or problem.value(z) <= ceiling)) or L > STEEPEST:
            return z, g_z, L
        L *= 2.0
