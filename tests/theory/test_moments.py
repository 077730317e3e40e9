"""The identities behind the sketched memory, measured over many draws."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from zofw.core import Directions
from zofw.differences import fresh, refine, refine_step
from zofw.directions import Coordinate, Explicit, Gaussian, Orthogonal, Rademacher, Sphere

D, B = 9, 4
LAWS = {
    "gaussian": Gaussian(),
    "rademacher": Rademacher(),
    "sphere": Sphere(),
    "coordinate": Coordinate(),
    "orthogonal": Orthogonal(),
}
SECOND = {  # E‖UUᵀx‖²/‖x‖², derived by hand
    "gaussian": B * (D + B + 1),
    "rademacher": B * (D + B - 1),
    "sphere": B * (D + B - 1),
    "coordinate": B / D,
    "orthogonal": B / D,
}
FIRST = {"gaussian": B, "rademacher": B, "sphere": B, "coordinate": B / D, "orthogonal": B / D}


def draws(law: Any, count: int) -> list[Directions]:
    """Independent d×b matrices: cut from one wide draw where columns are independent, one by one elsewhere."""
    rng = np.random.default_rng(7)
    if isinstance(law, (Coordinate, Orthogonal)):
        return [law.draw(rng, D, B) for _ in range(count // 2)]
    wide = law.draw(rng, D, B * count).columns(0, B * count)
    return [Explicit(block) for block in np.split(wide, count, axis=1)]


def close(sample: list[float], expected: float, width: float = 0.1) -> None:
    """The mean is within four standard errors, and they are small enough for that to say something."""
    mean, error = float(np.mean(sample)), float(np.std(sample) / np.sqrt(len(sample)))
    assert 4 * error < width * max(expected, 0.1)
    assert abs(mean - expected) <= 4 * error + 1e-12


@pytest.fixture(scope="module", params=LAWS)
def drawn(request: pytest.FixtureRequest) -> tuple[str, Any, list[Directions]]:
    return request.param, LAWS[request.param], draws(LAWS[request.param], 8_000)


X = np.random.default_rng(3).standard_normal(D)


@pytest.mark.parametrize("alpha", [0.02, 1.0 / (D + B + 1), 0.3])
def test_identity_of_the_sketch(drawn: tuple[str, Any, list[Directions]], alpha: float) -> None:
    """E‖αUUᵀx − x‖² = (1 + α²κ − 2α·first)‖x‖²; Gaussian: 1 + α²b(d + b + 1) − 2bα."""
    name, _, matrices = drawn
    expected = 1 + alpha**2 * SECOND[name] - 2 * alpha * FIRST[name]
    sample = [float(((alpha * (U @ (U.T @ X)) - X) ** 2).sum() / (X @ X)) for U in matrices]
    close(sample, expected)


def test_contraction_of_one_refresh(drawn: tuple[str, Any, list[Directions]]) -> None:
    """1 − b/(d + b + 1) for Gaussian directions; 1 − b/(d + b − 1) for signs and the sphere; 1 − b/d for bases."""
    name, law, matrices = drawn
    expected = 1 - {
        "gaussian": B / (D + B + 1),
        "rademacher": B / (D + B - 1),
        "sphere": B / (D + B - 1),
    }.get(name, B / D)
    rng = np.random.default_rng(1)
    g, gradient = rng.standard_normal(D), rng.standard_normal(D)
    error = float(((g - gradient) ** 2).sum())

    def left_over(factor: float) -> list[float]:
        return [
            float(((refine(g, U, U.T @ gradient, factor * refine_step(law, U)) - gradient) ** 2).sum())
            / error
            for U in matrices
        ]

    assert refine_step(law, matrices[0]) == pytest.approx(FIRST[name] / SECOND[name])
    best = left_over(1.0)
    close(best, expected)
    for factor in (0.6, 1.4):
        assert np.mean(left_over(factor)) > np.mean(best)


def test_plain_estimate_is_unbiased_with_the_stated_error(drawn: tuple[str, Any, list[Directions]]) -> None:
    """E‖sUUᵀx − x‖² = s²κ − 1: (d + 1)/b for Gaussian directions."""
    name, law, matrices = drawn
    estimates = np.array([fresh(U, U.T @ X, law.scale(D, B)) for U in matrices])
    spread = estimates.std(axis=0) / np.sqrt(len(estimates))
    assert (np.abs(estimates.mean(axis=0) - X) <= 4.5 * spread + 1e-12).all()
    expected = {"gaussian": (D + 1) / B, "rademacher": (D - 1) / B, "sphere": (D - 1) / B}.get(
        name, D / B - 1
    )
    close([float(((e - X) ** 2).sum() / (X @ X)) for e in estimates], expected)
