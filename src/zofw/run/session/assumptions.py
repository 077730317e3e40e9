"""Signs in the values of a run that its method's assumptions do not hold, found in what was paid for anyway."""

from __future__ import annotations

import math
import warnings

import numpy as np

from zofw.core import Answer, Array, Query
from zofw.directions import Explicit, UnitSteps
from zofw.directions.coordinate import Coordinates
from zofw.run.record.run import Run
from zofw.run.session.known import asks_whole

ENOUGH = 20  # iterations before a run is judged by where it ends
CLIMB = 0.25  # of the greatest rise: from a good start a sound method rises too, and comes down like 1/t
FLAT = 0.5  # share of differences that are exactly zero
LOOKED_AT = 40  # differences before that share is judged


class AssumptionWatch:
    """Warns once where f looks flat in steps, and once where a run ends above its beginning.

    Slopes of a function that counts, such as an error rate or 1 − AUC, are exactly zero almost everywhere, and huge where it
    jumps. Random directions move every coordinate, so of a smooth function either all differences are zero or hardly any.
    A method that goes by such slopes may climb: the lowest level of the second half of its iterations is then above that of
    the first query, by more than the values of either query differ among each other and by a quarter
    of the greatest rise. The level of a query for slopes, over all
    components, is the median of its values.

    Parameters
    ----------
    fresh
        Whether the run begins here; one that is resumed is not judged by its beginning.
    """

    def __init__(self, fresh: bool) -> None:
        self._first: tuple[float, float] | None = None  # level and spread of the first query
        self._lows, self._next, self._spread, self._high = [math.inf, math.inf], 1, 0.0, -math.inf
        self._fresh = fresh
        self._zeros = self._seen = 0

    def __call__(self, query: Query, answer: Answer, run: Run) -> None:
        values = answer.values
        if query.count == 0 or not asks_whole(query, run.n):  # a point that is tried is no iterate
            return
        if self._seen < LOOKED_AT and not isinstance(query.asked, Explicit | UnitSteps | Coordinates | None):
            self._look_at_steps(query, values, run)
        if not self._fresh or query.purpose.line not in ("estimate", "refresh"):
            return
        ordered = np.sort(values, axis=None)
        level = 0.5 * float(ordered[(ordered.size - 1) // 2] + ordered[ordered.size // 2])
        spread = float(ordered[-1] - ordered[0])
        if self._first is None:
            self._first = level, spread
        if run.nit >= self._next:  # the lowest of the last half of the iterations, and of more
            self._next, self._lows = 2 * run.nit, [self._lows[1], math.inf]
        self._lows[1], self._high, self._spread = min(self._lows[1], level), max(self._high, level), spread

    def _look_at_steps(self, query: Query, values: Array, run: Run) -> None:
        b = query.count
        ahead, other = values[:, :b], values[:, b : 2 * b] if query.stencil.two_sided else values[:, b:]
        self._zeros += int(np.count_nonzero(ahead == other))
        self._seen += ahead.size
        if self._seen >= LOOKED_AT and FLAT * self._seen <= self._zeros < self._seen:
            warnings.warn(
                f"{self._zeros} of the first {self._seen} differences of {run.method.name} are exactly zero and the others are not: "
                f"at the radius {query.radius:.2g} f is flat in steps, as an error rate or an AUC is. Slopes say nothing there. "
                "Take a larger radius or a smooth loss, or method='auto'.",
                UserWarning,
                stacklevel=3,
            )

    def at_the_end(self, run: Run) -> None:
        """Compare where a run ends with where it began."""
        if self._first is None or run.nit < ENOUGH:
            return
        (first, spread), low = self._first, min(self._lows)
        if math.isfinite(low) and low - first > max(spread + self._spread, CLIMB * (self._high - first)):
            warnings.warn(
                f"{run.method.name} has climbed: it began at {first:.4g}, and in the second half of its iterations values stay "
                f"above {low:.4g}. It trusts slopes at its radius, and these do not lead down: f may jump, be flat in steps or be "
                "noisy. The result holds the best point that was evaluated; method='auto' compares values before it moves.",
                UserWarning,
                stacklevel=3,
            )
