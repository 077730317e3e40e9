"""ZSFW-DVR: Ye, Huang, Di, Chang 2025: transcription, constants, refusals."""

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
    T,
    Vector,
    World,
    agrees,
    logistic,
    refused,
)
from zofw.core import Stencil
from zofw.directions import Gaussian, Orthogonal, Rademacher
from zofw.papers import ZSFWDVR
from zofw.schedules import Power


def zsfw_dvr(
    w: World, x: Vector, law: Any, S: int, b: int, p: float, gamma: Any, mu: Any, *, start: str, scheme: str
) -> Iterator[Vector]:
    d, everyone = w.d, range(w.n)
    name = type(law).__name__
    step = {"Gaussian": 1 / (d + b + 1), "Rademacher": 1 / (d + b - 1), "Orthogonal": 1.0}[name]
    scale = {"Gaussian": 1 / b, "Rademacher": 1 / b, "Orthogonal": d / b}[name]
    rng = w.rng(0)
    U = law.draw(rng, d, b).columns(0, b)
    if start == "coordinate":
        g = w.along(x, np.eye(d), mu(0), everyone, scheme)
    else:
        dd = w.along(x, U, mu(0), everyone, scheme)
        g = np.zeros(d)
        for j in range(b):
            g = g + (scale if start == "paper" else step) * dd[j] * U[:, j]
    t = 0
    while True:
        s = w.lmo(g)
        old, x = x, x + gamma(t) * (s - x)
        yield x
        t += 1
        rng = w.rng(t)
        U = law.draw(rng, d, b).columns(0, b)
        if rng.random() < p:
            dd = w.along(x, U, mu(t), everyone, scheme)
            before = g.copy()
            for j in range(b):
                g = g + step * (dd[j] - U[:, j] @ before) * U[:, j]
        else:
            batch = rng.integers(w.n, size=S, dtype=np.int64)
            new, was = w.along(x, U, mu(t), batch, scheme), w.along(old, U, mu(t), batch, scheme)
            for j in range(b):
                g = g + scale * (new[j] - was[j]) * U[:, j]


def dvr(p: float, S: int, b: int, law: Any, start: str, stencil: Stencil) -> Case:
    gamma, mu = Power(1.0, 1.0, cap=1.0), Power(1e-2, 3.0, 0.5)
    settings = ZSFWDVR(S, b, p, gamma, mu, law, start, stencil)
    central = stencil is Stencil.CENTRAL
    first = D if start == "coordinate" else b

    def queries(t: int, info: dict[str, float]) -> int:
        if t == 0:
            return N * (2 * first if central else first + 1)
        if info["refresh"]:
            return N * (2 * b if central else b + 1)
        return S * (4 * b if central else 2 * (b + 1))

    return Case(
        settings,
        lambda w, x: zsfw_dvr(w, x, law, S, b, p, gamma, mu, start=start, scheme=stencil.value),
        queries,
    )


def dvr_constants(settings: ZSFWDVR) -> Case:
    S, b, p = settings.batch_size, settings.directions, settings.refresh_probability
    gamma, mu = settings.step_size, settings.radius
    schedule = mu if callable(mu) else lambda t: mu
    return Case(
        settings,
        lambda w, x: zsfw_dvr(w, x, Gaussian(), S, b, p, gamma, schedule, start="paper", scheme="central"),
        lambda t, info: 2 * N * b if info["refresh"] else 4 * S * b,
    )


