"""Projections against an independent solver of the same quadratic programme."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.optimize import brentq, minimize
from set_instances import zs

from zofw.sets.thresholds import project_capped

Array = NDArray[np.float64]


def by_slsqp(y: Array, constraints: list[dict[str, Any]], bounds: Any = None) -> Array:
    """min ½‖x − y‖² under smooth constraints."""
    start = np.full(y.size, 0.1)
    solution = minimize(
        lambda x: 0.5 * ((x - y) @ (x - y)),
        start,
        jac=lambda x: x - y,
        bounds=bounds,
        constraints=constraints,
        method="SLSQP",
        options={"ftol": 1e-14, "maxiter": 500},
    )
    return np.asarray(solution.x)


def by_root(size: Array, total: float, cap: float) -> Array:
    """clip(size − τ, 0, cap) with τ from a root finder."""
    tau = brentq(
        lambda t: np.clip(size - t, 0, cap).sum() - total, size.min() - cap - 1, size.max() + 1, xtol=1e-14
    )
    return np.clip(size - tau, 0, cap)


def l1(y: Array, r: float) -> Array:
    return y if np.abs(y).sum() <= r else np.sign(y) * by_root(np.abs(y), r, r)


def norm_at_most(r: float) -> list[dict[str, Any]]:
    return [{"type": "ineq", "fun": lambda x: r**2 - x @ x, "jac": lambda x: -2 * x}]


def sums_to(a: float) -> list[dict[str, Any]]:
    return [{"type": "eq", "fun": lambda x: x.sum() - a, "jac": np.ones_like}]


def k_sparse(y: Array, k: int, r: float) -> Array:
    clipped = np.clip(y, -r, r)
    return clipped if np.abs(clipped).sum() <= k * r else np.sign(y) * by_root(np.abs(y), k * r, r)


def by_slsqp_split(y: Array, total: float, cap: float) -> Array:
    """min ½‖p − q − y‖² over 0 ≤ p, q ≤ cap with Σ p + q ≤ total."""
    d = y.size
    solution = minimize(
        lambda z: 0.5 * np.sum((z[:d] - z[d:] - y) ** 2),
        np.full(2 * d, 0.01),
        jac=lambda z: np.concatenate([z[:d] - z[d:] - y, -(z[:d] - z[d:] - y)]),
        bounds=[(0, cap)] * (2 * d),
        constraints=[{"type": "ineq", "fun": lambda z: total - z.sum(), "jac": lambda z: -np.ones(2 * d)}],
        method="SLSQP",
        options={"ftol": 1e-14, "maxiter": 500},
    )
    return np.asarray(solution.x)


CASES: dict[str, tuple[Any, int, Callable[[Array], Array]]] = {
    "l1": (zs.L1Ball(2.0), 5, lambda y: l1(y, 2.0)),
    "l1-split": (zs.L1Ball(2.0), 4, lambda y: np.subtract(*by_slsqp_split(y, 2.0, 9.0).reshape(2, -1))),
    "l2": (zs.L2Ball(1.5), 5, lambda y: by_slsqp(y, norm_at_most(1.5))),
    "linf": (zs.LinfBall(1.0), 4, lambda y: by_slsqp(y, [], [(-1, 1)] * 4)),
    "box": (zs.Box([0, -1, 2], 3), 3, lambda y: by_slsqp(y, [], [(0, 3), (-1, 3), (2, 3)])),
    "simplex": (zs.Simplex(2.0), 5, lambda y: by_slsqp(y, sums_to(2.0), [(0, None)] * 5)),
    "capped": (zs.CappedSimplex(1.7, 0.5), 6, lambda y: by_slsqp(y, sums_to(1.7), [(0, 0.5)] * 6)),
    "capped-root": (zs.CappedSimplex(2.0, 1.0), 5, lambda y: by_root(y, 2.0, 1.0)),
    "k-sparse": (zs.KSparse(2, 1.0), 5, lambda y: k_sparse(y, 2, 1.0)),
}


@pytest.mark.parametrize("case", CASES)
def test_projection(case: str) -> None:
    region, dim, reference = CASES[case]
    rng = np.random.default_rng(2)
    Y = np.concatenate(
        [2 * rng.standard_normal((40, dim)), rng.integers(-2, 3, (40, dim)), 0.1 * np.ones((1, dim))]
    )
    for y in Y:
        np.testing.assert_allclose(region.project(y), reference(y), atol=2e-6)


def test_group_projection_is_the_l1_projection_of_the_norms() -> None:
    groups = [[0, 3], [1], [2, 4, 5]]
    region = zs.GroupBall(groups, 1.0)
    rng = np.random.default_rng(0)
    for y in [*rng.standard_normal((50, 6)), np.zeros(6), np.array([0, 5.0, 0, 0, 0, 0])]:
        p = region.project(y)
        norms = np.array([np.linalg.norm(y[g]) for g in groups])
        want = l1(norms, 1.0)
        np.testing.assert_allclose([np.linalg.norm(p[g]) for g in groups], want, atol=1e-9)
        for g, n in zip(groups, norms, strict=True):
            assert p[g] @ y[g] == pytest.approx(np.linalg.norm(p[g]) * n, abs=1e-9)


def test_spectral_projections_act_on_the_spectrum() -> None:
    rng = np.random.default_rng(0)
    for _ in range(30):
        Y = rng.standard_normal((4, 3))
        p = zs.NuclearBall(1.0, (4, 3)).project(Y)
        u, sigma, vt = np.linalg.svd(Y, full_matrices=False)
        np.testing.assert_allclose(p, (u * l1(sigma, 1.0)) @ vt, atol=1e-9)
        S = rng.standard_normal((4, 4))
        values, vectors = np.linalg.eigh((S + S.T) / 2)
        want = (vectors * by_root(values, 2.0, 2.0)) @ vectors.T
        np.testing.assert_allclose(zs.Spectraplex(4, 2.0).project(S), want, atol=1e-9)


def test_members_stay_where_they_are() -> None:
    x = np.array([0.25, -0.25, 0.0])
    for region in (zs.L1Ball(), zs.L2Ball(), zs.LinfBall(), zs.KSparse(1), zs.GroupBall([[0, 1], [2]])):
        np.testing.assert_array_equal(region.project(x), x)
        assert not np.shares_memory(region.project(x), x)


def test_capped_projection_far_away() -> None:
    np.testing.assert_allclose(project_capped(np.array([1e17, 0.0, -1e17]), 1.0, 1.0), [1, 0, 0])
    np.testing.assert_allclose(project_capped(np.array([1e17, 0.0, -1e17]), 2.0, 1.0), [1, 1, 0])
    np.testing.assert_allclose(project_capped(np.zeros(3), 3.0, 1.0), [1, 1, 1])


def test_which_sets_can_project() -> None:
    able = zs.Product([zs.Simplex(), zs.Box(0, 1)], [2, 2])
    unable = zs.Product([zs.Simplex(), zs.LpBall(1.0, 3.0)], [2, 2])
    assert zs.can_project(able)
    np.testing.assert_allclose(able.project([2.0, 0.0, 2.0, -1.0]), [1, 0, 1, 0])
    assert not zs.can_project(unable)
    with pytest.raises(AttributeError, match="LpBall cannot project"):
        _ = unable.project
    lack = [zs.LpBall(1, 3), zs.Birkhoff(2), zs.ConvexHull([[1.0]]), zs.Polytope(bounds=[(0, 1)])]
    assert not any(map(zs.can_project, lack))
