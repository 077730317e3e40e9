"""Laws of the mathematics of a method: what bites when a sign is wrong. Each yields a sentence where it is broken."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from zofw.algorithms import as_algorithm, is_first_order, methods
from zofw.algorithms.facts import Facts, evaluate
from zofw.algorithms.horizon import Scaled
from zofw.algorithms.registry import Described
from zofw.core import Array, Indices, MethodLike, Task
from zofw.extend.play import (
    Linear,
    Moment,
    Seen,
    World,
    linear_sum,
    logistic_sum,
    play,
    quadratics,
    uneven,
)
from zofw.sets import Box, L2Ball, as_set
from zofw.sets.check import Skipped

SEEDS = 1  # runs whose mean decrease is compared
DRAWS = 500  # first iterations whose mean and covariance are measured
PAIRS = 30  # runs on either side of a comparison in law
LEAST_COSINE = 0.3  # of mean estimate and mean gradient; momentum lags, hence so little
ERRORS = 5.0  # standard errors that a mean may be off


@dataclass(frozen=True)
class MethodSubject:
    """The method under test: a registered name or settings."""

    method: MethodLike

    @cached_property
    def settings(self) -> Any:
        """The settings object, sizes not yet derived."""
        return methods[self.method]() if isinstance(self.method, str) else self.method

    @property
    def facts(self) -> Facts:
        """What it states; a method that states nothing has what most keep."""
        unstated = Facts(use="", queries="adaptive", lmo=("0", "inf"), vectors="any")
        return self.settings.facts if isinstance(self.settings, Described) else unstated

    @property
    def first_order(self) -> bool:
        return is_first_order(self.settings)

    def resolved(self, world: World, budget: int | None = None, iterations: int | None = None) -> Any:
        """The settings for a world, with every size derived."""
        problem = world.problem
        task = Task(as_set(world.region), problem.dim, problem.n, budget, iterations)
        return as_algorithm(self.settings, task)[0]


def short(on: MethodSubject, world: World) -> Iterator[str]:
    """Where the decrease in a world falls short of what is stated."""
    share, within = on.facts.share, on.facts.within
    limits = {"iterations": 50} if on.first_order else {"budget": within}
    shares = [
        world.share(last(play(on.settings, world, seed=seed, **limits), world)) for seed in range(SEEDS)
    ]
    if not np.mean(shares) >= share:
        yield (
            f"within {within} queries it attains {np.mean(shares):.3f} of Frank-Wolfe's decrease (runs: "
            f"{', '.join(f'{s:.3f}' for s in shares)}), where {share} is stated; if the method is right and needs more, "
            "state it: Facts(share=…, within=…)."
        )


def last(run: Iterator[Moment], world: World) -> Array:
    """The last point of a run, x_0 of one without an iteration."""
    x = world.x0
    for moment in run:
        x = moment.state.x
    return x


def decreases_on_quadratics(on: MethodSubject) -> Iterator[str]:
    """on a sum of quadratics it attains the stated share of Frank-Wolfe's decrease within the stated queries"""
    yield from short(on, quadratics())


def decreases_on_logistic_sums(on: MethodSubject) -> Iterator[str]:
    """on a logistic sum it attains the stated share of Frank-Wolfe's decrease within the stated queries"""
    yield from short(on, logistic_sum())


def finds_the_vertex(on: MethodSubject) -> Iterator[str]:
    """told exact differences of linear functions, it goes to the vertex of their mean"""
    yield from short(on, linear_sum())


