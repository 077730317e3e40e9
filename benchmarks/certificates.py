"""Does CONVERGED mean what it says? Problems whose true Frank-Wolfe gap is known, and what a method claims about them.

    python -m benchmarks.certificates --out certificates.jsonl                              # resumable
    python -m benchmarks.certificates --out certificates.jsonl --method auto --every 8
    python -m benchmarks.certificates --out certificates.jsonl --only-table --table docs/methods/certificates.inc

Every problem is a family and a number. A claim is false where the run says CONVERGED and the true gap at the returned point
exceeds what the run states: ``gap_tol``, or else the bound of its message. The gap comes from the analytic gradient; where
the function has kinks it is f(x) − f*, which a Frank-Wolfe gap bounds from above. For methods that state no bound a
millionth of the gap at the start, at least, is allowed. A row says what was asked for and which method ran: ``auto`` takes
another one for a single function, and for sums it takes explore-correct, whose row then stands for both.
"""

from __future__ import annotations

import argparse
import json
import math
import time
import warnings
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from scipy.optimize import lsq_linear
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris, load_linnerud, load_wine

import zofw
from zofw.problems import BlackBox, LeastSquares, Logistic

ITSELF = "explore-correct"
ALLOWED = 1e-6  # of the gap at the start, where a run states no bound
LEFT = 1e-3  # of f(x0) − f*: a run that leaves more has not converged, whatever it states
TOLERANCES = (None, 1e-2, 1e-4, None)  # gap_tol, relative to the gap at the start
COUNTS = {
    "smooth": 260, "smooth, box": 60, "smooth, n = 40": 160, "smooth, n = 10,000": 24, "inside": 80, "matrix sets": 40,
    "kinks": 100, "rounded": 120, "rare components": 60, "flat starts": 80, "indefinite": 120, "noisy": 60,
    "correntropy": 40, "raw data": 48, "scores in steps": 40,
}  # fmt: skip
SMOOTH = ("smooth", "smooth, box", "smooth, n = 40", "smooth, n = 10,000", "inside", "matrix sets")


@dataclass
class Case:
    """A problem with what is true of it; ``gap`` is the Frank-Wolfe gap, or f − f* where there are kinks."""

    problem: Any
    region: Any
    gap: Callable[[np.ndarray], float]
    budget: int
    options: dict[str, Any] = field(default_factory=dict)
    convex: bool = True
    optimum: float | None = (
        None  # of f, where a bound may hold and yet be as large as all that could be gained
    )


def frank_wolfe_gap(
    gradient: Callable[[np.ndarray], np.ndarray], region: Any
) -> Callable[[np.ndarray], float]:
    """max over the set of ⟨∇f(x), x − v⟩."""

    def gap(x: np.ndarray) -> float:
        g = gradient(x)
        return float(g @ (x - region.lmo(g)))

    return gap


def sets(rng: np.random.Generator, d: int) -> Any:
    """A set of one of eight kinds, of any size."""
    r = float(10 ** rng.uniform(-1, 1))
    kinds = [
        zofw.Simplex(), zofw.L1Ball(r), zofw.L2Ball(r), zofw.LinfBall(r), zofw.Box(-r * rng.random(d) - 0.01, r * rng.random(d) + 0.01),
        zofw.KSparse(min(3, d), r), zofw.CappedSimplex(1.0, 0.6), zofw.LpBall(r, 3.0),
    ]  # fmt: skip
    return kinds[rng.integers(len(kinds))]


