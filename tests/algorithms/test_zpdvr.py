"""ZPDVR: Di, Ye, Zhang, Chang, Dai, Tsang 2024: transcription, constants, refusals."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from transcription import (
    Case,
    D,
    N,
    T,
    Vector,
    World,
    agrees,
    project,
    refused,
    sigmoids,
)
from zofw.directions import Gaussian
from zofw.papers import ZPDVR

MU = 1e-2


def zpdvr(w: World, x: Vector, law: Any, S: int, b: int, p: float, eta: float, mu: float) -> Iterator[Vector]:
    d, everyone = w.d, range(w.n)
    snapshot, h, t = x, np.zeros(w.d), 0
    while True:
        rng = w.rng(t)
        U, U_w, U_x = (law.draw(rng, d, b).columns(0, b) for _ in range(3))
        coin = t > 0 and rng.random() < p
        if coin:
            snapshot = x
            dd = w.along(snapshot, U, mu, everyone, "forward")
            old = h.copy()
            for j in range(b):
                h = h + (dd[j] - U[:, j] @ old) * U[:, j] / (d + b + 1)
        if coin or t == 0:
            dd = w.along(snapshot, U_w, mu, everyone, "forward")
            g_w = h.copy()
            for j in range(b):
                g_w = g_w + (dd[j] - U_w[:, j] @ h) * U_w[:, j] / b
            g = g_w
        else:
            batch = rng.integers(w.n, size=S, dtype=np.int64)
            new = w.along(x, U_x, mu, batch, "forward")
            was = w.along(snapshot, U_x, mu, batch, "forward")
            g = g_w.copy()
            for j in range(b):
                g = g + (new[j] - was[j]) * U_x[:, j] / b
        x = project(w, x - eta * g)
        yield x
        t += 1


CASES: dict[str, Case] = {
    "zpdvr": Case(
        ZPDVR.paper(N, 0.02, radius=MU),
        lambda w, x: zpdvr(w, x, Gaussian(), 1, 1, 1 / N, 0.02, MU),
        lambda t, info: 2 * N if t == 0 else 4 * N if info["refresh"] else 4,
        lmos=0,
    ),
    "zpdvr blocks": Case(
        ZPDVR(3, 5, 0.4, 0.1, MU),
        lambda w, x: zpdvr(w, x, Gaussian(), 3, 5, 0.4, 0.1, MU),
        lambda t, info: N * 6 if t == 0 else 2 * N * 6 if info["refresh"] else 2 * 3 * 6,
        lmos=0,
    ),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_first_iterations_equal_the_paper(case: Case) -> None:
    agrees(case, sigmoids())


def test_constants() -> None:
    assert (ZPDVR.paper(50, 0.1).refresh_probability, ZPDVR.paper(50, 0.1).directions) == (0.02, 1)


def test_both_branches_of_zpdvr_were_compared() -> None:
    world, coins = World(sigmoids(), N, D, (11,)), []
    for t in range(1, T):
        rng = world.rng(t)
        for _ in range(3):
            Gaussian().draw(rng, D, 5)
        coins.append(rng.random() < 0.4)
    assert any(coins) and not all(coins)


def test_bad_settings_are_refused_with_a_sentence() -> None:
    for method, words in (
        (ZPDVR(refresh_probability=0.0), r"refresh_probability should lie in \(0, 1\]"),
        (ZPDVR(refresh_probability=1.5), r"refresh_probability should lie in \(0, 1\]"),
        (ZPDVR(directions=0), "directions should be a whole number"),
    ):
        refused(method, words)
