"""Vertices, projections and nearest members of points of every size."""

from __future__ import annotations

import numpy as np
import pytest

import zofw
from conftest import small_set
from zofw.sets import as_set, can_clip, can_project

DIM = 9
POWERS = (-300, -200, -155, -20, -8, 0, 8, 12, 15, 16, 17, 30, 100, 155, 200, 300)


def gradients(rng):
    """Gaussian ones, ones whose entries differ by eight powers of ten, and ties."""
    g = rng.standard_normal((3, DIM))
    g[1] *= 10.0 ** rng.integers(-8, 1, DIM)
    g[2] = np.sign(g[2]) * rng.integers(1, 4, DIM)
    return g


@pytest.mark.parametrize("name", zofw.sets())
@pytest.mark.filterwarnings("error")
def test_no_size_of_a_point_leads_out_of_the_set(name):
    region, rng = as_set(small_set(name, DIM)), np.random.default_rng(0)
    V = np.array([region.lmo(g) for g in rng.standard_normal((40, DIM))])
    for power in POWERS:
        for x in gradients(rng) * 10.0**power:
            size = max(1.0, float(np.abs(x).max()))
            s = region.lmo(x)
            assert region.contains(s) and (V @ x).min() >= (s @ x) * (1 + 1e-9 * np.sign(-(s @ x)))
            if can_clip(region):
                assert region.contains(region.clip(x)), (power, x)
            if can_project(region):
                p = region.project(x)
                assert region.contains(p), (power, x, p)
                slack = 1e-8 * (np.abs(V).max() + 1)
                assert ((V - p) @ (x / size - p / size)).max() <= slack, (power, x, p)


@pytest.mark.parametrize("power", [4, 8, 16, 30, 200])
def test_a_capped_simplex_projects_ties_and_far_points_onto_its_sum(power):
    region = zofw.CappedSimplex(2.0, 1.0)
    x = np.array([-1.0, -2.0, 3.0, -1.0]) * 10.0**power
    np.testing.assert_allclose(region.project(x), [0.5, 0.0, 1.0, 0.5], atol=1e-15)
    np.testing.assert_allclose(
        zofw.CappedSimplex(1.5, 1.0).project([10.0**power, 2.0 - 10.0**power]), [1.0, 0.5]
    )


def test_a_group_ball_projects_points_whose_squares_overflow():
    p = zofw.GroupBall([[0, 1], [2]], 5.0).project([3e200, 4e200, 1.0])
    np.testing.assert_allclose(p, [3.0, 4.0, 0.0], atol=1e-12)
