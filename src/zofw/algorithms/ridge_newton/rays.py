r"""What is learned of components that are ridge functions, f_i(x) = φ_i(⟨z_i, x⟩).

    LEARN   ∂_j f_i = φ_i′ z_ij along the coordinates of component i: z_i up to its unit       |coordinates| + 1 evaluations
    PROBE   p_i = φ_i′ and q_i = φ_i″ at any other x, from f_i(x), f_i(x ± h e_r)             3 evaluations

r is the coordinate with the greatest slope, and z_ir = 1 the unit.

References
----------
A. Cohen, I. Daubechies, R. DeVore, G. Kerkyacharian, D. Picard, Capturing ridge functions in high dimensions from point
queries, Constructive Approximation 35, 2012.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass

import numpy as np

from zofw.core import Answer, Array, Batch, Indices, Matrix, Pattern, Purpose, Query, Stencil, Task
from zofw.differences import OwnDifferences, known_pairs
from zofw.directions import UnitSteps
from zofw.extras import lazy

sp = lazy("scipy.sparse")

SEEN = 1e4  # times the rounding of a slope: one that gives a direction


@dataclass(frozen=True)
class Rays:
    """z_i of some components, along the coordinates index[starts[s]:starts[s + 1]] of the one at position s."""

    components: Indices
    starts: Indices
    index: Indices
    z: Array
    reference: Indices  # r of each component

    def matrix(self, dim: int) -> Matrix:
        """The z_i as rows."""
        return sp.csr_array((self.z, self.index, self.starts), shape=(len(self.components), dim))

    def joined(self, other: Rays) -> Rays:
        """These and others."""
        return Rays(
            np.concatenate([self.components, other.components]),
            np.concatenate([self.starts, self.starts[-1] + other.starts[1:]]),
            np.concatenate([self.index, other.index]),
            np.concatenate([self.z, other.z]),
            np.concatenate([self.reference, other.reference]),
        )


_NONE = np.zeros(0, dtype=np.int64)
NO_RAYS = Rays(_NONE, np.zeros(1, dtype=np.int64), _NONE, np.zeros(0), _NONE)


@dataclass(frozen=True)
class Probe:
    """Values, slopes and curvatures of the components along their rays, in units of z."""

    value: Array
    p: Array
    q: Array

    def joined(self, other: Probe) -> Probe:
        """Those of these and of other components."""
        return Probe(
            np.concatenate([self.value, other.value]),
            np.concatenate([self.p, other.p]),
            np.concatenate([self.q, other.q]),
        )


def restricted(pattern: Pattern, mask: Array) -> Pattern:
    """Of the coordinates of each component those in the mask, (d,)."""
    kept = mask[pattern.index]
    before = np.concatenate([[0], np.cumsum(kept)])
    return Pattern(before[pattern.starts].astype(np.int64), pattern.index[kept])


def learn(
    task: Task, x: Array, components: Indices, pattern: Pattern, h: float, noise: float
) -> Generator[Query, Answer, tuple[Rays, Probe]]:
    """The rays of these components along the coordinates of the pattern, and their slopes and curvatures at x.

    A forward slope is p z_j + ½h q z_j², from which z_j follows once p and q are known. Components whose slopes are
    all lost in rounding are left out, unless they have one coordinate.
    """
    own = OwnDifferences.of(x, Batch(task.n, components), pattern, h)
    slopes = own.slopes((yield own.query))[0]
    sizes = pattern.sizes
    some = np.flatnonzero(sizes)
    steepest = np.maximum.reduceat(np.abs(slopes), pattern.starts[:-1][some]) if len(some) else np.zeros(0)
    some = some[(steepest > SEEN * noise / h) | ((sizes[some] == 1) & np.isfinite(steepest))]
    if not len(some):
        return NO_RAYS, Probe(*np.zeros((3, 0)))
    kept = Pattern(np.concatenate([[0], np.cumsum(sizes[some])]).astype(np.int64), pattern.index)
    place = pattern.places(some)
    slopes, index, owner = slopes[place], pattern.index[place], np.repeat(np.arange(len(some)), sizes[some])
    order = np.lexsort((-np.abs(slopes), owner))
    first = order[kept.starts[:-1]]
    rays = Rays(components[some], kept.starts, index, np.ones(len(index)), index[first])
    at = yield from probe(task, x, rays, h)
    unit = slopes[first]
    ratio = slopes / np.where(unit == 0, 1.0, unit)[owner]
    p = at.p[owner]
    bend = np.divide(0.5 * h * at.q[owner], p, out=np.zeros_like(p), where=np.abs(p) > SEEN * noise / h)
    z = ratio * (1 + bend) - bend * ratio**2
    z[first] = 1.0
    return Rays(rays.components, rays.starts, index, z, rays.reference), at


def probe(task: Task, x: Array, rays: Rays, h: float) -> Generator[Query, Answer, Probe]:
    """f_i, φ_i′ and φ_i″ at x; NaN, and slope and curvature 0, of components that failed."""
    m, r = len(rays.components), rays.reference
    U = UnitSteps(task.dim, np.tile(r, 3), np.repeat([1.0, -1.0, 0.0], m))
    pairs = Batch(task.n, np.tile(rays.components, 3))
    query = Query(x, pairs, U, h, Stencil.AHEAD, Purpose.ESTIMATE, paired=True)
    ahead, behind, base = known_pairs((yield query))[0].reshape(3, m)
    p, q = (ahead - behind) / (2 * h), (ahead - 2 * base + behind) / h**2
    failed = np.isnan(q)
    return Probe(np.where(failed, np.nan, base), np.where(failed, 0.0, p), np.where(failed, 0.0, q))


__all__ = ["NO_RAYS", "Probe", "Rays", "learn", "probe", "restricted"]
