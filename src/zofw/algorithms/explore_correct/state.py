"""What Explore-Correct carries from one iteration to the next, grouped by what it is."""

from __future__ import annotations

import math
from collections.abc import Generator
from dataclasses import dataclass, field

import numpy as np

from zofw.algorithms.explore_correct.belief import Belief
from zofw.atoms import Atom
from zofw.core import Answer, Array, Batch, Query, Task

LONGEST = 0.3  # radius, relative to the set


@dataclass(frozen=True)
class Values:
    """What values can show: their noise ε, how much they vary over the set, and the radii that follow."""

    noise: float  # standard deviation of one value
    range: float  # greatest difference of two values seen
    size: float  # of the set
    random: bool  # the same point gave two values: n counts as infinite
    coarser: int = 0  # radii are 4^coarser times as long, after finer ones showed nothing

    @property
    def unseen(self) -> float:
        """A decrease that noise hides."""
        return 4.0 * self.noise

    def radius(self, task: Task, order: float) -> float:
        """(ε/range)^{1/order} of the set, for differences of order − 2, if points so near can be told apart; a pair of directions
        has to fit inside.
        """
        relative = min(self.noise / self.range, 1.0) if self.range > 0 else 1.0
        least = task.resolution * math.sqrt(task.dim) / self.size
        fraction: float = max(4.0**self.coarser * relative ** (1 / order), least)
        return min(fraction, LONGEST, task.reach / (2 * self.size))

    def step(self, task: Task) -> float:
        """The radius of sketches and sweeps, a length: signs along all coordinates together are √d long."""
        return self.radius(task, 3) * self.size / math.sqrt(task.dim)


@dataclass(frozen=True)
class Sketches:
    """What explorations measured beside the gradient."""

    spread: float | None = None  # E‖∇f_i − ∇f‖²
    miss: float = 0.0  # ‖∇f − control variate‖²
    unit_cost: float = math.inf  # variance per coordinate of a sketch, times its queries
    batch: int = 4
    since: int = 0  # queries of explorations since the last step on trial


@dataclass(frozen=True)
class Model:
    """x = Σ w_j a_j, and the quadratic model of f on those atoms: curvatures H, each from W components."""

    atoms: tuple[Atom, ...]
    weights: Array
    H: Array
    W: Array
    batch: int
    decrease: float = 0.0  # of the last correction
    noise: float = 0.0  # what its optimum is expected to lose to sampling
    bend: float = 0.0  # typical curvature between two atoms
    widest: float = 0.0  # greatest such curvature so far
    unit: float = 0.0  # mean curvature along a unit vector towards an atom
    spread: float = 0.0  # greatest variance over components of a slope along a unit vector towards an atom
    corrections: int = 0  # since g was last looked at
    refused: int = 0  # corrections in a row that the values did not approve whole


@dataclass(frozen=True)
class Trail:
    """The moves since the last step that was measured: x = (1 − covered) start + covered target."""

    start: Array
    model: Model
    target: Atom
    covered: float


@dataclass(frozen=True)
class Walk:
    """The belief that a walk follows, shrunk towards 0 once ``ready``; how far it went unchecked, and L along its last line."""

    belief: Belief
    ready: bool = False
    trail: Trail | None = None
    L: float = 0.0
    batch: int = 4
    moved: bool = False  # since the last correction


@dataclass(frozen=True)
class Candidate:
    """An atom and the decrease it promises."""

    atom: Atom
    promise: float


@dataclass(frozen=True)
class Proposal:
    """What the LMO says of the belief at x: atoms worth trying, what knowing ∇f would bring, the gap and its standard error."""

    candidates: tuple[Candidate, ...]
    improvement: float
    gap: float
    gap_error: float
    weights: float  # what moving weight between the active atoms promises
    scattered: bool  # vertices with several entries, and draws of the belief do not agree on one
    further: tuple[
        Candidate, ...
    ] = ()  # what a gradient that is known proposes beside, each with what it adds

    @property
    def promise(self) -> float:
        return max((c.promise for c in self.candidates), default=0.0)


@dataclass(frozen=True)
class Certificate:
    """The gap at x from two-sided slopes of all components, and what its error is made of."""

    gap: float
    noise: float  # of the values, and the third order of the slopes
    kink: float
    concave: float = 0.0  # decrease that negative curvature along a random direction promises

    @property
    def error(self) -> float:
        return self.noise + self.kink

    @property
    def bound(self) -> float:
        return max(self.gap, 0.0) + self.error


@dataclass(frozen=True)
class Tally:
    """What one kind of action has had and brought."""

    times: int = 0
    queries: int = 0
    promised: float = 0.0
    brought: float = 0.0

    def plus(self, queries: int, promised: float, brought: float) -> Tally:
        worth = promised if math.isfinite(promised) else 0.0
        return Tally(self.times + 1, self.queries + queries, self.promised + worth, self.brought + brought)


@dataclass(frozen=True)
class State:
    """The iterate and what is known there."""

    t: int
    x: Array
    belief: Belief
    sketches: Sketches
    model: Model
    walk: Walk
    values: Values | None = None
    value: float = 0.0  # of f, at the last point where a batch was asked
    first: Candidate | None = None  # the vertex of the probe, where values fall towards it
    proposal: Proposal | None = None
    certificate: Certificate | None = None  # of this x
    certified: int = 0  # queries of certificates so far
    brought: float = 0.0  # decrease that the last action saw
    progress: int = 0  # queries that the run had paid when a decrease was last seen
    tallies: dict[str, Tally] = field(default_factory=dict)

    @property
    def random(self) -> bool:
        return self.values is not None and self.values.random

    def left_out(self, task: Task, size: float) -> float:
        """1 − m/n: the share of its sampling error that a batch without replacement keeps."""
        return 1.0 if self.random else max(1.0 - size / task.n, 0.0)

    def sample(self, task: Task, rng: np.random.Generator, size: int) -> Batch:
        """Components without replacement, all of them from n/2 on; with replacement where values are random."""
        if self.random:
            return task.sample(rng, size)
        if size >= task.n / 2:
            return task.all
        return Batch(task.n, np.sort(rng.choice(task.n, size, replace=False)).astype(np.int64))


Action = Generator[Query, Answer, State]
