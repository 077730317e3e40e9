"""SPSA: Spall 1992 and 1998: transcription, constants, refusals."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import zofw
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
from zofw.core import Task
from zofw.directions import Rademacher
from zofw.papers import SPSA


def spsa(w: World, x: Vector, law: Any, S: int, a: float, c: float, T: int) -> Iterator[Vector]:
    for k in range(T):
        rng = w.rng(k)
        delta = law.draw(rng, w.d, 1).columns(0, 1)[:, 0]
        batch = rng.integers(w.n, size=S, dtype=np.int64)
        a_k, c_k = a / (0.1 * T + k + 1) ** 0.602, c / (k + 1) ** 0.101
        plus = sum(w.f(i, x + c_k * delta) for i in batch) / S
        minus = sum(w.f(i, x - c_k * delta) for i in batch) / S
        x = project(w, x - a_k * np.array([(plus - minus) / (2 * c_k * delta[i]) for i in range(w.d)]))
        yield x


CASES: dict[str, Case] = {
    "spsa": Case(
        SPSA.paper(T, 0.2, 0.05, batch_size=4),
        lambda w, x: spsa(w, x, Rademacher(), 4, 0.2, 0.05, T),
        lambda t, info: 2 * 4,
        lmos=0,
    ),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_first_iterations_equal_the_paper(case: Case) -> None:
    agrees(case, sigmoids())


def test_constants() -> None:
    assert SPSA.paper(100, 0.3, 0.2).step_size(0) == pytest.approx(0.3 / 11**0.602)
    assert SPSA.paper(100, 0.3, 0.2).radius(9) == pytest.approx(0.2 / 10**0.101)


def test_spsa_takes_its_offset_from_the_limits() -> None:
    method, reasons = SPSA(2, 3).resolve(Task(zofw.L2Ball(), D, N, budget=12_000))
    assert method.step_size.offset == pytest.approx(0.1 * 1000 + 1)
    assert method.step_size(0) == pytest.approx(1 / (1 + D / 3))
    assert "Spall" in reasons["step_size"]


def test_bad_settings_are_refused_with_a_sentence() -> None:
    for method, words in (
        (SPSA(batch_size=0), "batch_size should be a whole number"),
        (SPSA(radius=-1.0), "radius at t = 0 should be a positive number"),
    ):
        refused(method, words)
    for wrong in (lambda: zofw.papers.SPSA.paper(0, 1.0, 1.0),):
        with pytest.raises(ValueError, match="should be"):
            wrong()
