"""``python -m benchmarks.coco_noisy``: a dozen functions of COCO's suite bbob-noisy in dimensions 2, 3, 5, with 50(d + 1) evaluations.

Everybody starts at the same point of the box [−5, 5]^d, drawn for the instance, and is judged by the point that it returns. f there is the
median of 201 values, less f at the optimum, relative to the same at the start. Runs that are in the file are not repeated.
pip install coco-experiment==2.8.2 cma Py-BOBYQA.
"""

from __future__ import annotations

import argparse
import json
import warnings
from pathlib import Path

import numpy as np

import zofw
from benchmarks.coco import Problem as Boxed

FUNCTIONS = {
    "sphere": (101, 103, 107, 109), "Rosenbrock": (104, 106, 110, 112), "ellipsoid, step, powers": (113, 116, 118, 119),
}  # fmt: skip
DIMENSIONS = (2, 3, 5)
FIRST = 100  # of the suite's functions, which COCO chooses by number from 1 on
EQUAL = 1e-8  # gaps below are equal
KEPT = Path(".benchmarks") / "coco_noisy.jsonl"


class Spent(Exception):
    """The budget is at an end."""


class Problem(Boxed):
    """One noisy function, and the best value seen with its point."""

    suite = "bbob-noisy"

    def __init__(self, function: int, dim: int, instance: int) -> None:
        super().__init__(function - FIRST, dim, instance)
        rng = np.random.default_rng([function, dim, instance])
        self.x0, self.limit, self.paid = rng.uniform(-4, 4, dim), 50 * (dim + 1), 0
        self.lowest = (np.inf, self.x0)

    def __call__(self, x: np.ndarray) -> float:
        if self.paid >= self.limit:
            raise Spent
        self.paid += 1
        value = float(self.f(np.clip(x, -5, 5)))
        self.lowest = min(self.lowest, (value, np.array(x)), key=lambda pair: pair[0])
        return value

    def true(self, x: np.ndarray) -> float:
        return max(float(np.median([self.f(np.clip(x, -5, 5)) for _ in range(201)])) - self.least, 0.0)


def ours(problem: Problem, seed: int) -> np.ndarray:
    region, options = zofw.Box(-5.0, 5.0), {"diagnose": 0, "progress": False}
    return zofw.minimize(problem, region, x0=problem.x0, budget=problem.limit, rng=seed, **options).x


def pycma(problem: Problem, seed: int) -> np.ndarray:
    import cma

    search = cma.CMAEvolutionStrategy(problem.x0, 2.0, {"seed": seed + 1, "verbose": -9, "bounds": [-5, 5]})
    try:
        while True:
            points = search.ask()
            search.tell(points, [problem(z) for z in points])
    except Spent:
        return search.result.xfavorite


def py_bobyqa(problem: Problem, seed: int) -> np.ndarray:
    import pybobyqa

    np.random.seed(seed)  # noqa: NPY002  Py-BOBYQA draws from it
    bounds = (np.full(problem.n, -5.0), np.full(problem.n, 5.0))
    try:
        return pybobyqa.solve(
            problem, problem.x0, bounds=bounds, maxfun=problem.limit, objfun_has_noise=True
        ).x
    except Spent:
        return problem.lowest[1]


TOOLS = {"zofw": ours, "pycma": pycma, "Py-BOBYQA": py_bobyqa}


def run(tool: str, function: int, dim: int, instance: int) -> float:
    problem = Problem(function, dim, instance)
    start = problem.true(problem.x0)
    return problem.true(TOOLS[tool](problem, instance)) / start


def table(gaps: dict[tuple[str, int, int, int], float]) -> str:
    """Median gaps, and the share of cells in which a tool's is at most 1.5 times the least."""
    out = ["| | " + " | ".join(TOOLS) + " |", "|---|" + "---|" * len(TOOLS)]
    groups = [
        *((name, functions, DIMENSIONS) for name, functions in FUNCTIONS.items()),
        *((f"d = {d}", sum(FUNCTIONS.values(), ()), (d,)) for d in DIMENSIONS),
    ]
    for name, functions, dims in groups:
        keys = {key[1:] for key in gaps if key[1] in functions and key[2] in dims}
        keys = {key for key in keys if all((tool, *key) in gaps for tool in TOOLS)}
        cells = np.array([[max(gaps[tool, *key], EQUAL) for tool in TOOLS] for key in keys])
        near = np.mean(cells <= 1.5 * cells.min(axis=1, keepdims=True), axis=0)
        medians = np.median(cells, axis=0)
        row = [f"{median:.1e}, {100 * share:.0f} %" for median, share in zip(medians, near, strict=True)]
        out.append(f"| {name} ({len(keys)} cells) | " + " | ".join(row) + " |")
    return "\n".join(out)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--instances", type=int, nargs="+", default=(1, 2))
    parser.add_argument("--out", type=Path, default=KEPT)
    parser.add_argument("--again", default="", help="a tool to run again")
    chosen = parser.parse_args()
    warnings.simplefilter("ignore")
    chosen.out.parent.mkdir(parents=True, exist_ok=True)
    rows = map(json.loads, chosen.out.read_text().splitlines()) if chosen.out.exists() else ()
    gaps = {tuple(row[:4]): row[4] for row in rows if row[0] != chosen.again}
    for tool in TOOLS:
        for function in sum(FUNCTIONS.values(), ()):
            for key in [(tool, function, d, i) for d in DIMENSIONS for i in chosen.instances]:
                if key not in gaps:
                    gaps[key] = run(*key)
                    with chosen.out.open("a") as file:
                        file.write(json.dumps([*key, gaps[key]]) + "\n")
    print(table(gaps))


if __name__ == "__main__":
    main()
