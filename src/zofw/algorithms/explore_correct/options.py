"""The options of Explore-Correct, in order, each with its price, what it is worth, and when it is due."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace

import numpy as np

from zofw.algorithms.explore_correct.certify import certificate_price, goal, spent
from zofw.algorithms.explore_correct.correct import PROGRESS, Plan, named, offsets
from zofw.algorithms.explore_correct.explore import LINE, QUERIES_PER_CALL
from zofw.algorithms.explore_correct.moves import Moves
from zofw.algorithms.explore_correct.state import Candidate, Choice, Proposal, State, gain
from zofw.algorithms.model.noise import TINY
from zofw.atoms import Atom
from zofw.core import Array, Matrix, OutOfBudget, Task

DRAWS = 16  # of the belief, at most
LEAST_EXPLORATION = 50.0  # queries
WEIGHT = 0.25  # of an evaluation next to the time of a worker
FEW = 40  # components of a sum that may begin with a sweep
TRUST = 16  # times what the last correction on all components brought, a walk may promise
ANSWERING = 32  # components, some of which answer at all points of a correction if some have failed
MANY = 16  # dimensions, below which directions can be tried one by one


# docs/methods/explore-correct.md says of each what it costs, what it is worth, and when it is due
OPTIONS = ("certify", "correct", "compare", "sweep", "walk", "explore")


def propose(task: Task, state: State, rng: np.random.Generator, queries: float) -> Proposal:
    """Ask the LMO about g and about draws of the belief (Thompson sampling), one for every four queries that were spent.

    A draw whose vertex is not active promises δ²/2h, or δ − h/2 where δ ≥ h, δ its advantage over the best active atom and h the
    curvature along the whole way to lmo(g). What lmo(g) promises is cleared of the winner's curse: the mean advantage that vertices of draws have over
    g itself, times √2 because the noise of a draw comes on top of that of g. The gap is the mean over the draws of
    ⟨g̃, x − lmo(g̃)⟩, an overestimate in expectation since a maximum of means is less than the mean of maxima; by how much is
    part of its error. A gradient that was measured is not drawn from: Frank-Wolfe steps towards argmin ⟨g, z⟩ + ½L‖z − x‖² name
    further atoms.
    """
    mean, deviation = state.belief.g, math.sqrt(state.belief.variance)
    exact, calls = state.swept > 0, int(min(DRAWS, max(2, queries / QUERIES_PER_CALL)))
    draws = [mean] if exact else [mean + deviation * rng.standard_normal(task.dim) for _ in range(calls)]
    first = task.lmo(mean)
    length = float(np.linalg.norm(first.dense() - state.x))
    seen = Drawn.of(task, state, draws, first, state.model.unit * length**2)
    often = seen.candidates(state, first)
    further: list[Candidate] = []
    if exact and state.model.unit > 0:
        moves, there = Moves(state.x), seen.active | {c.atom.key() for c in often}
        moves.slide(task, mean, state.model.unit, calls)
        further = [Candidate(a, won) for key, (a, won) in moves.visited.items() if key not in there]
    gap, own = float(np.mean(seen.gaps)), float(state.x @ mean) - first.dot(mean)
    apart = float(np.std(seen.gaps) + abs(gap - own)) + state.belief.strayed * state.values.size
    scattered = bool(np.count_nonzero(first.dense()) > 1 and seen.agreed < len(draws) / 2)
    error = 2 * deviation * length if exact else apart
    return Proposal(tuple(often), tuple(further), seen.knowing, gap, error, scattered)


@dataclass
class Drawn:
    """What the LMO says of draws of the belief: vertices that are not active, how often and with what promise, and gaps."""

    D: Matrix  # active atoms
    bend: float  # curvature along the whole way to the first vertex
    active: set[bytes]
    found: dict[bytes, tuple[Atom, int, float]] = field(default_factory=dict)
    gaps: list[float] = field(default_factory=list)
    optimism: list[float] = field(default_factory=list)
    knowing: float = 0.0
    agreed: int = 0

    @classmethod
    def of(cls, task: Task, state: State, draws: list[Array], first: Atom, bend: float) -> Drawn:
        """Ask the LMO about every draw; about the mean it has been asked."""
        active, o, mean = {atom.key() for atom in state.model.atoms}, state.origin, state.belief.g
        seen, vertex = cls(offsets(state.model.atoms, o), bend, active), first
        for g in draws:
            vertex = first if g is mean else task.lmo(g, vertex)
            slope, along = vertex.dot(g) - float(o @ g), seen.D.T @ g
            ahead = float(along.min()) - slope
            seen.gaps.append(float((state.x - o) @ g) - slope)
            seen.optimism.append(vertex.dot(mean) - vertex.dot(g) + float(o @ (g - mean)))
            seen.agreed += vertex.key() == first.key()
            if vertex.key() not in active and ahead > 0:
                _, times, most = seen.found.get(vertex.key(), (vertex, 0, 0.0))
                seen.found[vertex.key()] = (vertex, times + 1, max(most, gain(ahead, bend)))
                seen.knowing += gain(ahead, bend) / len(draws)
        return seen

    def candidates(self, state: State, first: Atom) -> list[Candidate]:
        """Return the vertex of the mean, its promise cleared of the winner's curse, and those that several draws have."""
        mean, o, others = state.belief.g, state.origin, {**self.found}
        ahead = float((self.D.T @ mean).min()) - first.dot(mean) + float(o @ mean)
        others.pop(first.key(), None)
        often = [
            Candidate(a, most * times / len(self.gaps)) for a, times, most in others.values() if times >= 2
        ]
        often.sort(key=lambda c: -c.promise)
        if first.key() not in self.active and (ahead > 0 or not state.model.tried):
            honest = max(ahead - math.sqrt(2) * max(float(np.mean(self.optimism)), 0.0), 0.0)
            often.insert(0, Candidate(first, gain(honest, self.bend)))
        return often[: max(2, len(state.model.atoms))]


