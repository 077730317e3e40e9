"""JAGUAR: Veprikov, Bogdanov, Minashkin, Beznosikov 2024: transcription, constants, refusals."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from transcription import (
    Case,
    D,
    N,
    Vector,
    World,
    agrees,
    coordinate_gradient,
    refused,
    sigmoids,
)
from zofw.directions import Coordinate
from zofw.papers import JAGUAR, StochasticJAGUAR
from zofw.schedules import Power, open_loop

STEP, MU = open_loop(2.0, 3.0), 1e-2


def coordinates(law: Any, rng: np.random.Generator, d: int, b: int) -> list[int]:
    U = law.draw(rng, d, b).columns(0, b)
    return [int(np.flatnonzero(U[:, j])[0]) for j in range(b)]


def jaguar(w: World, x: Vector, law: Any, tau: float) -> Iterator[Vector]:
    d = w.d
    h = coordinate_gradient(w, x, tau, range(w.n))
    k = 0
    while True:
        if k > 0:  # at k = 0 the box replaces an entry of h by itself
            (i,) = coordinates(law, w.rng(k), d, 1)
            e = np.eye(d)[i]
            h = h - (h @ e) * e + w.central(x, e, tau, range(w.n)) * e
        x = x + 4 / (k + 8 * d) * (w.lmo(h) - x)
        yield x
        k += 1


def jaguar_stochastic(
    w: World, x: Vector, law: Any, S: int, b: int, tau: float, gamma: Any, eta: Any, start: str
) -> Iterator[Vector]:
    d = w.d
    h = g = np.zeros(d)
    k = 0
    while True:
        rng = w.rng(k)
        if k == 0 and start == "coordinate":
            h = g = coordinate_gradient(w, x, tau, rng.integers(w.n, size=S, dtype=np.int64))
        chosen = coordinates(law, rng, d, b)
        batch = rng.integers(w.n, size=S, dtype=np.int64)
        rho, new = h.copy(), h.copy()
        for i in chosen:
            e = np.eye(d)[i]
            delta = w.central(x, e, tau, batch)
            rho = rho - d / b * (h @ e) * e + d / b * delta * e
            new = new - (h @ e) * e + delta * e
        h, g = new, (1 - eta(k)) * g + eta(k) * rho
        x = x + gamma(k) * (w.lmo(g) - x)
        yield x
        k += 1


CASES: dict[str, Case] = {
    "jaguar": Case(
        JAGUAR.paper(D, radius=MU),
        lambda w, x: jaguar(w, x, Coordinate(), MU),
        lambda t, info: 2 * N * D if t == 0 else 2 * N,
    ),
    "jaguar-stochastic": Case(
        StochasticJAGUAR.paper(D, 4, radius=MU),
        lambda w, x: jaguar_stochastic(
            w,
            x,
            Coordinate(),
            4,
            1,
            MU,
            lambda k: 4 / (k + 8 * D**1.5),
            lambda k: 4 / (k + 8 * D**1.5) ** (2 / 3),
            "coordinate",
        ),
        lambda t, info: 2 * 4 * D + 2 * 4 if t == 0 else 2 * 4,
    ),
    "jaguar-stochastic from zero": Case(
        StochasticJAGUAR(3, 5, STEP, Power(1.0, 2.0, 2 / 3), MU, "zero"),
        lambda w, x: jaguar_stochastic(
            w, x, Coordinate(), 3, 5, MU, STEP, lambda k: 1 / (k + 2) ** (2 / 3), "zero"
        ),
        lambda t, info: 2 * 3 * 5,
    ),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_first_iterations_equal_the_paper(case: Case) -> None:
    agrees(case, sigmoids())


def test_constants() -> None:
    assert JAGUAR.paper(5).step_size(2) == pytest.approx(4 / 42)
    stochastic = StochasticJAGUAR.paper(4)
    assert (stochastic.step_size(6), stochastic.averaging(0)) == pytest.approx((4 / 70, 4 / 16))


def test_bad_settings_are_refused_with_a_sentence() -> None:
    for method, words in (
        (JAGUAR(directions=0), "directions should be a whole number"),
        (JAGUAR(directions=D + 1), "at most d = 12 directions"),
        (JAGUAR(initial="guess"), "initial should be one of coordinate, zero"),
        (StochasticJAGUAR(batch_size=0), "batch_size should be a whole number"),
        (StochasticJAGUAR(averaging=1.5), r"averaging at t = 0 should lie in \(0, 1\]"),
    ):
        refused(method, words)
