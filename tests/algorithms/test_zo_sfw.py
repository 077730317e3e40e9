"""ZO-FW and ZO-SFW: Sahu, Zaheer, Kar 2019, Algorithms 1 to 3: transcription, constants, refusals."""

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
    logistic,
    refused,
)
from zofw.directions import Coordinate, Gaussian
from zofw.papers import ZOFW, ZOSFW, ZOSFWNonconvex
from zofw.schedules import Power


def zo_fw(w: World, x: Vector, L: float) -> Iterator[Vector]:
    t = 0
    while True:
        gamma = 2 / (t + 2)
        c = L * gamma / w.d
        g = w.along(x, np.eye(w.d), c, range(w.n), "forward")
        x = (1 - gamma) * x + gamma * w.lmo(g)
        yield x
        t += 1


def zo_sfw(
    w: World, x: Vector, law: Any, scheme: str, m: int, S: int, T: int | None = None
) -> Iterator[Vector]:
    d, average, t = w.d, np.zeros(w.d), 0
    while True:
        gamma = 2 / (t + 8) if T is None else T ** (-3 / 4)
        if scheme == "kwsa":
            count, rho, c = d, 4 / (t + 8) ** (2 / 3), 2 / (d**0.5 * (t + 8) ** (1 / 3))
        elif scheme == "rdsa":
            count, rho, c = 1, 4 / (d ** (1 / 3) * (t + 8) ** (2 / 3)), 2 / (d**1.5 * (t + 8) ** (1 / 3))
        else:
            rho = 4 / ((1 + d / m) ** (1 / 3) * (t + 8) ** (2 / 3))
            count, c = m, 2 * m**0.5 / (d**1.5 * (t + 8) ** (1 / 3))
        rng = w.rng(t)
        z = law.draw(rng, d, count).columns(0, count)
        batch = rng.integers(w.n, size=S, dtype=np.int64)
        slopes = w.along(x, z, c, batch, "forward")
        g = np.zeros(d)
        for i in range(count):
            g = g + slopes[i] * z[:, i] / (1 if scheme == "kwsa" else count)
        average = (1 - rho) * average + rho * g
        x = (1 - gamma) * x + gamma * w.lmo(average)
        yield x
        t += 1


def sahu(scheme: Any, m: int, S: int, T: int | None = None) -> Case:
    law = Coordinate() if scheme == "kwsa" else Gaussian()
    count = {"kwsa": D, "rdsa": 1, "i-rdsa": m}[scheme]
    if T is None:
        method: Any = ZOSFW.paper(scheme, D, directions=m, batch_size=S)
    else:
        method = ZOSFWNonconvex.paper(D, T, directions=m, batch_size=S)
    return Case(method, lambda w, x: zo_sfw(w, x, law, scheme, m, S, T), lambda t, info: S * (count + 1))


CASES: dict[str, Case] = {
    "zo-fw": Case(ZOFW.paper(D, 0.7), lambda w, x: zo_fw(w, x, 0.7), lambda t, info: N * (D + 1)),
    "zo-sfw kwsa": sahu("kwsa", 1, 2),
    "zo-sfw rdsa": sahu("rdsa", 1, 1),
    "zo-sfw i-rdsa": sahu("i-rdsa", 5, 3),
    "zo-sfw-nonconvex": sahu("i-rdsa", 5, 2, T),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_first_iterations_equal_the_paper(case: Case) -> None:
    agrees(case, logistic())


def test_kwsa_begins_with_the_estimate_itself() -> None:
    assert ZOSFW.paper("kwsa", D).averaging(0) == 1.0


def test_bad_settings_are_refused_with_a_sentence() -> None:
    for method, words in (
        (ZOFW(step_size=Power(2.0, 1.0)), "step_size"),
        (ZOSFW(directions=0), "directions"),
        (ZOSFW(directions=-D), "directions"),
        (ZOSFW(averaging=2.0), "averaging"),
        (ZOSFWNonconvex(step_size=1.1), "step_size"),
        (ZOSFWNonconvex(batch_size=0), "batch_size"),
    ):
        refused(method, words)
    for wrong in (
        lambda: ZOSFW.paper("spsa", D),
        lambda: ZOSFW.paper("i-rdsa", D, directions=0),
    ):
        with pytest.raises(ValueError, match="should be"):
            wrong()
