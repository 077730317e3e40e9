"""The schedules of the ZSFW-DVR paper against numbers worked out by hand, none of them from the library's formulas."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from sums import example, run

import zofw
from zofw.papers import ZSFWDVR

# d = 10, R = 2, |S| = 4: (d + 6)³ = 4096 and (d + 6)^(3/2) = 64
SIZES = {"batch_size": 4, "directions": 5}


def test_theorem_2() -> None:
    """p = 1/4, T = 100: γ = 1/10 and μ = 2√(1/4/(4·4096·100)) = 2·√(2⁻¹⁶/100) = 2·2⁻⁸/10 = 7.8125e-4."""
    method = ZSFWDVR.nonconvex(10, 2.0, refresh_probability=0.25, iterations=100, **SIZES)
    assert [method.step_size(t) for t in (0, 99)] == [0.1, 0.1]
    assert method.radius == pytest.approx(7.8125e-4, rel=1e-12)
    # four times the iterations: half of both; sixteen times p: four times μ
    longer = ZSFWDVR.nonconvex(10, 2.0, refresh_probability=0.25, iterations=400, **SIZES)
    assert (longer.step_size(0), longer.radius) == (0.05, pytest.approx(3.90625e-4, rel=1e-12))
    rarer = ZSFWDVR.nonconvex(10, 2.0, refresh_probability=0.015625, iterations=100, **SIZES)
    assert rarer.radius == pytest.approx(1.953125e-4, rel=1e-12)
    assert (rarer.batch_size, rarer.directions, rarer.refresh_probability) == (4, 5, 0.015625)


def test_theorem_1() -> None:
    """p = 1/4, b = 5, D = 16: γ = 1.25/128 = 0.009765625 until ⌈T/2⌉, then 2/(204.8 + t − ⌈T/2⌉).

    μ = √(1/16 + 1/4)·2γ/64 with L = 1, L̂ = 2: √0.3125 = 0.5590169943749475.
    """
    constants = {"L": 1.0, "L_hat": 2.0, "refresh_probability": 0.25, **SIZES}
    method = ZSFWDVR.convex(10, 2.0, iterations=401, **constants)
    gammas = [method.step_size(t) for t in (0, 200, 201, 202, 400)]
    assert gammas == pytest.approx([0.009765625, 0.009765625, 0.009765625, 2 / 205.8, 2 / 403.8], rel=1e-12)
    assert method.radius(0) == pytest.approx(1.7059844799e-4, rel=1e-9)
    assert method.radius(400) == pytest.approx(0.017469281074217 * 2 / 403.8, rel=1e-9)
    # T ≤ 8D/(pb) = 102.4: one phase
    short = ZSFWDVR.convex(10, 2.0, iterations=102, **constants)
    assert [short.step_size(t) for t in (0, 60, 101)] == [0.009765625] * 3


def test_experiments() -> None:
    """γ_t = lr/(t + 1), at most 1; constant lr for the attacks; plain g_0 and Gaussian directions."""
    method = ZSFWDVR.paper(200, 20, 1 / 180, 2.0)
    assert [method.step_size(t) for t in (0, 1, 3, 9, 99)] == [1.0, 1.0, 0.5, 0.2, 0.02]
    assert (method.batch_size, method.directions, method.refresh_probability) == (200, 20, 1 / 180)
    assert method.initial == "paper" and method.law == zofw.directions.Gaussian()
    attack = ZSFWDVR.paper(33, 28, 1 / 33, 0.05, constant=True)
    assert [attack.step_size(t) for t in (0, 1000)] == [0.05, 0.05]


@pytest.mark.parametrize("constructor", ["convex", "nonconvex"])
def test_a_run_takes_the_steps_of_its_theorem(constructor: str) -> None:
    """x_{t+1} − x_t = γ_t (s_t − x_t) with γ_t by hand and s_t the vertex of g_t, for p = 1/8."""
    d, T, b, p = 6, 30, 6, 0.125
    known, region = example(d, 0.5), zofw.L2Ball(1.0)
    sizes = {"batch_size": 2, "directions": b, "refresh_probability": p, "iterations": T}
    constants = {"L": known.L, "L_hat": known.L_hat} if constructor == "convex" else {}
    method = getattr(ZSFWDVR, constructor)(d, 2.0, **sizes, **constants)
    gamma = 0.75 / (8 * 13) if constructor == "convex" else 30**-0.5
    states = run(method, known, region, region.lmo(np.ones(d)), T, 0)
    for before, after in itertools.pairwise(states):
        s = -after.g / np.linalg.norm(after.g)
        np.testing.assert_allclose(after.x - before.x, gamma * (s - before.x), atol=1e-12)
