"""CORRECT and SCREEN: exact-as-sampled slopes along few atoms instead of a poor estimate along all coordinates."""

from __future__ import annotations

import math
from collections.abc import Generator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from zofw.algorithms.explore_correct.belief import Known, offsets, squares
from zofw.algorithms.explore_correct.quadratic import simplex_step
from zofw.algorithms.explore_correct.state import PROGRESS, Action, Candidate, Model, Radii, State
from zofw.atoms import Atom, Dense
from zofw.core import Answer, Array, Batch, Indices, OutOfBudget, Purpose, Query, Stencil, Task
from zofw.differences import base_values, slopes
from zofw.directions import Explicit

MOST_ATOMS = 64  # beyond, the two lightest become one
DRIFT = 0.05  # mean squared H-cosine between a move and a coordinate that nobody measured
ARMIJO = 0.1
SMALL = 1e-12  # relative to the values: a decrease that a model may promise by its rounding alone


def price(state: State, candidates: int, quick: bool) -> int:
    """Queries per component of the batch: slopes, as much for curvatures, and a value."""
    return 2 * (candidates + 1) + 1 if quick else 2 * (len(state.atoms) + candidates) + 3


def may_be_quick(state: State, candidates: tuple[Candidate, ...]) -> bool:
    """Whether the stored model may serve, so that only the candidates are measured."""
    return bool(candidates) and state.model is not None and state.quicks < len(state.atoms) / 2


