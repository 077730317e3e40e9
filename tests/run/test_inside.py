"""Every evaluated point inside the set."""

from __future__ import annotations

import numpy as np
import pytest

import zofw
from conftest import small_set
from zofw.problems import BlackBox
from zofw.sets import as_set

DIM = 9


@pytest.mark.parametrize("method", ["zo-fw", "zo-sfw", "zsfw-dvr"])
@pytest.mark.parametrize(
    "name", [name for name in zofw.sets() if as_set(small_set(name, DIM)).inball(DIM) is not None]
)
def test_all_points_are_members(name, method):
    region = small_set(name, DIM)
    outside = []

    def f(x):
        if not region.contains(x, 1e-9):
            outside.append(x)
        return float(((x - np.cos(np.arange(DIM) ** 2)) ** 2).sum())

    problem = BlackBox(f, dim=DIM)
    budget, start = 400, problem.values(as_set(region).initial_point(DIM)[None], np.array([0]))[0, 0]
    result = zofw.minimize(problem, region, method=method, budget=budget, rng=0, inside=True)
    assert not outside
    assert result.nfev <= budget and result.fun < start


def test_without_it_points_leave():
    left = []

    def f(x):
        left.append(not zofw.Simplex().contains(x))
        return float(x @ x)

    zofw.minimize(BlackBox(f, dim=4), zofw.Simplex(), method="zo-fw", budget=50, rng=0)
    assert any(left)


def test_a_radius_too_large_and_a_set_without_a_ball_are_refused():
    f = BlackBox(lambda x: float(x @ x), dim=DIM)
    with pytest.raises(ValueError, match="Choose a radius of at most"):
        zofw.minimize(f, zofw.L2Ball(1.0), method=zofw.ZOFW(radius=2.0), budget=100, inside=True)
    with pytest.raises(ValueError, match="does not know one"):
        zofw.minimize(f, small_set("convex-hull", DIM), method="zo-fw", budget=100, inside=True)


@pytest.mark.parametrize("noise", [0.0, 0.1, 1.0])
@pytest.mark.parametrize("region", [zofw.Simplex(), zofw.CappedSimplex(1.0, 0.5), zofw.Birkhoff(3)], ids=repr)
def test_the_default_method_stays_inside_however_noisy_the_values_are(region, noise):
    rng = np.random.default_rng(1)

    def value(x):
        assert region.contains(x)
        return float(((x - 0.3) ** 2).sum()) + noise * rng.standard_normal()

    f = zofw.problems.BlackBox(value, dim=9)
    assert zofw.minimize(f, region, budget=400, rng=0, inside=True, diagnose=0).nfev <= 400
