"""The laws of a set: each yields a sentence for every way in which a set breaks it.

What they rest on: with h(g) = min over s in X of ⟨g, s⟩, a point x is in X exactly if ⟨g, x⟩ ≥
h(g) for every g. The oracle gives h at the directions that were drawn, so that a law can prove
that a point is outside, or that a vertex is not the least, with the direction as its
counterexample; it cannot prove the contrary.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, cast

import numpy as np

from zofw.atoms import Array
from zofw.core import FullSet
from zofw.sets.custom import Custom, can_clip, can_project, oracle_of
from zofw.sets.lp import solve_scipy
from zofw.sets.protocol import EPS, Region

PROGRAMMES = 40  # directions whose linear programme over the facets is solved
SHOWN = 8  # entries of an offending vector that a sentence prints


class Skipped(Exception):
    """A law that does not apply to this set, with the reason."""


def show(v: object) -> str:
    """Return a vector, short enough for a sentence."""
    return np.array2string(np.asarray(v), precision=4, threshold=SHOWN, separator=", ").replace("\n", "")


@dataclass(frozen=True)
class Subject:
    """The set under test with directions drawn once and the vertices it returned for them."""

    raw: Any  # the object as the user gave it
    region: Region  # the same with everything filled in
    dim: int
    G: Array  # (trials, d)
    rng: np.random.Generator
    tol: float
    minimum: Callable[[Array], float] | None

    def call(self, g: Array) -> Any:
        """Return the user's own oracle, on a private copy of g."""
        return oracle_of(self.raw)(g.copy())

    @cached_property
    def V(self) -> Array:
        """Return the vertices of the directions, (trials, d)."""
        return np.array([self.region.lmo(g) for g in self.G])

    @cached_property
    def support(self) -> Array:
        """Return the least values ⟨g, lmo(g)⟩, (trials,)."""
        values: Array = np.einsum("td,td->t", self.G, self.V)
        return values

    @cached_property
    def slack(self) -> Array:
        """Return what rounding may cost in ⟨g, s⟩, (trials,): tol·‖g‖₁·max|s_i|."""
        size = max(float(np.abs(self.V).max()), float(np.abs(self.region.initial_point(self.dim)).max()))
        slack: Array = self.tol * np.abs(self.G).sum(axis=1) * max(size, np.finfo(float).tiny)
        return slack

    @property
    def knows_members(self) -> bool:
        """Return True if ``contains`` is the set's own and not the one-sided stand-in."""
        return not isinstance(self.region, Custom) or hasattr(self.raw, "contains")

    def outside(self, x: Array, what: str) -> Iterator[str]:
        """Why x cannot be a member: the set says so, or the oracle separates it."""
        x = np.asarray(x, dtype=np.float64)
        if x.shape != (self.dim,) or not np.isfinite(x).all():
            yield f"{what} must be a finite array of shape ({self.dim},), but is {show(x)} of shape {x.shape}."
        elif not self.region.contains(x, self.tol):
            yield f"{what} is {show(x)}, which contains() says is not a member."
        else:
            yield from self.beyond(x, what)

    def beyond(self, x: Array, what: str) -> Iterator[str]:
        """Yield a drawn direction that separates x: ⟨g, x⟩ < h(g) = ⟨g, lmo(g)⟩."""
        below = self.support - self.G @ x
        worst = int(np.argmax(below - self.slack))
        if below[worst] > self.slack[worst]:
            yield (
                f"{what} is {show(x)}, which lies beyond the set: for g = {show(self.G[worst])} it has ⟨g, x⟩ = "
                f"{self.G[worst] @ x:.6g}, below the minimum {self.support[worst]:.6g} that lmo(g) attains."
            )


def returns_vertex(on: Subject) -> Iterator[str]:
    """lmo returns a finite real array with the shape of g"""
    for g in on.G:
        s = on.call(g)
        if (
            not isinstance(s, np.ndarray)
            or s.shape != g.shape
            or s.dtype != np.float64
            or not np.isfinite(s).all()
        ):
            kind = f"{s.dtype} array of shape {s.shape}" if isinstance(s, np.ndarray) else type(s).__name__
            yield f"lmo must return a finite float64 array of shape {g.shape}, but for g = {show(g)} returned {kind}: {show(s)}."


