"""SWEEP and CERTIFY: the gradient along every coordinate, a bound of the gap, and how a run may end by itself."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from zofw.algorithms.explore_correct.state import Action, Belief, State
from zofw.algorithms.model import certificate
from zofw.algorithms.model.certificate import Evidence
from zofw.core import Ending, Task

SHARE = 0.5  # of what was paid, without progress, makes a stall


def _evidence(state: State) -> Evidence:
    return Evidence(
        state.x, state.belief.g, state.values, state.value, state.swept, certificate=state.certificate
    )


def _taken_in(state: State, found: Evidence) -> State:
    """Return the state with new evidence; after a sweep the belief is the swept gradient with its error."""
    belief, walker, sketches = state.belief, state.walker, state.sketches
    if math.isfinite(found.error):
        belief, walker = Belief(found.g, found.error**2), None
        if not math.isfinite(sketches.unit_cost):
            sketches = replace(sketches, unit_cost=float(found.g @ found.g) * sketches.batch)
    return replace(
        state,
        belief=belief,
        walker=walker,
        sketches=sketches,
        values=found.values,
        value=found.value,
        swept=found.swept,
        certificate=found.certificate,
    )


def sweep(task: Task, state: State) -> Action:
    """Measure the whole coordinate gradient: n(d + 1) queries, or Σ(|support_i| + 1)."""
    found = yield from certificate.sweep(task, _evidence(state), state.model.unit)
    return _taken_in(state, found)


def certify(task: Task, state: State, rng: np.random.Generator) -> Action:
    """Bound the gap at x, starting from the belief."""
    found = yield from certificate.certify(task, _evidence(state), rng, state.model.unit)
    if found.values.coarser > state.values.coarser:
        state = replace(state, model=replace(state.model, vain=()))
    return replace(_taken_in(state, found), whole=found.value)


def certificate_price(task: Task, state: State) -> int:
    """Return the most that a certificate at x costs before its second sweep."""
    return certificate.certificate_price(task, bool(state.swept and state.certificate is None))


def goal(task: Task, state: State) -> float:
    """Return the bound that certifies x."""
    return certificate.goal(task, state.values, state.value)


def converged(task: Task, state: State) -> Ending | None:
    """End the run if the certificate of x lies below what values can show, and all components have answered."""
    if task.failed and task.n > 1:
        return None
    return certificate.converged(task, state.certificate, state.values, state.value)


def spent(task: Task) -> bool:
    """Return True if the rest of the budget buys nothing: less than one part in a hundred, and fewer than fifty queries."""
    return task.budget is not None and task.remaining < max(2, min(50, task.budget / 100))


def stalled(task: Task, state: State) -> Ending | None:
    """End the run if no decrease was seen for half of what was paid, and the budget is spent or as much again would be."""
    bound, proposal, values = state.certificate, state.proposal, state.values
    gain = math.inf if proposal is None else max(proposal.knowing, proposal.promise)
    in_sight = proposal is None or (gain > values.unseen and not values.random)
    if (task.budget is not None and not spent(task)) or in_sight or state.progress > (1 - SHARE) * task.paid:
        return None
    if values.random:
        limit = f"noise: the same point gives values that differ by about {values.noise:.1g}"
    elif bound is None:
        limit = f"unseen components: to certify x takes {certificate_price(task, state):,} queries"
    elif bound.kink > bound.slope_error:
        limit = f"a kink at x: slopes of two sides differ, which leaves the gap uncertain by {bound.kink:.2g}"
    else:
        limit = f"noise of the values, about {values.noise:.1g}, leaves the gap uncertain by {bound.slope_error:.2g}"
    idle = task.paid - state.progress
    return Ending(False, f"No decrease was seen for {idle:,} queries. What limits: {limit}.")
