"""Where there is next to nothing to compute: plain and compiled code agree there too, and refuse the same things."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

import zofw
from zofw import kernels
from zofw.core import Batch, Query, Stencil
from zofw.kernels import words
from zofw.problems import LeastSquares, Logistic, evaluate

pytest.importorskip("numba")
LAWS = [zofw.directions.Gaussian(), zofw.directions.Rademacher(), zofw.directions.Sphere()]


def both(monkeypatch, make):
    """What plain code and compiled code make of it."""
    found = []
    for choice in ("numpy", "numba"):
        monkeypatch.setenv("ZOFW_KERNELS", choice)
        found.append(make())
    return found


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("dim", [3, 5000])
def test_a_batch_of_empty_rows(law, dim, monkeypatch):
    Z = sp.csr_array((np.ones(1), ([0], [1])), shape=(4, dim))
    f = LeastSquares(Z, np.arange(4.0))

    def answer():
        U = law.draw(np.random.default_rng(0), dim, 20)
        return evaluate(f, Query(np.zeros(dim), Batch(4, [2, 3, 3]), U, 1e-3, Stencil.CENTRAL)).values

    plain, compiled = both(monkeypatch, answer)
    np.testing.assert_array_equal(plain, compiled)
    np.testing.assert_allclose(plain, (2.0 + 4.5 + 4.5) / 3.0)


@pytest.mark.parametrize("law", LAWS)
def test_no_rows_at_all(law, monkeypatch):
    nothing = sp.csr_array((3, 40))

    def products():
        U = law.draw(np.random.default_rng(0), 40, 7)
        return nothing @ U, U.rows(np.zeros(0, dtype=np.int64)), sp.csr_array((0, 40)) @ U

    for plain, compiled in zip(*both(monkeypatch, products), strict=True):
        assert plain.shape == compiled.shape and not plain.any() and not compiled.any()
    assert words.normals(1, np.zeros(0, dtype=np.int64), 0, 5).shape == (0, 5)


def test_arrays_with_gaps_and_other_types(monkeypatch):
    rng = np.random.default_rng(1)
    dense = rng.standard_normal((30, 6))
    whole = sp.csr_array(dense)
    spaced = [np.repeat(part, 2)[::2] for part in (whole.data, whole.indices, whole.indptr)]
    y = np.sign(rng.standard_normal(30))
    Z = sp.csr_array(tuple(spaced), shape=whole.shape)
    point = rng.standard_normal(6)

    def answers():
        U = zofw.directions.Gaussian().draw(np.random.default_rng(0), 6, 5)
        batches = [
            Batch(30, np.arange(9, dtype=np.int32)),
            Batch(30, list(range(9))),
            Batch(30, np.arange(18)[::2] // 2),
        ]
        queries = [Query(point, batch, U, 1e-3, Stencil.FORWARD) for batch in batches]
        values = [evaluate(Logistic(Z, y), query).values for query in queries]
        return np.concatenate([*values, (Z @ U)[:1], U.combine(np.arange(5))[None, :5], U.project(np.arange(6))[None]], axis=1)  # fmt: skip

    plain, compiled = both(monkeypatch, answers)
    np.testing.assert_array_equal(plain, compiled)


@pytest.mark.parametrize("indices", [[50, 3], [-1, 2], [[1, 2]], [0.5]])
def test_a_batch_refuses_what_is_no_component(indices):
    with pytest.raises(ValueError, match="A batch"):
        Batch(50, indices)


def test_a_query_needs_a_component():
    with pytest.raises(ValueError, match="empty"):
        Query(np.zeros(3), Batch(5, np.zeros(0, dtype=np.int64)))


def test_compiled_kernels_are_forgotten_when_a_piece_changes(tmp_path, monkeypatch):
    (tmp_path / "__pycache__").mkdir()
    (tmp_path / "__init__.py").write_text("first")
    kept = tmp_path / "__pycache__" / "signs.sign_rows-1.py311.nbi"
    monkeypatch.setattr(kernels, "__file__", str(tmp_path / "__init__.py"))
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    kernels.forget_stale()
    kept.write_text("compiled")
    kernels.forget_stale()
    assert kept.exists() and kernels.compiled_before()
    (tmp_path / "signs.py").write_text("a piece")
    assert not kernels.compiled_before()
    kernels.forget_stale()
    assert not kept.exists()


@pytest.mark.parametrize("compiled", [False, True])
def test_one_process_compiles_and_the_others_wait(monkeypatch, tmp_path, compiled):
    fcntl = pytest.importorskip("fcntl")
    stamp = tmp_path / "cache" / "kernels.digest"
    monkeypatch.setattr(kernels, "_stamp", lambda: (stamp, ""))
    monkeypatch.setattr(kernels, "compiled_before", lambda: compiled)
    with kernels._one_compiles(), stamp.with_name("kernels.lock").open() as other:
        with pytest.raises(BlockingIOError):
            fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if compiled:  # readers do not wait for each other
            fcntl.flock(other, fcntl.LOCK_SH | fcntl.LOCK_NB)
        else:
            with pytest.raises(BlockingIOError):
                fcntl.flock(other, fcntl.LOCK_SH | fcntl.LOCK_NB)
