"""How noisy are the values? Difference tables along a line, and one value asked twice."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from zofw.algorithms.explore_correct.state import Action, Probe, Radii, State
from zofw.core import Array, Batch, Query, Stencil, Task
from zofw.differences import base_values, slopes
from zofw.directions import Explicit

POINTS = 7
DIFFERENT = 6  # of the POINTS + 1 values, or the spacing is too fine to show anything
ROUNDING = 1e-16
LARGEST = 0.03
COMPONENTS = 4  # probed, or one for every BUDGET_SHARE queries of the budget
BUDGET_SHARE = 500
WIDEST = 1e-3
STOCHASTIC = 1e-6  # two values at one point differ by more: the oracle is random, not merely rounded


def noise_level(values: Array) -> float:
    """ECnoise: the least estimate over the differences of order 3 to 6, each scaled by its own factor."""
    estimates = []
    for order in range(1, POINTS):
        values = np.diff(values)
        if order >= 3:
            factor = math.factorial(order) ** 2 / math.factorial(2 * order)
            estimates.append(math.sqrt(factor * float(np.mean(values**2))))
    return min(estimates)


def probe(task: Task, state: State, rng: np.random.Generator) -> Action:
    """Nine queries about the noise of one component; after up to four of them, the radii: ε^{1/3} for slopes, ε^{1/4} for
    curvatures, ε the noise relative to the values.

    A spacing at which the values do not differ shows nothing, and is tried again thirty times wider.

    References
    ----------
    J. J. Moré, S. M. Wild, Estimating computational noise, SIAM Journal on Scientific Computing, 2011.
    """
    seen = state.probe
    u = rng.standard_normal(task.dim)
    size = seen.size or float(np.linalg.norm(task.lmo(u).dense() - task.lmo(-u).dense())) or 1.0
    line = (size / np.linalg.norm(u)) * u
    component = Batch(task.n, rng.integers(task.n, size=1, dtype=np.int64))
    query = Query(
        state.x,
        component,
        Explicit(line[:, None] * np.arange(1.0, POINTS + 1)),
        seen.spacing,
        Stencil.FORWARD,
    )
    answer = yield query
    value = float(base_values(query, answer)[0])
    again = Query(state.x, component)
    repeat = abs(float((yield again).values[0, 0]) - value)
    rises = np.concatenate([[0.0], slopes(query, answer)[0] * seen.spacing])
    seen = replace(seen, size=size, largest=max(seen.largest, abs(value)), repeat=max(seen.repeat, repeat))
    if len(np.unique(rises)) < DIFFERENT and seen.spacing < WIDEST:
        seen = replace(seen, spacing=30 * seen.spacing)
    else:
        seen = replace(seen, levels=(*seen.levels, noise_level(rises)))
    state = replace(state, used=state.used + query.cost + again.cost, probe=seen)
    enough = min(task.n, COMPONENTS, max(1, (task.budget or math.inf) // BUDGET_SHARE))
    return replace(state, radii=_radii(task, seen)) if len(seen.levels) >= enough else state


def _radii(task: Task, seen: Probe) -> Radii:
    relative = min(max(float(np.median(seen.levels)) / max(seen.largest, 1e-300), ROUNDING), LARGEST)
    longest = task.reach / (2.0 * seen.size)  # a pair of directions is at most two diameters long
    return Radii(
        sketch=min(relative ** (1 / 3), longest) * seen.size / math.sqrt(task.dim),
        slope=min(relative ** (1 / 3), longest),
        curvature=min(relative ** (1 / 4), longest),
        noisy=seen.repeat > STOCHASTIC * seen.largest,
    )
