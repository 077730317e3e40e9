"""CORRECT: exact-as-sampled slopes along few atoms instead of a poor estimate along all coordinates."""

from __future__ import annotations

import math
from collections.abc import Generator
from dataclasses import dataclass, replace

import numpy as np

from zofw.algorithms.explore_correct.state import Action, Candidate, Choice, Model, State, variance_of
from zofw.algorithms.model.line_search import answered, approved
from zofw.algorithms.model.mixture import carrying
from zofw.algorithms.model.quadratic import simplex_step
from zofw.atoms import Atom, Dense, Sparse
from zofw.core import Answer, Array, Batch, Matrix, Purpose, Query, Stencil, Task
from zofw.differences import base_values, slopes
from zofw.directions import Explicit
from zofw.extras import lazy

sp = lazy("scipy.sparse")

LARGE = 1000  # dimensions from which on sparse directions save time
MOST_ATOMS = 64  # beyond, the two lightest become one
PROGRESS = 4.0  # two batches differ by 2·noise in their optima; twice that is progress
DRIFT = 0.05  # mean squared H-cosine between a move and a coordinate that nobody measured
ENOUGH = 4.0  # times the batch: a curvature from so many components is not measured again
LONG = 1e-3  # a radius at which points had better stay in the set
SMALL = 1e-12  # relative to the range: a decrease that a model may promise by its rounding alone


class Plan:
    """How slopes and curvatures along k atoms, the model's first, are measured on a batch of m, and the price with a value.

    From both sides where the batch is whole and points may be outside. Points stay in the set if the anchor is pulled towards
    the origin, x' = x + 2h(o − x): x' + h(a_i − o) + h(a_j − o) = (1 − 2h)x + ha_i + ha_j. That is done where they must, and
    where noise makes h long. Curvatures are measured where they come from fewer components than the batch deserves: on all of
    a whole batch, or on as many as make them cost what slopes cost, four an atom at least.
    """

    def __init__(self, task: Task, state: State, k: int, m: int) -> None:
        model, values = state.model, state.values
        self.whole = state.left_out(task, m) == 0
        self.h = values.radius(task, 3.5 if self.whole else 3)  # between what slopes and what curvatures want
        self.pulled = task.inside or self.h > LONG
        self.two_sided = self.whole and not self.pulled
        self.h2 = self.h if self.whole else values.radius(task, 4)
        sound = (
            self.whole and not task.failed
        )  # else means at one point are over other components than at the next
        self.known, self.fresh = state.whole if sound else None, not sound
        first = int(np.array_equal(model.atoms[0].dense(), state.origin))  # v = 0 needs no query
        share = 1 if self.pulled else 4  # at a pulled anchor an error of H is one of the slopes
        old, enough = len(model.atoms), 0.99 * (task.n / share if self.whole else ENOUGH * m)
        pairs = ((i, j) for j in range(first, k) for i in range(first, j + (not self.two_sided)))
        mine = self.whole and not self.two_sided  # one-sided slopes need the diagonal from their own batch
        self.pairs = [(i, j) for i, j in pairs if j >= old or model.W[i, j] < enough or (mine and i == j)]
        self.single = sorted({i for pair in self.pairs for i in pair}) if self.fresh else []
        self.live = np.arange(first, k)
        points, k = len(self.pairs) + len(self.single) + self.fresh, k - first
        self.part = m if self.whole else min(m, max(math.ceil(m * (k + 1) / points), 4 * k))
        self.price = m * (2 * k + 2 if self.two_sided else k + 2 + self.pulled)
        self.price -= m * (self.known is not None)
        self.price += self.part * points if self.pairs else 0


@dataclass(frozen=True)
class Measured:
    """The model on a batch: value, slopes c, curvatures H and variances v along the columns D, components W behind H."""

    D: Matrix
    batch: Batch
    value: float
    c: Array
    H: Array
    v: Array
    W: Array


