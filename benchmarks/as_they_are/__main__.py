"""Runs and tables of functions as they are."""

from __future__ import annotations

import argparse
import csv
import importlib.util
import sys
import time
import traceback
import warnings
from pathlib import Path

import numpy as np

import zofw
from benchmarks.as_they_are.problems import Problem, make, makers
from benchmarks.as_they_are.rivals import AWARE, RIVALS, SLOWLY, Spent, play
from benchmarks.as_they_are.table import write

FIELDS = ("version", "draw", "problem", "family", "d", "n", "least", "start", "solver", "seed", "budget", "value", "used", "repeats", "status", "seconds")  # fmt: skip
NEEDS = {
    "BOBYQA (NLopt)": "nlopt",
    "Py-BOBYQA": "pybobyqa",
    "BIPOP-CMA-ES": "cma",
    "TPE": "optuna",
    "NGOpt": "nevergrad",
}
OURS = ("zofw", "zofw (components)")
HIGH = 1e6  # times the size of f at the start: what rivals get behind a wall


class Asked:
    """A function that counts, adds noise, and remembers what it was asked and what is true of it."""

    def __init__(self, problem: Problem, most: int, seed: int) -> None:
        self.problem, self.most = problem, most
        self.rng = np.random.default_rng([seed, 99])
        self.points: list[bytes] = []
        self.observed: list[float] = []
        self.xs: list[np.ndarray] = []
        self.high = 1.0

    def __call__(self, x: np.ndarray, i: int | None = None) -> float:
        if len(self.observed) >= self.most:
            raise Spent
        x = np.array(x, dtype=float)
        value = self.problem.truth(x) if i is None else self.problem.component(x, i)
        value += self.problem.noise * self.rng.standard_normal()
        self.points.append(x.tobytes() + int(-1 if i is None else i).to_bytes(4, "little", signed=True))
        self.observed.append(value)
        self.xs.append(x)
        return value

    def unit(self, u: np.ndarray) -> float:
        """For rivals: the unit cube, and finite values behind walls."""
        p = self.problem
        value = self(p.lower + np.clip(u, 0.0, 1.0) * (p.upper - p.lower))
        if np.isfinite(value):
            self.high = max(self.high, abs(value))
            return value
        return 10.0 * self.high

    def best(self, budget: int) -> float:
        """The true value at the point with the least value observed so far."""
        seen = self.observed[:budget]
        k = int(np.argmin(np.where(np.isfinite(seen), seen, np.inf)))
        return self.problem.truth(self.xs[k])

    def repeats(self, budget: int) -> int:
        seen = self.points[:budget]
        return len(seen) - len(set(seen))