def choose(task: Task, state: State, first: float) -> Choice:
    """The first option that is due, or else the one worth most per query."""
    if spent(task):
        raise OutOfBudget
    options = offered(task, state, first)
    due = next((option for option in options if option.due), None)
    best = due or max(reversed(options), key=lambda option: option.worth / in_rounds(task, option.price))
    moved = state.start is not None and not np.array_equal(state.x, state.start)
    first = moved and best.batch == task.n and not state.values.random
    price = task.n * (2 if state.whole is None else 1)
    return Choice("compare", price) if first and price <= task.remaining else best


def in_rounds(task: Task, price: float) -> float:
    """Return a price in evaluations that the workers could make in its rounds, with a weight for those that they make."""
    if task.workers == 1:
        return price
    return math.ceil(price / task.workers) * task.workers + WEIGHT * price


def begins_with_sweep(task: Task) -> bool:
    """Where components are few, or their supports small, and a sweep takes at most an eighth of the budget."""
    return task.sweep_cost <= min(FEW * (task.dim + 1), (task.budget or math.inf) / 8)


def offered(task: Task, state: State, first: float) -> list[Choice]:
    """The options that the budget pays, in the order of the table."""
    proposal = state.proposal
    if proposal is None:
        return [first_look(task, state, first)]
    knowing, correcting = 0.0 if state.swept else proposal.knowing, correction(task, state, proposal)
    untried = not state.model.tried and bool(correcting.candidates)
    hope = max(knowing, correcting.worth)
    due = untried and hope <= state.values.unseen
    options = [replace(correcting, due=due)] if correcting.worth > 0 or untried else []
    if not state.values.random:
        options = [certifying(task, state, proposal, hope, untried), *options]
        options += [] if state.swept else [Choice("sweep", task.sweep_cost, knowing)]
    return [*(o for o in options if o.price <= task.remaining), learning(task, state, proposal, knowing)]


def first_look(task: Task, state: State, first: float) -> Choice:
    """Before anything is known: a sweep of few components, or exploring."""
    if begins_with_sweep(task) and not state.values.random:
        return Choice("sweep", task.sweep_cost)
    return Choice("explore", min(first, task.remaining))


