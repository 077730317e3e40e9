"""The three methods that were added as a stranger would, beside ZO-SFW on a9a: ``python -m benchmarks.three_methods``.

Sparse logistic regression in an ℓ1 ball of radius 2, |S| = 200 and b = 20 as in the paper's table, each method's default step times a
rate from a small grid, the best of the grid by the objective at the end, one seed.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import replace

import zofw
from zofw.algorithms import as_algorithm
from zofw.core import Task
from zofw.problems import Logistic
from zofw.schedules import Scaled, as_schedule
from zofw_paper.data import load

OPTIMUM = 0.4777070173  # Frank-Wolfe gap 5e-11


def rows(budget: int) -> list[tuple[str, float, float, float]]:
    """Method, best rate, objective minus optimum, seconds of that run."""
    problem, region = Logistic(*load("a9a")), zofw.L1Ball(2.0)
    sizes = {"batch_size": 200, "directions": 20}
    grids = {
        zofw.papers.ZOSFW(**sizes): (0.5, 1.0, 2.0, 4.0),
        zofw.papers.BoostedZOSFW(**sizes): (0.5, 1.0, 2.0),
        zofw.papers.ZOAdaMM(**sizes): (1.0, 3.0, 10.0, 30.0),
        zofw.papers.ZIVRFW(): (1.0,),  # its table of 4·10⁶ numbers is copied once an iteration
    }
    found = []
    for method, grid in grids.items():
        tried = []
        for rate in grid:
            made, _ = as_algorithm(method, Task(region, problem.dim, problem.n, budget))
            step = Scaled(as_schedule(made.step_size), rate)
            begun = time.perf_counter()
            result = zofw.minimize(
                problem, region, method=replace(made, step_size=step), budget=budget, rng=1, diagnose=0
            )
            tried.append((problem.value(result.x) - OPTIMUM, rate, time.perf_counter() - begun))
        gap, rate, seconds = min(tried)
        found.append((method.name, rate, gap, seconds))
        print(f"{method.name:16s} {rate:5g} {gap:10.2e} {seconds:8.1f} s", flush=True)
    return found


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--budget", type=int, default=10**6)
    rows(parser.parse_args().budget)
