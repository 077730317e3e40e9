r"""Which units of the variables suit f: those of the set's widths, x itself, or between.

    x − x₁ = S^θ u,  θ in {0, ½, 1};   f(u) = c + ⟨g, u⟩ + ½ uᵀHu,  entries of H independent, normal, of one unknown variance

For each θ the values have a density (with c, g and the variance at their most likely), and the θ of the greatest is taken:

    −½ log det K − ½k log(yᵀK⁻¹y),   K = NᵀAN,  y = Nᵀf,  A_ij = ½⟨u_i, u_j⟩²,  N an orthonormal complement of [1 U], (m, k)

References
----------
C. E. Rasmussen, C. K. I. Williams, Gaussian Processes for Machine Learning, sections 2.7 and 5.4, MIT Press, 2006.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from zofw.algorithms.interpolation.frame import Frame
from zofw.algorithms.interpolation.state import FACTS, State, tame
from zofw.algorithms.interpolation.trust_region import fit
from zofw.core import Array

LOOKS = (
    (1.5, 4.0),
    (2, 5.0),
    (3, 10.0),
)  # after so many values for each variable, and how much likelier other units must be
SHARES = (1.0, 0.5, 0.0)  # θ; the first of equal ones is taken
RIDGE = 1e-10  # of the greatest entry of K


def suited(frame: Frame, state: State) -> State:
    """Return the state in the units that suit the values so far, if it is time to look and these are far likelier."""
    r, scale = frame.rank, state.scale
    if scale is None or state.looks >= len(LOOKS) or state.regime != "model":
        return state
    times, margin = LOOKS[state.looks]
    if len(state.values) < times * r + 2 or len(state.chosen) < 1.5 * r + 1:
        return state
    state = replace(state, looks=state.looks + 1)
    away = state.points[state.chosen] - state.z
    share, gain = likely_share(frame.steps(away), away, tame(state.values[state.chosen]), scale)
    if gain < margin:
        return state
    new = frame.in_units(scale**share if share else None, frame.size * float((scale ** (1 - share)).max()))
    state = in_frame(replace(state, looks=len(LOOKS)), frame, new)
    return fit(new, state)


def in_frame(state: State, old: Frame, new: Frame) -> State:
    """Return the state in another frame; radii keep the length of a step along all axes alike."""
    r = old.rank
    T = new.inward(new.origin + old.steps(np.eye(r))).T  # z' = T z
    back = np.linalg.inv(T)
    times = float(np.linalg.norm(T)) / np.sqrt(r)
    return replace(
        state, basis=new.basis, scale=new.scale, size=new.size, points=state.points @ T.T, atoms=state.atoms @ T.T,
        g=state.g @ back, H=0 * state.H, delta=times * state.delta, rho=times * state.rho,
        history=state.history[:0],
        due=np.hstack([state.due[:, :FACTS], state.due[:, FACTS:] @ T.T]) if len(state.due) else state.due,
    )  # fmt: skip


def likely_share(steps: Array, flat: Array, f: Array, scale: Array) -> tuple[float, float]:
    """Return the θ under which values f at steps in x, (m, d), are most likely, and by how much more than under θ = 1.

    ``flat`` has the same steps in coordinates of the hull, (m, r).
    """
    found = [_log_density(steps / scale**share, flat, f) for share in SHARES]
    best = int(np.argmax(found))
    return SHARES[best], found[best] - found[0]


def _log_density(U: Array, flat: Array, f: Array) -> float:
    m = len(U)
    E = np.column_stack([np.ones(m), flat / np.maximum(np.abs(flat).max(axis=0), 1e-300)])
    N = np.linalg.qr(E, mode="complete")[0][:, E.shape[1] :]
    U = U / float(np.sqrt(np.mean(U**2)))
    K = N.T @ (0.5 * (U @ U.T) ** 2) @ N
    K[np.diag_indices_from(K)] += RIDGE * float(K.max())
    y = N.T @ f
    signs, logarithm = np.linalg.slogdet(K)
    fit = float(y @ np.linalg.solve(K, y))
    if not (signs > 0 and fit > 0):
        return -np.inf
    return float(-0.5 * logarithm - 0.5 * len(y) * np.log(fit))
