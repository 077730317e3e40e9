"""f(x*): certified where the problem is convex, honest where it is not."""

from __future__ import annotations

import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import zofw
from zofw.papers import FrankWolfe
from zofw.problems import BlackBox, Correntropy, Logistic
from zofw.references import reference
from zofw_paper.data import load

D = 12


def samples(n: int = 60) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(8)
    Z = rng.standard_normal((n, D))
    return Z, np.where(Z @ rng.standard_normal(D) + rng.standard_normal(n) > 0, 1.0, -1.0)


REGIONS: dict[str, Any] = {
    "l1": zofw.L1Ball(2.0),
    "l2": zofw.L2Ball(1.5),
    "simplex": zofw.Simplex(),
    "box": zofw.Box(-0.1 * np.ones(D), 0.2 * np.ones(D)),
    "nuclear": zofw.NuclearBall(2.0, (3, 4)),
    "hull (no projection)": zofw.ConvexHull(np.random.default_rng(2).standard_normal((20, D))),
    "polytope (no projection)": zofw.Polytope(A_ub=np.ones((1, D)), b_ub=[1.5], bounds=(0.0, 1.0)),
}


@pytest.mark.parametrize("name", REGIONS)
def test_convex_minimum_is_certified(name: str) -> None:
    region, problem = REGIONS[name], Logistic(*samples())
    best = reference(problem, region)
    assert best.certified and best.gap <= 1e-10
    assert region.contains(best.x)
    assert best.value == problem.value(best.x)
    g = problem.gradient(best.x)
    assert best.gap == pytest.approx(g @ best.x - g @ region.lmo(g), abs=1e-14)
    assert "certified" in best.label and "not" not in best.label
    session = zofw.Session(
        region, dim=D, method=FrankWolfe("away"), gradient=problem.gradient, max_iter=300, diagnose=0
    )
    session.ask()
    assert best.value - best.gap <= problem.value(session.x) <= best.value + 1e-2


def test_interior_minimum() -> None:
    c = np.full(D, 0.01)
    bowl = SimpleNamespace(
        n=1,
        dim=D,
        convex=True,
        value=lambda x: 50 * float((x - c) @ (x - c)),
        gradient=lambda x: 100 * (x - c),
    )
    best = reference(bowl, zofw.L2Ball(1.0))
    assert best.certified
    np.testing.assert_allclose(best.x, c, atol=1e-11)


def test_too_few_iterations_are_not_certified() -> None:
    best = reference(Logistic(*samples()), zofw.L1Ball(2.0), max_iter=2)
    assert not best.certified and best.gap > 1e-10
    assert "not certified" in best.label


def double_well() -> SimpleNamespace:
    """Σ_j (x_j² − 1)² + 0.3 x_j: 2^d local minima, the best with every entry near −1."""
    return SimpleNamespace(
        n=1,
        dim=3,
        convex=False,
        value=lambda x: float((((x**2 - 1) ** 2) + 0.3 * x).sum()),
        gradient=lambda x: 4 * x * (x**2 - 1) + 0.3,
    )


def test_not_convex_is_the_best_of_many_starts() -> None:
    region = zofw.Box(-2 * np.ones(3), 2 * np.ones(3))
    problem = double_well()
    single, best = (reference(problem, region, starts=starts, rng=1) for starts in (1, 24))
    assert best.value <= single.value
    assert (best.x < -0.9).all()
    assert not best.certified and "best of 24 starts" in best.label and "not convex" in best.label
    again = reference(problem, region, starts=24, rng=1)
    np.testing.assert_array_equal(again.x, best.x)


@pytest.mark.parametrize("name", ["l1", "nuclear", "hull (no projection)"])
def test_not_convex_finds_stationary_points(name: str) -> None:
    Z, y = samples()
    best = reference(Correntropy(Z, y, sigma=2.0), REGIONS[name], starts=4, max_iter=3000)
    assert best.gap <= 1e-6
    assert REGIONS[name].contains(best.x)


def test_refusals() -> None:
    with pytest.raises(ValueError, match=r"value\(x\) and gradient\(x\); BlackBox has no value"):
        reference(BlackBox(lambda x: 0.0, dim=2), zofw.L1Ball(1.0))
    with pytest.raises(ValueError, match="starts and max_iter should be at least 1"):
        reference(double_well(), zofw.L2Ball(1.0), starts=0)


def test_a9a(data_folder: Path) -> None:
    problem = Logistic(*load("a9a"))
    begin = time.process_time()
    best = reference(problem, zofw.L1Ball(2.0))
    assert best.certified and time.process_time() - begin < 20
    assert best.value == pytest.approx(0.4777070173, abs=1e-10)
    assert np.count_nonzero(best.x) == 5
