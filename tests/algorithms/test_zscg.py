"""ZSCG and its accelerated form: Balasubramanian, Ghadimi 2018: transcription, constants, refusals."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import zofw
from transcription import (
    SETS,
    Case,
    D,
    T,
    Vector,
    World,
    agrees,
    logistic,
    refused,
)
from zofw.core import Task
from zofw.directions import Gaussian, Orthogonal
from zofw.papers import ZSCG, AcceleratedZSCG
from zofw.papers.zscg import Triangular, icg


def pairs(w: World, x: Vector, law: Any, m: int, nu: float, rng: np.random.Generator) -> Vector:
    u = law.draw(rng, w.d, m).columns(0, m)
    xi = rng.integers(w.n, size=m, dtype=np.int64)
    G = np.zeros(w.d)
    for j in range(m):
        G = G + (w.f(xi[j], x + nu * u[:, j]) - w.f(xi[j], x)) / nu * u[:, j] / m
    return G


def zscg(w: World, z: Vector, law: Any, N: int, m: int, B: float, convex: bool) -> Iterator[Vector]:
    k = 1
    while True:
        if convex:
            nu, alpha = math.sqrt(2 * B / (N**2 * (w.d + 3) ** 3)), 6 / (k + 5)
        else:
            nu, alpha = math.sqrt(2 * B / (N * (w.d + 3) ** 3)), 1 / math.sqrt(N)
        G = pairs(w, z, law, m, nu, w.rng(k - 1))
        z = (1 - alpha) * z + alpha * w.lmo(G)
        yield z
        k += 1


def zscg_accelerated(
    w: World, z: Vector, law: Any, N: int, m: Callable[[int], int], L: float, D0: float
) -> Iterator[Vector]:
    x, d, k = z, w.d, 1
    nu = (2 * N) ** -0.5 * max(1 / (d + 3), math.sqrt(D0 / (d * (N + 1))))
    while True:
        alpha, gamma, mu = 2 / (k + 1), 4 * L / k, L * D0 / (k * N)
        G = pairs(w, (1 - alpha) * z + alpha * x, law, m(k), nu, w.rng(k - 1))
        y_bar, i = x, 1
        while True:
            slope = G + gamma * (y_bar - x)
            y = w.lmo(slope)
            if slope @ (y - y_bar) >= -mu:
                break
            y_bar = (i - 1) / (i + 1) * y_bar + 2 / (i + 1) * y
            i += 1
        x = y_bar
        z = (1 - alpha) * z + alpha * x
        yield z
        k += 1


CASES: dict[str, Case] = {
    "zscg convex": Case(
        ZSCG.paper(D, T, convex=True, B=1.5, batch_size=11),
        lambda w, x: zscg(w, x, Gaussian(), T, 11, 1.5, convex=True),
        lambda t, info: 22,
    ),
    "zscg non-convex": Case(
        ZSCG.paper(D, T, convex=False, batch_size=13),
        lambda w, x: zscg(w, x, Gaussian(), T, 13, 1.0, convex=False),
        lambda t, info: 26,
    ),
    "zscg-accelerated": Case(
        AcceleratedZSCG.paper(D, T, L=0.8, distance=4.0, batch_size=Triangular(0.13)),
        lambda w, x: zscg_accelerated(w, x, Gaussian(), T, lambda k: math.ceil(0.13 * k * (k + 1)), 0.8, 4.0),
        lambda t, info: 2 * math.ceil(0.13 * (t + 1) * (t + 2)),
        lmos=None,
    ),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_first_iterations_equal_the_paper(case: Case) -> None:
    agrees(case, logistic())


def test_theory_batches() -> None:
    assert ZSCG.paper(D, 10, convex=True, B=2.0).batch_size == 2 * 2 * (D + 5) * 100
    assert ZSCG.paper(D, 10, convex=False).batch_size == 2 * (D + 5) * 10
    assert AcceleratedZSCG.paper(D, 10, L=1, distance=4.0).batch_size(2) == 3 * 4 / 4 * (D + 5) * 10


@pytest.mark.parametrize("where", SETS)
def test_icg_solves_the_proximal_step(where: str) -> None:
    region = SETS[where][0]
    task = Task(region, D)
    rng = np.random.default_rng(2)
    x, g, gamma, mu = region.lmo(rng.standard_normal(D)), rng.standard_normal(D), 1.3, 1e-3
    u = icg(task, x, g, gamma, mu)
    exact = region.project(x - g / gamma)
    assert region.contains(u)
    # strong convexity: the gap bounds the distance, γ‖u − u*‖² ≤ gap ≤ μ
    assert gamma * float(((u - exact) ** 2).sum()) <= mu
    assert task.lmos <= 7 * gamma * region.diameter(D) ** 2 / mu + 1


def test_icg_stops_where_rounding_hides_the_gap() -> None:
    task = Task(zofw.L2Ball(1.0), 3)
    g = np.array([1e9, -2e9, 3e9])
    u = icg(task, np.zeros(3), g, 1e-2, 1e-9)
    np.testing.assert_allclose(u, -g / np.linalg.norm(g), rtol=1e-6)


def test_bad_settings_are_refused_with_a_sentence() -> None:
    for method, words in (
        (ZSCG(batch_size=0), "batch_size"),
        (ZSCG(batch_size=D + 1, law=Orthogonal()), "at most"),
        (ZSCG(step_size=1.2), "step_size"),
        (AcceleratedZSCG(smoothness=0.0), "smoothness"),
        (AcceleratedZSCG(distance=-1.0), "distance"),
        (AcceleratedZSCG(tolerance=0.0), "tolerance"),
    ):
        refused(method, words)
    for wrong in (lambda: zofw.papers.ZSCG.paper(9, 0, convex=True),):
        with pytest.raises(ValueError, match="should be"):
            wrong()