def measure(
    task: Task, state: State, rng: np.random.Generator, atoms: tuple[Atom, ...], size: int
) -> Generator[Query, Answer, Measured]:
    """Slopes along v_j = a_j − o on the batch, and second differences where curvatures are wanting.

    H_ij = [F(x + h(v_i + v_j)) − F(x + hv_i) − F(x + hv_j) + F(x)]/h². Two-sided slopes give the diagonal too; from a forward
    slope ½hH_jj is taken away, which makes it second order, and from one at a pulled anchor 2h(Hw)_j, which moves it to
    x = o + Σ w_j v_j. Curvatures from a part of the batch are averaged with the stored ones, by the components behind them.
    """
    k, old, o = len(atoms), len(state.model.atoms), state.origin
    D, batch = offsets(atoms, o), state.sample(task, rng, size)
    plan = Plan(task, state, k, m := len(batch))
    h, live, pairs, single = plan.h, plan.live, plan.pairs, plan.single
    pull = 2 * max(h, plan.h2) if plan.pulled else 0.0
    anchor = state.x + pull * (o - state.x)
    stencil = Stencil.QUADRATIC if plan.two_sided else Stencil.FORWARD
    stencil = Stencil.CENTRAL if plan.two_sided and plan.known is not None else stencil
    query = Query(anchor, batch, Explicit(D[:, live]), h, stencil, Purpose.LINE_SEARCH, variance=True)
    answer = yield query
    c, v, rise = np.zeros(k), np.zeros(k), np.zeros(k)
    base = float(base_values(query, answer)[0]) if stencil.has_base or plan.known is None else plan.known
    c[live], v[live] = slopes(query, answer)[0], variance_of(answer)
    rise[live] = (answer.values[0, : len(live)] - base) / h
    batch = answered(batch, answer)
    H, W = (np.pad(A, (0, k - old)) for A in (state.model.H, state.model.W))
    if plan.two_sided:
        behind = (answer.values[0, len(live) : 2 * len(live)] - base) / h
        H[live, live], W[live, live] = (rise[live] + behind) / h, m
    if pairs:
        some = batch
        if plan.part < m:
            some = Batch(
                task.n, np.sort(rng.choice(batch.slice(0, m), min(plan.part, len(batch)), replace=False))
            )
        mixture = np.zeros((k, len(single) + len(pairs)))
        mixture[single, np.arange(len(single))] = 1.0
        for q, (i, j) in enumerate(pairs, len(single)):
            mixture[i, q] += 1.0
            mixture[j, q] += 1.0
        along = D @ (mixture if isinstance(D, np.ndarray) else sp.csc_array(mixture))
        stencil = Stencil.FORWARD if plan.fresh else Stencil.AHEAD
        query = Query(anchor, some, Explicit(along), plan.h2, stencil, Purpose.LINE_SEARCH)
        answer = yield query
        both = (answer.values[0, : along.shape[1]] - (answer.values[0, -1] if plan.fresh else base)) / plan.h2
        pairs = [] if answer.left_out and not plan.fresh else pairs  # slopes of these are of other components
        rise[single] = both[: len(single)]
        for q, (i, j) in enumerate(pairs, len(single)):
            bend, before = (both[q] - rise[i] - rise[j]) / plan.h2, 0.0 if plan.whole else W[i, j]
            H[i, j] = H[j, i] = (before * H[i, j] + plan.part * bend) / (before + plan.part)
            W[i, j] = W[j, i] = before + plan.part
    if not plan.two_sided:
        c -= 0.5 * h * np.diag(H)
    if plan.pulled:
        c += pull * (H[:, :old] @ state.model.weights)
        base, batch = yield from here(task, state, batch)
    return Measured(D, batch, base, c, H, v, W)


def here(task: Task, state: State, batch: Batch) -> Generator[Query, Answer, tuple[float, Batch]]:
    """Return the mean over a batch at x, which is not asked of all components again, and the components that answered."""
    if batch.indices is None and state.whole is not None and not task.failed:
        return state.whole, batch
    answer = yield Query(state.x, batch, purpose=Purpose.LINE_SEARCH)
    return float(answer.values[0, 0]), answered(batch, answer)


