"""`clip` gives members without tolerance: every comparison here is exact."""

from __future__ import annotations

from collections.abc import Callable
from math import fsum, ulp
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from set_instances import INSTANCES, zs

from conftest import examples
from zofw.sets.protocol import EPS

Array = NDArray[np.float64]


def adds_up(x: Array, total: float) -> bool:
    """The exact sum is within one rounding of the total."""
    return abs(fsum([*x.tolist(), -total])) <= ulp(total)


def singular(region: Any, x: Array) -> Array:
    return np.linalg.svd(x.reshape(region.shape), compute_uv=False)


def groups(region: Any, x: Array) -> float:
    labels = region.labels
    return float(np.sqrt(np.bincount(labels, weights=x * x)).sum())


def in_polytope(region: Any, x: Array) -> bool:
    terms = np.abs(region.A_eq) @ np.abs(x) + np.abs(region.b_eq)
    return bool(
        np.all(x >= region.bounds[:, 0])
        and np.all(x <= region.bounds[:, 1])
        and np.all(region.A_ub @ x <= region.b_ub)
        and np.all(np.abs(region.A_eq @ x - region.b_eq) <= 2 * x.size * EPS * terms)
    )


def in_birkhoff(region: Any, x: Array) -> bool:
    X = x.reshape(region.shape)
    sums = [*X.sum(axis=0), *X.sum(axis=1)]
    return X.min() >= 0 and all(abs(s - 1) <= 4 * region.size * EPS for s in sums)


def in_spectraplex(region: Any, x: Array) -> bool:
    X = x.reshape(region.shape)
    return bool((X == X.T).all() and np.linalg.eigvalsh(X)[0] >= 0 and adds_up(np.diag(X), region.trace))


# the inequalities of each set, written out once more, with == and <= and no tolerance but that of a rounded sum
EXACT: dict[str, Callable[[Any, Array], bool]] = {
    "box": lambda X, x: bool(np.all(x >= X.lower) and np.all(x <= X.upper)),
    "linf-ball": lambda X, x: bool(np.all(np.abs(x) <= X.radius)),
    "l1-ball": lambda X, x: bool(np.abs(x).sum() <= X.radius),
    "l2-ball": lambda X, x: bool(np.linalg.norm(x) <= X.radius),
    "lp-ball": lambda X, x: X.norm(x) <= X.radius,
    "k-sparse": lambda X, x: bool(np.abs(x).max() <= X.radius and np.abs(x).sum() / X.k <= X.radius),
    "group-ball": lambda X, x: groups(X, x) <= X.radius,
    "nuclear-ball": lambda X, x: bool(singular(X, x).sum() <= X.radius),
    "spectral-ball": lambda X, x: bool(singular(X, x)[0] <= X.radius),
    "simplex": lambda X, x: bool(x.min() >= 0 and x.max() <= X.total and adds_up(x, X.total)),
    "capped-simplex": lambda X, x: bool(
        np.all(x >= X.lower) and np.all(x <= X.upper) and adds_up(x, X.total)
    ),
    "birkhoff": in_birkhoff,
    "spectraplex": in_spectraplex,
    "polytope": in_polytope,
}
CASES = [(name, region, dim) for name, region, dim in INSTANCES if name in EXACT]


def test_which_sets_clip() -> None:
    assert set(zs.SETS) - set(EXACT) == {"convex-hull", "product"}
    assert all(zs.can_clip(region) for _, region, _ in CASES)
    assert not zs.can_clip(zs.ConvexHull([[1.0]]))
    assert not zs.can_clip(zs.Product([zs.Simplex(), zs.ConvexHull([[1.0]])], [2, 1]))
    assert not zs.can_clip(zs.as_set(lambda g: -g / np.linalg.norm(g)))


@pytest.mark.parametrize("name", EXACT)
@given(data=st.data())
@examples(60)
def test_members_without_tolerance(name: str, data: st.DataObject) -> None:
    region, dim = data.draw(st.sampled_from([(r, d) for other, r, d in CASES if other == name]))
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    V = np.array([region.lmo(g) for g in rng.standard_normal((3, dim))])
    member = rng.dirichlet(np.ones(3)) @ V if data.draw(st.booleans()) else V[0]
    noise = data.draw(st.sampled_from([0.0, 1e-17, 1e-16, 1e-14, 1e-9, 1.0])) * np.abs(V).max()
    x = member + noise * rng.standard_normal(dim)
    p = region.clip(x)
    assert EXACT[name](region, p)
    np.testing.assert_array_equal(region.clip(p), p)
    assert np.linalg.norm(p - x) <= 1e-12 + 100 * noise * dim


def test_a_product_clips_block_by_block() -> None:
    region = zs.Product([zs.Simplex(), zs.Box(0, 1)], [3, 2])
    p = region.clip([0.5, 0.5 + 1e-16, -1e-17, 1 + 1e-15, -1e-15])
    assert p.min() >= 0 and adds_up(p[:3], 1.0) and p[3:].tolist() == [1.0, 0.0]


def test_points_that_are_none_are_refused() -> None:
    for _, region, dim in INSTANCES:
        if zs.can_clip(region):
            with pytest.raises(ValueError, match="NaN or infinite"):
                region.clip(np.full(dim, np.nan))


def test_many_coordinates() -> None:
    rng = np.random.default_rng(0)
    x = rng.dirichlet(np.ones(100_000)) * (1 + 1e-13)
    p = zs.Simplex().clip(x)
    assert p.min() >= 0 and adds_up(p, 1.0) and np.count_nonzero(p != x) <= 2
