"""A bound of the Frank-Wolfe gap at the best point, from two-sided slopes whose every point is a member of the set."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import replace

import numpy as np

from zofw.algorithms.interpolation.frame import Frame
from zofw.algorithms.interpolation.state import State, ask
from zofw.algorithms.model.certificate import COARSE, Certificate
from zofw.algorithms.model.noise import rounding_of
from zofw.core import WORST, Answer, Array, OutOfBudget, Purpose, Query, Task

PROBES = 2  # random directions along which slopes are compared at h and 2h
CONFIDENCE = 3.0  # deviations
LENGTHS_IN_A_LINE = np.array(
    [[0.9], [0.8]]
)  # of one variable: equal lengths are equal values of x², which look like steps
THIN = 1e-6  # of the diameter: a ball in the set that is smaller is no room for differences
MOST_INWARD = 0.3  # of the way to the centre: the first of three points along it
NOISE_OF_KINK = 7.0  # times ε/h: what κ shows where there is none, (4S(h) − S(2h))/2h of four values each


def price(task: Task, frame: Frame) -> int:
    """The most that a certificate may cost."""
    return task.n * (4 * frame.rank + 6 * PROBES + 1)


def certify(
    task: Task, frame: Frame, state: State, rng: np.random.Generator, steps: float = 0.0
) -> Generator[Query, Answer, tuple[State, Certificate]]:
    r"""Central slopes g along the axes of the hull at z; near the boundary 2g₁ − g₂, those at z + τ(c − z) and z + 2τ(c − z).

    c is the centre of a ball in the set, and τ such that all points are members. The error of g has four parts, each times
    the size of the set: noise, ε√r/h at three deviations; the third order, from the change of central slopes along two random
    directions u between h and 2h; what 2g₁ − g₂ leaves, from u·(g₁ − 2g₂ + g₃); and kinks, from second differences
    S(h) = f(z + hu) + f(z − hu) − 2f(z) = κh + Hh², hence κ = (4S(h) − S(2h))/2h. A kink between z and the others is no harm
    where f is convex: g is then a limit of gradients, hence a subgradient. Values that are all equal along the random directions
    say nothing below the least difference of any two that were seen, ``steps``: h is then too short, and is chosen again.
    """
    if task.remaining < price(task, frame):
        raise OutOfBudget
    r, z, size, seen = frame.rank, state.z, state.size, _seen(state)
    if not len(seen):
        return state, Certificate(np.inf, 0.0, 0.0, 0.0, 0.0)
    noise, spread, began = max(rounding_of(seen), steps), float(np.ptp(seen)), state
    h = size * min((noise / spread) ** (1 / 3) if spread > 0 else 1.0, 1e-2)
    u = rng.standard_normal((PROBES, r))
    u /= np.linalg.norm(u, axis=1)[:, None] / (LENGTHS_IN_A_LINE if r == 1 else 1.0)
    axes = np.vstack([np.eye(r), u, 2 * u])
    least = (1 + THIN) * task.resolution / _spacing(axes) if task.resolution else 0.0  # and rounding
    centre, radius = (z, np.inf) if _fits(frame, z, max(h, least) * axes) else frame.inner_ball
    if radius < THIN * size:
        return state, Certificate(np.inf, 0.0, 0.0, 0.0, noise)
    h = max(min(h, 0.1 * radius), least)
    if 2 * h > MOST_INWARD * radius:  # the resolution would lead out of the set
        return state, Certificate(np.inf, 0.0, 0.0, 0.0, noise)
    inward = min(2 * h / radius, MOST_INWARD) * (centre - z)
    state, forward, back, base = yield from _around(task, frame, state, z + inward, h * axes)
    g, drift, times = (forward - back)[:r] / (2 * h), 0.0, 1.0
    if inward.any():
        state, ahead, behind, _ = yield from _around(task, frame, state, z + 2 * inward, h * axes[:r], base)
        second = (ahead - behind) / (2 * h)
        state, ahead, behind, _ = yield from _around(task, frame, state, z + 3 * inward, h * u, base)
        drift = float(np.abs((ahead - behind) / (2 * h) - u @ (2 * second - g)).max())
        g, times = 2 * g - second, np.sqrt(5.0)
    if state.values[len(began.values) :].max() >= WORST:
        return state, Certificate(np.inf, 0.0, 0.0, 0.0, noise)
    seen = _seen(state)
    if (forward[r:] == base).all() and (back[r:] == base).all():
        steps = max(steps, float(np.diff(np.unique(seen)).min(initial=np.inf))) if np.ptp(seen) > 0 else steps
    if max(rounding_of(seen), steps) > noise:
        return (
            yield from certify(task, frame, replace(state, best=began.best, lowest=began.lowest), rng, steps)
        )
    slopes, bends = (forward - back) / (2 * h), forward + back - 2 * base
    one, two = slice(r, r + PROBES), slice(r + PROBES, None)
    third = float(np.abs(slopes[two] / 2 - slopes[one]).max()) / 3
    kink = float(np.abs(4 * bends[one] - bends[two]).max()) / (2 * h)
    root, curvature = np.sqrt(r), max(float(bends[:r].max()), 0.0) / h**2
    error = size * root * CONFIDENCE * (times * noise / h + third + drift)
    shown = max(2 * np.sqrt(8 * curvature * size**2 * noise), 2 * error)
    gap = max(float(g @ (z - frame.lmo(g))), 0.0)
    kink = 5 * root * size * max(kink - NOISE_OF_KINK * noise / h, 0.0)
    tolerance = min(shown, COARSE * spread) if spread > 0 else shown
    return state, Certificate(gap, error, kink, tolerance, noise)


def _seen(state: State) -> Array:
    """The values that are no walls, one for each point: equal values at one point are no steps of f."""
    _, first = np.unique(state.points, axis=0, return_index=True)
    values = state.values[np.sort(first)]
    return values[values < WORST]


def _spacing(steps: Array) -> float:
    """The least distance of two different points among 0 and ± every step."""
    points = np.vstack([steps, -steps, np.zeros_like(steps[:1])])
    away = np.linalg.norm(points[:, None] - points, axis=2)
    return float(away[away > THIN].min())


def _fits(frame: Frame, z: Array, steps: Array) -> bool:
    """Whether z ± every step is a member."""
    return all(frame.sure_to_contain(z + sign * s) for s in steps for sign in (1.0, -1.0))


def _around(
    task: Task, frame: Frame, state: State, z: Array, steps: Array, base: float | None = None
) -> Generator[Query, Answer, tuple[State, Array, Array, float]]:
    """f at z ± every step, and at z itself, unless ``base`` stands for it or z is the best point."""
    k, first = len(steps), len(state.values)
    base = state.value if bool((z == state.z).all()) else base
    points = [z + steps, z - steps] + [z[None, :]] * (base is None)
    state = yield from ask(task, frame, state, np.vstack(points), Purpose.CERTIFICATE)
    values = state.values[first:]
    return state, values[:k], values[k : 2 * k], float(values[-1]) if base is None else base
