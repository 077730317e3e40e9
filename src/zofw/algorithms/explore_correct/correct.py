"""CORRECT: exact-as-sampled slopes along few atoms instead of a poor estimate along all coordinates."""

from __future__ import annotations

import math
from collections.abc import Generator
from dataclasses import dataclass, replace

import numpy as np

from zofw.algorithms.explore_correct.state import (
    Action,
    Belief,
    Candidate,
    Choice,
    Model,
    State,
    gain,
    variance_of,
)
from zofw.algorithms.model.line_search import answered, approved
from zofw.algorithms.model.mixture import carrying
from zofw.algorithms.model.quadratic import simplex_step
from zofw.atoms import Atom, Dense, Sparse
from zofw.core import Answer, Array, Batch, Indices, Matrix, Purpose, Query, Stencil, Task
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
    where noise makes h long. Where components fail, means of two queries are over different ones: nothing is taken from the first
    query to the second then.
    """

    def __init__(self, task: Task, state: State, k: int, m: int) -> None:
        values = state.values
        self.whole = state.left_out(task, m) == 0
        self.h = values.radius(task, 3.5 if self.whole else 3)  # between what slopes and what curvatures want
        self.h2 = self.h if self.whole else values.radius(task, 4)
        self.pulled = task.inside or self.h > LONG
        self.two_sided = self.whole and not self.pulled
        self.apart = not self.whole or bool(task.failed)
        self.known = None if self.apart else state.whole
        first = int(np.array_equal(state.model.atoms[0].dense(), state.origin))  # v = 0 needs no query
        self.live = np.arange(first, k)
        self.pairs = self._wanting(task, state.model, m)
        self.single = sorted({i for pair in self.pairs for i in pair}) if self.apart else []
        self._set_price(m, k - first)

    @property
    def stencil(self) -> Stencil:
        """Return that of the slopes; f at the anchor is not asked where it is known and no other value is."""
        if not self.two_sided:
            return Stencil.FORWARD
        return Stencil.QUADRATIC if self.known is None else Stencil.CENTRAL

    def _wanting(self, task: Task, model: Model, m: int) -> list[tuple[int, int]]:
        """Return the pairs of atoms whose curvature comes from fewer components than the batch deserves."""
        share = 1 if self.pulled else 4  # at a pulled anchor an error of H is one of the slopes
        enough = 0.99 * (task.n / share if self.whole else ENOUGH * m)
        own = self.whole and self.pulled  # one-sided slopes need the diagonal from their own batch
        old = len(model.atoms)

        def wanting(i: int, j: int) -> bool:
            return j >= old or model.W[i, j] < enough or (own and i == j)

        end = 0 if self.two_sided else 1  # two-sided slopes give the diagonal
        pairs = ((i, j) for j in self.live.tolist() for i in range(int(self.live[0]), j + end))
        return [pair for pair in pairs if wanting(*pair)]

    def _set_price(self, m: int, k: int) -> None:
        """Curvatures are measured on all of a whole batch, or on as many as make them cost what slopes cost, four an atom at least."""
        points = len(self.pairs) + len(self.single) + self.apart
        self.part = m if self.whole else min(m, max(math.ceil(m * (k + 1) / points), 4 * k))
        self.price = m * (2 * k + 2 if self.two_sided else k + 2 + self.pulled) - m * (self.known is not None)
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

    Two-sided slopes give the diagonal of H too; from a forward slope ½hH_jj is taken away, which makes it second order, and from
    one at a pulled anchor 2h(Hw)_j, which moves it to x = o + Σ w_j v_j.
    """
    k, old, o = len(atoms), len(state.model.atoms), state.origin
    D, batch = offsets(atoms, o), state.sample(task, rng, size)
    plan = Plan(task, state, k, m := len(batch))
    h, live = plan.h, plan.live
    pull = 2 * max(h, plan.h2) if plan.pulled else 0.0
    anchor = state.x + pull * (o - state.x)
    query = Query(anchor, batch, Explicit(D[:, live]), h, plan.stencil, Purpose.LINE_SEARCH, variance=True)
    answer = yield query
    c, v, rise = np.zeros(k), np.zeros(k), np.zeros(k)
    base = float(base_values(query, answer)[0]) if plan.stencil.has_base else plan.known or 0.0
    c[live], v[live] = slopes(query, answer)[0], variance_of(answer)
    rise[live] = (answer.values[0, : len(live)] - base) / h
    batch = answered(batch, answer)
    H, W = (np.pad(A, (0, k - old)) for A in (state.model.H, state.model.W))
    if plan.two_sided:
        behind = (answer.values[0, len(live) : 2 * len(live)] - base) / h
        H[live, live], W[live, live] = (rise[live] + behind) / h, m
    if plan.pairs:
        some = batch
        if plan.part < m:
            drawn = rng.choice(batch.slice(0, m), min(plan.part, len(batch)), replace=False)
            some = Batch(task.n, np.sort(drawn))
        yield from bends(plan, anchor, some, D, base, rise, H, W)
    if not plan.two_sided:
        c -= 0.5 * h * np.diag(H)
    if plan.pulled:
        c += pull * (H[:, :old] @ state.model.weights)
        base, batch = yield from here(task, state, batch)
    return Measured(D, batch, base, c, H, v, W)


