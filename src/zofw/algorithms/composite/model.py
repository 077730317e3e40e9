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

import numpy as np

from zofw.algorithms.interpolation.frame import Frame
from zofw.algorithms.interpolation.model import System
from zofw.algorithms.interpolation.state import State
from zofw.algorithms.interpolation.subproblem import Steps, trust_region_step
from zofw.core import WORST, Array, Indices, Outer
from zofw.outer import Mean

INNER_STEPS = 12  # of a smooth h, each of which costs an eigendecomposition
SHORT = 1e-3  # of Δ: an inner step that changes no more ends the search
HALVINGS = 6


@dataclass(frozen=True)
class Models(State):
    """The state of interpolation, with a vector of component values at every point and a model of each component."""

    vectors: Array = field(default_factory=lambda: np.zeros((1, 0)))  # (N, M)
    J: Array = field(default_factory=lambda: np.zeros((0, 0)))  # (M, r), at the best point
    C: Array = field(default_factory=lambda: np.zeros((0, 0, 0)))  # (M, r, r)

    def entered(self, places: Indices, bought: Indices, answer: Array) -> State:
        """Put the vectors of new points with the others."""
        rows = np.zeros((len(places), self.vectors.shape[1]))
        rows[bought] = answer
        vectors = np.vstack([self.vectors, rows])
        vectors[len(self.vectors) :] = vectors[places]
        return replace(self, vectors=vectors)

    def fitted(self, frame: Frame) -> State:
        """Return the interpolants of least change of all components, and the quadratic of h at the best point."""
        sound = self.chosen[self.values[self.chosen] < WORST]
        if self.value >= WORST:
            return self
        Y, F, d = self.points[sound], self.vectors[sound] - self.vectors[self.best], self.delta
        system, r = System.of(Y, self.z, d), Y.shape[1]
        U = system.U
        E = F - 0.5 * d**2 * self._bent(U)
        found = system.solve(np.vstack([E, np.zeros((r + 1, E.shape[1]))]))
        pairs = (U[:, :, None] * U[:, None, :]).reshape(len(U), -1)
        C = self.C + (found[: len(U)].T @ pairs).reshape(-1, r, r) / d**2
        state = replace(self, J=found[len(U) + 1 :].T / d, C=C)
        g, H = state.quadratic(outer_of(frame), np.zeros(r))
        return replace(state, g=g, H=H)

    def _bent(self, U: Array) -> Array:
        """uᵀC_k u for every row u and component k."""
        return np.asarray(np.einsum("pi,kij,pj->pk", U, self.C, U, optimize=True))

    def at(self, s: Array) -> Array:
        """The models of all components at x + s."""
        return np.asarray(self.vectors[self.best] + self.J @ s + 0.5 * ((self.C @ s) @ s))

    def quadratic(self, h: Outer, s: Array) -> tuple[Array, Array]:
        """Gradient and Hessian of h(v(x + s))."""
        J, v = self.J + self.C @ s, self.at(s)
        slope, bend = h.slope(v), h.curvature(v)
        H = np.tensordot(slope, self.C, 1)
        if bend is not None:
            H = H + (J.T * bend) @ J
        return slope @ J, 0.5 * (H + H.T)

    def step(self, frame: Frame) -> Steps:
        """Return about the lowest point of h(v) over the set within Δ."""
        h, s, atoms = outer_of(frame), np.zeros(len(self.g)), self.atoms
        first = low = self.value
        for _ in range(INNER_STEPS):
            g, H = self.quadratic(h, s)
            found = trust_region_step(frame, self.z, g - H @ s, H, self.delta, atoms)
            way = found.s - s
            atoms = found.atoms if len(found.atoms) else atoms
            for _ in range(HALVINGS):
                value = float(h.of(self.at(s + way)[None])[0])
                if value < low:
                    break
                way = way / 2
            else:
                break
            s, won, low = s + way, low - value, value
            if float(np.linalg.norm(way)) <= SHORT * self.delta or won <= SHORT * (first - low):
                break
        return Steps(s, first - low, atoms)


def outer_of(frame: Frame) -> Outer:
    """Return h; the mean if the run has no other."""
    return frame.task.outer or Mean()