def function(rng: np.random.Generator, d: int) -> tuple[Callable, Callable]:
    """A smooth convex function and its gradient; X has points as rows."""
    kind = rng.integers(6)
    A = rng.standard_normal((d, d)) @ np.diag(10 ** rng.uniform(-2, 1, d))
    c = rng.standard_normal(d)
    if kind == 0:
        Q = A.T @ A / d
        return lambda X: 0.5 * np.einsum("ij,jk,ik->i", X - c, Q, X - c), lambda x: Q @ (x - c)
    if kind == 1:
        B, b = rng.standard_normal((2 * d, d)), rng.standard_normal(2 * d)

        def softmax(x):
            z = B @ x + b
            w = np.exp(z - z.max())
            return B.T @ (w / w.sum())

        def lse(X):
            z = X @ B.T + b
            top = z.max(1)
            return top + np.log(np.exp(z - top[:, None]).sum(1))

        return lse, softmax
    if kind == 2:
        return lambda X: ((X - c) ** 4).sum(1), lambda x: 4 * (x - c) ** 3
    if kind == 3:
        return lambda X: X @ c, lambda x: c.copy()
    if kind == 4:
        s = 10 ** rng.uniform(-3, 3, d)
        return lambda X: 0.5 * ((X - c) ** 2 * s).sum(1), lambda x: s * (x - c)
    Z = rng.standard_normal((3 * d, d))
    return lambda X: np.logaddexp(0, X @ Z.T).mean(1), lambda x: Z.T @ (1 / (1 + np.exp(-Z @ x))) / len(Z)


def single(rng, f, g, d, region, convex=True, **options):
    """One function as a case."""
    problem = BlackBox(lambda X, batch: np.repeat(f(X)[:, None], len(batch), 1), dim=d, vectorized=True)
    return Case(problem, region, frank_wolfe_gap(g, region), 100 * (d + 5), options, convex)


def smooth(rng):
    d = int(rng.integers(2, 31))
    f, g = function(rng, d)
    scale, shift = float(10.0 ** rng.choice([0, 0, 0, -12, 12])), float(rng.choice([0, 0, 1, -100]))
    if rng.random() < 0.04:
        return single(rng, lambda X: np.full(len(X), shift), lambda x: np.zeros(d), d, sets(rng, d))
    region = sets(rng, d)
    if rng.random() < 0.15:  # f(x0) = 0
        shift = -float(f(region.initial_point(d)[None])[0])
    return single(rng, lambda X: scale * (f(X) + shift), lambda x: scale * g(x), d, region)


def smooth_box(rng):
    d, n = 30, 40
    C, A = rng.standard_normal((n, d)), rng.standard_normal((d, d)) / math.sqrt(d)
    Q = A.T @ A + 0.01 * np.eye(d)
    problem = BlackBox(
        lambda X, batch: 0.5 * np.einsum("ijk,kl,ijl->ij", X[:, None] - C[batch], Q, X[:, None] - C[batch]),
        dim=d,
        n=n,
        vectorized=True,
    )
    region = zofw.Box(-np.full(d, 0.5), np.full(d, 0.5))
    return Case(problem, region, frank_wolfe_gap(lambda x: Q @ (x - C.mean(0)), region), 100_000)


def linear_model(rng, n, d):
    Z = rng.standard_normal((n, d)) * 10 ** rng.uniform(-1, 0.5, d)
    if rng.random() < 0.5:
        return Logistic(Z, np.where(rng.random(n) < 0.5, -1.0, 1.0))
    return LeastSquares(Z, Z @ rng.standard_normal(d) + rng.standard_normal(n))


def smooth_sum(rng, n=40):
    d = int(rng.integers(2, 31 if n == 40 else 9))
    problem, region = linear_model(rng, n, d), sets(rng, d)
    return Case(
        problem, region, frank_wolfe_gap(problem.gradient, region), int(n * (60 if n == 40 else 30) * (d + 5))
    )


def inside(rng):
    case = smooth(rng) if rng.random() < 0.6 else smooth_sum(rng)
    case.options["inside"] = True
    return case


def matrix_sets(rng):
    a, b = int(rng.integers(2, 6)), int(rng.integers(2, 6))
    kind = rng.integers(3)
    region = [zofw.NuclearBall(2.0, (a, b)), zofw.Birkhoff(a), zofw.Spectraplex(a)][kind]
    d = [a * b, a * a, a * a][kind]
    c = rng.standard_normal(d)
    s = 10 ** rng.uniform(-1, 1, d)
    if kind == 2:
        c, s = (c.reshape(a, a) + c.reshape(a, a).T).ravel() / 2, np.ones(d)
    return single(rng, lambda X: 0.5 * (s * (X - c) ** 2).sum(1), lambda x: s * (x - c), d, region)


