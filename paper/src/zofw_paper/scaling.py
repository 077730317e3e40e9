"""How queries grow with n, d and 1/ε, measured; exponents are slopes of logarithms, beside those that are stated.

kind = "costs": queries of one iteration. Every method runs against an oracle that answers noise. The price of a query is known
before it is answered, so nothing is evaluated and the counts are exact.

kind = "complexity": queries to reach ε on a family whose constants are known, with the schedules that theorems prescribe,

    f_i(x) = ½‖x − c_i‖² over ‖x‖₁ ≤ 1, mean of the c_i at e_1 + e_2:  L = L̂ = 1, R = 2, f(x_0) − f* = 3/4 for every n and d

A theorem's schedule is made for T iterations, so each T is a run of its own. For every seed, T grows by √2 until the error is at
most ε; the queries of that run are what ε costs. There is an exponent for each seed: their median, least and greatest are shown.
The error is f(x_T) − f*, or for theorems about problems that are not convex the mean of the exact Frank-Wolfe gap over the run.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import numpy as np

from zofw.core import Answer, Array, MethodLike, Task
from zofw.problems import Quadratic
from zofw.run import Session
from zofw.run.minimize import solve
from zofw.sets import L1Ball
from zofw_paper.methods import build, chosen_methods
from zofw_paper.runner import Watcher
from zofw_paper.spec import Costs, Experiment, Method
from zofw_paper.store import read_json, write_json

LEAST, RATIO = 2, math.sqrt(2.0)  # of the grid of T
LOOKS = 50  # at the Frank-Wolfe gap in a run
BALL = L1Ball(1.0)

Row = dict[str, str]


def scaling_rows(experiment: Experiment, out: Path, watcher: Watcher = Watcher()) -> tuple[Row, ...]:
    """Return the table; queries to ε are kept in a file of their own for every method, size and seed."""
    plan, seeds = experiment.costs, experiment.seeds
    assert plan is not None
    chosen = [m for m in chosen_methods(experiment) if m.name != "auto"]
    if experiment.kind == "costs":
        watcher.stage("counting queries of methods", len(chosen))
        return tuple(_costs(method, plan) for method in chosen)
    watcher.stage("queries to reach ε, methods", len(chosen))
    return tuple(_complexity(method, plan, seeds, out) for method in chosen)


def _settings(method: Method, n: int, d: int, T: int, iterations: int) -> MethodLike:
    """Return the method at these sizes, to which its settings may refer."""
    sizes = {"n": n, "dim": d, "T": T, "R": 2.0, "root_n": math.ceil(n**0.5), "root_d": math.ceil(d**0.5)}
    names = {name: partial(float, size) for name, size in sizes.items()}
    made: MethodLike = build(method, names, Task(BALL, d, n, max_iter=iterations), None)
    return made


def exponent(sizes: Sequence[float], costs: Sequence[float]) -> float:
    """Return the power with which finite costs grow; NaN where fewer than two of them are."""
    known = np.log([(s, c) for s, c in zip(sizes, costs, strict=True) if math.isfinite(c)])
    return float(np.polyfit(known[:, 0], known[:, 1], 1)[0]) if len(known) > 1 else math.nan


# ---------------------------------------------------------------------- of one iteration


def measure_costs(
    method: Method, n: int, d: int, T: int, iterations: int, seed: int = 1
) -> tuple[int, float]:
    """Return the dearest iteration and the mean of those after the first, which may be a start-up."""
    made = _settings(method, n, d, T, iterations)
    session = Session(BALL, dim=d, n=n, method=made, max_iter=iterations, rng=seed, diagnose=0)
    costs, rng = list[int](), np.random.default_rng(seed)
    session.observers.append(lambda session: costs.append(session.nfev))
    with np.errstate(all="ignore"):
        while (query := session.ask()) is not None:
            values = rng.standard_normal((len(query.anchors), query.width))
            spread = np.ones((len(query.anchors), query.count)) if query.variance else None
            session.tell(query, Answer(values, spread))
    each = np.diff(costs, prepend=0)
    return int(each.max()), float(each[1:].mean())


def _costs(method: Method, plan: Costs) -> Row:
    def measured(n: int, d: int) -> tuple[int, float]:
        return measure_costs(method, n, d, plan.T, max(plan.iterations, int(method.stated.per_n * n)))

    by_n, by_d = [measured(n, plan.base_d) for n in plan.n], [measured(plan.base_n, d) for d in plan.d]
    most, mean = measured(plan.base_n, plan.base_d)
    row = {"method": method.label, "max": f"{most:,}", "average": f"{mean:,.0f}"}
    for k, (what, stated) in enumerate((("max", method.stated.max), ("average", method.stated.average))):
        for at, (axis, sizes, found) in enumerate((("n", plan.n, by_n), ("d", plan.d, by_d))):
            slope = exponent(sizes, [pair[k] for pair in found])
            row[f"{what}: power of {axis}"] = f"{slope:.2f}".replace("-0.00", "0.00")
            row[f"{what}: stated, {axis}"] = f"{stated[at]:g}" if stated else "–"
    return row


# ---------------------------------------------------------------------- to reach ε


def family(n: int, d: int, seed: int = 0) -> Quadratic:
    """Return n centres around e_1 + e_2, at distance 1 from it."""
    spread = np.random.default_rng([seed, n, d]).standard_normal((n, d))
    spread -= spread.mean(axis=0)
    spread /= np.linalg.norm(spread, axis=1, keepdims=True).mean()
    return Quadratic(np.ones(d), spread + np.eye(d)[0] + np.eye(d)[1])


def attempt(method: Method, problem: Quadratic, T: int, seed: int) -> tuple[int, float]:
    """Return queries and error of one run of T iterations."""
    gaps: list[float] = []

    def gap(x: Array) -> float:
        g = problem.gradient(x)
        return float(g @ (x - np.asarray(BALL.lmo(g))))

    def look(session: Session) -> None:
        if method.stated.mean_gap and session.nit % max(1, T // LOOKS) == 0:
            gaps.append(gap(session.x))

    made = _settings(method, problem.n, problem.dim, T, T)
    result = solve(
        problem, BALL, method=made, max_iter=T, rng=seed, diagnose=0, progress=False, observers=[look]
    )
    best = 0.5 * (np.eye(problem.dim)[0] + np.eye(problem.dim)[1])
    error = float(np.mean(gaps)) if gaps else problem.value(result.x) - problem.value(best)
    return result.nfev, error


def queries_to(method: Method, n: int, d: int, epsilons: Sequence[float], cap: int, seed: int) -> list[float]:
    """Return queries after which the error is at most each ε; infinite where T would exceed the cap."""
    problem, found = family(n, d), dict.fromkeys(epsilons, math.inf)
    T = LEAST
    while cap >= T and any(map(math.isinf, found.values())):
        queries, error = attempt(method, problem, T, seed)
        for epsilon in epsilons:
            if error <= epsilon and math.isinf(found[epsilon]):
                found[epsilon] = queries
        T = math.ceil(RATIO * T)
    return list(found.values())


def _complexity(method: Method, plan: Costs, seeds: Sequence[int], out: Path) -> Row:
    epsilons = plan.epsilons.get(method.label) or plan.epsilon

    def measured(n: int, d: int, seed: int) -> list[float]:
        path = out / "cells" / method.label / f"n-{n}-d-{d}-seed-{seed}.json"
        if not path.is_file():
            write_json(path, queries_to(method, n, d, epsilons, plan.iterations, seed))
        return [math.inf if value is None else value for value in read_json(path)]

    base = [measured(plan.base_n, plan.base_d, seed) for seed in seeds]
    by_n = [[measured(n, plan.base_d, seed)[-1] for n in plan.n] for seed in seeds]
    by_d = [[measured(plan.base_n, d, seed)[-1] for d in plan.d] for seed in seeds]
    row = {"method": method.label, "ε": ", ".join(f"{epsilon:g}" for epsilon in epsilons)}
    row["queries to the last ε"] = _shown([costs[-1] for costs in base], "{:,.0f}")
    axes = (("1/ε", [1 / e for e in epsilons], base), ("n", plan.n, by_n), ("d", plan.d, by_d))
    for k, (axis, sizes, costs) in enumerate(axes):
        stated = method.stated.total
        row[f"power of {axis}"] = _shown([exponent(sizes, line) for line in costs], "{:.2f}")
        row[f"stated, {axis}"] = f"{stated[k]:g}" if stated else "–"
    return row


def _shown(values: Sequence[float], form: str) -> str:
    """Median, least and greatest."""
    known = [value for value in values if math.isfinite(value)]
    if not known:
        return "not reached"
    low, middle, high = (
        form.format(round(v, 6) + 0.0) for v in (min(known), statistics.median(known), max(known))
    )  # 0, not −0
    return f"{middle} [{low}, {high}]" + f", {len(known)} of {len(values)} seeds" * (len(known) < len(values))