def screen(
    task: Task, state: State, radii: Radii, rng: np.random.Generator, candidates: tuple[Candidate, ...]
) -> Generator[Query, Answer, tuple[State, tuple[Candidate, ...]]]:
    """Candidates alone on a quarter of the batch: kept if their slope may still beat the best active atom's."""
    size = max(min(state.batch, 32), state.batch // 4)
    belief = state.belief
    D = offsets(tuple(c.atom for c in candidates), belief.origin)
    best = float((offsets(state.atoms, belief.origin).T @ belief.g).min())
    batch = state.sample(task, rng, size)
    query = Query(
        state.x, batch, Explicit(D), radii.slope, Stencil.FORWARD, Purpose.LINE_SEARCH, variance=True
    )
    answer = yield query
    c, v = slopes(query, answer)[0], variance_of(answer) / len(batch) * state.left_out(task, len(batch))
    known = tuple(
        Known(candidate.atom, square, state.bend, variance)
        for candidate, square, variance in zip(candidates, squares(D).tolist(), v.tolist(), strict=True)
    )
    for j, slope in enumerate(c):
        belief = belief.agree(D[:, [j]], np.array([slope]), v[[j]])
    state = replace(state, used=state.used + query.cost, belief=belief.remember(known))
    kept = tuple(
        k
        for k, slope, variance in zip(candidates, c, v, strict=True)
        if slope - 2 * math.sqrt(variance) < best
    )
    return state, kept


@dataclass(frozen=True)
class Measured:
    """The model on a batch: value, slopes c, curvatures H and variances v along the columns D, components W behind H, cost."""

    D: Any
    batch: Batch
    new: Indices
    value: float
    c: Array
    H: Array
    v: Array
    W: Array
    cost: int


def measure(
    task: Task, state: State, radii: Radii, rng: np.random.Generator, atoms: tuple[Atom, ...], quick: bool
) -> Generator[Query, Answer, Measured]:
    """Forward slopes along a_j − o on the batch; curvatures by second differences on a part of it that costs as much.

    H_ij = [F(x + h(v_i + v_j)) − F(x + hv_i) − F(x + hv_j) + F(x)]/h², and c_j loses ½hH_jj, which makes the forward
    slope second order. Curvatures between old atoms are averaged with those of the stored model, by the components behind
    them. With ``quick`` only the new atoms are measured and the rest is the stored model.
    """
    k, old = len(atoms), len(state.atoms)
    D = offsets(atoms, state.belief.origin)
    live = np.flatnonzero(squares(D) > 0)
    new = live[live >= old] if quick else live
    batch = state.sample(task, rng, state.batch)
    m = len(batch)
    query = Query(
        state.x, batch, Explicit(D[:, new]), radii.slope, Stencil.FORWARD, Purpose.LINE_SEARCH, variance=True
    )
    answer = yield query
    cost, value = query.cost, float(base_values(query, answer)[0])
    c, v, H, W = np.zeros(k), np.zeros(k), np.zeros((k, k)), np.zeros((k, k))
    if state.model is not None:
        H[:old, :old], W[:old, :old] = state.model.H, state.model.W
    if quick and state.model is not None:
        c[:old], v[:old] = state.model.c, state.model.v
    c[new], v[new] = slopes(query, answer)[0], variance_of(answer)
    position = {int(j): q for q, j in enumerate(live)}
    fresh = {int(j) for j in new}
    pairs = [(i, j) for i in position for j in position if i <= j and (i in fresh or j in fresh)]
    size = min(m, max(math.ceil(m * (len(new) + 1) / (len(pairs) + len(live) + 1)), 4 * len(live)))
    members = batch.slice(0, m)
    part = batch if size == m else Batch(task.n, np.sort(rng.choice(members, size, replace=False)))
    mixture = np.zeros((k, len(live) + len(pairs)))
    mixture[live, np.arange(len(live))] = 1.0
    for q, (i, j) in enumerate(pairs):
        mixture[i, len(live) + q] += 1.0
        mixture[j, len(live) + q] += 1.0
    along = D @ sp.csc_array(mixture) if sp.issparse(D) else D @ mixture
    query = Query(state.x, part, Explicit(along), radii.curvature, Stencil.FORWARD, Purpose.LINE_SEARCH)
    rise = slopes(query, (yield query))[0]
    for q, (i, j) in enumerate(pairs):
        bend = (rise[len(live) + q] - rise[position[i]] - rise[position[j]]) / radii.curvature
        H[i, j] = H[j, i] = (W[i, j] * H[i, j] + size * bend) / (W[i, j] + size)
        W[i, j] = W[j, i] = W[i, j] + size
    c[new] -= 0.5 * radii.slope * np.diag(H)[new]
    return Measured(D, batch, new, value, c, H, v, W, cost + query.cost)


def correct(
    task: Task,
    state: State,
    radii: Radii,
    rng: np.random.Generator,
    candidates: tuple[Candidate, ...],
    quick: bool,
) -> Action:
    """Move the weights of the active atoms and the candidates to the minimiser of their quadratic model.

    The model's optimum loses ½(k − 1)·mean(v_j/H_jj)/m to sampling; the step is shrunk by 1 − noise/decrease (James and
    Stein, towards x), and a value on the same batch guards it (Armijo, quadratic interpolation).
    """
    atoms = (*state.atoms, *(c.atom for c in candidates))
    if len(atoms) == 1:
        return replace(state, credit=0.0, decrease=0.0, noise=0.0, settled=True, quicks=0, unchecked=0.0)
    w = np.concatenate([state.weights, np.zeros(len(candidates))])
    got = yield from measure(task, state, radii, rng, atoms, quick)
    D, c, H, v, m = got.D, got.c, got.H, got.v, len(got.batch)
    sq = squares(D)
    live = np.flatnonzero(sq > 0)
    p = simplex_step(c, H, w)
    lin, rest = float(c @ p), state.left_out(task, m)
    if (np.diag(H)[live] > 0).all():
        free = max(int(np.count_nonzero(w + p > 0)) - 1, 1)
        noise = 0.5 * free * float(np.mean(v[live] / np.diag(H)[live])) / m * rest
    else:  # no optimum inside: the standard error of the promised decrease
        noise = math.sqrt(float(p * p @ v) / m * rest)
    decrease = -(lin + 0.5 * float(p @ H @ p))
    shrink = max(0.0, 1.0 - noise / decrease) if decrease > 0 else 0.0
    p, lin = shrink * p, shrink * lin
    theta, value, spent = yield from _guard(state.x, np.asarray(D @ p), got, lin)
    move = max(float(p @ H @ p), 0.0) * theta**2
    promised = state.unchecked + decrease if quick else 0.0
    decrease = max(decrease * theta * (2.0 - theta), promised)
    refused = 0
    if theta < 1:  # the model was wrong, not the sample; the oftener in a row, the less it promises
        refused, less = state.refused + 1, 4.0**-state.refused
        decrease, noise = less * max(decrease, 1.05 * PROGRESS * noise), less * noise
    elif (
        rest == 0 and not quick and decrease < SMALL * abs(got.value)
    ):  # the model's own errors promise as much
        decrease = max(got.value - value, 0.0)
    bends = [H[i, i] + H[j, j] - 2 * H[i, j] for j in range(len(atoms)) for i in range(j)]
    c_new = c + H @ (theta * p)  # the model's slopes at the new point
    unit = np.maximum(np.diag(H)[live], 0.0) / sq[live]
    belief = state.belief.age(move, DRIFT * move * float(np.mean(unit)))
    fresh = tuple(Known(atoms[j], float(sq[j]), float(H[j, j]), float(v[j]) / m * rest) for j in got.new)
    belief = belief.remember(fresh).agree(D[:, live], c_new[live], v[live] / m * rest)
    walker = state.walker
    if walker is not None:
        walker = walker.age(0.0, move * float(np.mean(unit)) / task.dim).agree(
            D[:, live], c_new[live], v[live] / m * rest
        )
    W = got.W / (1.0 + got.W * float(np.abs(theta * p).sum()) ** 2)  # curvatures change as the weights do
    w = w + theta * p
    w[w < 1e-14] = 0.0
    w /= w.sum()
    keep = np.flatnonzero(w > 0)
    merged = merge(tuple(atoms[j] for j in keep), w[keep])
    trusted = theta == 1.0 and len(merged[0]) == len(keep)
    return replace(
        state,
        x=np.sum([weight * atom.dense() for atom, weight in zip(*merged, strict=True)], axis=0),
        atoms=merged[0],
        weights=merged[1],
        belief=belief,
        walker=walker,
        used=state.used + got.cost + spent,
        searched=0,
        trusting=state.trusting + 1,
        batch=m,
        value=value,
        decrease=decrease,
        noise=noise,
        bend=max(float(np.median(bends)), 1e-300),
        atom_spread=float(np.max(v[live] / sq[live])),
        settled=decrease <= PROGRESS * noise or decrease < 1e-9 * abs(got.value),
        credit=0.0,
        model=Model(c_new[keep], H[np.ix_(keep, keep)], v[keep], W[np.ix_(keep, keep)]) if trusted else None,
        quicks=state.quicks + 1 if quick else 0,
        unchecked=promised,
        walks=0,
        trail=None,
        refused=refused,
    )


def _guard(
    x: Array, step: Array, got: Measured, lin: float
) -> Generator[Query, Answer, tuple[float, float, int]]:
    """The share θ of a step that the values on its batch approve, the value there, and the queries it took."""
    theta, spent = 1.0, 0
    if not lin < 0:
        return 0.0, got.value, 0
    for _ in range(6):
        query = Query(x + theta * step, got.batch, purpose=Purpose.LINE_SEARCH)
        try:
            value = float((yield query).values[0, 0])
        except OutOfBudget:
            return 0.0, got.value, spent
        spent += query.cost
        if value <= got.value + ARMIJO * theta * lin or abs(theta * lin) < SMALL * abs(got.value):
            return theta, value, spent
        rise = value - got.value - theta * lin
        theta = min(max(-(theta**2) * lin / (2 * rise), 0.1 * theta), 0.7 * theta)
    return 0.0, got.value, spent


def merge(atoms: tuple[Atom, ...], weights: Array) -> tuple[tuple[Atom, ...], Array]:
    """At most ``MOST_ATOMS`` atoms: the two lightest are replaced by their mean until that holds."""
    while len(atoms) > MOST_ATOMS:
        i, j = np.argsort(weights)[:2]
        total = weights[i] + weights[j]
        mean = Dense((weights[i] * atoms[i].dense() + weights[j] * atoms[j].dense()) / total)
        atoms = (*(a for q, a in enumerate(atoms) if q not in (i, j)), mean)
        weights = np.append(np.delete(weights, [i, j]), total)
    return atoms, weights


def variance_of(answer: Answer) -> Array:
    if answer.variance is None:
        raise ValueError("A correction needs the variances it asked for.")
    return np.asarray(answer.variance[0])
