"""ZIVR-FW: the incremental memory of Zhang and Tang 2026 within Frank-Wolfe."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import zofw
from transcription import Case, D, N, Vector, World, agrees, logistic
from zofw.algorithms import as_algorithm
from zofw.core import Task
from zofw.directions import Coordinate
from zofw.extend.play import World as Place
from zofw.extend.play import diagonal, play
from zofw.papers import ZIVRFW


def zivr(w: World, x: Vector, b: int, gamma: Any, tau: float) -> Iterator[Vector]:
    J, average, t = np.zeros((w.d, w.n)), np.zeros(w.d), 0
    while True:
        rng = w.rng(t)
        coordinates = [int(np.argmax(column)) for column in Coordinate().draw(rng, w.d, b).columns(0, b).T]
        components = rng.integers(w.n, size=b, dtype=np.int64)
        g = np.array([sum(J[j]) / w.n for j in range(w.d)])
        told = [w.central(x, np.eye(w.d)[j], tau, [i]) for i, j in zip(components, coordinates, strict=True)]
        for i, j, c in zip(components, coordinates, told, strict=True):
            g[j] += w.d / b * (c - J[j, i])
            J[j, i] = c
        rho = min(1.0, 4 / (t + 8) ** (2 / 3))
        average = (1 - rho) * average + rho * g
        x = x + gamma(t) * (w.lmo(average) - x)
        yield x
        t += 1


@pytest.mark.parametrize("b", [1, 5, D])
def test_first_iterations_equal_the_box(b: int) -> None:
    agrees(
        Case(
            ZIVRFW(b, 0.1, radius=1e-3),
            lambda w, x: zivr(w, x, b, lambda t: 0.1, 1e-3),
            lambda t, info: 2 * b,
        ),
        logistic(),
    )


def test_the_estimate_is_unbiased_whatever_the_table_holds() -> None:
    """E[ĝ] = ∇f(x) for a table of nonsense; the variance is that of the docstring or less."""
    rng, d, n, b = np.random.default_rng(0), 8, 30, 3
    curvatures, centres = rng.uniform(0.0, 1.0, (n, d)), rng.standard_normal((n, d))
    f = diagonal(curvatures, centres)
    x, J = 0.3 * rng.standard_normal(d), rng.standard_normal((d, n))
    method = ZIVRFW(b, 0.1, averaging=1.0)
    state = ZIVRFW.State(0, x, J, J.mean(axis=1), np.zeros(d))
    task, sample = Task(zofw.L2Ball(1.0), d, n), []
    for seed in range(3000):
        step = method.step(task, state, np.random.default_rng(seed))
        query = next(step)
        try:
            step.send(zofw.problems.evaluate(f, query))
        except StopIteration as end:
            sample.append(end.value[0].g)
    error = np.std(sample, axis=0) / np.sqrt(len(sample))
    assert (np.abs(np.mean(sample, axis=0) - f.gradient(x)) <= 5 * error).all()
    partial = (curvatures * (x - centres)).T  # (d, n)
    bound = d / b * float(((partial - J) ** 2).mean(axis=1).sum())
    variance = float(((np.array(sample) - f.gradient(x)) ** 2).sum(axis=1).mean())
    assert 0.3 * bound < variance <= 1.05 * bound


def test_the_table_is_what_was_told_last_and_its_mean_is_kept() -> None:
    rng = np.random.default_rng(1)
    curvatures = rng.uniform(0.0, 1.0, (30, 8))
    centres = 0.45 * rng.standard_normal(8) + 0.4 * rng.standard_normal((30, 8))
    world = Place(diagonal(curvatures, centres), zofw.L2Ball(1.0))
    *_, last = play(ZIVRFW(), world, iterations=400)
    table, x = last.state.table, last.state.x
    np.testing.assert_allclose(last.state.mean, table.mean(axis=1), atol=1e-10)
    true = (curvatures * (x - centres)).T
    assert np.abs(table - true).mean() < 0.2 * np.abs(true).mean()  # it has caught up with a slowing x


@pytest.mark.parametrize(
    "wrong", [{"directions": D + 1}, {"step_size": 1.5}, {"averaging": 2.0}, {"radius": 0.0}]
)
def test_bad_settings_are_refused_with_a_sentence(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=next(iter(wrong))):
        as_algorithm(replace(ZIVRFW(), **wrong), Task(zofw.L1Ball(1.0), D, N, 10_000))
