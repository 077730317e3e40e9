"""EXPLORE: learn the gradient from few components."""

from __future__ import annotations

import math
from collections.abc import Generator
from dataclasses import dataclass, field, replace

import numpy as np

from zofw.algorithms.explore_correct.moves import Moves
from zofw.algorithms.explore_correct.state import Action, Choice, State
from zofw.algorithms.model.noise import TINY
from zofw.core import Answer, Array, OutOfBudget, Query, Stencil, Task
from zofw.differences import slopes
from zofw.directions import Rademacher

LEAST = 8  # answers of a random oracle from one point, to see how they differ
PIECES = 64  # sketches of one exploration, about
CHUNKS = 32  # moves of one walk
QUERIES_PER_CALL = 4  # of the LMO
LINE = 9  # most queries per component of the values and the correction that end a walk


def sizes(task: Task, state: State, cost: float) -> tuple[int, int]:
    """|S| and b of a sketch.

    b minimises (v + σ²/b)(b + 1), with v the variance over components of one slope and σ² that of the gradient; |S| keeps the
    sampling error at a quarter of the error that the directions make. Where sketches would be very many they are larger.
    """
    d, seen, atoms = task.dim, state.sketches, state.model.spread
    b, size = math.sqrt(d), float(seen.batch)
    if seen.spread is not None:
        b = min(math.sqrt(seen.spread / atoms), b) if atoms > 0 else b
        size = min(0.25 * seen.spread / max(seen.miss, TINY), 8 * size, cost / (CHUNKS * (b + 1)))
    size = int(max(1, min(size, task.n, cost / (b + 1))))
    b = int(max(1, min(b, cost / size - 1)))
    if (pieces := cost / (size * (b + 1)) / PIECES) > 1:
        b = int(max(b, min(b * pieces, d / 4)))
        size = int(min(size * min(max(1.0, cost / (size * (b + 1)) / PIECES), 4), task.n))
    if task.failed:  # of so many components some answer at all points
        size = min(task.n, max(size, LEAST))
    if task.workers > size * (b + 1):  # a sketch keeps all workers busy
        size = min(max(size, math.ceil(task.workers / (b + 1))), task.n, max(1, int(cost / (b + 1))))
        b = max(b, min(math.ceil(task.workers / size), int(cost / size), task.dim) - 1)
    return size, b


@dataclass
class Shown:
    """What the sketches of one exploration have shown so far: mean squares of residuals, variances over components."""

    left: float  # queries that may be spent
    squares: list[float] = field(default_factory=list)
    variances: list[float] = field(default_factory=list)
    cells: int = 0
    spent: int = 0
    spread: float = 0.0  # E‖∇f_i − ∇f‖², and the least of it along a direction
    least: float = 0.0

    def variance(self, directions: int, cells: int, d: int) -> float:
        """Return the variance per coordinate of the mean of so many sketches."""
        return float(np.mean(self.squares)) / directions + max(self.spread / d, self.least) / cells


def sketched(
    task: Task,
    rng: np.random.Generator,
    x: Array,
    h: float,
    control: Array,
    shape: tuple[int, int],
    most: int,
    shown: Shown,
) -> Generator[Query, Answer, tuple[Array, int]]:
    """Ask for at most so many sketches at x. Return their mean estimate of ∇f, and the components behind it."""
    (size, b), total, here = shape, np.zeros(task.dim), 0
    for _ in range(most):
        two = (
            len(shown.squares) % 4 == 0 and shown.spent + 2 * (b + 1) <= shown.left
        )  # to see how they differ
        m = max(size, min(2, task.n)) if two else size
        if shown.spent + m * (b + 1) > shown.left:
            break
        shown.spent += m * (b + 1)
        U = Rademacher().draw(rng, task.dim, b)
        query = Query(x, task.sample(rng, m), U, h, Stencil.FORWARD, variance=True)
        answer = yield query
        r = slopes(query, answer)[0] - U.T @ control
        total += m * (U @ r) / b
        here += m
        shown.squares.append(float(r @ r) / b)
        if m > 1 and answer.variance is not None:
            shown.variances.append(float(np.mean(answer.variance)))
    shown.cells += here
    shown.spread = float(np.mean(shown.variances)) if shown.variances else shown.spread
    return control + total / max(here, 1), here


def explore(
    task: Task, state: State, rng: np.random.Generator, choice: Choice, moves: Moves | None = None
) -> Action:
    """Spend about the price of the choice on Rademacher sketches c = mean_S Δf_i, and filter them into the belief.

    The control variate is James and Stein's: a noisy g taken whole would ruin the sketch in high dimension. With ``moves``, x
    slides 32 times on the way on the model ⟨m, z⟩ + ½L‖z − x‖², m the shrunk g and L the curvature along a unit vector, which turns
    g into g + L(z − x): inside the set a stochastic gradient step whose length falls as the gradient becomes known. The variance
    grows by L²‖z − x‖²/d, as if the Hessian differed from LI by as much as LI itself.

    Where f is flat along all directions of a part, m of them, these may have missed where it is not, and take no more from the
    variance than to (1 − 1/d)^m of it; of what the range of the values suggests, at first.
    """
    d, belief, values, way = task.dim, state.belief, state.values, moves or Moves(state.x)
    h, shown = values.step(task, 3), Shown(task.remaining - LINE * choice.batch)
    walker, cost = state.walker or belief.shrunk(), min(choice.price, shown.left)
    size, b = sizes(task, state, cost)
    rounds = max(1, int(cost / (size * (b + 1))))
    chunk, shown.least = (max(1, rounds // CHUNKS), 0.0) if moves else (rounds, state.model.spread)
    shown.spread = state.sketches.spread or 0.0
    flat, prior = (values.unseen / h) ** 2, (values.range / values.size) ** 2 / d
    while (before := len(shown.squares)) < rounds:
        most = min(chunk, rounds - before)
        y, here = yield from sketched(task, rng, way.x, h, walker.g, (size, b), most, shown)
        if here == 0:
            break
        count = b * (len(shown.squares) - before)
        noise = shown.variance(count, here, d)
        unseen = (1 - 1 / d) ** count if max(shown.squares[before:]) <= flat else 0.0
        belief = belief.kalman(y, noise, unseen * min(belief.variance, prior))
        if moves:
            walker = walker.kalman(y, noise, unseen * min(walker.variance, prior))
            change = moves.slide(task, walker.g, state.model.unit, here * (b + 1) / QUERIES_PER_CALL)
            change = state.model.unit * change
            belief, walker = belief.moved(change), walker.moved(change)
    if not shown.squares:
        raise OutOfBudget
    state = replace(looked(task, state, shown, size, b), walker=walker if moves else None)
    return state if state.swept else replace(state, belief=belief)  # nothing is learnt beyond a sweep


def looked(task: Task, state: State, shown: Shown, size: int, b: int) -> State:
    """Return the state with what the sketches say of the spread over components, their own error, and the range of f."""
    done, residual = len(shown.squares), float(np.mean(shown.squares))
    shown.spread = max(shown.spread, 1e-12 * residual)
    miss = max(residual - shown.spread * done / shown.cells, 0.0) + residual / math.sqrt(done * b)
    unit_cost = shown.variance(b * done, shown.cells, task.dim) * shown.spent
    sketches = replace(state.sketches, spread=shown.spread, miss=miss, unit_cost=unit_cost, batch=size)
    found = math.sqrt(residual / task.dim) * state.values.size
    return replace(
        state, sketches=sketches, values=replace(state.values, range=max(state.values.range, found))
    )
