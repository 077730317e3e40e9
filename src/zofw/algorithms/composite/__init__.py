r"""Composite: a function h of the numbers of all components, each of which has a model of its own.

    r + 1 points, the first one twice, then one at a time, all components asked at each
    repeat
        MODEL  a quadratic of least change through the points of each component
               s = argmin of h(models) over X within Δ, which asks nothing; the components there; Δ and ρ by the ratio

If the first point has other components when it is asked for again, :mod:`.noisy` takes over. With h half a sum of
squares and models that are linear at first, this is Gauss and Newton's method without derivatives.

References
----------
H. Zhang, A. R. Conn, K. Scheinberg, A derivative-free algorithm for least-squares minimization, SIAM J. Optim. 20, 2010.
C. Cartis, L. Roberts, A derivative-free Gauss-Newton method, Math. Program. Comput. 11, 2019.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar, cast

import numpy as np

from zofw.algorithms.composite import noisy
from zofw.algorithms.composite.model import Models
from zofw.algorithms.interpolation import Interpolation, rounds, trust_region
from zofw.algorithms.interpolation.frame import Frame
from zofw.algorithms.interpolation.state import Action, State, place_of
from zofw.algorithms.registry import methods
from zofw.core import WORST, Array, Ending, Info, Query, Step, Task, objective

FIRST = np.zeros(1, dtype=np.int64)
MOST_NAMED = 10  # components that failed at x, in the message
ESTIMATED = "x is the minimiser of the models, at which nothing was asked: fun and residuals are theirs."
PAYS = 2  # times the first points: a budget that pays for asking whether components repeat


@methods.register("composite")
@dataclass(frozen=True)
class Composite(Interpolation):
    """Settings of the composite method: there is nothing to tune.

    Queries: n for the first vector, n for whether it repeats, n·r for the first points, then n an iteration, r ≤ d the dimension of the set.
    """

    composes: ClassVar[bool] = True
    everywhere: ClassVar[bool] = False

    def init(self, task: Task, x0: Array) -> Models:
        frame = Frame.of(task, x0)
        r, width = frame.rank, task.n * task.each or 1
        points, vectors = (x0[None, :], np.zeros((0, width))) if task.known is None else task.known
        vectors = vectors.reshape(-1, width)
        values = np.zeros(1) if task.known is None else objective(task.outer, vectors)
        return Models.begun(
            frame, points, values, vectors=vectors, J=np.zeros((width, r)), C=np.zeros((width, r, r)),
            informed=task.known is not None,
        )  # fmt: skip

    def step(self, task: Task, state: State, rng: np.random.Generator) -> Step:
        frame = state.frame(task)
        if state.t == 0 and frame.rank > 0 and state.informed:
            return replace(state, t=1), Info()
        if state.t == 0 and frame.rank > 0 and task.points_at_once > 1:
            state = yield from self._first_round(task, frame, cast(Models, state), rng)
            return replace(state, t=2, x=state.lowest), Info()
        if state.t == 0:
            answer = (yield Query(state.x, task.all, each=task.each)).values
            state = replace(state.entered(FIRST, FIRST, answer), values=objective(task.outer, answer))
            alone = Ending(True, "The set is a single point.") if frame.rank == 0 else None
            info = Info() if alone is None else Info(gap=0.0, gap_error=0.0, bound=0.0, ending=alone)
            return replace(state, t=1), info
        if state.t > 1 and state.regime in ("certificate", "done") and state.bound is None and not state.flat:
            state, info = yield from self._certify(task, frame, state, rng)
            return replace(state, t=state.t + 1), info
        state = yield from self._point(task, frame, cast(Models, state), rng)
        if state.stint <= 0:
            state = replace(state, regime="done", stint=10**9)
        numbers = {"radius": state.delta, "points": float(len(state.chosen))}
        x = state.lowest
        if state.regime == "regression":
            x, numbers["noise"] = noisy.estimate(frame, cast(Models, state))
        return replace(state, t=state.t + 1, x=x), Info(
            ending=self._stalled(task, frame, state), numbers=numbers
        )

    def _point(self, task: Task, frame: Frame, state: Models, rng: np.random.Generator) -> Action:
        """One more point, or as many as there are directions."""
        if state.t == 1 and task.remaining >= PAYS * task.n * (frame.rank + 1):
            state = cast(Models, (yield from noisy.repeat(task, frame, state)))
        if state.t == 1:
            return state if state.noise > 0 else (yield from trust_region.design(task, frame, state))
        if state.regime == "regression":
            return (yield from noisy.advance(task, frame, state))
        if state.regime != "model" or state.flat:
            return (yield from self._widen(task, frame, state, rng))
        if task.points_at_once > 1:
            return (yield from rounds.advance(task, frame, state, rng))
        return (yield from trust_region.advance(task, frame, state))

    @staticmethod
    def _first_round(task: Task, frame: Frame, state: Models, rng: np.random.Generator) -> Action:
        """Ask for x₀, the first points and x₀ once more in one query."""
        planned, Z = rounds.first_round(task, frame, state, rng)
        planned = cast(Models, planned)
        X = np.array([state.x, *(frame.member(z) for z in Z[1 - state.informed :]), state.x])
        X = X[int(state.informed) : int(min(len(X), task.remaining // task.n + state.informed))]
        answer = (yield Query(X, task.all, each=task.each)).values
        values = np.append(planned.values, objective(task.outer, answer))
        best, known = int(np.argmin(values)), len(planned.values)
        state = replace(
            planned, points=np.vstack([planned.points, frame.inward(X)]), vectors=np.vstack([planned.vectors, answer]),
            values=values, best=best, lowest=X[best - known] if best >= known else state.lowest, noise=0.0,
        )  # fmt: skip
        if len(X) > 1:
            state = noisy.compared(state, 0)
        if state.regime == "regression":
            return noisy.fitted(frame, state)
        return replace(state, regime="done") if len(state.values) == 1 else rounds.fit(frame, state, 0.0)

    def report(self, task: Task, state: Models, x: Array) -> Mapping[str, object]:
        """Return the numbers of all components at x, their Jacobian by the models, and how far that changes nearby."""
        if not len(state.vectors):
            return {}
        frame = state.frame(task)
        s, ways = frame.inward(x) - state.z, frame.inward(state.origin + np.eye(task.dim))
        paid = place_of(frame, state.points[: len(state.vectors)], frame.inward(x))
        numbers = state.at(s) if paid is None else state.vectors[paid]
        failed = np.flatnonzero(numbers >= WORST)
        said = ", ".join(map(str, failed[:MOST_NAMED])) + ", …" * (len(failed) > MOST_NAMED)
        return {
            "message": (f" {ESTIMATED}" if paid is None and state.regime == "regression" else "")
            + (
                f" At x {len(failed)} of {len(numbers)} components failed and are left out: {said}."
                if len(failed)
                else ""
            ),
            "fun": float(objective(task.outer, numbers[None])[0]),
            "fun_error": float("nan") if paid is None else 0.0,
            "failed": failed,
            "failures": np.count_nonzero(state.vectors >= WORST, axis=0),
            "residuals": numbers,
            "jac": (state.J + state.C @ s) @ ways.T,
            "jac_error": state.bend() @ np.abs(ways.T),
        }
