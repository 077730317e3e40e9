"""WALK and LINE: exploring on the move, for sets with too many vertices to be tried one by one."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from zofw.algorithms.explore_correct.belief import Belief
from zofw.algorithms.explore_correct.correct import merge, variance_of
from zofw.algorithms.explore_correct.state import Action, State, Trail, Values
from zofw.atoms import Atom, Dense
from zofw.core import Array, OutOfBudget, Purpose, Query, Stencil, Task
from zofw.differences import base_values, slopes
from zofw.directions import Explicit, Rademacher

CHUNKS = 8  # estimates, and moves, of one walk
INNER = 20  # most vertices of one move
PRICE = 3  # queries per component of a line
DEVIATIONS = 2.0  # beyond which a residual says that the gradient has moved more than was thought


def shrunk(raw: Belief) -> Belief:
    """The posterior under ∇f ~ N(0, τ²I), with τ² from ‖g‖² = d(τ² + s²), whose share is known up to √(2/d) and at least that."""
    square, d = float(raw.g @ raw.g), len(raw.g)
    share = max(1 - d * raw.variance / square, math.sqrt(2 / d)) if square > 0 else 1.0
    return Belief(share * raw.g, share * raw.variance, raw.origin)


class Moves:
    """Steps towards vertices from x: where they lead, and the one point of the set that stands for all of them."""

    def __init__(self, x: Array) -> None:
        self.x, self.path, self.covered = x, np.zeros_like(x), 0.0
        self.visited: dict[bytes, Atom] = {}
        self.gains: dict[bytes, float] = {}

    def towards(self, atom: Atom, gamma: float) -> None:
        """x ← x + γ(s − x)."""
        s = atom.dense()
        self.x = self.x + gamma * (s - self.x)
        self.path = (1 - gamma) * self.path + gamma * s
        self.covered = 1 - (1 - gamma) * (1 - self.covered)
        self.visited[atom.key()] = atom

    def target(self) -> Atom:
        """v with x = (1 − c)x₀ + cv, c the share covered."""
        only = next(iter(self.visited.values()))
        return only if len(self.visited) == 1 else Dense(self.path / self.covered)


def slide(task: Task, moves: Moves, m: Array, L: float, most: int = INNER) -> Array:
    """Move to about the minimiser of ⟨m, z⟩ + ½L‖z − x‖² over the set, by Frank-Wolfe steps; returns z − x.

    References
    ----------
    G. Lan, Y. Zhou, Conditional gradient sliding for convex optimization, SIAM Journal on Optimization, 2016.
    """
    x, gained = moves.x, 0.0
    atom: Atom | None = None
    for _ in range(most):
        g = m + L * (moves.x - x)
        atom = task.lmo(g, atom)
        step = atom.dense() - moves.x
        slope, bend = -float(g @ step), L * float(step @ step)
        if slope <= 0.05 * gained or bend <= 0:
            break
        gamma = min(1.0, slope / bend)
        gain = gamma * slope - 0.5 * gamma**2 * bend
        gained += gain
        moves.towards(atom, gamma)
        moves.gains[atom.key()] = moves.gains.get(atom.key(), 0.0) + gain
    return moves.x - x


@dataclass
class Residuals:
    """Residuals r of the sketches, cell variances, and what they show of ‖∇f − m‖²."""

    squares: list[float]
    variances: list[float]
    cells: int = 0
    spent: int = 0
    predicted: float = 0.0

    def miss(self, spread: float) -> tuple[float, float]:
        """‖∇f − m‖² = E r² − σ²/|S|, and its standard error."""
        done = len(self.squares)
        sampling = done / self.cells
        error = float(np.std(self.squares)) / math.sqrt(done)
        if self.variances:
            error += float(np.std(self.variances)) / math.sqrt(len(self.variances)) * sampling
        return max(float(np.mean(self.squares)) - spread * sampling, 0.0), error


def walk(task: Task, state: State, values: Values, rng: np.random.Generator, cost: float) -> Action:
    """Sketches, and after every eighth of them a move to where the mean m of the belief says.

    m, P: the mean and variance of the gradient's posterior. A sketch y of variance v is taken in with the gain
    K = P/(P + v); then x slides on the model ⟨m, z⟩ + ½L‖z − x‖², which turns m into m + L(z − x). Inside the set that is
    x − (K/L)y: a stochastic gradient step whose length falls as the gradient becomes known. P grows by L²‖z − x‖²/d, as if
    the Hessian differed from LI by as much as LI itself, and by more where residuals show more.
    """
    d, seen, L = task.dim, state.sketches, state.walk.L
    spread = seen.spread or 0.0
    m, P = state.walk.belief.g, state.walk.belief.variance
    g, s2 = state.belief.g, state.belief.variance
    size, b = _sizes(task, state, spread, cost)
    rounds = max(1, int(cost / (size * (b + 1))))
    moves, law, got, moved = Moves(state.x), Rademacher(), Residuals([], []), 0.0
    left = task.remaining - PRICE * state.walk.batch  # for the line
    while len(got.squares) < rounds:
        total, cells, before = np.zeros(d), 0, len(got.squares)
        for turn in range(before, min(before + max(1, rounds // CHUNKS), rounds)):
            here = max(size, min(2, task.n)) if turn % 4 == 0 else size  # two, to see how they differ
            if got.spent + here * (b + 1) > left:
                break
            U = law.draw(rng, d, b)
            S = task.sample(rng, here)
            query = Query(moves.x, S, U, values.step(task), Stencil.FORWARD, variance=here > 1)
            answer = yield query
            r = slopes(query, answer)[0] - U.T @ m
            total += here * (U @ r) / b
            cells += here
            got.squares.append(float(r @ r) / b)
            if here > 1:
                got.variances.append(float(variance_of(answer).mean()))
            got.spent += query.cost
        count = len(got.squares) - before
        if not count:
            break
        got.cells += cells
        got.predicted += count * d * P
        if got.variances:
            spread = float(np.mean(got.variances))
        noise = float(np.mean(got.squares)) / (b * count) + spread / d / cells
        y = m + total / cells
        K, k = P / (P + noise), s2 / (s2 + noise)
        m, P, g, s2 = m + K * (y - m), (1 - K) * P, g + k * (y - g), (1 - k) * s2
        step = slide(task, moves, m, L)
        bent = L * float(step @ step)
        m, g, moved = m + L * step, g + L * step, moved + bent
        P, s2 = P + L * bent / d, s2 + L * bent / d
    done = len(got.squares)
    if not done:
        raise OutOfBudget
    if seen.spread is not None and len(got.variances) < 4:
        spread = 0.5 * (spread + seen.spread)
    spread = max(spread, 1e-12 * float(np.mean(got.squares)))
    miss, error = got.miss(spread)
    surprise = (miss - DEVIATIONS * error) * done / max(got.predicted, 1e-300)
    if surprise > 1 and done >= CHUNKS:
        P *= surprise
        s2 = max(s2, P)
    if moves.covered > 0:
        state = settle(state, follow(state, moves))
    unit_cost = (float(np.mean(got.squares)) / (b * done) + spread / d / got.cells) * got.spent
    return replace(
        state,
        belief=replace(state.belief, g=g, variance=s2).age(moved, 0.0),
        walk=replace(state.walk, belief=replace(state.walk.belief, g=m, variance=P)),
        sketches=replace(
            seen,
            spread=spread,
            miss=miss + error,
            unit_cost=unit_cost,
            batch=size,
            since=seen.since + got.spent,
        ),
    )


def _sizes(task: Task, state: State, spread: float, cost: float) -> tuple[int, int]:
    """|S| and b as in an exploration, b up to d and down to what an eighth of the cost allows."""
    b, seen = float(math.isqrt(task.dim)), state.sketches
    wanted = min(0.25 * spread / max(seen.miss, 1e-300), 8.0 * seen.batch)
    size = int(min(task.n, max(1, wanted), max(cost / (CHUNKS * (b + 1)), 1)))
    if state.model.spread > 0:
        b = min(math.sqrt((spread + size * seen.miss) / state.model.spread), task.dim)
    return size, int(max(1, min(b, cost / CHUNKS / size)))


def follow(state: State, moves: Moves) -> Trail:
    """The trail, longer by the moves."""
    old, target = state.walk.trail, moves.target()
    if old is None:
        return Trail(state.x, state.model, target, moves.covered)
    covered = 1 - (1 - moves.covered) * (1 - old.covered)
    if target.key() != old.target.key():
        rest = (1 - moves.covered) * old.covered
        target = Dense((rest * old.target.dense() + moves.covered * target.dense()) / covered)
    return replace(old, target=target, covered=covered)


def settle(state: State, trail: Trail) -> State:
    """The iterate at the trail's end, with its target among the atoms."""
    model = trail.model
    atoms, weights, H, W = model.atoms, (1 - trail.covered) * model.weights, model.H, model.W
    keys = [a.key() for a in atoms]
    if trail.target.key() in keys:
        weights[keys.index(trail.target.key())] += trail.covered
    elif trail.covered > 0:
        atoms, weights = (*atoms, trail.target), np.append(weights, trail.covered)
        H, W = np.pad(H, (0, 1)), np.pad(W, (0, 1))
    keep = np.flatnonzero(weights > 1e-14)
    model = merge(
        replace(
            model,
            atoms=tuple(atoms[j] for j in keep),
            weights=weights[keep] / weights[keep].sum(),
            H=H[np.ix_(keep, keep)],
            W=W[np.ix_(keep, keep)],
        )
    )
    x = trail.start + trail.covered * (trail.target.dense() - trail.start)
    return replace(
        state, x=x, model=model, walk=replace(state.walk, trail=trail, moved=True), certificate=None
    )


