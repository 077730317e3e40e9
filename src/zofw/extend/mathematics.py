"""Laws of the mathematics of a method; each yields a sentence where it is broken."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np

from zofw.algorithms import as_algorithm, is_first_order, methods
from zofw.algorithms.facts import Facts, evaluate
from zofw.algorithms.registry import Described
from zofw.atoms import Atom
from zofw.core import Array, Indices, MethodLike, State, Task
from zofw.extend.play import (
    Moment,
    World,
    follow,
    inner,
    linear,
    linear_sum,
    logistic_sum,
    play,
    quadratics,
    seen,
    uneven,
    watched,
)
from zofw.schedules import Scaled, as_schedule
from zofw.sets import Box, L2Ball, as_set
from zofw.sets.check import Skipped

DRAWS = 500  # first iterations whose mean and covariance are measured
PAIRS = 30  # runs on either side of a comparison in law
LEAST_COSINE = 0.3  # of mean estimate and mean gradient; momentum lags, hence so little
MOST_ERROR = 0.5  # of the mean estimate of a constant gradient, over its length
SELDOM = 0.1  # of the iterations: an oracle that is called less often is called for something else
ERRORS = 5.0  # standard errors that a mean may be off
MIDDLE = 25  # iterations before the one whose estimate is drawn again and again
LATER_DRAWS = 400
ROUNDING = 1e-3  # of the gradient: differences err by a radius times the curvature

Mixed: TypeAlias = tuple[Array, Array]


@dataclass(frozen=True)
class MethodSubject:
    """The method under test: a registered name or settings."""

    method: MethodLike

    @cached_property
    def settings(self) -> Any:
        """Return the settings object, sizes not yet derived."""
        return methods[self.method]() if isinstance(self.method, str) else self.method

    @property
    def facts(self) -> Facts:
        """What it states; a method that states nothing has what most keep."""
        unstated = Facts("adaptive", lmo=("0", "inf"))
        return self.settings.facts if isinstance(self.settings, Described) else unstated

    @property
    def first_order(self) -> bool:
        return is_first_order(self.settings)

    @cached_property
    def _runs(self) -> dict[World, tuple[Moment, ...]]:
        return {}

    def run(self, world: World) -> tuple[Moment, ...]:
        """Return its run in a world within the queries that it states, played once."""
        if world not in self._runs:
            limits = {"iterations": 50} if self.first_order else {"budget": self.facts.within}
            self._runs[world] = tuple(play(self.settings, world, **limits))
        return self._runs[world]

    @cached_property
    def ends(self) -> Array:
        """Return x after six iterations in the uneven world, a row for each seed."""
        return ends(self.settings, uneven(), range(PAIRS))

    def resolved(self, world: World, budget: int | None = None, iterations: int | None = None) -> Any:
        """Return the settings for a world, with every size derived."""
        problem = world.problem
        task = Task(as_set(world.region), problem.dim, problem.n, budget, iterations)
        return as_algorithm(self.settings, task)[0]


def short(on: MethodSubject, world: World) -> Iterator[str]:
    """Where the decrease in a world falls short of what is stated."""
    run, share, within = on.run(world), on.facts.share, on.facts.within
    attained = world.share(run[-1].state.x) if run else 0.0
    if not attained >= share:
        yield (
            f"within {within} queries it attains {attained:.3f} of Frank-Wolfe's decrease, where {share} is stated; if the "
            "method is right and needs more, state it: Facts(share=…, within=…)."
        )


def decreases_on_quadratics(on: MethodSubject) -> Iterator[str]:
    """on a sum of quadratics it attains the stated share of Frank-Wolfe's decrease within the stated queries"""
    yield from short(on, quadratics())


def decreases_on_logistic_sums(on: MethodSubject) -> Iterator[str]:
    """on a logistic sum it attains the stated share of Frank-Wolfe's decrease within the stated queries"""
    yield from short(on, logistic_sum())


def decreases_inside(on: MethodSubject) -> Iterator[str]:
    """where the best point lies inside it attains that share too: gradients of earlier points lead past it"""
    yield from short(on, inner())


def finds_the_vertex(on: MethodSubject) -> Iterator[str]:
    """from exact differences of linear functions, it finds the vertex of their mean"""
    yield from short(on, linear_sum())


