"""Small worlds with known answers, and a method played in them step by step, seen from inside.

The laws drive a method themselves instead of asking a session: they see the arguments of its
oracle calls, and no query is charged.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache, cached_property
from itertools import count
from typing import Any

import numpy as np

from zofw.algorithms import as_algorithm
from zofw.atoms import Atom
from zofw.core import Algorithm, Array, FirstOrderTask, Indices, MethodLike, OutOfBudget, Problem, State
from zofw.papers import FrankWolfe
from zofw.problems import BlackBox, Logistic, evaluate, mean_value
from zofw.sets import Box, L1Ball, L2Ball, as_set


@dataclass
class Watched(FirstOrderTask):
    """A task that keeps the arguments of its LMO and of its projection."""

    gradients: list[Array] = field(default_factory=list, compare=False)
    points: list[Array] = field(default_factory=list, compare=False)

    def lmo(self, g: Array, warm: Atom | None = None) -> Atom:
        self.gradients.append(np.array(g))
        return super().lmo(g, warm)

    def project(self, x: Array) -> Array:
        self.points.append(np.array(x))
        return super().project(x)


@dataclass(frozen=True, eq=False)
class Sum:
    """A finite sum by two functions: of points and components, and the gradient of the mean."""

    n: int
    dim: int
    values: Callable[[Array, Indices], Array]
    gradient: Callable[[Array], Array]


def linear(slopes: Array) -> Sum:
    """Return f_i(x) = ⟨c_i, x⟩ with the slopes c_i as rows."""
    n, dim = slopes.shape
    return Sum(n, dim, lambda X, batch: X @ slopes[batch].T, lambda x: slopes.mean(axis=0))


def diagonal(curvatures: Array, centres: Array) -> Sum:
    """Return f_i(x) = ½⟨x − c_i, H_i(x − c_i)⟩ with diagonal H_i ≥ 0."""

    def values(X: Array, batch: Indices) -> Array:
        shifted = X[:, None, :] - centres[batch]
        return np.asarray(0.5 * (curvatures[batch] * shifted**2).sum(axis=2))

    n, dim = centres.shape
    return Sum(n, dim, values, lambda x: (curvatures * (x - centres)).mean(axis=0))


def seen(
    f: Sum | Logistic, factor: float = 1.0, order: Indices | None = None, places: Indices | None = None
) -> Sum:
    """Return a problem seen otherwise: factor · f_{order[i]}(x[places])."""
    i = np.arange(f.n) if order is None else order
    j = np.arange(f.dim) if places is None else places
    back = np.argsort(j)
    return Sum(
        f.n,
        f.dim,
        lambda X, batch: np.asarray(factor * f.values(X[:, j], i[batch])),
        lambda x: np.asarray(factor * f.gradient(x[j])[back]),
    )


@dataclass(frozen=True, eq=False)
class World:
    """A finite sum on a set, its value at the start and the least."""

    problem: Sum | Logistic
    region: Any

    @property
    def x0(self) -> Array:
        return np.asarray(as_set(self.region).initial_point(self.problem.dim))

    @cached_property
    def ends(self) -> tuple[float, float]:
        """Return f(x_0), and the value that pairwise Frank-Wolfe attains."""
        last = [*play(FrankWolfe("pairwise"), self, iterations=200)][-1].state.x
        return mean_value(self.problem, self.x0), mean_value(self.problem, last)

    def share(self, x: Array) -> float:
        """Return the share of Frank-Wolfe's decrease that x attains."""
        first, least = self.ends
        return (first - mean_value(self.problem, x)) / (first - least)


@cache
def quadratics() -> World:
    """Return thirty quadratics on a ball, their mean's minimiser just outside."""
    rng = np.random.default_rng(1)
    centre = rng.standard_normal(8)
    centres = 1.3 * centre / np.linalg.norm(centre) + 0.4 * rng.standard_normal((30, 8))
    return World(diagonal(rng.uniform(0.0, 1.0, (30, 8)), centres), L2Ball(1.0))


@cache
def logistic_sum() -> World:
    """Return a sparse logistic regression of twenty rows on an ℓ1 ball."""
    rng = np.random.default_rng(2)
    Z = rng.standard_normal((20, 8))
    Z *= 2.0 / np.linalg.norm(Z, axis=1, keepdims=True)
    y = np.where(Z @ rng.standard_normal(8) + 0.3 * rng.standard_normal(20) > 0, 1.0, -1.0)
    return World(Logistic(Z, y), L1Ball(3.0))


