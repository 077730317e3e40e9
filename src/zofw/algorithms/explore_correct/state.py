"""What Explore-Correct carries from one iteration to the next."""

from __future__ import annotations

import math
from collections.abc import Generator
from dataclasses import dataclass

import numpy as np

from zofw.algorithms.explore_correct.belief import Belief
from zofw.atoms import Atom
from zofw.core import Answer, Array, Batch, Query, Task

UNSEEN = 1e-15  # relative to the values
PROGRESS = 4.0  # two batches differ by 2·noise in their optima; twice that is progress


@dataclass(frozen=True)
class Radii:
    """Difference steps from the noise of the values: sketches (a length), slopes and curvatures (fractions of a − o)."""

    sketch: float
    slope: float
    curvature: float
    noisy: bool  # the same point gave two values: n counts as infinite


@dataclass(frozen=True)
class Probe:
    """What is known of the noise so far: levels found, the greatest value, the greatest change of a value asked twice."""

    spacing: float = 1e-9
    size: float = 0.0  # of the set
    levels: tuple[float, ...] = ()
    largest: float = 0.0
    repeat: float = 0.0


@dataclass(frozen=True)
class Model:
    """Slopes and their variances over the batch along the active atoms, from the last correction, and curvatures from the last ones."""

    c: Array
    H: Array
    v: Array
    W: Array  # components behind each curvature


@dataclass(frozen=True)
class Candidate:
    """An atom and the decrease it promises."""

    atom: Atom
    promise: float


@dataclass(frozen=True)
class Proposal:
    """Atoms worth trying, the expected improvement of knowing the gradient, and the gap with its standard error."""

    candidates: tuple[Candidate, ...]
    improvement: float
    gap: float
    gap_error: float
    rebalance: float  # what moving weight between the active atoms promises after a walk
    walkable: bool  # many vertices, and no agreement about the best

    @property
    def bound(self) -> float:
        """The gap plus two standard errors."""
        return self.gap + 2 * self.gap_error

    @property
    def promise(self) -> float:
        return max((c.promise for c in self.candidates), default=0.0)


@dataclass(frozen=True)
class Trail:
    """The moves since the last step that was measured: x = (1 − covered) start + covered target."""

    start: Array
    atoms: tuple[Atom, ...]
    weights: Array
    target: Atom
    covered: float


@dataclass(frozen=True)
class State:
    """The iterate as a convex combination of atoms, the belief about its gradient, and what was learned about costs."""

    t: int
    x: Array
    atoms: tuple[Atom, ...]
    weights: Array
    belief: Belief
    probe: Probe = Probe()
    radii: Radii | None = None
    used: int = 0  # queries asked so far
    spread: float | None = None  # E‖∇f_i − ∇f‖², from variances over batches
    miss: float = 0.0  # ‖∇f − control variate‖², as the last exploration measured it
    atom_spread: float = (
        0.0  # greatest variance over components of a slope along a unit vector towards an atom
    )
    unit_cost: float = math.inf  # variance per coordinate of a sketch, times its queries
    searched: int = 0  # queries of explorations since the last correction
    trusting: int = 0  # corrections since the last exploration
    sketch_batch: int = 4
    batch: int = 32
    value: float = 0.0
    decrease: float = 0.0  # of the last correction
    noise: float = 0.0  # what its optimum is expected to lose to sampling
    bend: float = 1e-300  # typical curvature between two atoms
    settled: bool = False  # the last correction was not worth more than its noise
    credit: float = 0.0  # queries for which a fresh g may try its atom
    model: Model | None = None
    quicks: int = 0  # corrections since the model was last measured whole
    unchecked: float = 0.0  # decrease that those promised
    proposal: Proposal | None = None  # what the LMO says about the belief at this x
    line_batch: int = 4
    walker: Belief | None = None  # the belief that a walk follows: raw, then shrunk towards 0
    walking: bool = False  # whether it is shrunk already
    trail: Trail | None = None
    refused: int = 0  # corrections in a row that the values did not approve whole
    curvature: float = 0.0  # L: per squared length, along the last line
    walks: int = 0  # walks and lines since the last correction
    idle: int = 0  # iterations in a row that asked nothing
    finished: bool = False  # the budget has run out

    def remaining(self, task: Task) -> float:
        """Queries left."""
        return math.inf if task.budget is None else task.budget - self.used

    @property
    def unseen(self) -> float:
        """A decrease that rounding hides."""
        return UNSEEN * max(abs(self.value), self.probe.largest)

    @property
    def noisy(self) -> bool:
        return self.radii is not None and self.radii.noisy

    def left_out(self, task: Task, size: float) -> float:
        """1 − m/n: the share of its sampling error that a batch without replacement keeps."""
        return 1.0 if self.noisy else max(1.0 - size / task.n, 0.0)

    def sample(self, task: Task, rng: np.random.Generator, size: int) -> Batch:
        """Components without replacement, all of them from n/2 on; with replacement where values are noisy."""
        if self.noisy:
            return task.sample(rng, size)
        if size >= task.n / 2:
            return task.all
        return Batch(task.n, np.sort(rng.choice(task.n, size, replace=False)).astype(np.int64))


Action = Generator[Query, Answer, State]
