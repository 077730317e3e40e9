r"""Hand-Over: Explore-Correct finds the region, a sample of the components the curvature, Interpolation the digits.

    n ≤ 1000, slopes of the components spread alike along all variables:  Interpolation of all components from x₀
    x ← Explore-Correct(x₀) with a seventh of the budget
    S ← all n components if the rest pays 2 values of all of them a variable, else as many as it pays 3 values of
    z ← the better of x and x₀ on S
    e_i edges from z to members about Δ away;  on m components, at z, z + ½e_i and z + ½(e_i + e_j):
        e_iᵀHe_j = 4(f(z + ½e_i + ½e_j) − f(z + ½e_i) − f(z + ½e_j) + f(z))
    Interpolation of the mean over S from z, its first model with this H; S grows where it sees no decrease

All these points are members. A model of r variables is complete after r + 1 values of S then, instead of (r + 1)(r + 2)/2. An
error of H costs steps, and Interpolation corrects it; it does not move the optimum. A certificate of Explore-Correct ends the run,
one on a part of the components nothing. If the rest does not pay that of Interpolation, n(4r + 17), that of Explore-Correct is asked for
at the x of Interpolation: a sweep and two looks, n(d + 11) at least. Random values stay with Explore-Correct.

References
----------
M. P. Friedlander, M. Schmidt, Hybrid deterministic-stochastic methods for data fitting, SIAM Journal on Scientific Computing 34, 2012.
R. H. Byrd, G. M. Chin, W. Neveitt, J. Nocedal, On the use of stochastic Hessian information in optimization methods for machine
learning, SIAM Journal on Optimization 21, 2011.
"""

from __future__ import annotations

import math
from collections.abc import Generator
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from zofw.algorithms import settings
from zofw.algorithms.explore_correct import ExploreCorrect, columns
from zofw.algorithms.explore_correct import State as Sampled
from zofw.algorithms.explore_correct.certify import certificate_price, certify, converged, spent, sweep
from zofw.algorithms.interpolation import Interpolation
from zofw.algorithms.interpolation.certificate import price
from zofw.algorithms.interpolation.state import State as Whole
from zofw.algorithms.interpolation.trust_region import planned
from zofw.algorithms.method import Facts, Method, methods
from zofw.algorithms.model.certificate import UNKNOWN
from zofw.algorithms.model.view import sharing, units
from zofw.core import Answer, Array, Batch, Indices, Info, OutOfBudget, Purpose, Query, Stencil, Step, Task
from zofw.directions import Explicit

SHARE = 0.15  # of the budget, for Explore-Correct
WHOLE = 2.0  # values a variable that the rest has to pay of all components, or a part of them is asked
PART = 3.0  # values a variable that the rest pays of the part
LEAST_PART = 4  # components a variable of a part: of fewer the optimum is another
AGAIN = 1.5  # values a variable that the rest pays of another part, once Interpolation sees no decrease on this one
GROWTH = 1.25  # times its size at least
CURVATURE = (2, 24)  # components a variable behind H: without the least there is none
DEAREST = 0.15  # of what is left, for H
CHECKS = 6  # members at which H is compared with values
MISSED = 0.1  # of the squares of what H says there: more is a kink, or curvature that changes
MOST_RANK = 100  # variables of H
FEW = 1000  # components, of which all are asked from the beginning if all variables matter alike
FEW_VALUES = 1.15  # values of all of them a variable, that the budget pays then
LOOKED_AT = 24  # components, whose slopes tell how much the variables matter
UNEVEN = 4.0  # times the spread over components that another variable has


@dataclass(frozen=True)
class State:
    """The iterate and the state of the method that runs, and of the one that ran before."""

    t: int
    x: Array
    start: Array
    sampled: Sampled
    whole: Whole | None = None
    part: Indices | None = None  # components that Interpolation asks; None for all
    paid: int = 0  # queries, when the run was handed over

    @property
    def walls(self) -> bool:
        """Return True if a value of WORST is understood."""
        return self.whole is not None


@dataclass
class PartTask(Task):
    """The task of the mean over some components, as a method that asks all of them sees it."""

    members: Batch = Batch(1)

    @property
    def all(self) -> Batch:
        return self.members

    @classmethod
    def of(cls, task: Task, components: Indices | None) -> Task:
        """Return the task of these components, or the task itself for None."""
        if components is None:
            return task
        known = vars(task) | {"n": len(components), "known_pattern": None, "whole_pattern": None}
        return cls(**known, members=Batch(task.n, components))


