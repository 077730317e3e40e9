"""Sums over stencils: plain and compiled code agree bit for bit, and both with the losses themselves."""

from __future__ import annotations

from functools import partial
from itertools import product

import mpmath
import numpy as np
import pytest
import scipy.sparse as sp

from zofw import kernels
from zofw.kernels import losses, plain, table, threads
from zofw.kernels.losses import LOSSES
from zofw.kernels.rows import KINDS, NO_OFFSETS, Rows, Shift, Source, StencilSteps

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


@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize(
    ("s", "b", "k"), [(1, 1, 1), (31, 1, 2), (33, 7, 1), (200, 20, 2), (70, 65, 3), (0, 3, 1)]
)
def test_compiled_sums_have_the_bits_of_plain_ones(monkeypatch, name, s, b, k):
    rng = np.random.default_rng(s + b)
    t, along = 4 * rng.standard_normal((k, s)), mixed_steps(rng, s, b)
    phi = LOSSES[name].phi
    for steps in (StencilSteps(1e-3, sides, base) for sides in (1, 2) for base in (False, True)):
        plain, compiled = both(monkeypatch, partial(sums, name, t, along, steps))
        assert plain.shape == (k, b * steps.sides + steps.base), steps
        assert np.array_equal(plain, compiled), steps
        parts = [phi(t[:, :, None] + sign * 1e-3 * along) for sign in (1, -1)[: steps.sides]]
        parts += [phi(t)[:, :, None]] * steps.base
        np.testing.assert_allclose(plain, np.concatenate(parts, axis=2).sum(axis=1), rtol=1e-14, atol=1e-15)


def sums(*arguments):
    """By whoever is chosen now."""
    return kernels.routines(1).stencil_sums(*arguments)


@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize("sides", [1, 2])
@pytest.mark.parametrize("subset", [False, True])
def test_sums_along_coordinates(monkeypatch, name, sides, subset):
    rng = np.random.default_rng(4)
    monkeypatch.setattr("zofw.kernels.losses.GROUP_LINES", 40)
    A = sp.csr_array(sp.random_array((150, 30), density=0.2, random_state=rng, format="csr"))
    A.data = rng.standard_normal(A.nnz) * rng.choice([1.0, 50.0], A.nnz)
    place = None
    wanted = np.arange(30)
    if subset:
        wanted = np.array([3, 4, 17, 29])
        place = np.full(30, -1)
        place[wanted] = np.arange(4)
    t = 3 * rng.standard_normal((2, 150))
    plain, compiled = both(
        monkeypatch,
        lambda: kernels.routines(1).coordinate_sums(
            name, Rows.of(A), place, len(wanted), t, StencilSteps(1e-3, sides, True)
        ),
    )
    assert np.array_equal(plain, compiled)
    phi = LOSSES[name].phi
    steps = 1e-3 * A.toarray()[None, :, wanted]
    dense = [phi(t[:, :, None] + sign * steps).sum(axis=1) for sign in (1, -1)[:sides]]
    np.testing.assert_allclose(
        plain, np.concatenate([*dense, phi(t).sum(axis=1)[:, None]], axis=1), rtol=1e-13
    )


@pytest.mark.parametrize("name", ["logistic", "welsch"])
def test_series_are_the_loss_to_rounding_within_their_reach(name):
    loss = LOSSES[name]
    rng = np.random.default_rng(9)
    t = np.concatenate([rng.uniform(-3, 3, 40), rng.uniform(-25, 25, 40), [0.0, -1e-9, 1e-3]])[:, None]
    if name == "logistic":
        t = np.concatenate([t, [[40.0], [-300.0], [650.0]]])
    steps = loss.reach * np.array([[-1.0, -0.5, 0.1, 1.0]]) * np.ones_like(t)
    (found,) = losses._values(loss, t, steps, 1)
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
        for name, function in (("logistic", losses.logistic_series), ("welsch", losses.welsch_series)):
            for t in (-2.5, -0.3, 0.0, 0.7, 4.0):
                exact = mpmath.taylor(EXACT[name], mpmath.mpf(t), 6)
                np.testing.assert_allclose(
                    function(np.float64(t)), [float(c) for c in exact], rtol=1e-13, atol=1e-16
                )


