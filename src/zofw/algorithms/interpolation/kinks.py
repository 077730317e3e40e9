"""The regime of the bundle, and the sweeps of differences that it and the certificate are made of."""

from __future__ import annotations

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
FINER = 10.0  # times the width of the last differences: the steps that the next ones are made for


def sweep(
    task: Task, frame: Frame, state: State, z: Array, h: float, known: float | None, purpose: Purpose
) -> Generator[Query, Answer, tuple[State, float, Array]]:
    """The value at z, unless it is known, and the gradient there by forward differences of width h inside the set."""
    edges = first_points(frame, z, h)
    first = len(state.values)
    state = yield from ask(task, frame, state, edges if known is not None else np.vstack([z, edges]), purpose)
    start = first if known is not None else first + 1
    value = known if known is not None else float(state.values[first])
    origin = z if known is not None else state.points[first]
    steps, rises = state.points[start:] - origin, state.values[start:] - value
    return state, value, np.asarray(np.linalg.lstsq(steps / h, rises / h, rcond=None)[0], dtype=float)


def advance(task: Task, frame: Frame, state: State) -> Action:
    """A sweep at the minimiser of the bundle; the regime ends where the bundle promises nothing that values could show."""
    bundle, before, c = state.bundle or Bundle.empty(frame.rank, state.size), state.value, state.z
    h = max(bundle.width(before, state.size), task.resolution)
    reach = min(max(REACH[0] * state.delta, REACH[1] * state.size), state.size)
    if not len(bundle.g):
        state, _, g = yield from sweep(task, frame, state, c, h, before, Purpose.ESTIMATE)
        if not g.any():  # values in single precision do not differ at this width
            return replace(state, bundle=None, stint=0)
        return replace(state, bundle=bundle.with_cut(c, before, g, reach))
    z, gain, bundle = bundle.trial(frame, c, before)
    if not gain > UNSEEN * abs(before):  # differences as wide as the last steps were show no more
        finer = replace(Bundle.empty(frame.rank, state.size), step=FINER * h, sigma=bundle.sigma)
        spent = max(finer.width(before, state.size), task.resolution) > 0.5 * h
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
    h = max(bundle.width(before, state.size), task.resolution)
    state, _, g = yield from sweep(task, frame, state, z, h, value, Purpose.ESTIMATE)
    if state.values[-frame.rank :].max() >= WORST:
        return replace(state, bundle=replace(bundle, sigma=4 * bundle.sigma))
    return replace(state, bundle=bundle.with_cut(z, value, g, reach))
