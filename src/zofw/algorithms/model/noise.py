r"""The noise ε of values, and the radii of differences that follow from it.

    Δ³f of four equidistant values has the standard deviation √20 ε
    a difference quotient of order p at radius h is off by h^p f⁽ᵖ⁺¹⁾ + ε/h, smallest where h ~ (ε/R)^{1/(p + 1)} of the set, R the range of f

References
----------
J. J. Moré, S. M. Wild, Estimating computational noise, SIAM Journal on Scientific Computing, 2011.
"""

from __future__ import annotations

import math
from collections.abc import Generator
from dataclasses import dataclass, replace

import numpy as np

from zofw.core import Answer, Array, Purpose, Query, Stencil, Task
from zofw.differences import base_values, slopes
from zofw.directions import Explicit

ROUNDING = 2.0**-52
TINY = 1e-300
LONGEST = 0.3  # radius, relative to the set
SPACINGS = (1e-8, 3e-7, 1e-5, 3e-4, 1e-2, 0.16)  # of the line of the probe, tried until the values differ
SHORT = 1e-4
NEARBY = 3  # spacings that are near x
TABLE = 8  # values of the table near x
FAR = 0.9  # share of the way to a vertex
COMPONENTS = 4  # of the probe
MIXED = 8  # vertices, at most, of a short line that stays in the set
PROBE = 6  # values of each, at least
RANDOM = (
    1e-6  # share of the range: two values at one point that differ by more are random, not merely rounded
)


@dataclass(frozen=True)
class Values:
    """What values can show: their noise ε, how much they vary over the set, and the radii that follow."""

    noise: float = math.inf  # standard deviation of one value; infinite until it was probed
    range: float = 0.0  # largest difference of two values seen
    size: float = 1.0  # of the set
    random: bool = False  # the same point gave two values: n counts as infinite
    coarser: int = 0  # radii are 4^coarser times as long, after finer ones showed nothing
    gained: float = 0.0  # decrease of f that the run has seen

    @property
    def unseen(self) -> float:
        """Return the largest decrease that noise hides."""
        return 4.0 * self.noise

    def of_mean(self, n: int, value: float) -> Values:
        """Return what means over n components near this value show: their noise is ε/√n, and the rounding of the mean."""
        return replace(self, noise=max(self.noise / math.sqrt(n), ROUNDING * abs(value)))

    def radius(self, task: Task, order: float) -> float:
        """Return (ε/range)^{1/order} of the set, if points so near can be told apart; a pair of directions has to fit inside."""
        relative = min(self.noise / self.range, 1.0) if self.noise > 0 < self.range else 1.0
        least = task.resolution * math.sqrt(task.dim) / self.size
        fraction: float = max(4.0**self.coarser * relative ** (1 / order), least)
        return min(fraction, LONGEST, task.reach / (2 * self.size))

    def step(self, task: Task, order: float) -> float:
        """Return the radius as a length along coordinates or signs: signs along all coordinates together are √d long."""
        return self.radius(task, order) * self.size / math.sqrt(task.dim)