def follows_the_gradient(on: MethodSubject) -> Iterator[str]:
    """what it hands to its oracle points along the gradient: the mean over the second half of a run, on quadratics"""
    world = quadratics()
    limits = {"iterations": 20} if on.first_order else {"budget": on.facts.within}
    seen = [
        (moment.g, moment.state.x) for moment in play(on.settings, world, **limits) if moment.g is not None
    ]
    if not seen:
        raise Skipped("it calls neither lmo nor project of its task")
    later = seen[len(seen) // 2 :]
    g = np.mean([unit(g) for g, _ in later], axis=0)
    cosine = float(unit(g) @ unit(np.mean([world.problem.gradient(x) for _, x in later], axis=0)))
    if not cosine >= LEAST_COSINE:
        yield f"the mean estimate and the mean gradient have cosine {cosine:.3f}, where {LEAST_COSINE} is the least."


def unit(v: Array) -> Array:
    """v over its length, 0 for 0."""
    return v / max(float(np.linalg.norm(v)), 1e-300)


def doubling_doubles(on: MethodSubject) -> Iterator[str]:
    """doubling f doubles the estimates and leaves x as it is"""
    world = logistic_sum()
    twice = World(Seen(world.problem, 2.0), world.region)
    settings = on.resolved(world, 4000, 12)
    changes = {name: _scaled(vars(settings)[name], 2.0**power) for name, power in on.facts.units.items()}
    runs = [
        list(play(made, where, budget=4000, iterations=12))
        for made, where in ((settings, world), (dataclasses.replace(settings, **changes), twice))
    ]
    if len(runs[0]) != len(runs[1]):
        yield f"{len(runs[0])} iterations become {len(runs[1])}; no decision may depend on the unit of f."
    for t, (once, both) in enumerate(zip(*runs, strict=False)):
        if not np.allclose(once.state.x, both.state.x, rtol=1e-7, atol=1e-9):
            yield (
                f"x after iteration {t} is {once.state.x.round(4)} for f and {both.state.x.round(4)} for 2f; a setting "
                "with a unit of f belongs into Facts(units={name: power})."
            )
            return
        if (
            once.g is not None
            and both.g is not None
            and not (once.projected or np.array_equal(once.g, both.g))
        ):
            ratio = float(np.linalg.norm(both.g)) / max(float(np.linalg.norm(once.g)), 1e-300)
            if not np.allclose(both.g, 2.0 * once.g, rtol=1e-6, atol=1e-9 + 1e-6 * np.abs(both.g).max()):
                yield f"the estimate of iteration {t} grows {ratio:.6g} times when f is doubled."
                return


def _scaled(value: Any, factor: float) -> Any:
    return Scaled(value, factor) if callable(value) else value * factor


def components_are_alike(on: MethodSubject) -> Iterator[str]:
    """permuting the components leaves the law of x as it is"""
    world = uneven()
    order = np.array([2, 0, 3, 1])
    other = World(Seen(world.problem, order=order), world.region)
    yield from _alike(on, world, other, np.arange(world.problem.dim), "components")


def coordinates_are_alike(on: MethodSubject) -> Iterator[str]:
    """permuting the coordinates of f and of the set permutes the law of x"""
    world = uneven()
    places = np.array([3, 0, 4, 1, 2])
    lower, upper = (np.empty(len(places)) for _ in range(2))
    lower[places], upper[places] = world.region.lower, world.region.upper
    other = World(Seen(world.problem, places=places), Box(lower, upper))
    yield from _alike(on, world, other, places, "coordinates")


def _alike(on: MethodSubject, world: World, other: World, places: Indices, what: str) -> Iterator[str]:
    """Whether the mean of x after six iterations is the same in both worlds, as far as noise lets one see."""
    samples = [
        np.array([last(play(on.settings, where, iterations=6, seed=seed), where)[index] for seed in seeds])
        for where, index, seeds in (
            (world, np.arange(world.problem.dim), range(PAIRS)),
            (other, places, range(PAIRS, 2 * PAIRS)),
        )
    ]
    means = [sample.mean(axis=0) for sample in samples]
    error = np.sqrt(sum(sample.var(axis=0, ddof=1) for sample in samples) / PAIRS)
    off = np.abs(means[0] - means[1]) - ERRORS * error
    if (off > 1e-4).any():
        j = int(np.argmax(off))
        yield (
            f"with the {what} permuted the mean of x_{j} after six iterations is {means[1][j]:.4f} instead of "
            f"{means[0][j]:.4f} ± {error[j]:.4f}."
        )


def first_estimate_is_as_stated(on: MethodSubject) -> Iterator[str]:
    """the first estimate of a linear function has the stated mean and covariance"""
    stated = on.facts.estimate
    if stated is None:
        raise Skipped("it states nothing")
    c = np.array([1.0, -0.7, 0.4, 0.2, -0.1, 0.5])
    world = World(Linear(c[None, :]), L2Ball(50.0))
    names = on.facts.names(on.resolved(world, 10_000), 1, len(c))
    names |= {letter: value(0) for letter, value in names.items() if callable(value)}
    runs = (next(play(on.settings, world, budget=10_000, seed=seed)) for seed in range(DRAWS))
    g = np.array([moment.g for moment in runs])
    a = float(g.mean(axis=0) @ c / (c @ c)) if stated.mean is None else evaluate(stated.mean, names)
    g = g / a  # whose mean should be c
    rounding = 1e-5 * float(np.linalg.norm(c))
    error = g.std(axis=0) / math.sqrt(DRAWS)
    off = np.abs(g.mean(axis=0) - c)
    if (off > ERRORS * error + rounding).any():
        yield f"E g over {a:.4g} is {g.mean(axis=0).round(3)} ± {error.round(3)}, where the gradient is {c}."
        return
    squares = ((g - c) ** 2).sum(axis=1) / float(c @ c)
    yield from _matches("E‖g − E g‖²/‖E g‖²", squares, evaluate(stated.spread, names))
    if stated.along is not None:
        along = ((g - c) @ c / float(c @ c)) ** 2
        yield from _matches("the variance along the gradient", along, evaluate(stated.along, names))


def _matches(what: str, sample: Array, stated: float) -> Iterator[str]:
    mean, error = float(sample.mean()), float(sample.std()) / math.sqrt(len(sample))
    if abs(mean - stated) > ERRORS * error + 1e-6:
        yield f"{what} is {mean:.4g} ± {error:.2g}, where {stated:.4g} is stated."


LAWS = (
    decreases_on_quadratics,
    decreases_on_logistic_sums,
    finds_the_vertex,
    follows_the_gradient,
    doubling_doubles,
    components_are_alike,
    coordinates_are_alike,
    first_estimate_is_as_stated,
)
