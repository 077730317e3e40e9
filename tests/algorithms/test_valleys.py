"""The interpolation method on functions with many valleys: the sign, the search elsewhere, and how the run ends."""

from __future__ import annotations

import numpy as np
import pytest

import zofw
from zofw.algorithms.interpolation import valleys
from zofw.algorithms.interpolation.frame import Frame
from zofw.algorithms.interpolation.state import State
from zofw.core import Task


class Rastrigin:
    def __init__(self, seed: int, dim: int = 2) -> None:
        self.centre = np.random.default_rng(seed).uniform(-3, 3, dim)

    def __call__(self, x) -> float:
        z = x - self.centre
        return float(10 * len(z) + np.sum(z * z - 10 * np.cos(2 * np.pi * z)))


def run(f, dim=2, **more):
    settings = {
        "method": "interpolation",
        "budget": 500 * dim,
        "rng": 0,
        "diagnose": 0,
        "options": {"progress": False},
    }
    problem = zofw.problems.BlackBox(f, dim=dim)
    return zofw.minimize(problem, zofw.Box(-5.0, 5.0), **(settings | more))


def test_rastrigin_is_solved_in_most_runs_and_the_end_says_that_the_minimum_is_local():
    results = [run(Rastrigin(seed)) for seed in range(20, 26)]
    assert sum(result.fun < 1e-6 for result in results) >= 5
    for result in results:
        assert result.nfev <= 1000
        if result.success:
            assert "a local minimum" in result.message
            assert result.nfev > 900


def test_without_a_budget_the_run_ends_at_the_first_local_minimum_without_success():
    result = run(Rastrigin(20), budget=None, max_iter=10_000)
    assert not result.success
    assert "a local minimum; 1 valley was looked at" in result.message


@pytest.mark.parametrize("budget", [53, 54, 60, 70])
def test_a_short_run_is_not_silent_about_other_valleys(budget):
    result = run(Rastrigin(20), budget=budget, x0=[4.5, 4.5])
    assert result.fun > 1 and (not result.success or "points far away" in result.message)


def test_a_tight_gap_tol_says_that_f_was_not_compared_far_away():
    message = run(lambda x: float(x @ x), gap_tol=1e-6).message
    assert message.endswith("f was not compared with points far away.")
    assert "far away" not in run(lambda x: float(x @ x)).message


@pytest.mark.parametrize("seed", range(4))
def test_convex_functions_show_no_sign_and_cost_no_more(seed):
    rng = np.random.default_rng(seed)
    A, b = rng.standard_normal((9, 3)), rng.standard_normal(9)
    functions = (
        lambda x: float(np.logaddexp.reduce(A @ x - b)),
        lambda x: float(np.sum((A @ x - b) ** 2)),
    )
    for f in functions:
        result = run(f, dim=3)
        assert result.success
        assert "local" not in result.message
        assert result.nfev < 750


@pytest.mark.parametrize("convex", [True, False])
def test_the_sign_is_a_proof(convex):
    Z = np.random.default_rng(1).uniform(-1, 1, (60, 3))
    values = np.exp(Z @ [1.0, -2.0, 0.5]) if convex else np.cos(3 * Z[:, 0])
    frame = Frame.of(Task(zofw.Box(-1.0, 1.0), 3), np.zeros(3))
    assert valleys.convex(State.begun(frame, Z, values)) == convex


def test_a_run_that_is_saved_in_the_middle_of_a_search_continues_bit_for_bit(tmp_path):
    whole = run(Rastrigin(20), budget=400, max_iter=10_000)
    path = tmp_path / "run"
    half = run(Rastrigin(20), budget=400, max_iter=100, checkpoint=path)
    assert half.nfev < whole.nfev
    resumed = run(Rastrigin(20), budget=400, max_iter=10_000, checkpoint=path, resume=True)
    assert resumed.nfev == whole.nfev
    assert resumed.message == whole.message
    np.testing.assert_array_equal(resumed.x, whole.x)


def test_from_a_given_start_a_few_values_far_away_show_that_f_is_not_convex():
    """10 of 12 runs ended as CONVERGED after 29 to 68 values, with most of the budget unspent."""
    rng = np.random.default_rng(3)
    results = [run(Rastrigin(seed), x0=rng.uniform(-4, 4, 2)) for seed in range(30, 34)]
    assert sum(result.fun < 1e-6 for result in results) >= 3
    for result in results:
        assert result.nfev > 900 or not result.success


def test_a_few_values_far_away_are_all_that_convexity_costs():
    far, centre = [], np.full(3, 0.3)

    def f(x):
        far.append(float(np.linalg.norm(x - centre)) > 1.5)
        return float(np.sum((x - centre) ** 2))

    result = run(f, dim=3)
    assert result.success
    assert sum(far) <= valleys.LOOKS + 4
