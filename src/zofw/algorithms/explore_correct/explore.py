"""PROBE, EXPLORE, SWEEP and CERTIFY: what values can show, and learning the gradient."""

from __future__ import annotations

import math
from collections.abc import Generator
from dataclasses import replace

import numpy as np

from zofw.algorithms.explore_correct.moves import Moves
from zofw.algorithms.explore_correct.state import TINY, Action, Belief, Certificate, State, Values
from zofw.core import Answer, Array, OutOfBudget, Purpose, Query, Stencil, Task
from zofw.differences import OwnDifferences, base_values, curvatures, slopes
from zofw.directions import Explicit, Rademacher, UnitSteps, basis

SPACINGS = (1e-8, 3e-7, 1e-5, 3e-4, 1e-2, 0.16)  # of the line of the probe, tried until the values differ
SHORT = 1e-4
FAR = 0.9  # of the way to a vertex
COMPONENTS = 4  # of the probe
LEAST = 8  # answers of a random oracle from one point, to see how they differ
ROUNDING = 2.0**-52
RANDOM = 1e-6  # of the range: two values at one point that differ by more are random, not merely rounded
PIECES = 64  # sketches of one exploration, about
CHUNKS = 8  # moves of one walk
LINE = 3  # queries per component of the line that ends a walk
SWEEP = 2.5  # order of the radius of sweeps: between what one-sided and what two-sided slopes want
CONFIDENCE = 3.0  # standard deviations
WIDER = 10.0  # the second radius along the directions that look for kinks


def probe(task: Task, state: State, rng: np.random.Generator) -> Action:
    """Four equidistant values along a random line, and one near a vertex; again wider, while the values do not differ.

    The third difference of four values has √20 times their noise (Moré and Wild), which is at least the rounding of the values.
    The line leads to that vertex too where it is long or points must stay inside the set; else it does not, since a vertex may
    have one entry and components may not depend on it. Where the task has a resolution, points so near are one to whoever
    evaluates: instead of the table x is asked for again.
    """
    u = rng.standard_normal(task.dim)
    steps = [task.lmo(v).dense() - state.x for v in (u, -u)]
    size = float(np.linalg.norm(steps[0] - steps[1])) or 1.0
    far = max(steps, key=lambda step: float(step @ step))
    batch = task.sample(rng, min(task.n, COMPONENTS))
    for spacing in SPACINGS if task.resolution == 0 else (0.0,):
        line = far if task.inside or spacing > SHORT else u * (size / float(np.linalg.norm(u)))
        points = np.column_stack([spacing * line, 2 * spacing * line, 3 * spacing * line, FAR * far])
        query = Query(state.x, batch, Explicit(points), 1.0, Stencil.FORWARD, Purpose.NOISE)
        answer = yield query
        rises = np.append(0.0, slopes(query, answer)[0])
        if len(np.unique(rises[:4])) > 2 or 4 * query.cost > task.remaining:
            break
    value = float(base_values(query, answer)[0])
    again = abs(float((yield Query(state.x, batch, purpose=Purpose.NOISE)).values[0, 0]) - value)
    spread, rounding = float(np.ptp(rises)), ROUNDING * float(np.abs(answer.values).max())
    third = abs(float(np.diff(rises[:4], 3)[0])) / math.sqrt(20)
    apart = np.diff(np.unique(rises[:4]))
    quantum = (
        float(apart.min()) if len(apart) and spacing > SPACINGS[0] else 0.0
    )  # nearer by, values were equal
    noise = max(third, again, rounding, quantum) * math.sqrt(len(batch))
    values = Values(noise, spread, size, random=again > max(RANDOM * spread, rounding))
    model = replace(state.model, batch=max(state.model.batch, LEAST)) if values.random else state.model
    return replace(state, values=values, value=value, model=model)


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
    return size, b


