"""A quick panel for changes of the default method: 32 problems in ten seconds a seed, and two states of it compared.

    python -m benchmarks.panel before.json --seeds 1 2
    python -m benchmarks.panel after.json --seeds 1 2 --against before.json

A point is f at a number of queries, as log₁₀ of its gap over that of the start; the optimum is the best value of both files,
or a published one. Two points differ where they are a factor of two apart.
"""

from __future__ import annotations

import argparse
import json
import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from paper.experiments import situations

import zofw
from zofw.problems import BlackBox, Correntropy, LeastSquares, Logistic, Quadratic
from zofw_paper.data import load

PUBLISHED = {"a9a logistic": 0.4777070172, "w8a logistic": 0.4817571319, "a9a correntropy": 0.2448745, "w8a correntropy": 0.2383625}  # fmt: skip
LEAST = 1e-9  # of the gap of the start: below, all is one
TWO = math.log10(2)


@dataclass
class Entry:
    """A problem on a set, and the numbers of queries at which it is looked at, the last of them the budget."""

    make: Callable[[], tuple[Any, Any]]
    points: list[float]
    options: dict[str, Any] = field(default_factory=dict)
    value: Callable[[np.ndarray], float] | None = None  # where values of the problem are not those to count


def draw(seed: int) -> np.random.Generator:
    return np.random.default_rng(seed)


def single(f: Callable[[np.ndarray], np.ndarray], d: int) -> BlackBox:
    """One function of points in rows."""
    return BlackBox(lambda X, i: np.repeat(f(X)[:, None], len(i), 1), dim=d, vectorized=True)


def bowl(d: int, seed: int, condition: float = 2.0) -> Callable[[np.ndarray], np.ndarray]:
    rng = draw(seed)
    A = rng.standard_normal((d, d)) @ np.diag(10 ** np.linspace(-condition / 2, 0.5, d))
    c, Q = rng.standard_normal(d), A.T @ A / d
    return lambda X: 0.5 * np.einsum("ij,jk,ik->i", X - c, Q, X - c)


def indefinite(X: np.ndarray) -> np.ndarray:
    rng = draw(21)
    A, c = rng.standard_normal((12, 12)), rng.standard_normal(12)
    return 0.5 * np.einsum("ij,jk,ik->i", X, (A + A.T) / 2, X) + X @ c


def regression(n: int, d: int, seed: int) -> LeastSquares:
    rng = draw(seed)
    Z = rng.standard_normal((n, d)) * 10 ** rng.uniform(-1, 0.5, d)
    return LeastSquares(Z, Z @ rng.standard_normal(d) + rng.standard_normal(n))


def signs(n: int, seed: int) -> np.ndarray:
    return np.where(draw(seed).random(n) < 0.5, -1.0, 1.0)


def one_vertex() -> Logistic:
    Z = draw(4).standard_normal((50_000, 22))
    return Logistic(Z, np.where(Z[:, 3] > 0, 1.0, -1.0))


def box_sum() -> Quadratic:
    rng = draw(1)
    centres, A = 0.6 * rng.standard_normal((40, 30)), rng.standard_normal((30, 30)) / math.sqrt(30)
    return Quadratic(A.T @ A + 0.01 * np.eye(30), centres)


def kink(X: np.ndarray) -> np.ndarray:
    rng = draw(20)
    w, c = rng.random(10) + 0.1, 0.1 + 0.03 * rng.standard_normal(10)
    return np.abs(X - c / c.sum()) @ w


def log_sum_exp(X: np.ndarray) -> np.ndarray:
    rng = draw(9)
    return np.logaddexp.reduce(X @ rng.standard_normal((30, 12)).T + rng.standard_normal(30), axis=1)


def polytope() -> zofw.Polytope:
    A = np.vstack([draw(10).standard_normal((15, 10)), np.eye(10), -np.eye(10)])
    return zofw.Polytope(A_ub=A, b_ub=np.ones(35))


def rare() -> BlackBox:
    rng = draw(33)
    C, w = rng.standard_normal((1000, 6)), np.ones(1000)
    w[7], C[7] = 900.0, 2 * rng.standard_normal(6)
    return BlackBox(
        lambda X, i: 0.5 * w[i] * ((X[:, None] - C[i]) ** 2).sum(2), dim=6, n=1000, vectorized=True
    )


def waiting(x: np.ndarray, rng: np.random.Generator, times: int) -> np.ndarray:
    """Customers' time at three queues whose servers share x (Lindley), 60 customers each."""
    total = np.zeros(times)
    for rate, arrivals in zip(0.2 + 3.0 * np.asarray(x), (0.5, 0.9, 0.3), strict=True):
        service = rng.exponential(1 / max(rate, 1e-9), (60, times))
        gaps, wait = rng.exponential(1 / arrivals, (60, times)), np.zeros(times)
        for s, a in zip(service, gaps, strict=True):
            total += arrivals * (wait + s) / 60
            wait = np.maximum(0.0, wait + s - a)
    return total


