"""The regime of the bundle, and the sweeps of differences that it and the certificate are made of."""

from __future__ import annotations

import itertools
from collections.abc import Generator
from dataclasses import replace

import numpy as np

from zofw.algorithms.interpolation.bundle import Bundle
from zofw.algorithms.interpolation.design import first_points
from zofw.algorithms.interpolation.frame import Frame
from zofw.algorithms.interpolation.state import Action, State, ask
from zofw.core import WORST, Answer, Array, Purpose, Query, Task

RISE = 0.5  # of the promised gain: beyond, the next step may be longer
UNSEEN = 1e-15  # of the value
TOLD = 0.01  # of the promised gain: a value as near to it shows no new cut, and differences there lie across the old ones
REACH = (20.0, 1e-2)  # times Δ, and of the diameter at least: twice the length of the first step
SIGMAS = (1.0, 0.25, 4.0, 1 / 16, 16.0, 1 / 64, 64.0, 2.0, 0.5)  # times σ: of trials side by side
FINER = 10.0  # times the width of the last differences: the steps that the next ones are made for


def sweep(
    task: Task, frame: Frame, state: State, z: Array, h: float, known: float | None, purpose: Purpose
) -> Generator[Query, Answer, tuple[State, float, Array]]:
    """The value at z, unless it is known, and the gradient there by forward differences of width h inside the set."""
    edges = first_points(frame, z, h)
    state = yield from ask(task, frame, state, edges if known is not None else np.vstack([z, edges]), purpose)
    start = len(state.values) - len(edges)
    value = known if known is not None else float(state.values[start - 1])
    origin = z if known is not None else state.points[start - 1]
    return state, value, _gradient(state.points[start:] - origin, state.values[start:] - value, h)


def _gradient(steps: Array, rises: Array, h: float) -> Array:
    """Return the gradient of differences along steps of length h."""
    return np.asarray(np.linalg.lstsq(steps / h, rises / h, rcond=None)[0], dtype=float)


def advance(task: Task, frame: Frame, state: State) -> Action:
    """A sweep at the minimiser of the bundle; the regime ends where the bundle promises nothing that values could show."""
    bundle, before, c = state.bundle or Bundle.empty(frame.rank, state.size), state.value, state.z
    h = max(bundle.width(before, state.size), frame.coarsest)
    reach = min(max(REACH[0] * state.delta, REACH[1] * state.size), state.size)
    if not len(bundle.g):
        state, _, g = yield from sweep(task, frame, state, c, h, before, Purpose.ESTIMATE)
        if not g.any():  # values in single precision do not differ at this width
            return replace(state, bundle=None, stint=0)
        return replace(state, bundle=bundle.with_cut(c, before, g, reach))
    z, gain, bundle = bundle.trial(frame, c, before)
    if not gain > UNSEEN * abs(before):  # differences as wide as the last steps were show no more
        finer = replace(Bundle.empty(frame.rank, state.size), step=FINER * h, sigma=bundle.sigma)
        spent = max(finer.width(before, state.size), frame.coarsest) > 0.5 * h
        return replace(state, bundle=finer, stint=0 if spent else state.stint)
    state = yield from ask(task, frame, state, z[None, :])
    value, sigma = float(state.values[-1]), bundle.sigma
    if value >= WORST:
        return replace(state, bundle=replace(bundle, sigma=4 * sigma))
    if before - value > RISE * gain:
        sigma = sigma / 2
    elif value - before > gain:
        sigma = 2 * sigma
    bundle, short = replace(bundle, sigma=sigma), value - (before - gain)
    if abs(short) <= TOLD * gain or task.remaining < task.n * frame.rank:
        return replace(state, bundle=bundle)
    h = max(bundle.width(before, state.size), frame.coarsest)
    state, _, g = yield from sweep(task, frame, state, z, h, value, Purpose.ESTIMATE)
    if state.values[-frame.rank :].max() >= WORST:
        return replace(state, bundle=replace(bundle, sigma=4 * bundle.sigma))
    return replace(state, bundle=bundle.with_cut(z, value, g, reach))


def advance_side_by_side(task: Task, frame: Frame, state: State) -> Action:
    """Trial points for several σ, each with its differences in one query; further trials fill the last round."""
    bundle, before, c, W = state.bundle, state.value, state.z, task.points_at_once
    r = frame.rank
    if bundle is None or not len(bundle.g) or task.remaining < task.n * (r + 1):
        return (yield from advance(task, frame, state))
    h = max(bundle.width(before, state.size), frame.coarsest)
    slots = int(min(-(-(r + 1) // W) * W, task.remaining // task.n))
    sweeps = slots // (r + 1)
    shares = SIGMAS[: sweeps + slots - sweeps * (r + 1)]
    found = [replace(bundle, sigma=share * bundle.sigma).trial(frame, c, before) for share in shares]
    _, gain, kept = found[0]
    if not gain > UNSEEN * abs(before):
        return (yield from advance(task, frame, state))
    points = [np.vstack([z, first_points(frame, z, h)]) for z, _, _ in found[:sweeps]]
    points += [z[None, :] for z, _, _ in found[sweeps:]]
    state = yield from ask(task, frame, state, np.vstack(points))
    at = len(state.values) - np.cumsum([0, *(len(p) for p in reversed(points))])[::-1]
    values = state.values[at[:-1]]
    best = int(np.argmin(values))
    sigma = bundle.sigma * (shares[best] if values[best] < before else 1.0)
    promised = found[best][1]
    if before - values[best] > RISE * promised:
        sigma = sigma / 2
    elif values[best] >= before:
        sigma = (4 if values[0] >= WORST else 2) * sigma
    bundle = replace(kept, sigma=sigma)
    for first, last in itertools.pairwise(at[: sweeps + 1]):
        if state.values[first:last].max() < WORST:
            y, f = state.points[first:last], state.values[first:last]
            bundle = bundle.with_cut(y[0], float(f[0]), _gradient(y[1:] - y[0], f[1:] - f[0], h), 1.0)
    return replace(state, bundle=bundle)
