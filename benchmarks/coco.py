"""``python -m benchmarks.coco``: COCO's suite bbob-boxed, f1 to f24 in dimensions 5, 10 and 20, with 200 d evaluations.

A problem is solved to a target when f(x) ≤ f_opt + target, for the 51 targets 10², …, 10⁻⁸ that COCO uses. Everybody starts at the
centre of the box. pip install coco-experiment==2.8.2 cma.

References
----------
N. Hansen, A. Auger, R. Ros, O. Mersmann, T. Tušar, D. Brockhoff, COCO: a platform for comparing continuous optimizers in a black-box
setting, Optimization Methods and Software 36, 2021.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np

from benchmarks.more_wild import Spent, ours, pycma, scipy_method, slsqp

KEPT = Path(".benchmarks") / "coco"
DIMENSIONS = (5, 10, 20)
PER_DIMENSION = 200
SECONDS = 30.0  # of computation, after which a tool is stopped
TARGETS = 10.0 ** np.linspace(2, -8, 51)
UNIMODAL = (1, 2, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14)
TOOLS = {
    "zofw": ours("auto"),
    "COBYQA": scipy_method("COBYQA", maxfev=10**6, maxiter=10**6, final_tr_radius=1e-10),
    "SLSQP": slsqp,
    "pycma": pycma,
}


class Problem:
    """One function, with the best gap after every evaluation."""

    suite = "bbob-boxed"

    def __init__(self, function: int, dim: int, instance: int = 1) -> None:
        import cocoex

        chosen = f"dimensions:{dim} function_indices:{function} instance_indices:{instance}"
        suite = cocoex.Suite(self.suite, "", chosen)
        self.f, self.n = suite[0], dim
        self.lower, self.upper, self.x0 = self.f.lower_bounds, self.f.upper_bounds, self.f.initial_solution
        self.limit = PER_DIMENSION * dim
        here = Path.cwd()
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)
            self.f._best_parameter("print")  # the only way to learn the solution; it is written to a file
            self.optimum = np.loadtxt(next(Path(folder).iterdir()))
            os.chdir(here)
        self.least = self.f(self.optimum)
        self.best: list[float] = []
        self.end = time.process_time() + SECONDS

    def __call__(self, x: np.ndarray) -> float:
        if len(self.best) >= self.limit or time.process_time() > self.end:
            raise Spent
        value = float(self.f(np.clip(np.asarray(x, dtype=float), self.lower, self.upper)))
        gap = max(value - self.least, 0.0)
        self.best.append(min(gap, self.best[-1]) if self.best else gap)
        return value


def curve(tool: str, function: int, dim: int, again: bool = False, instance: int = 1) -> list[float]:
    """Best gaps after each evaluation."""
    path = KEPT / tool / f"{function}-{dim}{f'-{instance}' if instance > 1 else ''}.json"
    if path.exists() and not again:
        return json.loads(path.read_text())
    problem = Problem(function, dim, instance)
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            TOOLS[tool](problem)
    except Spent:
        pass
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(problem.best))
    return problem.best


def hits(best: list[float], dim: int) -> np.ndarray:
    """Evaluations/(d + 1) until each target, inf for never."""
    gaps = np.array(best)
    found = [np.flatnonzero(gaps <= target) for target in TARGETS]
    return np.array([(hit[0] + 1) / (dim + 1) if len(hit) else np.inf for hit in found])


def profile(functions, dims, tools=tuple(TOOLS), again: str = "", instances=(1,)) -> dict[str, np.ndarray]:
    """All hitting times of a tool on these functions."""
    runs = [(f, d, i) for f in functions for d in dims for i in instances]
    return {t: np.concatenate([hits(curve(t, f, d, t == again, i), d) for f, d, i in runs]) for t in tools}


def kept(functions, dim: int) -> tuple[str, ...]:
    """The tools whose curves on all of these functions are there."""
    return tuple(t for t in TOOLS if all((KEPT / t / f"{f}-{dim}.json").exists() for f in functions))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--dimensions", type=int, nargs="+", default=DIMENSIONS)
    parser.add_argument("--again", default="", help="a tool to run anew")
    parser.add_argument("--instances", type=int, nargs="+", default=(1,), help="of every function, pooled")
    parser.add_argument("--tools", nargs="+", default=tuple(TOOLS), choices=tuple(TOOLS))
    parser.add_argument("--unimodal", action="store_true", help="these functions alone")
    chosen = parser.parse_args()
    for dims in [[d] for d in chosen.dimensions]:
        for name, functions in (
            ("unimodal", UNIMODAL),
            ("the others", [f for f in range(1, 25) if f not in UNIMODAL and not chosen.unimodal]),
        ):
            if not functions:
                continue
            times_of = profile(functions, dims, tuple(chosen.tools), chosen.again, chosen.instances)
            for tool, times in times_of.items():
                most = PER_DIMENSION * dims[0] / (dims[0] + 1)
                shares = [f"{100 * np.mean(times <= at):.0f} % at {at:.0f}" for at in (10, 30, 100, most)]
                print(
                    f"d = {dims[0]:2d} {name:10s} {tool:8s} share of targets: {', '.join(shares)}", flush=True
                )


if __name__ == "__main__":
    main()
