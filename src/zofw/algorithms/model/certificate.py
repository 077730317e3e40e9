r"""A bound of the Frank-Wolfe gap at x that does not ask where a gradient g comes from.

e = ∇f(x) − g,  c the two-sided slope along a Gaussian u drawn after g:   c − gᵀu = eᵀu ~ N(0, ‖e‖²)
‖e‖ ≤ 13 max|c − gᵀu| over two u, except with probability 0.4 %
κ = (f(x + hu) + f(x − hu) − 2f(x))/h, what a kink makes the two sides of a slope differ by
gap ≤ max(gᵀ(x − lmo(g)), 0) + 13 D (max|c − gᵀu| + ½ max|κ| + ε/h)
"""

from __future__ import annotations

import math
from collections.abc import Generator
from dataclasses import dataclass, replace

import numpy as np

from zofw.algorithms.model.noise import TINY, Values, noise_at, noise_price
from zofw.core import Answer, Array, Ending, Purpose, Query, Stencil, Task
from zofw.differences import OwnDifferences, curvatures, slopes
from zofw.directions import Explicit, UnitSteps

ORDER = 2.5  # of the radius: between what one-sided and what two-sided slopes want
WIDER = 4.0  # times the radius, at which slopes are measured again to be extrapolated
SURE = 13.0  # two Gaussian u both show |eᵀu| < ‖e‖/13 with probability 0.4 %
LOOK = 5  # queries per component along them
SHOWN = 100.0  # times √d·noise/radius: what noise leaves in a bound, and a margin
MOST_WIDE = 60  # points of a look as wide as the set
COARSEST = 8  # times that radii grow fourfold
COARSE = 1e-4  # of the range of the values: a larger bound is no convergence, only noise
SMALL_SHARE = 1e-4  # of the decrease that the run has seen: nor is a larger one
TINY_SHARE = 1e-7  # of that decrease: a smaller bound is not asked for, however little noise the values have


@dataclass(frozen=True)
class Certificate:
    """The gap at x from all components, and the parts of its error; values show no gap below ``tolerance``."""

    gap: float
    slope_error: float  # of the gradient that the gap is taken from, times the size of the set
    kink: float
    tolerance: float = 0.0
    noise: float = 0.0  # of the values that it rests on

    @property
    def error(self) -> float:
        return self.slope_error + self.kink

    @property
    def bound(self) -> float:
        return max(self.gap, 0.0) + self.error

    @property
    def limit(self) -> str:
        """Return what keeps the bound large."""
        if math.isinf(self.gap):
            return "no slopes at x, which has no room around it in the set, or walls"
        if self.kink > max(self.gap, self.slope_error):
            return f"a kink at x leaves the gap uncertain by {self.kink:.2g}"
        if self.slope_error > self.gap:
            return f"the noise of the values, about {self.noise:.1g}, leaves the gap uncertain by {self.slope_error:.2g}"
        return f"slopes at x show a gap of {self.gap:.2g}, and no step that was tried brings a decrease"


UNKNOWN = Certificate(math.inf, math.inf, math.inf)


@dataclass(frozen=True)
class Evidence:
    """A gradient at x, wherever it comes from, and the measurements behind it."""

    x: Array
    g: Array
    values: Values
    value: float = 0.0  # of f, near x
    swept: float = 0.0  # radius at which g was measured along every coordinate of this x; else 0
    error: float = math.inf  # of g along a coordinate, after a sweep
    certificate: Certificate | None = None  # of this x


def forward_slopes(task: Task, x: Array, h: float) -> Generator[Query, Answer, Array]:
    """Measure (f(x + he_j) − f(x))/h on all components, along the coordinates of each only if these are known."""
    if task.by_support:
        own = OwnDifferences.of(x, task.all, task.pattern(task.all), h, purpose=Purpose.CERTIFICATE)
        return own.mean(own.slopes((yield own.query))[0])
    U = UnitSteps(task.dim, np.arange(task.dim), np.ones(task.dim))
    query = Query(x, task.all, U, h, Stencil.FORWARD, Purpose.CERTIFICATE)
    return np.asarray(slopes(query, (yield query))[0])


def sweep(task: Task, known: Evidence, bend: float) -> Generator[Query, Answer, Evidence]:
    """Measure the whole coordinate gradient on all components by forward slopes: n(d + 1) queries, or Σ(|support_i| + 1).

    Their error is ½hH_jj and the noise of two values; ``bend`` is H_jj, the mean curvature towards atoms, or 0 without any: then it is
    taken from the range over the set.
    """
    values = known.values.of_mean(task.n, known.value)
    h = min(values.radius(task, ORDER) * values.size, task.reach / (2 * WIDER))
    g = yield from forward_slopes(task, known.x, h)
    error = 0.5 * h * (bend or values.range / values.size**2) + 1.5 * values.noise / h
    return replace(known, g=g, swept=h, error=error)


def certificate_price(task: Task, swept: bool) -> int:
    """Return the price of a look at the noise, of looks at two radii, and of a sweep if x was not swept; a second sweep is asked for if the budget has it."""
    return noise_price(task) + 2 * LOOK * task.n + (0 if swept else task.sweep_cost)


