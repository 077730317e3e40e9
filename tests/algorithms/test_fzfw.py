"""FZFW and FZCGS: Gao, Huang 2020: transcription, constants, refusals."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
import pytest

import zofw
from transcription import (
    SETS,
    Case,
    D,
    N,
    T,
    Vector,
    World,
    agrees,
    coordinate_gradient,
    refused,
    sigmoids,
)
from zofw.core import Task
from zofw.papers import FZCGS, FZFW
from zofw.papers.fzfw import condg as library_condg

ROOT = 3  # ⌈√N⌉


def spider(w: World, t: int, x: Vector, old: Vector, v: Vector, q: int, S2: int, mu: float) -> Vector:
    if t % q == 0:
        return coordinate_gradient(w, x, mu, range(w.n))
    batch = w.rng(t).integers(w.n, size=S2, dtype=np.int64)
    return v + coordinate_gradient(w, x, mu, batch) - coordinate_gradient(w, old, mu, batch)


def fzfw(w: World, x: Vector, diameter: float, K: int) -> Iterator[Vector]:
    q = S2 = math.ceil(math.sqrt(w.n))
    gamma, mu = min(1.0, 1 / (diameter * math.sqrt(K))), 1 / math.sqrt(w.d * K)
    old, v = x, np.zeros(w.d)
    for t in range(K):
        v = spider(w, t, x, old, v, q, S2, mu)
        u = w.lmo(v)
        old, x = x, x + gamma * (u - x)
        yield x


def condg(w: World, g: Vector, u: Vector, gamma: float, eta: float) -> Vector:
    ut = u
    while True:
        v = w.lmo(g + (ut - u) / gamma)
        if (g + (ut - u) / gamma) @ (ut - v) <= eta:
            return ut
        alpha = min(1.0, ((u - ut) / gamma - g) @ (v - ut) / (np.linalg.norm(v - ut) ** 2 / gamma))
        ut = (1 - alpha) * ut + alpha * v


def fzcgs(w: World, x: Vector, L: float, K: int) -> Iterator[Vector]:
    q = S2 = math.ceil(math.sqrt(w.n))
    mu = 1 / math.sqrt(w.d * K)
    old, v = x, np.zeros(w.d)
    for t in range(K):
        v = spider(w, t, x, old, v, q, S2, mu)
        old, x = x, condg(w, v, x, 1 / (3 * L), 1 / K)
        yield x


CASES: dict[str, Case] = {
    "fzfw": Case(
        FZFW.paper(N, D, 3.0, T),
        lambda w, x: fzfw(w, x, 3.0, T),
        lambda t, info: 2 * N * D if t % ROOT == 0 else 4 * ROOT * D,
    ),
    "fzfw on a small set": Case(
        FZFW.paper(N, D, 0.1, T),
        lambda w, x: fzfw(w, x, 0.1, T),
        lambda t, info: 2 * N * D if t % ROOT == 0 else 4 * ROOT * D,
    ),
    "fzcgs": Case(
        FZCGS.paper(N, D, 1.2, T),
        lambda w, x: fzcgs(w, x, 1.2, T),
        lambda t, info: 2 * N * D if t % ROOT == 0 else 4 * ROOT * D,
        lmos=None,
    ),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_first_iterations_equal_the_paper(case: Case) -> None:
    agrees(case, sigmoids())


def test_constants() -> None:
    fzfw = FZFW.paper(100, D, 4.0, 25)
    assert (fzfw.batch_size, fzfw.period, fzfw.step_size(7)) == (10, 10, 1 / 20)
    assert fzfw.radius == pytest.approx(1 / math.sqrt(25 * D))
    fzcgs = FZCGS.paper(100, D, 2.0, 25)
    assert (fzcgs.smoothness, fzcgs.batch_size, fzcgs.period, fzcgs.accuracy) == (2.0, 10, 10, 1 / 25)


@pytest.mark.parametrize("where", SETS)
def test_condg_solves_the_proximal_step(where: str) -> None:
    region, rng = SETS[where][0], np.random.default_rng(3)
    g, u, gamma, eta = rng.standard_normal(D), region.initial_point(D), 0.4, 1e-3
    w, gap = library_condg(Task(region, D), g, u, gamma, eta, 100_000)
    exact = region.project(u - gamma * g)
    assert region.contains(w)
    assert gap == pytest.approx(g @ u - g @ region.lmo(g))
    # strong convexity: ‖w − exact‖²/(2γ) ≤ η
    assert np.sum((w - exact) ** 2) <= 2 * gamma * eta


def test_condg_stops_at_its_limit() -> None:
    task = Task(zofw.L1Ball(), D)
    library_condg(task, np.arange(1.0, D + 1), np.zeros(D), 0.01, 1e-12, 17)
    assert task.lmos == 17


def test_bad_settings_are_refused_with_a_sentence() -> None:
    for method, words in (
        (FZFW(batch_size=0), "batch_size should be a whole number"),
        (FZFW(period=0), "period should be a whole number"),
        (FZFW(step_size=1.5), r"step_size at t = 0 should lie in \(0, 1\]"),
        (FZFW(radius=0.0), "radius at t = 0 should be a positive number"),
        (FZCGS(smoothness=0.0), "smoothness should be a positive number"),
        (FZCGS(accuracy=0.0), "accuracy at t = 0 should be a positive number"),
        (FZCGS(max_inner=0), "max_inner should be a whole number"),
    ):
        refused(method, words)
    for wrong in (lambda: zofw.papers.FZFW.paper(7, 9, 2.0, 0),):
        with pytest.raises(ValueError, match="should be"):
            wrong()
