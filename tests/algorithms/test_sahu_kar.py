"""Variance-reduced ZO-FW: Sahu, Kar 2020: transcription, constants, refusals."""

from __future__ import annotations

from collections.abc import Callable, Iterator
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
    refused,
    sigmoids,
)
from zofw.directions import Gaussian
from zofw.papers import SahuKar
from zofw.schedules import open_loop

PAIRS, STEP, MU = 5, open_loop(2.0, 3.0), 1e-2


def sahu_kar(
    w: World, x: Vector, law: Any, q: int, S2: int, eta: float, gamma: Callable[[int], float]
) -> Iterator[Vector]:
    d, t, old, g = w.d, 0, x, np.zeros(w.d)
    while True:
        if t % q == 0:
            g = w.along(x, np.eye(d), eta, range(w.n), "forward")
        else:
            rng = w.rng(t)
            Z = law.draw(rng, d, S2).columns(0, S2)
            batch = rng.integers(w.n, size=S2, dtype=np.int64)
            total = np.zeros(d)
            for j, i in enumerate(batch):
                z = Z[:, j]
                here = (w.f(i, x + eta * z) - w.f(i, x)) / eta
                there = (w.f(i, old + eta * z) - w.f(i, old)) / eta
                total = total + (here - there) * z
            g = g + total / S2
        old, x = x, x + gamma(t) * (w.lmo(g) - x)
        yield x
        t += 1


CASES: dict[str, Case] = {
    "sahu-kar": Case(
        SahuKar(PAIRS, 4, STEP, MU),
        lambda w, x: sahu_kar(w, x, Gaussian(), 4, PAIRS, MU, STEP),
        lambda t, info: N * (D + 1) if t % 4 == 0 else 4 * PAIRS,
    ),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_first_iterations_equal_the_paper(case: Case) -> None:
    agrees(case, sigmoids())


def test_constants() -> None:
    for n0, pairs, period in ((1.0, 29 * 30, 5), (5.0, 29 * 6, 25)):
        method = SahuKar.paper(900, 10, 0.01, n0)
        assert (method.pairs, method.period, method.step_size) == (pairs, period, 0.01)


def test_sahu_kar_refuses_n0_outside_its_range() -> None:
    with pytest.raises(ValueError, match=r"n0 should lie in \[1, sqrt\(n\)/6\] = \[1, 5\]; got 6"):
        SahuKar.paper(900, 10, 0.01, 6)


def test_bad_settings_are_refused_with_a_sentence() -> None:
    for method, words in (
        (SahuKar(pairs=0), "pairs should be a whole number"),
        (SahuKar(step_size=0.0), r"step_size at t = 0 should lie in \(0, 1\]"),
    ):
        refused(method, words)
