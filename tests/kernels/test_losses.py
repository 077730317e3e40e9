"""The losses: accurate for any margin, and with the same bits whoever computes them."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest

from zofw import kernels

EXTREME = np.array(
    [
        0.0,
        1e-300,
        1e-20,
        1e-9,
        1e-4,
        0.3,
        0.34657,
        0.3466,
        0.88137,
        0.8814,
        1.0,
        5.0,
        17.3,
        36.0,
        37.0,
        700.0,
        708.0,
    ]
)
MARGINS = np.concatenate([EXTREME, -EXTREME, [1e4, -1e4], np.random.default_rng(0).normal(0, 8, 300)])

FORMULAS = {
    "logistic": lambda t: mpmath.log1p(mpmath.exp(-t)),
    "welsch": lambda t: -mpmath.expm1(-(t**2)),
}


@pytest.mark.parametrize("name", FORMULAS)
@pytest.mark.parametrize("choice", ["numpy", "numba"])
def test_a_loss_is_accurate_to_the_last_places(name, choice, monkeypatch):
    monkeypatch.setenv("ZOFW_KERNELS", choice)
    found = kernels.routines(1).values(name, MARGINS.copy())
    with mpmath.workdps(60):
        for t, value in zip(MARGINS, found, strict=True):
            exact = FORMULAS[name](mpmath.mpf(float(t)))
            assert abs(mpmath.mpf(float(value)) - exact) <= 8e-16 * exact + 1e-307, (name, t)


@pytest.mark.parametrize("name", FORMULAS)
def test_numpy_and_numba_give_the_same_bits(name, monkeypatch):
    t = np.concatenate([MARGINS, np.random.default_rng(1).normal(0, 3, 5000), [np.inf, -np.inf]])
    monkeypatch.setenv("ZOFW_KERNELS", "numpy")
    plain = kernels.routines(1).values(name, t.copy())
    monkeypatch.setenv("ZOFW_KERNELS", "numba")
    compiled = kernels.routines(1).values(name, t.copy())
    assert plain.tobytes() == compiled.tobytes()


@pytest.mark.parametrize("choice", ["numpy", "numba"])
def test_the_ends_of_the_line(choice, monkeypatch):
    monkeypatch.setenv("ZOFW_KERNELS", choice)
    t = np.array([np.inf, -np.inf, np.nan])
    np.testing.assert_allclose(
        kernels.routines(1).values("logistic", t.copy()), [0.0, np.inf, np.nan], atol=4e-308
    )
    np.testing.assert_array_equal(kernels.routines(1).values("welsch", t.copy()), [1.0, 1.0, np.nan])


def test_a_table_is_overwritten_in_place():
    table = np.zeros((3, 5))
    assert kernels.routines(1).values("logistic", table) is table
    np.testing.assert_array_equal(table, np.full((3, 5), np.log(2.0)))