def ours(problem: Problem, solver: str, budget: int, seed: int) -> tuple[float, int, int, str]:
    """Value at the point that a run of zofw returns, evaluations in whole functions, repeated evaluations, status."""
    told = solver.endswith("(components)")
    n = problem.n if told else 1
    asked = Asked(problem, 10**9, seed)
    fun = (lambda x, i: asked(x, i)) if told else (lambda x: asked(x))
    given = {"n": n} if told else {"options": {"worse": np.inf}} if problem.walls else {}
    if problem.walls and told:
        given["on_error"] = "skip"
    result = zofw.minimize(
        fun,
        zofw.Box(problem.lower, problem.upper),
        x0=problem.x0,
        budget=budget * n,
        rng=seed,
        options={"progress": False},
        **given,
    )
    used = len(asked.observed)
    return (
        problem.truth(result.x),
        -(-used // n),
        asked.repeats(used),
        result.status.name,
    )


def row_of(
    budget: int, value: float, used: int, repeats: int, status: str, seconds: float
) -> dict[str, object]:
    return {
        "budget": budget, "value": value, "used": used, "repeats": repeats, "status": status, "seconds": seconds,
    }  # fmt: skip


def rows_of(problem: Problem, solver: str, seed: int, budgets: list[int]) -> list[dict[str, object]]:
    rows = []
    if solver in OURS or solver in AWARE:
        for budget in budgets:
            begun = time.process_time()
            if solver in OURS:
                try:
                    value, used, repeats, status = ours(problem, solver, budget, seed)
                except Exception as error:
                    traceback.print_exc()
                    value, used, repeats, status = problem.truth(problem.x0), 0, 0, type(error).__name__
            else:
                asked = Asked(problem, budget, seed)
                play(solver, asked.unit, scaled(problem), budget, seed, problem.noise > 0)
                value, used, repeats, status = (
                    asked.best(budget),
                    len(asked.observed),
                    asked.repeats(budget),
                    "",
                )
            spent = round(time.process_time() - begun, 2)
            rows.append(row_of(budget, value, used, repeats, status, spent))
        return rows
    budgets = budgets[:2] if solver in SLOWLY else budgets
    begun = time.process_time()
    asked = Asked(problem, max(budgets), seed)
    play(solver, asked.unit, scaled(problem), max(budgets), seed, problem.noise > 0)
    spent = round(time.process_time() - begun, 2)
    for budget in budgets:
        value = asked.best(budget) if asked.observed else problem.truth(problem.x0)
        used = len(asked.observed[:budget])
        rows.append(row_of(budget, value, used, asked.repeats(budget), "", spent))
    return rows


def scaled(problem: Problem) -> np.ndarray:
    return (problem.x0 - problem.lower) / (problem.upper - problem.lower)


def run(out: Path, draw: int, only: list[str], solvers: list[str], version: str, seconds: float) -> None:
    end = time.monotonic() + seconds
    done = set()
    if out.exists():
        with out.open(newline="") as file:
            done = {(r["version"] if r["solver"] in OURS else "", r["draw"], r["problem"], r["solver"], r["seed"]) for r in csv.DictReader(file)}  # fmt: skip
    missing = {name: module for name, module in NEEDS.items() if importlib.util.find_spec(module) is None}
    for name, module in missing.items():
        print(f"{name} is left out: {module} is not installed", file=sys.stderr)
    for key in makers(draw):
        if only and not any(word in key for word in only):
            continue
        try:
            problem = make(draw, key)
        except ImportError as error:
            print(f"{key} is left out: {error}", file=sys.stderr)
            continue
        budgets = [b * (problem.dim + 1) for b in problem.budgets]
        fixed = "simulators" if problem.family in ("simulators", "raw data") else ""
        head = {"draw": 0 if fixed else draw, "problem": problem.name, "family": problem.family, "d": problem.dim, "n": problem.n,
                "least": "" if problem.least is None else problem.least, "start": problem.truth(problem.x0)}  # fmt: skip
        for solver in [*OURS, *RIVALS]:
            if (
                solver in missing
                or (solver == "zofw (components)" and problem.n == 1)
                or (solvers and solver not in solvers)
            ):
                continue
            for seed in range(3 if problem.noise else 1):
                mark = version if solver in OURS else ""
                if (mark, str(head["draw"]), problem.name, solver, str(seed)) in done:
                    continue
                if time.monotonic() > end:
                    return
                rows = rows_of(problem, solver, seed, budgets)
                fresh = not out.exists()
                with out.open("a", newline="") as file:
                    writer = csv.DictWriter(file, FIELDS)
                    if fresh:
                        writer.writeheader()
                    writer.writerows(
                        {"version": mark, **head, "solver": solver, "seed": seed} | row for row in rows
                    )


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.as_they_are", description=__doc__)
    parser.add_argument("command", choices=("run", "table"))
    parser.add_argument("--csv", type=Path, default=Path(__file__).parent / "results.csv")
    parser.add_argument("--draw", type=int, default=0)
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument("--solvers", nargs="*", default=[])
    parser.add_argument("--version", default=zofw.__version__, help="what to call the zofw that runs")
    parser.add_argument(
        "--seconds", type=float, default=np.inf, help="stop after so many; the next run goes on"
    )
    parser.add_argument("--page", type=Path)
    chosen = parser.parse_args()
    if chosen.command == "run":
        warnings.simplefilter("ignore")
        run(chosen.csv, chosen.draw, chosen.only, chosen.solvers, chosen.version, chosen.seconds)
    else:
        write(chosen.csv, chosen.version, chosen.draw, chosen.page)


if __name__ == "__main__":
    main()