def correct(task: Task, state: State, rng: np.random.Generator, choice: Choice) -> Action:
    """Move the weights of the active atoms and the candidates to the minimiser of their quadratic model.

    With k atoms in the optimum it loses ½(k − 1)·mean(v_j/H_jj)/m to sampling; the step is shrunk by 1 − noise/decrease
    (James and Stein, towards x), and a value on the same batch guards it (Armijo, quadratic interpolation). A step to one
    atom goes there whole, if its slope is negative by two standard errors.
    """
    old, small = state.model, SMALL * state.values.range
    atoms, w = (
        (*old.atoms, *(c.atom for c in choice.candidates)),
        np.pad(old.weights, (0, len(choice.candidates))),
    )
    got = yield from measure(task, state, rng, atoms, choice.batch)
    D, c, H, m = got.D, got.c, got.H, len(got.batch)
    rest, sq = state.left_out(task, m), np.asarray((D * D).sum(axis=0)).reshape(-1)
    live, error = np.flatnonzero(sq > 0), got.v / m * rest
    p = simplex_step(c, H, w)
    lin, decrease = float(c @ p), -float(c @ p + 0.5 * p @ H @ p)
    free, own = int(np.count_nonzero(w + p > 0)) - 1, np.diag(H)[live]
    unit, far = (float(a.sum()) / max(len(live), 1) for a in (np.abs(own) / sq[live], sq))
    if free and len(own) and (own > 0).all():
        noise = 0.5 * free * float(np.mean(error[live] / own))
        taken = max(1 - noise / decrease, 0.0) if decrease > 0 else 0.0
    elif p.any():  # no optimum inside: the standard error of the slope
        noise, lin = math.sqrt(float(p * p @ error)), min(lin, -decrease)
        taken = float(-lin > 2 * noise)
    else:  # the best atom already, on this batch: what a slope of one standard error would bring
        noise, taken = gain(math.sqrt(float(error.sum()) / max(len(live), 1)), unit * far), 0.0
    slope, bend = taken * float(c @ p), taken * min(float(p @ H @ p), 0.0)
    p, decrease = taken * p, taken * (2 - taken) * decrease
    step = np.asarray(D @ p)
    theta, value = yield from approved(
        task, state.x, step, got.batch, got.value, slope, bend=bend, longest=0.7, tries=6, lost=small
    )
    refused = taken > 0 and theta < 1
    p, seen, promised = theta * p, max(got.value - value, 0.0), decrease
    if refused:  # the model was wrong, not the sample
        decrease = max(seen, 1.05 * PROGRESS * noise)
    brought = seen if decrease > noise else 0.0
    surprise = float(np.abs(p).sum())  # curvatures change as weights do, unless values show that they did not
    if promised > 0:
        surprise = min(surprise, abs((got.value - value) / promised - 1))
    W = np.zeros_like(H) if refused else got.W / (1.0 + got.W * surprise**2)
    model = replace(
        with_weights(replace(old, atoms=atoms, H=H, W=W), w + p),
        batch=m,
        decrease=decrease,
        noise=noise,
        unit=unit,
        tried=True,
        vain=(),
        disappointed=old.disappointed + 1 if rest == 0 and brought < choice.worth / 16 else 0,
        spread=float(max(got.v[live] / sq[live], default=0.0)),
    )
    if rest == 0 and not p.any():  # the same again at this x would move nothing again
        model = replace(model, vain=(*old.vain, named(choice.candidates)))
    alone = rest == 0 and state.start is not None and np.array_equal(state.x, state.start)
    still, drift = not p.any(), DRIFT * abs(float(p @ H @ p)) * unit
    bent = H @ p  # turns the slopes into those at the new x, as far as the model is right
    turn = unit * float(np.linalg.norm(D @ p))
    noises = error + (surprise * bent) ** 2
    belief = state.belief.agree(D[:, live], (c + bent)[live], noises[live], drift, turn)
    return replace(
        state,
        x=state.x if still else model.point(),
        belief=state.belief if still and state.swept else belief,  # nothing is learnt beyond a sweep
        walker=None,
        start=None if alone else state.start,  # values of all components have shown what is lower
        model=model,
        values=state.values if still else replace(state.values, coarser=0),
        swept=state.swept if still else 0.0,
        certificate=state.certificate if still else None,
        whole=value if rest == 0 else state.whole if still else None,
        value=value,
        brought=brought,
    )


def named(candidates: tuple[Candidate, ...]) -> str:
    """Return a name of a set of candidates."""
    return " ".join(sorted(candidate.atom.key().hex() for candidate in candidates))


def gain(slope: float, bend: float) -> float:
    """The decrease along a slope to an atom, by the curvature along the whole way there."""
    return slope - bend / 2 if slope >= bend else slope * slope / (2 * bend)


def offsets(atoms: tuple[Atom, ...], origin: Array) -> Matrix:
    """The d×k matrix of columns a_j − o, sparse where it is."""
    d, k = len(origin), len(atoms)
    if d < LARGE or origin.any() or not all(isinstance(a, Sparse) for a in atoms[1:]):
        return np.stack([a.dense() - origin for a in atoms], axis=1)
    parts = [np.flatnonzero(a.dense()) for a in atoms]
    value = np.concatenate([a.dense()[rows] for a, rows in zip(atoms, parts, strict=True)])
    columns = np.repeat(np.arange(k), [len(rows) for rows in parts])
    return sp.csc_array((value, (np.concatenate(parts), columns)), shape=(d, k))


def with_weights(model: Model, weights: Array) -> Model:
    """The model with these weights: atoms without any go, and of more than 64 the two lightest become one."""
    keep, w = carrying(weights)
    atoms = [model.atoms[j] for j in keep]
    H, W = model.H[np.ix_(keep, keep)], model.W[np.ix_(keep, keep)]
    while len(atoms) > MOST_ATOMS:
        i, j = np.argsort(w)[:2]
        total, others = w[i] + w[j], [q for q in range(len(atoms)) if q not in (i, j)]
        mean = Dense((w[i] * atoms[i].dense() + w[j] * atoms[j].dense()) / total)
        atoms, w = [*(atoms[q] for q in others), mean], np.append(w[others], total)
        H, W = (np.pad(A[np.ix_(others, others)], (0, 1)) for A in (H, W))
    return replace(model, atoms=tuple(atoms), weights=w, H=H, W=W)
