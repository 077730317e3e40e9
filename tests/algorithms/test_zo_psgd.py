"""ZO-PSGD: Ghadimi, Lan, Zhang 2016; Liu, Li, Chen, Haupt, Amini 2018: transcription, constants, refusals."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from transcription import (
    Case,
    D,
    Vector,
    World,
    agrees,
    project,
    refused,
    sigmoids,
    sphere_estimate,
    unit,
)
from zofw.core import Stencil
from zofw.directions import Sphere
from zofw.papers import ZOPSGD


def zo_psgd(w: World, x: Vector, law: Any, S: int, b: int, lr: float, mu: float) -> Iterator[Vector]:
    t = 0
    while True:
        rng = w.rng(t)
        V = unit(law.draw(rng, w.d, b).columns(0, b))
        batch = rng.integers(w.n, size=S, dtype=np.int64)
        x = project(w, x - lr / math.sqrt(t + 1) * sphere_estimate(w, x, V, mu, batch))
        yield x
        t += 1


CASES: dict[str, Case] = {
    "zo-psgd": Case(
        ZOPSGD.paper(D, 50, 0.1, batch_size=3, directions=4),
        lambda w, x: zo_psgd(w, x, Sphere(), 3, 4, 0.1, 1 / math.sqrt(D * 50)),
        lambda t, info: 3 * (4 + 1),
        lmos=0,
    ),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_first_iterations_equal_the_paper(case: Case) -> None:
    agrees(case, sigmoids())


def test_bad_settings_are_refused_with_a_sentence() -> None:
    for method, words in (
        (ZOPSGD(directions=0), "directions should be a whole number"),
        (ZOPSGD(step_size=-1.0), "step_size at t = 0 should be a positive number"),
        (ZOPSGD(stencil=Stencil.VALUE), "stencil should be one of"),
    ):
        refused(method, words)