def kinks(rng):
    d, kind = int(rng.integers(2, 21)), rng.integers(4)
    region = sets(rng, d)
    n = 1 if rng.random() < 0.6 else 40
    v = [region.lmo(rng.standard_normal(d)) for _ in range(4)]
    c = np.mean(v, axis=0)  # a point of the set: the minimum is 0
    if kind == 0:
        W = rng.random((n, d)) + 0.1
        f = lambda X, i: np.abs(X - c) @ W[i].T  # noqa: E731
    elif kind == 1:
        B = rng.standard_normal((n, 3 * d, d))
        f = lambda X, i: np.abs(np.einsum("pk,njk->pnj", X - c, B[i])).max(2)  # noqa: E731
    elif kind == 2:
        B = rng.standard_normal((n, d))
        f = lambda X, i: np.abs((X - c) @ B[i].T) + 0.5 * ((X - c) ** 2).sum(1)[:, None]  # noqa: E731
    else:
        s = rng.random((n, 1)) + 0.5
        f = lambda X, i: np.sqrt(((X - c) ** 2).sum(1))[:, None] * s[i, 0]  # noqa: E731
    problem, every = BlackBox(f, dim=d, n=n, vectorized=True), np.arange(n)
    return Case(problem, region, lambda x: float(f(x[None], every).mean()), n * 60 * (d + 5))


def rounded(rng):
    d = int(rng.integers(2, 21))
    f, g = function(rng, d)
    region = sets(rng, d)
    x0 = region.initial_point(d)
    size = max(abs(float(f(x0[None])[0])), float(g(x0) @ (x0 - region.lmo(g(x0)))))
    kind, q = rng.integers(4), float(10.0 ** rng.uniform(-8, -1)) * size
    how = [
        lambda y: y.astype(np.float32).astype(float), lambda y: np.round(y / q) * q, lambda y: y + 1e8 * size,
        lambda y: np.floor(y / q) * q,
    ][kind]  # fmt: skip
    return single(rng, lambda X: how(f(X)), g, d, region)


def rare(rng):
    n, d = int(rng.choice([1000, 10_000])), int(rng.integers(3, 13))
    C = rng.standard_normal((n, d))
    weight = np.ones(n)
    few = rng.choice(n, int(rng.integers(1, 4)), replace=False)
    weight[few], C[few] = n * rng.uniform(0.5, 3), 2 * rng.standard_normal(d)
    region = sets(rng, d)
    mean, total = (weight[:, None] * C).mean(0), weight.mean()
    sq = (C**2).sum(1)
    f = lambda X, i: 0.5 * weight[i] * ((X**2).sum(1)[:, None] - 2 * X @ C[i].T + sq[i])  # noqa: E731
    problem = BlackBox(f, dim=d, n=n, vectorized=True)
    return Case(
        problem,
        region,
        frank_wolfe_gap(lambda x: total * x - mean, region),
        int(n * rng.choice([5, 40]) * (d + 1)),
    )


def flat(rng):
    d, kind = int(rng.integers(2, 16)), rng.integers(4)
    region = sets(rng, d)
    x0 = np.asarray(region.initial_point(d), dtype=float)
    c = region.lmo(rng.standard_normal(d))
    scale = float(((c - x0) ** 2).sum()) or 1.0
    k = float(rng.uniform(1, 30)) / scale
    if kind == 0:
        f = lambda X: -np.exp(-k * ((X - c) ** 2).sum(1))  # noqa: E731
        g = lambda x: 2 * k * (x - c) * math.exp(-k * float(((x - c) ** 2).sum()))  # noqa: E731
    elif kind == 1:  # a saddle or a flat point at the start, and a slope away from it
        f = lambda X: -k * (((X - x0) ** 2).sum(1) ** 2)  # noqa: E731
        g = lambda x: -4 * k * float(((x - x0) ** 2).sum()) * (x - x0)  # noqa: E731
    elif kind == 2:
        a = (c - x0) / scale
        f = lambda X: -1 / (1 + np.exp(-k * scale * ((X - x0) @ a - 0.7)))  # noqa: E731

        def g(x):
            s = 1 / (1 + math.exp(-k * scale * float((x - x0) @ a - 0.7)))
            return -k * scale * s * (1 - s) * a
    else:
        f = lambda X: ((X - x0) ** 3).sum(1) / scale**1.5  # noqa: E731
        g = lambda x: 3 * (x - x0) ** 2 / scale**1.5  # noqa: E731
    return single(rng, f, g, d, region, convex=False)


