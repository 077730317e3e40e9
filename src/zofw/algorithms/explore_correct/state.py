"""What Explore-Correct carries from one iteration to the next, grouped by what it is."""

from __future__ import annotations

import math
from collections.abc import Generator
from dataclasses import dataclass, field

import numpy as np

from zofw.algorithms.model.certificate import Certificate
from zofw.algorithms.model.mixture import Mixture
from zofw.algorithms.model.noise import TINY, Values
from zofw.atoms import Atom
from zofw.core import Answer, Array, Batch, Matrix, Query, Task


@dataclass(frozen=True)
class Belief:
    """∇f(x) ~ N(g, s²I); s² is ``variance``."""

    g: Array
    variance: float
    strayed: float = (
        0.0  # by how much moves since may have changed ∇f along directions that nobody measured: a norm
    )

    def shrunk(self) -> Belief:
        """The posterior under ∇f ~ N(0, τ²I), τ² from ‖g‖² = d(τ² + s²); the share of τ² is known up to √(2/d) and at least that."""
        square, d = float(self.g @ self.g), len(self.g)
        share = max(1 - d * self.variance / square, math.sqrt(2 / d)) if square > 0 else 1.0
        return Belief(share * self.g, share * self.variance)

    def kalman(self, y: Array, noise: float, least: float = 0.0) -> Belief:
        """Take in an estimate whose error has variance ``noise`` per coordinate; s² stays above ``least``."""
        known = math.isfinite(self.variance)
        gain = self.variance / max(self.variance + noise, TINY) if known else 1.0
        return Belief(self.g + gain * (y - self.g), max(gain * noise, least), (1 - gain) * self.strayed)

    def moved(self, change: Array) -> Belief:
        """After a move along which the gradient changes by so much, if the Hessian is LI; as if it differed by as much as LI."""
        variance = self.variance + float(change @ change) / len(change)
        return Belief(self.g + change, variance)

    def agree(self, directions: Matrix, slopes: Array, variances: Array, drift: float, turn: float) -> Belief:
        """After a move that adds ``drift`` to s² and may turn ∇f by ``turn``: g with the slopes along the columns, as far as their variances deserve."""
        square, variance = directions.T @ directions, self.variance + drift
        gram: Array = square if isinstance(square, np.ndarray) else square.toarray()
        gram[np.diag_indices_from(gram)] += variances / max(variance, TINY) + 1e-12 * np.diag(gram)
        g = self.g + directions @ np.linalg.solve(gram, slopes - directions.T @ self.g)
        return Belief(g, variance, self.strayed + turn)


@dataclass(frozen=True)
class Sketches:
    """What explorations and walks measured beside the gradient."""

    batch: int
    spread: float | None = None  # E‖∇f_i − ∇f‖²
    miss: float = 0.0  # ‖∇f − control variate‖²
    unit_cost: float = math.inf  # variance per coordinate of a sketch, times its queries


@dataclass(frozen=True)
class Model(Mixture):
    """x = Σ w_j a_j, and the quadratic model of f on those atoms: curvatures H, each from W components."""

    H: Array
    W: Array
    batch: int
    decrease: float = 0.0  # of the last correction
    noise: float = 0.0  # what its optimum is expected to lose to sampling
    unit: float = 0.0  # mean curvature along a unit vector towards an atom
    spread: float = 0.0  # greatest variance over components of a slope along a unit vector towards an atom
    disappointed: int = 0  # corrections in a row that brought less than a sixteenth of what they had promised
    vain: tuple[
        str, ...
    ] = ()  # sets of candidates with which a correction on all components moved nothing at this x
    tried: bool = False  # a correction was made: curvatures have been seen


@dataclass(frozen=True)
class Candidate:
    """An atom and the decrease it promises."""

    atom: Atom
    promise: float


@dataclass(frozen=True)
class Choice:
    """An option with what it takes."""

    name: str
    price: float
    worth: float = 0.0
    candidates: tuple[Candidate, ...] = ()
    batch: int = 0
    due: bool = False


@dataclass(frozen=True)
class Proposal:
    """What the LMO says of the belief at x."""

    candidates: tuple[Candidate, ...]  # atoms worth trying
    further: tuple[Candidate, ...]  # what a gradient that is known proposes beside, each with what it adds
    knowing: float  # what knowing ∇f would bring
    gap: float
    gap_error: float
    scattered: bool  # vertices with several entries, and draws of the belief do not agree on one

    @property
    def promise(self) -> float:
        return max((c.promise for c in self.candidates), default=0.0)


@dataclass(frozen=True)
class State:
    """The iterate and what is known there."""

    t: int
    x: Array
    origin: Array
    belief: Belief
    sketches: Sketches
    model: Model
    values: Values = Values()
    walker: Belief | None = None  # the shrunk belief that walks follow, until another action looks at g
    swept: float = 0.0  # radius at which g was measured along every coordinate of this x; else 0
    certificate: Certificate | None = None  # of this x
    whole: float | None = None  # the mean over all components at this x
    start: Array | None = None  # where the run began, until x was compared with it
    proposal: Proposal | None = None
    value: float = 0.0  # of f, at the last point where a batch was asked
    brought: float = 0.0  # decrease that the last action saw
    progress: int = 0  # queries that the run had paid when a decrease was last seen
    tallies: dict[str, Array] = field(default_factory=dict)  # times, queries, promised, brought

    @property
    def bend(self) -> float:
        """Curvature along a line across the set."""
        return self.model.unit * self.values.size**2

    def left_out(self, task: Task, size: float) -> float:
        """1 − m/n: the share of its sampling error that a batch without replacement keeps."""
        return 1.0 if self.values.random else max(1.0 - size / task.n, 0.0)

    def sample(self, task: Task, rng: np.random.Generator, size: int) -> Batch:
        """Components without replacement, all of them from n/2 on; with replacement where values are random."""
        if self.values.random:
            return task.sample(rng, size)
        if size >= task.n / 2:
            return task.all
        return Batch(task.n, np.sort(rng.choice(task.n, size, replace=False)).astype(np.int64))


Action = Generator[Query, Answer, State]


def variance_of(answer: Answer) -> Array:
    """Return the variances over the batch that a query asked for."""
    if answer.variance is None:
        raise ValueError("A correction needs the variances it asked for.")
    return np.asarray(answer.variance[0])


def gain(slope: float, bend: float) -> float:
    """The decrease along a slope to an atom, by the curvature along the whole way there."""
    return slope - bend / 2 if slope >= bend else slope * slope / (2 * bend)
