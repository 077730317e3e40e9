"""What can values show? A difference table along a line in the set, one value asked twice, and the radii that follow."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from zofw.algorithms.explore_correct.state import Action, Candidate, State, Values
from zofw.core import Array, Purpose, Query, Stencil, Task
from zofw.differences import base_values, slopes
from zofw.directions import Explicit

SPACINGS = (1e-8, 3e-7, 1e-5, 3e-4, 1e-2, 0.16)  # of the line, tried until the values differ
SHORT = 1e-4
FAR = 0.9  # of the way to a vertex
POINTS = 3
LEAST = 8  # answers of a random oracle from one point, to see how they differ
COMPONENTS = 4
ROUNDING = 2.0**-52
RANDOM = (
    1e-6  # of the range: two values at one point differ by more, and the oracle is random, not merely rounded
)


def noise_level(values: Array) -> float:
    """ECnoise: the least estimate over the differences of order 3 and more, each scaled by its own factor."""
    estimates = []
    for order in range(1, len(values)):
        values = np.diff(values)
        if order >= 3:
            factor = math.factorial(order) ** 2 / math.factorial(2 * order)
            estimates.append(math.sqrt(factor * float(np.mean(values**2))))
    return min(estimates)


def probe(task: Task, state: State, rng: np.random.Generator) -> Action:
    """Equidistant values along a random line, and one near a vertex; again wider, while the values do not differ.

    The noise is at least the rounding of the values. The line leads to that vertex too where it is long or points must stay inside
    the set; else it does not, since a vertex may have one entry and components may not depend on it. Where the task has a
    resolution, points so near are one to whoever evaluates: instead of the table x is asked for again.

    References
    ----------
    J. J. Moré, S. M. Wild, Estimating computational noise, SIAM Journal on Scientific Computing, 2011.
    """
    u = rng.standard_normal(task.dim)
    ends = [task.lmo(u), task.lmo(-u)]
    steps = [end.dense() - state.x for end in ends]
    size = float(np.linalg.norm(steps[0] - steps[1])) or 1.0
    furthest = int(steps[1] @ steps[1] > steps[0] @ steps[0])
    far = steps[furthest]
    batch = task.sample(rng, min(task.n, COMPONENTS))
    for spacing in SPACINGS if task.resolution == 0 else (0.0,):
        line = far if task.inside or spacing > SHORT else u * (size / float(np.linalg.norm(u)))
        points = np.column_stack([line[:, None] * (spacing * np.arange(1.0, POINTS + 1)), FAR * far])
        query = Query(state.x, batch, Explicit(points), 1.0, Stencil.FORWARD, Purpose.NOISE)
        answer = yield query
        rises = np.append(0.0, slopes(query, answer)[0])
        if len(np.unique(rises[:-1])) > 0.7 * POINTS or 4 * query.cost > task.remaining:
            break
    value = float(base_values(query, answer)[0])
    again = abs(float((yield Query(state.x, batch, purpose=Purpose.NOISE)).values[0, 0]) - value)
    spread = float(np.ptp(rises))
    largest = float(np.abs(answer.values).max())
    noise = max(noise_level(rises[:-1]), again, ROUNDING * largest) * math.sqrt(len(batch))
    values = Values(noise, spread, size, random=again > RANDOM * max(spread, ROUNDING * largest / RANDOM))
    first = Candidate(ends[furthest], -float(rises[-1])) if rises[-1] < -values.unseen else None
    model = replace(state.model, batch=max(state.model.batch, LEAST)) if values.random else state.model
    return replace(state, values=values, value=value, first=first, model=model)