def raw_data(rng):
    """Least squares on some columns of a data set as they were measured, without any scaling."""
    loads = (partial(load_diabetes, scaled=False), load_wine, load_breast_cancer, load_linnerud, load_iris)
    Z, y = loads[rng.integers(len(loads))](return_X_y=True)
    y = y if y.ndim == 1 else y[:, 0]
    columns = rng.permutation(Z.shape[1])[: rng.integers(min(4, Z.shape[1]), Z.shape[1] + 1)]
    Z, r = Z[:, columns].astype(float), float(10 ** rng.uniform(-1, 1))
    n, d = Z.shape
    problem, least = LeastSquares(Z, y.astype(float)), lsq_linear(Z, y, (-r, r), tol=1e-14, max_iter=2000)
    region, passes = zofw.Box(np.full(d, -r), np.full(d, r)), int(rng.choice([300, 1000]))
    gap = frank_wolfe_gap(problem.gradient, region)
    return Case(problem, region, gap, passes * n, optimum=mean_value(problem, least.x))


def scores(rng):
    """The error of a mixture of classifiers, or its accuracy's negative, on few samples; true is what random mixtures find."""
    n, k, classes = int(rng.integers(20, 101)), int(rng.integers(2, 7)), int(rng.integers(2, 5))
    y = rng.integers(classes, size=n)
    P = rng.dirichlet(np.ones(classes), size=(n, k))
    P += 0.6 * np.eye(classes)[y][:, None] * rng.random((1, k, 1))

    def wrong(X, batch):
        return (np.einsum("pk,ikc->pic", X, P[batch]).argmax(2) != y[batch]).astype(float)

    whole = rng.random() < 0.5
    f = (lambda X, i: np.repeat(wrong(X, np.arange(n)).mean(1)[:, None], len(i), 1)) if whole else wrong
    problem = BlackBox(f, dim=k, n=1 if whole else n, vectorized=True)
    best = min(mean_value(problem, w) for w in rng.dirichlet(np.ones(k), 400))
    return Case(
        problem,
        zofw.Simplex(),
        lambda x: max(mean_value(problem, x) - best, 0.0),
        200 * problem.n,
        convex=False,
    )


def mean_value(problem, x):
    return float(problem.values(x[None], np.arange(problem.n)).mean())


def indefinite(rng):
    d = int(rng.integers(2, 21))
    A, c = rng.standard_normal((d, d)), rng.standard_normal(d)
    A = (A + A.T) / 2
    return single(
        rng,
        lambda X: 0.5 * np.einsum("ij,jk,ik->i", X, A, X) + X @ c,
        lambda x: A @ x + c,
        d,
        sets(rng, d),
        convex=False,
    )


def noisy(rng):
    d = int(rng.integers(2, 13))
    f, g = function(rng, d)
    region = sets(rng, d)
    x0 = region.initial_point(d)
    size = float(10.0 ** rng.uniform(-6, -1)) * max(float(g(x0) @ (x0 - region.lmo(g(x0)))), 1e-12)
    noise = np.random.default_rng(rng.integers(2**32))
    return single(rng, lambda X: f(X) + size * noise.standard_normal(len(X)), g, d, region)