def second_half(on: MethodSubject, world: World) -> list[tuple[int, Moment, Array]]:
    """Return t, the moment and the oracle's argument over the second half of a run."""
    seen = [(t, moment, moment.g) for t, moment in enumerate(on.run(world)) if moment.g is not None]
    if not seen:
        raise Skipped("it calls neither lmo nor project of its task")
    if len(seen) < SELDOM * len(on.run(world)):
        raise Skipped(
            f"it calls its oracle in {len(seen)} of {len(on.run(world))} iterations: not to follow it"
        )
    return seen[len(seen) // 2 :]


def follows_the_gradient(on: MethodSubject) -> Iterator[str]:
    """what it hands to its oracle points along the gradient: the mean over the second half of a run, on quadratics"""
    world = quadratics()
    later = second_half(on, world)
    g = np.mean([unit(g) for _, _, g in later], axis=0)
    gradient = np.mean([world.problem.gradient(moment.state.x) for _, moment, _ in later], axis=0)
    cosine = float(unit(g) @ unit(gradient))
    if not cosine >= LEAST_COSINE:
        yield f"the mean estimate and the mean gradient have cosine {cosine:.3f}, where {LEAST_COSINE} is the least."


def estimates_the_gradient_of_all(on: MethodSubject) -> Iterator[str]:
    """on linear functions its estimates settle around the gradient of them all: their mean over the second half of a run"""
    world = linear_sum()
    later, gradient = second_half(on, world), world.problem.gradient(world.x0)
    eta = as_schedule(1.0)  # a projected point is x − ηg
    if later[0][1].projected:
        if on.facts.estimate is None:
            raise Skipped("it projects, and states nothing of its estimate")
        eta = as_schedule(vars(on.resolved(world, on.facts.within))["step_size"])
    g = np.mean([g / eta(t) for t, _, g in later], axis=0)
    error = float(np.linalg.norm(g - gradient) / np.linalg.norm(gradient))
    if not error <= MOST_ERROR:
        yield (
            f"the mean estimate is {g.round(3)}, where the gradient is {gradient.round(3)}: off by {error:.2f} of its "
            f"length, where {MOST_ERROR} is the most."
        )


def unit(v: Array) -> Array:
    """Return v over its length, 0 for 0."""
    return v / max(float(np.linalg.norm(v)), 1e-300)


def doubling_doubles(on: MethodSubject) -> Iterator[str]:
    """doubling f doubles the estimates and leaves x as it is"""
    f, region = logistic_sum().problem, logistic_sum().region
    world, twice = World(seen(f), region), World(seen(f, 2.0), region)  # seen alike, so that both round alike
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
    other = World(seen(world.problem, order=order), world.region)
    yield from _alike(on, other, np.arange(world.problem.dim), "components")


def coordinates_are_alike(on: MethodSubject) -> Iterator[str]:
    """permuting the coordinates of f and of the set permutes the law of x"""
    world = uneven()
    places = np.array([3, 0, 4, 1, 2])
    lower, upper = (np.empty(len(places)) for _ in range(2))
    lower[places], upper[places] = world.region.lower, world.region.upper
    other = World(seen(world.problem, places=places), Box(lower, upper))
    yield from _alike(on, other, places, "coordinates")


def ends(settings: MethodLike, world: World, seeds: range) -> Array:
    """Return x after six iterations, a row for each seed."""
    runs = (list(play(settings, world, iterations=6, seed=seed)) for seed in seeds)
    return np.array([run[-1].state.x if run else world.x0 for run in runs])


def _alike(on: MethodSubject, other: World, places: Indices, what: str) -> Iterator[str]:
    """Compare the mean of x after six iterations in both worlds, up to noise."""
    samples = [on.ends, ends(on.settings, other, range(PAIRS, 2 * PAIRS))[:, places]]
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
    world = World(linear(c[None, :]), L2Ball(50.0))
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


def later_estimates_are_as_stated(on: MethodSubject) -> Iterator[str]:
    """after 25 iterations the next estimate has the stated mean, over 400 draws from one state"""
    stated = on.facts.estimate
    if stated is None or stated.later is None:
        raise Skipped("it states nothing")
    world = quadratics()
    task = watched(world)
    settings = as_algorithm(on.settings, task)[0]
    moments = list(play(settings, world, iterations=MIDDLE))
    state, t = moments[-1].state, len(moments)
    letters = on.facts.names(settings, world.problem.n, world.problem.dim)
    names = {letter: value(t) if callable(value) else value for letter, value in letters.items()}
    eta = 1.0
    draws = []
    for seed in range(LATER_DRAWS):
        moment = follow(settings, task, world.problem, state, np.random.default_rng([MIDDLE, seed]))
        if moment is None or moment.g is None:
            raise Skipped("it calls neither lmo nor project of its task")
        eta = as_schedule(vars(settings)["step_size"])(t) if moment.projected else 1.0
        draws.append(moment.g / eta)
    w, gradient = evaluate(stated.later, names), world.problem.gradient(state.x)
    expected = w * gradient + ((1 - w) * vars(state)["g"] if w != 1 else 0.0)
    mean, error = np.mean(draws, axis=0), np.std(draws, axis=0) / math.sqrt(LATER_DRAWS)
    off = np.abs(mean - expected) - ERRORS * error
    if (off > ROUNDING * float(np.linalg.norm(gradient))).any():
        j = int(np.argmax(off))
        yield (
            f"entry {j} of the estimate of iteration {t} is {mean[j]:.4g} ± {error[j]:.2g}, where {expected[j]:.4g} is stated; "
            f"Facts(estimate=Estimate(…, later={stated.later!r}))."
        )


def atoms_make_the_point(on: MethodSubject) -> Iterator[str]:
    """x is the stated mixture of atoms, Σ w a with w ≥ 0 and Σ w = 1, and weight is taken from the worst atom"""
    kept = False
    for world in (quadratics(), inner(), logistic_sum()):
        before: Mixed | None = None
        for t, moment in enumerate(on.run(world)):
            after = mixture_of(moment.state)
            if after is not None:
                kept = True
                yield from _mixed(after, moment, t)
                if before is not None and moment.g is not None and not moment.projected:
                    yield from _away(before, after, moment.g, t)
            before = after
    if not kept:
        raise Skipped("its state has no atoms and weights")


def _mixed(mixture: Mixed, moment: Moment, t: int) -> Iterator[str]:
    A, w = mixture
    if w.min() < -1e-9 or abs(w.sum() - 1) > 1e-9:
        yield f"after iteration {t} the weights are {w.round(4)}: negative, or their sum is not 1."
    off = float(np.abs(w @ A - moment.state.x).max())
    if off > 1e-7 * (1.0 + float(np.abs(A).max())):
        yield f"after iteration {t} the atoms and weights make a point {off:.3g} from x."


def _away(before: Mixed, after: Mixed, g: Array, t: int) -> Iterator[str]:
    """Where exactly one atom lost more than its share, it should be the one with the greatest ⟨g, a⟩."""
    A, w = before
    left = np.array([sum(v for b, v in zip(*after, strict=True) if np.allclose(a, b, atol=1e-12)) for a in A])
    ratio = left / w
    common = float(np.median(ratio))
    lost, same = ratio < common * (1 - 1e-6), np.abs(ratio - common) <= 1e-6 * common
    if lost.sum() != 1 or same.sum() < max(2, len(w) - 2):  # a step towards an atom, or of all weights
        return
    heights = A @ g
    i = int(np.argmax(lost))
    if heights[i] < heights.max() - 1e-6 * float(np.ptp(heights)):
        yield (
            f"iteration {t} takes weight from an atom with ⟨g, a⟩ = {heights[i]:.4g}, and another has {heights.max():.4g}; "
            "the worst atom is the one to leave."
        )


def mixture_of(state: State) -> Mixed | None:
    """Return atoms as rows and weights, if a state or a field of it has them."""
    for holder in (state, *vars(state).values()):
        fields = vars(holder) if dataclasses.is_dataclass(holder) else {}
        if "atoms" in fields and len(fields.get("weights", ())):
            return np.array([_dense(a) for a in fields["atoms"]]), np.asarray(fields["weights"])
    return None


def _dense(atom: Atom | Array) -> Array:
    return atom.dense() if isinstance(atom, Atom) else np.asarray(atom)


LAWS = (
    decreases_on_quadratics,
    decreases_on_logistic_sums,
    decreases_inside,
    finds_the_vertex,
    follows_the_gradient,
    estimates_the_gradient_of_all,
    doubling_doubles,
    components_are_alike,
    coordinates_are_alike,
    first_estimate_is_as_stated,
    later_estimates_are_as_stated,
    atoms_make_the_point,
)
