r"""The affine hull of the set in coordinates z in which the set is equally wide, and the oracle there.

    x = o + S Q z,   S = diag(s),  s_j the width of the set along e_j over the geometric mean of all widths,  QᵀQ = I

S is the identity if all widths agree to 1e-9. Lengths, radii and the norm of H belong to z; the resolution belongs to x.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from zofw.core import Array, Task

AGREE = 1e-9  # relative: widths that differ by less are equal


@dataclass(frozen=True)
class Frame:
    """The map between x and z. ``basis`` is None if Q is the identity, ``scale`` if S is."""

    task: Task
    origin: Array
    basis: Array | None
    scale: Array | None = None
    size: float = 0.0  # the diameter of the set or an upper bound of it, in z
    width: float = 0.0  # the mean width of the set along the axes of x, in z

    @classmethod
    def of(cls, task: Task, origin: Array) -> Frame:
        """Return the frame in units of the set's widths, which take two LMO calls for each variable."""
        ends = [(task.lmo(-e).dense(), task.lmo(e).dense()) for e in np.eye(task.dim)]
        widths = np.array([high[j] - low[j] for j, (high, low) in enumerate(ends)])
        moving = widths > AGREE * widths.max()
        s = np.where(moving, widths, 1.0)
        s[moving] /= np.exp(np.mean(np.log(s[moving]))) if moving.any() else 1.0
        scale = None if float(np.ptp(s[moving] if moving.any() else s)) <= AGREE else s
        units = widths if scale is None else widths / s
        frame = cls(task, origin, None).in_units(scale, float(np.linalg.norm(units)))
        width = float(np.mean(units[moving])) if moving.any() else 0.0
        return cls(task, origin, frame.basis, scale, frame.size, width)

    def in_units(self, scale: Array | None, bound: float) -> Frame:
        """Return the frame with this S; ``bound`` is an upper bound of its diameter for sets that state none."""
        task = self.task
        P = np.asarray(task.set.tangent(np.eye(task.dim)))
        rank, basis = round(float(np.trace(P))), None
        if rank < task.dim:
            basis = np.ascontiguousarray(np.linalg.eigh(P)[1][:, task.dim - rank :])
            if scale is not None:
                basis = np.linalg.qr(basis / scale[:, None])[0]
        try:
            size = task.diameter if scale is None else bound
        except ValueError:  # the set states none
            size = bound
        return Frame(task, self.origin, basis, scale, size, self.width)

    @property
    def rank(self) -> int:
        return len(self.origin) if self.basis is None else int(self.basis.shape[1])

    def inward(self, x: Array) -> Array:
        """Return z of a point, or of several (rows)."""
        y = x - self.origin if self.scale is None else (x - self.origin) / self.scale
        return y if self.basis is None else y @ self.basis

    def steps(self, z: Array) -> Array:
        """Return S Q z of a step, or of several (rows)."""
        y = z if self.basis is None else z @ self.basis.T
        return y if self.scale is None else y * self.scale

    def outward(self, z: Array) -> Array:
        """Return the point with these coordinates."""
        return self.origin + self.steps(z)

    def member(self, z: Array) -> Array:
        """Return the point with these coordinates, without the rounding that could carry it out of the set."""
        x = self.outward(z)
        clip: Any = getattr(self.task.set, "clip", None)
        return x if clip is None else np.asarray(clip(x))

    def slope(self, g: Array) -> Array:
        """Return the slope in x, up to what is constant on the hull, of one in z: S⁻¹Q g."""
        y = g if self.basis is None else self.basis @ g
        return y if self.scale is None else y / self.scale

    def lmo(self, slope: Array) -> Array:
        """Return the coordinates of an atom that minimises ⟨slope, z⟩."""
        return self.inward(self.task.lmo(self.slope(slope)).dense())

    def normal(self, out: Array) -> Array:
        """Return the normal in z of the half-space {y : ⟨y − p, x − p⟩ ≤ 0} in x, out = z(x) − z(p)."""
        if self.scale is None:
            return out
        y = self.steps(out) * self.scale
        return y if self.basis is None else y @ self.basis

    @property
    def coarsest(self) -> float:
        """Return the length in z below which no step reaches the resolution."""
        return self.task.resolution / (1.0 if self.scale is None else float(self.scale.max()))

    def tells(self, step: Array) -> bool:
        """Return True if a step is not shorter than the resolution."""
        least = self.task.resolution
        return least == 0 or float(np.linalg.norm(self.steps(step))) >= least

    @property
    def judges(self) -> bool:
        """Return True if the set's own ``contains`` is a proof; that of an object with an oracle only is not."""
        own: Any = getattr(self.task.set, "oracle", self.task.set)
        return hasattr(own, "contains")

    def sure_to_contain(self, z: Array) -> bool:
        return self.judges and bool(self.task.set.contains(self.outward(z), 1e-12))

    @cached_property
    def facets(self) -> tuple[Array, Array] | None:
        """A, b with A z ≤ b for the set's inequalities, if it lists them; rows of length 1 if S is not the identity."""
        listed = getattr(self.task.set, "facets", None)
        if listed is None:
            return None
        A, b = listed(len(self.origin))
        b = b - A @ self.origin
        A = A if self.scale is None else A * self.scale
        A = A if self.basis is None else A @ self.basis
        if self.scale is None:
            return A, b
        lengths = np.maximum(np.linalg.norm(A, axis=1), 1e-300)
        return A / lengths[:, None], b / lengths

    @cached_property
    def ball(self) -> tuple[Array, float] | None:
        """Centre and radius of a set that is a Euclidean ball: as wide as a ball inside it."""
        inside = self.task.set.inball(len(self.origin))
        if inside is None or self.basis is not None or self.scale is not None:
            return None
        centre, radius = inside
        return (centre - self.origin, radius) if self.task.diameter <= 2 * radius * (1 + 1e-12) else None

    @cached_property
    def inner_ball(self) -> tuple[Array, float]:
        """Centre and radius of a ball in the set: the one it knows, or that of a simplex of its atoms."""
        known = self.task.set.inball(len(self.origin))
        if known is not None and self.scale is None:
            return self.inward(known[0]), float(known[1])
        if known is not None and self.facets is not None:
            centre = self.inward(known[0])
            return centre, float((self.facets[1] - self.facets[0] @ centre).min())
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