def correntropy(rng):
    n, d = 40, int(rng.integers(2, 21))
    Z, y = rng.standard_normal((n, d)), np.where(rng.random(n) < 0.5, -1.0, 1.0)
    problem, region = zofw.problems.Correntropy(Z, y, sigma=float(rng.uniform(1, 10))), sets(rng, d)
    return Case(problem, region, frank_wolfe_gap(problem.gradient, region), n * 60 * (d + 5), convex=False)


MAKERS = {
    "smooth": smooth, "smooth, box": smooth_box, "smooth, n = 40": smooth_sum, "smooth, n = 10,000": lambda rng: smooth_sum(rng, 10_000),
    "inside": inside, "matrix sets": matrix_sets, "kinks": kinks, "rounded": rounded, "rare components": rare,
    "flat starts": flat, "indefinite": indefinite, "noisy": noisy, "correntropy": correntropy,
    "raw data": raw_data, "scores in steps": scores,
}  # fmt: skip


def trial(family: str, number: int, method: str) -> dict[str, Any]:
    """One run and what is true of its end."""
    rng = np.random.default_rng([sum(map(ord, family)), number])
    case = MAKERS[family](rng)
    start = case.gap(np.asarray(case.region.initial_point(case.problem.dim), dtype=float))
    relative = TOLERANCES[rng.integers(len(TOLERANCES))]
    gap_tol = relative * start if relative and start > 0 else None
    before = time.perf_counter()
    try:
        result = zofw.minimize(
            case.problem,
            case.region,
            method=method,
            budget=case.budget,
            rng=number,
            diagnose=0,
            gap_tol=gap_tol,
            **case.options,
        )
    except Exception as error:
        return {"family": family, "number": number, "asked": method, "method": "an error", "status": "ERROR", "false": False, "above": False, "message": str(error)[:200],
                "start": start, "gap_tol": gap_tol, "bound": None, "nfev": case.budget, "budget": case.budget}  # fmt: skip
    seconds = time.perf_counter() - before
    status = str(getattr(result.status, "name", result.status))
    stated = result.trace["bound"] if "bound" in result.trace.names else []
    bound, true = float(stated[-1]) if len(stated) else None, case.gap(result.x)
    allowed = gap_tol if gap_tol is not None else max(ALLOWED * start, 1e-300) if bound is None else bound
    converged, x0 = (
        status == "CONVERGED",
        np.asarray(case.region.initial_point(case.problem.dim), dtype=float),
    )
    wrong = true > allowed * (1 + 1e-9) + 1e-300
    if case.optimum is not None and gap_tol is None:
        left, first = (mean_value(case.problem, x) - case.optimum for x in (result.x, x0))
        wrong = wrong or left > LEFT * first
    return {
        "family": family, "number": number, "asked": method, "method": result.method, "status": status, "n": case.problem.n, "d": case.problem.dim,
        "set": type(case.region).__name__, "start": start, "gap_tol": gap_tol, "gap": result.gap, "bound": bound,
        "true": true, "false": bool(converged and wrong),
        "above": bool(converged and gap_tol is not None and (result.gap is None or result.gap > gap_tol)),
        "nfev": result.nfev, "budget": case.budget, "seconds": seconds, "message": result.message,
    }  # fmt: skip


Rows = dict[tuple[str, str, int], dict[str, Any]]


def rows_of(path: Path) -> Rows:
    """What a file has already, by what was asked for, family and number."""
    lines = path.read_text().splitlines() if path.exists() else []
    rows = map(json.loads, lines)
    return {(row.get("asked", ITSELF), row["family"], row["number"]): row for row in rows}


def table(rows: Rows, before: Rows) -> str:
    """Counts by family, of the method by itself and of what ``auto`` takes; and queries against before."""
    out = [f'`method="{ITSELF}"`, by itself:', "", *counts(rows, ITSELF), ""]
    if any(asked == "auto" for asked, *_ in rows):
        out += ['`method="auto"`, with the methods that it takes:', "", *counts(rows, "auto"), ""]
    return "\n".join(out + against(rows, before)) + "\n"


