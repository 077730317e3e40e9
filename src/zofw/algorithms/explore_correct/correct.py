"""CORRECT: exact-as-sampled slopes along few atoms instead of a poor estimate along all coordinates."""

from __future__ import annotations

import math
from collections.abc import Generator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from zofw.algorithms.explore_correct.belief import MeasuredSlope, offsets, squares
from zofw.algorithms.explore_correct.quadratic import simplex_step
from zofw.algorithms.explore_correct.state import Action, Candidate, Model, State, Values
from zofw.atoms import Atom, Dense
from zofw.core import Answer, Array, Batch, Purpose, Query, Stencil, Task
from zofw.differences import base_values, curvatures, slopes
from zofw.directions import Explicit
from zofw.extras import lazy

sp = lazy("scipy.sparse")

MOST_ATOMS = 64  # beyond, the two lightest become one
PROGRESS = 4.0  # two batches differ by 2·noise in their optima; twice that is progress
DRIFT = 0.05  # mean squared H-cosine between a move and a coordinate that nobody measured
ARMIJO = 0.1
ENOUGH = 4.0  # times the batch: a curvature from so many components is not measured again
LONG = 1e-3  # a radius at which points had better stay in the set
SMALL = 1e-12  # relative to the range: a decrease that a model may promise by its rounding alone


def price(task: Task, state: State, values: Values, candidates: int, m: int) -> int:
    """Queries of a correction with a batch of m: slopes, the curvatures that are wanting, and a value."""
    k, plan = len(state.model.atoms) + candidates, Plan(task, state, values, m)
    pairs = plan.wanting(k)
    k -= plan.first
    points = len(pairs) + len({i for pair in pairs for i in pair}) + 1
    if plan.two_sided:
        return m * (2 * k + 2 + (len(pairs) + 1 if pairs else 0))
    return m * (k + 2 + plan.pulled) + (plan.part(k, points) * points if pairs else 0)


class Plan:
    """How slopes and curvatures are measured on a batch of m: from both sides where it is whole and points may be outside.

    Points stay in the set if the anchor is pulled towards the origin, x' = x + 2h(o − x): x' + h(a_i − o) + h(a_j − o) =
    (1 − 2h)x + ha_i + ha_j. That is done where they must, and where noise makes h long.
    """

    def __init__(self, task: Task, state: State, values: Values, m: int) -> None:
        self.model, self.n, self.m = state.model, task.n, m
        self.first = int(
            np.array_equal(state.model.atoms[0].dense(), state.belief.origin)
        )  # v = 0 needs no query
        self.whole = state.left_out(task, m) == 0
        self.h = values.radius(task, 3.5 if self.whole else 3)  # between what slopes and what curvatures want
        self.pulled = task.inside or self.h > LONG
        self.two_sided = self.whole and not self.pulled
        self.h2 = self.h if self.whole else values.radius(task, 4)

    def wanting(self, k: int) -> list[tuple[int, int]]:
        """Pairs among k atoms, the model's first, whose curvature comes from fewer components than the batch deserves."""
        W, old, enough = self.model.W, len(self.model.atoms), self.n / 4 if self.whole else ENOUGH * self.m
        diagonal = self.whole and self.pulled  # slopes from one side need it from the same batch
        pairs = [(i, j) for j in range(self.first, k) for i in range(self.first, j + (not self.two_sided))]
        return [(i, j) for i, j in pairs if j >= old or W[i, j] < 0.99 * enough or (i == j and diagonal)]

    def part(self, k: int, points: int) -> int:
        """Components for curvatures: all of a whole batch, or as many as make them cost what slopes cost, four an atom at least."""
        return self.m if self.whole else min(self.m, max(math.ceil(self.m * (k + 1) / points), 4 * k))


@dataclass(frozen=True)
class Measured:
    """The model on a batch: value, slopes c, curvatures H and variances v along the columns D, components W behind H."""

    D: Any
    batch: Batch
    value: float
    c: Array
    H: Array
    v: Array
    W: Array


