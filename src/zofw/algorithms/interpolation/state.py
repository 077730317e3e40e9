"""What the method carries from one iteration to the next, and how values come into it."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from zofw.algorithms.interpolation.bundle import Bundle
from zofw.algorithms.interpolation.frame import Frame
from zofw.algorithms.interpolation.model import System
from zofw.algorithms.interpolation.subproblem import Steps, trust_region_step
from zofw.algorithms.model.certificate import Certificate
from zofw.algorithms.model.line_search import among_answered
from zofw.core import WORST, Answer, Array, Indices, OutOfBudget, Purpose, Query, Task, objective

FACTS = (
    6  # numbers of a point under way: query, row, kind, best value, promise and length when it was asked for
)
Action = Generator[Query, Answer, "State"]
Coming = list[tuple[int, int, float]]  # query, row, value
SHOWN = 6.0  # times the radius where ½Hs² is half the noise
SAME = 1e-6  # of ρ: points nearer than this are one
NEIGHBOURS = 2.0  # times the distance of a point at which f fails: a value nearer to x stands for it
HUGE = 1e3  # times the rise of the first points over the lowest: f there is of another size than near x
SAME_POINT = 1e-14  # of the diameter: rounding, and the value is known


@dataclass(frozen=True)
class State:
    """Every point and value so far, the points that the model goes through, the model, the radii."""

    walls: ClassVar[bool] = True  # a value of WORST is understood
    own_start: ClassVar[float] = 0.025  # of the width: the first radius around a start of the user

    longer: ClassVar[tuple[float, ...]] = (2.0, 16.0, 4.0)  # times Δ: trials side by side
    reaches: ClassVar[bool] = True  # whether the vertex along −g is one

    t: int
    x: Array
    lowest: Array  # the point of the least value, to the last bit as it was asked for
    origin: Array
    basis: Array | None  # of the frame
    scale: Array | None
    points: Array  # (N, r), in the coordinates of the hull
    values: Array  # (N,)
    chosen: Indices  # the points that the model goes through
    g: Array  # of the model, at the best point
    H: Array
    atoms: Array  # (k, r): those of the last steps
    history: Array  # (k, 2): Δ and |H| of every fit
    best: int = 0
    size: float = 0.0  # the diameter of the set, in the coordinates of the frame
    width: float = 0.0  # the mean width, likewise
    delta: float = 0.0  # the trust radius
    rho: float = 0.0  # its lower bound, which only falls
    ratio: float = 0.0  # of the last step: the decrease over the promised one
    shrunk: bool = False  # whether ρ ever fell
    quiet: int = 0  # times in a row that the model saw no decrease that values could show
    regime: str = "model"  # or bundle, regression, certificate, done
    bundle: Bundle | None = None
    stint: int = 0  # values left before the regimes are compared
    mark: tuple[int, float] = (0, 0.0)  # values paid and best value when the stint began
    rates: tuple[float, float] = (np.inf, np.inf)  # decrease per value of the last stint: model, bundle
    noise: float = np.nan  # of a value, once one was asked for again
    repeated: float = 0.0  # that of values at one point
    centre: Array = field(
        default_factory=lambda: np.zeros(0)
    )  # of the regression, in the coordinates of the frame
    misfit: float = 0.0  # deviation of the residuals of a regression, over that
    informed: bool = False  # values were known before the run
    bound: Certificate | None = (
        None  # of the gap at the best point, where it was measured and is not small enough
    )
    last_gap: float = np.inf  # that a certificate found and the model was corrected by
    checked: int = 0  # values paid when the last certificate began
    looks: int = 0  # for the units that suit f
    restarts: int = 0
    due: Array = field(default_factory=lambda: np.zeros((0, 0)))  # points under way: FACTS, coordinates
    idle: int = 0  # times in a row that every point asked for was known
    searches: Indices = field(default_factory=lambda: np.zeros((0, 2), dtype=np.int64))  # start, end
    sown: bool = False  # whether values of random members are there for the starts of searches
    looked: bool = False  # whether convexity was tested at LOOKS points far from a local minimum
    search: State | None = None  # that runs from another point, once a local minimum is certified
    certified: Certificate | None = None  # of the best point, while the search goes on elsewhere

    @classmethod
    def begun(cls, frame: Frame, points: Array, values: Array, **more: Any) -> Self:
        """Return the state with points of X, (N, d), whose first one is x, and no model yet."""
        x, r = frame.origin, frame.rank
        return cls(
            0, x, x, x, frame.basis, frame.scale, frame.inward(points), values, np.zeros(1, dtype=np.int64),
            np.zeros(r), np.zeros((r, r)), np.zeros((0, r)), np.zeros((0, 2)),
            size=frame.size, width=frame.width, stint=10**9, **more,
        )  # fmt: skip

    def frame(self, task: Task) -> Frame:
        """Return the coordinates that points, model and radii belong to."""
        return Frame(task, self.origin, self.basis, self.scale, self.size, self.width)

    @property
    def z(self) -> Array:
        """The best point, in the coordinates of the hull."""
        return np.asarray(self.points[self.best])

    @property
    def value(self) -> float:
        """The least value."""
        return float(self.values[self.best])

    @property
    def ordinary(self) -> NDArray[np.bool_]:
        """Return which values measure rounding and range: no walls, and no vertex that a round tried where f is huge."""
        first = self.values[: None if self.informed else len(self.g) + 1]
        rise = float(first[first < WORST].max(initial=self.value)) - self.value
        return (self.values < WORST) & (self.values - self.value <= (HUGE * rise if rise > 0 else np.inf))

    def entered(self, places: Indices, bought: Indices, answer: Array) -> State:
        """Return the state with the rows of an answer at new points ``bought``; point j has the row of point ``places[j]``."""
        return self

    def fitted(self, frame: Frame) -> State:
        """Return the interpolant of least change around the best point."""
        Y = self.points[self.chosen]
        f = tame(self.values[self.chosen], Y - self.z)
        nu = 0.0
        if self.noise > 0:  # then a regression, by the variance of a value over that of an entry of H
            entries = self.delta**2 * float(np.sqrt(np.mean(self.H**2)))
            nu = min(self.repeated / max(entries, 1e-300), 1e6) ** 2
        _, g, H = System.of(Y, self.z, self.delta, nu).fit(f - self.value, self.H)
        return replace(self, g=g, H=H)

    def regressed(self, frame: Frame, nu: float | Array) -> State:
        """Return the quadratic of least change through the chosen points, or near them where ν > 0."""
        Y = self.points[self.chosen]
        _, g, H = System.of(Y, self.z, self.delta, nu).fit(
            tame(self.values[self.chosen]) - self.value, self.H
        )
        return replace(self, g=g, H=H)

    def predicted(self, frame: Frame, Y: Array) -> Array:
        """Return the changes of f from the best point to points Y by the model."""
        S = Y - self.z
        return np.asarray(S @ self.g + 0.5 * np.einsum("ij,ij->i", S @ self.H, S))

    @property
    def least_delta(self) -> float:
        """Return the radius at which the curvature of the model shows above the noise, a tenth of the diameter at most."""
        if not self.noise > 0:
            return 0.0
        curvature = max(float(np.linalg.norm(self.H, 2)), 1e-300)
        return min(SHOWN * float(np.sqrt(self.repeated / curvature)), 0.1 * self.size)

    def alone(self, i: int) -> bool:
        """Return True if f has values at most points not farther from point i, at which it fails, than the best one."""
        away = np.linalg.norm(self.points - self.points[i], axis=1)
        return bool(np.mean(self.values[away <= 1.001 * away[self.best]] >= WORST) <= 0.5)

    def step(self, frame: Frame) -> Steps:
        """Return about the lowest point of the model within Δ."""
        return trust_region_step(frame, self.z, self.g, self.H, self.delta, self.atoms)

    @property
    def flat(self) -> bool:
        """Return True if all values are equal, or no point has been evaluated that is not worse than anything."""
        return not self.values.min() < self.values[self.values < WORST].max(initial=-np.inf)

    @property
    def won(self) -> float:
        """The decrease since the start, or since the first point that is not worse than anything."""
        seen = self.values[self.values < WORST]
        return float(seen[0]) - self.value if len(seen) else 0.0


def values_at(
    task: Task, X: Array, purpose: Purpose = Purpose.ESTIMATE, best: tuple[Array, float] | None = None
) -> Generator[Query, Answer, tuple[Array, Array, Coming]]:
    """Return f at the rows of X, worse than anything where it fails; with the answer, and values of earlier queries.

    A point that is known to fail is not asked for. Once one has failed, the others of its query are kept. Where components of a
    mean fail, the others say by how much it differs from that at the best point.
    """
    failed = {x.tobytes() for x, _ in task.failed} if task.n == 1 else set()
    fine = np.array([x.tobytes() not in failed for x in X])
    values, late = np.full(len(X), WORST), []
    answer = np.zeros((0, 1))
    if fine.any():
        enough = int(fine.sum()) if failed and not task.each else None
        query = Query(X[fine], task.all, purpose=purpose, each=task.each, enough=enough)
        # a sum is refused by the session, which says what its first query lacks; one function is looked at once
        if query.cost > task.remaining and (task.paid or task.n == 1):
            raise OutOfBudget
        reply = yield query
        answer, late = (
            reply.values,
            [(one.query, one.row, one.value) for one in reply.late if one.query != reply.query],
        )
        values[fine] = np.nan_to_num(objective(task.outer, answer), nan=WORST)
        if reply.left_out and best is not None and not task.each:
            values += best[1] - (yield from among_answered(task, best[0], task.all, best[1], reply))
    return values, answer, late


def ask(
    task: Task, frame: Frame, state: State, Z: Array, purpose: Purpose = Purpose.ESTIMATE, again: int = 0
) -> Action:
    """Append the members with coordinates Z, (k, r), and their values; buy only values that are not known.

    A point that is known takes its place again with the value it has, unless values are noisy: then every value tells more.
    The best point is asked for ``again`` so many times.
    """
    X = np.array([frame.member(z) for z in Z] + [state.lowest] * again)
    rows, before = frame.inward(X), len(state.values)
    points, first = np.vstack([state.points, rows]), before + np.arange(len(rows))
    for i in first[: len(Z)] if not state.noise > 0 else ():
        same = place_of(frame, points[:i], points[i])
        first[i - before] = i if same is None else same
    bought = np.flatnonzero(first == before + np.arange(len(rows)))
    values, answer = np.append(state.values, np.zeros(len(rows))), np.zeros((0, 1))
    if len(bought):
        best = (state.lowest, state.value) if before else None
        found, answer, late = yield from values_at(task, X[bought], purpose, best)
        values[before + bought] = found
        state = arrived(frame, state, late)[0]
        extra = len(state.values) - before
        points = np.vstack([state.points, points[before:]])
        values = np.append(state.values, values[before:])
        first, before = first + extra * (first >= before), before + extra
    for k in np.flatnonzero(first < before + np.arange(len(rows))):
        points[before + k], values[before + k] = points[first[k]], values[first[k]]
    state, low = state.entered(first, bought, answer), before + int(np.argmin(values[before:]))
    state = replace(state, points=points, values=values, idle=0 if len(bought) else state.idle + 1)
    lower = values[low] < state.value
    return replace(state, best=low, lowest=X[low - before], bound=None) if lower else state


def arrived(frame: Frame, state: State, come: Coming) -> tuple[State, Array]:
    """Move points under way whose values have come (query, row, value) to those that are known. Return also their rows of ``due``.

    NaN says that f fails there, which is worse than any value.
    """
    if not come:
        return state, state.due[:0]
    value_of = {(query, row): WORST if np.isnan(value) else value for query, row, value in come}
    values = np.array([value_of.get((int(row[0]), int(row[1])), np.inf) for row in state.due])
    here = np.isfinite(values)
    rows, new = state.due[here], values[here]
    state = replace(
        state,
        due=state.due[np.isposinf(values)],
        points=np.vstack([state.points, rows[:, FACTS:]]),
        values=np.append(state.values, new),
    )
    if len(new) and (len(state.values) == len(new) or new.min() < state.value):
        best = len(state.values) - len(new) + int(np.argmin(new))
        state = replace(state, best=best, lowest=frame.member(state.points[best]), bound=None)
    return state, rows


def place_of(frame: Frame, points: Array, z: Array) -> int | None:
    """Return the index of the first point that equals z up to rounding, or that the resolution does not tell from z."""
    if frame.task.resolution > 0:
        away = np.linalg.norm(frame.steps(points - z), axis=1)
        near = np.flatnonzero(away < (1 - SAME) * frame.task.resolution)
    else:
        near = np.flatnonzero(np.abs(points[:, 0] - z[0]) <= SAME_POINT * frame.size)
        near = near[np.abs(points[near] - z).max(axis=1) <= SAME_POINT * frame.size]
    return int(near[0]) if len(near) else None


def tame(f: Array, away: Array | None = None) -> Array:
    """Return values with those that are worse than anything lowered to what a model can bear.

    That is the largest value at points at most twice as far ``away`` from x, or twice the rise of the others if distances are not given.
    """
    wall = f >= WORST
    if not wall.any() or wall.all():
        return f
    low, high = float(f[~wall].min()), float(f[~wall].max())
    if away is None:
        return np.where(wall, high + max(high - low, 1e-3 * abs(high)), f)
    distances = np.linalg.norm(away, axis=1)
    near = (distances <= NEIGHBOURS * distances[wall, None]) & ~wall
    out = f.copy()
    out[wall] = np.where(near, f, low).max(axis=1)
    return out


def asked(frame: Frame, state: State, z: Array) -> int | None:
    """Return the index of this point if it was asked for already."""
    if frame.task.resolution > 0 and (same := place_of(frame, state.points, z)) is not None:
        return same
    distances = np.abs(state.points - z).max(axis=1)
    i = int(np.argmin(distances))
    return i if distances[i] <= SAME * state.rho else None
