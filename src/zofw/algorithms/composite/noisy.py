r"""Noisy components: one regression of all of them, sampled where their change shows above the noise.

    v_k(y_i) = c_k + J_k u_i + ½ u_iᵀC_k u_i + ε,    C_k ~ τσ_k,  ε ~ σ_k √(w_i + (θτ|u_i|³)²),    u_i = (y_i − x)/Δ

    repeat  τ by the largest marginal likelihood; x = the point with the least h of the fitted components
            s = argmin of h(v(x + s)) + ½ Σ h″_k σ_k² · sᵀP s within Δ, the expected h with P the covariance of a slope
            ask x + s where h falls visibly; else a point along the direction that is known least for what it changes,
            as far as the components change by a few times their noise

m components at N points say well what is noise and what is curvature, whose third order grows with it. σ comes from the first point,
which is asked for twice. Δ stays above the length where noise hides all, and grows where a step of that length shows no decrease.

References
----------
C. E. Rasmussen, C. K. I. Williams, Gaussian Processes for Machine Learning, MIT Press, 2006, section 2.7.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple, cast

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from zofw.algorithms.composite.model import Models, outer_of
from zofw.algorithms.interpolation.design import first_points
from zofw.algorithms.interpolation.frame import Frame
from zofw.algorithms.interpolation.state import Action, ask
from zofw.algorithms.interpolation.subproblem import nearest
from zofw.core import WORST, Array, Indices, Purpose, Query, Task, objective

CURVATURES = 10.0 ** np.arange(-2.0, 7.0)  # τ that are tried
THIRD = 0.3  # θ
MOST_POINTS = 80  # of a regression, or 4(r + 1)
WILD = 1e6  # times the noise near x: that of a point at most
LEAST = 1e-2  # of the mean noise: that of a component, or the variance of a point, at least
FAILED = 0.1  # of the promised decrease: below, a step failed
GOOD = 0.7
SHARES = (0.01, 0.15)  # of the width: the first radius, by the root of the share of noise
EDGE = 0.9  # of Δ: a step of that length that shows no decrease could with a larger Δ
STOCHASTIC = 1e-12  # of a value: two at one point differ by more than rounding
SHOW = 2.0  # times the noise of h: a decrease that a value shows
SHOWN = 4.0  # times the noise of all components: the change at a designed point
CHANCE = 2.0  # times what noise adds to JᵀJ: that is no signal
FARTHER = 10.0  # times the reach of the points so far: a designed point at most
FARTHEST = 0.25  # of the diameter: likewise
WORSE = 0.5  # of the reach: an end that the set cuts shorter is not taken


class Regression(NamedTuple):
    """A fit at one τ."""

    likelihood: float  # its logarithm
    tau: float
    beta: Array  # (1 + r, M): c and J, in units of the noise and of Δ
    weights: Array  # (N, M): K⁻¹ times the residuals
    covariance: Array  # of a column of beta


def repeat(task: Task, frame: Frame, state: Models) -> Action:
    """Ask for the first point once more; if components do not repeat, the first points are as far as the noise is large."""
    again = (yield Query(state.lowest, task.all, purpose=Purpose.NOISE, each=task.each)).values
    twice = compared(replace(
        state, points=np.vstack([state.points, state.z]), vectors=np.vstack([state.vectors, again]),
        values=np.append(state.values, objective(task.outer, again)),
    ), state.best)  # fmt: skip
    if not twice.noise > 0:
        return replace(state, noise=0.0)
    before = state.vectors[state.best]
    share = np.sqrt(np.linalg.norm(twice.deviation(before)) / (np.linalg.norm(before) + 1e-300))
    state = replace(twice, delta=float(np.clip(share, *SHARES)) * state.width)
    edges = first_points(frame, state.z, state.delta)[: int(task.remaining // task.n)]
    return fitted(frame, cast(Models, (yield from ask(task, frame, state, edges))))


def compared(state: Models, i: int) -> Models:
    """Set the noise by the vectors of point i and the last one, which is the same."""
    first, again = state.vectors[i], state.vectors[-1]
    same = np.abs(again - first).max() <= STOCHASTIC * np.abs(first).max()
    if same or max(again.max(), first.max()) >= WORST:
        return replace(state, noise=0.0)
    noise = float(np.abs(state.values[-1] - state.values[i]))
    return replace(state, regime="regression", noises=noise_of(again, first), noise=max(noise, 1e-300))


def noise_of(first: Array, second: Array) -> tuple[float, float]:
    """Return the additive and the relative deviation of a component, one of them 0: the likelier by two vectors at one point."""
    change, size = (first - second) / np.sqrt(2), np.maximum(np.abs(first + second) / 2, 1e-300)
    additive, relative = (float(np.sqrt(np.mean(d**2))) for d in (change, change / size))
    spreads = np.log(max(additive, 1e-300)), np.log(max(relative, 1e-300)) + float(np.mean(np.log(size)))
    return (additive, 0.0) if relative >= 1 or spreads[0] <= spreads[1] else (0.0, relative)


def advance(task: Task, frame: Frame, state: Models) -> Action:
    """One more point: at the minimiser of the models, or where they are known least."""
    found = state.step(frame)
    before, noise, delta = _value(frame, state), _noise(frame, state), state.delta
    dear = _loss(state, noise)
    W = int(max(1, min(task.points_at_once, task.remaining // task.n)))
    clear = found.decrease > (min(SHOW * noise, dear) if state.ratio >= FAILED else dear)
    Z = np.vstack([state.z + found.s] * clear + _designs(frame, state, W - clear))
    first, length = len(state.values), float(np.linalg.norm(found.s))
    state = cast(Models, (yield from ask(task, frame, state, Z)))
    ratio = (before - float(state.values[first]) + noise) / (found.decrease + noise) if clear else 1.0
    if ratio < FAILED:
        delta = delta / 2
    elif clear and ratio > GOOD:
        delta = max(delta, 2 * length)
    elif not clear and length > EDGE * delta:
        delta = min(2 * delta, FARTHEST * state.size)
    return fitted(frame, replace(state, delta=delta, ratio=ratio))


def estimate(frame: Frame, state: Models) -> tuple[Array, float]:
    """Return the minimiser of the models where no value could show that it is lower, the best point otherwise; and the noise of h."""
    found, noise = state.step(frame), _noise(frame, state)
    return frame.member(state.z + found.s) if found.decrease <= SHOW * noise else state.lowest, noise


def _value(frame: Frame, state: Models) -> float:
    """Return h at the best point as values show it: noise adds ½ Σ h″_k σ_k²."""
    h = outer_of(frame)
    bend = h.curvature(state.centre)
    more = 0.0 if bend is None else 0.5 * float(bend @ state.sigma**2)
    return float(h.of(state.centre[None])[0]) + more


def _noise(frame: Frame, state: Models) -> float:
    """Return the deviation of h at the best point."""
    return float(np.linalg.norm(outer_of(frame).slope(state.centre) * state.sigma))


def _loss(state: Models, noise: float) -> float:
    """Return about what the noise of the slopes costs at the minimiser, along each eigenvector of H within Δ."""
    bend, V = np.linalg.eigh(state.H)
    slopes = noise * np.sqrt(np.maximum(np.einsum("ij,ik,kj->j", V, state.P, V), 0.0))
    with np.errstate(over="ignore"):  # then the region limits the loss
        curved = 0.5 * slopes**2 / np.maximum(bend, 1e-300)
    return float(np.minimum(curved, slopes * state.delta).sum())


def _signal(state: Models) -> tuple[Array, Array]:
    """Return eigenvalues and eigenvectors of Σ J_kᵀJ_k/σ_k², without what noise adds to it."""
    J = state.J / state.sigma[:, None]
    w, V = np.linalg.eigh(J.T @ J - CHANCE * len(J) * state.P)
    return np.maximum(w, 1e-10 * max(float(w[-1]), 1e-200)), V


def _designs(frame: Frame, state: Models, count: int) -> list[Array]:
    """Return members along the directions whose slopes are known least for what they change, then at half the distance, ….

    The end of each direction that goes where the models are lower comes first, unless the set cuts it shorter.
    """
    (w, V), m, h = _signal(state), len(state.sigma), outer_of(frame)
    V = V / np.sqrt(w + m / (FARTHEST * state.size) ** 2)
    ways = (V @ np.linalg.eigh(V.T @ state.P @ V)[1][:, ::-1]).T
    found: list[Array] = []
    share = 1.0
    while len(found) < count:
        for u in ways[: count - len(found)]:
            step = share * _length(state, u / np.linalg.norm(u)) * u / np.linalg.norm(u)
            ends = [state.z + step, state.z - step]
            ends = [z if frame.sure_to_contain(z) else nearest(frame, state.z, z) for z in ends]
            far = [abs(float((z - state.z) @ u)) for z in ends]
            lower = np.argmin(h.of(np.array([state.at(z - state.z) for z in ends])))
            found.append(np.asarray(ends[int(np.argmax(far) if min(far) < WORSE * max(far) else lower)]))
        share /= -2
    return found


def _length(state: Models, u: Array) -> float:
    """Return how far along u the components change by a few times their noise, as far as points so far say."""
    J, doubt, m = state.J @ u / state.sigma, float(u @ state.P @ u), len(state.sigma)
    shown = np.sqrt(SHOWN * m / max(float(J @ J) - CHANCE * m * doubt, 1e-300))
    return float(min(shown, FARTHER / np.sqrt(max(doubt, 1e-300)), FARTHEST * state.size))


def fitted(frame: Frame, state: Models) -> Models:
    """Return the regression around the point with the least h of the fitted components."""
    h, r, R = outer_of(frame), len(state.g), state.delta
    chosen, sigma, w = _near(state)
    U, base = (state.points[chosen] - state.z) / R, state.vectors[state.best]
    F = state.changes(chosen) / sigma
    found = max((_regressed(U, F, w, tau) for tau in CURVATURES), key=lambda one: one.likelihood)
    without_noise = base + (F - w[:, None] * found.weights) * sigma
    i = int(np.argmin(h.of(without_noise)))
    C = (found.tau / R) ** 2 * np.einsum("ik,ia,ib->kab", found.weights * sigma, U, U, optimize=True)
    J, P = (found.beta[1:] * sigma).T / R + C @ (U[i] * R), found.covariance[1:, 1:] / R**2
    bend, best = h.curvature(without_noise[i]), int(chosen[i])
    state = replace(
        state, chosen=chosen, best=best, lowest=frame.member(state.points[best]), centre=without_noise[i], sigma=sigma,
        J=J, C=C, P=P, doubt=(0.0 if bend is None else float(bend @ sigma**2)) * P,
    )  # fmt: skip
    g, H = state.quadratic(h, np.zeros(r))
    shown = np.sqrt(SHOWN * len(sigma) / _signal(state)[0][-1])
    least = min(float(shown), FARTHER / np.sqrt(max(np.linalg.eigvalsh(P)[0], 1e-300)), FARTHEST * state.size)
    return replace(state, g=g, H=H, delta=max(state.delta, float(least)))


def _near(state: Models) -> tuple[Indices, Array, Array]:
    """Return the points of the regression, the noise of every component near x, and the variance of every point's over that."""
    sound, r = np.flatnonzero(state.values < WORST), len(state.g)
    away = np.linalg.norm(state.points[sound] - state.z, axis=1)
    chosen = sound[np.argsort(away, kind="stable")[: max(MOST_POINTS, 4 * (r + 1))]]
    noises = np.array([state.deviation(v) for v in state.vectors[chosen]])
    sigma = np.sqrt(np.mean(noises[: r + 2] ** 2, axis=0))
    sigma = np.maximum(sigma, LEAST * float(np.sqrt(np.mean(sigma**2))))
    w = np.clip(np.mean((noises / sigma) ** 2, axis=1), LEAST, WILD**2)
    return chosen, sigma, w


def _regressed(U: Array, F: Array, w: Array, tau: float) -> Regression:
    """Return the fit to components F, (N, M), at points U, all in units of the noise, whose rows have variances w."""
    root = 1 / np.sqrt(w + (THIRD * tau) ** 2 * (U**2).sum(1) ** 3)[:, None]
    E, F = root * np.column_stack([np.ones(len(U)), U]), root * F
    K = root * (0.5 * tau**2 * (U @ U.T) ** 2) * root.T + np.eye(len(U))
    factor = cho_factor(K, lower=True)
    KE, KF = cho_solve(factor, E), cho_solve(factor, F)
    m, V = np.linalg.eigh(E.T @ KE)
    m = np.maximum(m, STOCHASTIC * m[-1])
    covariance = (V / m) @ V.T
    beta = covariance @ (E.T @ KF)
    weights = KF - KE @ beta
    logs = 2 * np.log(np.diagonal(factor[0]) / root[:, 0]).sum() + np.log(m).sum()
    likelihood = -0.5 * (F.shape[1] * float(logs) + float((F * weights).sum()))
    return Regression(likelihood, tau, beta, root * weights, covariance)
