"""Every evaluated point inside the set."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

import zofw
from conftest import Still, small_set
from zofw.core import Info, Query
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
        zofw.minimize(f, zofw.L2Ball(1.0), method=zofw.papers.ZOFW(radius=2.0), budget=100, inside=True)
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


@pytest.mark.parametrize("resolution", [0.0, 0.05, 0.5])
@pytest.mark.parametrize("known_by", ["hull", "oracle", "product"])
@pytest.mark.parametrize("seed", range(4))
def test_a_resolution_never_leads_out_of_the_set(resolution, known_by, seed):
    """A certificate of the hull of five points in the plane had no room for points so far apart, and asked outside."""
    hull = zofw.ConvexHull(np.random.default_rng(seed).standard_normal((5, 2)))
    oracle = as_set(hull.lmo, dim=2)
    region = {
        "hull": hull,
        "oracle": oracle,
        "product": zofw.Product([oracle, zofw.Box(0.0, 1.0)], dims=[2, 1]),
    }
    outside = []

    def f(x):
        outside.append(not hull.contains(x[:2]))
        return float(((x - 0.3 * seed - np.arange(len(x))) ** 2).sum())

    dim = 3 if known_by == "product" else 2
    settings = {"dim": dim, "budget": 80, "rng": seed, "inside": True, "options": {"resolution": resolution}}
    result = zofw.minimize(f, region[known_by], **settings)
    assert not any(outside) and len(outside) == result.nfev and hull.contains(result.x[:2])


@dataclass(frozen=True)
class Astray(Still):
    """Asks for a point outside the set, at once or in its third iteration."""

    name = "astray"
    at: int = 0

    def step(self, task, state, rng):
        yield Query(state.x if state.t < self.at else state.x + 1.0, task.all)
        return self.State(state.t + 1, state.x), Info()


@pytest.mark.parametrize("region", [zofw.Simplex(), zofw.ConvexHull(np.eye(3)), as_set(zofw.Simplex().lmo)])
def test_a_query_outside_is_refused_before_it_is_paid_and_ends_a_run_that_has_paid(region):
    calls = []
    settings = {"dim": 3, "budget": 50, "inside": True}
    with pytest.raises(ValueError, match="is not a point of"):
        zofw.minimize(calls.append, region, method=Astray(), **settings)
    assert not calls
    result = zofw.minimize(lambda x: float(x @ x), region, method=Astray(2), **settings)
    assert result.status is zofw.Status.STALLED and result.nit == 2 and "is not a point of" in result.message


def test_a_mixture_of_vertices_is_proven_by_the_oracle():
    rng = np.random.default_rng(0)
    for region, dim in [(zofw.L1Ball(1.0), 5), (zofw.L2Ball(2.0), 4), (zofw.Box(-1e6, 1e6), 6)]:
        own = as_set(region.lmo)
        V = np.array([region.lmo(rng.standard_normal(dim)) for _ in range(dim + 2)])
        for x in (V[0], V[:2].mean(axis=0), rng.dirichlet(np.ones(len(V))) @ V):
            assert own.mixes(x)
        assert not own.mixes((1 + 1e-6) * V[0]) and not own.mixes(V[0] + 1e-6 * (V[0] - V[1]))
