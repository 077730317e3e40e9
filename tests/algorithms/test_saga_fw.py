"""SAGA-FW: the memory of gradients of Reddi, Sra, Póczos and Smola 2016 within Frank-Wolfe."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
import scipy.sparse as sp

import zofw
from transcription import Case, D, N, Vector, World, agrees, logistic
from zofw.papers import SAGAFW
from zofw.problems import BlackBox, Logistic


def saga(w: World, x: Vector, b: int, gamma: float, mu: float) -> Iterator[Vector]:
    def gradient(i: int, x: Vector) -> Vector:
        base = w.f(i, x)
        return np.array([(w.f(i, x + mu * e) - base) / mu for e in np.eye(w.d)])

    memory = [gradient(i, x) for i in range(w.n)]
    g = sum(memory) / w.n
    x = x + gamma * (w.lmo(g) - x)
    yield x
    t = 1
    while True:
        rng = w.rng(t)
        drawn, kept = (rng.integers(w.n, size=b, dtype=np.int64) for _ in "IJ")
        estimate = g + sum(gradient(i, x) - memory[i] for i in drawn) / b
        before = x
        x = x + gamma * (w.lmo(estimate) - x)
        for j in kept:
            new = gradient(j, before)
            g = g + (new - memory[j]) / w.n
            memory[j] = new
        yield x
        t += 1


@pytest.mark.parametrize("b", [1, 4])
def test_first_iterations_equal_the_box(b: int) -> None:
    agrees(
        Case(
            SAGAFW(b, 0.1, radius=1e-3),
            lambda w, x: saga(w, x, b, 0.1, 1e-3),
            lambda t, info: (N if t == 0 else 2 * b) * (D + 1),
        ),
        logistic(),
    )


def test_structure_changes_the_price_and_nothing_else() -> None:
    rng = np.random.default_rng(0)
    Z = sp.csr_array(sp.random_array((60, 30), density=0.1, random_state=rng, format="csr"))
    f = Logistic(Z, np.where(rng.random(60) < 0.5, -1.0, 1.0))
    known, unknown = (
        zofw.minimize(
            f, zofw.L1Ball(5.0), method=SAGAFW(3, 0.05), max_iter=40, rng=0, options={"structure": structure}
        )
        for structure in (True, False)
    )
    np.testing.assert_allclose(known.x, unknown.x, atol=1e-8)
    assert unknown.nfev == 60 * 31 + 39 * 6 * 31
    assert known.nfev < unknown.nfev / 4


def test_a_black_box_with_a_support_is_minimised_as_the_problem_it_is() -> None:
    rng = np.random.default_rng(1)
    Z = sp.csr_array(sp.random_array((40, 25), density=0.1, random_state=rng, format="csr"))
    f = Logistic(Z, np.ones(40))
    box = BlackBox(lambda x, i: float(f.values(x[None], np.array([i]))[0, 0]), 25, 40, support=Z)
    runs = [
        zofw.minimize(p, zofw.L1Ball(3.0), method=SAGAFW(2, 0.05), max_iter=15, rng=0, diagnose=0)
        for p in (f, box)
    ]
    assert runs[0].nfev == runs[1].nfev
    np.testing.assert_allclose(runs[0].x, runs[1].x, atol=1e-7)
