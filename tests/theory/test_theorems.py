"""Theorems 1 and 2 of the ZSFW-DVR paper and the rates of its neighbours: bounds in the mean, and slopes."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from sums import Known, example, robust, run, slope

import zofw
from zofw.papers import ZOFW, ZSFWDVR, AcceleratedZSCG

SEEDS = range(3)
SETS = {
    "l1": zofw.L1Ball(2.0),
    "l2": zofw.L2Ball(1.0),
    "simplex": zofw.Simplex(),
    "nuclear": zofw.NuclearBall(1.5, (2, 3)),
}


def minimum_of_example(region: Any, known: Known) -> float:
    """½(1 + a)‖x‖² is least at 0, or at the centre of the simplex."""
    d = known.problem.dim
    return 0.5 * known.L / d if isinstance(region, zofw.Simplex) else 0.0


def lyapunov(known: Known, f_star: float, p: float, S: int, state: Any) -> float:
    """Ψ_t from the state after iteration t, which holds g_t and x_t."""
    error = float(((state.g - known.gradient(state.before)) ** 2).sum())
    return (
        known.value(state.before)
        - f_star
        + 2 / math.sqrt(p * known.L_hat**2 / S + 4 * p * known.L**2) * error
    )


@pytest.mark.parametrize("a", [0.1, 5.0])
@pytest.mark.parametrize("where", SETS)
def test_bound_of_theorem_1(where: str, a: float) -> None:
    """E Ψ_{T+1} ≤ 2⁸D/(pb) Ψ_0 exp(−Tpb/16D) + 36(22(D/b)√(L̂²/(p|S|) + 4L²/p) + L/2)R²/T."""
    region, d, b, p, S, T = SETS[where], 6, 6, 0.5, 2, 150
    known = example(d, a)
    assert known.L_hat / known.L == pytest.approx((1 + d * a) / (1 + a))
    R, D, f_star = region.diameter(d), d + b + 1, minimum_of_example(SETS[where], example(d, a))
    method = ZSFWDVR.convex(
        d, R, batch_size=S, directions=b, refresh_probability=p, iterations=T, L=known.L, L_hat=known.L_hat
    )
    x0 = region.lmo(np.arange(1.0, d + 1))
    runs = [run(method, known, region, x0, T + 2, seed) for seed in SEEDS]
    first, last = (np.mean([lyapunov(known, f_star, p, S, states[k]) for states in runs]) for k in (1, T + 2))
    decaying = 2**8 * D / (p * b) * first * math.exp(-T * p * b / (16 * D))
    root = math.sqrt(known.L_hat**2 / (p * S) + 4 * known.L**2 / p)
    lasting = 36 * (22 * D / b * root + known.L / 2) * R**2 / T
    assert last <= decaying + lasting
    assert last < first


def test_slope_of_theorem_1() -> None:
    """Ψ_T falls like 1/T once T exceeds the memory of g: log-log slope at most −1, but for noise."""
    d, b, p, S = 4, 12, 0.5, 2
    known, region = example(d, 0.5), zofw.L2Ball(1.0)
    x0 = region.lmo(np.arange(1.0, d + 1))
    steps, errors = [80, 160, 320, 640], []
    for T in steps:
        method = ZSFWDVR.convex(
            d,
            2.0,
            batch_size=S,
            directions=b,
            refresh_probability=p,
            iterations=T,
            L=known.L,
            L_hat=known.L_hat,
        )
        last = [run(method, known, region, x0, T + 2, seed)[-1] for seed in SEEDS]
        errors.append(float(np.mean([lyapunov(known, 0.0, p, S, state) for state in last])))
    assert slope(steps, errors) <= -0.95


def frank_wolfe_gap(known: Known, region: Any, x: np.ndarray) -> float:
    g = known.gradient(x)
    return float(g @ (x - region.lmo(g)))


def mean_gap(known: Known, region: Any, T: int, b: int, p: float, S: int) -> tuple[float, float]:
    """Mean over seeds of (1/T) Σ gap(x_t), and of ‖g_0 − ∇f(x_0)‖."""
    d = known.problem.dim
    method = ZSFWDVR.nonconvex(
        d, region.diameter(d), batch_size=S, directions=b, refresh_probability=p, iterations=T
    )
    gaps, starts = [], []
    for seed in SEEDS:
        states = run(method, known, region, region.initial_point(d), T, seed)
        gaps.append(np.mean([frank_wolfe_gap(known, region, state.x) for state in states[:T]]))
        starts.append(np.linalg.norm(states[1].g - known.gradient(states[0].x)))
    return float(np.mean(gaps)), float(np.mean(starts))


@pytest.mark.parametrize("where", SETS)
def test_bound_of_theorem_2(where: str) -> None:
    """The mean gap over t < T is at most the four terms of the theorem; f ≥ 0 stands for f(x*)."""
    region, T, b, p, S, d = SETS[where], 120, 3, 0.5, 3, 6
    known = robust(9, d)
    gap, start = mean_gap(known, region, T, b, p, S)
    R, D = region.diameter(d), d + b + 1
    bound = (
        known.value(region.initial_point(d)) / math.sqrt(T)
        + 8 * D * R * start / (p * b * T)
        + math.sqrt(32 * D**2 * known.L**2 / (p * b**2) + 40 * D**2 * known.L_hat**2 / (p * S * b**2))
        * R**2
        / math.sqrt(T)
        + known.L * R**2 / (2 * math.sqrt(T))
    )
    assert gap <= bound


def test_slope_of_theorem_2() -> None:
    """The mean gap falls at least like 1/√T."""
    known, region = robust(9, 6), zofw.L2Ball(1.0)
    steps = [40, 80, 160, 320]
    gaps = [mean_gap(known, region, T, b=6, p=0.5, S=3)[0] for T in steps]
    assert slope(steps, gaps) <= -0.5


def test_deterministic_zo_fw_keeps_its_bound_at_every_iteration() -> None:
    """F(x_t) − F* ≤ max{2(F(x_0) − F*), 4LR²}/(t + 2)."""
    d, region = 5, zofw.L1Ball(1.0)
    known = example(d, 0.5)
    x0 = region.lmo(np.arange(1.0, d + 1))
    states = run(ZOFW.paper(d, known.L), known, region, x0, 60, 0)
    Q = max(2 * known.value(x0), 4 * known.L * region.diameter(d) ** 2)
    for t, state in enumerate(states):
        assert known.value(state.x) <= Q / (t + 2)


def test_accelerated_zscg_keeps_its_bound_in_the_mean() -> None:
    """E f(z_N) − f* ≤ 12LD_0/(N(N + 1)) with the paper's batches."""
    d, N, region = 4, 6, zofw.L2Ball(1.0)
    known = example(d, 0.5)
    x0 = region.lmo(np.arange(1.0, d + 1))
    # on the ball ‖∇f‖ ≤ L, ‖∇f_i − ∇f‖ ≤ L̂: B ≥ √(L² + L̂²)/L
    B = math.sqrt(known.L**2 + known.L_hat**2) / known.L
    method = AcceleratedZSCG.paper(d, N, L=known.L, distance=1.0, B=B)
    gaps = [known.value(run(method, known, region, x0, N, seed)[-1].x) for seed in range(2)]
    assert np.mean(gaps) <= 12 * known.L / (N * (N + 1))