def counts(rows: Rows, asked: str) -> list[str]:
    """Problems, methods that ran, stops as converged, false ones, stalls, and spent budgets, a line for every family."""
    out = [
        "| family | problems | converged | false | stalled | median bound / first gap | budget spent otherwise |",
        "|---|---|---|---|---|---|---|",
    ]
    if asked == "auto":
        out = [
            line.replace("| problems |", "| ran | problems |").replace("|---|", "|---|---|", 1)
            for line in out
        ]
    total = np.zeros(4, dtype=int)
    for family in COUNTS:
        mine = [row for key, row in rows.items() if key[:2] == (asked, family)]
        if not mine:
            continue
        stops = [r for r in mine if r["status"] == "CONVERGED"]
        numbers = [
            len(mine),
            len(stops),
            sum(r["false"] for r in stops),
            sum(r["status"] == "STALLED" for r in mine),
        ]
        bounds = [
            r["bound"] / r["start"] for r in stops if r["bound"] and r["start"] > 0 and r["gap_tol"] is None
        ]
        spent = [r["nfev"] / r["budget"] for r in mine if r["status"] != "CONVERGED"]
        total += numbers
        ran = Counter(r["method"] for r in mine)
        methods = ", ".join(f"{name} {times}" for name, times in ran.most_common()) if asked == "auto" else ""
        cells = [family, *([methods] if methods else []), *(f"{c:,}" for c in numbers)]
        cells += [f"{np.median(bounds):.0e}" if bounds else "–", f"{min(spent):.0%}" if spent else "–"]
        out.append("| " + " | ".join(cells) + " |")
    empty = " | " if asked == "auto" else ""
    return [*out, f"| all | {empty}" + " | ".join(f"{c:,}" for c in total) + " | | |"]


def against(rows: Rows, before: Rows) -> list[str]:
    """Of the smooth convex problems that the earlier version stopped on rightly: how many stop, and with how many queries."""
    out = []
    for asked in (ITSELF, "auto"):
        ratios, old = [], 0
        for (_, family, number), row in before.items():
            new = rows.get((asked, family, number))
            if family not in SMOOTH or row["status"] != "CONVERGED" or row["false"] or new is None:
                continue
            old += 1
            ratios += [new["nfev"] / row["nfev"]] if new["status"] == "CONVERGED" else []
        if ratios:
            within = sum(ratio <= 1.2 for ratio in ratios)
            out.append(
                f"`{asked}`: of {old} smooth convex problems on which the earlier version stopped rightly by itself, {len(ratios)} stop by "
                f"themselves, {within} of them within 1.2 times the queries (median ratio {np.median(ratios):.2f})."
            )
    return out


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--method", default=ITSELF)
    parser.add_argument("--out", type=Path, default=Path("certificates.jsonl"))
    parser.add_argument("--every", type=int, default=1, help="take one problem in so many")
    parser.add_argument("--family", action="append", help="only these")
    parser.add_argument("--before", type=Path, help="the file of an earlier version, to compare with")
    parser.add_argument("--table", type=Path, help="write the table there")
    parser.add_argument("--only-table", action="store_true")
    options = parser.parse_args()
    done = rows_of(options.out)
    warnings.simplefilter("ignore")
    if not options.only_table:
        with options.out.open("a") as file:
            for family, count in COUNTS.items():
                for number in (
                    range(0, count, options.every) if not options.family or family in options.family else ()
                ):
                    key = (options.method, family, number)
                    if key in done:
                        continue
                    same = done.get((ITSELF, family, number))
                    if options.method == "auto" and same is not None and same.get("n", 1) > 1:
                        row = same | {"asked": "auto"}
                    else:
                        row = trial(family, number, options.method)
                    done[key] = row
                    file.write(json.dumps(row) + "\n")
                    file.flush()
    text = table(done, rows_of(options.before) if options.before else {})
    print(text)
    if options.table:
        options.table.write_text(text)


if __name__ == "__main__":
    main()
