"""``python -m benchmarks.more_wild``: the 53 smooth problems of Moré and Wild, with a box, by the whole sum of squares.

A box of half-width max(10, |x0_i|) around the standard start. A problem is solved to τ when f(x) ≤ f_L + τ (f(x0) − f_L), f_L the least
value that anybody found, SciPy's ``least_squares`` with its derivatives included. Values beyond 1e60 are cut off there.

References
----------
J. J. Moré, S. M. Wild, Benchmarking derivative-free optimization algorithms, SIAM Journal on Optimization 20, 2009.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from pathlib import Path

import numpy as np
import scipy.optimize

import zofw

KEPT = Path(".benchmarks") / "more_wild"
EVALUATIONS = 25  # times d + 1
AT = 20  # times d + 1: where the table is read
SECONDS = 60.0
TAUS = (1e-1, 1e-3, 1e-5)
WALL = 1e60

V = [4.0, 2.0, 1.0, 0.5, 0.25, 0.167, 0.125, 0.1, 0.0833, 0.0714, 0.0625]
BARD = [0.14, 0.18, 0.22, 0.25, 0.29, 0.32, 0.35, 0.39, 0.37, 0.58, 0.73, 0.96, 1.34, 2.1, 4.39]
KOWALIK = [0.1957, 0.1947, 0.1735, 0.16, 0.0844, 0.0627, 0.0456, 0.0342, 0.0323, 0.0235, 0.0246]
MEYER = [
    34780,
    28610,
    23650,
    19630,
    16370,
    13720,
    11540,
    9744,
    8261,
    7030,
    6005,
    5147,
    4427,
    3820,
    3307,
    2872,
]
OSBORNE_1 = [
    0.844, 0.908, 0.932, 0.936, 0.925, 0.908, 0.881, 0.85, 0.818, 0.784, 0.751, 0.718, 0.685, 0.658, 0.628, 0.603, 0.58,
    0.558, 0.538, 0.522, 0.506, 0.49, 0.478, 0.467, 0.457, 0.448, 0.438, 0.431, 0.424, 0.42, 0.414, 0.411, 0.406,
]  # fmt: skip
OSBORNE_2 = [
    1.366, 1.191, 1.112, 1.013, 0.991, 0.885, 0.831, 0.847, 0.786, 0.725, 0.746, 0.679, 0.608, 0.655, 0.616, 0.606, 0.602,
    0.626, 0.651, 0.724, 0.649, 0.649, 0.694, 0.644, 0.624, 0.661, 0.612, 0.558, 0.533, 0.495, 0.5, 0.423, 0.395, 0.375,
    0.372, 0.391, 0.396, 0.405, 0.428, 0.429, 0.523, 0.562, 0.607, 0.653, 0.672, 0.708, 0.633, 0.668, 0.645, 0.632, 0.591,
    0.559, 0.597, 0.625, 0.739, 0.71, 0.729, 0.72, 0.636, 0.581, 0.428, 0.292, 0.162, 0.098, 0.054,
]  # fmt: skip
ROWS = [
    (1, 9, 45, 0), (1, 9, 45, 1), (2, 7, 35, 0), (2, 7, 35, 1), (3, 7, 35, 0), (3, 7, 35, 1), (4, 2, 2, 0), (4, 2, 2, 1),
    (5, 3, 3, 0), (5, 3, 3, 1), (6, 4, 4, 0), (6, 4, 4, 1), (7, 2, 2, 0), (7, 2, 2, 1), (8, 3, 15, 0), (8, 3, 15, 1),
    (9, 4, 11, 0), (10, 3, 16, 0), (11, 6, 31, 0), (11, 6, 31, 1), (11, 9, 31, 0), (11, 9, 31, 1), (11, 12, 31, 0),
    (11, 12, 31, 1), (12, 3, 10, 0), (13, 2, 10, 0), (14, 4, 20, 0), (14, 4, 20, 1), (15, 6, 6, 0), (15, 7, 7, 0),
    (15, 8, 8, 0), (15, 9, 9, 0), (15, 10, 10, 0), (15, 11, 11, 0), (16, 10, 10, 0), (17, 5, 33, 0), (18, 11, 65, 0),
    (18, 11, 65, 1), (19, 8, 8, 0), (19, 10, 12, 0), (19, 11, 14, 0), (19, 12, 16, 0), (20, 5, 5, 0), (20, 6, 6, 0),
    (20, 8, 8, 0), (21, 5, 5, 0), (21, 5, 5, 1), (21, 8, 8, 0), (21, 10, 10, 0), (21, 12, 12, 0), (21, 12, 12, 1),
    (22, 8, 8, 0), (22, 8, 8, 1),
]  # fmt: skip


def residuals(number: int, n: int, m: int, x: np.ndarray) -> np.ndarray:
    """The m components of problem ``number`` at x."""
    i, j = np.arange(1.0, m + 1), np.arange(1.0, n + 1)
    match number:
        case 1:
            f = np.full(m, -2 * x.sum() / m - 1)
            f[:n] += x
            return f
        case 2:
            return i * (j @ x) - 1
        case 3:
            return np.append((i[:-1] - 1) * (j[1:-1] @ x[1:-1]) - 1, -1.0)
        case 4:
            return np.array([10 * (x[1] - x[0] ** 2), 1 - x[0]])
        case 5:
            turn = np.arctan2(x[1], x[0]) / (2 * np.pi)
            turn += 1.0 if turn < -0.25 else 0.0  # in (−1/4, 3/4], as the branches of the original
            return np.array([10 * (x[2] - 10 * turn), 10 * (np.hypot(x[0], x[1]) - 1), x[2]])
        case 6:
            return np.array(
                [
                    x[0] + 10 * x[1],
                    np.sqrt(5) * (x[2] - x[3]),
                    (x[1] - 2 * x[2]) ** 2,
                    np.sqrt(10) * (x[0] - x[3]) ** 2,
                ]
            )
        case 7:
            return np.array(
                [-13 + x[0] + ((5 - x[1]) * x[1] - 2) * x[1], -29 + x[0] + ((1 + x[1]) * x[1] - 14) * x[1]]
            )
        case 8:
            v = 16 - i
            return np.array(BARD) - (x[0] + i / (x[1] * v + x[2] * np.minimum(i, v)))
        case 9:
            v = np.array(V)
            return np.array(KOWALIK) - x[0] * v * (v + x[1]) / (v * (v + x[2]) + x[3])
        case 10:
            return x[0] * np.exp(x[1] / (5 * i + 45 + x[2])) - np.array(MEYER, dtype=float)
        case 11:
            t = np.arange(1.0, 30) / 29
            powers = t[:, None] ** np.arange(n)
            slope = powers[:, : n - 1] @ (np.arange(1.0, n) * x[1:])
            return np.concatenate([slope - (powers @ x) ** 2 - 1, [x[0], x[1] - x[0] ** 2 - 1]])
        case 12:
            return np.exp(-i / 10 * x[0]) - np.exp(-i / 10 * x[1]) + (np.exp(-i) - np.exp(-i / 10)) * x[2]
        case 13:
            return 2 + 2 * i - np.exp(i * x[0]) - np.exp(i * x[1])
        case 14:
            t = i / 5
            return (x[0] + t * x[1] - np.exp(t)) ** 2 + (x[2] + np.sin(t) * x[3] - np.cos(t)) ** 2
        case 15:
            before, now = np.ones(n), 2 * x - 1
            f = np.zeros(m)
            for k in range(m):
                f[k] = now.mean() + (1 / ((k + 1) ** 2 - 1) if k % 2 else 0.0)
                before, now = now, 2 * (2 * x - 1) * now - before
            return f
        case 16:
            return np.append(x[:-1] + x.sum() - (n + 1), x.prod() - 1)
        case 17:
            t = 10 * (i - 1)
            return np.array(OSBORNE_1) - (x[0] + x[1] * np.exp(-x[3] * t) + x[2] * np.exp(-x[4] * t))
        case 18:
            t = (i - 1) / 10
            peaks = sum(x[k] * np.exp(-x[k + 4] * (t - x[k + 7]) ** 2) for k in (1, 2, 3))
            return np.array(OSBORNE_2) - (x[0] * np.exp(-x[4] * t) + peaks)
        case 19:
            s = x**2
            return np.concatenate(
                [
                    3 - 4 * x[: n - 4],
                    s[: n - 4] + 2 * s[1 : n - 3] + 3 * s[2 : n - 2] + 4 * s[3 : n - 1] + 5 * s[-1],
                ]
            )
        case 20:
            return np.concatenate([[x[0] - 1], 10 * (x[1:] - x[:-1] ** 3)])
        case 21:
            v = np.sqrt(x[:, None] ** 2 + j[:, None] / j)
            return 1400 * x + (j - 50) ** 3 + (v * (np.sin(np.log(v)) ** 5 + np.cos(np.log(v)) ** 5)).sum(1)
    a, b, c, d, t, u, v, w = x
    return np.array([
        a + b + 0.69, c + d + 0.044, t * a + u * b - v * c - w * d + 1.57, v * a + w * b + t * c + u * d + 1.31,
        a * (t**2 - v**2) - 2 * c * t * v + b * (u**2 - w**2) - 2 * d * u * w + 2.65,
        c * (t**2 - v**2) + 2 * a * t * v + d * (u**2 - w**2) + 2 * b * u * w - 2,
        a * t * (t**2 - 3 * v**2) + c * v * (v**2 - 3 * t**2) + b * u * (u**2 - 3 * w**2) + d * w * (w**2 - 3 * u**2) + 12.6,
        c * t * (t**2 - 3 * v**2) - a * v * (v**2 - 3 * t**2) + d * u * (u**2 - 3 * w**2) - b * w * (w**2 - 3 * u**2) - 9.48,
    ])  # fmt: skip


def start(number: int, n: int) -> np.ndarray:
    """The standard starting point."""
    j = np.arange(1.0, n + 1)
    match number:
        case 1 | 2 | 3 | 19:
            return np.ones(n)
        case 11:
            return np.full(n, 0.5)
        case 15:
            return j / (n + 1)
        case 16 | 20:
            return np.full(n, 0.5)
        case 21:
            v = np.sqrt(j[:, None] / j)
            return -8.710996e-4 * (
                (j - 50) ** 3 + (v * (np.sin(np.log(v)) ** 5 + np.cos(np.log(v)) ** 5)).sum(1)
            )
    return np.array({
        4: [-1.2, 1], 5: [-1, 0, 0], 6: [3, -1, 0, 1], 7: [0.5, -2], 8: [1, 1, 1], 9: [0.25, 0.39, 0.415, 0.39],
        10: [0.02, 4000, 250], 12: [0, 10, 20], 13: [0.3, 0.4], 14: [25, 5, -5, -1], 17: [0.5, 1.5, 1, 0.01, 0.02],
        18: [1.3, 0.65, 0.65, 0.7, 0.6, 3, 5, 7, 2, 4.5, 5.5], 22: [-0.3, -0.39, 0.3, -0.344, -1.2, 2.69, 1.59, -1.5],
    }[number], dtype=float)  # fmt: skip


class Spent(Exception):
    """The budget or the time is at an end."""


class Problem:
    """One of the 53: the sum of squares in its box, with the best value after every evaluation."""

    def __init__(self, row: int) -> None:
        self.number, self.n, self.m, power = ROWS[row]
        self.x0 = 10.0**power * start(self.number, self.n)
        half = np.maximum(10.0, np.abs(self.x0))
        self.lower, self.upper = self.x0 - half, self.x0 + half
        self.limit = EVALUATIONS * (self.n + 1)
        self.best: list[float] = []
        self.end = time.process_time() + SECONDS

    def value(self, x: np.ndarray) -> float:
        with np.errstate(all="ignore"):
            f = float(np.sum(residuals(self.number, self.n, self.m, x) ** 2))
        return min(f, WALL) if np.isfinite(f) else WALL

    def __call__(self, x: np.ndarray) -> float:
        if len(self.best) >= self.limit or time.process_time() > self.end:
            raise Spent
        x = np.clip(np.asarray(x, dtype=float), self.lower, self.upper)
        f = self.value(x)
        self.best.append(min(f, self.best[-1]) if self.best else f)
        return f

    def least(self) -> float:
        """What derivatives find from the start."""
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                found = scipy.optimize.least_squares(
                    lambda x: residuals(self.number, self.n, self.m, x), self.x0, bounds=(self.lower, self.upper), xtol=1e-15, ftol=1e-15, gtol=1e-15
                )  # fmt: skip
                return self.value(found.x)
            except ValueError:
                return np.inf


def ours(method: str):
    def run(problem: Problem) -> None:
        box = zofw.Box(problem.lower, problem.upper)
        black_box = zofw.problems.BlackBox(problem, dim=problem.n)
        zofw.minimize(
            black_box,
            box,
            x0=problem.x0,
            method=method,
            budget=problem.limit,
            rng=0,
            diagnose=0,
            options={"progress": False},
        )

    return run


def scipy_method(name, **options):
    def run(problem: Problem) -> None:
        bounds = scipy.optimize.Bounds(problem.lower, problem.upper)
        scipy.optimize.minimize(problem, problem.x0, method=name, bounds=bounds, options=options)

    return run


def slsqp(problem: Problem) -> None:
    """In units of the first value: with values of a million SciPy 1.17's SLSQP ends after one gradient."""
    unit: list[float] = []

    def scaled(x: np.ndarray) -> float:
        value = problem(x)
        unit[:] = unit or [abs(value) or 1.0]
        return value / unit[0]

    bounds = scipy.optimize.Bounds(problem.lower, problem.upper)
    options = {"maxiter": 10**6, "ftol": 1e-16}
    scipy.optimize.minimize(scaled, problem.x0, method="SLSQP", bounds=bounds, options=options)


