"""Horizons, schedules and names of settings, which several methods share."""

from __future__ import annotations

import pytest

import zofw
from transcription import (
    D,
    N,
    logistic,
)
from zofw.algorithms import as_algorithm
from zofw.core import Task
from zofw.papers.horizon import constant_step, horizon
from zofw.problems import BlackBox, evaluate
from zofw.schedules import Constant, Power, Scaled


@pytest.mark.parametrize("budget", [1, 10, 11, 12, 13, 22, 100, 101, 1000])
@pytest.mark.parametrize(("first", "rest", "period"), [(10, 2, 4), (3, 5, 2), (7, 7, 1)])
def test_horizon_counts_iterations(budget: int, first: int, rest: int, period: int) -> None:
    left, count = budget, 0
    while left >= (cost := first if count % period == 0 else rest):
        left, count = left - cost, count + 1
    assert horizon(Task(None, 3, 5, budget), first, rest, period) == max(1, count)


def test_horizon_without_a_budget() -> None:
    assert horizon(Task(None, 3, 5, None, 40), 10) == 40
    assert horizon(Task(None, 3, 5, 1000, 40), 10) == 40
    assert horizon(Task(None, 3, 5), 10) is None
    assert constant_step(None, 0.5) == Power(1.0, 1.0, 0.5)
    assert constant_step(100, 0.5) == Constant(0.1)


@pytest.mark.parametrize(
    ("method", "exponent"), [("acc-szofw", 0.5), ("acc-szofw-star", 2 / 3), ("zo-sfw-nonconvex", 0.75)]
)
def test_step_follows_the_budget(method: str, exponent: float) -> None:
    steps = []
    for budget in (10_000, 40_000):
        session = zofw.Session(zofw.L1Ball(1.0), dim=D, n=N, method=method, budget=budget, rng=0, diagnose=0)
        problem = BlackBox(logistic(), dim=D, n=N)
        steps.append(session.run.method.step_size(0))
        assert "step_size" in session.run.reasons
        while session.nit < 30 and (query := session.ask()) is not None:
            session.tell(query, evaluate(problem, query))
    assert steps[1] / steps[0] == pytest.approx(4**-exponent, rel=0.02)


def test_scaled_schedule() -> None:
    schedule = Scaled(Power(1.0, 1.0), 0.5, 0.2)
    assert [schedule(t) for t in (0, 1, 9)] == [0.5, 0.25, 0.2]


def test_names_stand_for_laws_and_stencils() -> None:
    task = Task(zofw.L1Ball(1.0), 9, N)
    settings, _ = as_algorithm(zofw.papers.ZOSFW(law="rademacher", stencil="central"), task)  # type: ignore[arg-type]
    assert settings.law == zofw.directions.Rademacher() and settings.stencil is zofw.core.Stencil.CENTRAL
    with pytest.raises(KeyError, match="did you mean"):
        as_algorithm(zofw.papers.ZOSFW(law="rademacherr"), task)  # type: ignore[arg-type]
    for wrong in (zofw.papers.ZOSFW, zofw.papers.ZOSFW(law=zofw.directions.Gaussian)):  # type: ignore[arg-type]
        with pytest.raises(TypeError, match="the class itself was given"):
            as_algorithm(wrong, task)