def certifying(task: Task, state: State, proposal: Proposal, hope: float, untried: bool) -> Choice:
    """A certificate, due where no decrease is in sight that values show, or, at first, none that a gap of the tolerance would bring."""
    enough = goal(task, state)
    hidden = 2 * proposal.gap_error if state.swept else 0.0  # what one-sided slopes cannot tell
    near = hope <= gain(enough, state.bend) or proposal.gap - hidden <= enough
    due = hope <= state.values.unseen or (near and state.certificate is None)
    return Choice("certify", certificate_price(task, state), due=due and not untried)


def learning(task: Task, state: State, proposal: Proposal, knowing: float) -> Choice:
    """Exploring, or a walk where directions are many and it may promise a decrease."""
    left, line = task.remaining, LINE * (batch := wanted(task, state))
    walking = proposal.scattered and task.dim >= MANY
    held = state.walker or state.belief if walking else state.belief
    least = max(LEAST_EXPLORATION, float(task.workers))
    asked = max(state.sketches.unit_cost / 2 / max(held.variance, TINY), least)
    early = state.model.batch < task.n or task.paid < task.sweep_cost
    brought = math.inf if early else TRUST * state.model.decrease
    if walking and brought > 0 and left >= line + LEAST_EXPLORATION:
        cost = min(max(asked, line), max(task.paid / 2, line), left - line)
        return Choice("walk", cost, min(knowing, brought), batch=batch)
    return Choice("explore", min(asked, left), knowing / 3)


def wanted(task: Task, state: State) -> int:
    """The batch of the next correction: twice the last where its decrease was less than four times its noise, and all from n/2 on."""
    model = state.model
    size = model.batch if model.decrease >= PROGRESS * model.noise else 2 * model.batch
    size = max(size, ANSWERING) if task.failed else size
    return task.n if size >= task.n / 2 and not state.values.random else size


def price(task: Task, state: State, candidates: int, m: float) -> int:
    """Of a correction with so many candidates on a batch of m."""
    return Plan(task, state, len(state.model.atoms) + candidates, int(m)).price


def correction(task: Task, state: State, proposal: Proposal) -> Choice:
    """A correction with the candidates, and further ones while promise per query grows, on the batch that it wants.

    It promises a quarter of what the last one brought beyond its noise, what the larger batch saves of that, and what its
    candidates do.
    """
    model, most = state.model, wanted(task, state)
    now, then = (state.left_out(task, size) / size for size in (model.batch, most))
    saved = max(model.noise - (model.noise * then / now if now > 0 else 0.0), 0.0)
    bound = state.certificate
    shown = 0.0 if bound is None else gain(max(bound.gap - bound.error, 0.0), state.bend)
    again = 0.25 * max(model.decrease - model.noise, 0.0)
    if len(model.atoms) == 1:  # nothing to solve again
        again = min(again, proposal.knowing)
    promise = saved + again + max(proposal.promise, shown)
    candidates = proposal.candidates
    batch, cost = affordable(task, state, len(candidates), most)
    for candidate in proposal.further:
        size, more = affordable(task, state, len(candidates) + 1, most)
        if (promise + candidate.promise) * cost < promise * more:
            break
        candidates, promise, batch, cost = (*candidates, candidate), promise + candidate.promise, size, more
    if batch == task.n and model.vain:
        while candidates and named(candidates) in model.vain:
            candidates = candidates[:-1]
        best = max((c.promise for c in candidates), default=0.0)
        promise = 0.0 if named(candidates) in model.vain else saved + again + max(best, shown)
        batch, cost = affordable(task, state, len(candidates), most)
    if len(model.atoms) + len(candidates) == 1 and np.array_equal(model.atoms[0].dense(), state.origin):
        promise = 0.0  # nothing to measure
    return Choice("correct", cost, promise / 4.0**model.disappointed, candidates, batch)


def affordable(task: Task, state: State, candidates: int, m: int) -> tuple[int, float]:
    """The batch of m, or the largest that the budget pays, and its price; 0 where it pays none.

    None is smaller than the last, which would undo its gain.
    """
    least = state.model.batch if state.model.spread > 0 else 1
    while m >= least and (cost := price(task, state, candidates, m)) > task.remaining:
        m = (task.n - 1) // 2 if m == task.n and not state.values.random else int(0.95 * m)
    return (m, cost) if m >= least else (0, math.inf)