@methods.register("hand-over")
@dataclass(frozen=True)
class HandOver(Method):
    """Settings of Explore-Correct followed by Interpolation; there is nothing to tune.

    Queries: those of Explore-Correct; then values at its x and at the start, for m components (r + 1)(r + 2)/2 values, and those
    of Interpolation, each of all n components or of a part.

    Parameters
    ----------
    first
        Queries of Explore-Correct; 15 % of the budget by default, n(d + 1) without any.
    """

    first: settings.Size = settings.auto(
        f"{SHARE:.0%} of the budget, or n(d + 1) without one",
        lambda task, own: task.n * (task.dim + 1) if task.budget is None else int(SHARE * task.budget),
    )

    members_only: ClassVar[bool] = True
    facts = Facts(queries="adaptive", lmo=("0", "inf"))

    def init(self, task: Task, x0: Array) -> State:
        view = self._view(task)
        return State(0, x0, x0, self._explore(view).init(view, x0))

    def most(self, task: Task, state: State) -> float:
        """Return the most that the coming iteration costs, once Interpolation runs on all components."""
        if state.whole is None or state.part is not None:
            return math.inf
        return Interpolation().most(task, state.whole)

    def step(self, task: Task, state: State, rng: np.random.Generator) -> Step:
        whole = state.whole
        looks = whole is None and state.t == 1 and few(task) and not state.sampled.values.random
        if looks and (yield from evenly_scaled(task, state, rng)):
            state = replace(state, t=2, whole=Interpolation().init(task, state.x), paid=task.paid)
            return state, _info(task, state, Info())
        if whole is None:
            return (yield from self._sample(task, state, rng))
        if state.part is not None and whole.regime in ("certificate", "done"):
            size = int(min(task.n, task.remaining / (AGAIN * (task.dim + 1))))
            if size > GROWTH * len(state.part):
                state = yield from _interpolate(task, state, size, rng, whole.x, whole.H)
                return state, _info(task, state, Info())
            regime = "model" if whole.regime == "certificate" else "done"
            whole = replace(whole, regime=regime, bound=UNKNOWN)  # a part certifies nothing
        elif whole.regime == "certificate" and whole.bound is None:
            explore = self._explore(task)
            ends = explore.continued(task, whole.lowest, state.sampled.values, whole.value)
            if certificate_price(task, ends) <= task.remaining < price(task, whole.frame(task)):
                return (yield from _certify(task, state, whole, ends, rng))
        view = PartTask.of(task, state.part)
        whole, info = yield from sharing(task, view, Interpolation().step(view, whole, rng))
        state = replace(state, t=state.t + 1, x=whole.x, whole=whole)
        return state, _info(task, state, info if state.part is None else Info())

    def _sample(self, task: Task, state: State, rng: np.random.Generator) -> Step:
        """Run a step of Explore-Correct, or hand over; random values stay there, with the whole budget then."""
        before, random = state.sampled, state.sampled.values.random
        view = self._view(task, random)
        if view is not task:  # its x is compared with the start when the run is handed over
            before = replace(before, start=None)
        try:
            if state.t > 0 and spent(view):
                raise OutOfBudget
            sampled, info = yield from sharing(task, view, self._explore(view).step(view, before, rng))
        except OutOfBudget:
            if random or (size := _size(task)) == 0:
                raise
            state = yield from _interpolate(task, state, size, rng, state.x)
            return state, _info(task, state, Info())
        if sampled.values.random and not random:
            sampled = replace(sampled, start=state.start)
        if info.ending is not None and not info.ending.converged and not random:
            info = replace(info, ending=None)
        return replace(state, t=state.t + 1, x=sampled.x, sampled=sampled), info

    def _view(self, task: Task, random: bool = False) -> Task:
        """Return the task as Explore-Correct sees it: with its share of the budget, or all if the rest pays no part."""
        return replace(task, budget=self.first) if pays_sample(task) and not random else task

    @staticmethod
    def _explore(task: Task) -> ExploreCorrect:
        return ExploreCorrect().resolve(task)[0]


def few(task: Task) -> bool:
    """Return True if the components are few, and the budget pays a model of all of them."""
    return task.n <= FEW and (task.budget or math.inf) >= FEW_VALUES * task.n * (task.dim + 1)


def pays_sample(task: Task) -> bool:
    """Return True if the budget pays Interpolation of a part of the components, besides what comes before."""
    return (task.budget or math.inf) >= 2 * PART * LEAST_PART * task.dim * (task.dim + 1)