def measure(
    task: Task, state: State, values: Values, rng: np.random.Generator, atoms: tuple[Atom, ...]
) -> Generator[Query, Answer, Measured]:
    """Slopes along v_j = a_j − o on the batch, and second differences where curvatures are wanting.

    H_ij = [F(x + h(v_i + v_j)) − F(x + hv_i) − F(x + hv_j) + F(x)]/h². Two-sided slopes give the diagonal too; from a forward
    slope ½hH_jj is taken away, which makes it second order, and from one at a pulled anchor 2h(Hw)_j, which moves it to
    x = o + Σ w_j v_j. Where the batch is not whole curvatures come from a part of it and are averaged with the
    stored ones, by the components behind them.
    """
    k, old, o = len(atoms), len(state.model.atoms), state.belief.origin
    D, batch = offsets(atoms, o), state.sample(task, rng, state.model.batch)
    plan = Plan(task, state, values, m := len(batch))
    h, pairs = plan.h, plan.wanting(k)
    anchor = state.x + 2 * max(h, plan.h2) * (o - state.x) if plan.pulled else state.x
    stencil = Stencil.QUADRATIC if plan.two_sided else Stencil.FORWARD
    live = np.arange(plan.first, k)
    query = Query(anchor, batch, Explicit(D[:, live]), h, stencil, Purpose.LINE_SEARCH, variance=True)
    answer = yield query
    c, v, rise, value = np.zeros(k), np.zeros(k), np.zeros(k), float(base_values(query, answer)[0])
    c[live], v[live] = slopes(query, answer)[0], variance_of(answer)
    rise[live] = (answer.values[0, : len(live)] - value) / h
    H, W = np.zeros((k, k)), np.zeros((k, k))
    H[:old, :old], W[:old, :old] = state.model.H, state.model.W
    single, some, size = sorted({i for pair in pairs for i in pair}), batch, m
    if plan.two_sided:
        H[live, live], W[live, live] = curvatures(query, answer)[0], m
        single = []
    elif pairs:
        size = plan.part(len(live), len(pairs) + len(single) + 1)
        some = (
            batch if size == m else Batch(task.n, np.sort(rng.choice(batch.slice(0, m), size, replace=False)))
        )
    if pairs:
        mixture = np.zeros((k, len(single) + len(pairs)))
        mixture[single, np.arange(len(single))] = 1.0
        for q, (i, j) in enumerate(pairs, len(single)):
            mixture[i, q] += 1.0
            mixture[j, q] += 1.0
        along = D @ sp.csc_array(mixture) if sp.issparse(D) else D @ mixture
        query = Query(anchor, some, Explicit(along), plan.h2, Stencil.FORWARD, Purpose.LINE_SEARCH)
        both = slopes(query, (yield query))[0]
        rise[single] = both[: len(single)]
        for q, (i, j) in enumerate(pairs, len(single)):
            bend, before = (both[q] - rise[i] - rise[j]) / plan.h2, 0.0 if plan.whole else W[i, j]
            H[i, j] = H[j, i] = (before * H[i, j] + size * bend) / (before + size)
            W[i, j] = W[j, i] = before + size
    if not plan.two_sided:
        c -= 0.5 * h * np.diag(H)
    if plan.pulled:
        c += 2 * max(h, plan.h2) * (H[:, :old] @ state.model.weights)
        value = float((yield Query(state.x, batch, purpose=Purpose.LINE_SEARCH)).values[0, 0])
    return Measured(D, batch, value, c, H, v, W)