def explore(
    task: Task, state: State, rng: np.random.Generator, cost: float, moves: Moves | None = None
) -> Action:
    """Spend about ``cost`` queries on Rademacher sketches c = mean_S Δf_i, and filter them into the belief.

    The control variate is James and Stein's: a noisy g taken whole would ruin the sketch in high dimension. With ``moves``, x
    slides after every eighth of them on the model ⟨m, z⟩ + ½L‖z − x‖², m the shrunk g, which turns g into g + L(z − x): inside
    the set a stochastic gradient step whose length falls as the gradient becomes known. The variance grows by L²‖z − x‖²/d, as
    if the Hessian differed from LI by as much as LI itself, and by more where residuals show more.
    """
    d, belief, seen, h = task.dim, state.belief, state.sketches, state.values.step(task, 3)
    walker, cost = state.walker or belief.shrunk(), min(cost, task.remaining)
    size, b = sizes(task, state, cost)
    rounds, left = max(1, int(cost / (size * (b + 1)))), task.remaining - (LINE * seen.line if moves else 0)
    chunk, start = max(1, rounds // CHUNKS) if moves else rounds, task.paid
    spread, cells, predicted = seen.spread or 0.0, 0, 0.0
    squares: list[float] = []
    variances: list[float] = []
    while len(squares) < rounds:
        control, total, here, before = walker.g, np.zeros(d), 0, len(squares)
        for turn in range(before, min(before + chunk, rounds)):
            m = max(size, min(2, task.n)) if turn % 4 == 0 else size  # two, to see how they differ
            if task.paid - start + m * (b + 1) > left:
                break
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
        own, y = float(np.mean(squares)) / (b * count), control + total / here
        noise = own + max(spread / d, 0.0 if moves else state.model.spread) / here
        belief = belief.kalman(y, math.inf if moves else own, noise)
        if moves:
            predicted += count * d * walker.variance
            walker = walker.kalman(y, math.inf, noise)
            change = seen.L * moves.slide(task, walker.g, seen.L)
            more = float(change @ change) / d
            belief = Belief(belief.g + change, belief.variance + more)
            walker = Belief(walker.g + change, walker.variance + more)
    if not squares:
        raise OutOfBudget
    done, residual = len(squares), float(np.mean(squares))
    spread = max(spread, 1e-12 * residual)
    miss = max(residual - spread * done / cells, 0.0)
    error = (deviation(squares) + deviation(variances or [0.0]) * done / cells) / math.sqrt(done)
    surprise = (miss - 2 * error) * done / max(predicted, TINY)
    if moves and surprise > 1 and done >= CHUNKS:
        walker = Belief(walker.g, surprise * walker.variance)
        belief = Belief(belief.g, max(belief.variance, walker.variance))
    spent, shown = task.paid - start, math.sqrt(residual / d) * state.values.size
    noise = residual / (b * done) + max(spread / d, 0.0 if moves else state.model.spread) / cells
    miss, since = miss + residual / math.sqrt(done * b), seen.since + spent
    return replace(
        state,
        values=replace(state.values, range=max(state.values.range, shown)),
        belief=belief,
        walker=walker if moves else None,
        sketches=replace(seen, spread=spread, miss=miss, unit_cost=noise * spent, batch=size, since=since),
    )


def deviation(numbers: list[float]) -> float:
    """The standard deviation of numbers whose squares may overflow: by a power of two, which changes no other bit."""
    scale = 2.0 ** math.frexp(max(numbers))[1]
    return scale * float(np.std(np.divide(numbers, scale)))


def coordinate_slopes(task: Task, x: Array, h: float, side: float) -> Generator[Query, Answer, Array]:
    """∇f at x from differences of all components to one side, along the coordinates of each alone where these are known."""
    if task.by_support:
        pattern = task.pattern(task.all)
        own = OwnDifferences.of(x, task.all, pattern, h, sign=side, purpose=Purpose.CERTIFICATE)
        return own.mean(own.slopes((yield own.query))[0])
    U = basis(task.dim) if side > 0 else UnitSteps(task.dim, np.arange(task.dim), np.full(task.dim, side))
    query = Query(x, task.all, U, h, Stencil.FORWARD, Purpose.CERTIFICATE)
    return np.asarray(side * slopes(query, (yield query))[0])


def known(task: Task, state: State, g: Array, error: float) -> State:
    """The state with a gradient that was measured along every coordinate, each up to ``error``."""
    sketches = state.sketches
    if not math.isfinite(sketches.unit_cost):
        sketches = replace(sketches, unit_cost=error**2 * task.sweep_cost)
    return replace(state, belief=Belief(g, error**2), walker=None, sketches=sketches)


def sweep(task: Task, state: State) -> Action:
    """The whole coordinate gradient on all components by forward slopes: n(d + 1) queries, or Σ(|support_i| + 1).

    Their error is ½hH_jj and the noise of two values; H_jj is the mean curvature towards atoms or, without any, over the set.
    """
    values, h = state.values, state.values.step(task, SWEEP)
    g = yield from coordinate_slopes(task, state.x, h, 1.0)
    bend = state.model.unit or values.range / values.size**2
    error = 0.5 * h * bend + 1.5 * values.noise / math.sqrt(task.n) / h
    return replace(known(task, state, g, error), swept=(h, g))


def certificate_price(task: Task, state: State) -> int:
    """Of slopes to both sides along every coordinate, twice where points must stay inside, and of n times 9 evaluations besides."""
    return task.sweep_cost * ((4 if task.inside else 2) - (state.swept is not None)) + 9 * task.n


def slope_error(task: Task, values: Values) -> float:
    """Three deviations of what the noise of the values leaves in a gradient of two-sided slopes."""
    return CONFIDENCE * values.noise * math.sqrt(task.dim / task.n) / values.step(task, SWEEP)


def certify(task: Task, state: State, rng: np.random.Generator) -> Action:
    r"""Slopes to both sides along every coordinate on all components, and along two random directions at two radii.

    A sweep at this x was one of the sides. The error has three parts, each times the size of the set: noise of the values, ε√d/h
    at three deviations; the third order, from the change of the central slope along a Gaussian u between h and 10h; and kinks,
    from second differences S(h) = κh + Hh², hence κ = (100 S(h) − S(10h))/(90h). The width of the subdifferential along the
    direction that matters exceeds ten times the greatest κ of two Gaussian u with probability 0.7 % at most. Where points must
    stay inside the set the slopes are those of a point nearby, at a distance in proportion to h: they are extrapolated from h
    and h/2, or 2h where points so near are one.
    """
    x, values, paid, u, drift = state.x, state.values, task.paid, rng.standard_normal((task.dim, 2)), 0.0
    h, ahead = state.swept or (values.step(task, SWEEP), None)
    if ahead is None:
        ahead = yield from coordinate_slopes(task, x, h, 1.0)
    g = 0.5 * (ahead + (yield from coordinate_slopes(task, x, h, -1.0)))
    if task.inside:
        other = 0.5 * h if 0.5 * h >= task.resolution else 2 * h
        ahead = yield from coordinate_slopes(task, x, other, 1.0)
        further = 0.5 * (ahead + (yield from coordinate_slopes(task, x, other, -1.0)))
        drift = 0.1 * float(np.linalg.norm(g - further))
        g = 2 * further - g if other < h else 2 * g - further
        fits = 0.99 * task.reach / (WIDER * float(np.linalg.norm(u, axis=0).max()))
        h = min(h, other, fits)
    U = Explicit(np.hstack([u, WIDER * u]))
    query = Query(x, task.all, U, h, Stencil.QUADRATIC, Purpose.CERTIFICATE)
    answer = yield query
    along, bends = slopes(query, answer)[0], curvatures(query, answer)[0] * h
    third = float(np.abs(along[2:] / WIDER - along[:2]).max()) / (WIDER**2 - 1)
    kink = float(np.abs(WIDER**2 * bends[:2] - bends[2:]).max()) / (WIDER**2 - WIDER)
    vertex = task.lmo(g).dense()
    size = max(values.size, float(np.linalg.norm(x - vertex)))
    noise = max(values.noise / math.sqrt(task.n), ROUNDING * float(np.abs(answer.values).max()))
    rounding = 5.0 * noise / h  # what κ shows where there is none
    error = CONFIDENCE * (noise * math.sqrt(task.dim) / h + third) + drift + 5 * min(kink, rounding)
    concave = max(-float(bends[2:].min()) - 2 * rounding, 0.0) / (h * WIDER**2) * size**2 / task.dim
    kinks = 5.0 * max(kink - rounding, 0.0) * size
    return replace(
        known(task, state, g, error / math.sqrt(task.dim)),
        certificate=Certificate(float(g @ (x - vertex)), error * size, kinks, concave),
        certified=state.certified + task.paid - paid,
        value=float(base_values(query, answer)[0]),
    )
