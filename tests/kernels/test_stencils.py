"""Sums over stencils: plain and compiled code agree bit for bit, and both with the losses themselves."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest
import scipy.sparse as sp

from zofw.kernels import series, stencils
from zofw.kernels.rows import Rows

pytest.importorskip("numba", reason="numba is not installed")

EXACT = {
    "logistic": lambda t: mpmath.log1p(mpmath.exp(-t)),
    "welsch": lambda t: 1 - mpmath.exp(-t * t),
    "half square": lambda t: t * t / 2,
}


def both(monkeypatch, function):
    """The result of plain and of compiled code."""
    results = []
    for choice in ("numpy", "numba"):
        monkeypatch.setenv("ZOFW_KERNELS", choice)
        results.append(function())
    return results


def mixed_steps(rng, s, b):
    """Rows within and beyond the reach of the series."""
    return rng.standard_normal((s, b)) * np.where(np.arange(s) % 3 == 0, 40.0, 1.0)[:, None]


@pytest.mark.parametrize("name", stencils.LOSSES)
@pytest.mark.parametrize(
    ("s", "b", "k"), [(1, 1, 1), (31, 1, 2), (33, 7, 1), (200, 20, 2), (70, 65, 3), (0, 3, 1)]
)
@pytest.mark.parametrize("two_sided", [False, True])
@pytest.mark.parametrize("base", [False, True])
def test_compiled_sums_have_the_bits_of_plain_ones(monkeypatch, name, s, b, k, two_sided, base):
    rng = np.random.default_rng(s + b)
    t, along = 4 * rng.standard_normal((k, s)), mixed_steps(rng, s, b)
    plain, compiled = both(monkeypatch, lambda: stencils.stencil_sums(name, t, along, 1e-3, two_sided, base))
    assert plain.shape == (k, b * (1 + two_sided) + base)
    assert np.array_equal(plain, compiled)
    phi = stencils.LOSSES[name].phi
    parts = (
        [phi(t[:, :, None] + 1e-3 * along)]
        + [phi(t[:, :, None] - 1e-3 * along)] * two_sided
        + [phi(t)[:, :, None]] * base
    )
    np.testing.assert_allclose(plain, np.concatenate(parts, axis=2).sum(axis=1), rtol=1e-14, atol=1e-15)


@pytest.mark.parametrize("name", stencils.LOSSES)
@pytest.mark.parametrize("sides", [1, 2])
@pytest.mark.parametrize("subset", [False, True])
def test_sums_along_coordinates(monkeypatch, name, sides, subset):
    rng = np.random.default_rng(4)
    monkeypatch.setattr(stencils, "GROUP_LINES", 40)
    A = sp.csr_array(sp.random_array((150, 30), density=0.2, rng=rng, format="csr"))
    A.data = rng.standard_normal(A.nnz) * rng.choice([1.0, 50.0], A.nnz)
    place = None
    wanted = np.arange(30)
    if subset:
        wanted = np.array([3, 4, 17, 29])
        place = np.full(30, -1)
        place[wanted] = np.arange(4)
    t = 3 * rng.standard_normal((2, 150))
    plain, compiled = both(
        monkeypatch, lambda: stencils.coordinate_sums(name, Rows.of(A), place, len(wanted), t, 1e-3, sides)
    )
    assert np.array_equal(plain, compiled)
    phi = stencils.LOSSES[name].phi
    steps = 1e-3 * A.toarray()[None, :, wanted]
    dense = [phi(t[:, :, None] + sign * steps).sum(axis=1) for sign in (1, -1)[:sides]]
    np.testing.assert_allclose(
        plain, np.concatenate([*dense, phi(t).sum(axis=1)[:, None]], axis=1), rtol=1e-13
    )


@pytest.mark.parametrize("name", ["logistic", "welsch"])
def test_series_are_the_loss_to_rounding_within_their_reach(name):
    loss = stencils.LOSSES[name]
    rng = np.random.default_rng(9)
    t = np.concatenate([rng.uniform(-3, 3, 40), rng.uniform(-25, 25, 40), [0.0, -1e-9, 1e-3]])[:, None]
    if name == "logistic":
        t = np.concatenate([t, [[40.0], [-300.0], [650.0]]])
    steps = loss.reach * np.array([[-1.0, -0.5, 0.1, 1.0]]) * np.ones_like(t)
    (found,) = stencils._values(loss, t, steps, False)
    with mpmath.workdps(60):
        exact = np.array(
            [
                [EXACT[name](mpmath.mpf(float(a)) + mpmath.mpf(float(d))) for d in row]
                for a, row in zip(t[:, 0], steps, strict=True)
            ]
        )
        scale = np.array(
            [[max(value, loss.reach**2) if name == "welsch" else value for value in row] for row in exact]
        )
        error = np.array((found - exact) / scale, dtype=float)
    assert np.abs(error).max() < 8e-16


def test_series_of_the_losses_are_their_derivatives():
    with mpmath.workdps(50):
        for name, function in (("logistic", series.logistic_series), ("welsch", series.welsch_series)):
            for t in (-2.5, -0.3, 0.0, 0.7, 4.0):
                exact = mpmath.taylor(EXACT[name], mpmath.mpf(t), 6)
                np.testing.assert_allclose(
                    function(np.float64(t)), [float(c) for c in exact], rtol=1e-13, atol=1e-16
                )


def test_sums_do_not_depend_on_the_threads(monkeypatch):
    from zofw.kernels import threads

    monkeypatch.setattr(threads, "THREADS_REPAY", 0)
    monkeypatch.setenv("ZOFW_KERNELS", "numba")
    rng = np.random.default_rng(0)
    t, along = rng.standard_normal((2, 500)), mixed_steps(rng, 500, 33)
    results = []
    for count in ("1", "2", "3"):
        monkeypatch.setenv("ZOFW_THREADS", count)
        results.append(stencils.stencil_sums("logistic", t, along, 1e-3, True, True))
    assert np.array_equal(results[0], results[1]) and np.array_equal(results[0], results[2])


def test_rows_are_picked_without_a_copy_and_multiply_like_the_matrix(monkeypatch):
    rng = np.random.default_rng(2)
    A = sp.csr_array(sp.random_array((60, 90), density=0.1, rng=rng, format="csr"))
    picked = rng.integers(60, size=25)
    rows = Rows.of(A, picked)
    assert rows.data is A.data and rows.nnz == A[picked].nnz
    assert np.array_equal(rows.csr().toarray(), A.toarray()[picked])
    assert np.array_equal(Rows.of(A, slice(5, 9)).part(1, 3).csr().toarray(), A.toarray()[6:8])
    points = rng.standard_normal((3, 90))
    plain, compiled = both(monkeypatch, lambda: stencils.margins(rows, points))
    assert np.array_equal(plain, compiled)
    np.testing.assert_allclose(plain, points @ A.toarray()[picked].T, rtol=0, atol=1e-13)


@pytest.mark.parametrize("name", stencils.LOSSES)
@pytest.mark.parametrize("form", ["sparse", "dense"])
@pytest.mark.parametrize("n", [1, 63, 1024, 2500])
def test_the_sum_over_all_rows(monkeypatch, name, form, n):
    rng = np.random.default_rng(n)
    A = sp.csr_array(sp.random_array((n, 40), density=0.2, rng=rng, format="csr"))
    x, offsets = rng.standard_normal(40), rng.standard_normal(n)
    rows = A.toarray() if form == "dense" else A
    for c, unit in ((None, 1.0), (offsets, 3.0)):
        plain, compiled = both(monkeypatch, lambda c=c, unit=unit: stencils.total(name, rows, x, c, unit))
        assert plain == compiled
        t = (A @ x - (0.0 if c is None else c)) / unit
        assert plain == pytest.approx(stencils.LOSSES[name].phi(t).sum(), rel=1e-14)


class Source:
    """Directions that are a kind, a key and two sizes."""

    def __init__(self, kind, dim, count):
        self.kind, self.key, self.dim, self.count = kind, 12345, dim, count


@pytest.mark.parametrize("name", stencils.LOSSES)
@pytest.mark.parametrize("kind", ["signs", "normals"])
@pytest.mark.parametrize(("dim", "count"), [(30, 1), (30, 20), (30, 70), (3000, 33), (9000, 5)])
@pytest.mark.parametrize(("two_sided", "base"), [(True, False), (False, True), (True, True)])
def test_an_answer_in_one_call_has_the_bits_of_its_parts(
    monkeypatch, name, kind, dim, count, two_sided, base
):
    from zofw import kernels

    monkeypatch.setenv("ZOFW_KERNELS", "numba")
    rng = np.random.default_rng(dim + count)
    A = sp.csr_array(sp.random_array((90, dim), density=0.1, rng=rng, format="csr"))
    A.data = rng.standard_normal(A.nnz) * np.repeat(
        np.where(np.arange(90) % 5 == 0, 60.0, 1.0), np.diff(A.indptr)
    )
    points, offsets, picked = (
        rng.standard_normal((2, dim)),
        rng.standard_normal(90),
        rng.integers(90, size=75),
    )
    U = Source(kind, dim, count)
    for index, c, unit in ((None, None, 1.0), (picked, offsets, 2.0)):
        size = 90 if index is None else 75
        for first, last in ((0, size), (3, size - 8)):
            found = stencils.answer(
                name, A, index, (first, last), (c, unit), points, U, 1e-3, two_sided, base
            )
            where = slice(first, last) if index is None else index[first:last]
            rows = Rows.of(A, where)
            t = (stencils.margins(rows, points) - (0.0 if c is None else c[where])) / unit
            along = kernels.numbers(kind, 1).product(U.key, rows, count)
            parts = stencils.stencil_sums(name, t, along, 1e-3 / unit, two_sided, base)
            assert np.array_equal(found, parts)


def test_an_answer_in_one_call_does_not_depend_on_the_threads(monkeypatch):
    from zofw.kernels import threads

    monkeypatch.setattr(threads, "THREADS_REPAY", 0)
    monkeypatch.setenv("ZOFW_KERNELS", "numba")
    rng = np.random.default_rng(0)
    A = sp.csr_array(sp.random_array((500, 4000), density=0.01, rng=rng, format="csr"))
    for kind in ("signs", "normals"):
        results = []
        for count in ("1", "2", "3"):
            monkeypatch.setenv("ZOFW_THREADS", count)
            U = Source(kind, 4000, 40)
            results.append(
                stencils.answer(
                    "logistic", A, None, (0, 500), (None, 1.0), np.ones((1, 4000)), U, 1e-3, True, False
                )
            )
        assert np.array_equal(results[0], results[1]) and np.array_equal(results[0], results[2])


def test_directions_of_another_kind_are_left_to_the_parts():
    assert (
        stencils.answer(
            "logistic", None, None, (0, 1), (None, 1.0), np.ones((1, 3)), Source(None, 3, 2), 1.0, True, True
        )
        is None
    )
