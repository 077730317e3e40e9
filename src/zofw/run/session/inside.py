"""Queries whose every point lies inside the set."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from zofw.core import Array, ConvexSet, Directions, Indices, Matrix, Query, Tile, blocks
from zofw.core.query import Derived
from zofw.directions import Explicit
from zofw.directions.implicit import touched_product
from zofw.run.record.run import Run
from zofw.sets import Box, Custom, Product, can_clip

POINT_NUMBERS = 1 << 20  # numbers of dense directions alive at any time: 8 MB


@dataclass(frozen=True, eq=False)
class Tangent(Derived):
    """Directions projected on the affine hull of a set."""

    base: Directions
    set: ConvexSet

    @property
    def dim(self) -> int:
        return self.base.dim

    @property
    def count(self) -> int:
        return self.base.count

    def columns(self, start: int, stop: int) -> Array:
        return np.asarray(self.set.tangent(self.base.columns(start, stop)))

    def block(self, rows: Indices, left: int, right: int) -> Array:
        """Return U[rows, left:right]."""
        return np.asarray(self.columns(left, right)[rows])

    def rows(self, index: Indices) -> Array:
        parts = [self.block(index, start, stop) for start, stop in column_blocks(self)]
        return np.concatenate(parts, axis=1)

    def combine(self, c: Array) -> Array:
        return np.asarray(self.set.tangent(self.base.combine(c)))

    def project(self, g: Array) -> Array:
        return self.base.project(np.asarray(self.set.tangent(g)))

    def product(self, Z: Matrix) -> Array:
        return touched_product(self, Z)


def column_blocks(directions: Directions) -> list[tuple[int, int]]:
    """Ranges of columns small enough to hold densely."""
    return blocks(directions.count, max(1, POINT_NUMBERS // directions.dim))


class OutsideError(ValueError):
    """A query that asks for points outside the set."""


def is_member(region: ConvexSet, x: Array) -> bool:
    """Return True if x is proven to be a member; a set known by its oracle alone finds x as a mixture of its vertices."""
    if isinstance(region, Product):
        return all(is_member(part, block) for part, block in region.blocks(x))
    if isinstance(region, Custom) and not region.judges:
        return region.mixes(x)
    return region.contains(x)


def _all_inside(query: Query, region: ConvexSet) -> bool:
    """Return True if every point of the query is a member as it stands."""
    whole = Tile(0, query.count, 0, query.size)
    return all(
        is_member(region, x) for anchor in range(len(query.anchors)) for x in query.points(anchor, whole)
    )


def keep_inside(query: Query, set: ConvexSet) -> Query:
    """Return the same query with every point proven to be a member of the set, or raise OutsideError.

    With B(c, ρ) in X (relative to its affine hull), x in X and δ = μ·max‖u‖/ρ ≤ 1, every (1 − δ)x + δc ± μu lies in X
    by convexity. So the anchors are drawn towards c. The slopes are then those at a point at distance δ‖c − x‖ from x: a
    bias of at most Lδ·diameter in the gradient, which falls with μ. Directions are projected on the affine hull first; that
    changes no linear minimiser. Values at single points, and directions that a method wrote out, are looked at one by one
    and left as they are. Rounding is taken off each point as it is formed, by the set's own ``clip``, if it has one.
    """
    unclipped, query = query, replace(query, inside=set if can_clip(set) else None)
    if (query.directions is None or isinstance(query.directions, Explicit)) and _all_inside(unclipped, set):
        return query
    outside = next((x for x in query.anchors if not is_member(set, x)), None)
    if outside is not None or query.directions is None:
        raise OutsideError(
            f"inside=True: the method asks for {outside!r:.80}, which is not a point of {set!r:.200}."
        )
    ball, half = set.inball(query.anchors.shape[1]), np.ones((1, 1))
    if isinstance(set, Box):  # in units of its sides it is a cube, in which the coordinates are on their own
        sides = np.broadcast_to(np.subtract(set.upper, set.lower), query.anchors.shape[1])
        ball, half = (
            ((np.add(set.lower, set.upper) / 2), 1.0),
            np.where(sides > 0, sides / 2, np.inf)[:, None],
        )
    if ball is None:
        raise OutsideError(
            f"inside=True needs a ball inside the set, and {set!r:.200} does not know one (inball returned None)."
        )
    centre, radius = ball
    directions = Tangent(query.directions, set)
    order = np.inf if isinstance(set, Box) else 2
    longest = max(
        float(np.linalg.norm(directions.columns(start, stop) / half, order, axis=0).max())
        for start, stop in column_blocks(directions)
    )
    shrink = query.radius * longest / radius if longest > 0 else 0.0
    if not shrink <= 1.0:
        raise OutsideError(
            f"inside=True: points at radius {query.radius:.3g} along directions of length {longest:.3g} cannot stay in {set!r:.200}, "
            f"whose inner ball has radius {radius:.3g}. Choose a radius of at most {radius / longest:.3g}."
        )
    anchors = (1.0 - shrink) * query.anchors + shrink * np.asarray(centre)
    return replace(query, anchors=anchors, directions=directions)


def too_near(query: Query, run: Run) -> str | None:
    """Return a sentence if a law of directions spreads points nearer than the resolution."""
    if query.directions is None or isinstance(query.asked, Explicit):
        return None
    length = query.radius * float(np.linalg.norm(query.directions.columns(0, 1)))
    if length >= run.resolution:
        return None
    return (
        f"{run.method.name} asks for points {length:.2g} apart, and resolution={run.resolution:g} says that they are one. "
        "Give the method a larger radius, or take method='auto'."
    )