def queues() -> tuple[Any, Any]:
    rng = draw(5)
    return BlackBox(lambda x: float(waiting(x, rng, 1)[0]), dim=3), zofw.Simplex()


def mean_waiting(x: np.ndarray) -> float:
    return float(waiting(x, draw(99), 2000).mean())


def noisy() -> tuple[Any, Any]:
    f, rng = bowl(8, 22), draw(23)
    return single(lambda X: f(X) + 1e-3 * rng.standard_normal(len(X)), 8), zofw.Simplex()


def network() -> BlackBox:
    """A universal attack on twenty inputs of a small network."""
    rng = draw(30)
    first, second = rng.standard_normal((64, 144)) / 12, rng.standard_normal((10, 64)) / 8
    inputs = rng.random((20, 144))
    labels = (np.maximum(inputs @ first.T, 0) @ second.T).argmax(1)

    def margins(X: np.ndarray, i: np.ndarray) -> np.ndarray:
        scores = np.maximum(np.clip(inputs[i][None] + X[:, None], 0, 1) @ first.T, 0) @ second.T
        own = scores[:, np.arange(len(i)), labels[i]].copy()
        scores[:, np.arange(len(i)), labels[i]] = -np.inf
        return np.maximum(own - scores.max(2), -0.05)

    return BlackBox(margins, dim=144, n=20, vectorized=True)


def rounded(f: Callable[[np.ndarray], np.ndarray]) -> Callable[[np.ndarray], np.ndarray]:
    return lambda X: np.round(f(X) / 1e-5) * 1e-5


def single_precision(f: Callable[[np.ndarray], np.ndarray]) -> Callable[[np.ndarray], np.ndarray]:
    return lambda X: f(X).astype(np.float32).astype(float)


def data(problem: Callable[..., Any], name: str, radius: float = 2.0) -> Callable[[], tuple[Any, Any]]:
    return lambda: (problem(*load(name)), zofw.L1Ball(radius))


INSIDE = {"inside": True}
PANEL = {
    "breast cancer, r = 2": Entry(data(Logistic, "breast-cancer"), [3e3, 2e4, 6e4, 4e5]),
    "breast cancer, r = 10": Entry(data(Logistic, "breast-cancer", 10.0), [3e3, 2e4, 6e4, 4e5]),
    "a9a logistic": Entry(data(Logistic, "a9a"), [1e4, 1e5, 1e6]),
    "w8a logistic": Entry(data(Logistic, "w8a"), [1e4, 1e5, 1e6]),
    "a9a correntropy": Entry(data(Correntropy, "a9a"), [1e4, 1e5, 1e6]),
    "w8a correntropy": Entry(data(Correntropy, "w8a"), [1e4, 1e5, 1e6]),
    "portfolio": Entry(lambda: (situations.portfolio(), zofw.Simplex()), [2.5e3, 1e4, 1e5, 1e6]),
    "tumours": Entry(lambda: (situations.tumours(), zofw.KSparse(5, 2.0)), [200, 500, 2e3, 1e4, 1e5, 1e6]),
    "box, a sum": Entry(lambda: (box_sum(), zofw.LinfBall(0.5)), [2e3, 1e4, 1e5]),
    "one vertex": Entry(lambda: (one_vertex(), zofw.L1Ball(0.1)), [1e3, 1e4, 1e5]),
    "simplex": Entry(lambda: (single(bowl(30, 6), 30), zofw.Simplex()), [100, 500, 2000]),
    "l1": Entry(lambda: (single(bowl(100, 7), 100), zofw.L1Ball(3.0)), [500, 2000, 8000]),
    "l2": Entry(lambda: (single(bowl(200, 8), 200), zofw.L2Ball(3.0)), [1000, 4000, 16_000]),
    "l2, inside": Entry(lambda: (single(bowl(20, 8, 1), 20), zofw.L2Ball(20.0)), [300, 1000, 4000]),
    "log-sum-exp": Entry(lambda: (single(log_sum_exp, 12), zofw.LinfBall(1.0)), [200, 800, 3000]),
    "polytope": Entry(lambda: (single(bowl(10, 11), 10), polytope()), [200, 1000]),
    "regression, l2": Entry(lambda: (regression(400, 80, 12), zofw.L2Ball(4.0)), [5e3, 2e4, 6e4]),
    "regression, capped": Entry(lambda: (regression(40, 20, 13), zofw.CappedSimplex(1.0, 0.6)), [1e3, 4e3, 4e4]),
    "regression, l3": Entry(lambda: (regression(10_000, 8, 14), zofw.LpBall(2.0, 3.0)), [1e4, 1e5, 1e6]),
    "points inside, a sum": Entry(lambda: (Logistic(draw(15).standard_normal((40, 15)), signs(40, 16)), zofw.L1Ball(2.0)), [1e3, 1e4, 6e4], INSIDE),
    "points inside": Entry(lambda: (single(bowl(15, 17), 15), zofw.LinfBall(0.7)), [100, 400, 2500], INSIDE),
    "rounded": Entry(lambda: (single(rounded(bowl(12, 18)), 12), zofw.Simplex()), [100, 400, 2000]),
    "float32": Entry(lambda: (single(single_precision(bowl(12, 19)), 12), zofw.L1Ball(2.0)), [100, 400, 2000]),
    "a kink": Entry(lambda: (single(kink, 10), zofw.Simplex()), [100, 400, 1500]),
    "indefinite": Entry(lambda: (single(indefinite, 12), zofw.L1Ball(3.0)), [100, 400, 1700]),
    "queues, 400": Entry(queues, [400], value=mean_waiting),
    "queues, 2,000": Entry(queues, [2000], value=mean_waiting),
    "noisy": Entry(noisy, [300, 3000], value=lambda x: float(bowl(8, 22)(x[None])[0])),
    "network": Entry(lambda: (network(), zofw.L2Ball(1.0)), [1e3, 4e3, 2e4]),
    "correntropy, l2": Entry(lambda: (Correntropy(draw(31).standard_normal((40, 15)), signs(40, 31), sigma=3.0), zofw.L2Ball(2.0)), [1e3, 1e4, 4e4]),
    "Birkhoff": Entry(lambda: (single(bowl(16, 32, 1), 16), zofw.Birkhoff(4)), [200, 1000]),
    "a rare component": Entry(lambda: (rare(), zofw.L1Ball(2.0)), [1e4, 4e4, 2e5]),
}  # fmt: skip


