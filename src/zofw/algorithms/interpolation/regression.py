r"""Noisy values: a regression around the estimated minimiser, sampled where curvature shows above the noise.

    repeat  fit c, g, H to the values of the nearest points, H shrunk towards 0 by the noise
            x = argmin of the quadratic over X, not farther than the points reach
            ask at x + Δ, ½ ΔᵀHΔ about κσ, in the direction that is known least

With N values at that distance the gap left is about rσ/N, far below the noise of one value; points nearer to x would drown in it,
points farther away would see what no quadratic is.

References
----------
G. E. P. Box, K. B. Wilson, On the experimental attainment of optimum conditions, J. Roy. Statist. Soc. B 13, 1951.
A. R. Conn, K. Scheinberg, L. N. Vicente, Introduction to Derivative-Free Optimization, chapters 4 and 9, SIAM, 2009.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from zofw.algorithms.interpolation.frame import Frame
from zofw.algorithms.interpolation.model import System
from zofw.algorithms.interpolation.state import Action, State, ask, tame
from zofw.algorithms.interpolation.subproblem import nearest, trust_region_step
from zofw.core import Array, Task

SHOWN = 6.0  # times the noise: the rise of the model at the points that are asked for
REACH = 8.0  # times that rise: points that rise more are left out of the fit
FLAT = 1e-6  # times the noise over the squared size of the set: a curvature that no value shows
MOST_POINTS = 400
RHO = 0.3  # of Δ, where the model begins again
MISFIT = 3.0  # times the noise of values at one point: residuals beyond are the function's
UNFIT = 3.0  # times the noise of values at one point: residuals beyond are of a bad fit
MOST_SHRUNK = 1.0  # variance of a value over that of an entry of H: beyond, H would vanish from fit to fit


def advance(task: Task, frame: Frame, state: State, rng: np.random.Generator) -> Action:
    """A value more for each worker, and the estimate of the minimiser that follows from all."""
    z = centre(frame, state)
    count = int(max(1, min(task.points_at_once, task.remaining // task.n)))
    state = yield from ask(task, frame, state, sample(task, frame, state, count, rng))
    state = estimate(frame, state, z)
    return _back(frame, state) if state.misfit > MISFIT and len(state.values) > state.checked else state


def centre(frame: Frame, state: State) -> Array:
    """Return the coordinates of the estimate, of x before there is one."""
    return state.centre if len(state.centre) else frame.inward(state.x)


def sample(task: Task, frame: Frame, state: State, count: int, rng: np.random.Generator) -> Array:
    """Return members around the estimate where the model rises by a few times the noise, in random directions."""
    r = frame.rank
    z = centre(frame, state)
    curvature, V = np.linalg.eigh(state.H)
    typical = max(float(np.median(np.abs(curvature))), FLAT * state.noise / state.size**2)
    shape = np.maximum(np.abs(curvature), 0.01 * typical)
    ends = []
    for _ in range(count):
        u = rng.standard_normal(r)
        u /= np.linalg.norm(u)
        step = V @ (u / np.sqrt(shape)) * np.sqrt(2 * SHOWN * state.noise)
        length = float(np.linalg.norm(step))
        least = task.resolution * length / float(np.linalg.norm(frame.steps(step)))
        step *= min(max(1.0, least / length), 0.25 * state.size / length)
        ends.append(_inside(frame, z, z + step))
    return np.array(ends)


def _back(frame: Frame, state: State) -> State:
    """Return to the model of the points nearest to the best one: residuals show more than the noise."""
    r = frame.rank
    distances = np.linalg.norm(state.points - state.z, axis=1)
    near = np.argsort(distances, kind="stable")[: (r + 1) * (r + 2) // 2]
    radius = max(float(np.median(distances[near])), state.least_delta)
    state = replace(
        state,
        regime="model",
        checked=len(state.values) + 2 * r,
        chosen=np.sort(near),
        delta=radius,
        rho=RHO * radius,
        quiet=0,
    )
    return state.fitted(frame)


def estimate(frame: Frame, state: State, z: Array) -> State:
    """The quadratic of the values around z, and its minimiser over the set."""
    r = frame.rank
    away = state.points - z
    rise = np.abs(0.5 * np.einsum("ij,ij->i", away @ state.H, away)) + 1e-12 * (away**2).sum(axis=1)
    order = np.argsort(rise, kind="stable")
    enough = min(len(order), (r + 1) * (r + 2) // 2 + r)
    count = max(enough, int(np.count_nonzero(rise <= REACH * SHOWN * state.noise)))
    chosen = np.sort(order[:count])[-MOST_POINTS:]  # the last ones, which are asked for where they tell most
    Y, f = state.points[chosen], tame(state.values[chosen]) - state.value
    reach = max(float(np.median(np.linalg.norm(Y - z, axis=1))), 1e-9 * state.size)
    entries = max(float(np.mean((reach**2 * state.H) ** 2)), 1e-300)
    nu = min(state.noise**2 / entries, MOST_SHRUNK)
    system = System.of(Y, z, reach, nu)
    c, g, H = system.fit(f, np.zeros_like(state.H))
    away = Y - z
    residual = f - c - away @ g - 0.5 * np.einsum("ij,ij->i", away @ H, away)
    free = max(len(f) - r - 1 - min(len(f) // 3, r * (r + 1) // 2), 1)
    noise = float(np.sqrt(np.sum(residual**2) / free)) if len(f) > 2 * r + 2 else state.noise
    misfit = noise / state.repeated if state.repeated > 0 else 0.0
    found = trust_region_step(frame, z, g, H, 1.5 * reach, state.atoms)
    x = frame.member(z + found.s)
    expected = state.value + c + float((g + 0.5 * H @ found.s) @ found.s)
    settled = float(np.linalg.norm(found.s)) <= reach
    sound = settled and misfit <= MISFIT and expected <= state.value + 4 * state.repeated
    atoms = found.atoms[: 3 * (r + 1)] if len(found.atoms) else state.atoms
    return replace(
        state,
        chosen=chosen,
        x=x if sound else state.lowest,
        centre=frame.inward(x),
        g=g + H @ found.s,
        H=H,
        atoms=atoms,
        noise=min(max(noise, 0.3 * state.noise), UNFIT * state.repeated),
        delta=reach,
        misfit=misfit,
    )


def _inside(frame: Frame, z: Array, y: Array) -> Array:
    """y, or the nearest member."""

    return y if frame.sure_to_contain(y) else nearest(frame, z, y)