def leaves_gradient(on: Subject) -> Iterator[str]:
    """lmo neither changes g, nor aliases it, nor hands out the same memory twice"""
    oracle = oracle_of(on.raw)
    for g in on.G:
        mine = g.copy()
        s = oracle(mine)
        if not np.array_equal(mine, g):
            yield f"lmo changed its argument g = {show(g)} into {show(mine)}; work on a copy."
        elif np.shares_memory(s, mine):
            yield f"lmo returned an array that shares memory with g = {show(g)}; return a fresh array."
        elif np.shares_memory(s, oracle(mine)):
            yield f"two calls of lmo for g = {show(g)} returned the same memory; return a fresh array each time."


def is_function(on: Subject) -> Iterator[str]:
    """lmo is a function of g: the same g gives the same vertex, whatever was asked in between"""
    for g, s in zip(on.G[::-1], on.V[::-1], strict=True):
        for again in (on.region.lmo(g), on.region.lmo(g)):
            if not np.array_equal(again, s):
                yield f"two calls of lmo for g = {show(g)} returned {show(s)} and {show(again)}."


def returns_member(on: Subject) -> Iterator[str]:
    """lmo returns a member"""
    for g, s in zip(on.G, on.V, strict=True):
        yield from on.outside(s, f"lmo(g) for g = {show(g)}")


def minimises(on: Subject) -> Iterator[str]:
    """lmo minimises: no vertex returned for another direction has a smaller ⟨g, s⟩"""
    values = on.G @ on.V.T  # (t, h): ⟨g_t, lmo(g_h)⟩
    best = values.min(axis=1)
    for t in np.flatnonzero(on.support > best + on.slack):
        h = int(np.argmin(values[t]))
        yield (
            f"for g = {show(on.G[t])} lmo returned {show(on.V[t])} with ⟨g, s⟩ = {on.support[t]:.6g}, but lmo(h) = "
            f"{show(on.V[h])} for h = {show(on.G[h])} has {best[t]:.6g}."
        )


def attains_minimum(on: Subject) -> Iterator[str]:
    """lmo attains the minimum that was computed by other means"""
    if on.minimum is None:
        raise Skipped("no minimum= was given")
    for g, value, slack in zip(on.G, on.support, on.slack, strict=True):
        least = on.minimum(g)
        if abs(value - least) > slack:
            yield f"for g = {show(g)} lmo attains {value:.10g}, but the minimum is {least:.10g}."


def scale_free(on: Subject) -> Iterator[str]:
    """lmo(c g) is as good for g as lmo(g), for every c > 0"""
    for t, g in enumerate(on.G):
        for c in (1e-6, 1.0 / 3.0, 7.0, 1e6):
            value = float(g @ on.region.lmo(c * g))
            if abs(value - on.support[t]) > on.slack[t]:
                yield (
                    f"for g = {show(g)} lmo(g) has ⟨g, s⟩ = {on.support[t]:.6g}, but lmo({c:.3g}·g) has {value:.6g}; only "
                    "the direction of g may matter."
                )


def zero_gradient(on: Subject) -> Iterator[str]:
    """lmo(0) is a member"""
    yield from on.outside(np.asarray(on.call(np.zeros(on.dim))), "lmo(0)")


def refuses_nan(on: Subject) -> Iterator[str]:
    """a gradient with NaN or Inf is refused with ValueError"""
    for bad in (np.nan, np.inf, -np.inf):
        g = on.G[0].copy()
        g[-1] = bad
        try:
            s = on.region.lmo(g)
        except ValueError:
            continue
        yield f"lmo must raise ValueError for g = {show(g)}, but returned {show(s)}."


