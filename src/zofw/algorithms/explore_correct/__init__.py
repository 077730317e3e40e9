r"""Explore-Correct: the default method. Learn the gradient cheaply, find atoms with it, and correct exactly on those.

    x = Σ_j w_j a_j over few active atoms; belief ∇f(x) ~ N(g, s²I)
    PROBE: a difference table measures the noise of the values and sets the radii     (:mod:`.explore`)
    repeat the first option that is due, or else the one worth most per query         (:mod:`.options`)
        CERTIFY   g tested along random directions, all components: a bound of the gap (:mod:`.certify`)
        CORRECT   slopes and curvatures along the active atoms and the candidates
                  that the LMO proposes from g, on a batch S; the weights go to the
                  minimiser of that quadratic model                                   (:mod:`.correct`)
        COMPARE   x with the start, before all components are asked and at the end     (:mod:`.compare`)
        SWEEP     the whole coordinate gradient                                       (:mod:`.certify`)
        WALK      sketches on the move, kept where values show a decrease,
                  and a correction on two atoms                                       (:mod:`.walk`)
        EXPLORE   Rademacher sketches of a small batch, filtered into g               (:mod:`.explore`)

The error of a correction grows with the number of atoms, not with d; exploration only has to point the LMO at the right
atom. A run is CONVERGED only by a certificate at the point it returns.

With |S| = n and a sweep, an iteration is fully corrective Frank-Wolfe with a safeguarded step, hence O(1/t) in such
iterations for convex f; the allocation between the actions is heuristic.

References
----------
S. Lacoste-Julien, M. Jaggi, On the global linear convergence of Frank-Wolfe optimization variants, NeurIPS 2015.
G. Braun, S. Pokutta, D. Tu, S. Wright, Blended conditional gradients, ICML 2019.
J. J. Moré, S. M. Wild, Estimating computational noise, SIAM Journal on Scientific Computing, 2011.
G. Lan, Y. Zhou, Conditional gradient sliding for convex optimization, SIAM Journal on Optimization, 2016.
R. E. Kalman, A new approach to linear filtering and prediction problems, 1960.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from zofw.algorithms import settings
from zofw.algorithms.explore_correct.certify import certify, converged, stalled, sweep
from zofw.algorithms.explore_correct.compare import compare, size_at_end
from zofw.algorithms.explore_correct.correct import correct
from zofw.algorithms.explore_correct.explore import LEAST, explore
from zofw.algorithms.explore_correct.options import FEW, OPTIONS, begins_with_sweep, choose, propose
from zofw.algorithms.explore_correct.state import Action, Belief, Model, Sketches, State
from zofw.algorithms.explore_correct.walk import walk
from zofw.algorithms.method import Facts, Method, methods
from zofw.algorithms.model.noise import Values, probe
from zofw.algorithms.model.view import in_units, out_of_units, sharing, units
from zofw.atoms import Dense
from zofw.core import Array, Info, OutOfBudget, Step, Task


@methods.register("explore-correct")
@dataclass(frozen=True)
class ExploreCorrect(Method):
    """Settings of Explore-Correct; none has to be tuned.

    Queries: adaptive. EXPLORE and WALK |S|(b + 1) a sketch, and up to about 9|S| at the end of a walk; SWEEP n(d + 1), CERTIFY 5n to
    n(2d + 12), CORRECT at most about 2|S|(k + 2) for k atoms. 2 to 17 LMO calls an iteration, up to 640 more in a
    walk. Memory: k ≤ 64 atoms, dense or sparse as the set gives them.

    Parameters
    ----------
    first_batch
        |S| of the first correction; 8 by default, or all n where they are at most 8, or at most 40 and the run begins with a sweep.
    first_exploration
        Queries of the first exploration; 2(d + 1), at most 500 and at most a fiftieth of the budget, by default.
    """

    first_batch: settings.Count = settings.auto(
        "8 components, or all n after a sweep of few; it doubles where they differ too much",
        lambda task, own: min(task.n, task.n if task.n <= FEW and begins_with_sweep(task) else 8),
    )
    first_exploration: settings.Count = settings.auto(
        "2(d + 1) queries, at most 500 and a fiftieth of the budget",
        lambda task, own: max(1, int(min(2 * (task.dim + 1), 500, (task.budget or math.inf) / 50))),
    )

    members_only: ClassVar[bool] = True
    facts = Facts(queries="adaptive", lmo=("0", "658"))

    def init(self, task: Task, x0: Array) -> State:
        if (s := units(task)) is not None:
            return replace(self.init(in_units(task, s), x0 / s), x=x0, start=x0)
        few, batch, none = 4 if task.n > 8 else task.n, min(task.n, self.first_batch), np.zeros((1, 1))
        model = Model((Dense(x0),), np.ones(1), none, none, batch)
        return State(0, x0, x0, Belief(np.zeros(task.dim), math.inf), Sketches(few), model, start=x0)

    def continued(self, task: Task, x: Array, values: Values, value: float = 0.0) -> State:
        """Return the state of a run that goes on at x and knows the noise of its values."""
        start = self.init(task, x)
        batch = max(start.model.batch, LEAST) if values.random else start.model.batch
        return replace(start, values=values, value=value, model=replace(start.model, batch=batch))

    def step(self, task: Task, state: State, rng: np.random.Generator) -> Step:
        if (s := units(task)) is None:
            return (yield from self._to_the_end(task, state, rng))
        view, start = in_units(task, s), state.start
        inner = replace(state, x=state.x / s, start=None if start is None else start / s)
        step = self._to_the_end(view, inner, rng)
        state, info = yield from sharing(task, view, step, lambda query: out_of_units(query, s))
        return replace(state, x=state.x * s, start=None if state.start is None else start), info

    def _to_the_end(self, task: Task, state: State, rng: np.random.Generator) -> Step:
        """Run a step on what a comparison with the start leaves of the budget; compare where nothing is left, or the run would end."""
        size = size_at_end(task, state)
        if size == 0:
            return (yield from self._step(task, state, rng))
        view = replace(task, budget=(task.budget or 0) - 2 * size)
        try:
            state, info = yield from sharing(task, view, self._step(view, state, rng))
            if state.start is None or info.ending is None:
                return state, info
        except OutOfBudget:
            info = Info()
        before = task.paid
        there = yield from compare(task, state, rng, size)
        there = tallied(replace(there, t=state.t + 1), "compare", task.paid - before)
        if there.x is state.x:
            return there, replace(self._said(there), ending=info.ending)
        there = replace(there, proposal=propose(task, there, rng, 0))
        return there, self._said(there)

    def _step(self, task: Task, state: State, rng: np.random.Generator) -> Step:
        before = task.paid
        if math.isinf(state.values.noise):
            values, value = yield from probe(task, state.x, rng)
            return replace(self.continued(task, state.x, values, value), t=state.t + 1), Info(bound=math.inf)
        choice, state = choose(task, state, self.first_exploration), replace(state, brought=0.0)
        actions: dict[str, Action] = {
            "certify": certify(task, state, rng),
            "correct": correct(task, state, rng, choice),
            "sweep": sweep(task, state),
            "walk": walk(task, state, rng, choice),
            "explore": explore(task, state, rng, choice),
            "compare": compare(task, state, rng, task.n),
        }
        state = yield from actions[choice.name]
        values, spent = state.values, task.paid - before
        proposal = propose(task, state, rng, spent) if math.isfinite(state.belief.variance) else None
        seen = state.brought > (0.0 if values.random else values.unseen)
        state = replace(
            state,
            t=state.t + 1,
            values=replace(
                values, range=max(values.range, state.brought), gained=values.gained + state.brought
            ),
            proposal=proposal,
            progress=task.paid if seen else state.progress,
        )
        state = tallied(state, choice.name, spent, choice.worth, state.brought)
        return state, replace(self._said(state), ending=converged(task, state) or stalled(task, state))

    @staticmethod
    def _said(state: State) -> Info:
        numbers = {"atoms": len(state.model.atoms), "batch": state.model.batch} | columns(state)
        if (bound := state.certificate) is not None:
            return Info(bound.gap, bound.error, bound.bound, numbers=numbers)
        gap, error = (None, None) if (known := state.proposal) is None else (known.gap, known.gap_error)
        return Info(gap, error, math.inf, numbers=numbers)


def tallied(state: State, action: str, *numbers: float) -> State:
    """Return the state with an action on its books: queries, and the decrease promised and brought."""
    told = state.tallies.get(action, np.zeros(4)) + [1, *numbers, *[0] * (3 - len(numbers))]
    return replace(state, tallies=state.tallies | {action: told})


def columns(state: State) -> dict[str, float]:
    """What every kind of action has had and brought so far, for the trace and the story."""
    names = ("times", "queries", "promised", "brought")
    told = [(act, *pair) for act, tally in state.tallies.items() for pair in zip(names, tally, strict=True)]
    return {f"{act} {name}": float(number) for act, name, number in told}


__all__ = ["OPTIONS", "ExploreCorrect", "State"]
