"""Every oracle against a linear programme, a closed form or an enumeration, on more than 1,000 directions."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.optimize import linprog
from scipy.sparse import eye_array, kron
from set_instances import EQUATION, FLAT_POINTS, POINTS, RIGHT, ROWS, zs

from zofw.sets.check import directions

Array = NDArray[np.float64]


def many(dim: int) -> Array:
    """Gaussian directions of many scales, ties, near ties, sparse ones, signed axes and zero."""
    G = np.concatenate([directions(dim, 1100, np.random.default_rng(11)), np.zeros((1, dim))])
    assert len(G) >= 1000
    return G


def lp(
    C: Array, A_ub: Any = None, b_ub: Any = None, A_eq: Any = None, b_eq: Any = None, bounds: Any = None
) -> Array:
    """min ⟨c, y⟩ for every row c of C, all in one block-diagonal linear programme."""
    copies = eye_array(len(C))
    scale = np.abs(C).max(axis=1, keepdims=True) + (~C.any(axis=1, keepdims=True))
    rows: dict[str, Any] = {}
    for kind, A, b in (("ub", A_ub, b_ub), ("eq", A_eq, b_eq)):
        if A is not None:
            rows |= {f"A_{kind}": kron(copies, np.atleast_2d(A)), f"b_{kind}": np.tile(b, len(C))}
    solution = linprog(
        (C / scale).ravel(), bounds=np.tile(np.atleast_2d(bounds), (len(C) * C.shape[1], 1)), **rows
    )
    return np.einsum("td,td->t", C, solution.x.reshape(C.shape))


def enumerated(A_ub: Any, b_ub: Any, A_eq: Any, b_eq: Any, bounds: Any) -> Array:
    """All vertices of a polytope: every choice of d tight constraints that is feasible."""
    dim = len(bounds)
    low, high = np.array(
        [[-np.inf if low is None else low, np.inf if up is None else up] for low, up in bounds]
    ).T
    A = np.concatenate([A_ub, -np.eye(dim)[np.isfinite(low)], np.eye(dim)[np.isfinite(high)]])
    b = np.concatenate([b_ub, -low[np.isfinite(low)], high[np.isfinite(high)]])
    vertices = []
    for tight in combinations(range(len(A)), dim - len(A_eq)):
        M, r = np.concatenate([A_eq, A[list(tight)]]), np.concatenate([b_eq, b[list(tight)]])
        if abs(np.linalg.det(M)) > 1e-9 and (A @ (x := np.linalg.solve(M, r)) <= b + 1e-9).all():
            vertices.append(x)
    return np.array(vertices)


def signed(G: Array) -> Array:
    """Costs of x = p − q with p, q ≥ 0."""
    return np.concatenate([G, -G], axis=1)


def doubly_stochastic(n: int) -> Array:
    return np.concatenate([np.kron(np.eye(n), np.ones(n)), np.kron(np.ones(n), np.eye(n))])


def assignment_sums(G: Array) -> Array:
    return lp(G, A_eq=doubly_stochastic(3), b_eq=np.ones(6), bounds=(0, None))


BOX = zs.Box([0.0, 1.0, -2.0], [1.0, 1.0, 5.0])
GROUPS = [[0, 2], [4, 1, 3]]
CUBE = [(-1.0, 2.0)] * 3
MIXED = [(0, 3), (0, None), (None, 1)]
NO_EQ = (np.zeros((0, 3)), np.zeros(0))
ROW_EQ = (np.array(EQUATION["A_eq"]), np.array(EQUATION["b_eq"]))

CASES: dict[str, tuple[Any, int, Callable[[Array], Array]]] = {
    "l1": (zs.L1Ball(2.0), 5, lambda G: lp(signed(G), np.ones(10), [2.0], bounds=(0, None))),
    "l2": (zs.L2Ball(2.0), 5, lambda G: -2 * np.linalg.norm(G, axis=1)),
    "linf": (zs.LinfBall(0.5), 4, lambda G: lp(G, bounds=(-0.5, 0.5))),
    "lp-3": (zs.LpBall(2.0, 3.0), 5, lambda G: -2 * np.linalg.norm(G, 1.5, axis=1)),
    "lp-1.25": (zs.LpBall(2.0, 1.25), 5, lambda G: -2 * np.linalg.norm(G, 5, axis=1)),
    "lp-1": (zs.LpBall(2.0, 1.0), 5, lambda G: -2 * np.abs(G).max(axis=1)),
    "lp-inf": (zs.LpBall(2.0, np.inf), 5, lambda G: -2 * np.abs(G).sum(axis=1)),
    "box": (zs.Box(-1.0, 2.0), 4, lambda G: lp(G, bounds=(-1.0, 2.0))),
    "box-arrays": (BOX, 3, lambda G: np.minimum(G * BOX.lower, G * BOX.upper).sum(axis=1)),
    "simplex": (zs.Simplex(2.0), 5, lambda G: lp(G, A_eq=np.ones(5), b_eq=[2.0], bounds=(0, None))),
    "capped": (zs.CappedSimplex(1.7, 0.5), 6, lambda G: lp(G, A_eq=np.ones(6), b_eq=[1.7], bounds=(0, 0.5))),
    "hypersimplex": (zs.CappedSimplex(2, 1), 5, lambda G: lp(G, A_eq=np.ones(5), b_eq=[2.0], bounds=(0, 1))),
    "k-sparse": (zs.KSparse(2, 1.5), 6, lambda G: lp(signed(G), np.ones(12), [3.0], bounds=(0, 1.5))),
    "group": (
        zs.GroupBall(GROUPS, 1.5),
        5,
        lambda G: -1.5 * np.max([np.linalg.norm(G[:, group], axis=1) for group in GROUPS], axis=0),
    ),
    "nuclear": (
        zs.NuclearBall(1.5, (3, 4)),
        12,
        lambda G: -1.5 * np.linalg.svd(G.reshape(-1, 3, 4), compute_uv=False)[:, 0],
    ),
    "spectraplex": (
        zs.Spectraplex(3, 2.0),
        9,
        lambda G: (
            2 * np.linalg.eigvalsh((G.reshape(-1, 3, 3) + G.reshape(-1, 3, 3).swapaxes(1, 2)) / 2)[:, 0]
        ),
    ),
    "birkhoff": (zs.Birkhoff(3), 9, assignment_sums),
    "hull": (
        zs.ConvexHull(POINTS),
        3,
        lambda G: lp(G @ POINTS.T, A_eq=np.ones(7), b_eq=[1.0], bounds=(0, None)),
    ),
    "flat-hull": (zs.ConvexHull(FLAT_POINTS), 3, lambda G: (G @ FLAT_POINTS.T).min(axis=1)),
    "polytope": (
        zs.Polytope(ROWS, RIGHT, bounds=CUBE),
        3,
        lambda G: (G @ enumerated(ROWS, RIGHT, *NO_EQ, CUBE).T).min(axis=1),
    ),
    "polytope-eq": (
        zs.Polytope(ROWS, RIGHT, *ROW_EQ, bounds=MIXED),
        3,
        lambda G: (G @ enumerated(ROWS, RIGHT, *ROW_EQ, MIXED).T).min(axis=1),
    ),
    "product": (
        zs.Product([zs.Simplex(), zs.L1Ball(2.0)], [3, 2]),
        5,
        lambda G: G[:, :3].min(axis=1) - 2 * np.abs(G[:, 3:]).max(axis=1),
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_oracle_attains_the_minimum(case: str) -> None:
    region, dim, minimum = CASES[case]
    G = many(dim)
    V = np.array([region.lmo(g) for g in G])
    room = 1e-8 * np.abs(G).sum(axis=1) * np.abs(V).max()
    assert (np.abs(np.einsum("td,td->t", G, V) - minimum(G)) <= room).all()
    members = V[:: 50 if isinstance(region, zs.ConvexHull) else 1]
    assert all(region.contains(s) for s in members)


def test_a_degenerate_vertex_is_found() -> None:
    """At the apex of a pyramid more constraints are active than a basis holds."""
    A = [[1, 0, 1], [-1, 0, 1], [0, 1, 1], [0, -1, 1]]
    pyramid = zs.Polytope(A, np.ones(4), bounds=[(None, None), (None, None), (0, None)])
    np.testing.assert_allclose(pyramid.lmo([0.0, 0.0, -1.0]), [0, 0, 1], atol=1e-12)
    np.testing.assert_allclose(pyramid.lmo([-1.0, -2.0, 1.0]), [1, 1, 0], atol=1e-12)


def test_ties_go_to_the_lowest_index() -> None:
    g = np.array([1.0, -1.0, 1.0, -1.0])
    assert zs.L1Ball().lmo(g).tolist() == [-1, 0, 0, 0]
    assert zs.Simplex().lmo(g).tolist() == [0, 1, 0, 0]
    assert zs.KSparse(3).lmo(g).tolist() == [-1, 1, -1, 0]
    assert zs.CappedSimplex(1.5, 0.5).lmo(g).tolist() == [0.5, 0.5, 0, 0.5]
    assert zs.CappedSimplex(1.25, 0.5).lmo(g).tolist() == [0.25, 0.5, 0, 0.5]
    assert zs.LinfBall().lmo(np.zeros(2)).tolist() == [-1, -1]
    assert zs.L2Ball(2.0).lmo(np.zeros(3)).tolist() == [-2, 0, 0]
    assert zs.L1Ball().lmo(np.array([-0.0, 0.0])).tolist() == [-1, 0]
    assert zs.GroupBall([[1], [0]]).lmo(np.ones(2)).tolist() == [0, -1]
    assert zs.ConvexHull([[1.0, 0.0], [0.0, 1.0]]).lmo(np.ones(2)).tolist() == [1, 0]
    assert zs.Birkhoff(2).lmo(np.zeros((2, 2))).tolist() == [[1, 0], [0, 1]]
    assert zs.NuclearBall(2.0, (2, 3)).lmo(np.zeros((2, 3))).tolist() == [[-2, 0, 0], [0, 0, 0]]
    assert zs.Spectraplex(2).lmo(np.zeros((2, 2))).tolist() == [[1, 0], [0, 0]]


def test_no_entry_underflows_beside_a_huge_one() -> None:
    g = np.array([1e300, -1e-300])
    assert zs.LinfBall().lmo(g).tolist() == [-1, 1]
    assert zs.Product([zs.L2Ball(), zs.L2Ball()], [1, 1]).lmo(g).tolist() == [-1, 1]


@pytest.mark.parametrize(
    ("region", "dim", "exact"),
    [
        (zs.L1Ball(3), 4, 6),
        (zs.L2Ball(3), 4, 6),
        (zs.LinfBall(3), 4, 12),
        (zs.LpBall(1, 4), 16, 4),
        (zs.LpBall(1, 1.5), 16, 2),
        (zs.Box(0, 2), 4, 4),
        (zs.Simplex(2), 3, 8**0.5),
        (zs.CappedSimplex(1.5, 1.0), 3, 2 * 0.5**0.5),
        (zs.CappedSimplex(3, 1.0), 3, 0),
        (zs.KSparse(4, 0.5), 9, 2),
        (zs.Birkhoff(3), 9, 6**0.5),
        (zs.Spectraplex(2), 4, 2**0.5),
        (zs.ConvexHull(FLAT_POINTS), 3, 5**0.5),
        (zs.Product([zs.Box(0, 3), zs.Box(0, 4)], [1, 1]), 2, 5),
    ],
)
def test_diameters(region: Any, dim: int, exact: float) -> None:
    assert region.diameter(dim) == pytest.approx(exact)
    V = np.array([region.lmo(g) for g in directions(dim, 400, np.random.default_rng(0))])
    reached = np.linalg.norm(V[:, None] - V[None], axis=2).max()
    assert reached <= exact + 1e-9
    assert reached >= 0.9 * exact


def test_diameter_of_a_large_hull_is_an_upper_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    exact = zs.ConvexHull(POINTS).diameter(3)
    monkeypatch.setattr(importlib.import_module("zofw.sets.convex_hull"), "PAIRS", 3)
    assert exact <= zs.ConvexHull(POINTS).diameter(3) <= 2 * exact