def atom_agrees(on: Subject) -> Iterator[str]:
    """atom(g) is the vertex lmo(g), and a warm start changes nothing but the work"""
    x = on.V.mean(axis=0)
    previous = on.region.atom(on.G[-1])
    for t, g in enumerate(on.G):
        atom, s = on.region.atom(g), on.V[t]
        if not np.array_equal(atom.dense(), s):
            yield f"for g = {show(g)} lmo returned {show(s)}, but atom(g).dense() is {show(atom.dense())}."
        elif abs(atom.dot(g) - on.support[t]) > on.slack[t]:
            yield f"for g = {show(g)} atom(g).dot(g) is {atom.dot(g):.6g} instead of {on.support[t]:.6g}."
        elif np.abs(atom.move(x, 0.25) - (x + 0.25 * (s - x))).max() > on.tol * max(1.0, np.abs(on.V).max()):
            yield f"for g = {show(g)} atom(g).move(x, 0.25) is not x + 0.25 (s − x) at x = {show(x)}."
        warm = on.region.atom(g, previous)
        if warm.dot(g) > on.support[t] + on.slack[t]:
            yield f"for g = {show(g)} a warm start gave ⟨g, s⟩ = {warm.dot(g):.6g} instead of {on.support[t]:.6g}."
        previous = atom


def diameter_bounds(on: Subject) -> Iterator[str]:
    """diameter is at least the distance of any two vertices"""
    if isinstance(on.region, Custom) and on.region.bound is None and not hasattr(on.raw, "diameter"):
        raise Skipped("the set does not know its diameter")
    diameter = on.region.diameter(on.dim)
    for s in on.V:
        distances = np.linalg.norm(on.V - s, axis=1)
        if not distances.max() <= diameter * (1 + on.tol) + on.tol * np.abs(on.V).max():
            far = on.V[int(np.argmax(distances))]
            yield f"diameter is {diameter:.6g}, but {show(s)} and {show(far)} are {distances.max():.6g} apart."


def starts_inside(on: Subject) -> Iterator[str]:
    """initial_point is a member"""
    yield from on.outside(on.region.initial_point(on.dim), "initial_point")


def contains_mixtures(on: Subject) -> Iterator[str]:
    """contains accepts convex combinations of vertices, and refuses points beyond a vertex"""
    for weights in on.rng.dirichlet(np.ones(len(on.V)), size=20) ** 2:
        x = (weights / weights.sum()) @ on.V
        if not on.region.contains(x, on.tol):
            yield f"{show(x)} is a convex combination of vertices, but contains() says it is not a member."
    if on.region.contains(np.full(on.dim, np.nan)):
        yield "contains() says that a point of NaN is a member."
    if not on.knows_members:
        return
    centre = on.region.initial_point(on.dim)
    gain = on.G @ centre - on.support
    for t in np.flatnonzero(gain > 1e3 * on.slack):
        x = on.V[t] + 0.1 * (on.V[t] - centre)
        if on.region.contains(x, on.tol):
            yield (
                f"contains() says that {show(x)} is a member, but for g = {show(on.G[t])} it lies beyond the minimum "
                f"{on.support[t]:.6g} of lmo(g)."
            )


def projects(on: Subject) -> Iterator[str]:
    """project gives the nearest member: ⟨y − Py, s − Py⟩ ≤ 0 for all vertices, and PPy = Py"""
    if not can_project(on.region):
        raise Skipped("the set has no project")
    project: Callable[[Array], Array] = on.region.project
    size = float(np.abs(on.V).max())
    for y in [*(3 * size * on.rng.standard_normal((50, on.dim))), *(on.V[:50] * 0.5), on.V.mean(axis=0)]:
        mine = y.copy()
        p = project(mine)
        yield from on.outside(p, f"project(y) for y = {show(y)}")
        if not np.array_equal(mine, y) or np.shares_memory(p, mine):
            yield f"project changed or aliased its argument y = {show(y)}; work on a copy."
        room = on.tol * (np.abs(y - p).sum() + size) * size
        worst = float(np.max((on.V - p) @ (y - p)))
        if worst > room:
            yield f"project(y) = {show(p)} is not the nearest member to y = {show(y)}: ⟨y − p, s − p⟩ = {worst:.3g} > 0."
        if np.abs(project(p) - p).max() > on.tol * size:
            yield f"project(project(y)) differs from project(y) = {show(p)} for y = {show(y)}."


