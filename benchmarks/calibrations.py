"""``python -m benchmarks.calibrations``: residual vectors, twelve families of calibrations and the 53 problems of Moré and Wild.

A family draws parameters, a start and data with 1 % errors from a seed, in the units in which such a model is written down, in a
box. A problem is solved to τ when f(x) ≤ f_L + τ (f(x0) − f_L), f the sum of squares without noise, f_L the least value
that any tool or SciPy's ``least_squares`` with differences found. Noise is added to what the tools see; with it a tool is judged by f
without noise at the point that it returns, in a run for every budget.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
import zlib
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import scipy.optimize

import zofw
from benchmarks import more_wild

KEPT = Path(".benchmarks") / "calibrations"
MOST = 20  # times d + 1 evaluations
AT = (5, 10, 20)
TAUS = {"mw": (1e-1, 1e-3, 1e-5), "cal": (1e-3, 1e-6)}
WALL = 1e30
SECONDS = 120.0
Array = np.ndarray
T = np.linspace(0, 1, 30)


def rates(f: Callable[[Array], Array], y: list[float], end: float, steps: int = 120) -> Array:
    """y at ``steps + 1`` times by the classical method of Runge and Kutta."""
    h, now = end / steps, np.array(y, dtype=float)
    path = [now]
    for _ in range(steps):
        a = f(now)
        b = f(now + h / 2 * a)
        c = f(now + h / 2 * b)
        now = now + h / 6 * (a + 2 * b + 2 * c + f(now + h * c))
        path.append(now)
    return np.array(path)


def sir(p: Array) -> Array:
    path = rates(lambda y: np.array([-p[0] * y[0] * y[1] / 1e5, p[0] * y[0] * y[1] / 1e5 - p[1] * y[1]]), [1e5 - p[2], p[2]], 80.0)  # fmt: skip
    return path[::4, 1]


def seir(p: Array) -> Array:
    def f(y: Array) -> Array:
        new = p[0] * y[0] * y[2]
        return np.array([-new, new - p[1] * y[1], p[1] * y[1] - p[2] * y[2]])

    path = rates(f, [1 - p[3], p[3], 0.0], 100.0)
    return 1e6 * path[::5, 2]


def lotka(p: Array) -> Array:
    path = rates(lambda y: np.array([p[0] * y[0] - p[1] * y[0] * y[1], p[3] * y[0] * y[1] - p[2] * y[1]]), [30.0, 4.0], 12.0)  # fmt: skip
    return path[::6].ravel()


def decay(t: Array, *p: float) -> Array:
    return sum(a * np.exp(-k * t) for a, k in zip(p[::2], p[1::2], strict=True))


# name: model of the parameters, lower and upper bounds
FAMILIES: dict[str, tuple[Callable[[Array], Array], list[float], list[float]]] = {
    "one exponential": (lambda p: p[0] * np.exp(-p[1] * 50 * T) + p[2], [100, 1e-3, 0], [5000, 1, 500]),
    "two exponentials": (lambda p: decay(10 * T, *p), [1, 0.05, 1, 1], [100, 1, 100, 10]),
    "three exponentials": (
        lambda p: decay(10 * T, *p),
        [1, 0.01, 1, 0.3, 1, 2],
        [50, 0.3, 50, 2, 50, 10],
    ),
    "one peak": (
        lambda p: p[0] * np.exp(-0.5 * ((400 + 300 * T - p[1]) / p[2]) ** 2) + p[3],
        [10, 450, 5, 0],
        [1e4, 650, 80, 500],
    ),
    "two peaks": (
        lambda p: sum(p[k] / (1 + ((10 * np.linspace(0, 1, 60) - p[k + 1]) / p[k + 2]) ** 2) for k in (0, 3)),
        [0.1, 1, 0.1, 0.1, 5, 0.1],
        [10, 5, 2, 10, 9, 2],
    ),
    "SIR": (sir, [0.1, 0.02, 1], [1.5, 0.5, 200]),
    "SEIR": (seir, [0.1, 0.05, 0.05, 1e-5], [2, 1, 1, 1e-2]),
    "Lotka-Volterra": (lotka, [0.2, 0.005, 0.3, 0.005], [1.2, 0.1, 1.5, 0.1]),
    "Michaelis-Menten": (
        lambda p: p[0] * 1e-3 * T / (p[1] + 1e-3 * T + (1e-3 * T) ** 2 / p[2]),
        [1, 1e-6, 1e-4],
        [200, 1e-3, 1e-1],
    ),
    "logistic growth": (
        lambda p: p[0] / (1 + (p[0] / p[1] - 1) * np.exp(-p[2] * 24 * T)),
        [1e6, 1e3, 0.05],
        [1e9, 1e6, 2],
    ),
    "Arrhenius": (
        lambda p: np.exp(p[0] - p[1] / (8.314e-3 * (300 + 400 * T))) + p[2],
        [5, 10, 0],
        [30, 120, 10],
    ),
    "damped oscillation": (
        lambda p: p[0] * np.exp(-p[1] * 20 * T) * np.cos(p[2] * 20 * T + p[3]) + p[4],
        [0.1, 0.01, 0.3, -1.5, -1],
        [10, 0.5, 1.2, 1.5, 1],
    ),
}


class Spent(Exception):
    """The budget or the time is at an end."""


@dataclass
class Problem:
    """Residuals in a set as a tool sees them, and the best sum of squares without noise after every evaluation."""

    name: str
    exact: Callable[[Array], Array]
    x0: Array
    lower: Array
    upper: Array
    taus: tuple[float, ...]
    noise: str = ""
    set: zofw.sets.Region | None = None
    best: list[float] = field(default_factory=list)
    most: int = MOST  # times d + 1 evaluations

    def __post_init__(self) -> None:
        self.rng = np.random.default_rng(zlib.crc32(f"{self.name} {self.noise}".encode()))
        self.end = time.process_time() + SECONDS
        self.m = len(self.exact(self.x0))

    @property
    def limit(self) -> int:
        return self.most * (len(self.x0) + 1)

    def clean(self, x: Array) -> Array:
        with np.errstate(all="ignore"):
            r = self.exact(x)
        return np.where(np.isfinite(r), np.clip(r, -WALL, WALL), WALL)

    def value(self, x: Array) -> float:
        return float(np.sum(self.clean(x) ** 2))

    def residuals(self, x: Array) -> Array:
        if len(self.best) >= self.limit or time.process_time() > self.end:
            raise Spent
        x = np.clip(np.asarray(x, dtype=float), self.lower, self.upper)
        r = self.clean(x)
        f = float(np.sum(r**2))
        self.best.append(min(f, self.best[-1]) if self.best else f)
        kind, _, size = self.noise.partition(" ")
        if kind == "additive":
            return r + float(size) * self.rng.standard_normal(len(r))
        if kind == "multiplicative":
            return r * (1 + float(size) * self.rng.standard_normal(len(r)))
        return r

    def total(self, x: Array) -> float:
        return float(np.sum(self.residuals(x) ** 2))


def more_wild_problem(row: int, noise: str = "") -> Problem:
    """One of the 53, in its box."""
    number, n, m, _ = more_wild.ROWS[row]
    p = more_wild.Problem(row)
    return Problem(f"mw {row}", lambda x: more_wild.residuals(number, n, m, x), p.x0, p.lower, p.upper, TAUS["mw"], noise)  # fmt: skip


def calibration(family: str, seed: int, noise: str = "") -> Problem:
    """Data of parameters in the middle of the box (logarithmically if it spans 30 times), and a start elsewhere."""
    model, low, high = FAMILIES[family]
    lower, upper = np.array(low, dtype=float), np.array(high, dtype=float)
    rng = np.random.default_rng([seed, zlib.crc32(family.encode())])
    wide = (lower > 0) & (upper > 30 * lower)

    def drawn() -> Array:
        t = rng.uniform(0.2, 0.8, len(lower))
        with np.errstate(all="ignore"):
            return np.where(
                wide, lower * (upper / np.maximum(lower, 1e-300)) ** t, lower + t * (upper - lower)
            )

    y = model(drawn())
    y = y + 0.01 * np.abs(y).max() * rng.standard_normal(y.shape)
    unit = float(np.abs(y).max())
    return Problem(f"{family} {seed}", lambda x: (model(x) - y) / unit, drawn(), lower, upper, TAUS["cal"], noise)  # fmt: skip


def problems(suite: str) -> list[Problem]:
    """The problems of a suite: "mw", "cal 0" (a seed), and after a comma a noise such as "additive 1e-3"."""
    name, _, noise = suite.partition(", ")
    if name == "mw":
        return [more_wild_problem(row, noise) for row in range(len(more_wild.ROWS))]
    return [calibration(family, int(name.split()[1]), noise) for family in FAMILIES]


# ---------------------------------------------------------------- tools


def residual_vectors(problem: Problem) -> Array:
    return zofw.least_squares(problem.residuals, problem.set or zofw.Box(problem.lower, problem.upper), x0=problem.x0, budget=problem.limit, m=problem.m, rng=0, progress=False).x  # fmt: skip


def whole_sum(problem: Problem) -> None:
    box = zofw.Box(problem.lower, problem.upper)
    zofw.minimize(
        problem.total,
        problem.set or box,
        x0=problem.x0,
        budget=problem.limit,
        rng=0,
        options={"progress": False},
    )


def dfols(**options: object) -> Callable[[Problem], Array]:
    def run(problem: Problem) -> Array:
        import dfols

        bounds = (problem.lower, problem.upper)
        found = dfols.solve(problem.residuals, problem.x0, bounds=bounds, maxfun=problem.limit, **options)
        return problem.x0 if found.x is None else found.x

    return run


TOOLS: dict[str, Callable[[Problem], Array]] = {
    "zofw residuals": residual_vectors,
    "zofw sum": whole_sum,
    "DFO-LS": dfols(),
    "DFO-LS scaled": dfols(scaling_within_bounds=True),
    "DFO-LS noise": dfols(objfun_has_noise=True),
    "DFO-LS scaled noise": dfols(scaling_within_bounds=True, objfun_has_noise=True),
}


def curve(tool: str, suite: str, problem: Problem, again: bool = False) -> list[float]:
    """Best values after each evaluation."""
    path = KEPT / tool / suite / f"{problem.name}.json"
    if path.exists() and not again:
        return json.loads(path.read_text())
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            TOOLS[tool](problem)
    except (Spent, zofw.EvaluationError):
        pass
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(problem.best))
    return problem.best


def returned(tool: str, suite: str, k: int, again: bool = False) -> list[float]:
    """f without noise at what runs with each budget return, at the start, and the least of all points evaluated."""
    path = KEPT / tool / suite / f"{k}.json"
    if path.exists() and not again:
        return json.loads(path.read_text())
    values, low = [], np.inf
    for most in AT:
        problem = replace(one(suite, k), most=most, best=[])
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            x = TOOLS[tool](problem)
        values.append(problem.value(np.clip(x, problem.lower, problem.upper)))
        low = min(low, *problem.best, *values)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps([*values, problem.value(problem.x0), low]))
    return [*values, problem.value(problem.x0), low]


def noisy_counts(suite: str, tools: list[str], again: list[str]) -> dict[str, list[list[int]]]:
    """Problems solved to each τ by each budget, by tool."""
    own = problems(suite)
    found = {
        tool: np.array([returned(tool, suite, k, tool in again) for k in range(len(own))]) for tool in tools
    }
    low = np.minimum([least(p) for p in own], np.min([v[:, -1] for v in found.values()], axis=0))
    first, taus = next(iter(found.values()))[:, -2], own[0].taus
    return {
        tool: [[int((v[:, b] <= low + tau * (first - low)).sum()) for tau in taus] for b in range(len(AT))]
        for tool, v in found.items()
    }


def one(suite: str, k: int) -> Problem:
    """Problem k of a suite, as new."""
    return (
        problems(suite)[k] if not suite.startswith("mw") else more_wild_problem(k, suite.partition(", ")[2])
    )


def least(problem: Problem) -> float:
    """What SciPy finds in a box with differences that nobody counts."""
    path = KEPT / "least" / f"{problem.name}.json"
    if not path.exists():
        low = [np.inf]
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for scale in (1.0, "jac"):
                try:
                    found = scipy.optimize.least_squares(problem.clean, np.clip(problem.x0, problem.lower, problem.upper), bounds=(problem.lower, problem.upper), x_scale=scale, jac="3-point", xtol=1e-15, ftol=1e-15, gtol=1e-15)  # fmt: skip
                    low.append(problem.value(found.x))
                except ValueError:
                    pass
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(min(low)))
    return float(json.loads(path.read_text()))


def table(suite: str, tools: list[str], again: list[str]) -> dict[str, Array]:
    """Evaluations/(d + 1) after which each problem is solved to each τ, by tool."""
    rows: dict[str, list[list[float]]] = {tool: [] for tool in tools}
    for k, problem in enumerate(problems(suite)):
        curves = {}
        for tool in tools:
            curves[tool] = np.array(curve(tool, suite, one(suite, k), tool in again) or [np.inf])
        first = problem.value(problem.x0)
        low = min(least(problem), *(c[-1] for c in curves.values()))
        for tool, best in curves.items():
            hits = [np.flatnonzero(best <= low + tau * (first - low)) for tau in problem.taus]
            rows[tool].append([(h[0] + 1) / (len(problem.x0) + 1) if len(h) else np.inf for h in hits])
    return {tool: np.array(found) for tool, found in rows.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("suites", nargs="*", default=["mw", "cal 0"])
    parser.add_argument(
        "--tools", default="zofw residuals,DFO-LS,DFO-LS scaled,DFO-LS noise,DFO-LS scaled noise"
    )
    parser.add_argument("--again", default="", help="tools to run anew")
    parser.add_argument(
        "--misses", action="store_true", help="problems that the first tool misses and another solves"
    )
    chosen = parser.parse_args()
    tools = chosen.tools.split(",")
    for suite in chosen.suites:
        if ", " in suite:
            for tool, counts in noisy_counts(suite, tools, chosen.again.split(",")).items():
                said = ", ".join(
                    f"{k}(d + 1): {'/'.join(map(str, c))}" for k, c in zip(AT, counts, strict=True)
                )
                print(f"{suite:28s} {tool:20s} {said}", flush=True)
            continue
        found = table(suite, tools, chosen.again.split(","))
        for tool, rows in found.items():
            counts = ", ".join(
                f"{k}(d + 1): {'/'.join(map(str, (rows <= k).sum(0)))} = {(rows <= k).sum()}" for k in AT
            )
            print(f"{suite:28s} {tool:16s} {counts}", flush=True)
        if chosen.misses:
            for k, problem in enumerate(problems(suite)):
                own, best = found[tools[0]][k], np.min([found[t][k] for t in tools[1:]], axis=0)
                if (own > 1.2 * best).any():
                    print("  ", problem.name, len(problem.x0), problem.m, np.round(own, 1), np.round(best, 1))


if __name__ == "__main__":
    main()
