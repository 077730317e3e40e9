"""Lemma 1 (bias of a difference) and Lemma 3 (variance recursion of g_t) of the ZSFW-DVR paper."""

from __future__ import annotations

import numpy as np
import pytest
from sums import Known, example, one_step, robust

import zofw
from zofw.core import Query, Stencil, Task
from zofw.differences import slopes
from zofw.directions import Gaussian
from zofw.papers import ZSFWDVR
from zofw.problems import evaluate

DRAWS = 800


def taus(
    known: Known, x: np.ndarray, mu: float, stencil: Stencil, count: int
) -> tuple[np.ndarray, np.ndarray]:
    """Δ − ⟨∇f, u⟩ along Gaussian directions, and the directions."""
    U = Gaussian().draw(np.random.default_rng(2), known.problem.dim, count)
    query = Query(x, zofw.core.Batch(known.problem.n), U, mu, stencil)
    c = slopes(query, evaluate(known.problem, query))[0]
    return c - U.T @ known.gradient(x), U.columns(0, count)


@pytest.mark.parametrize("stencil", [Stencil.CENTRAL, Stencil.FORWARD])
@pytest.mark.parametrize("mu", [1e-3, 0.1, 3.0])
def test_bias_of_lemma_1(mu: float, stencil: Stencil) -> None:
    """|τ| ≤ Lμ‖u‖²/2 for every direction, and E‖(1/b)Σ τ_j u_j‖² ≤ L²μ²(d + 6)³/4."""
    known = robust(8, 6)
    d, b = 6, 5
    for x in np.random.default_rng(4).standard_normal((4, d)):
        tau, U = taus(known, x, mu, stencil, 2000)
        assert (np.abs(tau) <= 0.5 * known.L * mu * (U**2).sum(axis=0) + 1e-11 / mu).all()
        blocks = (tau * U).reshape(d, -1, b).mean(axis=2)
        assert (blocks**2).sum(axis=0).mean() <= known.L**2 * mu**2 * (d + 6) ** 3 / 4


def test_bound_of_lemma_1_is_reached_by_forward_differences_of_a_quadratic() -> None:
    known = example(6, 0.5)
    mu = 1e-2
    tau, U = taus(known, np.ones(6), mu, Stencil.FORWARD, 50)
    np.testing.assert_allclose(tau, 0.5 * known.L * mu * (U**2).sum(axis=0), rtol=1e-8)
    tau, _ = taus(known, np.ones(6), mu, Stencil.CENTRAL, 50)
    np.testing.assert_allclose(tau, 0.0, atol=1e-11)


def errors(known: Known, method: ZSFWDVR, state: ZSFWDVR.State) -> tuple[np.ndarray, np.ndarray]:
    """‖g_{t+1} − ∇f(x_{t+1})‖² over many draws of one iteration, and whether each was a refresh."""
    task = Task(zofw.L2Ball(2.0), known.problem.dim, known.problem.n)
    target = known.gradient(state.x)
    sample, refreshed = [], []
    for seed in range(DRAWS):
        after, info = one_step(method, known, task, state, np.random.default_rng(seed))
        sample.append(float(((after.g - target) ** 2).sum()))
        refreshed.append(bool(info.numbers["refresh"]))
    return np.array(sample), np.array(refreshed)


def moved(known: Known, gamma: float, noise: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """x_t, x_{t+1} = x_t + γ(s − x_t) across the ball of diameter R = 4, and a g_t that is off."""
    rng = np.random.default_rng(9)
    d = known.problem.dim
    x = rng.standard_normal(d)
    x *= 2 / np.linalg.norm(x)
    return x, x + gamma * (-x - x), known.gradient(x) + noise * rng.standard_normal(d)


@pytest.mark.parametrize("mu", [1e-4, 0.05])
@pytest.mark.parametrize(("gamma", "noise"), [(0.02, 1.0), (0.2, 0.1)])
def test_variance_recursion_of_lemma_3(gamma: float, noise: float, mu: float) -> None:
    known, S, b, p, R = robust(8, 6), 3, 4, 0.5, 4.0
    x, x_next, g = moved(known, gamma, noise)
    method = ZSFWDVR(S, b, p, gamma, mu, initial="paper")
    sample, refreshed = errors(known, method, ZSFWDVR.State(1, x_next, x, g))
    d, L, L_hat = 6, known.L, known.L_hat
    D = d + b + 1
    before = float(((g - known.gradient(x)) ** 2).sum())
    refresh = (
        (1 - b / (2 * D)) * before
        + 6 * D * L**2 * R**2 * gamma**2 / b
        + 2 * b * (d + 6) ** 3 / D * L**2 * mu**2
    )
    difference = (1 + p * b / (4 * D)) * (
        before + (D * L_hat**2 / (b * S) + (d + 1) * L**2 / b) * R**2 * gamma**2
    ) + (1 + 4 * D / (p * b)) * (d + 6) ** 3 * L_hat**2 * mu**2
    lemma = (
        (1 - p * b / (4 * D)) * before
        + (6 * p * D * L**2 / b + 2 * D * L_hat**2 / (b * S) + 2 * (d + 1) * L**2 / b) * R**2 * gamma**2
        + 8 * D * (d + 6) ** 3 / (p * b) * L_hat**2 * mu**2
    )
    assert sample[refreshed].mean() <= refresh
    assert sample[~refreshed].mean() <= difference
    assert sample.mean() <= lemma
    assert abs(refreshed.mean() - p) < 4 * np.sqrt(p * (1 - p) / DRAWS)


def test_both_branches_have_their_exact_expectations_on_a_quadratic() -> None:
    """Refresh: (1 − b/D)‖g − ∇f(x⁺)‖². Difference: ‖g − ∇f(x)‖² + (D/(b|S|))·Var_i Δ_i + ((d + 1)/b)‖Δ‖²."""
    d, S, b, gamma = 6, 2, 4, 0.1
    known = example(d, 0.8)
    x, x_next, g = moved(known, gamma, 1.0)
    method = ZSFWDVR(S, b, 0.5, gamma, 1e-2, initial="paper")
    sample, refreshed = errors(known, method, ZSFWDVR.State(1, x_next, x, g))
    D = d + b + 1
    change = known.gradients(x_next) - known.gradients(x)
    mean = change.mean(axis=0)
    variance = float(((change - mean) ** 2).sum(axis=1).mean())
    exact = {
        True: (1 - b / D) * float(((g - known.gradient(x_next)) ** 2).sum()),
        False: float(((g - known.gradient(x)) ** 2).sum())
        + D / (b * S) * variance
        + (d + 1) / b * float(mean @ mean),
    }
    for branch, expected in exact.items():
        part = sample[refreshed == branch]
        assert abs(part.mean() - expected) <= 4 * part.std() / np.sqrt(len(part))
        assert part.std() / np.sqrt(len(part)) < 0.05 * expected
