"""A bound of the Frank-Wolfe gap at the best point, from two-sided slopes whose every point is a member of the set."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import replace

import numpy as np

from zofw.algorithms.interpolation.frame import Frame
from zofw.algorithms.interpolation.state import State, ask
from zofw.algorithms.model.certificate import COARSE, SURE, UNKNOWN, Certificate
from zofw.algorithms.model.noise import rounding_of
from zofw.core import WORST, Answer, Array, OutOfBudget, Purpose, Query, Task

PROBES = 2  # random directions along which slopes are compared at h and 2h
CONFIDENCE = 3.0  # deviations
LENGTHS_IN_A_LINE = np.array(
    [[0.9], [0.8]]
)  # of one variable: equal lengths are equal values of x², which look like steps
ROUNDING = 1e-11  # of the diameter: z is on a facet
THIN = 1e-6  # of the diameter: a ball in the set that is smaller is no room for differences
MOST_INWARD = 0.3  # of the way to the centre: the first of three points along it
NOISE_OF_KINK = 7.0  # times ε/h: what κ shows where there is none, (4S(h) − S(2h))/2h of four values each


def price(task: Task, frame: Frame) -> int:
    """Return the most that a certificate may cost."""
    return task.n * (4 * frame.rank + 8 * PROBES + 1)


def certify(
    task: Task, frame: Frame, state: State, rng: np.random.Generator, steps: float = 0.0
) -> Generator[Query, Answer, tuple[State, Certificate]]:
    r"""Bound the gap at z by the gradient of the model, tested along random u; if that is too coarse, by central slopes along the axes.

    Near the boundary a slope at z is 2g₁ − g₂, of those at z + τ(c − z) and z + 2τ(c − z), c the centre of a ball in the set, and τ
    such that all points are members. The error of g has four parts, each times the size of the set: that of the model, at most
    13 max|uᵀ(∇f − g)| over two Gaussian u except with probability 0.4 %, or of central slopes, ε√r/h at three deviations; the third
    order, from the change of slopes along u between h and 2h; what 2g₁ − g₂ leaves, from u·(g₁ − 2g₂ + g₃); and kinks, from second
    differences S(h) = f(z + hu) + f(z − hu) − 2f(z) = κh + Hh², hence κ = (4S(h) − S(2h))/2h. Where all points lie at y = z + τ(c − z)
    or beyond, a kink may lie between: f(z) − f(y) is then not what slope and curvature foretell. For convex f, that f(z) is higher
    by δ means that slopes at y are subgradients at z up to δ, which counts as a part of the kink. Values that are all equal along u say nothing
    below the least difference of any two that were seen, ``steps``: h is then too short, and is chosen again.
    """
    r, z, size, seen = frame.rank, state.z, state.size, _seen(state)
    if not len(seen):
        return state, UNKNOWN
    noise, spread, began = max(rounding_of(seen), steps), float(np.ptp(seen)), state
    nothing = replace(UNKNOWN, noise=noise)
    h = size * min((noise / spread) ** (1 / 3) if spread > 0 else 1.0, 1e-2)
    u = rng.standard_normal((PROBES, r))
    lengths = np.linalg.norm(u, axis=1)
    u /= lengths[:, None] / (LENGTHS_IN_A_LINE if r == 1 else 1.0)
    axes = np.vstack([np.eye(r), u, 2 * u])
    least = (1 + THIN) * task.resolution / _spacing(frame.steps(axes)) if task.resolution else 0.0
    centre, radius = (z, np.inf) if _fits(frame, z, max(h, least) * axes) else frame.inner_ball
    if radius < THIN * size:
        return state, nothing
    h = max(min(h, 0.1 * radius), least)
    if 2 * h > MOST_INWARD * radius:  # the resolution would lead out of the set
        return state, nothing
    inward = min(2 * h / radius, MOST_INWARD) * (centre - z)
    sides = 4 if inward.any() else 2  # points for each way
    if task.remaining < task.n * (2 * sides * PROBES + sides // 4):
        if steps:
            return state, nothing
        raise OutOfBudget
    state, slopes, bends, base = yield from _around(task, frame, state, z + inward, h, axes[r:])
    c, drift, times = slopes[:PROBES], 0.0, 1.0
    if inward.any():
        state, second, _, _ = yield from _around(task, frame, state, z + 2 * inward, h, u, base)
        state, third, _, _ = yield from _around(task, frame, state, z + 3 * inward, h, u, base)
        c, drift, times = 2 * c - second, float(np.abs(c - 2 * second + third).max()), np.sqrt(5.0)
    seen = _seen(state)
    if not slopes.any() and not bends.any():
        steps = max(steps, float(np.diff(np.unique(seen)).min(initial=np.inf))) if np.ptp(seen) > 0 else steps
    if max(rounding_of(seen), steps) > noise:
        return (
            yield from certify(task, frame, replace(state, best=began.best, lowest=began.lowest), rng, steps)
        )
    order = float(np.abs(slopes[PROBES:] / 2 - slopes[:PROBES]).max()) / 3 + drift
    kink = float(np.abs(4 * bends[:PROBES] - bends[PROBES:]).max()) / (2 * h)
    kink = 5 * np.sqrt(r) * size * max(kink - NOISE_OF_KINK * noise / h, 0.0)
    central = CONFIDENCE * times * noise / h

    def bounded(g: Array, error: float, curvature: float, way: float) -> Certificate:
        shown = 2 * max(
            np.sqrt(8 * max(curvature, 0.0) * size**2 * noise), size * np.sqrt(r) * (central + order)
        )
        gap = max(float(g @ (z - frame.lmo(g))), 0.0)
        between = abs(base - began.value - way)
        shown = min(shown, COARSE * spread) if spread > 0 else shown
        error = 0.0 if _held(frame, z, g, error) else size * error
        return Certificate(gap, error, kink + between, shown, noise)

    error = SURE * float((lengths * np.abs(c - u @ began.g)).max())
    way = float((began.g + 0.5 * began.H @ inward) @ inward)
    found = bounded(began.g, error + np.sqrt(r) * (central + order), float(np.diagonal(began.H).max()), way)
    enough = found.bound <= (found.tolerance if task.gap_tol is None else task.gap_tol)
    if _walls(began, state) or enough or task.remaining < task.n * sides * r:
        return state, nothing if _walls(began, state) else found
    first = len(state.values)
    state, g, bends, _ = yield from _around(task, frame, state, z + inward, h, axes[:r], base)
    bend = float(bends.max()) / h**2
    if inward.any():
        guess = g - began.H @ inward  # the curvature of the model in place of a second sweep
        error = SURE * float((lengths * np.abs(c - u @ guess)).max())
        found = bounded(guess, error + np.sqrt(r) * (central + order), bend, float((guess + g) @ inward) / 2)
        if found.bound <= (found.tolerance if task.gap_tol is None else task.gap_tol):
            return state, nothing if _walls(began, state) else found
        state, second, _, _ = yield from _around(task, frame, state, z + 2 * inward, h, axes[:r], base)
        g, way = 2 * g - second, float((1.5 * g - 0.5 * second) @ inward)
    found = bounded(g, np.sqrt(r) * (central + order), bend, way)
    state = replace(state, chosen=np.append(began.best, np.arange(first, len(state.values))))
    return state, nothing if _walls(began, state) else found


def _held(frame: Frame, z: Array, g: Array, error: float) -> bool:
    """Return True if z is a vertex at which no slope within ``error`` of g leads down: all forces of its facets are large enough."""
    if frame.facets is None:
        return False
    A, b = frame.facets
    N = A[b - A @ z <= ROUNDING * frame.size]
    if len(N) != len(z) or np.linalg.matrix_rank(N) < len(z):
        return False
    inverse = np.linalg.inv(N.T)  # −(g + e) = Nᵀλ with λ ≥ 0 for all |e| ≤ error
    return bool((-inverse @ g >= error * np.linalg.norm(inverse, axis=1)).all())


def _walls(began: State, state: State) -> bool:
    """Return True if a value of the certificate is worse than anything."""
    return bool(state.values[len(began.values) :].max() >= WORST)


def _seen(state: State) -> Array:
    """Return the ordinary values, one for each point: equal values at one point are no steps of f."""
    _, first = np.unique(state.points, axis=0, return_index=True)
    first = np.sort(first)
    return np.asarray(state.values[first][state.ordinary[first]])


def _spacing(steps: Array) -> float:
    """The least distance of two different points among 0 and ± every step."""
    points = np.vstack([steps, -steps, np.zeros_like(steps[:1])])
    away = np.linalg.norm(points[:, None] - points, axis=2)
    return float(away[away > THIN].min())


def _fits(frame: Frame, z: Array, steps: Array) -> bool:
    """Whether z ± every step is a member."""
    return all(frame.sure_to_contain(z + sign * s) for s in steps for sign in (1.0, -1.0))


def _around(
    task: Task, frame: Frame, state: State, z: Array, h: float, ways: Array, base: float | None = None
) -> Generator[Query, Answer, tuple[State, Array, Array, float]]:
    """Return central slopes and second differences along every way, and f(z) unless ``base`` stands for it or z is the best point."""
    k, steps = len(ways), h * ways
    base = state.value if bool((z == state.z).all()) else base
    points = np.vstack([z + steps, z - steps] + [z[None, :]] * (base is None))
    state = yield from ask(task, frame, state, points, Purpose.CERTIFICATE)
    values = state.values[-len(points) :]
    forward, back, base = values[:k], values[k : 2 * k], float(values[-1]) if base is None else base
    return state, (forward - back) / (2 * h), forward + back - 2 * base, base
