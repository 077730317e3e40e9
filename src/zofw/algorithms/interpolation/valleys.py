r"""Many valleys: search from other points, once a local minimum is certified and the values are not those of a convex function.

sign    a value above a convex combination of others: f(y) > Σ λ_j f(y_j),  y = Σ λ_j y_j,  λ ≥ 0,  Σ λ_j = 1
2r random members, then repeat until the budget ends
    START   the lowest known point 0.05 diameters from the starts and ends of searches; every second time the minimiser of
            a round quadratic a + ⟨b, z⟩ + c|z|² through the lower two thirds of these ends
    SEARCH  the model, first Δ = 0.02 diameters; left near an earlier end, or after 12r values if 3 predicted decreases are too few
a search that ends below the best value becomes the run, and its end is certified
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from zofw.algorithms.interpolation.frame import Frame
from zofw.algorithms.interpolation.spread import candidates
from zofw.algorithms.interpolation.state import Action, State, ask
from zofw.algorithms.interpolation.trust_region import noise_floor, restart
from zofw.core import WORST, Array, OutOfBudget, Task

HIGHEST = 400  # over r, but 1 to 20: the highest points, which are compared with the others
SIGN = 1e-6  # of the range of the values: by how much a value is above, beyond rounding
APART = 0.05  # of the diameter: two valleys
RADIUS = 0.02  # of the diameter: of the first model of a search
TRIED = 12  # values for each variable: an end before says little of its valley
HOPE = 3.0  # predicted decreases that a search may still bring
REACH = (0.05, 0.5)  # of the diameter: how far a random member is from the best point
LOOKS = 8  # members far from a certified minimum at which convexity is tested, two on the way to each of four atoms
LOOK_SHARE = 0.1  # of the budget that is left, at most, but two
RESERVE = (14, 13)  # values, r times and once: the end of a search below the best value and its certificate


def convex(state: State) -> bool:
    """Return True unless a linear programme proves that no convex function has these values."""
    from scipy.optimize import linprog

    seen = state.values < WORST
    Y, f = (state.points[seen] - state.z) / state.size, state.values[seen]
    margin = SIGN * float(np.ptp(f)) + 4 * noise_floor(replace(state, bound=None))
    E = np.vstack([Y.T, np.ones(len(f))])
    for i in np.argsort(-f, kind="stable")[: max(min(HIGHEST // Y.shape[1], 20), 1)]:
        others = (Y - Y[i]).any(axis=1)
        found = linprog(f[others] - f[i], A_eq=E[:, others], b_eq=E[:, i], method="highs")
        if found["status"] == 0 and found["fun"] < -margin:
            return False
    return True


def looked(task: Task, frame: Frame, held: State, rng: np.random.Generator) -> Action:
    """Return the state with values on the ways from the best point to a few atoms: is f convex as far as these?"""
    count = int(min(LOOKS, max(2, LOOK_SHARE * task.remaining / task.n)))
    if task.remaining < count * task.n:
        return held
    slopes = rng.standard_normal((count // 4 + 1, frame.rank))
    ways = np.array([frame.lmo(sign * u) for u in slopes for sign in (1, -1)]) - held.z
    shares = (np.arange(count) % 2 + rng.random(count)) / 2  # one in each half of a way
    state = yield from ask(task, frame, held, held.z + shares[:, None] * ways[np.arange(count) // 2])
    return replace(state, best=held.best, lowest=held.lowest, bound=held.bound, looked=count == LOOKS)


def begun(state: State) -> State:
    """Return the state at a certified point of a function that is not convex, from which the search goes on elsewhere."""
    searches = state.searches.copy() if len(state.searches) else np.zeros((1, 2), dtype=np.int64)
    searches[-1, 1] = state.best
    return replace(state, searches=searches, certified=state.bound)


def undercut(state: State) -> bool:
    """Return True if a value elsewhere is below that of the certified point."""
    return float(state.values.min()) < state.value - noise_floor(state)


def elsewhere(task: Task, frame: Frame, held: State, rng: np.random.Generator) -> Action:
    """Return the state with a search from another point, whose first model it pays for, or with random members."""
    state, lower = held, held.values < held.value - noise_floor(held)
    free = np.logical_or(_free(frame, state, state.points), lower) & (state.values < WORST)
    worth = np.where(free, state.values, np.inf)
    if not (state.sown and free.any()):
        radii = state.size * rng.uniform(*REACH, int(min(2 * frame.rank, task.remaining // task.n)))
        Z = [candidates(frame, state.z, radius, 1, state.atoms, rng) for radius in radii]
        if not Z:
            raise OutOfBudget
        state = yield from ask(task, frame, state, np.vstack(Z))
        return replace(state, best=held.best, lowest=held.lowest, bound=held.bound, sown=True)
    if task.remaining < task.n * (frame.rank + 1):
        raise OutOfBudget
    first = int(np.argmin(worth))
    start = _by_ends(frame, state) if len(state.searches) % 2 == 0 else None
    if start is not None:
        state = yield from ask(task, frame, state, start[None, :])
        first = int(np.argmin(np.abs(state.points - start).max(axis=1)))
    search = replace(
        state, best=first, lowest=frame.member(state.points[first]), regime="model", bundle=None, bound=None,
        certified=None, rates=(np.inf, np.inf), stint=10**9, last_gap=np.inf, checked=len(state.values),
    )  # fmt: skip
    search = yield from restart(task, frame, search, RADIUS * state.size)
    return judged(task, frame, replace(held, searches=np.vstack([held.searches, [[first] * 2]])), search)


def judged(task: Task, frame: Frame, state: State, search: State) -> State:
    """Return the run after an iteration of its search: the search itself if it ended below, else with it or, if it is left, without."""
    earlier, ends = state.searches[:-1], state.searches.copy()
    ends[-1, 1] = search.best
    state = replace(state, points=search.points, values=search.values, due=search.due, idle=search.idle)
    state = replace(state, searches=ends, search=search)
    ended, below = search.regime != "model", search.value < state.value - noise_floor(state)
    if below and (ended or task.remaining < task.n * (RESERVE[0] * frame.rank + RESERVE[1])):
        return replace(search, searches=ends, sown=True)
    known = not below and not _free(frame, replace(state, searches=earlier), search.z[None, :])[0]
    tried = len(search.values) - search.checked > TRIED * frame.rank
    if ended or known or (tried and search.value - HOPE * search.step(frame).decrease > state.value):
        return replace(state, search=None)
    return state


def _free(frame: Frame, state: State, Z: Array) -> Array:
    """Return which of these points are far from the starts and ends of all searches."""
    away = np.linalg.norm(Z[:, None] - state.points[state.searches.ravel()], axis=2).min(axis=1)
    return np.asarray(away >= APART * frame.size)


def _by_ends(frame: Frame, state: State) -> Array | None:
    """Return the minimiser of a round quadratic through the lower ends of the searches, if it is a member far from them."""
    ends = state.searches[:, 1]
    ends = ends[np.argsort(state.values[ends], kind="stable")][: -(-2 * len(ends) // 3)]
    Y, f = state.points[ends] - state.z, state.values[ends] - state.value
    columns = np.column_stack([np.ones(len(Y)), Y, np.einsum("ij,ij->i", Y, Y)])
    found = np.linalg.lstsq(columns, f, rcond=None)[0]
    if len(ends) < frame.rank + 2 or not found[-1] > 0:
        return None
    z = state.z - found[1:-1] / (2 * found[-1])
    return z if frame.sure_to_contain(z) and _free(frame, state, z[None, :])[0] else None