def correct(
    task: Task, state: State, values: Values, rng: np.random.Generator, candidates: tuple[Candidate, ...]
) -> Action:
    """Move the weights of the active atoms and the candidates to the minimiser of their quadratic model.

    With k atoms in the optimum it loses ½(k − 1)·mean(v_j/H_jj)/m to sampling; the step is shrunk by 1 − noise/decrease
    (James and Stein, towards x), and a value on the same batch guards it (Armijo, quadratic interpolation). A step to one
    atom goes there whole, if its slope is negative by two standard errors.
    """
    atoms = (*state.model.atoms, *(c.atom for c in candidates))
    w = np.concatenate([state.model.weights, np.zeros(len(candidates))])
    got = yield from measure(task, state, values, rng, atoms)
    D, c, H, v, m = got.D, got.c, got.H, got.v, len(got.batch)
    sq, rest = squares(D), state.left_out(task, len(got.batch))
    live = np.flatnonzero(sq > 0)
    p = simplex_step(c, H, w)
    lin, decrease = float(c @ p), -float(c @ p + 0.5 * p @ H @ p)
    free, bends = int(np.count_nonzero(w + p > 0)) - 1, between(H)
    slope_noise = math.sqrt(float(np.mean(v[live])) / m * rest) if len(live) else 0.0
    if free and (np.diag(H)[live] > 0).all():
        noise = 0.5 * free * float(np.mean(v[live] / np.diag(H)[live])) / m * rest
        shrink = max(0.0, 1.0 - noise / decrease) if decrease > 0 else 0.0
    elif not p.any():  # the best atom already, on this batch: what a slope of one standard error would bring
        noise, shrink = gain(slope_noise, max(float(np.median(bends)), 0.0)), 0.0
    else:  # no optimum inside: the standard error of the slope
        noise = math.sqrt(float(p * p @ v) / m * rest)
        shrink = 1.0 if max(-lin, decrease) > 2 * noise else 0.0
        lin = min(lin, -decrease)
    p, lin, decrease = shrink * p, shrink * lin, shrink * (2 - shrink) * decrease
    theta, value = yield from _guard(task, state.x, np.asarray(D @ p), got, lin, SMALL * values.range)
    refused = state.model.refused + 1 if shrink > 0 and theta < 1 else 0
    seen = max(got.value - value, 0.0)
    if refused:  # the model was wrong, not the sample; the oftener in a row, the less it promises
        less = 4.0 ** (1 - refused)
        decrease, noise = less * max(seen, 1.05 * PROGRESS * noise), less * noise
    elif rest == 0 and decrease < SMALL * values.range:  # the model's own errors promise as much
        decrease = seen
    p = theta * p
    move, change = abs(float(p @ H @ p)), float(np.abs(p).sum())
    unit = float(np.mean(np.abs(np.diag(H)[live]) / sq[live])) if len(live) else 0.0
    c_new = c + H @ p  # the model's slopes at the new point
    belief = state.belief
    walker = state.walk.belief
    if change > 0:
        belief, walker = belief.age(move, DRIFT * move * unit), walker.age(0.0, move * unit / task.dim)
    fresh = tuple(MeasuredSlope(atoms[j], float(sq[j]), float(H[j, j]), float(v[j]) / m * rest) for j in live)
    error = v[live] / m * rest
    promised = -(lin + 0.5 * move) if theta == 1 else 0.0
    surprise = change if promised <= 0 else min(change, abs((got.value - value) / promised - 1))
    W = got.W / (
        1.0 + got.W * surprise**2
    )  # curvatures change as the weights do, unless values show that they did not
    if refused:
        W = np.zeros_like(W)
    w = w + p
    w[w < 1e-14] = 0.0
    w /= w.sum()
    keep = np.flatnonzero(w > 0)
    model = replace(
        state.model,
        atoms=tuple(atoms[j] for j in keep),
        weights=w[keep],
        H=H[np.ix_(keep, keep)],
        W=W[np.ix_(keep, keep)],
        batch=m,
        decrease=decrease,
        noise=noise,
        bend=max(float(np.median(bends)), 0.0),
        widest=max([state.model.widest, *bends]),
        unit=unit,
        spread=float(np.max(v[live] / sq[live])) if len(live) else 0.0,
        corrections=state.model.corrections + 1,
        refused=refused,
    )
    model = merge(model)
    x = np.sum(
        [weight * atom.dense() for atom, weight in zip(model.atoms, model.weights, strict=True)], axis=0
    )
    return replace(
        state,
        x=x if change > 0 else state.x,
        belief=belief.remember(fresh).agree(D[:, live], c_new[live], error),
        walk=replace(
            state.walk, belief=walker.agree(D[:, live], c_new[live], error), moved=False, trail=None
        ),
        sketches=replace(state.sketches, since=0),
        model=model,
        certificate=replace(state.certificate, concave=0.0) if state.certificate and change == 0 else None,
        value=value,
        brought=seen if decrease > noise else 0.0,
    )


def between(H: Array) -> list[float]:
    """Curvatures along a_i − a_j, for every pair of atoms."""
    return [H[i, i] + H[j, j] - 2 * H[i, j] for j in range(len(H)) for i in range(j)] or [0.0]


def gain(slope: float, bend: float) -> float:
    """The decrease along a slope from an atom to another, by the curvature between them."""
    return slope - bend / 2 if slope >= bend else slope * slope / (2 * bend)


def _guard(
    task: Task, x: Array, step: Array, got: Measured, lin: float, small: float
) -> Generator[Query, Answer, tuple[float, float]]:
    """The share θ of a step that the values on its batch approve, and the value there; 0 where the budget cannot tell."""
    theta, tries = 1.0, 0
    while lin < 0 and tries < 6 and len(got.batch) <= task.remaining:
        value = float((yield Query(x + theta * step, got.batch, purpose=Purpose.LINE_SEARCH)).values[0, 0])
        if value <= got.value + ARMIJO * theta * lin or abs(theta * lin) < small:
            return theta, value
        rise = value - got.value - theta * lin
        theta, tries = min(max(-(theta**2) * lin / (2 * rise), 0.1 * theta), 0.7 * theta), tries + 1
    return 0.0, got.value


def merge(model: Model) -> Model:
    """At most ``MOST_ATOMS`` atoms: the two lightest are replaced by their mean until that holds."""
    while len(model.atoms) > MOST_ATOMS:
        i, j = np.argsort(model.weights)[:2]
        total = model.weights[i] + model.weights[j]
        a, b = model.atoms[i], model.atoms[j]
        mean = Dense((model.weights[i] * a.dense() + model.weights[j] * b.dense()) / total)
        others = [q for q in range(len(model.atoms)) if q not in (i, j)]
        model = replace(
            model,
            atoms=(*(model.atoms[q] for q in others), mean),
            weights=np.append(model.weights[others], total),
            H=np.pad(model.H[np.ix_(others, others)], (0, 1)),
            W=np.pad(model.W[np.ix_(others, others)], (0, 1)),
        )
    return model


def variance_of(answer: Answer) -> Array:
    if answer.variance is None:
        raise ValueError("A correction needs the variances it asked for.")
    return np.asarray(answer.variance[0])
