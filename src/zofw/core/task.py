"""What a method may know of its problem, and what a step reports."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Protocol, cast, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike

from zofw.atoms import Array, Atom, as_atom
from zofw.core.query import Batch, Indices, Pattern

ONE_THREAD = 8192  # entries of vectors that OpenBLAS, which comes with NumPy, multiplies on one thread


@runtime_checkable
class ConvexSet(Protocol):
    """A compact convex set X of ℝᵈ; what else it may have is in :class:`FullSet`."""

    @property
    def fixed_dim(self) -> int | None:
        """Return the dimension d if the set has one of its own, None if it lives in every dimension."""

    def check_dim(self, dim: int) -> None:
        """Raise ValueError if the set does not live in this dimension."""

    def atom(self, g: ArrayLike, warm: Atom | None = None) -> Atom:
        """Return a vertex s that minimises ⟨g, s⟩ over X, in structured form.

        The result is a function of (g, warm): no call changes a later one. A warm atom, usually
        that of the previous call, saves work where the oracle is iterative and is ignored where
        it is not.
        """

    def lmo(self, g: ArrayLike, warm: Atom | None = None) -> Array:
        """Return the same vertex as a fresh array with the shape of g."""

    def contains(self, x: ArrayLike, tol: float = 1e-9) -> bool:
        """Return True if x is a member, up to tol relative to the scale of the set."""

    def diameter(self, dim: int) -> float:
        """Return the greatest Euclidean distance of two members, or a stated upper bound of it."""

    def initial_point(self, dim: int) -> Array:
        """Return a member to start from: 0 where it is the natural centre, a barycentre otherwise."""

    def inball(self, dim: int) -> tuple[Array, float] | None:
        """Return centre and radius of a Euclidean ball of the affine hull that lies inside X;
        None if none is known.

        The radius is infinite when X is a single point, whose affine hull has no directions.
        """

    def tangent(self, v: ArrayLike) -> Array:
        """Return the orthogonal projection of v, (d,) or (d, b), on the directions of the affine hull of X."""


class FullSet(ConvexSet, Protocol):
    """A set with everything that sets may offer."""

    def project(self, x: ArrayLike) -> Array:
        """Return the member nearest to x."""

    def clip(self, x: ArrayLike) -> Array:
        """Return a member near x, with no tolerance at all: every inequality to the last bit of
        ``<=`` and every equation to rounding.

        A point that is a member up to rounding moves by rounding, an exact member not at all.
        """

    def facets(self, dim: int) -> tuple[Array, Array]:
        """Return A, b with A x ≤ b, which with the affine hull make the polyhedron."""


@runtime_checkable
class Outer(Protocol):
    """A function h of the numbers of all components, which a run minimises in place of their mean: h(v(x))."""

    def check(self, size: int) -> None:
        """Raise ValueError if h does not take vectors of this length."""

    def of(self, vectors: Array) -> Array:
        """Return h at every row of ``vectors``, (k, N): (k,)."""

    def slope(self, vector: Array) -> Array:
        """Return a gradient or subgradient of h at one vector: (N,)."""

    def curvature(self, vector: Array) -> Array | None:
        """Return the diagonal of the Hessian of h, (N,); None if h has kinks."""


def objective(outer: Outer | None, values: Array) -> Array:
    """Return the objective at each point from values of all components, (k, width): (k,)."""
    return values[:, 0] if outer is None else outer.of(values)


class OutOfBudget(Exception):
    """Thrown into an iteration whose next query cannot be paid; catch it to end with what is known."""


def no_gradient(x: Array) -> Array:
    raise ValueError(
        "A first-order reference method reads ∇f, and this problem has no gradient. Give one, or take a zeroth-order method "
        "such as zo-fw."
    )


def integers(rng: np.random.Generator, n: int, size: int) -> Indices:
    """Return ``size`` numbers below n."""
    return rng.integers(n, size=size, dtype=np.int64)


@dataclass
class Task:
    """What a zeroth-order method may know of its problem: the set, the sizes, the budget. Never
    the objective.

    The session keeps ``paid`` and ``lmos``: what the run had paid when the open iteration
    began, with that iteration's own queries; and ``failed``: the points, each with its
    component, at which f is known to have failed for good when the iteration began. What fails
    meanwhile is seen by the next iteration, or by this one when it is begun again.
    """

    set: ConvexSet
    dim: int
    n: int = 1
    budget: int | None = None
    max_iter: int | None = None
    inside: bool = False
    gap_tol: float | None = None
    resolution: float = 0.0  # Smallest distance at which the evaluator distinguishes two points.
    draw: Callable[[np.random.Generator, int, int], Indices] = field(default=integers, compare=False)
    lmos: int = field(default=0, compare=False)
    paid: int = field(default=0, compare=False)
    known: tuple[Array, Array] | None = field(
        default=None, compare=False, repr=False
    )  # points of X and f there, best first
    known_pattern: Callable[[Batch], Pattern | None] | None = None
    whole_pattern: Pattern | None = field(default=None, compare=False, repr=False)
    outer: Outer | None = (
        None  # the function of all numbers of all components that is minimised; None for their mean
    )
    workers: int = 1  # evaluations that are made at the same time: a query of k takes ⌈k / workers⌉ rounds
    in_order: bool = True  # False: values are used as they come, by queries with ``enough``
    each: int = 0  # how many numbers a component has, for such a function: ``Query.each`` of a query for it
    failed: tuple[tuple[Array, int], ...] = field(default=(), compare=False, repr=False)

    @property
    def remaining(self) -> float:
        """Return queries that the open iteration may still ask."""
        return math.inf if self.budget is None else self.budget - self.paid

    def lmo(self, g: Array, warm: Atom | None = None) -> Atom:
        """Return a minimiser of ⟨g, s⟩, counted; ``warm``, an earlier atom, may save work."""
        self.lmos += 1
        return as_atom(self.set.atom(g) if warm is None else self.set.atom(g, warm))

    @property
    def points_at_once(self) -> int:
        """Return how many points, each with all n components, the workers evaluate at once."""
        return max(1, self.workers // self.n)

    @property
    def can_project(self) -> bool:
        """Return True if the set has a Euclidean projection."""
        return hasattr(self.set, "project")

    def project(self, x: Array) -> Array:
        """Return the Euclidean projection on the set."""
        if not self.can_project:
            raise TypeError(f"{self.set!r} has no Euclidean projection.")
        return cast(FullSet, self.set).project(x)

    @property
    def diameter(self) -> float:
        return float(self.set.diameter(self.dim))

    @property
    def reach(self) -> float:
        """Return how far from x points may lie: where they must stay inside, a ball's radius."""
        ball = self.set.inball(self.dim) if self.inside else None
        return math.inf if ball is None else float(ball[1])

    @property
    def all(self) -> Batch:
        return Batch(self.n)

    @property
    def structured(self) -> bool:
        """Return True if it is known which coordinates a component depends on."""
        return self.known_pattern is not None

    def pattern(self, S: Batch) -> Pattern:
        """Return the coordinates that each component of S depends on; all of them where nothing is known."""
        if S.indices is None and self.whole_pattern is not None:
            return self.whole_pattern
        found = None if self.known_pattern is None else self.known_pattern(S)
        found = Pattern.full(len(S), self.dim) if found is None else found
        self.whole_pattern = found if S.indices is None else self.whole_pattern
        return found

    @property
    def sweep_cost(self) -> int:
        """Return the cost of all forward differences: n(d + 1), or Σ(|support_i| + 1)."""
        return self.pattern(self.all).cost if self.by_support else self.n * (self.dim + 1)

    @property
    def by_support(self) -> bool:
        """Return True if a gradient takes differences along the coordinates of each component alone."""
        return self.structured and not self.inside

    def sample(self, rng: np.random.Generator, size: int) -> Batch:
        """Return ``size`` components drawn uniformly with replacement."""
        return Batch.drawn(self.n, self.draw(rng, self.n, size))


