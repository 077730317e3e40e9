r"""A model of every component, and the step that minimises h of all of them over the set within Δ of x.

    v_k(x + s) = f_k + J_k s + ½ sᵀC_k s                     through the chosen points, C_k of least change

    h smooth:     s ← argmin of ⟨Jᵀ∇h, ·⟩ + ½⟨·, (JᵀD J + Σ ∇h_k C_k)·⟩ around v(s) until h(v(s)) falls no more
    h with kinks: a proximal bundle on h(v(x + s)), which asks nothing

All of that costs no query.

References
----------
S. M. Wild, Solving derivative-free nonlinear least squares problems with POUNDERS, in Advances and Trends in Optimization, 2017.
J. Larson, S. M. Wild, Manifold sampling for optimizing nonsmooth nonconvex compositions, SIAM J. Optim. 31, 2021.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np

from zofw.algorithms.interpolation.bundle import Bundle
from zofw.algorithms.interpolation.frame import Frame
from zofw.algorithms.interpolation.model import System
from zofw.algorithms.interpolation.state import State
from zofw.algorithms.interpolation.subproblem import SLACK, Steps, trust_region_step
from zofw.core import WORST, Array, Indices, Outer
from zofw.outer import Mean

INNER_STEPS = 12  # of a smooth h, each of which costs an eigendecomposition
CUTS = 60  # of h with kinks
RISE = 0.5  # of the promised gain: beyond, the next trial may be farther
ROUNDING = 1e-15
WORSE = 1e-3  # of the largest value: what a component that fails is worse at least
SHORT = 1e-3  # of Δ: an inner step that changes no more ends the search
HALVINGS = 6
EXACT = 1e-14  # of the largest component of the first vector: the noise of a component at least


@dataclass(frozen=True)
class Models(State):
    """The state of interpolation, with a vector of component values at every point and a model of each component."""

    own_start: ClassVar[float] = 0.01  # a model of each component needs less room
    longer: ClassVar[tuple[float, ...]] = (2.0, 8.0, 4.0)
    reaches: ClassVar[bool] = False  # a value there may be so large that the others are its rounding

    vectors: Array = field(default_factory=lambda: np.zeros((1, 0)))  # (N, M)
    J: Array = field(default_factory=lambda: np.zeros((0, 0)))  # (M, r), at the best point
    C: Array = field(default_factory=lambda: np.zeros((0, 0, 0)))  # (M, r, r)
    noises: tuple[float, float] = (0.0, 0.0)  # of a component: additive, relative
    sigma: Array = field(default_factory=lambda: np.zeros(0))  # (M,), near the best point
    P: Array = field(
        default_factory=lambda: np.zeros((0, 0))
    )  # covariance of a row of J, in units of its noise
    doubt: Array | None = None  # what the noise of J adds to the Hessian of the expected h

    def deviation(self, v: Array) -> Array:
        """Return the noise of every component at a point with components v."""
        additive, relative = self.noises
        least = EXACT * float(np.abs(self.vectors[0]).max()) + 1e-100
        return np.asarray(np.maximum(additive + relative * np.abs(v), least))

    def entered(self, places: Indices, bought: Indices, answer: Array) -> State:
        """Put the vectors of new points with the others."""
        rows = np.zeros((len(places), self.vectors.shape[1]))
        rows[bought] = answer
        vectors = np.vstack([self.vectors, rows])
        vectors[len(self.vectors) :] = vectors[places]
        return replace(self, vectors=vectors)

    def fitted(self, frame: Frame) -> State:
        """Return the interpolants of least change of all components, and the quadratic of h at the best point."""
        return self.regressed(frame, 0.0)

    def regressed(self, frame: Frame, nu: float | Array) -> State:
        """Return them for ν ≥ 0."""
        good = self.values[self.chosen] < WORST
        sound = self.chosen[good]
        if self.value >= WORST:
            return self
        Y, F, d = self.points[sound], self.changes(sound), self.delta
        system, r = System.of(Y, self.z, d, nu[good] if isinstance(nu, np.ndarray) else nu), Y.shape[1]
        U = system.U
        E = F - 0.5 * d**2 * self._bent(U)
        found = system.solve(np.vstack([E, np.zeros((r + 1, E.shape[1]))]))
        pairs = (U[:, :, None] * U[:, None, :]).reshape(len(U), -1)
        C = self.C + (found[: len(U)].T @ pairs).reshape(-1, r, r) / d**2
        state = replace(self, J=found[len(U) + 1 :].T / d, C=C)
        g, H = state.quadratic(outer_of(frame), np.zeros(r))
        return replace(state, g=g, H=H)

    def changes(self, rows: Indices) -> Array:
        """Return the components at points minus those at the best one; one that fails there only is a bit worse than all others.

        One that fails at the best point is left out there: 0.
        """
        V, base = self.vectors[rows], self.vectors[self.best]
        failed = V >= WORST
        if failed.any():
            low, high = (end(np.where(failed, base, V), axis=0) for end in (np.min, np.max))
            V = np.where(failed, high + np.maximum(high - low, WORSE * np.abs(high)), V)
        return np.where(base < WORST, V - base, 0.0)

    def _bent(self, U: Array) -> Array:
        """uᵀC_k u for every row u and component k."""
        return np.asarray(np.einsum("pi,kij,pj->pk", U, self.C, U, optimize=True))

    def at(self, s: Array) -> Array:
        """The models of all components at x + s."""
        base = self.centre if len(self.centre) else self.vectors[self.best]
        return np.asarray(base + self.J @ s + 0.5 * ((self.C @ s) @ s))

    def predicted(self, frame: Frame, Y: Array) -> Array:
        """Return the changes of h from the best point to points Y by the models."""
        values = outer_of(frame).of(np.array([self.at(s) for s in Y - self.z]))
        return np.asarray(values - self.value)

    def bend(self) -> Array:
        """Return how far each row of J changes over the points that it comes from, (M, r); NaN if it shows no curvature."""
        if len(self.chosen) <= len(self.g) + 1:
            return np.full_like(self.J, np.nan)
        away = float(np.median(np.linalg.norm(self.points[self.chosen] - self.z, axis=1)))
        return np.asarray(away * np.linalg.norm(self.C, axis=2))

    def quadratic(self, h: Outer, s: Array) -> tuple[Array, Array]:
        """Gradient and Hessian of h(v(x + s))."""
        J, v = self.J + self.C @ s, self.at(s)
        seen = np.where(v < WORST, v, np.nan)
        slope, bend = np.nan_to_num(h.slope(seen)), h.curvature(seen)
        H = np.tensordot(slope, self.C, 1)
        if bend is not None:
            H = H + (J.T * np.nan_to_num(bend)) @ J
        g = slope @ J
        if self.doubt is not None:
            g, H = g + self.doubt @ s, H + self.doubt
        return g, 0.5 * (H + H.T)

    def expected(self, h: Outer, s: Array) -> float:
        """h of the models at x + s, and what the noise of J adds."""
        value = float(h.of(self.at(s)[None])[0])
        return value if self.doubt is None else value + 0.5 * float(s @ self.doubt @ s)

    def step(self, frame: Frame) -> Steps:
        """Return about the lowest point of h(v) over the set within Δ."""
        h = outer_of(frame)
        return (
            self._smooth(frame, h)
            if h.curvature(self.vectors[self.best]) is not None
            else self._kinked(frame, h)
        )

    def _smooth(self, frame: Frame, h: Outer) -> Steps:
        """Minimise by Newton steps, each halved until h(v) falls."""
        s, atoms = np.zeros(len(self.g)), self.atoms
        first = low = self.expected(h, s) if len(self.centre) else self.value
        for _ in range(INNER_STEPS):
            g, H = self.quadratic(h, s)
            found = trust_region_step(frame, self.z, g - H @ s, H, self.delta, atoms)
            way = found.s - s
            atoms = found.atoms if len(found.atoms) else atoms
            for _ in range(HALVINGS):
                value = self.expected(h, s + way)
                if value < low:
                    break
                way = way / 2
            else:
                break
            s, won, low = s + way, low - value, value
            if float(np.linalg.norm(way)) <= SHORT * self.delta or won <= SHORT * (first - low):
                break
        return Steps(s, first - low, atoms)

    def _kinked(self, frame: Frame, h: Outer) -> Steps:
        """Minimise by a proximal bundle of cuts of h(v), whose trial points are drawn into the trust region."""
        best = np.zeros(len(self.g))
        first = self.expected(h, best) if len(self.centre) else self.value
        low, bundle = first, Bundle.empty(len(best), self.delta)
        bundle = bundle.with_cut(self.z, first, self.quadratic(h, best)[0], 2 * self.delta)
        for _ in range(CUTS):
            y, gain, bundle = bundle.trial(frame, self.z + best, low)
            if not gain > SHORT * (first - low) + ROUNDING * abs(low):
                break
            length = float(np.linalg.norm(y - self.z))
            s = (y - self.z) * min(1.0, self.delta / max(length, 1e-300))
            value, sigma = self.expected(h, s), bundle.sigma
            if length > SLACK * self.delta or value >= low:
                sigma *= 2
            elif low - value > RISE * gain:
                sigma /= 2
            bundle = replace(bundle, sigma=sigma).with_cut(
                self.z + s, value, self.quadratic(h, s)[0], self.delta
            )
            best, low = (s, value) if value < low else (best, low)
        return Steps(best, first - low, self.atoms)


def outer_of(frame: Frame) -> Outer:
    """Return h; the mean if the run has no other."""
    return frame.task.outer or Mean()
