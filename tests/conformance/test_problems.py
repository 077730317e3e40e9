"""Every registered method runs on every problem: counted, inside the set, no worse than where it began."""

from __future__ import annotations

import numpy as np
import pytest

import zofw
from zofw import problems

RNG = np.random.default_rng(4)
DIM = 9


def labels(n: int) -> np.ndarray:
    return np.where(np.arange(n) % 2 == 0, 1.0, -1.0)


def scores(images: np.ndarray) -> np.ndarray:
    flat = np.asarray(images).reshape(len(images), -1)
    return np.stack([flat.sum(axis=1), 1.0 - flat[:, ::2].sum(axis=1), 0.3 * flat[:, 0]], axis=1)


CASES = {
    "logistic": lambda: problems.Logistic(RNG.standard_normal((20, DIM)), labels(20)),
    "correntropy": lambda: problems.Correntropy(RNG.standard_normal((20, DIM)), labels(20)),
    "least-squares": lambda: problems.LeastSquares(RNG.standard_normal((20, DIM)), RNG.standard_normal(20)),
    "quadratic": lambda: problems.Quadratic(np.diag(np.arange(1.0, DIM + 1)), RNG.standard_normal((6, DIM))),
    "matrix-completion": lambda: problems.MatrixCompletion(
        (3, 3), np.array([0, 1, 2, 0]), np.array([0, 1, 2, 2]), np.array([1.0, 2.0, -1.0, 0.5])
    ),
    "attack": lambda: problems.UniversalAttack(
        scores, RNG.uniform(-0.4, 0.4, (5, 3, 3)), np.array([0, 1, 0, 2, 1])
    ),
    "black-box": lambda: problems.BlackBox(lambda x, i: float(((x - i / 10) ** 2).sum()), dim=DIM, n=5),
}


@pytest.mark.parametrize("name", list(zofw.methods()))
def test_every_method_on_every_problem(name):
    first_order = getattr(zofw.methods()[name], "first_order", False)
    for case, make in CASES.items():
        problem = make()
        region = zofw.NuclearBall(2.0, (3, 3)) if case == "matrix-completion" else zofw.L1Ball(2.0)
        if first_order and case == "attack":
            continue  # the gradient of an attack needs a torch module
        if first_order and not hasattr(problem, "gradient"):
            with pytest.raises(ValueError, match="gradient"):
                zofw.minimize(problem, region, method=name, budget=8000, max_iter=12, rng=1)
            continue
        result = zofw.minimize(problem, region, method=name, budget=8000, max_iter=12, rng=1)
        assert 1 <= result.nit <= 12 and result.nfev <= 8000, case
        assert sum(result.ledger.values()) == result.nfev, case
        assert region.contains(result.x, 1e-8) and np.isfinite(result.fun), case
        mean = problems.mean_value(problem, result.x)
        assert result.fun == pytest.approx(mean, rel=1e-12, abs=1e-12), case
