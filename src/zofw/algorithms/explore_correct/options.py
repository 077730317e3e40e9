"""The options of Explore-Correct, in order, each with its price, what it is worth, and when it is due."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from zofw.algorithms.explore_correct.correct import PROGRESS, price
from zofw.algorithms.explore_correct.endings import spent, tolerance
from zofw.algorithms.explore_correct.explore import certificate_price, is_exact
from zofw.algorithms.explore_correct.state import Candidate, Proposal, State, Values
from zofw.algorithms.explore_correct.walk import PRICE
from zofw.core import OutOfBudget, Task

LEAST_EXPLORATION = 50.0  # queries
MOST_CORRECTIONS = 2  # without a candidate before g, which they have moved, is looked at again
COARSEST = 8  # times that radii grow fourfold


@dataclass(frozen=True)
class Option:
    """A line of the table that docs/methods/explore-correct.md shows."""

    name: str
    price: str
    worth: str
    due: str


OPTIONS = (
    Option("certify", "n(2d + 9), Σ(2|support_i| + 9)", "the end of the run", "no decrease is in sight, or the gap is believed to be below the tolerance"),
    Option("line", "3|S|", "a step that is checked", "x was walked, for at least twice its price"),
    Option(
        "correct",
        "|S|(k + 2), and as much for curvatures that are wanting",
        "what its candidates promise, and what a larger batch saves of its noise",
        "explored for twice its price since the last",
    ),
    Option("sweep", "n(d + 1), Σ(|support_i| + 1)", "all that knowing ∇f would bring", "never"),
    Option("walk", "half of what its belief has cost, or of all that was paid", "as exploring", "in place of exploring, from 64 dimensions on, where draws do not agree on a vertex"),
    Option("explore", "half of what g has cost", "a third of what knowing ∇f would bring", "two corrections had no candidate"),
)  # fmt: skip


@dataclass(frozen=True)
class Choice:
    """An option with what it takes."""

    name: str
    price: float
    worth: float
    coarser: int
    candidates: tuple[Candidate, ...] = ()
    batch: int = 0


def choose(task: Task, state: State, values: Values, first: float) -> Choice:
    """The first option that is due, or else the one worth most per query."""
    left, whole, proposal, coarser = task.remaining, task.sweep_cost, state.proposal, values.coarser
    if spent(task):
        raise OutOfBudget
    if proposal is None:
        trial = price(task, state, values, 1, state.model.batch)
        if state.first is not None and 8 * trial <= left:
            return Choice("correct", trial, state.first.promise, 0, (state.first,), state.model.batch)
        cheap = whole <= min(8 * (task.dim + 1), left / 2) and not values.random
        return Choice("sweep", whole, 0.0, 0) if cheap else Choice("explore", min(first, left), 0.0, 0)
    held = state.sketches.unit_cost / max(state.belief.variance, 1e-300)  # the price of what g knows
    exploring = min(max(held / 2, LEAST_EXPLORATION), left)
    knowing = proposal.improvement  # half as much again removes a third of it
    candidates, own, batch = proposal.candidates, *_own(task, state, proposal)
    wanted, promise = batch, proposal.promise
    batch = _affordable(task, state, values, len(candidates), wanted)
    cost = float(price(task, state, values, len(candidates), batch)) if batch else math.inf
    for candidate in proposal.further:
        size = _affordable(task, state, values, len(candidates) + 1, wanted)
        more = price(task, state, values, len(candidates) + 1, size) if size else math.inf
        if (own + promise + candidate.promise) * cost < (own + promise) * more:
            break
        candidates, promise, batch, cost = (*candidates, candidate), promise + candidate.promise, size, more
    worth = (own + promise) / 4.0**state.model.refused
    correcting = Choice("correct", cost, worth, coarser, candidates, batch)
    quiet = max(knowing, worth) <= values.unseen and not values.random

    sure = certificate_price(task)
    enough = tolerance(task, state, values) if task.gap_tol is None else task.gap_tol
    believed = proposal.gap + 2 * proposal.gap_error <= enough
    if (
        (quiet or (believed and not values.random))
        and state.certificate is None
        and sure <= left
        and state.certified <= task.paid / 3
    ):
        return Choice("certify", sure, math.inf, coarser)
    if quiet:
        return _look(task, state, coarser, exploring)
    walking, check = state.walk.ready and proposal.scattered, PRICE * state.walk.batch
    ending = state.walk.trail is not None and left < check + LEAST_EXPLORATION
    if walking and check <= left and (2 * check <= state.sketches.since or ending):
        return Choice("line", check, 0.0, coarser)
    swept = values.random or whole > left or is_exact(state)
    if state.model.corrections >= MOST_CORRECTIONS and not candidates and knowing > values.unseen:
        if not swept and whole <= cost:
            return Choice("sweep", whole, knowing, coarser)
        return Choice("explore", min(exploring, cost), knowing / 3, coarser)
    learning = exploring if swept else min(exploring, whole)
    last = left < learning + price(task, state, values, len(candidates), state.model.batch)
    if batch and ((last and not walking) or (candidates and 2 * cost <= state.sketches.since)):
        return correcting
    options = [correcting] * (batch > 0) + [Choice("sweep", whole, knowing, coarser)] * (not swept)
    best = max(
        [*options, Choice("explore", exploring, knowing / 3, coarser)], key=lambda o: o.worth / o.price
    )
    if best.name == "explore" and not values.random and exploring >= sure:
        return _look(task, state, coarser, exploring)
    if best.name == "explore" and walking and state.walk.L > 0 and left >= check + LEAST_EXPLORATION:
        held = state.sketches.unit_cost / max(state.walk.belief.variance, 1e-300)
        price_of_walk = min(max(held / 2, LEAST_EXPLORATION), task.paid / 2, left - check)
        return replace(best, name="walk", price=price_of_walk)
    return best


def _look(task: Task, state: State, coarser: int, exploring: float) -> Choice:
    """At x again: two-sided and all components where that was not done yet, or else from further away."""
    sure, whole, left = certificate_price(task), task.sweep_cost, task.remaining
    if state.certificate is None:
        return (
            Choice("certify", sure, 0.0, coarser)
            if sure <= left
            else Choice("explore", exploring, 0.0, coarser)
        )
    coarser = min(coarser + 1, COARSEST)
    return Choice("sweep", whole, 0.0, coarser) if whole <= left else Choice("explore", left, 0.0, coarser)


def _own(task: Task, state: State, proposal: Proposal) -> tuple[float, float]:
    """What a correction promises without candidates, and the batch that it wants."""
    model, limit = state.model, math.inf if state.random else task.n
    batch = model.batch if model.decrease >= PROGRESS * model.noise else min(limit, 2 * model.batch)
    now, then = (state.left_out(task, size) / size for size in (model.batch, batch))
    saved = max(model.noise - (model.noise * then / now if now > 0 else 0.0), 0.0)
    return max(saved + 0.25 * max(model.decrease - model.noise, 0.0), proposal.weights), batch


def _affordable(task: Task, state: State, values: Values, candidates: int, wanted: float) -> int:
    """The batch that is wanted, stretched where the rest of the budget would pay no second one; 0 where none can be paid.

    None is smaller than the last, which would undo its gain.
    """
    least, left = state.model.batch if state.model.spread > 0 else 1, task.remaining
    cost = price(task, state, values, candidates, int(wanted))
    if cost > left or 2 * cost > left:
        wanted = max(1, int(wanted * left / cost))
    if not state.random and wanted >= task.n / 2:  # State.sample takes all from there on
        whole = price(task, state, values, candidates, task.n) <= left
        wanted = task.n if whole else min(wanted, math.ceil(task.n / 2) - 1)
    while wanted >= least and price(task, state, values, candidates, int(wanted)) > left:
        wanted = int(0.95 * wanted)
    return int(wanted) if wanted >= least else 0


__all__ = ["OPTIONS", "Choice", "choose"]
