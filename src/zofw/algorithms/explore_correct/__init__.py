r"""Explore-Correct: the default method. Learn the gradient cheaply, find atoms with it, and correct exactly on those.

    x = Σ_j w_j a_j over few active atoms; belief ∇f(x) ~ N(g, s²I) plus measured slopes
    repeat whichever action promises the greatest decrease per query:
        EXPLORE   Rademacher sketches of a small batch, filtered into g            (:mod:`.explore`)
        WALK      the same on the move, where the set has too many vertices to try
                  them one by one; a LINE of three values checks how far           (:mod:`.walk`)
        SWEEP     the whole coordinate gradient, n(d + 1) queries                  (:mod:`.explore`)
        CORRECT   slopes and curvatures along the active atoms and the candidates
                  that the LMO proposes from g, on a batch S; the weights go to the
                  minimiser of that quadratic model; |S| doubles when sampling is
                  what limits the decrease, up to all n                            (:mod:`.correct`)

The error of a correction grows with the number of atoms, not with d; exploration only has to point the LMO at the right
atom. A difference table measures the noise of the values first and sets the radii (:mod:`.noise`).

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
from zofw.algorithms.explore_correct.belief import Belief
from zofw.algorithms.explore_correct.correct import correct, may_be_quick, price, screen
from zofw.algorithms.explore_correct.explore import explore, is_exact, propose, sweep
from zofw.algorithms.explore_correct.noise import probe
from zofw.algorithms.explore_correct.state import PROGRESS, Action, Proposal, Radii, State
from zofw.algorithms.explore_correct.walk import PRICE, line, walk
from zofw.algorithms.facts import Facts
from zofw.algorithms.registry import methods
from zofw.algorithms.settings import AUTO
from zofw.atoms import Dense
from zofw.core import Array, Ending, Info, OutOfBudget, Step, Task

LEAST_EXPLORATION = 50.0  # queries
MOST_TRUST = 2  # corrections without a candidate before g, which they have moved, is looked at again
MOST_IDLE = 3  # iterations in a row that found nothing worth asking


@methods.register("explore-correct")
@dataclass(frozen=True)
class ExploreCorrect:
    """Settings of Explore-Correct; none has to be tuned.

    Queries: adaptive. EXPLORE and WALK |S|(b + 1) a sketch, LINE 3|S|, SWEEP n(d + 1), CORRECT about 2|S|(k + 2) for k
    atoms. 17 LMO calls an iteration, up to 160 more in a walk. Memory: k ≤ 64 active and at most 128 remembered atoms, dense or sparse as the set gives them.

    Parameters
    ----------
    first_batch
        |S| of the first correction; 32, or n, by default.
    first_exploration
        Queries of the first exploration; 4(d + 1), or a fiftieth of the budget, by default.
    """

    first_batch: int = AUTO
    first_exploration: int = AUTO

    name: ClassVar[str] = "explore-correct"
    facts: ClassVar[Facts] = Facts(
        use="the default; nothing to tune",
        queries="9 if t == 0 else adaptive",
        lmo=("0", "178"),
        vectors="k + 134",
        convex="$O(1/t)$ in its exact iterations; else none",
        answers=("default",),
    )

    def resolve(self, task: Task) -> tuple[ExploreCorrect, dict[str, str]]:
        d, share = task.dim, "" if task.budget is None else ", or a fiftieth of the budget if that is less"
        queries = min(4 * (d + 1), (task.budget or math.inf) / 50)
        return settings.fill(
            self,
            first_batch=(min(task.n, 32), "32 components, or all n: enough to see how far they differ"),
            first_exploration=(max(1, int(queries)), f"4(d + 1) queries, d = {d}{share}"),
        )

    def check(self, task: Task) -> None:
        settings.whole("first_batch", self.first_batch)
        settings.whole("first_exploration", self.first_exploration)

    def init(self, task: Task, x0: Array) -> State:
        belief = Belief(np.zeros(task.dim), math.inf, x0)
        batch, few = min(task.n, self.first_batch), min(task.n, 4)
        return State(0, x0, (Dense(x0),), np.ones(1), belief, batch=batch, sketch_batch=few, line_batch=few)

    def step(self, task: Task, state: State, rng: np.random.Generator) -> Step:
        if state.finished:
            raise OutOfBudget
        radii, proposal, before = state.radii, state.proposal, state.used
        if radii is None:
            state = yield from probe(task, state, rng)
            return replace(state, t=state.t + 1), Info()
        if proposal is None:
            state = yield from self._begin(task, state, radii, rng)
        else:
            state = yield from self._act(task, state, radii, rng, proposal)
        last, proposal = proposal, propose(task, state, rng)
        bound = proposal.bound if last is None or is_exact(state) else max(last.bound, proposal.bound)
        idle = state.idle + 1 if state.used == before else 0
        done = self._nothing_left(state, proposal) or idle == MOST_IDLE
        info = Info(
            proposal.gap,
            proposal.gap_error,
            bound,
            ending=Ending(True, "Values show nothing more to gain: what is left is below rounding.")
            if done
            else None,
            numbers={"atoms": len(state.atoms), "batch": state.batch},
        )
        return replace(state, t=state.t + 1, proposal=proposal, idle=idle), info

    def _begin(self, task: Task, state: State, radii: Radii, rng: np.random.Generator) -> Action:
        whole, left = task.n * (task.dim + 1), state.remaining(task)
        if whole <= 2 * min(4 * (task.dim + 1), left / 8) and not radii.noisy:
            return (yield from sweep(task, state, radii))
        return (yield from explore(task, state, radii, rng, min(self.first_exploration, left)))

    @staticmethod
    def _nothing_left(state: State, proposal: Proposal) -> bool:
        """A swept gradient, a whole model, and no decrease in sight that values could show."""
        quiet = max(proposal.improvement, proposal.promise, state.decrease / 4, state.noise) <= state.unseen
        return quiet and not state.noisy and state.quicks == 0 and is_exact(state)

    def _act(
        self, task: Task, state: State, radii: Radii, rng: np.random.Generator, proposal: Proposal
    ) -> Action:
        """Whichever action promises most per query."""
        left, whole = state.remaining(task), task.n * (task.dim + 1)
        held = state.unit_cost / max(state.belief.variance, 1e-300)  # the price of what g knows
        exploration = max(
            held / 2, LEAST_EXPLORATION
        )  # half as much again removes a third of the improvement
        per_explore = proposal.improvement / 3 / exploration
        pointless = (
            radii.noisy or whole > left or is_exact(state)
        )  # a second sweep at one point shows nothing new
        per_sweep = 0.0 if pointless else proposal.improvement / whole
        candidates, promise = proposal.candidates, proposal.promise
        limit = math.inf if radii.noisy else task.n
        batch = state.batch if state.decrease > PROGRESS * state.noise else min(limit, 2 * state.batch)
        own = self._gain_of_batch(task, state, batch) + 0.25 * max(state.decrease - state.noise, 0.0)
        own = max(own, proposal.rebalance)
        gain = own + promise
        quick = may_be_quick(state, candidates) and own < gain / 2
        batch = state.batch if quick else batch
        cost = price(state, len(candidates), quick)
        per_correct = gain / (cost * batch)
        if max(proposal.improvement, gain) <= state.unseen and not radii.noisy:
            if state.quicks:
                return (yield from correct(task, state, radii, rng, (), False))
            if not pointless and 4 * max(held, state.searched) >= whole:
                return (yield from sweep(task, state, radii))
            return (yield from explore(task, state, radii, rng, min(exploration, left)))
        walking = state.walking and proposal.walkable
        check = PRICE * state.line_batch
        ending = state.trail is not None and left < check + LEAST_EXPLORATION
        if walking and check <= left and (check <= state.credit or ending):
            return (yield from line(task, state, radii, rng))
        closing = state.credit > 0 and cost * state.batch <= left < cost * state.batch + exploration
        on_credit = bool(candidates) and (closing or cost * state.batch <= state.credit)
        if state.trusting >= MOST_TRUST and not candidates and not is_exact(state):
            if not pointless and whole <= cost * batch:
                return (yield from sweep(task, state, radii))
            return (yield from explore(task, state, radii, rng, min(exploration, cost * batch, left)))
        if per_correct >= max(per_explore, per_sweep) or on_credit:
            size = batch if per_correct >= max(per_explore, per_sweep) else state.batch
            state = replace(state, batch=self._affordable(task, state, cost, size), credit=0.0)
            if candidates and own < gain / 2 and state.settled and not quick and not is_exact(state):
                state, candidates = yield from screen(task, state, radii, rng, candidates)
                if not candidates:
                    return state
            return (yield from correct(task, state, radii, rng, candidates, quick))
        if per_sweep >= per_explore:
            return (yield from sweep(task, state, radii))
        if walking and state.curvature > 0:
            if left < check + LEAST_EXPLORATION:  # a walk that nothing could check
                raise OutOfBudget
            return (yield from walk(task, state, radii, rng, min(self._walk_cost(state), left - check)))
        return (yield from explore(task, state, radii, rng, min(exploration, left)))

    @staticmethod
    def _walk_cost(state: State) -> float:
        """Half as much again as what the walk's belief knows has cost."""
        variance = state.walker.variance if state.walker is not None else 0.0
        return max(state.unit_cost / max(variance, 1e-300) / 2, LEAST_EXPLORATION)

    @staticmethod
    def _affordable(task: Task, state: State, cost: int, wanted: float) -> int:
        """The batch that is wanted, or the largest affordable; none smaller than the last, which would undo its gain."""
        most, half = state.remaining(task) / cost, task.n / 2
        if not state.noisy and wanted >= half:  # State.sample takes all from there on
            wanted = task.n if task.n <= most else math.ceil(half) - 1
        size = int(min(wanted, most))
        if size >= (state.batch if state.atom_spread > 0 else 1):
            return size
        raise OutOfBudget

    @staticmethod
    def _gain_of_batch(task: Task, state: State, batch: float) -> float:
        """What a larger batch would save of the sampling noise of the last correction."""
        now = state.left_out(task, state.batch) / state.batch
        then = state.left_out(task, batch) / batch
        return max(state.noise - (state.noise * then / now if now > 0 else 0.0), 0.0)
