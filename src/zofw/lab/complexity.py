"""Queries to reach ε against ε, n and d, on a family whose constants are known, with the schedules that theorems prescribe.

    f_i(x) = ½‖x − c_i‖² over ‖x‖₁ ≤ 1, mean of the c_i at e_1 + e_2:  L = L̂ = 1, R = 2, f(x_0) − f* = 3/4 for every n and d

A theorem's schedule is made for T iterations, so each T is a run of its own. For every seed, T grows by √2 until the error is at
most ε; the queries of that run are what ε costs. Exponents are slopes of logarithms, one for each seed: their median, least
and greatest are shown beside what is stated. The error is f(x_T) − f*, or for theorems about problems that are not convex the
mean of the exact Frank-Wolfe gap over the run.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import numpy as np

from zofw.core import Array, Task
from zofw.lab.costs import exponent
from zofw.lab.methods import build
from zofw.lab.runner import Watcher
from zofw.lab.spec import Costs, Experiment, Method
from zofw.lab.store import read_json, write_json
from zofw.problems import Quadratic
from zofw.run import Session, minimize
from zofw.sets import L1Ball

__all__ = ["complexity_rows", "queries_to"]

LEAST, RATIO = 2, math.sqrt(2.0)  # of the grid of T
LOOKS = 50  # at the Frank-Wolfe gap in a run


def family(n: int, d: int, seed: int = 0) -> Quadratic:
    """n centres around e_1 + e_2, at distance 1 from it."""
    spread = np.random.default_rng([seed, n, d]).standard_normal((n, d))
    spread -= spread.mean(axis=0)
    spread /= np.linalg.norm(spread, axis=1, keepdims=True).mean()
    return Quadratic(np.ones(d), spread + np.eye(d)[0] + np.eye(d)[1])


def attempt(method: Method, problem: Quadratic, T: int, seed: int) -> tuple[int, float]:
    """Queries and error of one run of T iterations."""
    n, d, ball = problem.n, problem.dim, L1Ball(1.0)
    sizes = {"n": n, "dim": d, "T": T, "R": 2.0, "root_n": math.ceil(n**0.5), "root_d": math.ceil(d**0.5)}
    names: dict[str, Callable[[], float]] = {name: partial(float, size) for name, size in sizes.items()}
    gaps: list[float] = []

    def gap(x: Array) -> float:
        g = problem.gradient(x)
        return float(g @ (x - np.asarray(ball.lmo(g))))

    def look(session: Session) -> None:
        if session.nit % max(1, T // LOOKS) == 0:
            gaps.append(gap(session.x))

    made = build(method, names, Task(ball, d, n, max_iter=T), None)
    watchers = [look] if method.stated.mean_gap else []
    result = minimize(
        problem, ball, method=made, max_iter=T, rng=seed, diagnose=0, progress=False, observers=watchers
    )
    best = 0.5 * (np.eye(d)[0] + np.eye(d)[1])
    error = float(np.mean(gaps)) if gaps else problem.value(result.x) - problem.value(best)
    return result.nfev, error


def queries_to(method: Method, n: int, d: int, epsilons: Sequence[float], cap: int, seed: int) -> list[float]:
    """Queries after which the error is at most each ε; infinite where T would exceed the cap."""
    problem, found = family(n, d), dict.fromkeys(epsilons, math.inf)
    T = LEAST
    while cap >= T and any(map(math.isinf, found.values())):
        queries, error = attempt(method, problem, T, seed)
        for epsilon in epsilons:
            if error <= epsilon and math.isinf(found[epsilon]):
                found[epsilon] = queries
        T = math.ceil(RATIO * T)
    return list(found.values())


def complexity_rows(
    experiment: Experiment, out: Path, watcher: Watcher = Watcher()
) -> tuple[dict[str, str], ...]:
    """The table; what is measured is kept in a file of its own for every method, size and seed."""
    plan = experiment.costs
    assert plan is not None
    watcher.stage("queries to reach ε, methods", len(experiment.methods))
    return tuple(_row(method, plan, experiment.seeds, out) for method in experiment.methods)


def _row(method: Method, plan: Costs, seeds: Sequence[int], out: Path) -> dict[str, str]:
    epsilons = plan.epsilons.get(method.label) or plan.epsilon
    last = len(epsilons) - 1

    def measured(n: int, d: int, seed: int) -> list[float]:
        path = out / "cells" / method.label / f"n-{n}-d-{d}-seed-{seed}.json"
        if not path.is_file():
            write_json(path, queries_to(method, n, d, epsilons, plan.iterations, seed))
        return [math.inf if value is None else value for value in read_json(path)]

    base = [measured(plan.base_n, plan.base_d, seed) for seed in seeds]
    by_n = [[measured(n, plan.base_d, seed)[last] for n in plan.n] for seed in seeds]
    by_d = [[measured(plan.base_n, d, seed)[last] for d in plan.d] for seed in seeds]
    row = {
        "method": method.label,
        "ε": ", ".join(f"{epsilon:g}" for epsilon in epsilons),
        "queries to the last ε": _shown([costs[last] for costs in base], "{:,.0f}"),
    }
    axes = (("1/ε", [1 / e for e in epsilons], base), ("n", plan.n, by_n), ("d", plan.d, by_d))
    for k, (axis, sizes, costs) in enumerate(axes):
        stated = method.stated.total
        row[f"power of {axis}"] = _shown([slope(sizes, line) for line in costs], "{:.2f}")
        row[f"stated, {axis}"] = f"{stated[k]:g}" if stated else "–"
    return row


def slope(sizes: Sequence[float], costs: Sequence[float]) -> float:
    """The power with which costs grow; NaN where fewer than two of them are finite."""
    known = [(s, c) for s, c in zip(sizes, costs, strict=True) if math.isfinite(c)]
    if len(known) < 2:
        return math.nan
    return exponent(*zip(*known, strict=True))


def _shown(values: Sequence[float], form: str) -> str:
    """Median, least and greatest."""
    known = [value for value in values if math.isfinite(value)]
    if not known:
        return "not reached"
    low, middle, high = (form.format(v) for v in (min(known), statistics.median(known), max(known)))
    return f"{middle} [{low}, {high}]" + f", {len(known)} of {len(values)} seeds" * (len(known) < len(values))
