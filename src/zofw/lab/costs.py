"""Queries of one iteration against n and d, measured: every method runs against an oracle that answers noise.

The price of a query is known before it is answered, so nothing is evaluated and the counts are exact. Exponents are fitted
by least squares on logarithms, over n at a fixed d and over d at a fixed n.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from zofw.core import Answer, Task
from zofw.lab.methods import all_methods, build
from zofw.lab.runner import Watcher
from zofw.lab.spec import Costs, Experiment, Method
from zofw.run import Session
from zofw.sets import L1Ball

__all__ = ["cost_rows", "exponent", "measure_costs"]


def measure_costs(
    method: Method, n: int, d: int, T: int, iterations: int, seed: int = 1
) -> tuple[int, float]:
    """The dearest iteration and the mean of those after the first, which may be a start-up."""
    names = {
        "n": lambda: float(n),
        "dim": lambda: float(d),
        "T": lambda: float(T),
        "root_n": lambda: float(np.ceil(np.sqrt(n))),
        "root_d": lambda: float(np.ceil(np.sqrt(d))),
    }
    task = Task(L1Ball(1.0), d, n, max_iter=iterations)
    session = Session(
        L1Ball(1.0),
        dim=d,
        n=n,
        method=build(method, names, task, None),
        max_iter=iterations,
        rng=seed,
        diagnose=0,
    )
    costs, rng = list[int](), np.random.default_rng(seed)
    session.observers.append(lambda session: costs.append(session.nfev))
    with np.errstate(all="ignore"):
        while (query := session.ask()) is not None:
            values = rng.standard_normal((len(query.anchors), query.width))
            spread = np.ones((len(query.anchors), query.count)) if query.variance else None
            session.tell(query, Answer(values, spread))
    each = np.diff(costs, prepend=0)
    return int(each.max()), float(each[1:].mean())


def exponent(sizes: Sequence[float], costs: Sequence[float]) -> float:
    """The slope of log cost against log size."""
    return float(np.polyfit(np.log(sizes), np.log(costs), 1)[0])


def cost_rows(experiment: Experiment, watcher: Watcher = Watcher()) -> tuple[dict[str, str], ...]:
    """The table: counts at one n and d, and the powers with which they grow beside those that are stated."""
    plan = experiment.costs
    assert plan is not None
    chosen = [m for m in all_methods(experiment.methods, experiment.others) if m.name != "auto"]
    watcher.stage("counting queries of methods", len(chosen))
    return tuple(_row(method, plan) for method in chosen)


def _row(method: Method, plan: Costs) -> dict[str, str]:
    def measured(n: int, d: int) -> tuple[int, float]:
        return measure_costs(method, n, d, plan.T, max(plan.iterations, int(method.stated.per_n * n)))

    by_n, by_d = [measured(n, plan.base_d) for n in plan.n], [measured(plan.base_n, d) for d in plan.d]
    most, mean = measured(plan.base_n, plan.base_d)
    row = {"method": method.label, "max": f"{most:,}", "average": f"{mean:,.0f}"}
    for k, (what, stated) in enumerate((("max", method.stated.max), ("average", method.stated.average))):
        for at, (axis, sizes, found) in enumerate((("n", plan.n, by_n), ("d", plan.d, by_d))):
            slope = exponent(sizes, [float(pair[k]) for pair in found])
            row[f"{what}: power of {axis}"] = f"{slope:.2f}".replace("-0.00", "0.00")
            row[f"{what}: stated, {axis}"] = f"{stated[at]:g}" if stated else "–"
    return row
