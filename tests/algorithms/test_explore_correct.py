"""The default method: exact where it can be, honest about its gap, and never idle at the user's cost."""

from __future__ import annotations

import numpy as np
import pytest

import zofw
from zofw.problems import BlackBox, Logistic, MatrixCompletion, Quadratic

RNG = np.random.default_rng(11)


def solve(problem, region, budget, **options):
    return zofw.minimize(problem, region, budget=budget, rng=3, **options)


@pytest.mark.parametrize(
    ("region", "dim"),
    [
        (zofw.Simplex(), 6),
        (zofw.L1Ball(1.5), 12),
        (zofw.L2Ball(1.0), 8),
        (zofw.Box(-np.ones(7), np.ones(7)), 7),
        (zofw.KSparse(2, 1.0), 9),
        (zofw.Birkhoff(3), 9),
    ],
)
def test_a_deterministic_quadratic_is_solved_and_the_run_ends_by_itself(region, dim):
    problem = Quadratic(np.diag(np.linspace(1, 5, dim)), RNG.standard_normal((1, dim)))
    best = zofw.reference(problem, region).value
    result = solve(problem, region, 20_000)
    assert result.fun - best < 1e-6 and result.nfev < 20_000 and region.contains(result.x, 1e-8)


def test_a_finite_sum_is_solved_to_rounding_with_few_queries():
    Z, y = RNG.standard_normal((400, 25)), np.where(RNG.random(400) < 0.5, -1.0, 1.0)
    problem, region = Logistic(Z, y), zofw.L1Ball(1.0)
    result = solve(problem, region, 400_000)
    assert result.fun - zofw.reference(problem, region).value < 1e-9


@pytest.mark.parametrize("seed", [0, 2])
def test_the_end_of_a_budget_undoes_nothing(seed):
    draw = np.random.default_rng(seed)
    problem = Logistic(draw.standard_normal((400, 25)), np.where(draw.random(400) < 0.5, -1.0, 1.0))
    for budget in (150_000, 200_000, 230_000):  # too little is left for another correction on all components
        result = zofw.minimize(problem, zofw.L1Ball(1.0), budget=budget, rng=0)
        assert result.trace["batch"][-1] == 400 and result.fun <= min(result.trace.objective) + 1e-12


def test_a_constant_is_noticed():
    result = solve(BlackBox(lambda x: 3.0, dim=10), zofw.L1Ball(1.0), 2000)
    assert result.fun == 3.0 and result.nfev < 500


def test_small_budgets_move():
    c = np.array([0.5, 0.2, 0.1, 0.1, 0.1])
    problem = BlackBox(lambda x: float(((x - c) ** 2).sum()), dim=5)
    values = [solve(problem, zofw.Simplex(), budget).fun for budget in (20, 60, 400)]
    assert values[0] < 0.12 and values[1] < 1e-6 and values[2] < 1e-20


def test_noise_is_detected_and_survived():
    noise = np.random.default_rng(0)
    problem = BlackBox(lambda x: float(((x - 0.3) ** 2).sum() + 1e-3 * noise.standard_normal()), dim=6)
    result = solve(problem, zofw.Simplex(), 5000, diagnose=0)
    exact = float(((result.x - 0.3) ** 2).sum())
    assert exact < 6 * (0.3 - 1 / 6) ** 2 + 5e-3


def test_the_certificate_holds_where_it_stops():
    Z, y = RNG.standard_normal((100, 12)), np.where(RNG.random(100) < 0.5, -1.0, 1.0)
    problem, region = Logistic(Z, y), zofw.L2Ball(2.0)
    result = solve(problem, region, 10**6, gap_tol=1e-3)
    g = problem.gradient(result.x)
    assert result.status is zofw.Status.CONVERGED
    assert float(g @ (result.x - region.lmo(g))) <= 1e-3


def test_negative_curvature_takes_the_longest_step():
    problem = BlackBox(lambda x: float(-(x @ x)), dim=5)
    result = solve(problem, zofw.Simplex(), 2000)
    assert result.fun == pytest.approx(-1.0, abs=1e-9)


def test_a_matrix_set():
    rows, columns = np.divmod(RNG.choice(48, 30, replace=False), 6)
    low_rank = RNG.standard_normal((8, 2)) @ RNG.standard_normal((2, 6))
    problem = MatrixCompletion((8, 6), rows, columns, low_rank[rows, columns])
    region = zofw.NuclearBall(4.0, (8, 6))
    result = solve(problem, region, 30_000)
    assert region.contains(result.x, 1e-7) and result.fun < 0.7 * problem.value(np.zeros(48))


@pytest.mark.parametrize(("height", "length"), [(1e6, 1.0), (1.0, 1e-6), (1e-80, 1e8)])
def test_units_do_not_matter(height, length):
    centre = np.array([0.3, -0.4, 0.9, 2.0, -1.5])

    def found(height, length):
        problem = BlackBox(lambda x: height * float((((x / length) - centre) ** 2).sum()), dim=5)
        return solve(problem, zofw.LinfBall(length), 300).fun / height

    assert found(height, length) == pytest.approx(found(1.0, 1.0), rel=1e-9)


def test_a_set_with_a_continuum_of_vertices_is_walked_and_zo_sfw_left_behind():
    Z = RNG.standard_normal((400, 80))
    problem = zofw.problems.LeastSquares(Z, Z @ RNG.standard_normal(80) + RNG.standard_normal(400))
    region, budget = zofw.L2Ball(4.0), 60_000
    best = zofw.reference(problem, region).value
    rival = zofw.minimize(problem, region, method=zofw.algorithms.ZOSFW(batch_size=20), budget=budget, rng=0)
    assert solve(problem, region, budget).fun - best < 0.5 * (rival.fun - best)


def test_the_derived_settings_come_with_reasons():
    problem = BlackBox(lambda x: float(x @ x), dim=4)
    reasons = solve(problem, zofw.Simplex(), 200).reasons
    assert "queries" in reasons["first_exploration"] and "components" in reasons["first_batch"]