def evenly_scaled(task: Task, state: State, rng: np.random.Generator) -> Generator[Query, Answer, bool]:
    """Return True if the slopes of the components spread about as much along each variable, as those of round data do."""
    h = state.sampled.values.step(task, 3)
    batch = Batch(task.n, rng.choice(task.n, min(LOOKED_AT, task.n), replace=False).astype(np.int64))
    axes = Explicit(np.eye(task.dim) * (1.0 if (s := units(task)) is None else s))
    answer = yield Query(state.x, batch, axes, h, Stencil.FORWARD, variance=True)
    spread = np.sqrt(np.asarray(answer.variance)[0])
    return bool(spread.max() <= UNEVEN * spread.min())


def _size(task: Task) -> int:
    """Return the number of components that Interpolation asks; 0 if what is left pays no part."""
    d = task.dim
    if task.remaining >= WHOLE * task.n * (d + 1):
        return task.n
    size = int(min(task.n, task.remaining / (PART * (d + 1))))
    return size if size >= LEAST_PART * d else 0


def _interpolate(
    task: Task, state: State, size: int, rng: np.random.Generator, x: Array, H: Array | None = None
) -> Generator[Query, Answer, State]:
    """Begin Interpolation on so many components, at the better of x and the start, with the curvature H or one of a sample."""
    part = None if size >= task.n else np.sort(rng.choice(task.n, size, replace=False)).astype(np.int64)
    view, points = PartTask.of(task, part), np.array([x, state.start])
    values = (yield Query(points, view.all, purpose=Purpose.LINE_SEARCH)).values[:, 0]
    best = int(np.argmin(values))
    whole = Interpolation().init(view, points[best])
    whole = replace(whole, t=1, values=values[best : best + 1])
    H = (yield from sampled_curvature(task, view, whole, rng)) if H is None else H
    whole = whole if H is None else replace(whole, H=H)
    first = state.paid or task.paid
    return replace(state, t=state.t + 1, x=points[best], whole=whole, part=part, paid=first)


def sampled_curvature(
    task: Task, view: Task, whole: Whole, rng: np.random.Generator
) -> Generator[Query, Answer, Array | None]:
    """Measure H at the start of Interpolation on a sample; None if that would be too small or too dear."""
    frame = whole.frame(task)
    r = frame.rank
    points = (r + 1) * (r + 2) // 2
    least, most = (share * r for share in CURVATURE)
    m = int(min(most, task.n, DEAREST * (view.remaining if task.budget else math.inf) / (points + CHECKS)))
    if m < least or r > MOST_RANK:
        return None
    edges = planned(view, frame, whole)[2] - whole.z
    if len(edges) < r:
        return None
    i, j = np.triu_indices(r)
    shares = rng.dirichlet(np.ones(r), CHECKS)
    ways = np.vstack([np.zeros(r), edges / 2, (edges[i] + edges[j]) / 2, shares @ edges])
    batch = Batch(task.n, np.sort(rng.choice(task.n, m, replace=False)).astype(np.int64))
    members = np.array([frame.member(whole.z + way) for way in ways])
    f = (yield Query(members, batch if m < task.n else task.all)).values[:, 0]
    M = np.zeros((r, r))
    M[i, j] = M[j, i] = 4 * (f[r + 1 : points] - f[1 + i] - f[1 + j] + f[0])
    slopes = 2 * (f[1 : r + 1] - f[0]) - np.diag(M) / 4
    bent = 0.5 * np.einsum("ki,ij,kj->k", shares, M, shares)
    missed = f[points:] - f[0] - shares @ slopes - bent
    if not missed @ missed <= MISSED * (bent @ bent):
        return None
    inverse = np.linalg.inv(edges)
    return np.asarray(inverse @ M @ inverse.T)


def _certify(
    task: Task, state: State, whole: Whole, ends: Sampled, rng: np.random.Generator
) -> Generator[Query, Answer, tuple[State, Info]]:
    """Bound the gap as Explore-Correct does, by a sweep: Interpolation's own way costs up to four times as much."""
    ends = yield from certify(task, (yield from sweep(task, ends)), rng)
    bound = ends.certificate or UNKNOWN
    state = replace(state, t=state.t + 1, x=ends.x, whole=replace(whole, regime="model", bound=bound))
    info = Info(bound.gap, bound.error, bound.bound, ending=converged(task, ends))
    return state, _info(task, state, info)


def _info(task: Task, state: State, info: Info) -> Info:
    """Add what both methods have had and brought."""
    whole = state.whole
    if whole is None:
        return info
    told = {"times": whole.t, "queries": task.paid - state.paid, "promised": 0.0, "brought": whole.won}
    mine = {f"interpolation {name}": float(number) for name, number in told.items()}
    size = {"components": float(task.n if state.part is None else len(state.part))}
    return replace(info, numbers=columns(state.sampled) | dict(info.numbers) | mine | size)
