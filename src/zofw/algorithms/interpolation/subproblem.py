r"""The model over a convex set and a trust region: no query, whatever the set.

    min ⟨g, s⟩ + ½ sᵀ(H + λI)s  over s in X − x,   λ ≥ 0 so that the quadratic is convex and |s| about Δ

Where H is hollow, that s can be far shorter than Δ: it then goes on in the direction of least curvature along its face, to the sphere
or to the boundary of X. A hollow that old values only seem to show is so refuted by the next. If X is known by its oracle alone, it first
goes on to the minimisers with ½λ|s' − s|² in place of ½λ|s'|² (Rockafellar): λ shortens it where nothing is hollow, too.

For fixed λ one of three: the set lists its facets, and the dual of a least distance problem has as many variables as there are
facets; the set is a Euclidean ball, and the secular equation is all; or the set is known by its oracle alone, and the step is
fully corrective Frank-Wolfe, s = Σ w_j(a_j − x) over the atoms found so far, those of earlier steps included.

References
----------
C. L. Lawson, R. J. Hanson, Solving Least Squares Problems, chapter 23, SIAM, 1995.
P. Wolfe, Finding the nearest point in a polytope, Mathematical Programming 11, 1976.
S. Lacoste-Julien, M. Jaggi, On the global linear convergence of Frank-Wolfe optimization variants, NeurIPS 2015.
R. T. Rockafellar, Monotone operators and the proximal point algorithm, SIAM J. Control Optim. 14, 1976.
J. J. Moré, D. C. Sorensen, Computing a trust region step, SIAM J. Sci. Stat. Comput. 4, 1983.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from zofw.algorithms.interpolation.frame import Frame
from zofw.algorithms.interpolation.numerics import complement, least_eigenvector, positive_solve, spectral
from zofw.core import Array

SLACK = 1.25  # how much longer than Δ a step may be
ACCURACY = 1e-3  # of the decrease: what may be left of the quadratic's own Frank-Wolfe gap
MOST_SHIFTS = 8
MOST_AGAIN = 8  # minimisers from the last one, where a hollow left the step short
MOST_PIVOTS = 30
PATIENCE = 4  # exchanges in a row that leave no fewer facets wrong
ROUNDING = 1e-11
FAINT = 1e-6  # of |g|/Δ: a shift that is too small to shorten a step
LONG = 1e4  # times the length of s: a free minimiser from which rounding shows


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
    hollow = float(eigenvalues[0]) < 0
    if not (hollow and shift == least) and frame.sure_to_contain(x + s):
        return Steps(s, -float(g @ s + 0.5 * s @ H @ s), atoms[:0])
    minimiser = Minimiser.over(frame, x, V, c, atoms, accuracy)
    low, high = least, np.inf  # too long a step below the one, too short a step above the other
    for _ in range(MOST_SHIFTS):
        t = minimiser(eigenvalues + shift)
        length = float(np.linalg.norm(t))
        if length > SLACK * delta:
            low = shift
            longer = shift * length / delta + 1e-6 * size
            shift = longer if high == np.inf else np.sqrt(low * high)
        elif length < delta / SLACK**2 and shift > 1.01 * least:
            high = shift
            lower = max(least, 0.3 * shift * length / delta, FAINT * float(np.linalg.norm(c)) / delta)
            if low == least and lower >= shift:
                break
            shift = lower if low == least else np.sqrt(low * high)
        else:
            break
    t = t * min(1.0, SLACK * delta / max(length, 1e-300))
    if hollow and length < delta / SLACK:
        t = minimiser.onward(eigenvalues, minimiser.again(eigenvalues, least, t, delta), delta)
    s = V @ t
    return Steps(s, -float(g @ s + 0.5 * s @ H @ s), minimiser.carrying)


@dataclass
class Minimiser:
    """t = Vᵀs of argmin ⟨g, s⟩ + ½ sᵀMs over X − x for M = V diag(m) Vᵀ, by what the set offers: facets, a ball, its oracle."""

    frame: Frame
    x: Array
    V: Array
    c: Array  # Vᵀg
    atoms: Array
    accuracy: float
    rows: tuple[Array, Array] | None  # A V and the slack b − A x ≥ 0 of the facets
    held: NDArray[np.bool_]  # the facets, or the atoms behind x itself, that held the last minimiser
    ball: tuple[Array, float] | None  # Vᵀ(centre − x) and the radius

    @classmethod
    def over(cls, frame: Frame, x: Array, V: Array, c: Array, atoms: Array, accuracy: float) -> Minimiser:
        facets, ball = frame.facets, frame.ball
        rows = None if facets is None else (facets[0] @ V, np.maximum(facets[1] - facets[0] @ x, 0.0))
        centred = None if ball is None else (V.T @ (ball[0] - x), ball[1])
        held = np.arange(len(atoms) + 1) == 0 if rows is None else rows[1] <= ROUNDING * frame.size
        return cls(frame, x, V, c, atoms, accuracy, rows, held, centred)

    def __call__(self, m: Array) -> Array:
        if self.rows is not None:
            s, self.held = _within_facets(self.c, m, *self.rows, self.held)
            return s
        if self.ball is not None:
            centre, radius = self.ball
            slope = self.c + m * centre  # at the centre
            shift = secular(m, slope, radius, 0.0, 1e-12)
            return np.asarray(centre - slope / (m + shift))
        return self._over_atoms(m)

    def _over_atoms(self, m: Array) -> Array:
        """Fully corrective Frank-Wolfe: s over the hull of x and the atoms, to which those of its own slopes are added.

        Over a hull the problem is that of the point nearest to 0, and min ‖Pᵀu‖² + (Σu − 1)² over u ≥ 0 has it: u = μw, Σw = 1.
        """
        x, V, c = self.x, self.V, self.c
        root = np.sqrt(m)
        h = c / root
        size = float(np.linalg.norm(h))
        if size == 0:
            return np.zeros_like(x)
        S = np.vstack([np.zeros_like(x), self.atoms - x]) @ V  # the first row is x itself
        P = np.column_stack([(S * root + h) / size, np.ones(len(S))])
        s = np.zeros_like(c)
        for _ in range(4 * len(c) + 40):
            u, self.held = complementary(P, np.ones(len(S)), ROUNDING, self.held)
            if not u.sum() > 0:  # nothing that rounding leaves of the hull is nearer to 0 than s
                break
            s = (u / u.sum()) @ S
            slope = c + m * s
            decrease = -float(c @ s + 0.5 * s @ (m * s))
            atom = self.frame.lmo(V @ slope)
            along = (atom - x) @ V
            if (
                float(slope @ (s - along)) <= self.accuracy * decrease
                or (atom == self.atoms).all(axis=1).any()
            ):
                break
            self.atoms, self.held = np.vstack([self.atoms, atom]), np.append(self.held, True)
            S, P = np.vstack([S, along]), np.vstack([P, np.append((along * root + h) / size, 1.0)])
        return s

    def again(self, m: Array, shift: float, t: Array, delta: float) -> Array:
        """Lower the model from t towards the sphere: its minimisers with ½λ|s − t|² for ½λ|s|².

        λ is as large as a hollow that the set may bar, and shortens s in all other directions.
        """
        c, left = self.c, MOST_AGAIN if self.rows is None and self.ball is None else 0
        while left > 0 and float(np.linalg.norm(t)) < delta / SLACK:
            self.c = c - shift * t
            way = self(m + shift) - t
            a, b = float(way @ way), float(t @ way)
            if not a > (FAINT * delta) ** 2:
                break
            sphere = (math.sqrt(b * b + a * (delta**2 - float(t @ t))) - b) / a
            t, left = t + min(1.0, sphere) * way, left - 1
        self.c = c
        return t

    def onward(self, m: Array, t: Array, delta: float) -> Array:
        """The lowest of t and the ends of two ways from it along p, the direction of least curvature of its face, or of all."""
        p, left = np.eye(len(m))[0], np.zeros(0)
        if self.rows is not None:
            left = self.rows[1] - self.rows[0] @ t
            left[left <= ROUNDING * self.frame.size] = 0.0
            if not left.all():
                Q = complement(self.rows[0][left == 0].T)
                p = Q @ least_eigenvector((Q.T * m) @ Q) if Q.shape[1] else 0 * p
        ends = [t, self._end(t, p, delta, left), self._end(t, -p, delta, left)]
        return min(ends, key=lambda t: float(self.c @ t + 0.5 * t @ (m * t)))

    def _end(self, t: Array, p: Array, delta: float, left: Array) -> Array:
        """The end of the way from t along p: on the sphere, or at a facet before it; else, by a power of two, a member before it."""
        b = float(t @ p)
        a = max(np.sqrt(max(b * b + delta**2 - float(t @ t), 0.0)) - b, 0.0)
        if self.rows is not None:
            speed = self.rows[0] @ p
            ahead = (speed > 0) & (left > 0)
            return np.asarray(t + np.min(left[ahead] / speed[ahead], initial=a) * p)
        ways = (t + a / 2**k * p for k in range(6))
        return next((y for y in ways if self.frame.sure_to_contain(self.x + self.V @ y)), t)

    @property
    def carrying(self) -> Array:
        """The atoms that carry x + s."""
        return self.atoms[self.held[1:]] if self.rows is None and self.ball is None else self.atoms[:0]


def _within_facets(
    c: Array, m: Array, A: Array, slack: Array, held: NDArray[np.bool_]
) -> tuple[Array, NDArray[np.bool_]]:
    """min ⟨c, s⟩ + ½ Σ m_i s_i² subject to A s ≤ slack, slack ≥ 0, from a guess of the facets that hold s; s and these facets.

    s = −(c + Aᵀλ)/m for the λ of :func:`complementary`; what rounding leaves beyond a facet is cut off.
    """
    free, root = -c / m, np.sqrt(m)
    small = ROUNDING * (np.abs(A) @ np.abs(free) + slack)
    forces, held = complementary(A / root, A @ free - slack, small, held)
    s = free - (forces @ A) / m
    if np.abs(free).max() > LONG * np.abs(s).max():  # what cancellation leaves at the facets that hold s
        s = s - (np.nan_to_num(_equations(A / root, A @ s - slack, held)) @ A) / m
    over = A @ s
    beyond = (over - slack > ROUNDING * (np.abs(A) @ np.abs(s) + slack)) & (slack > 0)
    return s * float(np.min(slack[beyond] / over[beyond], initial=1.0)), held


def complementary(
    P: Array, right: Array, small: Array | float, held: NDArray[np.bool_]
) -> tuple[Array, NDArray[np.bool_]]:
    """argmin ½uᵀKu − ⟨right, u⟩ over u ≥ 0 with K = PPᵀ, from a guess where u > 0; u, and where it is.

    Block principal pivoting exchanges all that is wrong at once: u < 0 leaves, Ku < right − small enters. Where that circles, or
    K is singular there, one at a time enters and u stays above 0 (Lawson and Hanson).
    """
    guess, fewest, patience = held, len(right) + 1, PATIENCE
    for _ in range(MOST_PIVOTS):
        u = _equations(P, right, held)
        wrong = np.where(held, u < -ROUNDING * np.abs(u).max(), right - P @ (u @ P) > small)
        count = int(np.count_nonzero(wrong))
        if np.isnan(u).any():
            break
        if not count:
            return np.maximum(u, 0.0), held
        if (patience := patience - 1 if count >= fewest else PATIENCE) < 0:
            break
        fewest, held = min(fewest, count), held ^ wrong
    return _one_by_one(P, right, small, guess)


def _one_by_one(
    P: Array, right: Array, small: Array | float, held: NDArray[np.bool_]
) -> tuple[Array, NDArray[np.bool_]]:
    """The same, from those of the guess that have u > 0."""
    u = _equations(P, right, held)
    while not u[held].min(initial=1.0) > 0:  # or NaN, and then nothing is left of the guess
        held = held & (u > 0)
        u = _equations(P, right, held)
    held, barred = held.copy(), np.zeros(len(right), dtype=bool)
    for _ in range(3 * len(right)):
        wanting = np.where(held | barred, -np.inf, right - P @ (u @ P) - small)
        enters = int(np.argmax(wanting))
        if wanting[enters] <= 0:
            break
        held[enters] = True
        while True:
            aim = _equations(P, right, held)
            if u[enters] == 0 and not aim[enters] > 0:  # or NaN: it depends on those that are there
                held[enters], barred[enters] = False, True
                break
            down = held & (aim <= 0)
            if not down.any():
                u, barred = aim, barred & False
                break
            t = float(np.min(u[down] / (u[down] - aim[down])))
            u = u + t * (aim - u)
            held &= u > ROUNDING * u.max()
            u = np.where(held, u, 0.0)
    return u, held


def _equations(P: Array, right: Array, held: NDArray[np.bool_]) -> Array:
    """u with PPᵀu = right where it is held and 0 elsewhere; NaN where that is singular."""
    u, at = np.zeros(len(right)), np.flatnonzero(held)
    if len(at):
        rows = P[at]
        u[at] = positive_solve(rows @ rows.T, right[at])
    return u


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
    minimiser = Minimiser.over(frame, x, np.eye(len(x)), x - z, np.zeros((0, len(x))), ACCURACY)
    return x + minimiser(np.ones(len(x)))