def bends(
    plan: Plan, anchor: Array, batch: Batch, D: Matrix, base: float, rise: Array, H: Array, W: Array
) -> Generator[Query, Answer, None]:
    """Enter the wanting curvatures into H, and the components behind them into W.

    H_ij = [F(x + h(v_i + v_j)) − F(x + hv_i) − F(x + hv_j) + F(x)]/h². Those from a part of the batch are averaged with the
    stored ones, by the components behind them.
    """
    pairs, single, h = plan.pairs, plan.single, plan.h2
    mixture = np.zeros((len(rise), len(single) + len(pairs)))
    mixture[single, np.arange(len(single))] = 1.0
    for q, pair in enumerate(pairs, len(single)):
        np.add.at(mixture[:, q], list(pair), 1.0)
    along = D @ (mixture if isinstance(D, np.ndarray) else sp.csc_array(mixture))
    stencil = Stencil.FORWARD if plan.apart else Stencil.AHEAD
    answer = yield Query(anchor, batch, Explicit(along), h, stencil, Purpose.LINE_SEARCH)
    if answer.left_out and not plan.apart:
        return  # the slopes are those of other components
    both = (answer.values[0, : along.shape[1]] - (answer.values[0, -1] if plan.apart else base)) / h
    rise[single] = both[: len(single)]
    for (i, j), rises in zip(pairs, both[len(single) :], strict=True):
        bend, before = (rises - rise[i] - rise[j]) / h, 0.0 if plan.whole else W[i, j]
        H[i, j] = H[j, i] = (before * H[i, j] + plan.part * bend) / (before + plan.part)
        W[i, j] = W[j, i] = before + plan.part


def here(task: Task, state: State, batch: Batch) -> Generator[Query, Answer, tuple[float, Batch]]:
    """Return the mean over a batch at x, which is not asked of all components again, and the components that answered."""
    if batch.indices is None and state.whole is not None and not task.failed:
        return state.whole, batch
    answer = yield Query(state.x, batch, purpose=Purpose.LINE_SEARCH)
    return float(answer.values[0, 0]), answered(batch, answer)


@dataclass(frozen=True)
class Move:
    """A step p of the weights, as far as sampling lets it be trusted, and what the model says of it."""

    p: Array
    slope: float
    bend: float  # at most 0
    decrease: float
    noise: float  # what the optimum of the model is expected to lose to sampling
    unit: float  # mean curvature along a unit vector towards an atom
    spread: float  # greatest variance over components of a slope along such a vector
    live: Indices  # atoms that are not the origin
    error: Array  # variances of the slopes


def trusted(got: Measured, w: Array, rest: float) -> Move:
    """Return the step to the minimiser of the model, shrunk by 1 − noise/decrease (James and Stein, towards x).

    With k atoms in the optimum it loses ½(k − 1)·mean(v_j/H_jj)/m to sampling. A step to one atom goes there whole, if its slope
    is negative by two standard errors.
    """
    c, H = got.c, got.H
    sq = np.asarray((got.D * got.D).sum(axis=0)).reshape(-1)
    live, error = np.flatnonzero(sq > 0), got.v / len(got.batch) * rest
    p = simplex_step(c, H, w)
    lin, decrease = float(c @ p), -float(c @ p + 0.5 * p @ H @ p)
    free, own, count = int(np.count_nonzero(w + p > 0)) - 1, np.diag(H)[live], max(len(live), 1)
    unit, far = (float(a.sum()) / count for a in (np.abs(own) / sq[live], sq))
    if free and len(own) and (own > 0).all():
        noise = 0.5 * free * float(np.mean(error[live] / own))
        taken = max(1 - noise / decrease, 0.0) if decrease > 0 else 0.0
    elif p.any():  # no optimum inside: the standard error of the slope
        noise, lin = math.sqrt(float(p * p @ error)), min(lin, -decrease)
        taken = float(-lin > 2 * noise)
    else:  # the best atom already, on this batch: what a slope of one standard error would bring
        noise, taken = gain(math.sqrt(float(error.sum()) / count), unit * far), 0.0
    slope, bend = taken * float(c @ p), taken * min(float(p @ H @ p), 0.0)
    spread = float(max(got.v[live] / sq[live], default=0.0))
    return Move(taken * p, slope, bend, taken * (2 - taken) * decrease, noise, unit, spread, live, error)


