"""Small worlds with known answers, and a method played in them step by step, seen from inside.

The laws drive a method themselves instead of asking a session: they see the arguments of its
oracle calls, and no query is charged.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache, cached_property
from itertools import count
from typing import Any, Protocol

import numpy as np

from zofw.algorithms import as_algorithm
from zofw.atoms import Atom
from zofw.core import Algorithm, Array, FirstOrderTask, Indices, MethodLike, OutOfBudget, Problem, State
from zofw.papers import FrankWolfe
from zofw.problems import BlackBox, LinearModel, Logistic, evaluate, mean_value
from zofw.sets import Box, L1Ball, L2Ball, as_set


@dataclass
class Watched(FirstOrderTask):
    """A task that remembers what its oracles were asked: gradients by the LMO, points by the projection."""

    gradients: list[Array] = field(default_factory=list, compare=False)
    points: list[Array] = field(default_factory=list, compare=False)

    def lmo(self, g: Array, warm: Atom | None = None) -> Atom:
        self.gradients.append(np.array(g))
        return super().lmo(g, warm)

    def project(self, x: Array) -> Array:
        self.points.append(np.array(x))
        return super().project(x)


class Linear(LinearModel):
    """f_i(x) = ⟨c_i, x⟩: every difference is exact."""

    curvature, convex, offsets = 0.0, True, None

    def __init__(self, slopes: Array) -> None:
        self.matrix = slopes  # (n, d)

    def loss(self, t: Array) -> Array:
        return t

    def slope(self, t: Array) -> Array:
        return np.ones_like(t)


class WithGradient(Problem, Protocol):
    """A problem that knows the gradient of its mean."""

    def gradient(self, x: Array) -> Array: ...


@dataclass(frozen=True, eq=False)
class Seen:
    """A problem seen otherwise: factor · f_{order[i]}(x[places])."""

    problem: WithGradient
    factor: float = 1.0
    order: Indices | None = None
    places: Indices | None = None

    @property
    def n(self) -> int:
        return int(self.problem.n)

    @property
    def dim(self) -> int:
        return int(self.problem.dim)

    def values(self, points: Array, components: Indices) -> Array:
        points = points if self.places is None else points[:, self.places]
        components = components if self.order is None else self.order[components]
        return np.asarray(self.factor * self.problem.values(points, components))

    def gradient(self, x: Array) -> Array:
        if self.places is None:
            return np.asarray(self.factor * self.problem.gradient(x))
        g = np.empty(self.dim)
        g[self.places] = self.problem.gradient(x[self.places])
        return self.factor * g


@dataclass(frozen=True, eq=False)
class Quadratics:
    """f_i(x) = ½⟨x − c_i, H_i(x − c_i)⟩, diagonal H_i with entries in [0, 1]: every component has its own curvature."""

    curvatures: Array  # (n, d)
    centres: Array  # (n, d)

    @property
    def n(self) -> int:
        return len(self.centres)

    @property
    def dim(self) -> int:
        return int(self.centres.shape[1])

    def values(self, points: Array, components: Indices) -> Array:
        shifted = points[:, None, :] - self.centres[components]
        return np.asarray(0.5 * (self.curvatures[components] * shifted**2).sum(axis=2))

    def gradient(self, x: Array) -> Array:
        return np.asarray((self.curvatures * (x - self.centres)).mean(axis=0))


@dataclass(frozen=True, eq=False)
class World:
    """A finite sum on a set, its value at the start and the least."""

    problem: WithGradient
    region: Any

    @property
    def x0(self) -> Array:
        return np.asarray(as_set(self.region).initial_point(self.problem.dim))

    @cached_property
    def ends(self) -> tuple[float, float]:
        """Return f(x_0), and the value that Frank-Wolfe with line search and pairwise steps attains."""
        last = [*play(FrankWolfe("pairwise"), self, iterations=200)][-1].state.x
        return mean_value(self.problem, self.x0), mean_value(self.problem, last)

    def share(self, x: Array) -> float:
        """Return the share of Frank-Wolfe's decrease that x attains."""
        first, least = self.ends
        return (first - mean_value(self.problem, x)) / (first - least)


@cache
def quadratics() -> World:
    """Return thirty quadratics in eight dimensions on a ball, their mean's minimiser just outside: the gradient turns under way."""
    rng = np.random.default_rng(1)
    centre = rng.standard_normal(8)
    centres = 1.3 * centre / np.linalg.norm(centre) + 0.4 * rng.standard_normal((30, 8))
    return World(Quadratics(rng.uniform(0.0, 1.0, (30, 8)), centres), L2Ball(1.0))


@cache
def logistic_sum() -> World:
    """Return twenty rows of length 2 in eight dimensions on an ℓ1 ball of radius 3: a logistic regression that is sparse."""
    rng = np.random.default_rng(2)
    Z = rng.standard_normal((20, 8))
    Z *= 2.0 / np.linalg.norm(Z, axis=1, keepdims=True)
    y = np.where(Z @ rng.standard_normal(8) + 0.3 * rng.standard_normal(20) > 0, 1.0, -1.0)
    return World(Logistic(Z, y), L1Ball(3.0))


@cache
def linear_sum() -> World:
    """Return six linear functions in eight dimensions on the ℓ1 ball, of which any half leads to another vertex than all."""
    gradient = np.r_[-1.0, np.linspace(0.6, 0.0, 7)]
    first, even = np.array([1, 1, 1, -1, -1, -1]), np.array([1, -1, 1, -1, 1, -1])
    slopes = gradient + 1.1 * (np.outer(first, np.eye(8)[7]) + np.outer(even, np.eye(8)[6]))
    return World(Linear(slopes), L1Ball(1.0))


@cache
def inner() -> World:
    """Return six quadratics in six dimensions on a box, their mean's minimiser halfway to a corner: who does not look again overshoots."""
    rng = np.random.default_rng(5)
    centre = rng.choice([-0.4, 0.4], 6) * rng.uniform(0.5, 1.0, 6)
    centres = centre + 0.1 * rng.standard_normal((6, 6))
    return World(Quadratics(rng.uniform(0.5, 1.0, (6, 6)), centres), Box(-1.0, 1.0))


@cache
def uneven() -> World:
    """Return four quadratics in five dimensions on a box whose sides all differ."""
    rng = np.random.default_rng(4)
    upper = np.array([0.3, 0.6, 1.0, 1.5, 2.0])
    return World(
        Quadratics(rng.uniform(0.2, 1.0, (4, 5)), rng.standard_normal((4, 5))), Box(-upper, 2 * upper)
    )


def smooth_sum(n: int = 7, dim: int = 9) -> BlackBox:
    """Return (1/n) Σ ½‖A_i x − y_i‖²/3 as a function of points and components, without a gradient."""
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
