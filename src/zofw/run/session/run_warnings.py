"""Warnings of a run: a radius below the rounding error, f flat in steps, a method that climbs."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass

import numpy as np
from numpy.typing import DTypeLike

from zofw.core import Answer, Array, Query
from zofw.directions import Explicit, UnitSteps
from zofw.directions.coordinate import Coordinates
from zofw.run.record.run import Run

NOISE = 16.0  # differences below this many units in the last place of the values are not to be trusted
ENOUGH = 20  # iterations before a run is judged by where it ends
CLIMB = 0.25  # of the greatest rise: from a good start a sound method rises too, and comes down like 1/t
STEADY = 0.2  # the same for a method that draws nothing: it asks along all coordinates
FLAT = 0.5  # share of differences that are exactly zero
STEPS = 10  # differences that are exactly zero at points where others are not
LOOKED = 1000  # differences that are looked at
FEW = 100  # values that Python sorts sooner than NumPy
DIFFERENCES = 40  # that are looked at before that share is judged
WRITTEN_OUT = (Explicit, UnitSteps, type(None))  # directions of a method's own


@dataclass
class RadiusWatch:
    """Warns when the radius is below √ε and most differences of an answer are within rounding error of its values.

    Values F carry an error of about ε|F|, so that (F(x + μu) − F(x − μu))/2μ carries ε|F|/μ beside O(μ²) from the curvature;
    the two are balanced near ‖μu‖ ~ ε^{1/3}. Directions that change nothing at all do not count. One look for each halving of
    the radius: it costs nothing to speak of. Directions that a method wrote out itself, which is how Explore-Correct asks
    for the noise of the values, are its own affair.

    Parameters
    ----------
    dtype
        The precision of the values.
    below
        Only such radii are worth a look.
    """

    dtype: DTypeLike
    below: float = math.inf

    def __call__(self, query: Query, answer: Answer) -> None:
        mu, eps, b = query.radius, float(np.finfo(self.dtype).eps), query.count
        if mu > self.below or isinstance(query.asked, WRITTEN_OUT):
            return
        self.below = 0.5 * mu
        if mu >= np.sqrt(eps) * max(1.0, float(np.abs(query.anchors).max())):
            return
        ahead = answer.values[:, :b]
        other = answer.values[:, b : 2 * b] if query.stencil.two_sided else answer.values[:, b:]
        change, size = np.abs(ahead - other), float(np.median(np.abs(ahead)))
        seen = change[change > 0]
        if seen.size and np.median(seen) < NOISE * eps * size:
            warnings.warn(
                f"The radius {mu:.3g} is too small for values of size {size:.3g} with a relative precision of {eps:.1e}: half "
                f"of the differences are below {NOISE:g} rounding errors. Take a radius with ‖μu‖ near {eps ** (1 / 3):.0e} "
                "times the size of x, or values of higher precision.",
                UserWarning,
                stacklevel=3,
            )


@dataclass
class AssumptionWatch:
    """Warns once where f looks flat in steps, and once where a run ends above its beginning.

    Slopes of a function that counts, such as an error rate or 1 − AUC, are exactly zero almost everywhere, and huge where it
    jumps. Random directions move every coordinate, so of a function without steps either all differences at a point are zero
    or hardly any; along coordinates nothing follows, for f may not depend on some. A method that goes by such slopes may climb:
    the lowest level of the second half of its iterations is then above the level of the first query by more than the values of
    either query differ among each other and by a quarter of the greatest rise. A method that asks along all coordinates draws
    nothing, so that its last iterate is no accident: f there counts too, where it was paid for, and a fifth is enough. The level of a query for slopes, over all components, is the median of its values. Of a sum whose batches
    are sampled no such level is known, and nothing is said.

    Parameters
    ----------
    fresh
        Whether the run begins here; one that is resumed is not judged by its beginning.
    """

    fresh: bool
    first: tuple[float, float] | None = None  # level and spread of the first query
    lows: tuple[float, float] = (math.inf, math.inf)  # of the last half of the iterations, and of more
    next: int = 1
    spread: float = 0.0
    high: float = -math.inf
    zeros: int = 0
    seen: int = 0
    steps: int = 0
    steady: bool = True  # whether every query was along all coordinates

    def __call__(self, query: Query, answer: Answer, run: Run) -> None:
        values = answer.values
        if query.count == 0:  # a point that is tried is no iterate
            return
        along = isinstance(asked := query.asked, Coordinates)
        if self.seen < LOOKED and not along and not isinstance(asked, WRITTEN_OUT):
            self._look_at_steps(query, values, run)
        if not self.fresh or query.purpose.line not in ("estimate", "refresh"):
            return
        self.steady = self.steady and along and query.count == run.dim
        size = values.size
        ordered = sorted(values.ravel().tolist()) if size < FEW else np.sort(values, axis=None)
        level = 0.5 * float(ordered[(size - 1) // 2] + ordered[size // 2])
        self.spread, self.high = float(ordered[-1] - ordered[0]), max(self.high, level)
        if self.first is None:
            self.first = level, self.spread
        if run.nit >= self.next:
            self.next, self.lows = 2 * run.nit, (self.lows[1], math.inf)
        self.lows = self.lows[0], min(self.lows[1], level)

    def _look_at_steps(self, query: Query, values: Array, run: Run) -> None:
        b = query.count
        zero = values[:, :b] == (values[:, b : 2 * b] if query.stencil.two_sided else values[:, b:])
        self.zeros += int(np.count_nonzero(zero))
        self.steps += int(np.count_nonzero(zero & ~zero.all(axis=1, keepdims=True)))
        before, self.seen = self.seen, self.seen + zero.size
        flat = before < DIFFERENCES <= self.seen and FLAT * self.seen <= self.zeros < self.seen
        if flat or self.steps >= STEPS:
            warnings.warn(
                f"{self.zeros} of the first {self.seen} differences of {run.method.name} are exactly zero and the others are not: "
                f"at the radius {query.radius:.2g} f is flat in steps, as an error rate or an AUC is. Slopes say nothing there. "
                "Take a larger radius or a smooth loss, or method='auto'.",
                UserWarning,
                stacklevel=3,
            )
            self.seen = LOOKED

    def at_the_end(self, run: Run) -> None:
        """Compare where a run ends with where it began."""
        if self.first is None or run.nit < ENOUGH:
            return
        (first, spread), low, here = self.first, min(self.lows), run.here
        last = here.value - 2.0 * here.error if here is not None and self.steady else -math.inf
        rise = (STEADY if self.steady else CLIMB) * (self.high - first)
        if math.isfinite(low) and max(low, last) - first > max(spread + self.spread, rise):
            end = (
                f"ends at {last:.4g}"
                if last > low
                else f"stays above {low:.4g} in the second half of its iterations"
            )
            warnings.warn(
                f"{run.method.name} has climbed: it began at {first:.4g} and {end}. "
                "It trusts slopes at its radius, and these do not lead down: f may jump, be flat in steps or "
                "noisy, or the start be as good as this method gets. The result holds the best point that was evaluated; method='auto' compares values before it moves.",
                UserWarning,
                stacklevel=3,
            )
