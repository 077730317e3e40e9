"""Boosted ZO-SFW: Combettes and Pokutta 2020 with the estimates of Sahu, Zaheer and Kar 2019."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import zofw
from transcription import Case, D, Vector, World, agrees, logistic
from zofw.algorithms import as_algorithm
from zofw.core import Task
from zofw.directions import Gaussian
from zofw.papers import ZOSFW, BoostedZOSFW
from zofw.papers.boosted_zo_sfw import chase
from zofw.problems import BlackBox


def chased(
    lmo: Callable[[Vector], Vector], x: Vector, g: Vector, K: int, delta: float
) -> tuple[Vector, bool]:
    """d/Λ by the paper's box, and whether a step along −d/‖d‖ ended it."""
    d, Lambda, aligned = np.zeros_like(x), 0.0, -1.0
    for k in range(K):
        r = -g - d
        v = lmo(-r)
        choices = [(r @ (v - x), v - x, True)]
        if np.any(d != 0):
            choices.append((r @ (-d / np.sqrt(d @ d)), -d / np.sqrt(d @ d), False))
        value, u, forward = max(choices, key=lambda choice: choice[0])
        lam = value / (u @ u)
        now = (-g @ (d + lam * u)) / np.sqrt((g @ g) * ((d + lam * u) @ (d + lam * u)))
        if k > 0 and now - aligned < delta:
            return d / Lambda, not forward
        Lambda = Lambda + lam if forward else Lambda * (1 - lam / np.sqrt(d @ d))
        d, aligned = d + lam * u, now
    return d / Lambda, False


def boosted(w: World, x: Vector, m: int, S: int, K: int, delta: float) -> Iterator[Vector]:
    average, t = np.zeros(w.d), 0
    while True:
        rng = w.rng(t)
        z = Gaussian().draw(rng, w.d, m).columns(0, m)
        batch = rng.integers(w.n, size=S, dtype=np.int64)
        slopes = w.along(x, z, 1e-3, batch, "forward")
        rho = min(1.0, 4 / ((1 + w.d / m) ** (1 / 3) * (t + 8) ** (2 / 3)))
        average = (1 - rho) * average + rho * sum(slopes[i] * z[:, i] for i in range(m)) / m
        x = x + 2 / (t + 8) * chased(w.lmo, x, average, K, delta)[0]
        yield x
        t += 1


@pytest.mark.parametrize("region", [zofw.L1Ball(1.0), zofw.L2Ball(1.0)], ids=repr)
def test_the_chase_is_the_box_where_shortening_ends_it_too(region: Any) -> None:
    ended = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        x = rng.dirichlet(np.ones(4)) @ [region.lmo(rng.standard_normal(D)) for _ in range(4)]
        g = 10.0 ** rng.integers(-2, 2) * rng.standard_normal(D)
        expected, shortened = chased(region.lmo, x, g, 20, 1e-6)
        np.testing.assert_allclose(chase(Task(region, D), x, g, 20, 1e-6)[0], expected, atol=1e-9)
        ended += shortened
    assert ended > 10


@pytest.mark.parametrize("K", [1, 2, 8])
def test_first_iterations_equal_the_box(K: int) -> None:
    method = BoostedZOSFW(3, 5, radius=1e-3, rounds=K, improvement=1e-2)
    agrees(
        Case(method, lambda w, x: boosted(w, x, 5, 3, K, 1e-2), lambda t, info: 3 * 6, 1 if K == 1 else None),
        logistic(),
        1e-7,
    )


def test_one_round_is_zo_sfw() -> None:
    f, region = BlackBox(logistic(), dim=D, n=9), zofw.L2Ball(1.5)
    runs = [
        zofw.minimize(f, region, method=method, max_iter=20, rng=4, diagnose=0).x
        for method in (BoostedZOSFW(2, 4, rounds=1), ZOSFW(2, 4))
    ]
    np.testing.assert_allclose(*runs, atol=1e-9)


@pytest.mark.parametrize("region", [zofw.L1Ball(1.0), zofw.L2Ball(1.0), zofw.Simplex(), zofw.Box(-1.0, 2.0)])
def test_the_chase_stays_in_the_set_and_aligns_better(region: Any) -> None:
    rng, task = np.random.default_rng(0), Task(region, D)
    better = 0.0
    for _ in range(30):
        weights = rng.dirichlet(np.ones(4))
        x = weights @ [region.lmo(rng.standard_normal(D)) for _ in range(4)]
        g = rng.standard_normal(D)
        cosines = []
        for rounds in (1, 20):
            d, gap, calls = chase(task, x, g, rounds, 1e-3)
            assert region.contains(x + d, 1e-9) and 1 <= calls <= rounds and gap >= 0
            cosines.append(-(g @ d) / np.linalg.norm(g) / np.linalg.norm(d))
        assert cosines[1] >= cosines[0] - 1e-12
        better += cosines[1] - cosines[0]
    assert better > 0.5


def test_nothing_to_chase() -> None:
    """g = 0, or x at the vertex that g wants: no step."""
    region = zofw.L1Ball(1.0)
    for x, g in ((np.zeros(3), np.zeros(3)), (np.array([-1.0, 0, 0]), np.array([1.0, 0, 0]))):
        d, gap, _ = chase(Task(region, 3), x, g, 5, 1e-3)
        np.testing.assert_allclose(d, 0.0, atol=1e-12)
        assert gap == pytest.approx(0.0)


@pytest.mark.parametrize(
    "wrong", [{"rounds": 0}, {"improvement": 0.0}, {"directions": -1}, {"step_size": 2.0}]
)
def test_bad_settings_are_refused_with_a_sentence(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=next(iter(wrong))):
        as_algorithm(replace(BoostedZOSFW(), **wrong), Task(zofw.L1Ball(1.0), D, 9, 10_000))
