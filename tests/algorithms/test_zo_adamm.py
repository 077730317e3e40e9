"""ZO-AdaMM: Chen, Liu, Xu, Li, Lin, Hong, Cox 2019."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import zofw
from transcription import Case, D, Vector, World, agrees, sigmoids, unit_vectors
from zofw.algorithms import as_algorithm
from zofw.core import Task
from zofw.directions import Sphere
from zofw.extend.play import linear
from zofw.papers import ZOAdaMM
from zofw.papers.zo_adamm import weighted_projection


def onto_weighted(name: str, y: Vector, h: Vector) -> Vector:
    """The H-projection by bisection on its one multiplier: ℓ2 ball of radius 1.5, ℓ1 ball of radius 2, simplex."""

    def at(tau: float) -> Vector:
        if name == "OnL2":
            return h * y / (h + tau)
        if name == "OnL1":
            return np.sign(y) * np.maximum(np.abs(y) - tau / h, 0.0)
        return np.maximum(y - tau / h, 0.0)

    def excess(tau: float) -> float:
        z = at(tau)
        return {"OnL2": z @ z - 1.5**2, "OnL1": np.abs(z).sum() - 2.0, "OnSimplex": z.sum() - 1.0}[name]

    if name != "OnSimplex" and excess(0.0) <= 0:
        return y
    low, high = (-1e3 if name == "OnSimplex" else 0.0), 1e3
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if excess(middle) > 0 else (low, middle)
    return at(high)


def adamm(
    w: World, x: Vector, b: int, S: int, alpha: float, beta1: float, beta2: float, mu: float
) -> Iterator[Vector]:
    m, v, v_hat, t = np.zeros(w.d), np.zeros(w.d), np.zeros(w.d), 0
    while True:
        rng = w.rng(t)
        U = unit_vectors(Sphere(), rng, w.d, b)
        batch = rng.integers(w.n, size=S, dtype=np.int64)
        slopes = w.along(x, U, mu, batch, "forward")
        g = w.d * sum(slopes[j] * U[:, j] for j in range(b)) / b
        m, v = beta1 * m + (1 - beta1) * g, beta2 * v + (1 - beta2) * g * g
        v_hat = np.array([max(old, new) for old, new in zip(v_hat, v, strict=True)])
        h = np.sqrt(v_hat)
        x = onto_weighted(type(w).__name__, x - alpha * m / h, h)
        yield x
        t += 1


def test_first_iterations_equal_the_box() -> None:
    mu = 1e-2
    method = ZOAdaMM.paper(D, 100, 0.4, directions=5, batch_size=3, radius=mu / np.sqrt(D))
    agrees(
        Case(
            method,
            lambda w, x: adamm(w, x, 5, 3, 0.4, 0.9, 0.3, mu),
            lambda t, info: 3 * 6,
            0,
            ("l1", "l2", "simplex"),
        ),
        sigmoids(),
        1e-5,
    )


def test_constants_of_the_attacks() -> None:
    method = ZOAdaMM.paper(100, 400, 0.02)
    assert (method.directions, method.first_decay, method.second_decay) == (10, 0.9, 0.3)
    assert method.step_size(7) == 0.02 and method.radius == pytest.approx(1 / (100 * 20))


@pytest.mark.parametrize("kind", ["OnL1", "OnL2", "OnSimplex"])
def test_weighted_projection_against_bisection(kind: str) -> None:
    region = {"OnL1": zofw.L1Ball(2.0), "OnL2": zofw.L2Ball(1.5), "OnSimplex": zofw.Simplex()}[kind]
    rng = np.random.default_rng(1)
    for spread in (0.0, 1.0, 2.0):  # powers of ten between the weights
        for _ in range(10):
            y, h = 2 * rng.standard_normal(D), 10.0 ** rng.uniform(-spread, spread, D)
            found = weighted_projection(Task(region, D), y, h)
            np.testing.assert_allclose(found, onto_weighted(kind, y, h), atol=1e-7)


def test_a_box_takes_one_projection() -> None:
    calls = []

    class Counting(Task):
        def project(self, x: Vector) -> Vector:
            calls.append(1)
            return super().project(x)

    y, h = np.array([3.0, -0.2, -5.0]), np.array([1.0, 100.0, 0.01])
    np.testing.assert_array_equal(
        weighted_projection(Counting(zofw.Box(-1.0, 2.0), 3), y, h), [2.0, -0.2, -1.0]
    )
    assert len(calls) == 2  # the projection, and the look that finds it final


def test_the_norm_of_the_projection_matters(monkeypatch: pytest.MonkeyPatch) -> None:
    """min −2x_1 − x_2 on the simplex from its centre: the Euclidean projection sends x + α(1, 1) back, for ever."""
    f = linear(np.array([[-2.0, -1.0]]))
    settings = ZOAdaMM(
        directions=2, law=zofw.directions.Coordinate(), step_size=0.05, first_decay=0.0, second_decay=0.0
    )
    runs = {"max_iter": 200, "rng": 0, "x0": np.array([0.5, 0.5])}
    right = zofw.minimize(f, zofw.Simplex(), method=settings, **runs)
    np.testing.assert_allclose(right.x, [1.0, 0.0], atol=1e-3)
    monkeypatch.setattr("zofw.papers.zo_adamm.weighted_projection", lambda task, y, h: task.project(y))
    wrong = zofw.minimize(f, zofw.Simplex(), method=settings, **runs)
    np.testing.assert_allclose(wrong.x, [0.5, 0.5], atol=1e-6)


@pytest.mark.parametrize(
    "wrong", [{"first_decay": 1.0}, {"second_decay": 1.0}, {"batch_size": 0}, {"step_size": -1.0}]
)
def test_bad_settings_are_refused_with_a_sentence(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=next(iter(wrong))):
        as_algorithm(replace(ZOAdaMM(), **wrong), Task(zofw.L1Ball(1.0), D, 9, 10_000))