def certify(
    task: Task, known: Evidence, rng: np.random.Generator, bend: float = 0.0
) -> Generator[Query, Answer, Evidence]:
    """Bound the gap at x from all components, in steps until the bound is low enough.

    The steps: g is tested; c and κ are extrapolated to h = 0 from h and 4h, since curvature looks like a kink of first order
    in h; g is swept; and g is extrapolated. If x has a certificate already, radii are four times as long.
    """
    x, u = known.x, rng.standard_normal((task.dim, 2))
    u = task.set.tangent(u) if task.inside else u
    if known.certificate is not None:
        coarser = min(known.values.coarser + 1, COARSEST)
        known = replace(known, values=replace(known.values, coarser=coarser), swept=0.0)
    if goal(task, known.values, known.value) >= capped(known.values):
        known = replace(known, values=(yield from noise_at(task, x, known.values, rng)))
    values = known.values.of_mean(task.n, known.value)
    lengths = np.linalg.norm(u @ [[1, 0, 1, 1], [0, 1, 1, -1]], axis=0)
    most = task.reach / WIDER / (float(lengths.max()) or TINY)
    h = min(values.step(task, ORDER), most) / (2 if task.inside else 1)
    h = min(max(h, task.resolution / (float(lengths.min()) or math.inf)), most)
    times = SURE * diameter(task, values) * (2 if task.inside else 1)  # e and c move inside together, by half

    def look(h: float) -> Generator[Query, Answer, tuple[Array, Array]]:
        query = Query(x, task.all, Explicit(u), h, Stencil.QUADRATIC, Purpose.CERTIFICATE)
        answer = yield query
        return np.stack([slopes(query, answer)[0], h * curvatures(query, answer)[0]]), answer.values

    def bounded(known: Evidence) -> tuple[Evidence, Certificate]:
        g, (c, kink) = known.g, seen
        error, gap = float(np.abs(c - u.T @ g).max()) + noise / h, float(g @ x) - task.lmo(g).dot(g)
        found = Certificate(gap, times * error, times * 0.5 * float(np.abs(kink).max()))
        return replace(known, certificate=found), found

    def wanting(error: float, price: int) -> bool:
        return found.bound > tolerance and 2 * error > tolerance and price <= task.remaining

    seen, heights = yield from look(h)
    known, noise = replace(known, value=float(heights[0, -1])), values.noise
    if not np.ptp(heights) > 0:  # a plateau: its steps may be as high as all that was seen
        if values.range == 0:
            spread = yield from wide_range(task, x, known.value, rng)
            known = replace(known, values=replace(known.values, range=spread))
        noise = max(noise, known.values.range)
    known, found = bounded(known)
    tolerance = goal(task, known.values, known.value)
    if wanting(found.kink, LOOK * task.n):
        seen = extrapolated(seen, (yield from look(WIDER * h))[0])
        known, found = bounded(known)
    if wanting(found.slope_error, task.sweep_cost) and not known.swept:
        known, found = bounded((yield from sweep(task, known, bend)))
    if (
        known.swept
        and found.gap - found.slope_error <= tolerance
        and wanting(found.slope_error, task.sweep_cost)
    ):
        further = yield from forward_slopes(task, x, WIDER * known.swept)
        known, found = bounded(replace(known, g=extrapolated(known.g, further)))
    return known


def wide_range(
    task: Task, x: Array, value: float, rng: np.random.Generator
) -> Generator[Query, Answer, float]:
    """Return the largest difference of the value at x and values at random members between x and vertices."""
    count = int(min(MOST_WIDE, 2 * (task.dim + 1), task.remaining / (2 * task.n)))
    if count == 0:
        return 0.0
    vertices = np.array([task.lmo(u).dense() for u in rng.standard_normal((count, task.dim))])
    points = x + rng.random((count, 1)) * (vertices - x)
    values = (yield Query(points, task.all, purpose=Purpose.NOISE)).values[:, 0]
    return float(np.ptp(np.append(values, value)))


def extrapolated(near: Array, further: Array) -> Array:
    """Return slopes at h = 0 from those at h and 4h, whose error is of first order in h."""
    return np.asarray((WIDER * near - further) / (WIDER - 1))


def diameter(task: Task, values: Values) -> float:
    """Return the diameter of the set, or the length measured by the probe if the set has none."""
    try:
        return task.diameter
    except ValueError:
        return values.size


def goal(task: Task, values: Values, value: float) -> float:
    """Return the bound to reach: ``gap_tol``, or what slopes of single values, at this noise, can show."""
    values = replace(values.of_mean(1, value), coarser=0)
    shown = SHOWN * math.sqrt(task.dim) * values.noise / values.radius(task, ORDER)
    shown = min(shown, COARSE * values.range) if values.range > 0 else shown  # else all was one value
    shown = min(max(shown, TINY_SHARE * values.gained), capped(values))
    return shown if task.gap_tol is None else task.gap_tol


def capped(values: Values) -> float:
    """Return the largest bound that is a convergence after the decrease seen; infinite if that may be noise."""
    return SMALL_SHARE * values.gained if values.gained > values.unseen else math.inf


def converged(task: Task, certificate: Certificate | None, values: Values, value: float) -> Ending | None:
    """End a run whose certificate lies below what values can show; ``gap_tol`` is the session's to compare."""
    tolerance = goal(task, values, value)
    if certificate is not None and values.range == 0 and diameter(task, values) > 0:
        return Ending(
            False, f"f returned {value:.6g} at all points, {task.paid:,} queries, which shows no gap."
        )
    if certificate is None or task.gap_tol is not None or certificate.bound > tolerance:
        return None
    return Ending(
        True,
        f"The Frank-Wolfe gap at x is at most {certificate.bound:.2g} (99 % confidence, from all components); "
        f"slopes of values with noise {values.noise:.1g} show none below {tolerance:.2g}.",
    )