CASES: dict[str, Case] = {
    "zsfw-dvr": dvr(0.4, 3, 5, Gaussian(), "paper", Stencil.CENTRAL),
    "zsfw-dvr p=1": dvr(1.0, 1, 4, Gaussian(), "shrunk", Stencil.CENTRAL),
    "zsfw-dvr signs, forward": dvr(0.3, 2, 5, Rademacher(), "shrunk", Stencil.FORWARD),
    "zsfw-dvr orthogonal, coordinate": dvr(0.3, 4, 3, Orthogonal(), "coordinate", Stencil.FORWARD),
    "zsfw-dvr experiments": dvr_constants(ZSFWDVR.paper(3, 4, 0.25, 2.0, radius=1e-3)),
    "zsfw-dvr attack": dvr_constants(ZSFWDVR.paper(3, 4, 0.25, 0.1, constant=True, radius=1e-3)),
    "zsfw-dvr theorem 1": dvr_constants(
        ZSFWDVR.convex(
            D, 3.0, batch_size=2, directions=11, refresh_probability=0.9, iterations=T, L=1, L_hat=2
        )
    ),
    "zsfw-dvr theorem 2": dvr_constants(
        ZSFWDVR.nonconvex(D, 3.0, batch_size=3, directions=4, refresh_probability=0.5, iterations=T)
    ),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_first_iterations_equal_the_paper(case: Case) -> None:
    agrees(case, logistic())


def test_both_branches_and_both_phases_were_compared() -> None:
    draws = [refresh_coin(t) for t in range(T)]
    assert any(draws) and not all(draws)
    theorem = CASES["zsfw-dvr theorem 1"].method.step_size
    assert theorem(0) == theorem(T // 2 - 1) > theorem(T - 1)


def refresh_coin(t: int) -> bool:
    """The refresh coin of iteration t in the comparison above."""
    rng = World(logistic(), N, D, (11,)).rng(t)
    Gaussian().draw(rng, D, 5)
    return bool(rng.random() < 0.4)


def test_theorem_1_schedules() -> None:
    p, b, S, R, L, L_hat, steps = 0.5, 4, 2, 3.0, 1.5, 2.5, 900
    method = ZSFWDVR.convex(
        D, R, batch_size=S, directions=b, refresh_probability=p, iterations=steps, L=L, L_hat=L_hat
    )
    a = 8 * (D + b + 1) / (p * b)
    assert steps > a
    for t in (0, 449):
        assert method.step_size(t) == pytest.approx(1 / a)
    for t in (450, 451, 899):
        assert method.step_size(t) == pytest.approx(2 / (2 * a + t - 450))
    for t in (0, 600):
        expected = math.sqrt(p / S + 4 * p * L**2 / L_hat**2) * R * method.step_size(t) / (D + 6) ** 1.5
        assert method.radius(t) == pytest.approx(expected)
    short = ZSFWDVR.convex(
        D, R, batch_size=S, directions=b, refresh_probability=p, iterations=int(a), L=L, L_hat=L_hat
    )
    assert short.step_size(int(a) - 1) == pytest.approx(1 / a)


def test_radius_floor_replaces_what_rounding_would_spoil() -> None:
    method = ZSFWDVR.nonconvex(
        10**5,
        1.0,
        batch_size=10,
        directions=10,
        refresh_probability=0.01,
        iterations=10**4,
        least_radius=1e-6,
    )
    assert method.radius == 1e-6


def test_bad_settings_are_refused_with_a_sentence() -> None:
    for method, words in (
        (ZSFWDVR(refresh_probability=0.0), "refresh_probability"),
        (ZSFWDVR(refresh_probability=1.5), "refresh_probability"),
        (ZSFWDVR(directions=D + 1, law=Orthogonal()), "at most"),
        (ZSFWDVR(step_size=1.5), "step_size"),
        (ZSFWDVR(batch_size=0), "batch_size"),
        (ZSFWDVR(radius=-1.0), "radius"),
        (ZSFWDVR(initial="nothing"), "initial"),
        (ZSFWDVR(stencil=Stencil.VALUE), "stencil"),
    ):
        refused(method, words)
    for wrong in (
        lambda: zofw.ZSFWDVR.convex(
            9, 2.0, batch_size=3, directions=2, refresh_probability=0.5, iterations=9, L=0.0, L_hat=0.0
        ),
        lambda: zofw.ZSFWDVR.nonconvex(
            9, 2.0, batch_size=3, directions=2, refresh_probability=0.5, iterations=0
        ),
    ):
        with pytest.raises(ValueError, match="should be"):
            wrong()
