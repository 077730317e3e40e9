"""``python -m benchmarks.small_sums --out sums.jsonl``: is the default for sums near the best of what it contains?

Random sums of n components (5 to 50,000) in d variables (5 to 40) over four sets, at budgets of 3, 10, 30, 100 and 300 passes. Margins are of
normal samples, round or ill-conditioned, or of data as they were measured. A cell is a problem and a budget. Its gaps are relative to
that of the start, the optimum is computed from the data or, where that has no cheap way, the lowest value of all runs on that problem, and
gaps below 1e-9 are one. Rows are resumable.
"""

from __future__ import annotations

import argparse
import json
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from scipy.optimize import linprog
from sklearn.datasets import load_breast_cancer, load_diabetes, load_wine

import zofw
from zofw.problems import BlackBox

PASSES = (3, 10, 30, 100, 300)
METHODS = ("auto", "explore-correct", "interpolation")
SIZES = (5, 12, 40, 100, 250, 800, 2500, 8000, 20_000, 50_000)
LEAST = 1e-9  # of the gap of the start: below, all is one
LEVEL = 1.5  # times the gap of the best, and a method is level with it
Loss = Callable[[np.ndarray], np.ndarray]
LOSSES: dict[str, Loss] = {
    "logistic": lambda t: np.logaddexp(0.0, -t),
    "squares": lambda t: (t - 1.0) ** 2,
    "deviation": lambda t: np.abs(t - 1.0),
    "cauchy": lambda t: np.log1p((t - 1.0) ** 2),
    "hinge": lambda t: np.maximum(0.0, 1.0 - t),
    "poisson": lambda t: np.exp(np.clip(t, -30, 30)) - 2.0 * t,
}
SLOPES: dict[str, Loss] = {  # of the convex ones that are smooth
    "logistic": lambda t: -1.0 / (1.0 + np.exp(np.minimum(t, 500.0))),
    "squares": lambda t: 2.0 * (t - 1.0),
    "poisson": lambda t: np.where(np.abs(t) < 30, np.exp(np.clip(t, -30, 30)), 0.0) - 2.0,
}
TABLE = Path(__file__).parent.parent / "docs" / "comparison" / "small_sums.inc"


