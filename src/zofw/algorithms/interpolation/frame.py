"""The affine hull of the set, in orthonormal coordinates, and the oracle there."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from zofw.core import Array, Task


@dataclass(frozen=True)
class Frame:
    """x = origin + Q z. ``basis`` None means that the hull is the whole space and z = x − origin."""

    task: Task
    origin: Array
    basis: Array | None

    @classmethod
    def of(cls, task: Task, origin: Array) -> Frame:
        """The hull as the set's ``tangent`` tells it."""
        P = np.asarray(task.set.tangent(np.eye(task.dim)))
        rank = round(float(np.trace(P)))
        if rank >= task.dim:
            return cls(task, origin, None)
        return cls(task, origin, np.ascontiguousarray(np.linalg.eigh(P)[1][:, task.dim - rank :]))

    @property
    def rank(self) -> int:
        return len(self.origin) if self.basis is None else int(self.basis.shape[1])

    @property
    def size(self) -> float:
        """The diameter of the set or, where nobody knows it, that of its atoms along the axes."""
        try:
            return self.task.diameter
        except ValueError:
            atoms = np.array([self.lmo(sign * e) for e in np.eye(self.rank) for sign in (1.0, -1.0)])
            return float(max(np.linalg.norm(atoms - a, axis=1).max() for a in atoms))

    @property
    def width(self) -> float:
        """The mean width of the set along the axes."""
        return float(np.mean([e @ (self.lmo(-e) - self.lmo(e)) for e in np.eye(self.rank)]))

    def inward(self, x: Array) -> Array:
        """Coordinates of a point, or of several (rows)."""
        return x - self.origin if self.basis is None else (x - self.origin) @ self.basis

    def outward(self, z: Array) -> Array:
        """The point with these coordinates."""
        return self.origin + (z if self.basis is None else self.basis @ z)

    def member(self, z: Array) -> Array:
        """The point with these coordinates, without the rounding that could carry it out of the set."""
        x = self.outward(z)
        clip: Any = getattr(self.task.set, "clip", None)
        return x if clip is None else np.asarray(clip(x))

    def lmo(self, slope: Array) -> Array:
        """The coordinates of an atom that minimises ⟨slope, z⟩."""
        g = slope if self.basis is None else self.basis @ slope
        return self.inward(self.task.lmo(g).dense())

    @property
    def judges(self) -> bool:
        """Whether the set's own ``contains`` is a proof; that of an object with an oracle alone is not."""
        own: Any = getattr(self.task.set, "oracle", self.task.set)
        return hasattr(own, "contains")

    def sure_to_contain(self, z: Array) -> bool:
        return self.judges and bool(self.task.set.contains(self.outward(z), 1e-12))

    @cached_property
    def facets(self) -> tuple[Array, Array] | None:
        """A, b with A z ≤ b for the set's inequalities, where it lists them."""
        listed = getattr(self.task.set, "facets", None)
        if listed is None:
            return None
        A, b = listed(len(self.origin))
        b = b - A @ self.origin
        return (A, b) if self.basis is None else (A @ self.basis, b)

    @cached_property
    def ball(self) -> tuple[Array, float] | None:
        """Centre and radius of a set that is a Euclidean ball: as wide as a ball inside it."""
        inside = self.task.set.inball(len(self.origin))
        if inside is None or self.basis is not None:
            return None
        centre, radius = inside
        return (centre - self.origin, radius) if self.task.diameter <= 2 * radius * (1 + 1e-12) else None

    @cached_property
    def inner_ball(self) -> tuple[Array, float]:
        """Centre and radius of a ball in the set: the one it knows, or that of a simplex of its atoms."""
        known = self.task.set.inball(len(self.origin))
        if known is not None:
            return self.inward(known[0]), float(known[1])
        r = self.rank
        first = self.lmo(np.eye(r)[0])
        edges = np.zeros((r, 0))
        for e in np.eye(r):
            q = e - edges @ np.linalg.lstsq(edges, e, rcond=None)[0]
            edge = max((self.lmo(q) - first, self.lmo(-q) - first), key=lambda a: abs(float(a @ q)))
            edges = np.column_stack([edges, edge])
        if np.linalg.matrix_rank(edges) < r:
            return first, 0.0
        slopes = np.linalg.inv(edges)  # of the barycentric coordinates
        steepest = max(float(np.linalg.norm(slopes, axis=1).max()), float(np.linalg.norm(slopes.sum(0))))
        return first + edges.mean(1) * r / (r + 1), 1 / ((r + 1) * steepest)
