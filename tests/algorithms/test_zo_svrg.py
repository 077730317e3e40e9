"""ZO-SVRG: Liu, Kailkhura, Chen, Ting, Chang, Amini 2018: transcription, constants, refusals."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import zofw
from transcription import (
    Case,
    D,
    N,
    Vector,
    World,
    agrees,
    coordinate_gradient,
    project,
    refused,
    sigmoids,
    sphere_estimate,
    unit,
)
from zofw.directions import Coordinate, Sphere
from zofw.papers import ZOSVRG


def zo_svrg(w: World, x: Vector, law: Any, S: int, b: int, m: int, eta: float, mu: float) -> Iterator[Vector]:
    s = 0
    while True:
        start = x
        for k in range(m):
            rng = w.rng(s * m + k)
            V = unit(law.draw(rng, w.d, b).columns(0, b))
            if k == 0:  # the difference of the box vanishes
                full = v = sphere_estimate(w, start, V, mu, range(w.n))
            else:
                batch = rng.integers(w.n, size=S, dtype=np.int64)
                v = sphere_estimate(w, x, V, mu, batch) - sphere_estimate(w, start, V, mu, batch) + full
            x = project(w, x - eta * v)
            yield x
        s += 1


def zo_svrg_coordinate(
    w: World, x: Vector, S: int, m: int, eta: float, mu: float, law: Any
) -> Iterator[Vector]:
    t = 0
    while True:
        rng = w.rng(t)
        law.draw(rng, w.d, w.d)
        if t % m == 0:
            start, full = x, coordinate_gradient(w, x, mu, range(w.n))
            v = full
        else:
            batch = rng.integers(w.n, size=S, dtype=np.int64)
            v = coordinate_gradient(w, x, mu, batch) - coordinate_gradient(w, start, mu, batch) + full
        x = project(w, x - eta * v)
        yield x
        t += 1


CASES: dict[str, Case] = {
    "zo-svrg": Case(
        ZOSVRG.paper(D, 1.5, 50, rho=0.06, batch_size=2, directions=3),
        lambda w, x: zo_svrg(
            w, x, Sphere(), 2, 3, math.ceil(D / 1.86), 0.06 / (1.5 * D), 1 / math.sqrt(D * 50)
        ),
        lambda t, info: N * (3 + 1) if t % 7 == 0 else 2 * 2 * (3 + 1),
        lmos=0,
    ),
    "zo-svrg coordinate": Case(
        ZOSVRG.coordinate(D, 0.7, 50, rho=0.1, batch_size=2),
        lambda w, x: zo_svrg_coordinate(
            w, x, 2, math.ceil(D / 3.1), 0.1 / (0.7 * D), 1 / math.sqrt(D * 50), Coordinate()
        ),
        lambda t, info: 2 * N * D if t % 4 == 0 else 4 * 2 * D,
        lmos=0,
    ),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_first_iterations_equal_the_paper(case: Case) -> None:
    agrees(case, sigmoids())


def test_bad_settings_are_refused_with_a_sentence() -> None:
    for method, words in (
        (ZOSVRG(period=0), "period should be a whole number"),
        (ZOSVRG(directions=D + 1, law=Coordinate()), "at most d = 12 directions"),
    ):
        refused(method, words)
    for wrong in (lambda: zofw.papers.ZOSVRG.paper(9, 0.0, 10),):
        with pytest.raises(ValueError, match="should be"):
            wrong()