def problem(seed: int) -> tuple[dict[str, Any], BlackBox, Any]:
    """Return what is said of a problem, the problem and its set."""
    rng = np.random.default_rng([20, seed])
    n = SIZES[seed % len(SIZES)]
    d, kind = int(rng.choice([5, 8, 12, 20, 40])), str(rng.choice(["round", "round", "ill", "raw"]))
    if kind == "raw" and n <= 250:
        load = (load_diabetes, load_wine, load_breast_cancer)[rng.integers(3)]
        Z = load(return_X_y=True)[0].astype(float)
        Z = Z[rng.permutation(len(Z))[:n]][:, rng.permutation(Z.shape[1])[:d]]
        n, d = Z.shape
    else:
        kind = "ill" if kind == "raw" else kind
        Z = rng.standard_normal((n, d)) @ (np.eye(d) + 0.5 * rng.standard_normal((d, d)) / np.sqrt(d))
        Z *= 10.0 ** rng.uniform(-1.5, 0.5, d) if kind == "ill" else 1.0
    name = str(rng.choice(list(LOSSES)))
    loss, size = LOSSES[name], 1.0 / float(np.abs(Z).mean())
    signs = np.where(rng.random(n) < 0.5, -1.0, 1.0) if name in ("logistic", "hinge") else np.ones(n)
    if kind != "raw":
        size = 1.0
        Z, wish = Z * signs[:, None], rng.standard_normal(d) / np.sqrt(d)
        Z[: n // 2] += np.outer(np.ones(n // 2), wish)
    sets = [
        zofw.Simplex(2 * size),
        zofw.L1Ball(2 * size),
        zofw.L2Ball(size),
        zofw.Box(np.full(d, -size / 2), np.full(d, size / 2)),
    ]
    region = sets[rng.integers(4)]
    f = BlackBox(lambda X, i: loss(X @ Z[i].T), dim=d, n=n, vectorized=True)
    return {"loss": name, "n": n, "d": d, "kind": kind, "set": type(region).__name__}, f, region


def optimum(seed: int) -> float | None:
    """Return the least value of a convex problem: by linear programming for deviation and hinge, by accelerated projections for smooth losses.

    None where neither applies: cauchy, and kinks on the ℓ2 ball.
    """
    said, f, region = problem(seed)
    inside = dict(zip(f.fun.__code__.co_freevars, f.fun.__closure__, strict=True))
    Z, loss = inside["Z"].cell_contents, said["loss"]
    if loss in SLOPES:
        return projected(Z, LOSSES[loss], SLOPES[loss], region)
    return programme(Z, loss, region) if loss in ("deviation", "hinge") and said["set"] != "L2Ball" else None


def projected(Z: np.ndarray, loss: Loss, slope: Loss, region: Any) -> float:
    """Return the least mean loss over a set that projects: accelerated projected gradients with restarts."""
    x = y = np.asarray(region.initial_point(Z.shape[1]), dtype=float)
    t, L = 1.0, 1.0
    for step in range(6000):
        g, height = Z.T @ slope(Z @ y) / len(Z), loss(Z @ y).mean()
        while True:
            new = region.project(y - g / L)
            way = new - y
            bound = height + g @ way + 0.5 * L * way @ way + 1e-15 * abs(height)
            if loss(Z @ new).mean() <= bound or L > 1e18:
                break
            L *= 2
        t = 1.0 if (y - new) @ (new - x) > 0 else t
        after = 0.5 * (1 + np.sqrt(1 + 4 * t * t))
        moved, y = float(np.linalg.norm(new - x)), region.project(new + (t - 1) / after * (new - x))
        x, t, L = new, after, 0.98 * L
        if moved < 1e-14 * (1 + np.linalg.norm(x)) and step > 10:
            break
    return float(loss(Z @ x).mean())


def programme(Z: np.ndarray, loss: str, region: Any) -> float:
    """Return the least mean of max(1 − t, 0) or |1 − t|, t = Zx: x = p − q with p, q ≥ 0, and a variable for each component."""
    (n, d), slack = Z.shape, sparse.identity(len(Z), format="csr")
    rows, bounds = [[-Z, Z, -slack]], [-np.ones(n)]
    if loss == "deviation":
        rows, bounds = [*rows, [Z, -Z, -slack]], [*bounds, np.ones(n)]
    total, limits = np.concatenate([np.ones(2 * d), np.zeros(n)])[None], [(0.0, None)] * (2 * d + n)
    equal: dict[str, Any] = {}
    if isinstance(region, zofw.Box):
        limits[: 2 * d] = [(0.0, u) for u in region.upper] + [(0.0, -u) for u in region.lower]
    elif isinstance(region, zofw.L1Ball):
        rows, bounds = [*rows, [*np.split(total, [d, 2 * d], axis=1)]], [*bounds, [region.radius]]
    else:
        limits[d : 2 * d] = [(0.0, 0.0)] * d
        equal = {"A_eq": total, "b_eq": [region.total]}
    A = sparse.vstack([sparse.hstack([sparse.csr_matrix(part) for part in one]) for one in rows])
    cost = np.concatenate([np.zeros(2 * d), np.ones(n) / n])
    return float(linprog(cost, A_ub=A, b_ub=np.concatenate(bounds), bounds=limits, **equal).fun)


def row(seed: int, passes: int, method: str) -> dict[str, Any]:
    """Return one run's value at its end and at its start."""
    said, f, region = problem(seed)
    x0 = np.asarray(region.initial_point(f.dim), dtype=float)

    def value(x: np.ndarray) -> float:
        return float(f.values(x[None], np.arange(f.n)).mean())

    made = {"seed": seed, "passes": passes, "asked": method}
    try:
        result = zofw.minimize(f, region, budget=passes * f.n, rng=seed, method=method, diagnose=0)
    except zofw.BudgetError:
        return said | made | {"method": "none", "start": value(x0), "end": value(x0), "ran": 0}
    return said | made | {"method": result.method, "start": value(x0), "end": value(result.x), "ran": result.nfev, "status": result.status.name}  # fmt: skip


def cells(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the gap of every method in each cell where all of them ran."""
    lowest: dict[int, float] = {}
    for r in rows:
        if r["seed"] not in lowest:
            exact = optimum(r["seed"])
            lowest[r["seed"]] = np.inf if exact is None else exact
        lowest[r["seed"]] = min(lowest[r["seed"]], r["end"])
    found: dict[tuple[int, int], dict[str, Any]] = {}
    for r in rows:
        cell = found.setdefault((r["seed"], r["passes"]), {**r, "gaps": {}, "above": {}})
        whole = max(r["start"] - lowest[r["seed"]], 1e-300)
        cell["gaps"][r["asked"]] = max((r["end"] - lowest[r["seed"]]) / whole, LEAST)
        cell["above"][r["asked"]] = r["end"] > r["start"] + 1e-12 * abs(r["start"])
    asked = {r["asked"] for r in rows}
    return [cell for cell in found.values() if set(cell["gaps"]) == asked]


def table(rows: list[dict[str, Any]]) -> str:
    """Return, by n and by passes, the share of cells in which a method is level with the best, and its mean factor to the best."""
    every = cells(rows)
    methods = [
        m for m in dict.fromkeys((*METHODS, *(r["asked"] for r in rows))) if every and m in every[0]["gaps"]
    ]
    out = ["| sums | cells | " + " | ".join(methods) + " |", "|---" * (2 + len(methods)) + "|"]
    bounds = ((1, 100), (101, 1000), (1001, 10_000), (10_001, 10**9))
    groups: list[tuple[str, Callable[[dict[str, Any]], bool]]] = [
        (f"n = {a:,} to {b:,}" if b < 10**9 else f"n > {a - 1:,}", lambda c, a=a, b=b: a <= c["n"] <= b)
        for a, b in bounds
    ]
    groups += [(f"{p} passes", lambda c, p=p: c["passes"] == p) for p in PASSES]
    groups += [(kind, lambda c, kind=kind: c["kind"] == kind) for kind in ("round", "ill", "raw")]
    groups += [
        (name, lambda c, name=name: c["set"] == name) for name in ("Simplex", "L1Ball", "L2Ball", "Box")
    ]
    for name, belongs in [*groups, ("all", lambda c: True)]:
        mine = [c for c in every if belongs(c)]
        if not mine:
            continue
        texts = []
        for m in methods:
            factors = np.array([c["gaps"][m] / min(c["gaps"].values()) for c in mine])
            mean = float(np.exp(np.log(factors).mean()))
            texts.append(f"{np.mean(factors <= LEVEL):.0%} · {mean:.2g} · {factors.max():.1g}")
        out.append(f"| {name} | {len(mine)} | " + " | ".join(texts) + " |")
    return "\n".join(out) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path("sums.jsonl"))
    parser.add_argument("--seeds", type=int, nargs=2, default=(100, 160), help="from, to")
    parser.add_argument("--methods", nargs="+", default=METHODS)
    parser.add_argument("--write", action="store_true", help="write the table of the page")
    parser.add_argument("--only-table", action="store_true")
    chosen = parser.parse_args()
    warnings.simplefilter("ignore")
    lines = chosen.out.read_text().splitlines() if chosen.out.exists() else []
    rows = [json.loads(line) for line in lines]
    done = {(r["seed"], r["passes"], r["asked"]) for r in rows}
    with chosen.out.open("a") as file:
        for seed in range(*chosen.seeds) if not chosen.only_table else ():
            for key in ((seed, p, m) for p in PASSES for m in chosen.methods):
                if key not in done:
                    rows.append(row(*key))
                    file.write(json.dumps(rows[-1]) + "\n")
                    file.flush()
    text = table([r for r in rows if r["asked"] in chosen.methods])
    print(text)
    if chosen.write:
        TABLE.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
