r"""The model over a convex set and a trust region: no query, whatever the set.

    min ⟨g, s⟩ + ½ sᵀ(H + λI)s  over s in X − x,   λ ≥ 0 so that the quadratic is convex and |s| about Δ

For fixed λ one of three: the set lists its facets, and the dual of a least distance problem has as many variables as there are
facets; the set is a Euclidean ball, and the secular equation is all; or the set is known by its oracle alone, and the step is
fully corrective Frank-Wolfe, s = Σ w_j(a_j − x) over the atoms found so far, those of earlier steps included.

References
----------
C. L. Lawson, R. J. Hanson, Solving Least Squares Problems, chapter 23, SIAM, 1995.
P. Wolfe, Finding the nearest point in a polytope, Mathematical Programming 11, 1976.
S. Lacoste-Julien, M. Jaggi, On the global linear convergence of Frank-Wolfe optimization variants, NeurIPS 2015.
J. J. Moré, D. C. Sorensen, Computing a trust region step, SIAM J. Sci. Stat. Comput. 4, 1983.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from zofw.algorithms.interpolation.frame import Frame
from zofw.algorithms.interpolation.numerics import nonnegative, positive_solve, spectral
from zofw.core import Array

SLACK = 1.25  # how much longer than Δ a step may be
ACCURACY = 1e-3  # of the decrease: what may be left of the quadratic's own Frank-Wolfe gap
MOST_SHIFTS = 8
MOST_PIVOTS = 30
PATIENCE = 4  # exchanges in a row that leave no fewer facets wrong
ROUNDING = 1e-11


@dataclass(frozen=True)
class Steps:
    """A step, the decrease that the quadratic promises, and the atoms that carry x + s."""

    s: Array
    decrease: float
    atoms: Array  # (k, r)


def trust_region_step(
    frame: Frame,
    x: Array,
    g: Array,
    H: Array,
    delta: float,
    atoms: Array,
    accuracy: float = ACCURACY,
    spectrum: tuple[Array, Array] | None = None,
) -> Steps:
    """About the least value of g, H over the set within Δ of x; x and the atoms in the coordinates of the frame."""
    size = float(np.abs(H).max(initial=0.0)) + float(np.linalg.norm(g)) / delta
    if size == 0.0:
        return Steps(np.zeros_like(g), 0.0, atoms[:0])
    eigenvalues, V = spectral(H) if spectrum is None else spectrum
    least = max(0.0, -1.05 * float(eigenvalues[0])) + 1e-12 * size
    c = V.T @ g
    shift = secular(eigenvalues, c, delta, least)
    s = -(V @ (c / (eigenvalues + shift)))
    if frame.sure_to_contain(x + s):
        return Steps(s, -float(g @ s + 0.5 * s @ H @ s), atoms[:0])
    minimiser = Minimiser.over(frame, x, V, c, atoms, accuracy)
    low, high = least, np.inf  # too long a step below the one, too short a step above the other
    for _ in range(MOST_SHIFTS):
        s = minimiser(eigenvalues + shift)
        length = float(np.linalg.norm(s))
        if length > SLACK * delta:
            low = shift
            longer = shift * length / delta + 1e-6 * size
            shift = longer if high == np.inf else np.sqrt(low * high)
        elif length < delta / SLACK**2 and shift > 1.01 * least:
            high = shift
            shift = max(least, 0.3 * shift * length / delta) if low == least else np.sqrt(low * high)
        else:
            break
    s = s * min(1.0, SLACK * delta / max(length, 1e-300))
    return Steps(s, -float(g @ s + 0.5 * s @ H @ s), minimiser.atoms)


@dataclass
class Minimiser:
    """argmin ⟨g, s⟩ + ½ sᵀMs over X − x for M = V diag(m) Vᵀ, by what the set offers: facets, a ball, its oracle."""

    frame: Frame
    x: Array
    V: Array
    c: Array  # Vᵀg
    atoms: Array
    accuracy: float
    rows: tuple[Array, Array] | None  # A V and the slack b − A x ≥ 0 of the facets
    active: NDArray[np.bool_]  # the facets that held the last minimiser; at first those that hold x
    ball: tuple[Array, float] | None  # Vᵀ(centre − x) and the radius
    carrying: int = 0  # atoms, the first, that carried the last minimiser

    @classmethod
    def over(cls, frame: Frame, x: Array, V: Array, c: Array, atoms: Array, accuracy: float) -> Minimiser:
        facets, ball = frame.facets, frame.ball
        rows = None if facets is None else (facets[0] @ V, np.maximum(facets[1] - facets[0] @ x, 0.0))
        centred = None if ball is None else (V.T @ (ball[0] - x), ball[1])
        active = np.zeros(0, dtype=bool) if rows is None else rows[1] <= ROUNDING * frame.task.diameter
        return cls(frame, x, V, c, atoms, accuracy, rows, active, centred)

    def __call__(self, m: Array) -> Array:
        if self.rows is not None:
            s, self.active = _within_facets(self.c, m, *self.rows, self.active)
            return self.V @ s
        if self.ball is not None:
            centre, radius = self.ball
            slope = self.c + m * centre  # at the centre
            shift = secular(m, slope, radius, 0.0, 1e-12)
            return self.V @ (centre - slope / (m + shift))
        s, self.atoms, self.carrying = _over_atoms(
            self.frame, self.x, self.V, self.c, m, self.atoms, self.carrying, self.accuracy
        )
        return s


def _within_facets(
    c: Array, m: Array, A: Array, slack: Array, active: NDArray[np.bool_]
) -> tuple[Array, NDArray[np.bool_]]:
    """min ⟨c, s⟩ + ½ Σ m_i s_i² subject to A s ≤ slack, slack ≥ 0, from a guess of the facets that hold s; s and these facets.

    s = −(c + Aᵀλ)/m, and block principal pivoting finds λ: facets that are violated come in, those whose force is negative go out.
    Where that circles, or facets depend on each other, the dual is solved as a least distance problem (NNLS).
    """
    free, pull = -c / m, A / m
    gram, beyond = pull @ A.T, A @ free - slack
    small = ROUNDING * (np.abs(A) @ np.abs(free) + slack)
    forces, active = complementary(gram, beyond, small, active)
    if forces is None:
        return _least_distance(c, m, A, slack)
    return free - forces @ pull, active


def complementary(
    gram: Array, right: Array, small: Array | float, active: NDArray[np.bool_]
) -> tuple[Array | None, NDArray[np.bool_]]:
    """u ≥ 0 with Ku ≥ right and one of the two an equation everywhere, from a guess where u > 0; None where exchanges circle.

    Block principal pivoting: those with u < 0 leave, those with Ku < right − small enter, all at once.
    """
    fewest, patience = len(right) + 1, PATIENCE
    for _ in range(MOST_PIVOTS):
        u, held = np.zeros(len(right)), np.flatnonzero(active)
        if len(held):
            u[held] = positive_solve(gram[np.ix_(held, held)], right[held])
            if np.isnan(u[held[0]]):
                break
        wrong = np.where(active, u < -ROUNDING * np.abs(u).max(), right - gram @ u > small)
        count = int(np.count_nonzero(wrong))
        if not count:
            return u, active
        if (patience := patience - 1 if count >= fewest else PATIENCE) < 0:
            break
        fewest, active = min(fewest, count), active ^ wrong
    return None, active


def _least_distance(c: Array, m: Array, A: Array, slack: Array) -> tuple[Array, NDArray[np.bool_]]:
    """The same by its dual, from nothing."""
    root = np.sqrt(m)
    h = c / root
    size = float(np.linalg.norm(h))
    G = A / root
    right = slack / size + G @ (h / size)
    E = np.vstack([-G.T, -right])
    target = np.zeros(len(c) + 1)
    target[-1] = 1.0
    scale = np.linalg.norm(E, axis=0)
    scale[scale == 0] = 1.0
    dual = nonnegative(E / scale, target)
    active = dual > 0
    for _ in range(
        8
    ):  # the same once more, with these facets as equations: the dual is exact only to its rounding
        s, forces = -c / m, np.zeros(len(slack))
        if active.any():
            normals = A[active]
            gram = (normals / m) @ normals.T
            forces[active] = np.linalg.lstsq(gram, normals @ s - slack[active], rcond=1e-13)[0]
            s = s - (A.T @ forces) / m
        over = A @ s
        beyond = (over - slack > ROUNDING * (np.abs(A) @ np.abs(s))) & ~active
        if not beyond.any():
            break
        active = active | beyond
    beyond &= slack > 0
    return s * float(np.min(slack[beyond] / over[beyond], initial=1.0)), active


def _over_atoms(
    frame: Frame, x: Array, V: Array, c: Array, m: Array, pool: Array, carrying: int, accuracy: float
) -> tuple[Array, Array, int]:
    """Fully corrective Frank-Wolfe: s over the hull of x and the atoms; the atoms, those that carry x + s first; and how many do.

    Over a hull the problem is that of the point nearest to 0, and min ‖Pᵀu‖² + (Σu − 1)² over u ≥ 0 has it: u = μw, Σw = 1.
    """
    root = np.sqrt(m)
    h = c / root
    size = float(np.linalg.norm(h))
    g = V @ c
    S = np.vstack([np.zeros_like(g), pool - x])  # the first row is x itself
    P = (S @ V) * (root / size) + h / size
    gram, held = P @ P.T + 1.0, np.arange(len(S)) < (carrying + 1 if carrying else 0)
    target = np.append(np.zeros(len(g)), 1.0)
    for _ in range(4 * len(g) + 40):
        found, held = complementary(gram, np.ones(len(S)), ROUNDING, held)
        if found is None:
            found = nonnegative(np.vstack([P.T, np.ones(len(S))]), target)
        u = np.maximum(found, 0.0)
        held = u > 0
        w = u / u.sum()
        s = w @ S
        along = V.T @ s
        slope = g + V @ (m * along)
        decrease = -float(c @ along + 0.5 * along @ (m * along))
        atom = frame.lmo(slope) - x
        if float(slope @ (s - atom)) <= accuracy * decrease or (atom == S).all(axis=1).any():
            break
        S, held = np.vstack([S, atom]), np.append(held, True)
        P = np.vstack([P, (atom @ V) * (root / size) + h / size])
        row = P @ P[-1] + 1.0
        gram = np.block([[gram, row[:-1, None]], [row[None, :]]])
    order = np.argsort(-w[1:], kind="stable") + 1
    return s, S[order] + x, int(np.count_nonzero(w[1:]))


def secular(eigenvalues: Array, c: Array, delta: float, least: float, accuracy: float = 0.02) -> float:
    """The shift λ ≥ ``least`` with |(H + λI)⁻¹g| = Δ, or ``least`` where the step is shorter.

    In units of a power of two, so that cubes stay within the range of floating point, and bits as they are.
    """
    unit = math.ldexp(
        1.0, math.frexp(max(float(np.abs(eigenvalues).max()), float(np.linalg.norm(c)) / delta))[1]
    )
    return unit * _secular(eigenvalues / unit, c / unit, delta, least / unit, accuracy)


def _secular(eigenvalues: Array, c: Array, delta: float, least: float, accuracy: float) -> float:
    def length(shift: float) -> float:
        return float(np.linalg.norm(c / (eigenvalues + shift)))

    if length(least) <= delta:
        return least
    low, high = least, max(2 * least, float(np.linalg.norm(c)) / delta + max(0.0, -float(eigenvalues[0])))
    shift = high
    for _ in range(60):
        norm = length(shift)
        if abs(norm - delta) <= accuracy * delta:
            break
        low, high = (shift, high) if norm > delta else (low, shift)
        slope = -float(np.sum(c**2 / (eigenvalues + shift) ** 3)) / norm
        newton = shift + (norm / delta) * (norm - delta) / -slope
        shift = newton if low < newton < high else 0.5 * (low + high)
    return shift


def nearest(frame: Frame, x: Array, z: Array) -> Array:
    """The point of the set nearest to z: its projection, or by the oracle alone from the member x."""
    if frame.task.can_project:
        return frame.inward(frame.task.project(frame.outward(z)))
    unit = np.ones(len(x))
    return x + _over_atoms(frame, x, np.eye(len(x)), x - z, unit, np.zeros((0, len(x))), 0, ACCURACY)[0]