def run(entry: Entry, seed: int) -> dict[str, Any]:
    """One run: f at the start and at the points, how many queries, and how it ended."""
    problem, region = entry.make()
    value = entry.value or (lambda x: float(np.mean(problem.values(x[None], np.arange(problem.n)))))
    seen = [(0, np.asarray(region.initial_point(problem.dim), dtype=float))]
    result = zofw.minimize(
        problem,
        region,
        method="explore-correct",
        budget=int(entry.points[-1]),
        rng=seed,
        diagnose=0,
        callback=lambda session: seen.append((session.nfev, np.array(session.state.x))),
        **entry.options,
    )
    values = [value([x for queries, x in seen if queries <= point][-1]) for point in entry.points[:-1]]
    return {
        "start": value(seen[0][1]),
        "values": [*values, value(result.x)],
        "queries": result.nfev,
        "status": result.status.name,
    }


def compare(before: dict[str, Any], after: dict[str, Any]) -> str:
    """How log₁₀ of the gap changed at every point, in the mean over seeds."""
    lines, changes = [], []
    for name in PANEL:
        keys = [key for key in after if key.startswith(f"{name}|") and key in before]
        if not keys:
            continue
        least = min(v for rows in (before, after) for key in keys for v in rows[key]["values"])
        best = min(least, PUBLISHED.get(name, math.inf))

        def logs(rows: dict[str, Any], keys: list[str] = keys, best: float = best) -> np.ndarray:
            gaps = [(np.array(rows[k]["values"]) - best) / max(rows[k]["start"] - best, 1e-300) for k in keys]
            return np.log10(np.maximum(gaps, LEAST)).mean(axis=0)

        old, new = logs(before), logs(after)
        changes += list(new - old)
        shown = " ".join(f"{x:6.2f} ({y:+.2f})" for x, y in zip(new, new - old, strict=True))
        lines.append(f"{name:22s} {shown}")
    moved = np.array(changes)
    better, worse = int((moved < -TWO).sum()), int((moved > TWO).sum())
    lines.append(
        f"{len(moved)} points: mean change {moved.mean():+.3f}, {better} better and {worse} worse by a factor of two"
    )
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("out", type=Path)
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--only", nargs="+", default=list(PANEL), help="names of problems")
    parser.add_argument("--against", type=Path, help="an earlier file")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    rows = {f"{name}|{seed}": run(PANEL[name], seed) for name in options.only for seed in options.seeds}
    options.out.write_text(json.dumps(rows))
    if options.against:
        print(compare(json.loads(options.against.read_text()), rows))


if __name__ == "__main__":
    main()