def correct(task: Task, state: State, rng: np.random.Generator, choice: Choice) -> Action:
    """Move the weights of the active atoms and the candidates to the minimiser of their quadratic model.

    A value on the same batch guards the step (Armijo, quadratic interpolation).
    """
    old, small = state.model, SMALL * state.values.range
    atoms = (*old.atoms, *(c.atom for c in choice.candidates))
    w = np.pad(old.weights, (0, len(choice.candidates)))
    got = yield from measure(task, state, rng, atoms, choice.batch)
    rest = state.left_out(task, len(got.batch))
    move = trusted(got, w, rest)
    step = np.asarray(got.D @ move.p)
    theta, value = yield from approved(
        task, state.x, step, got.batch, got.value, move.slope,
        bend=move.bend, longest=0.7, tries=6, lost=small,
    )  # fmt: skip
    p, seen, whole = theta * move.p, got.value - value, rest == 0
    surprise = float(np.abs(p).sum())  # curvatures change as weights do, unless values show that they did not
    if move.decrease > 0:
        surprise = min(surprise, abs(seen / move.decrease - 1))
    model, brought = learnt(replace(old, atoms=atoms), got, move, theta, w + p, max(seen, 0.0), surprise)
    if whole and brought < choice.worth / 16:
        model = replace(model, disappointed=old.disappointed + 1)
    if whole and not p.any():  # the same again at this x would move nothing again
        model = replace(model, vain=(*old.vain, named(choice.candidates)))
    state = replace(state, model=model, value=value, brought=brought, walker=None)
    return arrived(state, turned(state.belief, got, move, p, surprise), whole, still=not p.any())


def learnt(
    model: Model, got: Measured, move: Move, theta: float, weights: Array, seen: float, surprise: float
) -> tuple[Model, float]:
    """Return the model after a step, and the decrease that is more than noise."""
    decrease, W = move.decrease, got.W / (1.0 + got.W * surprise**2)
    if theta < 1 and move.p.any():  # the model was wrong, not the sample
        decrease, W = max(seen, 1.05 * PROGRESS * move.noise), np.zeros_like(got.H)
    model = replace(
        with_weights(replace(model, H=got.H, W=W), weights),
        batch=len(got.batch), decrease=decrease, noise=move.noise, unit=move.unit, tried=True, vain=(),
        disappointed=0, spread=move.spread,
    )  # fmt: skip
    return model, seen if decrease > move.noise else 0.0


def arrived(state: State, belief: Belief, whole: bool, still: bool) -> State:
    """Return the state at the x of its model, which is another one unless it stood still."""
    if whole:  # values of all components have shown what is lower
        alone = state.start is not None and np.array_equal(state.x, state.start)
        state = replace(state, start=None if alone else state.start, whole=state.value)
    if still:  # nothing is learnt beyond a sweep
        return state if state.swept else replace(state, belief=belief)
    return replace(
        state, x=state.model.point(), belief=belief, values=replace(state.values, coarser=0),
        swept=0.0, certificate=None, whole=state.whole if whole else None,
    )  # fmt: skip


def turned(belief: Belief, got: Measured, move: Move, p: Array, surprise: float) -> Belief:
    """Return the belief at the new x: the slopes there are those that the model says, as far as it is right."""
    bent, live = got.H @ p, move.live
    drift = DRIFT * abs(float(p @ got.H @ p)) * move.unit
    noises = move.error + (surprise * bent) ** 2
    turn = move.unit * float(np.linalg.norm(got.D @ p))
    return belief.agree(got.D[:, live], (got.c + bent)[live], noises[live], drift, turn)


def named(candidates: tuple[Candidate, ...]) -> str:
    """Return a name of a set of candidates."""
    return " ".join(sorted(candidate.atom.key().hex() for candidate in candidates))


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
