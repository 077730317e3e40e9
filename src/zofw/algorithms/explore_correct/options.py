"""The options of Explore-Correct, in order, each with its price, what it is worth, and when it is due."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from zofw.algorithms.explore_correct.certify import certificate_price, goal, spent
from zofw.algorithms.explore_correct.correct import PROGRESS, Plan, gain, offsets
from zofw.algorithms.explore_correct.explore import LINE
from zofw.algorithms.explore_correct.moves import Moves
from zofw.algorithms.explore_correct.state import TINY, Candidate, Choice, Proposal, State
from zofw.atoms import Atom
from zofw.core import OutOfBudget, Task

DRAWS = 16  # of the belief, at most
QUERIES_PER_DRAW = 4
LEAST_EXPLORATION = 50.0  # queries
MANY = 16  # dimensions, below which directions can be tried one by one
DEAR = 4000  # queries of a sweep, from which on something is gained by walking before one


@dataclass(frozen=True)
class Option:
    """A line of the table that docs/methods/explore-correct.md shows."""

    name: str
    price: str
    worth: str
    due: str


OPTIONS = (
    Option("certify", "5n for a test of g, up to n(2d + 12) if it fails", "the end of the run", "no more decrease is in sight than noise hides; or, once at a point, than a gap of the tolerance would bring, or the gap is believed to be below the tolerance"),
    Option("correct", "|S|(k + 2), and as much for curvatures that are wanting", "what its candidates promise or a certificate shows, a quarter of what the last one brought, and what a larger batch saves of its noise", "nothing is in sight, and no curvature was ever measured"),
    Option("sweep", "n(d + 1)", "all that knowing ∇f would bring", "never"),
    Option("walk", "half of what g has cost, and 3|S|", "as exploring", "never; in place of exploring, from 16 dimensions on, where draws do not agree on a vertex, until a sweep's price (of 4,000 at least) was paid, or where none can be"),
    Option("explore", "half of what g has cost", "a third of what knowing ∇f would bring", "never"),
)  # fmt: skip


def propose(task: Task, state: State, rng: np.random.Generator, queries: float) -> Proposal:
    """Ask the LMO about g and about draws of the belief (Thompson sampling), one for every four queries that were spent.

    A draw whose vertex is not active promises min(δ²/2h, δ), δ its advantage over the best active atom and h the typical
    curvature. What lmo(g) promises is cleared of the winner's curse: the mean advantage that vertices of draws have over
    g itself, times √2 because the noise of a draw comes on top of that of g. The gap is the mean over the draws of
    ⟨g̃, x − lmo(g̃)⟩, an overestimate in expectation since a maximum of means is less than the mean of maxima; by how much is
    part of its error. A gradient that was measured is not drawn from: Frank-Wolfe steps towards argmin ⟨g, z⟩ + ½L‖z − x‖² name
    further atoms.
    """
    mean, deviation = state.belief.g, math.sqrt(state.belief.variance)
    o, bend, exact = state.origin, state.model.bend, state.swept > 0
    active, D = {atom.key() for atom in state.model.atoms}, offsets(state.model.atoms, o)
    calls = int(min(DRAWS, max(2, queries / QUERIES_PER_DRAW)))
    draws = [mean] if exact else [mean + deviation * rng.standard_normal(task.dim) for _ in range(calls)]
    first = vertex = task.lmo(mean)
    found: dict[bytes, tuple[Atom, int, float]] = {}  # how many draws have a vertex, and its greatest promise
    gaps, optimism, knowing, agreed = [], [], 0.0, 0
    for g in draws:
        vertex = first if exact else task.lmo(g, vertex)
        slope, along = vertex.dot(g) - float(o @ g), D.T @ g
        ahead = float(along.min()) - slope
        gaps.append(float((state.x - o) @ g) - slope)
        optimism.append(vertex.dot(mean) - vertex.dot(g) + float(o @ (g - mean)))
        agreed += vertex.key() == first.key()
        if vertex.key() not in active and ahead > 0:
            _, times, most = found.get(vertex.key(), (vertex, 0, 0.0))
            found[vertex.key()] = (vertex, times + 1, max(most, gain(ahead, bend)))
            knowing += gain(ahead, bend) / len(draws)
    along = D.T @ mean
    ahead = float(along.min()) - first.dot(mean) + float(o @ mean)
    found.pop(first.key(), None)
    often = [Candidate(a, most * times / len(draws)) for a, times, most in found.values() if times >= 2]
    often.sort(key=lambda c: -c.promise)
    if first.key() not in active and (ahead > 0 or not state.model.tried):
        honest = max(ahead - math.sqrt(2) * max(float(np.mean(optimism)), 0.0), 0.0)
        often.insert(0, Candidate(first, gain(honest, bend)))
    often = often[: max(2, len(state.model.atoms))]
    further: list[Candidate] = []
    if exact and state.model.unit > 0:
        moves, there = Moves(state.x), active | {c.atom.key() for c in often}
        moves.slide(task, mean, state.model.unit, calls)
        further = [Candidate(a, won) for key, (a, won) in moves.visited.items() if key not in there]
    length, own = float(np.linalg.norm(first.dense() - state.x)), float(state.x @ mean) - first.dot(mean)
    return Proposal(
        tuple(often),
        tuple(further),
        knowing,
        float(np.mean(gaps)),
        2 * deviation * length if exact else float(np.std(gaps) + np.mean(gaps) - own),
        bool(np.count_nonzero(first.dense()) > 1 and agreed < len(draws) / 2),
    )


def choose(task: Task, state: State, first: float) -> Choice:
    """The first option that is due, or else the one worth most per query."""
    if spent(task):
        raise OutOfBudget
    options = offered(task, state, first)
    due = next((option for option in options if option.due), None)
    return due or max(reversed(options), key=lambda option: option.worth / option.price)


def offered(task: Task, state: State, first: float) -> list[Choice]:
    """The options that the budget pays, in the order of the table; before anything is known, a sweep of few components or exploring."""
    left, whole, values, proposal = task.remaining, task.sweep_cost, state.values, state.proposal
    if proposal is None:
        cheap = whole <= min(8 * (task.dim + 1), left / 2) and not values.random
        return [Choice("sweep", whole) if cheap else Choice("explore", min(first, left))]
    cost, held = state.sketches.unit_cost / 2, state.walker or state.belief
    knowing, correcting = 0.0 if state.swept else proposal.knowing, correction(task, state, proposal)
    hope, enough, options = max(knowing, correcting.worth), goal(task, state), []
    untried = not state.model.tried and bool(correcting.candidates)
    if not values.random and (sure := certificate_price(task, state)) <= left:
        quiet = hope <= values.unseen
        hidden = 2 * proposal.gap_error if state.swept else 0.0  # what one-sided slopes cannot tell
        near = hope <= gain(enough, state.model.bend) or proposal.gap - hidden <= enough
        due = quiet or (near and state.certificate is None)
        options += [Choice("certify", sure, due=due and not untried)]
    walking = proposal.scattered and task.dim >= MANY and (max(task.paid, DEAR) < whole or whole > left)
    if correcting.batch and (correcting.worth > 0 or untried):
        options += [replace(correcting, due=untried and hope <= values.unseen)]
    if not values.random and whole <= left and not state.swept:
        options += [Choice("sweep", whole, knowing)]
    line = LINE * state.sketches.line
    if walking and left >= line + LEAST_EXPLORATION:
        asked = max(cost / max(held.variance, TINY), LEAST_EXPLORATION, 2 * line)
        most = min(max(task.paid / 2, 2 * line), left - line)
        return [*options, Choice("walk", min(asked, most), knowing / 3)]
    asked = max(cost / max(state.belief.variance, TINY), LEAST_EXPLORATION)
    return [*options, Choice("explore", min(asked, left), knowing / 3)]


def price(task: Task, state: State, candidates: int, m: float) -> int:
    """Of a correction with so many candidates on a batch of m."""
    return Plan(task, state, len(state.model.atoms) + candidates, int(m)).price


def correction(task: Task, state: State, proposal: Proposal) -> Choice:
    """A correction with the candidates, and further ones while promise per query grows, on the batch that it wants.

    The batch doubles where the last decrease was less than four times its noise. It promises a quarter of what the last one brought
    beyond its noise, what the larger batch saves of that, and what its candidates do.
    """
    model, limit = state.model, math.inf if state.values.random else task.n
    wanted = model.batch if model.decrease >= PROGRESS * model.noise else min(limit, 2 * model.batch)
    now, then = (state.left_out(task, size) / size for size in (model.batch, wanted))
    saved = max(model.noise - (model.noise * then / now if now > 0 else 0.0), 0.0)
    sure = state.certificate
    shown = 0.0 if sure is None else gain(max(sure.gap - sure.error, 0.0), model.bend)
    promise = saved + 0.25 * max(model.decrease - model.noise, 0.0) + max(proposal.promise, shown)
    candidates = proposal.candidates
    batch, cost = affordable(task, state, len(candidates), wanted)
    for candidate in proposal.further:
        size, more = affordable(task, state, len(candidates) + 1, wanted)
        if (promise + candidate.promise) * cost < promise * more:
            break
        candidates, promise, batch, cost = (*candidates, candidate), promise + candidate.promise, size, more
    return Choice("correct", cost, promise / 4.0**model.disappointed, candidates, batch)


def affordable(task: Task, state: State, candidates: int, wanted: float) -> tuple[int, float]:
    """The batch that is wanted, or the largest that the budget pays, and its price; 0 where it pays none.

    None is smaller than the last, which would undo its gain.
    """
    least, left = state.model.batch if state.model.spread > 0 else 1, task.remaining
    if not state.values.random and wanted >= task.n / 2:  # State.sample takes all from there on
        whole = price(task, state, candidates, task.n) <= left
        wanted = task.n if whole else min(wanted, math.ceil(task.n / 2) - 1)
    while wanted >= least and price(task, state, candidates, wanted) > left:
        wanted = int(0.95 * wanted)
    return (int(wanted), price(task, state, candidates, wanted)) if wanted >= least else (0, math.inf)
