"""FW-black: Chen, Zhou, Yi, Gu 2020: transcription, constants, refusals."""

from __future__ import annotations

import math
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
    logistic,
    refused,
    unit_vectors,
)
from zofw.directions import Gaussian, Sphere
from zofw.papers import FWBlack


def fw_black(
    w: World, x: Vector, law: Any, b: int, beta: float, delta: float, option: str, start: str
) -> Iterator[Vector]:
    d, t, m = w.d, 0, np.zeros(w.d)

    def grad_est(rng: np.random.Generator) -> Vector:
        q = np.zeros(d)
        U = unit_vectors(law, rng, d, b) if option == "I" else law.draw(rng, d, b).columns(0, b)
        for j in range(b):
            u = U[:, j]
            slope = w.central(x, u, delta, range(w.n))
            q = q + (d if option == "I" else 1) / b * slope * u
        return q

    while True:
        rng = w.rng(t)
        if t == 0 and start == "estimate":
            m = grad_est(rng)
        m = beta * m + (1 - beta) * grad_est(rng)
        x = x + 0.8 / math.sqrt(t + 1) * (w.lmo(m) - x)
        yield x
        t += 1


def black(option: Any, start: Any) -> Case:
    law = Sphere() if option == "I" else Gaussian()
    return Case(
        FWBlack.paper(D, momentum=0.9, option=option, directions=4, initial=start),
        lambda w, x: fw_black(w, x, law, 4, 0.9, 0.01, option, start),
        lambda t, info: 2 * N * 4 * (2 if t == 0 and start == "estimate" else 1),
    )


CASES: dict[str, Case] = {
    "fw-black I": black("I", "estimate"),
    "fw-black II": black("II", "zero"),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_first_iterations_equal_the_paper(case: Case) -> None:
    agrees(case, logistic())


def test_constants_of_the_theorem() -> None:
    theory = FWBlack.theory(D, 2.0, iterations=100, L=1.5, initial_gap=0.5, momentum=0.5)
    assert theory.directions == 100 * D
    assert theory.step_size(0) == pytest.approx(math.sqrt(0.5 / (5 * 1.5 * 4 * 100)))
    assert theory.radius == pytest.approx(1 / (D * 10) / math.sqrt(D))


def test_bad_settings_are_refused_with_a_sentence() -> None:
    for method, words in (
        (FWBlack(momentum=1.0), "momentum"),
        (FWBlack(directions=0), "directions"),
        (FWBlack(step_size=2.0), "step_size"),
        (FWBlack(initial="code"), "initial"),
    ):
        refused(method, words)
    for wrong in (lambda: FWBlack.paper(D, option="III"),):
        with pytest.raises(ValueError, match="should be"):
            wrong()