def probe(task: Task, x: Array, rng: np.random.Generator) -> Generator[Query, Answer, tuple[Values, float]]:
    """Measure the noise by four equidistant values along a random line, and one near a vertex; wider, while values do not differ.

    The third difference of four values has √20 times their noise, which is at least the rounding of the values.
    The line leads to that vertex too if it is long or points must stay inside the set; else it does not, since a vertex may
    have one entry and components may not depend on it. If the task has a resolution, points so near are one to the
    evaluator: instead of the table x is asked for again. Return the values' numbers and a value at x.
    """
    u = rng.standard_normal(task.dim)
    steps = [task.lmo(v).dense() - x for v in (u, -u)]
    size = float(np.linalg.norm(steps[0] - steps[1])) or float(np.linalg.norm(x)) or 1.0
    far = max(steps, key=lambda step: float(step @ step))
    short = u * (size / float(np.linalg.norm(u)))
    ball = task.set.inball(task.dim)
    if task.inside and ball is not None:  # into the set, along all coordinates: a vertex may have one entry
        some = [task.lmo(v).dense() for v in rng.standard_normal((min(task.dim, MIXED), task.dim))]
        w = task.set.tangent(u)
        away = ball[0] + w * (min(ball[1], size) / (float(np.linalg.norm(w)) or 1.0))
        short = (np.mean(some, axis=0) + away) / 2 - x
    batch = task.sample(rng, min(task.n, COMPONENTS))
    for spacing in SPACINGS if task.resolution == 0 else (0.0,):
        line = far if spacing > SHORT else short
        points = np.column_stack([spacing * line, 2 * spacing * line, 3 * spacing * line, FAR * far])
        query = Query(x, batch, Explicit(points), 1.0, Stencil.FORWARD, Purpose.NOISE)
        answer = yield query
        rises = np.append(0.0, slopes(query, answer)[0])
        if len(np.unique(rises[:4])) > 2 or 4 * query.cost > task.remaining:
            break
    value = float(base_values(query, answer)[0])
    again = abs(float((yield Query(x, batch, purpose=Purpose.NOISE)).values[0, 0]) - value)
    spread, near = float(np.ptp(rises)), answer.values[0, [-1, 0, 1, 2]]
    # nearer by, values were equal: they come in steps, which may be as high as all that was seen
    rounding = ROUNDING * float(np.abs(answer.values).max())  # at x alone it is too little where f(x) = 0
    noise = max(again, rounding, table_noise(near, spacing > SPACINGS[0], spread)) * math.sqrt(len(batch))
    random = again > max(RANDOM * spread, rounding)
    return Values(noise, spread, size, random=random), value


def table_noise(values: Array, equal_nearby: bool, spread: float) -> float:
    """Return the noise of equidistant values: third differences have √20 times it, rounding and steps are the least.

    The steps of the values count if values nearer to each other were equal; ``spread`` stands for them if these are too.
    """
    thirds, apart = np.diff(values, 3), np.diff(np.unique(values))
    steps = float(apart.min()) if len(apart) else spread
    third = math.sqrt(float(np.mean(thirds**2)) / 20)
    return max(third, ROUNDING * float(np.abs(values).max()), steps if equal_nearby else 0.0)


def noise_at(
    task: Task, x: Array, known: Values, rng: np.random.Generator
) -> Generator[Query, Answer, Values]:
    """Measure the noise near x again by equidistant values of a few components; where f was larger, its rounding was too.

    The noise is kept if values that near are equal: their steps are wider than the line.
    """
    u = task.set.tangent(rng.standard_normal(task.dim))
    batch = task.sample(rng, min(task.n, COMPONENTS))
    length = min(known.size, task.reach) / (float(np.linalg.norm(u)) or 1.0)
    for spacing in SPACINGS[:NEARBY] if task.resolution == 0 else ():
        points = spacing * length * np.outer(u, np.arange(1, TABLE))
        query = Query(x, batch, Explicit(points), 1.0, Stencil.FORWARD, Purpose.NOISE)
        values = np.roll((yield query).values[0], 1)  # the base comes last
        if len(np.unique(values)) > 2:
            noise = table_noise(values, spacing > SPACINGS[0], 0.0) * math.sqrt(len(batch))
            return replace(known, noise=noise)
    return known


def noise_price(task: Task) -> int:
    """Return the most that measuring the noise again costs."""
    return NEARBY * TABLE * min(task.n, COMPONENTS)


def rounding_of(values: Array) -> float:
    """Return the rounding of values: that of numbers or, if some are equal and all differ by multiples of one number, that one."""
    rounding = ROUNDING * float(np.abs(values).max())
    low = np.sort(values)[: len(values) // 2]  # nearest to the minimum, where rounding is finest
    distinct = np.unique(low)
    if len(distinct) == len(low):
        return rounding
    distinct = np.unique(values) if len(distinct) == 1 else distinct
    if len(distinct) == 1:
        return rounding
    quantum = float(np.diff(distinct).min())
    multiples = (distinct - distinct[0]) / quantum
    stepped = np.abs(multiples - np.round(multiples)).max() <= 0.01
    return max(rounding, quantum) if stepped else rounding
