r"""Interpolation: one function over any convex set, every value kept.

    r + 1 points, then one at a time; the model is the quadratic through up to 250 of them whose Hessian changes least
    repeat
        MODEL       s = argmin of the model over X within Δ, which asks nothing; a value there; Δ and ρ by its ratio;
                    a far point is replaced where its Lagrange polynomial is large; else ρ/10        (:mod:`.trust_region`)
        BUNDLE      where |H| grows like 1/Δ, the mark of a kink, a proximal bundle of differences    (:mod:`.kinks`)
        REGRESSION  where a value asked for twice differs, a fit to many values around the estimate (:mod:`.regression`)
    MODEL and BUNDLE take turns by the decrease that each has brought per value

Every point that it asks for is a member of the set. With n > 1 a value is that of the whole sum, n queries.

References
----------
M. J. D. Powell, The NEWUOA software for unconstrained optimization without derivatives, in Large-Scale Nonlinear Optimization, 2006.
T. M. Ragonneau, Z. Zhang, COBYQA, in Model-based derivative-free optimization methods and software, 2022.
A. R. Conn, K. Scheinberg, L. N. Vicente, Introduction to Derivative-Free Optimization, SIAM, 2009.
K. C. Kiwiel, Proximity control in bundle methods for convex nondifferentiable minimization, Math. Program. 46, 1990.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from zofw.algorithms.interpolation import arrivals, kinks, regression, rounds, trust_region, units, valleys
from zofw.algorithms.interpolation.certificate import CONFIDENCE, certify
from zofw.algorithms.interpolation.frame import Frame
from zofw.algorithms.interpolation.state import Action, State, ask, values_at
from zofw.algorithms.method import Facts, Method, methods
from zofw.algorithms.model.certificate import Certificate
from zofw.core import WORST, Answer, Array, Ending, Info, OutOfBudget, Purpose, Query, Step, Task

FIRST_SWEEPS = 20  # of the bundle
SWEEPS = 10
LAST_SWEEPS = 3  # of a bundle that is opened because the model has ended
SMOOTH_END = 1e-7  # of the diameter: a model that ends quietly at a larger radius has no kink
SCORES = 0.2  # different values for each point: fewer are those of a score, such as an error rate
FLAT = 15  # points for each variable that had the same value: the run ends
MOST_IDLE = 20  # times in a row that a regime asks for known points only
RADII = (1e-2, 1e-1, 1e-3)  # of the diameter, in turn: where the search goes on if nothing is certified
WIDER = (-2.0, -0.3)  # later radii are random powers of ten between these, along random axes


@methods.register("interpolation")
@dataclass(frozen=True)
class Interpolation(Method):
    """Settings of the interpolation method: there is nothing to tune.

    Queries: n for the first value, n·r for the first points, then n an iteration (n(r + 1) for a sweep of the bundle), r ≤ d
    the dimension of the set. LMO calls: none where the set lists its facets or is a Euclidean ball.
    """

    everywhere: ClassVar[bool] = True  # whether a function with many valleys is searched in more than one
    facts = Facts(queries="n if t == 0 else adaptive", lmo=("0", "inf"))

    def init(self, task: Task, x0: Array) -> State:
        points, values = (x0[None, :], np.zeros(1)) if task.known is None else task.known
        return State.begun(Frame.of(task, x0), points, values, informed=task.known is not None)

    def most(self, task: Task, state: State) -> float:
        """Queries of the coming iteration: a value, or a sweep; a certificate may begin again, and states none."""
        certifies = state.regime in ("certificate", "done") and state.bound is None
        if state.flat or state.certified is not None or certifies:
            return np.inf
        if task.points_at_once > 1:
            return task.n * (
                task.points_at_once * -(-(len(state.g) + 1) // task.points_at_once) + rounds.AGAIN
            )
        single = state.regime in ("model", "regression") and state.t > 1
        again = rounds.AGAIN if np.isnan(state.noise) and state.shrunk else int(state.noise > 0)
        return task.n * ((1 if single else len(state.g) + 1) + again)

    def step(self, task: Task, state: State, rng: np.random.Generator) -> Step:
        if state.certified is not None:
            return (yield from self._elsewhere(task, state, rng))
        return (yield from self._nearby(task, state, rng))

    def _elsewhere(self, task: Task, state: State, rng: np.random.Generator) -> Step:
        """One iteration of a search in another valley; the certificate of the best one stands when the budget ends."""
        frame, certified, search, held = state.frame(task), state.certified, state.search, state
        assert certified is not None
        try:
            if state.idle > MOST_IDLE:
                raise OutOfBudget
            if search is None:
                state = yield from valleys.elsewhere(task, frame, state, rng)
            else:
                search, _ = yield from self._nearby(task, search, rng)
                state = valleys.judged(task, frame, state, search)
        except OutOfBudget:
            if valleys.undercut(held):
                raise
            ending = Ending(True, f"{_sentence(certified)} {_local(held)}")
            return replace(held, t=held.t + 1), replace(_info(held, certified), ending=ending)
        low = state.search if state.search is not None and state.search.value < state.value else state
        numbers = {"radius": low.delta, "points": float(len(low.chosen))}
        i = int(np.argmin(state.values))
        x = frame.member(state.points[i]) if state.values[i] < low.value else low.lowest
        return replace(state, t=held.t + 1, x=x), Info(numbers=numbers)

    def _nearby(self, task: Task, state: State, rng: np.random.Generator) -> Step:
        """One iteration towards a local minimum."""
        state = units.suited(state.frame(task), state)
        frame, paid = state.frame(task), len(state.values)
        side_by_side, waits = task.points_at_once > 1, task.in_order or task.n > 1
        if state.t == 0 and frame.rank > 0 and side_by_side:
            state = yield from (rounds if waits else arrivals).begin(task, frame, state, rng)
            numbers = {"radius": state.delta, "points": float(len(state.chosen))}
            return replace(state, t=2, x=state.lowest), Info(numbers=numbers)
        if state.t == 0 and frame.rank > 0 and state.informed:
            return replace(state, t=1), Info()
        if state.t == 0:
            values, _, _ = yield from values_at(task, state.x[None, :])
            alone = Ending(True, "The set is a single point.") if frame.rank == 0 else None
            info = Info() if alone is None else Info(gap=0.0, gap_error=0.0, bound=0.0, ending=alone)
            return replace(state, t=1, values=values), info
        if len(state.values) <= frame.rank and len(state.due):
            state = yield from arrivals.advance(task, frame, state, rng)
            return replace(state, t=state.t + 1, x=state.lowest), Info()
        if state.regime in ("certificate", "done") and state.bound is None and not state.flat:
            state, info = yield from self._certify(task, frame, state, rng)
            return replace(state, t=state.t + 1), info
        if state.regime == "regression":
            regress = arrivals.regress if side_by_side and not waits else regression.advance
            state = yield from regress(task, frame, state, rng)
            return replace(state, t=state.t + 1), Info(numbers={"radius": state.delta, "noise": state.noise})
        state = yield from self._advance(task, frame, state, rng)
        state = self._turn(frame, replace(state, stint=state.stint - (len(state.values) - paid)))
        if state.idle > MOST_IDLE:
            state = replace(state, regime="done", idle=0)
        x = state.x if state.regime == "regression" else state.lowest
        numbers = {"radius": state.delta, "points": float(len(state.chosen))}
        return replace(state, t=state.t + 1, x=x), Info(
            ending=self._stalled(task, frame, state), numbers=numbers
        )

    def _advance(self, task: Task, frame: Frame, state: State, rng: np.random.Generator) -> Action:
        """One iteration of the model or the bundle, the first points, or wider ones."""
        side_by_side, waits = task.points_at_once > 1, task.in_order or task.n > 1
        if state.t == 1:
            return (yield from trust_region.design(task, frame, state))
        if np.isnan(state.noise) and state.shrunk and not side_by_side:
            return (yield from self._repeat(task, frame, state))
        if state.regime == "done" or state.flat:
            return (yield from self._widen(task, frame, state, rng))
        if state.regime == "model" and side_by_side:
            advance = rounds.advance if waits else arrivals.advance
            return (yield from advance(task, frame, state, rng))
        if state.regime == "model":
            return (yield from trust_region.advance(task, frame, state))
        if side_by_side:
            return (yield from kinks.advance_side_by_side(task, frame, state))
        return (yield from kinks.advance(task, frame, state))

    def _repeat(self, task: Task, frame: Frame, state: State) -> Action:
        """The best point once more: do values repeat?"""
        value = float((yield from values_at(task, state.lowest[None, :], Purpose.NOISE))[0][0])
        if value >= WORST:
            return replace(state, noise=0.0)
        known = yield from rounds.noise_of(task, frame, state, [state.value, value])
        return replace(known, regime=state.regime)

    @staticmethod
    def _turn(frame: Frame, state: State) -> State:
        """Which regime is next, once a stint has ended."""
        r, paid, value = frame.rank, len(state.values), state.value
        ended = trust_region.ended(frame, state)
        if state.noise > 0:
            if state.stint > 0:
                return state
            return regression.estimate(frame, replace(state, regime="regression"), state.z)
        if state.regime == "model" and state.bundle is None and trust_region.kink(state):
            if np.isnan(state.noise):
                return replace(state, shrunk=True)  # noise looks like a kink
            return replace(state, regime="bundle", stint=FIRST_SWEEPS * (r + 1), mark=(paid, value))
        if state.stint > 0 or state.regime not in ("model", "bundle"):
            return state
        model, bundle = state.rates
        rate = (state.mark[1] - value) / max(paid - state.mark[0], 1)
        if state.regime == "model":
            model = 0.0 if state.bundle is None or ended else rate
            quiet = state.quiet == trust_region.QUIET or (ended and frame.task.resolution > 0)
            if state.bundle is None and quiet and state.rho > SMOOTH_END * state.size:
                return replace(state, regime="done")
        else:
            bundle = rate
        state = replace(state, rates=(model, bundle), mark=(paid, value))
        if max(model, bundle) <= 0:
            return replace(state, regime="done")
        if bundle >= model:
            sweeps = LAST_SWEEPS if np.isinf(bundle) else SWEEPS
            return replace(state, regime="bundle", stint=sweeps * (r + 1))
        near = np.arange(max(paid - r - 1, 0), paid)
        radius = max(state.bundle.step if state.bundle else 0.0, 1e-6 * state.size)
        state = replace(
            state,
            regime="model",
            stint=min((r + 5) * (r + 2) // 2, 12 * r),
            quiet=0,
            delta=radius,
            rho=radius,
            H=0 * state.H,
        )
        return trust_region.fit(frame, replace(state, chosen=np.union1d(near, [state.best])))

    def _certify(
        self, task: Task, frame: Frame, state: State, rng: np.random.Generator
    ) -> Generator[Query, Answer, tuple[State, Info]]:
        """A bound of the gap at x. Without a small one the search goes on from wider points, while the budget pays for them."""
        held = state
        state, bound = yield from certify(task, frame, state, rng)
        swept, state = state.chosen, replace(state, chosen=held.chosen)
        held = replace(state, best=held.best, lowest=held.lowest)
        info = _info(state, bound)
        numbers = info.numbers
        goal = bound.tolerance if task.gap_tol is None else task.gap_tol
        if bound.bound <= goal and not in_steps(state):
            convex, paid = not len(held.searches) and valleys.convex(held), len(held.values)
            if convex and self.everywhere and task.gap_tol is None and not held.looked:
                held = yield from valleys.looked(task, frame, held, rng)
                convex = valleys.convex(held) and not valleys.undercut(held)
            if convex or not self.everywhere:
                few = "" if held.looked or not self.everywhere else _few(len(held.values) - paid)
                return held, replace(info, ending=Ending(True, _sentence(bound) + few))
            if task.gap_tol is None and task.budget is not None:
                return valleys.begun(replace(held, bound=bound)), Info(numbers=numbers)
            ending = Ending(task.gap_tol is not None, f"{_sentence(bound)} {_local(held)}")
            return held, replace(info, ending=ending)
        if held.value - state.value > 4 * bound.noise:
            state = replace(state, x=state.lowest, regime="model", quiet=0)
            state = trust_region.fit(frame, replace(state, chosen=np.union1d(state.chosen, [state.best])))
            return state, Info(numbers=numbers)
        if (
            2 * bound.error < bound.gap < 0.5 * held.last_gap
        ):  # slopes at x are known better than by the model
            held = replace(held, last_gap=bound.gap, chosen=swept, regime="model", quiet=0)
            soon = len(held.values) - 3 * frame.rank
            return trust_region.fit(frame, replace(held, checked=soon)), Info(numbers=numbers)
        held = replace(held, bound=bound, regime="model" if state.regime == "certificate" else "done")
        return held, replace(info, ending=self._stalled(task, frame, held))

    @staticmethod
    def _widen(task: Task, frame: Frame, state: State, rng: np.random.Generator) -> Action:
        """Restart the model from wider points, at another radius each time; while values do not differ, look at random members."""
        if state.flat:
            count = frame.rank + 1 + rounds.fill(task, frame.rank + 1)
            vertices = np.array([frame.lmo(u) for u in rng.standard_normal((count, frame.rank))])
            ways = rng.random((len(vertices), 1)) ** 0.5 * (vertices - state.z)
            state = yield from ask(task, frame, state, state.z + ways)
            if state.flat:
                return state
        axes = None
        radius = RADII[state.restarts % len(RADII)]
        if state.restarts >= len(RADII):  # the same points again would show nothing
            axes = np.linalg.qr(rng.standard_normal((frame.rank, frame.rank)))[0]
            radius = float(10 ** rng.uniform(*WIDER))
        delta = max(state.size * radius, trust_region.STEP * frame.coarsest)
        state = replace(
            state,
            regime="model",
            bundle=None,
            rates=(np.inf, np.inf),
            stint=10**9,
            restarts=state.restarts + 1,
        )
        if task.points_at_once > 1:
            return (yield from rounds.restart(task, frame, state, delta, axes, rng))
        return (yield from trust_region.restart(task, frame, state, delta, axes))

    @staticmethod
    def _stalled(task: Task, frame: Frame, state: State) -> Ending | None:
        """The end of the budget, or of what the resolution allows, at a point whose gap was measured and is not small enough."""
        if state.flat and state.value < WORST and len(state.values) >= FLAT * (frame.rank + 1):
            different = len(np.unique(state.points, axis=0))
            return Ending(False, f"f returned {state.value:.6g} at all {different} points.")
        bound, coarse = state.bound, task.resolution > 0 and trust_region.ended(frame, state)
        dear = frame.rank + 1 if state.regime == "done" else 1
        if bound is None or not (coarse or task.remaining < task.n * dear):
            return None
        found = (
            f"Steps are as short as the resolution {task.resolution:g} allows"
            if coarse
            else "No further decrease was found"
        )
        limit = "f returns whole numbers, a score in steps without slopes" if in_steps(state) else bound.limit
        seen = state.values < WORST
        points, values = len(np.unique(state.points[seen], axis=0)), len(np.unique(state.values[seen]))
        if not in_steps(state) and values < SCORES * points:
            limit = (
                f"f returned {values} different values at {points} points, a score in steps without slopes"
            )
        return Ending(False, f"{found}. What limits: {limit}.")


def _info(state: State, bound: Certificate) -> Info:
    numbers = {"radius": state.delta, "points": float(len(state.chosen))}
    error = bound.slope_error / CONFIDENCE
    return Info(gap=bound.gap, gap_error=error, bound=bound.bound, numbers=numbers)


def _sentence(bound: Certificate) -> str:
    return (
        f"The Frank-Wolfe gap at x is at most {bound.bound:.2g} (99 % confidence, from two-sided slopes); "
        f"values with noise {bound.noise:.1g} show none below {bound.tolerance:.2g}."
    )


def _few(far: int) -> str:
    return f" f was {f'compared with only {far}' if far else 'not compared with'} points far away."


def _local(state: State) -> str:
    k = max(len(state.searches), 1)
    looked = "1 valley was" if k == 1 else f"{k} valleys were"
    return f"The values are not those of a convex function: a local minimum; {looked} looked at."


def in_steps(state: State) -> bool:
    """Return True if all values of f are whole numbers, such as those of a count: slopes then say nothing."""
    values = state.values[state.values < WORST]
    return bool((values == np.round(values)).all())