def clips(on: Subject) -> Iterator[str]:
    """clip gives a member without tolerance, near x where x is nearly one, and leaves its own results alone"""
    holds = on.region.contains
    if not can_clip(on.region):
        raise Skipped("the set has no clip")
    clip: Callable[[Array], Array] = on.region.clip
    size = float(np.abs(on.V).max())
    mixtures = on.rng.dirichlet(np.ones(len(on.V)), size=20) @ on.V
    near = np.concatenate([on.V[:50], mixtures])
    near = near + 1e-15 * size * on.rng.standard_normal(near.shape)
    for y in [*near, *(3 * size * on.rng.standard_normal((20, on.dim)))]:
        mine = y.copy()
        p = clip(mine)
        yield from on.outside(p, f"clip(x) for x = {show(y)}")
        if not np.array_equal(mine, y) or np.shares_memory(p, mine):
            yield f"clip changed or aliased its argument x = {show(y)}; work on a copy."
        if not np.array_equal(clip(p), p):
            yield f"clip moves its own result {show(p)} for x = {show(y)}; an exact member stays where it is."
        if not holds(p, 8 * on.dim * EPS):
            yield f"clip(x) = {show(p)} for x = {show(y)} is outside by more than rounding."
    moved = max(float(np.abs(clip(y) - y).max()) for y in near)
    if moved > on.tol * size:
        yield f"clip moved a point that was a member up to rounding by {moved:.3g}."


def tangent_holds(on: Subject) -> Iterator[str]:
    """tangent is an orthogonal projection that keeps the differences of vertices"""
    tangent = on.region.tangent
    differences = (on.V - on.V[0]).T  # (d, t)
    if np.abs(tangent(differences) - differences).max() > on.tol * max(
        np.abs(on.V).max(), np.finfo(float).tiny
    ):
        yield "tangent() must leave the difference of two vertices as it is, but changes one."
    W = on.rng.standard_normal((on.dim, 6))
    P = tangent(W)
    if P.shape != W.shape or np.abs(tangent(W[:, 0]) - P[:, 0]).max() > on.tol:
        yield "tangent() of a (d, b) array must have its shape and act on each column as on a (d,) array."
    elif np.abs(tangent(P) - P).max() > on.tol or np.abs(W.T @ P - P.T @ W).max() > on.tol * on.dim:
        yield "tangent() must be an orthogonal projection: idempotent and symmetric."


def inball_inside(on: Subject) -> Iterator[str]:
    """inball lies inside the set, within its affine hull"""
    ball = on.region.inball(on.dim)
    if ball is None:
        raise Skipped("the set knows no ball inside")
    centre, radius = ball
    yield from on.outside(centre, "the centre of inball")
    if not radius > 0:
        yield f"the radius of inball must be positive, but is {radius}."
    for u in on.region.tangent(on.rng.standard_normal((on.dim, 100))).T:
        norm = float(np.linalg.norm(u))
        if norm > on.tol:
            yield from on.outside(
                centre + u * (radius / norm), f"a point at distance {radius:.6g} of inball's centre"
            )


def facets_complete(on: Subject) -> Iterator[str]:
    """facets and the affine hull are the set: the least ⟨g, x⟩ over them is that of lmo(g)"""
    try:
        facets = cast(FullSet, on.region).facets
    except AttributeError:
        raise Skipped("the set lists no facets") from None
    A, b = facets(on.dim)
    normals = np.eye(on.dim) - on.region.tangent(np.eye(on.dim))
    equations = {"A_eq": normals, "b_eq": normals @ on.region.initial_point(on.dim)}
    for t in on.rng.permutation(len(on.G))[:PROGRAMMES]:
        g, size = on.G[t], float(np.abs(on.G[t]).max())
        x = solve_scipy(g / size, A_ub=A, b_ub=b, bounds=(None, None), **equations)
        if x is None or abs(float(g @ x) - on.support[t]) > on.slack[t]:
            least = "no minimum" if x is None else f"the minimum {g @ x:.6g}"
            yield f"for g = {show(g)} lmo attains {on.support[t]:.6g}, but A x ≤ b has {least}; is a facet missing?"


LAWS: tuple[Callable[[Subject], Iterator[str]], ...] = (
    returns_vertex,
    leaves_gradient,
    is_function,
    minimises,
    returns_member,
    attains_minimum,
    scale_free,
    zero_gradient,
    refuses_nan,
    atom_agrees,
    diameter_bounds,
    starts_inside,
    contains_mixtures,
    projects,
    clips,
    tangent_holds,
    inball_inside,
    facets_complete,
)
