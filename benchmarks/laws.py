"""``python -m benchmarks.laws [--seeds N] [--json]``: the objective along runs with random signs and with normal directions.

Both laws get the same queries, steps and radii; a run with signs and one with normals share a seed, and with it x₀ and the
order of refreshes but not the directions. What is told is the mean difference of log₁₀ of the suboptimality at a number of
queries, signs minus normals, with its standard error over the seeds: below zero, signs are better.
"""

from __future__ import annotations

import argparse
import json
import sys

import numpy as np

import zofw
from zofw.problems import Logistic
from zofw_paper.data import DataError, load

MARKS = (0.01, 0.03, 0.1, 0.3, 1.0)  # parts of the budget at which runs are compared
LAWS = {"signs": zofw.directions.Rademacher(), "normals": zofw.directions.Gaussian()}


def fig1(law):
    """fig1's ball and method on a9a, with the middle of its grid of step sizes."""
    method = zofw.ZSFWDVR.paper(200, 20, 1 / 180, 1.0, radius=1e-4, law=law)
    return zofw.L1Ball(2.0), method


def open_loop(law):
    """A wide ball, Frank and Wolfe's steps and few refreshes: runs that are still on their way."""
    return zofw.L1Ball(10.0), zofw.ZSFWDVR(
        batch_size=200, directions=20, radius=1e-4, law=law, initial="shrunk"
    )


SETTINGS = {"fig1": fig1, "open-loop": open_loop}


def curve(problem, setting, law, seed, budget, marks):
    """The objective at the given numbers of queries."""
    ball, method = setting(law)
    result = zofw.minimize(
        problem, ball, method=method, budget=budget, rng=seed, diagnose=40, options={"progress": False}
    )
    return np.interp(marks, result.trace.queries, result.trace.objective)


def compare(data, setting, seeds, budget):
    """Mean and standard error of the difference at every mark."""
    problem, marks = Logistic(*load(data)), np.array(MARKS) * budget
    found = {
        name: np.array([curve(problem, setting, law, seed, budget, marks) for seed in range(seeds)])
        for name, law in LAWS.items()
    }
    best = zofw.reference(problem, setting(zofw.directions.Rademacher())[0]).value
    logs = {name: np.log10(values - best) for name, values in found.items()}
    difference = logs["signs"] - logs["normals"]
    return [
        {
            "queries": float(mark),
            "difference": float(column.mean()),
            "error": float(column.std(ddof=1) / np.sqrt(seeds)),
            "signs": float(signs),
            "normals": float(normals),
        }
        for mark, column, signs, normals in zip(
            marks, difference.T, found["signs"].mean(axis=0), found["normals"].mean(axis=0), strict=True
        )
    ]


def main(arguments=None):
    """Compare the laws; returns 1 where signs are worse by more than three standard errors."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true", help="one JSON document instead of a table")
    parser.add_argument("--data", default="a9a")
    parser.add_argument("--setting", choices=SETTINGS, default="fig1")
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--budget", type=float, default=1e8)
    options = parser.parse_args(arguments)
    try:
        rows = compare(options.data, SETTINGS[options.setting], options.seeds, int(options.budget))
    except DataError as error:
        print(error, file=sys.stderr)
        return 2
    if options.json:
        print(json.dumps(rows, indent=2))
    for row in rows if not options.json else ():
        print(
            f"{row['queries']:>10.2e} queries: signs {row['signs']:.5f}, normals {row['normals']:.5f}, "
            f"difference of log10 {row['difference']:+.4f} ± {row['error']:.4f}"
        )
    return int(any(row["difference"] > 3 * row["error"] for row in rows))


if __name__ == "__main__":
    sys.exit(main())
