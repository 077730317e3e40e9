"""Queries for every component separately, and runs that minimise another function of the components than their mean."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest

import zofw
from zofw.core import Batch, Info, Query
from zofw.problems import BlackBox, LeastSquares, Sharded, evaluate
from zofw.problems.abilities import abilities
from zofw.problems.evaluate import assemble, tile_sums, tiles

CENTRES = np.random.default_rng(0).standard_normal((7, 3))


def distance(x, i):
    return float(np.sum((x - CENTRES[i]) ** 2))


class Vectors:
    """Every component brings two numbers, in a call of its own."""

    n, dim, outputs, cellwise, calls = 7, 3, 2, True, 0

    def one(self, x, component):
        self.calls += 1
        return np.array([distance(x, component), x[0] + component])

    def values(self, points, components):
        return np.array([[self.one(x, int(i)) for i in components] for x in points]).reshape(len(points), -1)


@dataclass(frozen=True)
class Worst:
    def check(self, size):
        if size < 2:
            raise ValueError("too short")

    def of(self, vectors):
        return vectors.max(axis=1)

    def slope(self, vector):
        return np.eye(len(vector))[vector.argmax()]

    def curvature(self, vector):
        return None


@dataclass(frozen=True)
class Walk:
    """Random points; what is asked is all that it does."""

    name: ClassVar[str] = "walk"
    composes: ClassVar[bool] = True

    @dataclass(frozen=True)
    class State:
        t: int
        x: np.ndarray
        low: float = np.inf

    def init(self, task, x0):
        return Walk.State(0, x0)

    def step(self, task, state, rng):
        x = rng.dirichlet(np.ones(task.dim))
        answer = yield Query(x, task.all, each=task.each)
        value = float(task.outer.of(answer.values)[0])
        return Walk.State(state.t + 1, x if value < state.low else state.x, min(value, state.low)), Info()


@pytest.mark.parametrize(
    "problem",
    [
        BlackBox(distance, dim=3, n=7),
        BlackBox(
            lambda X, S: ((X[:, None] - CENTRES[S]) ** 2).sum(2), dim=3, n=7, vectorized=True, at_once=4
        ),
        LeastSquares(CENTRES, np.arange(7.0)),
        Sharded([BlackBox(distance, dim=3, n=3), BlackBox(distance, dim=3, n=4)]),
    ],
)
@pytest.mark.parametrize("indices", [None, [1, 1, 4, 6]])
def test_each_brings_every_component_in_its_order(problem, indices):
    points = np.random.default_rng(1).standard_normal((4, 3))
    batch = Batch(7, None if indices is None else np.array(indices))
    query = Query(points, batch, each=1)
    assert (query.cost, query.width) == (4 * len(batch), len(batch))
    found = evaluate(problem, query).values
    np.testing.assert_allclose(found, problem.values(points, batch.slice(0, 7)), rtol=1e-12)
    parts = tiles(abilities(problem), query)
    backwards = {tile: tile_sums(problem, query, tile) for tile in reversed(parts)}
    np.testing.assert_array_equal(assemble(query, parts, [backwards[tile] for tile in parts]).values, found)


def test_each_is_for_plain_values():
    with pytest.raises(ValueError, match="VALUE stencil"):
        Query(np.zeros(3), Batch(7), variance=True, each=1)
    parts = Sharded([BlackBox(distance, dim=3, n=3), BlackBox(distance, dim=3, n=4)])
    with pytest.raises(ValueError, match="ascending order"):
        evaluate(parts, Query(np.zeros(3), Batch(7, np.array([5, 1])), each=1))


@pytest.mark.parametrize("problem, width", [(BlackBox(distance, dim=3, n=7), 7), (Vectors(), 14)])
def test_a_run_minimises_the_outer_function_and_resumes(problem, width, tmp_path):
    asked = {"outer": Worst(), "method": Walk(), "rng": 0}
    whole = zofw.minimize(problem, zofw.Simplex(), budget=70, **asked)
    assert (whole.nfev, whole.fun) == (
        70,
        Worst().of(evaluate(problem, Query(whole.x, Batch(7), each=width // 7)).values)[0],
    )
    assert whole.trace.objective[-1] >= whole.fun
    with ThreadPoolExecutor(2) as pool:
        np.testing.assert_array_equal(
            zofw.minimize(problem, zofw.Simplex(), budget=70, workers=pool, **asked).x, whole.x
        )
    path = tmp_path / "run.npz"
    zofw.minimize(problem, zofw.Simplex(), budget=35, checkpoint=path, **asked)
    again = zofw.minimize(problem, zofw.Simplex(), budget=70, checkpoint=path, resume=True, **asked)
    assert (again.fun, again.ledger) == (whole.fun, whole.ledger)
    with pytest.raises(ValueError, match="Hand over the object"):
        zofw.minimize(problem, zofw.Simplex(), method=Walk(), checkpoint=path, resume=True)


def test_an_evaluation_that_fails_in_the_middle_costs_itself_only(tmp_path):
    problem = Vectors()
    sound, problem.one = problem.one, lambda x, i: 1 / 0 if problem.calls == 9 else sound(x, i)
    asked = {"outer": Worst(), "method": Walk(), "rng": 0, "checkpoint": tmp_path / "run.npz"}
    with pytest.raises(zofw.EvaluationError):
        zofw.minimize(problem, zofw.Simplex(), budget=35, **asked)
    problem.one = sound
    assert zofw.minimize(problem, zofw.Simplex(), resume=True, **asked).nfev == 29
    assert problem.calls == 28  # four points of 7 components, and one evaluation that raised


def test_what_an_outer_function_cannot_do_is_said():
    f = BlackBox(distance, dim=3, n=7)
    with pytest.raises(ValueError, match="zo-fw minimises means only"):
        zofw.minimize(f, zofw.Simplex(), budget=70, method="zo-fw", outer=Worst())
    with pytest.raises(ValueError, match="diagnose=… evaluates means"):
        zofw.minimize(f, zofw.Simplex(), budget=70, method=Walk(), outer=Worst(), diagnose=3)
    with pytest.raises(ValueError, match="too short"):
        zofw.minimize(BlackBox(lambda x: 1.0, dim=3), zofw.Simplex(), budget=70, method=Walk(), outer=Worst())