def test_sums_do_not_depend_on_the_threads(monkeypatch):
    monkeypatch.setattr(threads, "THREADS_REPAY", 0)
    monkeypatch.setenv("ZOFW_KERNELS", "numba")
    rng = np.random.default_rng(0)
    t, along = rng.standard_normal((2, 500)), mixed_steps(rng, 500, 33)
    results = []
    for count in ("1", "2", "3"):
        monkeypatch.setenv("ZOFW_THREADS", count)
        results.append(kernels.routines(1).stencil_sums("logistic", t, along, StencilSteps(1e-3, 2, True)))
    assert np.array_equal(results[0], results[1]) and np.array_equal(results[0], results[2])


def test_rows_are_picked_without_a_copy_and_multiply_like_the_matrix(monkeypatch):
    rng = np.random.default_rng(2)
    A = sp.csr_array(sp.random_array((60, 90), density=0.1, random_state=rng, format="csr"))
    picked = rng.integers(60, size=25)
    rows = Rows.of(A, picked)
    assert rows.data is A.data and rows.size == 25 and Rows.of(A).about == A.nnz
    assert np.array_equal(rows.touched()[0], np.unique(A[picked].indices))
    assert np.array_equal(rows.csr().toarray(), A.toarray()[picked])
    assert np.array_equal(Rows.of(A, None, 6, 8).csr().toarray(), A.toarray()[6:8])
    points = rng.standard_normal((3, 90))
    plain, compiled = both(monkeypatch, lambda: kernels.routines(1).margins(rows, points))
    assert np.array_equal(plain, compiled)
    np.testing.assert_allclose(plain, points @ A.toarray()[picked].T, rtol=0, atol=1e-13)


@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize("n", [1, 63, 1024, 2500])
def test_the_sum_over_all_rows(monkeypatch, name, n):
    t = 3 * np.random.default_rng(n).standard_normal(n)
    plain_sum, compiled = both(monkeypatch, lambda: kernels.routines(1).total(name, t.copy()))
    assert plain_sum == compiled
    assert plain_sum == pytest.approx(LOSSES[name].phi(t).sum(), rel=1e-14)


@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize("kind", ["signs", "normals"])
@pytest.mark.parametrize(("dim", "count"), [(30, 1), (30, 20), (30, 70), (3000, 33), (9000, 5)])
def test_an_answer_in_one_call_has_the_bits_of_its_parts(monkeypatch, name, kind, dim, count):
    monkeypatch.setenv("ZOFW_KERNELS", "numba")
    rng = np.random.default_rng(dim + count)
    A = sp.csr_array(sp.random_array((90, dim), density=0.1, random_state=rng, format="csr"))
    A.data = rng.standard_normal(A.nnz) * np.repeat(
        np.where(np.arange(90) % 5 == 0, 60.0, 1.0), np.diff(A.indptr)
    )
    points, offsets, picked = (
        rng.standard_normal((2, dim)),
        rng.standard_normal(90),
        rng.integers(90, size=75),
    )
    U = Source(KINDS.index(kind), 12345, count)
    law = f"few {kind}" if dim * count <= table.FEW else kind
    kernel = table.KERNELS[law, "sparse", "differences"].kernel
    for (index, c, unit), (sides, base) in product(
        ((None, NO_OFFSETS, 1.0), (picked, offsets, 2.0)), ((2, False), (1, True), (2, True))
    ):
        size = 90 if index is None else 75
        for first, last in ((0, size), (3, size - 8)):
            rows, steps = Rows.of(A, index, first, last), StencilSteps(1e-3 / unit, sides, base)
            asked = kernel, name, rows, Shift(c, unit), points, U, steps
            assert np.array_equal(kernels.load().answer(*asked), plain.answer(*asked)), steps


def test_an_answer_in_one_call_does_not_depend_on_the_threads(monkeypatch):
    monkeypatch.setattr(threads, "THREADS_REPAY", 0)
    monkeypatch.setenv("ZOFW_KERNELS", "numba")
    rng = np.random.default_rng(0)
    A = sp.csr_array(sp.random_array((500, 4000), density=0.01, random_state=rng, format="csr"))
    for kind in ("signs", "normals"):
        results = []
        for count in ("1", "2", "3"):
            monkeypatch.setenv("ZOFW_THREADS", count)
            U = Source(KINDS.index(kind), 12345, 40)
            results.append(
                kernels.routines(1).answer(
                    table.KERNELS[kind, "sparse", "differences"].kernel,
                    "logistic",
                    Rows.of(A),
                    Shift(),
                    np.ones((1, 4000)),
                    U,
                    StencilSteps(1e-3, 2, False),
                )
            )
        assert np.array_equal(results[0], results[1]) and np.array_equal(results[0], results[2])
