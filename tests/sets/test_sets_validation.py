"""What a set cannot be is refused with a sentence when it is made."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from set_instances import zs

from zofw.atoms import Dense
from zofw.sets.lp import solve_scipy


@pytest.mark.parametrize("make", [zs.L1Ball, zs.L2Ball, zs.LinfBall, zs.LpBall, zs.Simplex])
@pytest.mark.parametrize("size", [0, -1.0, np.nan, np.inf, "1", None])
def test_sizes_are_positive(make: Callable[[Any], Any], size: Any) -> None:
    with pytest.raises(ValueError, match="must be a positive finite number"):
        make(size)


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: zs.LpBall(1.0, 0.5), "p must be a number of at least 1"),
        (lambda: zs.LpBall(1.0, np.nan), "p must be a number of at least 1"),
        (lambda: zs.Box(1.0, 0.0), "lower must not exceed upper, but does at 1 places"),
        (lambda: zs.Box([0.0, 3.0], [1.0, 2.0]), "first at 1"),
        (lambda: zs.Box([0.0, 0.0], [1.0, 1.0, 1.0]), "one common length"),
        (lambda: zs.Box([], []), "one common length"),
        (lambda: zs.Box(0.0, np.inf), "must be finite"),
        (lambda: zs.Box(np.nan, 1.0), "with NaN"),
        (lambda: zs.Box([[0.0]], 1.0), "a list of numbers"),
        (lambda: zs.CappedSimplex(1.0, 0.3).check_dim(3), "in dimension 3 no point"),
        (lambda: zs.KSparse(0), "k must be a whole number"),
        (lambda: zs.KSparse(1.5), "k must be a whole number"),
        (lambda: zs.GroupBall([[0, 1], [1, 2]]), "disjoint"),
        (lambda: zs.GroupBall([[0, 1], []]), "non-empty"),
        (lambda: zs.GroupBall([[0, 1], [3]]), "cover"),
        (lambda: zs.GroupBall([]), "non-empty"),
        (lambda: zs.NuclearBall(1.0, (3,)), "shape must be two whole numbers"),
        (lambda: zs.NuclearBall(1.0, (3, 0)), "shape must be two whole numbers"),
        (lambda: zs.Spectraplex(0), "size must be a whole number"),
        (lambda: zs.Spectraplex(2, tol=0.0), "tol must be a positive"),
        (lambda: zs.Birkhoff(-1), "size must be a whole number"),
        (lambda: zs.ConvexHull(np.zeros((0, 3))), "N, d ≥ 1"),
        (lambda: zs.ConvexHull([1.0, 2.0]), "a matrix of numbers"),
        (lambda: zs.ConvexHull([[np.inf]]), "infinite"),
        (lambda: zs.Polytope(), "agree on one dimension"),
        (lambda: zs.Polytope(bounds=(0, 1, 2)), "agree on one dimension"),
        (lambda: zs.Polytope([[1.0, 1.0]], [1.0], bounds=[(0, 1)] * 3), r"give \[2, 3\]"),
        (lambda: zs.Polytope([[1.0, 1.0]]), "A_ub and b_ub must be given together"),
        (lambda: zs.Polytope([[1.0, 1.0]], [1.0, 2.0]), "as many rows"),
        (lambda: zs.Polytope([[1.0, np.inf]], [1.0]), "must be finite"),
        (lambda: zs.Polytope(bounds=[(1, 0)]), "a lower bound exceeds its upper bound at 0"),
        (lambda: zs.Polytope([[1.0, 1.0]], [1.0]), "unbounded"),
        (lambda: zs.Polytope([[1.0, 1.0]], [-1.0], bounds=(0, 1)), "the set is empty"),
        (lambda: zs.Product([]), "0 sets and 0 dims"),
        (lambda: zs.Product([zs.L1Ball()], [1, 2]), "1 sets and 2 dims"),
        (lambda: zs.Product([zs.L1Ball(), zs.Birkhoff(2)]), "L1Ball can have any dimension"),
        (lambda: zs.Product([zs.Birkhoff(2)], [5]), "this set lives in dimension 4"),
        (
            lambda: zs.Product([zs.Birkhoff(2)]).atom(np.zeros(4), Dense(np.zeros(4))),
            "Blocks atom with 1 parts",
        ),
    ],
)
def test_refused(make: Callable[[], Any], sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        make()


def test_arrays_of_a_set_are_its_own() -> None:
    lower = np.zeros(2)
    box = zs.Box(lower, 1.0)
    lower[0] = 7.0
    assert box.contains([0.0, 0.0])
    with pytest.raises(ValueError, match="read-only"):
        np.asarray(box.lower)[0] = 1.0


@pytest.mark.parametrize(
    ("region", "inside", "outside"),
    [
        (zs.L1Ball(1.0), [0.5, -0.5], [0.5, -0.51]),
        (zs.L2Ball(1.0), [0.6, 0.8], [0.61, 0.8]),
        (zs.LinfBall(1.0), [1.0, -1.0], [1.01, 0.0]),
        (zs.LpBall(1.0, 4.0), [0.8, 0.8], [0.9, 0.9]),
        (zs.Simplex(), [0.5, 0.5], [0.5, 0.51]),
        (zs.Simplex(), [1.0, 0.0], [1.1, -0.1]),
        (zs.CappedSimplex(1.0, 0.6), [0.4, 0.6], [0.3, 0.7]),
        (zs.KSparse(1), [0.5, 0.5], [0.9, 0.9]),
        (zs.GroupBall([[0, 1]]), [0.6, 0.8], [1.0, 0.8]),
        (zs.ConvexHull([[0.0, 0.0], [2.0, 2.0]]), [1.0, 1.0], [1.0, 1.01]),
        (zs.ConvexHull([[0.0, 0.0], [2.0, 2.0]]), [0.0, 0.0], [9.0, 9.0]),
        (zs.Polytope([[1.0, 1.0]], [1.0], bounds=(0, None)), [0.5, 0.5], [0.5, 0.6]),
        (zs.Polytope([[1.0, 1.0]], [1.0], bounds=(0, None)), [0.0, 0.0], [-0.1, 0.0]),
    ],
)
def test_membership(region: Any, inside: list[float], outside: list[float]) -> None:
    assert region.contains(inside)
    assert not region.contains(outside)
    assert region.contains(outside, tol=10.0)


def test_boxes_start_at_zero_or_in_the_middle() -> None:
    assert zs.Box(-1, 2).initial_point(2).tolist() == [0, 0]
    assert zs.Box(1, 2).initial_point(2).tolist() == [1.5, 1.5]


def test_polytope_knows_its_flat() -> None:
    hidden = zs.Polytope([[1.0, 1.0], [-1.0, -1.0]], [1.0, -1.0], bounds=(0, 1))  # x + y ≤ 1 and ≥ 1
    assert hidden.inball(2) is None
    single = zs.Polytope(A_eq=np.eye(2), b_eq=[0.5, 0.25], bounds=(0, 1))
    ball = single.inball(2)
    assert ball is not None
    assert ball[1] == np.inf
    np.testing.assert_allclose(single.lmo([1.0, -1.0]), [0.5, 0.25])
    triangle = zs.Polytope(A_eq=[[1.0, 1.0, 1.0]], b_eq=[1.0], bounds=(0, None)).inball(3)
    assert triangle is not None
    np.testing.assert_allclose(triangle[0], np.full(3, 1 / 3))
    assert triangle[1] == pytest.approx(6**-0.5)
    assert zs.Product([hidden, zs.Simplex()], [2, 2]).inball(4) is None


def test_solver_failures_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("scipy.optimize.linprog", lambda *_, **__: {"status": 4, "message": "numbers"})
    with pytest.raises(RuntimeError, match="says: numbers"):
        solve_scipy([1.0], bounds=[(0, 1)])
