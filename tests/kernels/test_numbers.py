"""Plain and compiled code agree bit for bit, and both with the entries themselves."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest
import scipy.sparse as sp

import zofw
from zofw import kernels
from zofw.kernels import plain, threads, words
from zofw.kernels.rows import Rows

pytest.importorskip("numba", reason="numba is not installed")

KINDS = ("signs", "normals")


@pytest.fixture(scope="module")
def compiled():
    """Compiled code, loaded where it is tested: no other worker waits for the compiler while tests are collected."""
    return kernels.load()


SIZES = [
    (1, 1),
    (1, 9),
    (2, 3),
    (63, 64),
    (64, 65),
    (65, 63),
    (123, 20),
    (300, 1),
    (4096, 7),
    (4097, 130),
    (9001, 33),
]


def bits(array):
    return np.ascontiguousarray(array).view(np.uint64)


def sparse(rng, rows, dim, index=np.int32):
    Z = sp.csr_array(sp.random_array((rows, dim), density=0.2, random_state=rng, format="csr"))
    return sp.csr_array((Z.data - 0.5, Z.indices.astype(index), Z.indptr.astype(index)), shape=Z.shape)


def operations(source, key, dim, count, seed):
    """Every operation of a source on the same random arguments."""
    rng = np.random.default_rng(seed)
    left = int(rng.integers(count))
    right = int(rng.integers(left, count)) + 1
    rows = rng.integers(dim, size=17)
    return {
        "block": source.block(key, rows, left, right),
        "combine": source.combine(key, dim, rng.standard_normal(count)),
        "project": source.project(key, rng.standard_normal(dim), count),
        "squares": source.squares(key, dim, count),
        "product": source.product(key, Rows.of(sparse(rng, 40, dim)), count),
    }


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("dim", "count"), SIZES)
def test_compiled_code_gives_the_bits_of_plain_code(compiled, kind, dim, count):
    key = 0x9E3779B97F4A7C15 ^ dim * count
    reference = operations(plain.SOURCES[kind], key, dim, count, 3)
    for name, found in operations(compiled.SOURCES[kind], key, dim, count, 3).items():
        assert np.array_equal(bits(found), bits(reference[name])), name


@pytest.mark.parametrize("kind", KINDS)
def test_products_are_those_of_the_dense_matrix(compiled, kind):
    dim, count, key = 5000, 77, 12345
    U = plain.SOURCES[kind].block(key, np.arange(dim), 0, count)
    rng = np.random.default_rng(0)
    c, g, Z = rng.standard_normal(count), rng.standard_normal(dim), sparse(rng, 30, dim)
    for made in (plain.SOURCES[kind], compiled.SOURCES[kind]):
        np.testing.assert_allclose(made.combine(key, dim, c), U @ c, rtol=0, atol=1e-11)
        np.testing.assert_allclose(made.project(key, g, count), U.T @ g, rtol=0, atol=1e-10)
        np.testing.assert_allclose(made.product(key, Rows.of(Z), count), Z @ U, rtol=0, atol=1e-11)
        np.testing.assert_allclose(made.squares(key, dim, count), (U**2).sum(axis=0), rtol=1e-13)


@pytest.mark.parametrize("kind", KINDS)
def test_blocks_fit_together(compiled, kind):
    dim, count, key = 100, 150, 7
    source = compiled.SOURCES[kind]
    whole = source.block(key, np.arange(dim), 0, count)
    for left, right in [(0, 1), (1, 2), (63, 65), (64, 128), (127, 150), (149, 150), (3, 140)]:
        assert np.array_equal(source.block(key, np.arange(20, 90), left, right), whole[20:90, left:right])
    assert source.block(key, np.arange(0), 0, 5).shape == (0, 5)


@pytest.mark.parametrize("kind", KINDS)
def test_results_do_not_depend_on_the_threads(compiled, kind, monkeypatch):
    monkeypatch.setattr(threads, "THREADS_REPAY", 0)
    results = []
    for count in ("1", "2", "5"):
        monkeypatch.setenv("ZOFW_THREADS", count)
        results.append(operations(compiled.SOURCES[kind], 99, 20_000, 70, 1))
    for other in results[1:]:
        for name, found in other.items():
            assert np.array_equal(bits(found), bits(results[0][name])), name


@pytest.mark.parametrize("kind", KINDS)
def test_sparse_matrices_with_long_indices_empty_rows_and_no_rows(compiled, kind):
    rng = np.random.default_rng(5)
    source, long = compiled.SOURCES[kind], sparse(rng, 40, 200, np.int64)
    short = sp.csr_array(
        (long.data, long.indices.astype(np.int32), long.indptr.astype(np.int32)), shape=long.shape
    )
    assert np.array_equal(source.product(1, Rows.of(long), 30), source.product(1, Rows.of(short), 30))
    empty = sp.csr_array((3, 200))
    assert np.array_equal(source.product(1, Rows.of(empty), 30), np.zeros((3, 30)))
    assert source.product(1, Rows.of(sp.csr_array((0, 200))), 30).shape == (0, 30)


@pytest.mark.parametrize("kind", KINDS)
def test_read_only_arguments_are_welcome_and_left_alone(compiled, kind):
    g = np.linspace(-1, 1, 500)
    before = g.copy()
    g.setflags(write=False)
    compiled.SOURCES[kind].project(3, g, 12)
    compiled.SOURCES[kind].combine(3, 40, g)
    assert np.array_equal(g, before)


@pytest.mark.parametrize("kind", KINDS)
def test_entries_have_the_moments_of_their_law(compiled, kind):
    dim, count = 20_000, 64
    U = compiled.SOURCES[kind].block(2024, np.arange(dim), 0, count)
    n = dim * count
    fourth = 3.0 if kind == "normals" else 1.0
    eighth = 105.0 if kind == "normals" else 1.0
    assert abs(U.mean()) < 5 / np.sqrt(n)
    assert abs((U**2).mean() - 1) < 5 * np.sqrt((fourth - 1) / n) + 1e-15
    assert abs((U**4).mean() - fourth) < 5 * np.sqrt((eighth - fourth**2) / n) + 1e-15
    assert np.abs(U.mean(axis=0)).max() < 5 / np.sqrt(dim)
    assert np.abs(U.mean(axis=1)).max() < 6 / np.sqrt(count)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("power", [1, 2])
def test_columns_rows_and_keys_are_uncorrelated(kind, power):
    if kind == "signs" and power == 2:
        pytest.skip("The square of a sign is 1.")
    dim, count = 30_000, 24
    rng = np.random.default_rng(8)
    keys = [0, 1, 2, int(rng.integers(1 << 63)), 1 << 63]
    U = (
        np.concatenate([plain.SOURCES[kind].block(key, np.arange(dim), 0, count) for key in keys], axis=1)
        ** power
    )
    correlation = np.corrcoef(U, rowvar=False)[np.triu_indices(U.shape[1], 1)]
    assert np.abs(correlation).max() < 6 / np.sqrt(dim)
    assert abs(correlation.std() * np.sqrt(dim) - 1) < 0.05
    shifted = np.array([np.corrcoef(U[:-lag, 0], U[lag:, 0])[0, 1] for lag in range(1, 40)])
    assert np.abs(shifted).max() < 5 / np.sqrt(dim)


def test_normals_follow_the_normal_distribution(compiled):
    from scipy.stats import kstest

    drawn = compiled.SOURCES["normals"].block(31, np.arange(4000), 0, 101)
    assert kstest(drawn.ravel(), "norm").pvalue > 1e-3
    radius = np.sort((drawn[:, 0] ** 2 + drawn[:, 1] ** 2) / 2)
    assert kstest(radius, "expon").pvalue > 1e-3


def test_normals_are_those_of_box_and_muller(compiled):
    rows = np.arange(50)
    drawn = words.words(17, rows, 0, 20)
    u = ((drawn >> np.uint64(33)).astype(float) + 0.5) * 2.0**-31
    quarter = ((drawn & np.uint64((1 << 29) - 1)).astype(float) + 0.5) * (np.pi / 4 / 2**29)
    angle = np.where(drawn & np.uint64(1 << 29), np.pi / 2 - quarter, quarter)
    radius = np.sqrt(-2 * np.log(u))
    pairs = compiled.SOURCES["normals"].block(17, rows, 0, 40)
    np.testing.assert_allclose(np.abs(pairs[:, 0::2]), radius * np.cos(angle), rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(np.abs(pairs[:, 1::2]), radius * np.sin(angle), rtol=1e-6, atol=1e-6)


def test_plain_code_serves_until_numba_repays_its_import(monkeypatch):
    monkeypatch.delenv("ZOFW_KERNELS", raising=False)
    monkeypatch.delitem(kernels.sys.modules, "zofw.kernels.compiled", raising=False)
    monkeypatch.setattr(kernels, "_drawn", 0)
    assert kernels.routines(kernels.PATIENCE) is plain
    assert kernels.wanted(1)
    monkeypatch.setenv("ZOFW_KERNELS", "numpy")
    assert not kernels.wanted(1 << 40)
    monkeypatch.setenv("ZOFW_KERNELS", "numba")
    assert kernels.wanted(1)
    monkeypatch.setenv("ZOFW_KERNELS", "cuda")
    with pytest.raises(ValueError, match="one of auto, numba, numpy"):
        kernels.wanted(1)


def test_without_numba_the_error_is_a_sentence(monkeypatch):
    monkeypatch.delitem(kernels.sys.modules, "zofw.kernels.compiled", raising=False)
    monkeypatch.setattr(kernels.importlib.util, "find_spec", lambda name: None)
    monkeypatch.setattr(kernels, "_drawn", 1 << 40)
    monkeypatch.setenv("ZOFW_KERNELS", "auto")
    assert kernels.routines(1) is plain
    monkeypatch.setenv("ZOFW_KERNELS", "numba")
    with pytest.raises(ImportError, match="ZOFW_KERNELS=numpy"):
        kernels.routines(1)


@pytest.mark.parametrize("asked", ["numpy", "numba"])
def test_what_is_settled_is_not_asked_again(asked):
    """In a process of its own: the suite changes ZOFW_KERNELS under way, so that nothing is settled in it."""
    code = (
        "import zofw; from zofw import kernels; from zofw.problems import Quadratic; import numpy as np\n"
        "assert kernels.settled is None\n"
        "run = lambda: zofw.minimize(Quadratic(np.eye(3), np.ones(3)), zofw.L1Ball(), method='zo-sfw', budget=90, rng=0)\n"
        "first = run(); settled = kernels.settled\n"
        "kernels.wanted = None\n"
        "assert settled is kernels.routines(1) and run().x.tobytes() == first.x.tobytes()\n"
        "import sys; sys.stdout.write(settled.__name__ + ' ' + first.x.tobytes().hex())"
    )
    out = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "ZOFW_KERNELS": asked},
        check=True,
        capture_output=True,
        text=True,
    ).stdout.split()
    assert out[0] == f"zofw.kernels.{'plain' if asked == 'numpy' else 'compiled'}"
    here = zofw.minimize(
        zofw.problems.Quadratic(np.eye(3), np.ones(3)), zofw.L1Ball(), method="zo-sfw", budget=90, rng=0
    )
    assert out[1] == here.x.tobytes().hex()