@dataclass
class FirstOrderTask(Task):
    """What a first-order reference method gets: the gradient of the mean as well, computed and in no count."""

    gradient: Callable[[Array], Array] = field(default=no_gradient, compare=False)


def gap(g: Array, x: Array, s: Atom) -> float:
    """Return ⟨g, x − s⟩, added in one order: the BLAS takes several threads for long vectors."""
    along = g.dot(x) if len(g) <= ONE_THREAD else np.einsum("i,i->", g, x)
    return float(along) - s.dot(g)


class State(Protocol):
    """What the next step needs, and nothing else: a frozen dataclass with at least t and x."""

    @property
    def t(self) -> int: ...
    @property
    def x(self) -> Array: ...


@dataclass(frozen=True)
class Ending:
    """A method's own word that it has nothing left to do: ``converged``, or stalled with nothing certified."""

    converged: bool
    sentence: str


@dataclass(frozen=True)
class Info:
    """What a step says about itself, beside the next state.

    Attributes
    ----------
    gap, gap_error
        An estimate of the Frank-Wolfe gap max over s of ⟨∇f(x), x − s⟩, and its standard error.
    bound
        An upper bound of that gap from values paid for at x, at a confidence that the method
        states. Only a bound makes a run CONVERGED at ``gap_tol``; a gap without one ends it as
        ESTIMATED.
    at_start
        Whether gap and bound are of the x that the iteration began with, as in most papers, and
        not of the new one.
    ending
        The method's own word that it is done.
    numbers
        Further columns of the trace.
    """

    gap: float | None = None
    gap_error: float | None = None
    bound: float | None = None
    at_start: bool = False
    ending: Ending | None = None
    numbers: Mapping[str, float] = field(default_factory=dict)

    def columns(self) -> dict[str, float]:
        """Return everything that is a number, by name."""
        own = {"gap": self.gap, "gap_error": self.gap_error, "bound": self.bound}
        return {name: number for name, number in own.items() if number is not None} | dict(self.numbers)


def frank_wolfe_info(g: Array, x: Array, s: Atom, **numbers: float) -> Info:
    """Return ⟨g, x − s⟩ at the x that the iteration began with, and the method's own numbers."""
    info = Info.__new__(Info)
    vars(info).update(
        gap=gap(g, x, s), gap_error=None, bound=None, at_start=True, ending=None, numbers=numbers
    )
    return info
