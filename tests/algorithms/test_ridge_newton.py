"""Ridge-Newton: rays learned and believed, the model minimised over the set, and what happens where nothing is a ridge."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import zofw
from zofw.algorithms.model.mixture import Mixture
from zofw.algorithms.ridge_newton import RidgeNewton, _newton
from zofw.algorithms.ridge_newton.blocks import colours, measure, price
from zofw.algorithms.ridge_newton.rays import learn, probe, restricted
from zofw.algorithms.ridge_newton.solve import Model, by_projection, over_atoms
from zofw.atoms import Dense
from zofw.core import Answer, Batch, Task
from zofw.problems import BlackBox, Logistic, MatrixCompletion


def text(n: int = 300, d: int = 80, seed: int = 0) -> Logistic:
    rng = np.random.default_rng(seed)
    Z = sp.csr_array(sp.random_array((n, d), density=0.08, random_state=rng, format="csr"))
    hidden = Z @ np.where(np.arange(d) < 4, 5.0, 0.0)
    return Logistic(Z, np.where(rng.random(n) < 1 / (1 + np.exp(1 - hidden)), 1.0, -1.0))


def completion(side: int = 30, n: int = 500, seed: int = 0) -> tuple[MatrixCompletion, zofw.NuclearBall]:
    rng = np.random.default_rng(seed)
    M = rng.standard_normal((side, 2)) @ rng.standard_normal((2, side))
    row, column = np.unravel_index(rng.permutation(side * side)[:n], M.shape)
    entries = M[row, column] + 0.05 * rng.standard_normal(n)
    ball = zofw.NuclearBall(0.9 * float(np.linalg.norm(M, "nuc")), (side, side))
    return MatrixCompletion(M.shape, row, column, entries), ball


def answered(f: Any, generator: Any, costs: list[int] | None = None) -> Any:
    """What a generator of queries returns, asked of f; their prices are put on the list."""
    answer = None
    while True:
        try:
            query = generator.send(answer)
        except StopIteration as end:
            return end.value
        if costs is not None:
            costs.append(query.cost)
        answer = zofw.core.Answer(
            np.array(
                [
                    [
                        f.values(query.point(0, j)[None, :], query.batch.slice(j, j + 1))[0, 0]
                        for j in range(query.width)
                    ]
                ]
            )
        )


def test_rays_are_the_rows_and_slopes_those_of_the_loss() -> None:
    f, n = text(), 300
    task = Task(zofw.L1Ball(5.0), f.dim, n, known_pattern=f.pattern)
    rng = np.random.default_rng(1)
    x, y = rng.standard_normal((2, f.dim))
    which = np.flatnonzero(f.pattern(Batch(n)).sizes > 1)[:20].astype(np.int64)
    rays, _ = answered(f, learn(task, x, which, f.pattern(Batch(n, which)), 1e-4, 1e-16))
    Z = f.matrix[rays.components].toarray()
    unit = np.take_along_axis(Z, rays.reference[:, None], axis=1)
    assert rays.components.tolist() == which.tolist()
    assert np.allclose(rays.matrix(f.dim).toarray(), Z / unit, atol=1e-7)
    at = answered(f, probe(task, y, rays, 1e-4))
    t = f.matrix[which] @ y
    assert np.allclose(at.value, f.loss(t.copy()), atol=1e-14)
    assert np.allclose(at.p, f.slope(t.copy()) * unit[:, 0], atol=1e-8)
    bend = (f.slope(t + 1e-5) - f.slope(t - 1e-5)) / 2e-5
    assert np.allclose(at.q, bend * unit[:, 0] ** 2, atol=1e-6)


def test_a_pattern_restricted_to_some_coordinates_keeps_these() -> None:
    f = text()
    whole, mask = f.pattern(Batch(300)), np.arange(80) < 40
    some = restricted(whole, mask)
    for i in range(300):
        own = whole.index[whole.starts[i] : whole.starts[i + 1]]
        assert some.index[some.starts[i] : some.starts[i + 1]].tolist() == own[own < 40].tolist()


def test_both_ways_to_minimise_the_model_agree() -> None:
    rng = np.random.default_rng(0)
    Z = sp.csr_array(rng.standard_normal((40, 12)))
    model = Model(np.zeros(12), Z, rng.standard_normal(40), rng.random(40) + 0.1, 1 / 40)
    task = Task(zofw.L1Ball(0.8), 12)
    start = Mixture((Dense(np.zeros(12)),), np.ones(1))
    atoms = over_atoms(task, model, start, 50, 1e-9).point()
    assert np.allclose(atoms, by_projection(task, model).point(), atol=1e-5)
    assert np.abs(atoms).sum() <= 0.8 + 1e-12


def test_momentum_that_points_uphill_is_given_up() -> None:
    """Restarted, 400 projections reach the minimiser of a model of condition 100 to 1e-6; they miss it by 1e-3 otherwise."""
    rng = np.random.default_rng(0)
    Z = sp.csr_array(rng.standard_normal((40, 12)) * np.geomspace(1.0, 0.1, 12))
    p, q = rng.standard_normal(40), rng.random(40) + 0.1
    best = -np.linalg.solve((Z.T @ sp.diags_array(q) @ Z).toarray(), Z.T @ p)
    size = float(np.linalg.norm(best))
    found = by_projection(Task(zofw.L2Ball(10 * size), 12), Model(np.zeros(12), Z, p, q, 1 / 40)).point()
    assert np.linalg.norm(found - best) <= 1e-6 * size


def test_a_part_of_a_step_is_a_mixture_of_both_ends() -> None:
    f, ball = text(), zofw.L1Ball(5.0)
    task = Task(ball, f.dim, 300, known_pattern=f.pattern)
    x = np.full(f.dim, 0.01)
    which = np.flatnonzero(f.pattern(task.all).sizes > 1).astype(np.int64)
    rays, at = answered(f, learn(task, x, which, f.pattern(Batch(300, which)), 1e-4, 1e-16))
    state = replace(RidgeNewton().init(task, x), rays=rays, at=at, looked=300, next="newton")
    newton = _newton(task, state, replace(state.values, noise=1e-16, range=1.0))
    next(newton)
    before = len(which) / 300 * float(at.value.mean())
    newton.send(Answer(np.array([[2 * before]])))  # the whole step is refused, a part of it is not
    with pytest.raises(StopIteration) as end:
        newton.send(Answer(np.array([[0.0]])))
    after = end.value.value
    assert np.linalg.norm(after.x - x) > 0 and after.mixture.weights.sum() == pytest.approx(1.0)
    np.testing.assert_allclose(after.mixture.point(), after.x, atol=1e-12)


def test_a_matrix_from_some_entries_is_found_and_certified_with_few_gradients() -> None:
    f, ball = completion()
    result = zofw.minimize(f, ball, budget=50_000, rng=0)
    assert result.method == "ridge-newton" and result.status is zofw.Status.CONVERGED
    best = zofw.reference(f, ball).value
    assert result.fun <= best * 1.0001 + 1e-9
    assert result.nfev <= 25 * 500


def test_a_sample_of_the_components_finds_the_words_that_matter() -> None:
    f, ball = text(6000, 600), zofw.L1Ball(8.0)
    result = zofw.minimize(f, ball, budget=3_000_000, rng=0, diagnose=1000)
    assert result.status is zofw.Status.CONVERGED
    best = zofw.reference(f, ball).value
    trace = result.trace.to_frame()
    assert result.fun <= best + 1e-7
    sweep = f.pattern(Batch(6000)).cost
    early = trace[(trace.fun - best) <= 0.1 * (float(trace.fun.iloc[0]) - best)].nfev.iloc[0]
    assert early < sweep / 2


def distances(seed: int = 0) -> tuple[BlackBox, Any]:
    """Squared distances in the plane: four coordinates each, and gradients that turn."""
    rng = np.random.default_rng(seed)
    points, pairs = rng.random((8, 2)), np.array([(i, j) for j in range(8) for i in range(j)])
    lengths = ((points[pairs[:, 0]] - points[pairs[:, 1]]) ** 2).sum(axis=1)

    def f(x: Any, k: int) -> float:
        i, j = pairs[k]
        p = x.reshape(8, 2)
        return float((np.sum((p[i] - p[j]) ** 2) - lengths[k]) ** 2)

    support = [np.array([2 * i, 2 * i + 1, 2 * j, 2 * j + 1]) for i, j in pairs]
    x0 = np.clip(points + 0.1 * rng.standard_normal((8, 2)), 0, 1).ravel()
    return BlackBox(f, dim=16, n=len(pairs), support=support), x0


@pytest.mark.parametrize("seed", range(3))
def test_components_that_are_no_ridges_have_hessians_of_their_own(seed: int) -> None:
    problem, x0 = distances(seed)
    result = zofw.minimize(problem, zofw.Box(0.0, 1.0), x0=x0, budget=20_000, rng=0)
    assert result.method == "ridge-newton" and result.status is zofw.Status.CONVERGED
    assert result.fun < 1e-12 and result.nfev < 15_000


def test_where_hessians_are_too_dear_explore_correct_goes_on() -> None:
    problem, x0 = distances()
    result = zofw.minimize(problem, zofw.Box(0.0, 1.0), x0=x0, budget=25 * 28, rng=0)
    start = problem.values(x0[None, :], np.arange(28)).mean()
    assert result.method == "ridge-newton" and "explore times" in result.trace.infos[-1]
    assert result.nfev <= 25 * 28 and result.fun < start


def test_the_rows_of_a_block_are_its_gradient_and_hessian() -> None:
    """Σ_r p_r v_r is the gradient, Σ_r q_r v_r v_rᵀ the Hessian, of a mean of cubics and products with supports of 0 to 4."""
    rng = np.random.default_rng(3)
    supports = [np.sort(rng.choice(9, size, replace=False)) for size in (0, 1, 2, 3, 4, 4, 2, 3, 1)]
    A = [rng.standard_normal((len(s), len(s))) for s in supports]

    def f(x: Any, i: int) -> float:
        y = x[supports[i]]
        return float(y @ A[i] @ y + (y**3).sum() + np.prod(y))

    problem = BlackBox(f, dim=9, n=9, support=supports)
    task, x, asked = (
        Task(zofw.Box(-1.0, 1.0), 9, 9, known_pattern=problem.pattern),
        rng.standard_normal(9),
        [],
    )
    model, values = answered(problem, measure(task, x, 1e-3), asked)
    assert (
        sum(asked)
        == price(problem.pattern(task.all))
        == sum(1 + 2 * s + s * (s - 1) // 2 for s in map(len, supports))
    )
    gradient, hessian = np.zeros(9), np.zeros((9, 9))
    for own, a in zip(supports, A, strict=True):
        y = x[own]
        rest = np.array([np.prod(np.delete(y, j)) for j in range(len(y))])
        gradient[own] += (a + a.T) @ y + 3 * y**2 + rest
        block = a + a.T + np.diag(6 * y)
        for j in range(len(y)):
            for k in range(len(y)):
                block[j, k] += np.prod(np.delete(y, [j, k])) if j != k else 0.0
        hessian[np.ix_(own, own)] += block
    assert np.allclose(model.slope(0 * model.p), gradient / 9, atol=1e-5)
    found = model.scale * (model.Z.T @ sp.diags_array(model.q) @ model.Z).toarray()
    assert np.allclose(found, hessian / 9, atol=1e-2)
    assert np.allclose(values, [f(x, i) for i in range(9)], atol=1e-14)


def test_no_component_has_two_coordinates_of_one_colour() -> None:
    f = text(200, 60)
    pattern = f.pattern(Batch(200))
    colour = colours(pattern, 60)
    most = int(pattern.sizes.max())
    for i in range(200):
        own = colour[pattern.index[pattern.starts[i] : pattern.starts[i + 1]]]
        assert len(set(own.tolist())) == len(own)
    assert most <= colour.max() + 1 <= 60


def test_random_values_are_left_to_explore_correct() -> None:
    f, noise = text(100, 30), np.random.default_rng(5)

    def noisy(x: Any, i: int) -> float:
        return float(f.values(x[None, :], np.array([i]))[0, 0] + 1e-3 * noise.standard_normal())

    support = [f.pattern(Batch(300, np.array([i]))).index for i in range(100)]
    problem = BlackBox(noisy, dim=30, n=100, support=support)
    result = zofw.minimize(problem, zofw.L1Ball(20.0), budget=12_000, rng=0)
    start = f.values(np.zeros((1, 30)), np.arange(100)).mean()
    end = f.values(result.x[None, :], np.arange(100)).mean()
    assert result.method == "ridge-newton" and end < start - 0.01


@pytest.mark.parametrize(("structure", "method"), [(True, "ridge-newton"), (False, "explore-correct")])
def test_auto_takes_it_where_coordinates_are_known_and_says_so(structure: bool, method: str) -> None:
    result = zofw.minimize(text(), zofw.L1Ball(5.0), budget=20_000, rng=0, options={"structure": structure})
    assert result.method == method
    assert any(method in reason for reason in result.reasons.values())


def test_points_that_must_stay_inside_do() -> None:
    f, ball = text(100, 20), zofw.L1Ball(5.0)

    def checked(x: Any, i: int) -> float:
        assert np.abs(x).sum() <= 5.0
        return float(f.values(x[None, :], np.array([i]))[0, 0])

    support = [f.pattern(Batch(100, np.array([i]))).index for i in range(100)]
    problem = BlackBox(checked, dim=20, n=100, support=support)
    zofw.minimize(problem, ball, method="ridge-newton", budget=5_000, rng=0, inside=True)


def test_a_set_of_one_point_is_its_own_solution() -> None:
    problem = BlackBox(lambda x, i: float(x[0]), dim=1, n=2, support=[[0], [0]])
    for X in (zofw.Simplex(), zofw.Box([1.0], [1.0])):
        result = zofw.minimize(problem, X, budget=400, rng=0)
        assert result.status is zofw.Status.CONVERGED and result.x.tolist() == [1.0]