@cache
def linear_sum() -> World:
    """Return six linear functions, any half of which leads to another vertex than all."""
    gradient = np.r_[-1.0, np.linspace(0.6, 0.0, 7)]
    first, even = np.array([1, 1, 1, -1, -1, -1]), np.array([1, -1, 1, -1, 1, -1])
    slopes = gradient + 1.1 * (np.outer(first, np.eye(8)[7]) + np.outer(even, np.eye(8)[6]))
    return World(linear(slopes), L1Ball(1.0))


@cache
def inner() -> World:
    """Return six quadratics on a box, their mean's minimiser halfway to a corner."""
    rng = np.random.default_rng(5)
    centre = rng.choice([-0.4, 0.4], 6) * rng.uniform(0.5, 1.0, 6)
    centres = centre + 0.1 * rng.standard_normal((6, 6))
    return World(diagonal(rng.uniform(0.5, 1.0, (6, 6)), centres), Box(-1.0, 1.0))


@cache
def uneven() -> World:
    """Return four quadratics in five dimensions on a box whose sides all differ."""
    rng = np.random.default_rng(4)
    upper = np.array([0.3, 0.6, 1.0, 1.5, 2.0])
    return World(diagonal(rng.uniform(0.2, 1.0, (4, 5)), rng.standard_normal((4, 5))), Box(-upper, 2 * upper))


def smooth_sum(n: int = 7, dim: int = 9) -> BlackBox:
    """Return (1/n) Σ ½‖A_i x − y_i‖²/3 of points and components, without a gradient."""
    rng = np.random.default_rng(0)
    A, y = rng.standard_normal((n, 3, dim)), rng.standard_normal((n, 3))

    def values(X: Array, batch: Indices) -> Array:
        residual = np.einsum("sij,mj->msi", A[batch], X) - y[batch]
        return np.asarray(0.5 * (residual**2).mean(axis=2))

    return BlackBox(values, dim=dim, n=n, vectorized=True)


@dataclass(frozen=True)
class Moment:
    """One iteration: the state after it, the queries so far, and g, what its first oracle call
    was about.

    g is the argument of the LMO, or x − y for a method that projects y = x − ηg; None where
    neither was called.
    """

    state: State
    spent: int
    g: Array | None
    projected: bool
    ended: bool = False


def play(
    method: MethodLike,
    world: World,
    *,
    budget: int | None = None,
    iterations: int | None = None,
    seed: int = 0,
) -> Iterator[Moment]:
    """A run of a method in a world, moment by moment, until a limit would be passed or the
    method ends by itself.

    The arrays of a state are read-only here: a step that writes into what it was given raises.
    """
    task = watched(world, budget, iterations)
    settings, _ = as_algorithm(method, task)
    state = settings.init(task, world.x0)
    for t in count() if iterations is None else range(iterations):
        for kept in vars(state).values():
            if isinstance(kept, np.ndarray):
                kept.setflags(write=False)
        moment = follow(settings, task, world.problem, state, np.random.default_rng([seed, t]))
        if moment is None:
            return
        state = moment.state
        yield moment
        if moment.ended:
            return


def watched(world: World, budget: int | None = None, iterations: int | None = None) -> Watched:
    """Return the task of a run in a world."""
    problem = world.problem
    return Watched(
        as_set(world.region), problem.dim, problem.n, budget, iterations, gradient=problem.gradient
    )


def follow(
    settings: Algorithm, task: Watched, problem: Problem, state: State, rng: np.random.Generator
) -> Moment | None:
    """Return one iteration from a state, or None if the budget would be exceeded."""
    step = settings.step(task, state, rng)
    task.gradients, task.points = [], []
    try:
        query = next(step)
        while True:
            task.paid += query.cost
            if task.remaining < 0:
                return None
            query = step.send(evaluate(problem, query))
    except StopIteration as end:
        after, info = end.value
    except OutOfBudget:
        return None
    g = task.gradients[0] if task.gradients else state.x - task.points[0] if task.points else None
    return Moment(after, task.paid, g, not task.gradients, info.ending is not None)
