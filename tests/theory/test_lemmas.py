"""Lemmas 2 and 4 of the ZSFW-DVR paper, step by step along a run, and the variance lemma behind Theorem 2."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from sums import Known, example, robust, run

import zofw
from zofw.papers import ZSFWDVR
from zofw.schedules import Constant, Stich

REGION, R = zofw.L2Ball(1.0), 2.0


def played(known: Known, gamma: float, T: int) -> list[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """(x_t, x_{t+1}, g_t) of a run with a constant step, p = 1/5."""
    method = ZSFWDVR(3, 4, 0.2, gamma, 1e-3, initial="paper")
    states = run(method, known, REGION, REGION.lmo(np.ones(known.problem.dim)), T, 1)
    return [(a.x, b.x, b.g) for a, b in itertools.pairwise(states)]


@pytest.mark.parametrize("gamma", [0.02, 0.3])
@pytest.mark.parametrize("alpha", [0.05, 1.0])
def test_lemma_2(alpha: float, gamma: float) -> None:
    """f(x⁺) − f* ≤ (1 − γ)(f(x) − f*) + α‖g − ∇f(x)‖² + γ²R²/(2α) + Lγ²R²/2 for convex f, at every step."""
    known, f_star = example(6, 0.8), 0.0
    for x, after, g in played(known, gamma, 60):
        error = float(((g - known.gradient(x)) ** 2).sum())
        bound = (1 - gamma) * (known.value(x) - f_star) + alpha * error
        bound += gamma**2 * R**2 / (2 * alpha) + known.L * gamma**2 * R**2 / 2
        assert known.value(after) - f_star <= bound + 1e-12


def test_lemma_2_is_tight_enough_to_notice() -> None:
    """With the exact gradient, α → 0 is allowed, and a step twice as long as stated breaks the bound somewhere."""
    known, gamma, broken = example(6, 0.8), 0.3, 0
    x = REGION.lmo(np.ones(6))
    for _ in range(30):
        s = REGION.lmo(known.gradient(x))
        stated = (1 - gamma) * known.value(x) + known.L * gamma**2 * R**2 / 2
        assert known.value(x + gamma * (s - x)) <= stated + 1e-12
        broken += known.value(x + 3 * gamma * (s - x)) > stated
        x = x + gamma * (s - x)
    assert broken > 0


@pytest.mark.parametrize("gamma", [0.02, 0.3])
def test_lemma_4(gamma: float) -> None:
    """γ⟨∇f(x), x − v⟩ ≤ f(x) − f(x⁺) + γR‖∇f(x) − g‖ + LR²γ²/2 for every v in X, f not convex."""
    known = robust(9, 6)
    for x, after, g in played(known, gamma, 60):
        true = known.gradient(x)
        gap = float(true @ (x - REGION.lmo(true)))  # the worst v
        bound = known.value(x) - known.value(after) + gamma * R * float(np.linalg.norm(true - g))
        assert gamma * gap <= bound + known.L * R**2 * gamma**2 / 2 + 1e-12


@pytest.mark.parametrize("p", [0.1, 0.25, 0.9])
def test_variance_lemma_behind_theorem_2(p: float) -> None:
    """E‖g_{t+1} − ∇f(x_{t+1})‖² ≤ (1 − pb/4D)^{t+1}‖g_0 − ∇f(x_0)‖² + (32D²L²/(pb²) + 40D²L̂²/(p|S|b²))R²/T."""
    d, b, S, T = 6, 4, 3, 80
    known, D = robust(9, d), 6 + 4 + 1
    method = ZSFWDVR.nonconvex(d, R, batch_size=S, directions=b, refresh_probability=p, iterations=T)
    runs = [run(method, known, REGION, REGION.lmo(np.ones(d)), T, seed) for seed in range(6)]
    errors = np.array(
        [[float(((s.g - known.gradient(s.before)) ** 2).sum()) for s in states[1:]] for states in runs]
    )  # (seed, t): ‖g_t − ∇f(x_t)‖²
    lasting = (32 * D**2 * known.L**2 / (p * b**2) + 40 * D**2 * known.L_hat**2 / (p * S * b**2)) * R**2 / T
    for t in range(1, T):
        decay = (1 - p * b / (4 * D)) ** t
        assert errors[:, t].mean() <= decay * errors[:, 0].mean() + lasting
    # the memory works: the error falls below that of a fresh estimate, (d + 1)/b of ‖∇f‖²
    last = np.mean([float((known.gradient(states[-1].x) ** 2).sum()) for states in runs])
    assert errors[:, -20:].mean() < (d + 1) / b * last


def test_lemma_of_stich_for_its_schedule() -> None:
    """r_{t+1} = (1 − γ_t) r_t + cγ_t² keeps r_{T+1} ≤ 32 a r_0 exp(−T/2a) + 36c/T."""
    a, c, r0 = 50.0, 1.0, 1e12
    for T in (40, 400, 4000):
        schedule = Stich(1 / a, math.ceil(T / 2)) if a < T else Constant(1 / a)
        r = r0
        for t in range(T + 1):
            r = (1 - schedule(t)) * r + c * schedule(t) ** 2
        assert r <= 32 * a * r0 * math.exp(-T / (2 * a)) + 36 * c / T
    assert [Stich(0.02, 200)(t) for t in (0, 199, 200, 300)] == [0.02, 0.02, 0.02, 0.01]