def pycma(problem: Problem) -> None:
    import cma

    options = {"seed": 1, "verbose": -9, "bounds": [problem.lower, problem.upper], "maxfevals": 10**6}
    options |= {"tolfun": 0, "tolfunhist": 0, "tolx": 0, "tolstagnation": 10**9, "tolflatfitness": 10**9}
    cma.fmin2(problem, problem.x0, 0.5, options)


TOOLS = {
    "zofw": ours("auto"),
    "COBYQA": scipy_method("COBYQA", maxfev=10**6, maxiter=10**6, final_tr_radius=1e-10),
    "SLSQP": slsqp,
    "COBYLA": scipy_method("COBYLA", maxiter=10**6, tol=1e-10),
    "pycma": pycma,
}


def curve(tool: str, row: int, again: bool = False) -> list[float]:
    """Best values after each evaluation."""
    path = KEPT / tool / f"{row}.json"
    if path.exists() and not again:
        return json.loads(path.read_text())
    problem = Problem(row)
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            TOOLS[tool](problem)
    except Spent:
        pass
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(problem.best))
    return problem.best


def solved(curves: dict[str, list[list[float]]]) -> dict[str, np.ndarray]:
    """Evaluations/(d + 1) after which each problem is solved to each τ, by tool: (53, 3), inf for never."""
    table = {tool: np.full((len(ROWS), len(TAUS)), np.inf) for tool in curves}
    for row in range(len(ROWS)):
        problem = Problem(row)
        first = problem.value(problem.x0)
        least = min(problem.least(), *(c[row][-1] for c in curves.values()))
        for tool in curves:
            best = np.array(curves[tool][row])
            for k, tau in enumerate(TAUS):
                hit = np.flatnonzero(best <= least + tau * (first - least))
                if len(hit):
                    table[tool][row, k] = (hit[0] + 1) / (problem.n + 1)
    return table


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--again", action="store_true", help="run zofw anew")
    chosen = parser.parse_args()
    curves = {t: [curve(t, row, chosen.again and t == "zofw") for row in range(len(ROWS))] for t in TOOLS}
    for tool, table in solved(curves).items():
        print(
            f"{tool:8s} of {len(ROWS)} to 1e-1, 1e-3, 1e-5 with {AT}(d + 1): {(table <= AT).sum(0)}, with {EVALUATIONS}(d + 1): {np.isfinite(table).sum(0)}"
        )


if __name__ == "__main__":
    main()
