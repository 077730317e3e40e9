"""Explore-Correct, then Interpolation: what the first learns serves the second, and nothing is lost between them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import zofw
from zofw.algorithms.auto import choose
from zofw.core import Task
from zofw.problems import BlackBox, Logistic


def ill(n: int, d: int, seed: int) -> Logistic:
    """Logistic loss of columns whose scales differ a hundredfold."""
    rng = np.random.default_rng(seed)
    Z = rng.standard_normal((n, d)) * 10.0 ** rng.uniform(-1.5, 0.5, d)
    return Logistic(Z, np.where(Z[:, 0] + rng.standard_normal(n) > 0, 1.0, -1.0))


def test_it_is_ahead_of_both_that_it_is_made_of() -> None:
    ratios = []
    for seed in range(5):
        problem, ball = ill(3000, 10, seed), zofw.L2Ball(1.0)
        names = ("auto", "explore-correct", "interpolation")
        ends = [zofw.minimize(problem, ball, budget=90_000, rng=seed, method=name).fun for name in names]
        optimum = zofw.minimize(problem, ball, budget=900_000, rng=seed, method="interpolation").fun
        ratios.append((ends[0] - optimum) / (min(ends[1:]) - optimum))
    assert np.median(ratios) < 0.5


def test_the_story_says_when_and_on_how_many_components() -> None:
    result = zofw.minimize(ill(3000, 10, 0), zofw.L1Ball(1.0), budget=20_000, rng=0)
    assert result.method == "hand-over" and "interpolation: " in result.story()
    components = [info.get("components") for info in result.trace.infos]
    assert components[-1] is not None and components[-1] < 3000  # two whole values a variable are not paid
    assert any("samples of n = 3,000 components" in reason for reason in result.reasons.values())


def test_it_goes_on_after_the_hand_over_from_a_file(tmp_path: Path) -> None:
    problem, simplex = ill(400, 5, 1), zofw.Simplex()
    whole = zofw.minimize(problem, simplex, method="hand-over", budget=8_000, rng=3)
    path = tmp_path / "run"
    zofw.minimize(problem, simplex, method="hand-over", budget=8_000, max_iter=25, rng=3, checkpoint=path)
    result = zofw.resume(path, problem, max_iter=None)
    assert "interpolation times" in result.trace.infos[-1]
    assert result.nfev == whole.nfev and np.array_equal(result.x, whole.x)


@pytest.mark.parametrize(("d", "passes", "seed"), [(8, 80, 1), (12, 70, 0)])
def test_an_optimum_is_certified_by_a_sweep_if_two_sided_slopes_are_not_paid(
    d: int, passes: int, seed: int
) -> None:
    problem, ball = ill(200, d, seed), zofw.L1Ball(1.0)
    result = zofw.minimize(problem, ball, method="hand-over", budget=200 * passes, rng=seed)
    assert result.status.name == "CONVERGED" and result.nfev > 200 * (passes - 4 * d - 17)
    optimum = zofw.minimize(problem, ball, method="interpolation", budget=200_000, rng=0)
    assert result.fun - optimum.fun < 1e-9


def test_random_values_stay_with_explore_correct() -> None:
    rng, problem = np.random.default_rng(0), ill(400, 5, 1)
    noisy = BlackBox(
        lambda X, i: problem.values(X, i) + 0.1 * rng.standard_normal((len(X), len(i))),
        dim=5,
        n=400,
        vectorized=True,
    )
    result = zofw.minimize(noisy, zofw.Simplex(), method="hand-over", budget=8_000, rng=3)
    assert "interpolation times" not in result.trace.infos[-1]
    assert result.nfev >= 0.95 * 8_000


@pytest.mark.parametrize(
    ("n", "d", "budget", "name"),
    [
        (1, 10, 3, "interpolation"),
        (200, 10, 10, "explore-correct"),
        (1, 10, 100, "interpolation"),
        (50, 10, 50 * 11, "explore-correct"),
        (50, 10, 50 * 13, "interpolation"),
        (200, 10, 3_000, "hand-over"),
        (200, 10, 2_000, "explore-correct"),
        (200, 200, 10**6, "explore-correct"),
        (50_000, 40, None, "hand-over"),
    ],
)
def test_the_rule(n: int, d: int, budget: int | None, name: str) -> None:
    method, reason = choose(Task(zofw.Simplex(), d, n, budget))
    assert method.name == name and reason.startswith(name)


@pytest.mark.parametrize("uneven", [False, True])
def test_round_data_of_few_components_go_to_interpolation_at_once(uneven: bool) -> None:
    rng = np.random.default_rng(2)
    Z = rng.standard_normal((250, 8)) * (np.logspace(-1.5, 0.5, 8) if uneven else 1.0)
    problem = Logistic(Z, np.where(Z @ rng.standard_normal(8) + rng.standard_normal(250) > 0, 1.0, -1.0))
    result = zofw.minimize(problem, zofw.L2Ball(3.0), budget=45 * 250, rng=0)
    said = result.trace.infos[-1]
    assert result.method == "hand-over"
    assert ("explore times" in said or "sweep times" in said) == uneven
    optimum = zofw.reference(problem, zofw.L2Ball(3.0)).value
    assert uneven or result.fun - optimum < 1e-3


def test_a_budget_that_is_too_small_is_named_as_such() -> None:
    with pytest.raises(zofw.BudgetError, match=r"A budget of 5 queries is too small.* Give at least 2\d"):
        zofw.minimize(ill(200, 5, 1), zofw.Simplex(), budget=5)


def least_squares(n: int, sides: np.ndarray, seen: list[np.ndarray]) -> BlackBox:
    """Least squares in the units of the sides of a box; every point that is asked is noted."""
    rng = np.random.default_rng(5)
    Z = rng.standard_normal((n, len(sides)))
    y = Z @ np.linspace(2, 3, len(sides)) + rng.standard_normal(n)  # the optimum lies on the boundary

    def f(X: np.ndarray, i: np.ndarray) -> np.ndarray:
        seen.append(X)
        return np.asarray(((X / sides) @ Z[i].T - y[i]) ** 2)

    return BlackBox(f, dim=len(sides), n=n, vectorized=True)


@pytest.mark.parametrize("method", ["explore-correct", "ridge-newton", "hand-over", "auto"])
@pytest.mark.parametrize("region", [zofw.Simplex(), zofw.L1Ball(2.0), zofw.L2Ball(1.0), zofw.Box(-1.0, 1.0)])
def test_a_user_s_function_is_evaluated_at_members_only(method: str, region: zofw.Box) -> None:
    seen: list[np.ndarray] = []
    zofw.minimize(
        least_squares(300, np.ones(6), seen), region, method=method, budget=6_000, rng=0, diagnose=0
    )
    assert all(region.contains(x, 1e-9) for x in np.concatenate(seen))


def test_points_outside_are_asked_if_they_are_fine() -> None:
    seen: list[np.ndarray] = []
    problem, simplex = least_squares(300, np.ones(6), seen), zofw.Simplex()
    zofw.minimize(problem, simplex, method="explore-correct", budget=6_000, rng=0, inside=False)
    assert not all(simplex.contains(x, 1e-9) for x in np.concatenate(seen))


@pytest.mark.parametrize("method", ["explore-correct", "hand-over"])
def test_units_of_a_box_cost_nothing(method: str) -> None:
    """Sides of 10⁻³ to 10³ in powers of two: the same run as in the unit cube, up to rounding."""
    sides = 2.0 ** np.array([-10, -4, 0, 3, 6, 9])
    even, seen = zofw.Box(-np.ones(6), np.ones(6)), []
    cube = zofw.minimize(
        least_squares(300, np.ones(6), []), even, method="explore-correct", budget=20_000, rng=0
    )
    result = zofw.minimize(
        least_squares(300, sides, seen), zofw.Box(-sides, sides), method=method, budget=20_000, rng=0
    )
    assert result.fun <= cube.fun + 1e-3 * abs(cube.fun)
    assert (np.abs(np.concatenate(seen)) <= sides).all()
    if method == "explore-correct":
        np.testing.assert_allclose(result.x / sides, cube.x, rtol=1e-3)
