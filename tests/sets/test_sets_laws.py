"""Every registered set keeps every law of its protocol."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from set_instances import IDS, INSTANCES, zs

from conftest import examples
from zofw.sets.protocol import Region

SLOW = (zs.Polytope, zs.ConvexHull)
every = pytest.mark.parametrize(("name", "region", "dim"), INSTANCES, ids=IDS)


def test_every_registered_set_has_an_instance() -> None:
    assert {name for name, _, _ in INSTANCES} == set(zs.SETS)
    assert all(type(region) is zs.SETS[name] for name, region, _ in INSTANCES)


@every
def test_laws(name: str, region: Any, dim: int) -> None:
    parts = getattr(region, "sets", (region,))
    trials = 12 if any(isinstance(part, SLOW) for part in parts) else 60
    report = zs.check_set(region, dim, trials=trials, rng=3)
    assert report.ok, str(report)
    assert isinstance(region, Region)
    assert zs.as_set(region) is region


@every
def test_polyhedra_list_their_facets(name: str, region: Any, dim: int) -> None:
    listed = name in ("box", "simplex", "capped-simplex", "birkhoff", "polytope", "linf-ball")
    assert hasattr(region, "facets") or not listed


@every
def test_value_semantics(name: str, region: Any, dim: int) -> None:
    region.inball(dim)
    region.tangent(np.zeros(dim))
    copy = pickle.loads(pickle.dumps(region))
    assert copy == region
    assert hash(copy) == hash(region)

    def array(values: Any, shape: Any = None, dtype: Any = float) -> Any:
        return np.array(values, dtype).reshape(shape or np.shape(values))

    assert eval(repr(region), {**vars(zs), "array": array, "inf": np.inf, "float64": float}) == region
    assert region != zs.L1Ball(123.0)
    np.testing.assert_array_equal(copy.lmo(np.arange(dim) - 1.0), region.lmo(np.arange(dim) - 1.0))


@every
def test_wrong_arguments_are_refused(name: str, region: Any, dim: int) -> None:
    with pytest.raises(ValueError, match="NaN or infinite entries"):
        region.lmo(np.full(dim, np.nan))
    with pytest.raises(ValueError, match="dtype complex128"):
        region.lmo(np.zeros(dim, dtype=complex))
    with pytest.raises(ValueError, match="shape"):
        region.lmo(np.zeros((dim, 1, 1)))
    with pytest.raises(ValueError, match="dimension"):
        region.check_dim(0)
    if region.fixed_dim is not None:
        assert region.fixed_dim == dim
        for method in (region.diameter, region.initial_point, region.inball, region.check_dim):
            with pytest.raises(ValueError, match=f"dimension {dim}, but dimension {dim + 1}"):
                method(dim + 1)
        with pytest.raises(ValueError, match=f"dimension {dim}, but dimension {dim + 1}"):
            region.contains(np.zeros(dim + 1))


@every
def test_extreme_scales_and_integers(name: str, region: Any, dim: int) -> None:
    g = np.arange(dim) - dim / 3
    value = g @ region.lmo(g)
    for c in (1e-300, 1e-160, 1e160, 1e300):
        assert g @ region.lmo(c * g) == pytest.approx(value, rel=1e-9, abs=1e-9)
    integers = np.arange(dim) - 1
    np.testing.assert_array_equal(region.lmo(integers), region.lmo(integers.astype(float)))
    np.testing.assert_array_equal(region.lmo(list(integers)), region.lmo(integers.astype(float)))


CHEAP = [(region, dim) for _, region, dim in INSTANCES if not isinstance(region, (*SLOW, zs.Product))]


@given(data=st.data())
@examples(150)
def test_vertices_are_optimal_members(data: st.DataObject) -> None:
    region, dim = data.draw(st.sampled_from(CHEAP))
    numbers = st.one_of(st.integers(-2, 2).map(float), st.floats(-1e6, 1e6))
    g, h = (data.draw(arrays(float, dim, elements=numbers)) for _ in range(2))
    s = region.lmo(g)
    room = 1e-9 * (np.abs(g).sum() + 1e-300) * max(np.abs(s).max(), 1.0)
    assert region.contains(s)
    assert g @ s <= g @ region.lmo(h) + room
    assert g @ s <= g @ region.initial_point(dim) + room
    if zs.can_project(region):
        p, q = region.project(g), region.project(h)
        assert region.contains(p, 1e-7)
        assert np.linalg.norm(p - q) <= np.linalg.norm(g - h) * (1 + 1e-9) + 1e-6


@pytest.mark.parametrize("region", [zs.NuclearBall(2.0, (3, 4)), zs.Spectraplex(3), zs.Birkhoff(3)])
def test_matrix_gradients_keep_their_shape(region: Any) -> None:
    shape = getattr(region, "shape", (3, 3))
    G = np.random.default_rng(0).standard_normal(shape)
    s = region.lmo(G)
    assert s.shape == shape
    np.testing.assert_array_equal(s.ravel(), region.lmo(G.ravel()))
    assert region.contains(s)
    if zs.can_project(region):
        assert region.project(G).shape == shape


def test_a_product_lists_facets_where_every_factor_does() -> None:
    simplex, ball = zs.Simplex(), zs.L2Ball(1.0)
    flat, round_ = (zs.Product([simplex, other], dims=[3, 3]) for other in (zs.Box(0.0, 1.0), ball))
    A, b = zs.Product([flat, simplex], dims=[6, 3]).facets(9)
    assert A.shape == (12, 9) and b.shape == (12,)
    assert not hasattr(zs.Product([round_, simplex], dims=[6, 3]), "facets")
