"""Laws that every registered method obeys; a new one is tested here without a line written for it."""

from __future__ import annotations

import dataclasses
import inspect
import pickle

import numpy as np
import pytest

import zofw
from conftest import quadratic_sum, small_set
from zofw.algorithms import as_algorithm
from zofw.core import Task
from zofw.problems import evaluate
from zofw.sets import as_set, can_project

NAMES = list(zofw.methods())
SETS = ("l1-ball", "l2-ball", "simplex", "nuclear-ball")
DIM, N, BUDGET, ITERATIONS = 9, 7, 4000, 8


def gradient(problem: object, x: np.ndarray) -> np.ndarray:
    mean = zofw.problems.mean_value
    return np.array(
        [(mean(problem, x + e) - mean(problem, x - e)) / 2 for e in np.eye(len(x))]
    )  # exact on quadratics


def session(name: str, region: object, problem: object, **limits: object) -> zofw.Session:
    settings = {"budget": BUDGET, "max_iter": ITERATIONS} | limits
    return zofw.Session(
        region,
        dim=DIM,
        n=N,
        method=name,
        rng=5,
        objective=lambda x: zofw.problems.mean_value(problem, x),
        gradient=lambda x: gradient(problem, x),
        **settings,
    )


def finish(run: zofw.Session, problem: object) -> zofw.Result:
    while (query := run.ask()) is not None:
        run.tell(query, evaluate(problem, query))
    return run.result()


@pytest.fixture(params=NAMES)
def name(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture(params=SETS)
def region(request: pytest.FixtureRequest) -> object:
    return small_set(request.param, DIM)


def test_every_iterate_is_a_member_and_every_query_is_counted(name, region):
    f = quadratic_sum(N, DIM)
    states, paid = [], []

    def watch(run):
        states.append(run.state)
        assert run.set.contains(run.x, 1e-8), f"{name} left {region!r} at t = {run.nit}"

    run = session(name, region, f)
    run.observers.append(watch)
    while (query := run.ask()) is not None:
        paid.append(query.cost)
        run.tell(query, evaluate(f, query))
    assert [state.t for state in states] == list(range(1, len(states) + 1))
    assert run.nfev == sum(paid) == sum(run.ledger.values()) <= BUDGET
    assert run.nit >= 1 and np.isfinite(run.result().fun)


def test_a_run_resumes_from_any_query_through_a_file(name, tmp_path):
    f, region = quadratic_sum(N, DIM), small_set("l1-ball", DIM)
    whole = finish(session(name, region, f), f)
    run = session(name, region, f)
    while (query := run.ask()) is not None:
        run.checkpoint(tmp_path / "run.npz")
        run = zofw.Session.resume(
            tmp_path / "run.npz",
            objective=lambda x: zofw.problems.mean_value(f, x),
            gradient=lambda x: gradient(f, x),
        )
        again = run.ask()
        assert again is not None and again.cost == query.cost
        np.testing.assert_array_equal(again.anchors, query.anchors)
        run.tell(again, evaluate(f, again))
    result = run.result()
    np.testing.assert_array_equal(result.x, whole.x)
    assert (result.nfev, result.nlmo, result.nit, result.status) == (
        whole.nfev,
        whole.nlmo,
        whole.nit,
        whole.status,
    )
    assert result.ledger == whole.ledger and result.fun == whole.fun
    np.testing.assert_array_equal(result.trace.objective, whole.trace.objective)


def test_the_same_seed_is_the_same_run_whatever_the_chunks(name, monkeypatch):
    f, region = quadratic_sum(N, DIM), small_set("simplex", DIM)
    whole = finish(session(name, region, f), f)
    np.testing.assert_array_equal(finish(session(name, region, f), f).x, whole.x)
    monkeypatch.setattr("zofw.directions.implicit.TILE_ENTRIES", 16)
    monkeypatch.setattr("zofw.kernels.plain.TILE_ENTRIES", 16)
    pieces = finish(session(name, region, f), f)
    np.testing.assert_allclose(pieces.x, whole.x, atol=1e-9)
    assert pieces.nfev == whole.nfev


def test_a_step_does_not_change_its_state_or_settings(name):
    f, region = quadratic_sum(N, DIM), small_set("l1-ball", DIM)
    run = session(name, region, f)
    kept = []

    def watch(run):
        kept.append((run.state, pickle.dumps(run.state), pickle.dumps(run.algorithm)))

    run.observers.append(watch)
    finish(run, f)
    for state, before, settings in kept:
        assert pickle.dumps(state) == before and pickle.dumps(run.algorithm) == settings


def test_settings_survive_repr_equality_and_pickle(name):
    task = Task(as_set(small_set("l1-ball", DIM)), DIM, N, BUDGET, ITERATIONS, gradient=lambda x: x)
    settings, _ = as_algorithm(name, task)
    assert pickle.loads(pickle.dumps(settings)) == settings
    assert dataclasses.replace(settings) == settings and repr(settings).startswith(type(settings).__name__)
    assert type(settings).name == name and zofw.methods()[name] is type(settings)
    with pytest.raises(dataclasses.FrozenInstanceError):
        settings.name_of_nothing = 1


def test_the_least_budget_is_enough_and_one_less_is_refused(name):
    f, region = quadratic_sum(N, DIM), small_set("l1-ball", DIM)
    first = session(name, region, f, budget=10**7, max_iter=1)
    settings, least = first.algorithm, finish(first, f).nfev
    if least < 2:
        pytest.skip("the first iteration asks nothing, or one query")
    assert finish(session(settings, region, f, budget=least), f).nfev == least
    with pytest.raises(zofw.BudgetError) as error:
        finish(session(settings, region, f, budget=least - 1), f)
    assert error.value.least == least


def test_a_projection_method_refuses_a_set_that_cannot_project(name):
    hull = small_set("convex-hull", DIM)
    assert not can_project(hull)
    f = quadratic_sum(N, DIM)
    try:
        result = finish(session(name, hull, f), f)
    except ValueError as error:
        assert "project" in str(error)
    else:
        assert hull.contains(result.x, 1e-7)


def test_the_docstring_is_the_pseudo_code_with_references(name):
    module = inspect.getmodule(zofw.methods()[name])
    assert "References" in (module.__doc__ or "")
    assert zofw.methods()[name].__doc__
