"""Differences and recursions against their formulas, on quadratics where central ones are exact."""

from __future__ import annotations

import numpy as np
import pytest

from zofw.core import Batch, Pattern, Query, Stencil
from zofw.differences import (
    OwnDifferences,
    average,
    base_values,
    curvatures,
    fresh,
    refine,
    refine_step,
    slopes,
    spider,
    storm,
)
from zofw.directions import Gaussian
from zofw.problems import BlackBox, evaluate

N, D, B, MU = 5, 4, 3, 0.1
RNG = np.random.default_rng(0)
H, C = RNG.random((N, D)) + 0.5, RNG.standard_normal((N, D))  # f_i(x) = ½ Σ_j H_ij (x_j − C_ij)²
X = RNG.standard_normal((2, D))
F = BlackBox(
    lambda points, batch: 0.5 * (H[batch] * (points[:, None, :] - C[batch]) ** 2).sum(axis=2),
    dim=D,
    n=N,
    vectorized=True,
)
U = Gaussian().draw(np.random.default_rng(1), D, B)
M = U.columns(0, B)
S = Batch(N, np.array([4, 0, 4, 1], dtype=np.int64))


def gradient(x, rows):
    return (H[rows] * (x - C[rows])).mean(axis=0)


def asked(stencil):
    query = Query(X, S, U, MU, stencil)
    return query, evaluate(F, query)


def test_slopes_and_curvatures_are_those_of_the_batch_mean():
    exact = np.array([M.T @ gradient(x, S.indices) for x in X])
    bend = np.tile((H[S.indices].mean(axis=0)[:, None] * M**2).sum(axis=0), (2, 1))
    for stencil in (Stencil.CENTRAL, Stencil.QUADRATIC):
        np.testing.assert_allclose(slopes(*asked(stencil)), exact, atol=1e-10)
    np.testing.assert_allclose(slopes(*asked(Stencil.FORWARD)), exact + MU / 2 * bend, atol=1e-10)
    query, answer = asked(Stencil.QUADRATIC)
    np.testing.assert_allclose(curvatures(query, answer), bend, atol=1e-9)
    means = [F.values(x[None, :], S.indices).mean() for x in X]
    np.testing.assert_allclose(base_values(query, answer), means, atol=1e-12)


@pytest.mark.parametrize(("two_sided", "sign"), [(False, 1.0), (False, -1.0), (True, 1.0)])
def test_a_component_has_its_own_differences(two_sided, sign):
    """Along some of its coordinates: ∂_j f_i, off by sign·μ/2·H_ij where one-sided; their mean is over the batch."""
    pattern = Pattern(np.array([0, 2, 3, 5, 6]), np.array([0, 2, 1, 0, 2, 3]))
    own = OwnDifferences.of(X, S, pattern, MU, two_sided=two_sided, sign=sign)
    answer = evaluate(F, own.query)
    owners = np.repeat(S.indices, pattern.sizes)
    bias = 0.0 if two_sided else sign * MU / 2 * H[owners, pattern.index]
    exact = H[owners, pattern.index] * (X[:, pattern.index] - C[owners, pattern.index]) + bias
    np.testing.assert_allclose(own.slopes(answer), exact, atol=1e-10)
    whole = np.zeros(D)
    np.add.at(whole, pattern.index, exact[0])
    np.testing.assert_allclose(own.mean(exact[0]), whole / len(S), atol=1e-12)
    if two_sided:
        with pytest.raises(ValueError, match="do not ask for values"):
            own.values(answer)
    else:
        np.testing.assert_allclose(own.values(answer), F.values(X, S.indices), atol=1e-12)


def test_every_recursion_is_its_formula():
    g, c, rho = RNG.standard_normal(D), RNG.standard_normal((2, B)), 0.3
    s = Gaussian().scale(D, B)
    here, before = s * M @ c[0], s * M @ c[1]
    np.testing.assert_allclose(fresh(U, c[0], s), here)
    np.testing.assert_allclose(spider(g, U, c, s), g + here - before)
    np.testing.assert_allclose(storm(g, U, c, s, rho), here + (1 - rho) * (g - before))
    np.testing.assert_allclose(average(g, here, rho), 0.7 * g + 0.3 * here)
    alpha = refine_step(Gaussian(), U)
    assert alpha == pytest.approx(1 / (D + B + 1))
    np.testing.assert_allclose(refine(g, U, c[0], alpha), g + alpha * M @ (c[0] - M.T @ g))
