"""Laws of every registered law of directions, and of explicit ones."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from scipy import stats

import zofw
from zofw.directions import Explicit, basis
from zofw.kernels import words

LAWS = list(zofw.laws().values())


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


@pytest.fixture(params=LAWS, ids=list(zofw.laws()))
def law(request: pytest.FixtureRequest) -> object:
    return request.param()


@pytest.mark.parametrize(("d", "b"), [(1, 1), (5, 5), (70, 67), (130, 129), (33, 4)])
def test_every_view_is_of_one_matrix(law, d, b):
    U = law.draw(rng(), d, b)
    M = U.columns(0, b)
    assert M.shape == (d, b) and (U.dim, U.count) == (d, b)
    c, g = rng(1).standard_normal(b), rng(2).standard_normal(d)
    Z = sp.random_array((9, d), density=0.4, random_state=rng(3)).tocsr()
    np.testing.assert_array_equal(np.concatenate([U.columns(j, j + 1) for j in range(b)], axis=1), M)
    np.testing.assert_array_equal(np.concatenate([U.columns(0, b // 2), U.columns(b // 2, b)], axis=1), M)
    np.testing.assert_array_equal(U.rows(np.arange(d)[::-1]), M[::-1])
    np.testing.assert_allclose(U @ c, M @ c, atol=1e-12)
    np.testing.assert_allclose(U.T @ g, M.T @ g, atol=1e-12)
    np.testing.assert_allclose(Z @ U, Z @ M, atol=1e-12)
    np.testing.assert_allclose(U.product(Z.toarray()), Z @ M, atol=1e-12)
    np.testing.assert_array_equal(U @ np.zeros(b), np.zeros(d))


def test_the_same_key_gives_the_same_matrix(law):
    U = law.draw(rng(5), 40, 12)
    again = pickle.loads(pickle.dumps(U))
    np.testing.assert_array_equal(U.columns(0, 12), again.columns(0, 12))
    other = law.draw(rng(6), 40, 12)
    assert not np.array_equal(U.columns(0, 12), other.columns(0, 12))


def test_first_and_second_moments(law):
    d, b, repeats = 23, 9, 6000
    x = rng(1).standard_normal(d)
    x /= np.linalg.norm(x)
    draws = rng(2)
    images = np.empty((repeats, d))
    for k in range(repeats):
        M = law.draw(draws, d, b).columns(0, b)
        images[k] = M @ (M.T @ x)
    error = images.std(axis=0, ddof=1) / np.sqrt(repeats)
    assert np.all(np.abs(law.scale(d, b) * images.mean(axis=0) - x) < 5 * law.scale(d, b) * error)
    squares = (images**2).sum(axis=1)
    assert abs(squares.mean() - law.second_moment(d, b)) < 5 * squares.std(ddof=1) / np.sqrt(repeats)


def test_bad_counts_are_refused(law):
    with pytest.raises(ValueError, match="At least one direction"):
        law.draw(rng(), 5, 0)
    if isinstance(law, zofw.directions.Coordinate | zofw.directions.Orthogonal):
        with pytest.raises(ValueError, match="at most d = 5"):
            law.draw(rng(), 5, 6)


@pytest.mark.parametrize("kind", [zofw.directions.Coordinate, zofw.directions.Orthogonal])
def test_orthonormal_columns(kind):
    M = kind().draw(rng(), 37, 20).columns(0, 20)
    np.testing.assert_allclose(M.T @ M, np.eye(20), atol=1e-12)


def test_fixed_length_columns():
    for kind in (zofw.directions.Sphere, zofw.directions.Rademacher):
        M = kind().draw(rng(), 51, 8).columns(0, 8)
        np.testing.assert_allclose((M**2).sum(axis=0), 51.0, rtol=1e-12)


def test_the_whole_basis_is_the_identity():
    np.testing.assert_array_equal(basis(6).columns(0, 6), np.eye(6))


def test_explicit_columns_dense_and_sparse():
    M = rng().standard_normal((7, 3))
    Z = sp.random_array((4, 7), density=0.5, random_state=rng(1)).tocsr()
    for U in (Explicit(M), Explicit(sp.csc_array(M))):
        assert (U.dim, U.count) == (7, 3)
        np.testing.assert_allclose(U.columns(1, 3), M[:, 1:3])
        np.testing.assert_allclose(U.rows(np.array([2, 0])), M[[2, 0]])
        np.testing.assert_allclose(U @ np.ones(3), M.sum(axis=1))
        np.testing.assert_allclose(U.T @ np.ones(7), M.sum(axis=0))
        np.testing.assert_allclose(U.product(Z), Z @ M)
        np.testing.assert_allclose(U.product(Z.toarray()), Z @ M)
    with pytest.raises(ValueError, match="columns of a d×b matrix"):
        Explicit(np.ones(3))


def test_normals_are_normal_and_independent():
    z = words.normals(12345, np.arange(4000), 0, 50)
    assert stats.kstest(z.ravel(), "norm").pvalue > 1e-3
    assert abs((z**4).mean() - 3) < 5 * np.sqrt(96 / z.size)
    correlations = np.corrcoef(z.T)[np.triu_indices(50, 1)] * np.sqrt(4000)
    assert stats.kstest(correlations, "norm").pvalue > 1e-3
    neighbours = (z[:-1] * z[1:]).sum() / np.sqrt(z[1:].size)
    assert abs(neighbours) < 5


def test_the_transform_agrees_with_the_functions_it_replaces_to_single_precision():
    word = words.words(7, np.arange(1000), 0, 5)
    upper, lower = (word >> np.uint64(32)).astype(np.uint32), word.astype(np.uint32)
    u = ((upper >> np.uint32(1)).astype(float) + 0.5) / 2**31
    np.testing.assert_allclose(words.log(upper), np.log(u), rtol=3e-7, atol=1e-7)
    cosine, sine = (part.astype(float) for part in words.cos_sin(lower))
    np.testing.assert_allclose(cosine**2 + sine**2, 1.0, rtol=3e-7)
    angle = np.arctan2(sine, cosine) / (2 * np.pi) + 0.5
    assert stats.kstest(angle.ravel(), "uniform").pvalue > 1e-3


def test_the_transform_holds_at_the_ends_of_its_range():
    ends = np.array([0, 1, 2**31 - 1, 2**31, 2**32 - 2, 2**32 - 1], dtype=np.uint32)
    logs = words.log(ends)
    assert (logs <= 0).all() and np.sqrt(-2 * logs).max() == pytest.approx(np.sqrt(64 * np.log(2)), rel=1e-6)
    cosine, sine = words.cos_sin(ends)
    np.testing.assert_allclose(cosine.astype(float) ** 2 + sine.astype(float) ** 2, 1.0, rtol=3e-7)


def test_signs_are_fair_across_keys_rows_and_columns():
    s = np.stack([words.signs(key, np.arange(300), 0, 200) for key in range(40)])
    assert abs(s.mean()) * np.sqrt(s.size) < 5
    for pair in (s[:-1] * s[1:], s[:, :-1] * s[:, 1:], s[:, :, :-1] * s[:, :, 1:]):
        assert abs(pair.mean()) * np.sqrt(pair.size) < 5
