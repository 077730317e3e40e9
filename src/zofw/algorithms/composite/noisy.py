r"""Noisy components: one regression of all of them, sampled where their change shows above the noise.

    F_i = c + J u_i + ½ (u_iᵀC_k u_i)_k + ε_i,   C_k ~ τσ_k,   ε_i ~ σ_k √(1 + (θτ|u_i|³)²),   u_i = (y_i − x)/R

The variance τ² of the second derivatives, whose third order follows them, is the one with the largest marginal likelihood: m
components at N points say it well. With P the covariance of a slope in units of the noise, the step minimises the expected

    h(v(x + s)) + ½ Σ h″_k σ_k² · sᵀP s,

so that it does not go where slopes are noise. Where the expected decrease is less than what the noise of the slopes costs,
the next point is along the direction that is known least, as far as the components change by a few times their noise.

References
----------
C. E. Rasmussen, C. K. I. Williams, Gaussian Processes for Machine Learning, MIT Press, 2006, section 2.7.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import replace

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from zofw.algorithms.interpolation.frame import Frame
from zofw.algorithms.interpolation.state import ask
from zofw.algorithms.interpolation.subproblem import nearest
from zofw.core import WORST, Answer, Array, Purpose, Query, Task, objective

from zofw.algorithms.composite.model import Models, outer_of

CURVATURES = 10.0 ** np.arange(-2.0, 7.0)  # τ, in units of the noise
THIRD = 0.3  # θ: the third order at distance R over the second
MOST_POINTS = 80  # or 4(r + 1)
SHOWN = 4.0  # times the noise of all components: the change at a designed point
FARTHER = 10.0  # times the reach of the points so far
FARTHEST = 0.25  # of the diameter
STOCHASTIC = 1e-12
FAILED = 0.1  # of the promised decrease: below, a step failed
SUSPECTED = 2.0  # times the least change between two points: an error of the models that noise may explain
CHANCE = 2.0  # times the noise of the slopes: what is not taken for a signal
SHOW = 2.0  # times the noise of h: a decrease that a value shows
WILD = 1e6  # times the noise near x: a point that noisy is left out
LEAST = 1e-2  # of the mean noise: that of a component at least


def noise_of(first: Array, second: Array) -> tuple[float, float]:
    """Return additive and relative deviation of a component, one of them 0: the likelier by two vectors at one point."""
    change, size = (first - second) / np.sqrt(2), np.maximum(np.abs(first + second) / 2, 1e-300)
    additive, relative = (float(np.sqrt(np.mean(d**2))) for d in (change, change / size))
    spread = np.log(max(additive, 1e-300)), np.log(max(relative, 1e-300)) + float(np.mean(np.log(size)))
    return (additive, 0.0) if spread[0] <= spread[1] or relative >= 1 else (0.0, relative)


def suspected(before: Models, state: Models) -> bool:
    """Return True if the last step failed by no more than noise explains: two vectors then differ by that at least."""
    if state.ratio == before.ratio or state.ratio >= FAILED or not np.isnan(state.noise):
        return False
    error = state.vectors[-1] - before.at(state.points[-1] - before.z)
    V = before.vectors[before.chosen]
    squares = (V**2).sum(1)
    apart = squares[:, None] + squares - 2 * V @ V.T
    apart[np.diag_indices(len(V))] = np.inf
    return bool(float(error @ error) <= SUSPECTED * float(apart.min()))


def repeat(task: Task, frame: Frame, state: Models) -> Generator[Query, Answer, Models]:
    """Ask for the best point once more: do components repeat?"""
    answer = yield Query(state.lowest, task.all, purpose=Purpose.NOISE, each=task.each)
    again, before = answer.values, state.vectors[state.best]
    change = np.abs(again[0] - before).max()
    if not change > STOCHASTIC * np.abs(before).max() or again.max() >= WORST:
        return replace(state, noise=0.0)
    noises = noise_of(again[0], before)
    state = replace(
        state, noises=noises, noise=1.0, regime="regression",
        points=np.vstack([state.points, state.z]), vectors=np.vstack([state.vectors, again]),
        values=np.append(state.values, objective(task.outer, again)),
    )  # fmt: skip
    return fitted(frame, state)


def advance(task: Task, frame: Frame, state: Models) -> Generator[Query, Answer, Models]:
    """One more point: at the minimiser of the models, or where they are known least."""
    h = outer_of(frame)
    found = state.step(frame)
    sigma, slope = state.sigma, h.slope(state.base)
    allowed = float(np.linalg.norm(slope * sigma))
    if found.decrease > (min(SHOW * allowed, _loss(state, allowed)) if state.ratio >= FAILED else _loss(state, allowed)):
        before, length = float(h.of(state.base[None])[0]), float(np.linalg.norm(found.s))
        state = yield from ask(task, frame, state, state.z[None, :] + found.s)
        ratio = (before - float(state.values[-1]) + allowed) / (found.decrease + allowed)
        delta = state.delta
        if ratio < FAILED:
            delta = delta / 2
        elif ratio > 0.7:
            delta = max(delta, 2 * length)
        state = replace(state, delta=delta, ratio=ratio)
    else:
        state = yield from ask(task, frame, state, _design(frame, state, sigma)[None, :])
        state = replace(state, ratio=1.0)
    return fitted(frame, state)


def estimate(frame: Frame, state: Models) -> Array:
    """Return the minimiser of the models where values could not show that it is lower, the best point otherwise."""
    h = outer_of(frame)
    found = state.step(frame)
    allowed = float(np.linalg.norm(h.slope(state.base) * state.sigma))
    return frame.member(state.z + found.s) if found.decrease <= SHOW * allowed else state.lowest


def _loss(state: Models, allowed: float) -> float:
    """Return what the noise of the slopes costs at the minimiser, about."""
    bend, V = np.linalg.eigh(state.H)
    variance = allowed**2 * np.einsum("ij,ik,kj->j", V, state.P, V)
    return 0.5 * float(np.minimum(variance / np.maximum(bend, 1e-300), 2 * np.sqrt(variance) * state.delta).sum())


def _signal(state: Models, sigma: Array) -> Array:
    """Return Σ J_kᵀJ_k/σ_k² without what noise adds to it."""
    J = state.J / sigma[:, None]
    w, V = np.linalg.eigh(J.T @ J - CHANCE * len(J) * state.P)
    return (V * np.maximum(w, 1e-12 * max(w.max(), 1e-300))) @ V.T


def _design(frame: Frame, state: Models, sigma: Array) -> Array:
    """Return the member along the direction whose slope is known least for what it changes."""
    W, m = _signal(state, sigma), len(sigma)
    w, V = np.linalg.eigh(W)
    V /= np.sqrt(np.maximum(w, 1e-10 * w[-1]) + m / (FARTHEST * state.size) ** 2)
    u = V @ np.linalg.eigh(V.T @ state.P @ V)[1][:, -1]
    u /= np.linalg.norm(u)
    shown = np.sqrt(SHOWN * m / max(float(u @ W @ u), 1e-300))
    reach = FARTHER / np.sqrt(max(float(u @ state.P @ u), 1e-300))
    step = min(shown, reach, FARTHEST * state.size) * u
    h = outer_of(frame)
    ends = [z if frame.sure_to_contain(z) else nearest(frame, state.z, z) for z in (state.z + step, state.z - step)]
    far = [abs(float((z - state.z) @ u)) for z in ends]
    if min(far) < 0.5 * max(far):
        return ends[int(np.argmax(far))]
    return min(ends, key=lambda z: float(h.of(state.at(z - state.z)[None])[0]))


def fitted(frame: Frame, state: Models) -> Models:
    """Return the regression around the point with the least h of the fitted components."""
    h, r, R = outer_of(frame), len(state.g), state.delta
    sound = np.flatnonzero(state.values < WORST)
    away = np.linalg.norm(state.points[sound] - state.z, axis=1)
    chosen = sound[np.argsort(away, kind="stable")[: max(MOST_POINTS, 4 * (r + 1))]]
    near = state.deviation(state.vectors[chosen[: r + 2]])
    sigma = np.sqrt(np.mean(near**2, axis=0))
    sigma = np.maximum(sigma, LEAST * float(np.sqrt(np.mean(sigma**2))))
    w = np.array([np.mean((state.deviation(v) / sigma) ** 2) for v in state.vectors[chosen]])
    chosen, w = chosen[w <= WILD**2], w[w <= WILD**2]
    U, F = (state.points[chosen] - state.z) / R, (state.vectors[chosen] - state.vectors[state.best]) / sigma
    E = np.column_stack([np.ones(len(U)), U])
    found = max((_regressed(U, E, F, w, tau) for tau in CURVATURES), key=lambda one: one[0])
    _, tau, beta, lam, cov = found
    values = state.vectors[state.best] + (F - w[:, None] * lam) * sigma
    i = int(np.argmin(h.of(values)))
    C = tau**2 * np.einsum("ik,ia,ib->kab", lam * sigma, U, U, optimize=True) / R**2
    J = (beta[1:] * sigma).T / R + C @ (U[i] * R)
    bend = h.curvature(values[i])
    P = cov[1:, 1:] / R**2
    doubt = (0.0 if bend is None else float(bend @ sigma**2)) * P
    best = int(chosen[i])
    state = replace(
        state, chosen=chosen, best=best, lowest=frame.member(state.points[best]), base=values[i], J=J, C=C, P=P, doubt=doubt, sigma=sigma
    )
    g, H = state.quadratic(h, np.zeros(r))
    state = replace(state, g=g, H=H)
    W = float(np.linalg.eigvalsh(_signal(state, sigma))[-1])
    least = min(np.sqrt(SHOWN * len(sigma) / W), FARTHER / np.sqrt(np.linalg.eigvalsh(P)[0]), FARTHEST * state.size)
    return replace(state, delta=max(state.delta, float(least)))


def _regressed(U: Array, E: Array, F: Array, w: Array, tau: float) -> tuple[float, float, Array, Array, Array]:
    """Return log-likelihood, τ, (c, J), weights of the points and covariance of (c, J)."""
    root = 1 / np.sqrt(w + (THIRD * tau) ** 2 * (U**2).sum(1) ** 3)[:, None]
    E, F = root * E, root * F
    K = root * (0.5 * tau**2 * (U @ U.T) ** 2) * root.T
    K[np.diag_indices(len(U))] += 1.0
    factor = cho_factor(K, lower=True)
    KE, KF = cho_solve(factor, E), cho_solve(factor, F)
    M = E.T @ KE
    M[np.diag_indices(len(M))] += 1e-12 * np.trace(M)
    cov = np.linalg.inv(M)
    beta = cov @ (E.T @ KF)
    lam = KF - KE @ beta
    logs = 2 * np.log(np.diagonal(factor[0])).sum() - 2 * np.log(root).sum() + np.linalg.slogdet(M)[1]
    return -0.5 * (F.shape[1] * logs + float((F * lam).sum())), tau, beta, root * lam, cov