def line(task: Task, state: State, values: Values, rng: np.random.Generator) -> Action:
    """The best point of the segment from the trail's start to its target: three values a component.

    The slope at x and the values at x and at the start (at the target, where nothing was walked yet) make a parabola. The
    slope c is shrunk by 1 − v/(mc²) (James and Stein, towards staying), and the batch doubles where √(v/m) exceeds |c|/2,
    the norm test. The curvature found is L of the next walk, within a factor of four of the last.
    """
    walk, trail = state.walk, state.walk.trail
    if trail is None:
        trail = Trail(state.x, state.model, task.lmo(walk.belief.g), 0.0)
    here, along = trail.covered, trail.target.dense() - trail.start
    square = float(along @ along)
    sketches = replace(state.sketches, since=0)
    if not square > 0:
        return replace(state, sketches=sketches, walk=replace(walk, trail=None))
    span = -here if here > 0 else 1.0
    batch = state.sample(task, rng, walk.batch)
    m, h = len(batch), values.radius(task, 3)
    U = Explicit(along[:, None] * np.array([1.0, span / h]))
    query = Query(state.x, batch, U, h, Stencil.FORWARD, Purpose.LINE_SEARCH, variance=True)
    answer = yield query
    near, far = slopes(query, answer)[0] * np.array([1.0, h / span])
    bend = 2 * (far - near) / (span - h)
    c = near - 0.5 * h * bend
    error = float(variance_of(answer)[0]) / m * state.left_out(task, m)
    trusted = math.copysign(max(abs(c) - error / abs(c), 0.0), c) if c != 0 else 0.0
    furthest = min(1.0, 2 * here) if here > 0 else 1.0
    if bend > 0:
        goal = min(max(here - trusted / bend, 0.0), furthest)
    else:
        goal = here if trusted == 0 else (0.0 if trusted > 0 else furthest)
    move = abs(bend) * (goal - here) ** 2
    drift = move * abs(bend) / square / task.dim
    after, slope, variance = along[:, None], np.array([c + (goal - here) * bend]), np.array([error])
    size = 2 * m if error > 0.25 * c * c else m
    if not state.random and size >= task.n / 2:  # State.sample takes all from there on
        size = task.n
    L, old = max(bend, 0.0) / square, walk.L
    state = settle(state, replace(trail, covered=goal))
    return replace(
        state,
        belief=state.belief.age(move, drift).agree(after, slope, variance),
        walk=replace(
            state.walk,
            belief=walk.belief.age(0.0, drift).agree(after, slope, variance),
            L=max(min(L, 4 * old), old / 4) if old > 0 else L,
            batch=size,
            trail=None,
        ),
        sketches=sketches,
        value=float(base_values(query, answer)[0]),
        brought=max((here - goal) * (c + 0.5 * (goal - here) * bend), 0.0),
    )


__all__ = ["PRICE", "Moves", "line", "shrunk", "slide", "walk"]
