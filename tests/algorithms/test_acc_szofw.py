"""Acc-SZOFW and Acc-SZOFW*: Huang, Tao, Chen 2020: transcription, constants, refusals."""

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
    logistic,
    refused,
    unit_vectors,
)
from zofw.directions import Sphere
from zofw.papers import AccSZOFW, AccSZOFWStar


def cooge(w: World, x: Vector, i: int, mu: float) -> Vector:
    g = np.zeros(w.d)
    for j in range(w.d):
        e = np.zeros(w.d)
        e[j] = 1.0
        g[j] = (w.f(i, x + mu * e) - w.f(i, x - mu * e)) / (2 * mu)
    return g


def unige(w: World, x: Vector, i: int, beta: float, u: Vector) -> Vector:
    return w.d / beta * (w.f(i, x + beta * u) - w.f(i, x)) * u


def three_points(w: World, v: Vector, x: Vector, z: Vector, t: int, eta: float) -> tuple[Vector, Vector]:
    vertex = w.lmo(v)
    theta = 1 / ((t + 1) * (t + 2))
    gamma = min(1.0, (1 + theta) * eta)
    x = x + gamma * (vertex - x)
    y = z + eta * (vertex - z)
    alpha = 1 / ((t + 1) + 1)
    return x, (1 - alpha) * y + alpha * x


def acc_szofw(
    w: World, z: Vector, law: Any, kind: str, T: int, q: int, b2: int, b1: int | None
) -> Iterator[Vector]:
    d, x, t = w.d, z, 0
    eta, mu, beta = T**-0.5, d**-0.5 * T**-0.5, d**-1.0 * T**-0.5
    v = was = np.zeros(d)
    while True:
        rng = w.rng(t)
        full = t % q == 0
        if full and b1 is None:
            batch = np.arange(w.n)
        else:
            batch = rng.integers(w.n, size=b1 if full else b2, dtype=np.int64)
        V = unit_vectors(law, rng, d, len(batch)) if kind == "unige" else None
        total = np.zeros(d)
        for k, i in enumerate(batch):
            if V is None:
                total += cooge(w, z, i, mu) - (0.0 if full else cooge(w, was, i, mu))
            else:
                total += unige(w, z, i, beta, V[:, k]) - (0.0 if full else unige(w, was, i, beta, V[:, k]))
        v = total / len(batch) + (0.0 if full else v)
        was = z
        x, z = three_points(w, v, x, z, t, eta)
        yield z
        t += 1


def acc_szofw_star(w: World, z: Vector, law: Any, kind: str, T: int, S: int) -> Iterator[Vector]:
    d, x, t = w.d, z, 0
    eta, mu, beta = T ** (-2 / 3), d**-0.5 * T ** (-2 / 3), d**-1.0 * T ** (-2 / 3)
    v = was = np.zeros(d)
    while True:
        rng = w.rng(t)
        batch = rng.integers(w.n, size=S, dtype=np.int64)
        V = unit_vectors(law, rng, d, S) if kind == "unige" else None
        new, old = np.zeros(d), np.zeros(d)
        for k, i in enumerate(batch):
            new += (cooge(w, z, i, mu) if V is None else unige(w, z, i, beta, V[:, k])) / S
            if t > 0:
                old += (cooge(w, was, i, mu) if V is None else unige(w, was, i, beta, V[:, k])) / S
        rho = (t + 1) ** (-2 / 3)
        v = new if t == 0 else new + (1 - rho) * (v - old)
        was = z
        x, z = three_points(w, v, x, z, t, eta)
        yield z
        t += 1


def acc(kind: Any, q: int, b2: int, b1: int | None) -> Case:
    each = 2 * D if kind == "cooge" else 2
    return Case(
        AccSZOFW.paper(D, T, n=N, estimator=kind, epoch=q, batch_size=b2, epoch_batch=b1),
        lambda w, x: acc_szofw(w, x, Sphere(), kind, T, q, b2, b1),
        lambda t, info: each * (b1 or N) if t % q == 0 else 2 * each * b2,
    )


def star(kind: Any, S: int) -> Case:
    each = 2 * D if kind == "cooge" else 2
    return Case(
        AccSZOFWStar.paper(D, T, estimator=kind, batch_size=S),
        lambda w, x: acc_szofw_star(w, x, Sphere(), kind, T, S),
        lambda t, info: each * S * (1 if t == 0 else 2),
    )


CASES: dict[str, Case] = {
    "acc-szofw cooge": acc("cooge", 5, 3, None),
    "acc-szofw cooge, stochastic": acc("cooge", 4, 2, 7),
    "acc-szofw unige": acc("unige", 5, 3, None),
    "acc-szofw unige, stochastic": acc("unige", 4, 6, 11),
    "acc-szofw-star cooge": star("cooge", 2),
    "acc-szofw-star unige": star("unige", 6),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_first_iterations_equal_the_paper(case: Case) -> None:
    agrees(case, logistic())


def test_sizes_of_the_finite_and_the_stochastic_case() -> None:
    stochastic = AccSZOFW.paper(D, 100)
    assert (stochastic.epoch_batch, stochastic.batch_size, stochastic.epoch) == (100, 10, 10)
    finite = AccSZOFW.paper(D, 100, n=50)
    assert (finite.epoch_batch, finite.batch_size, finite.epoch) == (None, 8, 8)


def test_bad_settings_are_refused_with_a_sentence() -> None:
    for method, words in (
        (AccSZOFW("gauss"), "estimator"),
        (AccSZOFW(epoch=0), "epoch"),
        (AccSZOFW(epoch_batch=-3), "epoch_batch"),
        (AccSZOFW(batch_size=-2), "batch_size"),
        (AccSZOFW(step_size=0.0), "step_size"),
        (AccSZOFWStar("gauss"), "estimator"),
        (AccSZOFWStar(batch_size=0), "batch_size"),
        (AccSZOFWStar(averaging=0.0), "averaging"),
    ):
        refused(method, words)
    for wrong in (lambda: zofw.papers.AccSZOFW.paper(9, 0),):
        with pytest.raises(ValueError, match="should be"):
            wrong()
