"""EXPLORE: learn the gradient from few components."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from zofw.algorithms.explore_correct.moves import Moves
from zofw.algorithms.explore_correct.state import Action, Belief, Choice, State
from zofw.algorithms.model.noise import TINY
from zofw.core import OutOfBudget, Query, Stencil, Task
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
    d, belief, seen, L = task.dim, state.belief, state.sketches, state.model.unit
    h, left = state.values.step(task, 3), task.remaining - (LINE * choice.batch if moves else 0)
    walker, cost = state.walker or belief.shrunk(), min(choice.price, left)
    size, b = sizes(task, state, cost)
    rounds, spent = max(1, int(cost / (size * (b + 1)))), 0
    chunk = max(1, rounds // CHUNKS) if moves else rounds
    spread, cells = seen.spread or 0.0, 0
    flat, prior = (state.values.unseen / h) ** 2, (state.values.range / state.values.size) ** 2 / d
    squares: list[float] = []
    variances: list[float] = []
    while len(squares) < rounds:
        control, total, here, before = walker.g, np.zeros(d), 0, len(squares)
        for turn in range(before, min(before + chunk, rounds)):
            two = turn % 4 == 0 and spent + 2 * (b + 1) <= left  # to see how they differ
            m = max(size, min(2, task.n)) if two else size
            if spent + m * (b + 1) > left:
                break
            spent += m * (b + 1)
            U, x = Rademacher().draw(rng, d, b), moves.x if moves else state.x
            query = Query(x, task.sample(rng, m), U, h, Stencil.FORWARD, variance=True)
            answer = yield query
            r = slopes(query, answer)[0] - U.T @ control
            total += m * (U @ r) / b
            here += m
            squares.append(float(r @ r) / b)
            variances += [float(np.mean(answer.variance))] if m > 1 and answer.variance is not None else []
        if (count := len(squares) - before) == 0:
            break
        cells += here
        spread = float(np.mean(variances)) if variances else spread
        y, own = control + total / here, float(np.mean(squares)) / (b * count)
        noise = own + max(spread / d, 0.0 if moves else state.model.spread) / here
        unseen = (1 - 1 / d) ** (b * count) if max(squares[before:]) <= flat else 0.0
        belief = belief.kalman(y, noise, unseen * min(belief.variance, prior))
        if moves:
            walker = walker.kalman(y, noise, unseen * min(walker.variance, prior))
            change = L * moves.slide(task, walker.g, L, here * (b + 1) / QUERIES_PER_CALL)
            more = float(change @ change) / d
            belief = Belief(belief.g + change, belief.variance + more)
            walker = Belief(walker.g + change, walker.variance + more)
    if not squares:
        raise OutOfBudget
    done, residual = len(squares), float(np.mean(squares))
    spread = max(spread, 1e-12 * residual)
    miss = max(residual - spread * done / cells, 0.0) + residual / math.sqrt(done * b)
    shown = math.sqrt(residual / d) * state.values.size
    noise = residual / (b * done) + max(spread / d, 0.0 if moves else state.model.spread) / cells
    return replace(
        state,
        values=replace(state.values, range=max(state.values.range, shown)),
        belief=state.belief if state.swept else belief,  # nothing is learnt beyond a sweep
        walker=walker if moves else None,
        sketches=replace(seen, spread=spread, miss=miss, unit_cost=noise * spent, batch=size),
    )
