"""Sets as people have them, taken or refused with the line to write."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.optimize import Bounds, LinearConstraint, NonlinearConstraint
from scipy.sparse import csr_array
from set_instances import zs

from zofw.sets.lp import solve_scipy

ONES = np.ones(4)
TAKEN: list[tuple[Any, Any]] = [
    ("simplex", zs.Simplex()),
    (zs.Simplex, zs.Simplex()),
    (zs.L1Ball, zs.L1Ball(1.0)),
    (Bounds(0, 1), zs.Box(0.0, 1.0)),
    (Bounds([0, 1], [2, 3]), zs.Box([0, 1], [2, 3])),
    ([(0, 1), (-1, 2)], zs.Box([0, -1], [1, 2])),
    (((0, 1), (-1, 2)), zs.Box([0, -1], [1, 2])),
    (np.array([[0.0, 1.0], [0.0, 2.0]]), zs.Box([0, 0], [1, 2])),
    ([LinearConstraint(ONES, 1, 1), Bounds(0, np.inf)], zs.Simplex()),
    ([LinearConstraint(2 * ONES, 2, 2), Bounds(0, 1)], zs.Simplex()),
    (
        [LinearConstraint(csr_array(ONES[None]), 1, 1), Bounds(0, 0.5)],
        zs.CappedSimplex(1.0, 0.5 * ONES, 0 * ONES),
    ),
    (
        [LinearConstraint(np.eye(2), -1, [1, 2]), LinearConstraint([1, 1], 0, 0)],
        zs.Polytope([[1, 0], [0, 1], [-1, 0], [0, -1]], [1, 2, 1, 1], [[1, 1]], [0]),
    ),
    (LinearConstraint(np.eye(2), -1, 1), zs.Polytope([[1, 0], [0, 1], [-1, 0], [0, -1]], [1, 1, 1, 1])),
]


@pytest.mark.parametrize(("given", "wanted"), TAKEN, ids=[f"{g!r:.40}" for g, _ in TAKEN])
def test_taken(given: Any, wanted: Any) -> None:
    assert zs.as_set(given) == wanted


REFUSED: list[tuple[Any, type[Exception], str]] = [
    ("simplx", KeyError, "did you mean 'simplex'"),
    (zs.Box, TypeError, r"write Box\(lower=…, upper=…\)"),
    (zs.NuclearBall, TypeError, r"write NuclearBall\(radius=…, shape=…\)"),
    (3.0, TypeError, "A set is needed, and float is not one"),
    ((0, 1), TypeError, r"zofw.Box\(low, high\)"),
    ([(0, 1, 2)], TypeError, "pairs"),
    ([(0, None)], ValueError, "coordinate 0 is open"),
    (Bounds(0, np.inf), ValueError, "must be finite"),
    ({"type": "eq", "fun": lambda x: x.sum() - 1}, TypeError, "LinearConstraint"),
    (NonlinearConstraint(lambda x: x @ x, 0, 1), TypeError, "zofw.L2Ball"),
    (LinearConstraint(ONES, 1, 1), ValueError, "unbounded; add bounds"),
    (None, TypeError, "none was given"),
    ([], TypeError, r"list is not one: \[\]"),
    (
        [LinearConstraint(np.ones((1, 4)), 1, 1), Bounds([0] * 3, [1] * 3)],
        ValueError,
        "4 coordinates, and the bounds 3",
    ),
]


@pytest.mark.parametrize(("given", "error", "sentence"), REFUSED, ids=[f"{g!r:.40}" for g, _, _ in REFUSED])
def test_refused_with_the_line_to_write(given: Any, error: type[Exception], sentence: str) -> None:
    with pytest.raises(error, match=sentence):
        zs.as_set(given)


def test_a_two_phase_mixture_is_a_product() -> None:
    region = zs.Product(["simplex", Bounds(0, 1)], dims=[3, 2])
    assert region.sets == (zs.Simplex(), zs.Box(0.0, 1.0))
    assert region.lmo([3.0, 1.0, 2.0, -1.0, 1.0]).tolist() == [0, 1, 0, 1, 0]


@pytest.mark.parametrize("seed", range(5))
def test_shares_with_capped_groups_are_filled_as_the_programme_does(seed: int) -> None:
    rng = np.random.default_rng(seed)
    lower, upper = 0.02 * rng.random(8), 0.2 + 0.3 * rng.random(8)
    groups = [([0, 3, 5], 0.4), ([1, 7], 0.3)]
    region = zs.Polytope.shares(8, groups, lower=lower, upper=upper)
    for g in [*rng.standard_normal((40, 8)), *rng.integers(-1, 2, (20, 8)).astype(float)]:
        s = region.lmo(g)
        best = solve_scipy(
            g, A_ub=region.A_ub, b_ub=region.b_ub, A_eq=region.A_eq, b_eq=region.b_eq, bounds=region.bounds
        )
        assert best is not None and g @ s == pytest.approx(g @ best, abs=1e-9)
        assert region.contains(s, 1e-12)
    assert zs.check_set(region, 8, trials=20).ok
