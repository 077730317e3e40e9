"""``python -m benchmarks.peers``: what people use today, on the same problems with the same budgets, in one run.

Sparse logistic regression over an ℓ1 ball, at d = 30, 123 and 300. An evaluation is that of the whole sum: n queries. Every
tool is given its problem as it wants it: COBYQA and COBYLA a constraint ‖x‖₁ ≤ r, Frank-Wolfe with finite differences the
linear minimisation oracle, the others a function of an unconstrained z that is evaluated at the projection of z. The value
kept for all of them is the best of f at the projection of any point that they asked for, which flatters those that evaluate
outside the set; that projection's value is not charged. zofw is run twice: with the components, and with the sum alone, as
everybody else has it; its value is that of its iterate, and it is not told which coordinates a component depends on.
"""

from __future__ import annotations

import argparse
import csv
import time
import warnings
from pathlib import Path

import numpy as np

import zofw
from zofw.references import reference
from zofw_paper.data import load

SECONDS = 120.0  # a run that has not spent its budget by then is stopped, and said to have been
SHOWN = (30, 100, 300, 1000)
SPREAD = 0.2  # standard deviation or trust region with which those begin that want one
HERE = Path(__file__).parents[1] / "docs" / "comparison"


class Spent(Exception):
    """The budget or the time is at an end."""


class Oracle:
    """The mean of all components, counted; the best value so far is kept after every evaluation."""

    def __init__(self, problem, set, evaluations):
        self.problem, self.set, self.evaluations = problem, set, evaluations
        self.best, self.begun = [problem.value(set.initial_point(problem.dim))], time.monotonic()

    def __call__(self, x):
        x = np.asarray(x, dtype=float)
        if len(self.best) > self.evaluations or time.monotonic() - self.begun > SECONDS:
            raise Spent
        inside = self.problem.value(self.set.project(x))
        self.best.append(min(self.best[-1], inside))
        return self.problem.value(x)

    def projected(self, z):
        return self(self.set.project(np.asarray(z, dtype=float)))


def cobyqa(oracle, dim, seed, method="COBYQA"):
    from scipy.optimize import NonlinearConstraint, minimize

    ball = NonlinearConstraint(lambda x: np.abs(x).sum(), -np.inf, oracle.set.radius)
    minimize(
        oracle, np.zeros(dim), method=method, constraints=[ball], options={"maxiter": 10 * oracle.evaluations}
    )


def cobyla(oracle, dim, seed):
    cobyqa(oracle, dim, seed, "COBYLA")


def slsqp(oracle, dim, seed):
    """On x = u − v with u, v ≥ 0 and Σ(u + v) ≤ r, which is the ball; d + 1 evaluations for a gradient in x."""
    from scipy.optimize import Bounds, LinearConstraint, approx_fprime, minimize

    r = oracle.set.radius

    def gradient(z):
        g = approx_fprime(z[:dim] - z[dim:], oracle)
        return np.concatenate([g, -g])

    minimize(
        lambda z: oracle(z[:dim] - z[dim:]),
        np.zeros(2 * dim),
        method="SLSQP",
        jac=gradient,
        bounds=Bounds(np.zeros(2 * dim), np.full(2 * dim, r)),
        constraints=LinearConstraint(np.ones(2 * dim), -np.inf, r),
        options={"maxiter": 10 * oracle.evaluations},
    )


def pycma(oracle, dim, seed):
    import cma

    options = {"seed": seed + 1, "verbose": -9, "maxfevals": oracle.evaluations}
    cma.fmin2(oracle.projected, np.zeros(dim), SPREAD, options)


def nevergrad(name):
    def run(oracle, dim, seed):
        import nevergrad as ng

        space = ng.p.Array(init=np.zeros(dim)).set_mutation(sigma=SPREAD)
        space.random_state.seed(seed)
        ng.optimizers.registry[name](space, budget=oracle.evaluations).minimize(oracle.projected)

    return run


def optuna_cma(oracle, dim, seed):
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    study = optuna.create_study(
        sampler=optuna.samplers.CmaEsSampler(x0=dict.fromkeys(map(str, range(dim)), 0.0), seed=seed)
    )
    r = oracle.set.radius
    study.optimize(
        lambda trial: oracle.projected([trial.suggest_float(str(k), -r, r) for k in range(dim)]),
        n_trials=oracle.evaluations,
    )


def copt_differences(oracle, dim, seed):
    import copt
    from scipy.optimize import approx_fprime  # copt 0.9.2's own jac="2-point" fails: it unpacks a float

    lmo = copt.constraint.L1Ball(oracle.set.radius).lmo
    copt.minimize_frank_wolfe(
        oracle, np.zeros(dim), lmo, jac=lambda x: approx_fprime(x, oracle), max_iter=10**6, tol=0.0
    )


TOOLS = {
    "SciPy COBYQA": cobyqa,
    "SciPy COBYLA": cobyla,
    "SciPy SLSQP": slsqp,
    "pycma": pycma,
    "nevergrad CMA": nevergrad("CMA"),
    "nevergrad SPSA": nevergrad("SPSA"),
    "Optuna CMA-ES": optuna_cma,
    "copt, differences": copt_differences,
}
DETERMINISTIC = ("SciPy COBYQA", "SciPy COBYLA", "SciPy SLSQP", "copt, differences")


def theirs(tool, problem, set, seed, evaluations):
    """Best values after each evaluation, seconds, and why it ended early if it did."""
    oracle, why = Oracle(problem, set, evaluations), ""
    begin = time.monotonic()
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            TOOLS[tool](oracle, problem.dim, seed)
    except Spent:
        why = f"stopped after {SECONDS:g} s" if len(oracle.best) <= evaluations else ""
    seconds, asked = time.monotonic() - begin, len(oracle.best) - 1
    if asked < evaluations:
        why = f"{why or 'ended by itself'}, {asked} evaluations"
    return np.array(oracle.best), seconds, why


def ours(problem, set, seed, evaluations, *, components):
    """Values of the iterate after each evaluation."""
    f, each = (problem, problem.n) if components else (_sum(problem), 1)
    begin = time.monotonic()
    result = zofw.minimize(
        f, set, budget=each * evaluations, rng=seed, diagnose=60, options={"structure": False}
    )
    seconds = time.monotonic() - begin
    spent, values = np.array(result.trace.queries) / each, np.array(result.trace.objective)
    held = values[np.searchsorted(spent, np.arange(evaluations + 1), side="right") - 1]
    return held, seconds, ""


def _sum(problem):
    return zofw.problems.BlackBox(problem.value, dim=problem.dim)


def problems():
    """Name, problem, set."""
    from sklearn.datasets import load_breast_cancer

    table = load_breast_cancer()
    Z = (table.data - table.data.mean(0)) / table.data.std(0)
    yield "breast cancer", zofw.problems.Logistic(Z, np.where(table.target, 1.0, -1.0)), zofw.L1Ball(2.0)
    for name in ("a9a", "w8a"):
        yield name, zofw.problems.Logistic(*load(name)), zofw.L1Ball(2.0)


def measure(seeds, evaluations, names=(), tools=()):
    """Rows of (problem, d, tool, gap at each shown number of evaluations, seconds, remark)."""
    for name, problem, set in problems():
        if names and name not in names:
            continue
        best = reference(problem, set).value
        runs = {
            "zofw": lambda seed, p=problem, s=set: ours(p, s, seed, evaluations, components=True),
            "zofw, sum alone": lambda seed, p=problem, s=set: ours(p, s, seed, evaluations, components=False),
        } | {
            tool: lambda seed, t=tool, p=problem, s=set: theirs(t, p, s, seed, evaluations) for tool in TOOLS
        }
        for tool, run in runs.items():
            if tools and tool not in tools:
                continue
            found = [run(seed) for seed in (seeds[:1] if tool in DETERMINISTIC else seeds)]
            gaps = {
                at: float(np.median([values[min(at, len(values) - 1)] for values, _, _ in found]) - best)
                for at in SHOWN
                if at <= evaluations
            }
            yield {
                "problem": name,
                "d": problem.dim,
                "n": problem.n,
                "tool": tool,
                **{f"gap_{at}": max(gap, 0.0) for at, gap in gaps.items()},
                "seconds": float(np.median([seconds for _, seconds, _ in found])),
                "remark": found[0][2],
            }


def markdown(rows):
    """The rows as a table for each problem."""
    lines = []
    for name in dict.fromkeys(row["problem"] for row in rows):
        chosen = [row for row in rows if row["problem"] == name]
        shown = [key for key in chosen[0] if key.startswith("gap_")]
        lines += [f"## {name}: d = {chosen[0]['d']}, n = {int(chosen[0]['n']):,}", ""]
        head = ["tool", *(f"gap at {int(key[4:]):,}" for key in shown), "seconds", ""]
        lines += [f"| {' | '.join(head)} |", f"|{'---|' * len(head)}"]
        for row in sorted(chosen, key=lambda row: row[shown[-1]]):
            cells = [
                row["tool"],
                *(f"{row[key]:.1e}" for key in shown),
                f"{row['seconds']:.1f}",
                row["remark"],
            ]
            lines.append(f"| {' | '.join(cells)} |")
        lines.append("")
    return "\n".join(lines)


WIDTH = 6.2  # inches: 620 pixels on the page, where a point is then 1.4 pixels
LINES = {"zofw": ("#1a56a8", "o-", 2.2), "zofw, sum alone": ("#d55e00", "o-", 2.2)}
GREYS = ("#4d4d4d", "#7a7a7a", "#a0a0a0")


def draw(rows, path):
    """Gap against evaluations, one panel a problem, at the size at which the page shows it."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    names = list(dict.fromkeys(row["problem"] for row in rows))
    others = [tool for tool in dict.fromkeys(row["tool"] for row in rows) if tool not in LINES]
    style = LINES | {
        tool: (GREYS[k % len(GREYS)], ("-", "--", ":")[k // len(GREYS)], 1.3) for k, tool in enumerate(others)
    }
    with plt.rc_context({"font.size": 9}):
        figure, axes = plt.subplots(
            1, len(names), figsize=(WIDTH, 3.9), squeeze=False, sharey=True, layout="constrained"
        )
        for axis, name in zip(axes[0], names, strict=True):
            for row in (row for row in rows if row["problem"] == name):
                shown = [key for key in row if key.startswith("gap_")]
                colour, line, width = style[row["tool"]]
                axis.loglog(
                    [int(key[4:]) for key in shown], [max(row[key], 1e-14) for key in shown],
                    line, color=colour, lw=width, ms=4, label=row["tool"], zorder=3 if width > 2 else 2,
                )  # fmt: skip
            axis.set_title(f"{name}, d = {row['d']}", fontsize=10)
            axis.set_xlabel("evaluations")
            axis.grid(alpha=0.25)
        axes[0][0].set_ylabel("objective − optimum")
        handles, labels = axes[0][0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=3, frameon=False)
        figure.savefig(path, dpi=200)
        plt.close(figure)


def stored(path):
    """Rows of an earlier run."""
    with path.open(newline="") as stream:
        return [
            {
                key: float(value) if key.startswith("gap_") or key == "seconds" else value
                for key, value in row.items()
            }
            for row in csv.DictReader(stream)
        ]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--evaluations", type=int, default=1000)
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    parser.add_argument("--problem", action="append", default=[], help="one of them alone; may be repeated")
    parser.add_argument("--tool", action="append", default=[], help="likewise; the rows of the others stay")
    parser.add_argument("--out", type=Path, default=HERE)
    parser.add_argument("--draw", action="store_true", help="draw what was measured before")
    chosen = parser.parse_args()
    if chosen.draw:
        draw(stored(chosen.out / "peers.csv"), chosen.out / "peers.png")
        return
    chosen.out.mkdir(parents=True, exist_ok=True)
    rows = []
    for row in measure(chosen.seeds, chosen.evaluations, chosen.problem, chosen.tool):
        rows.append(row)
        print(
            {key: f"{value:.2e}" if isinstance(value, float) else value for key, value in row.items()},
            flush=True,
        )
    if chosen.problem or chosen.tool:
        held = {(row["problem"], row["tool"]): row for row in stored(chosen.out / "peers.csv")}
        rows = [*(held | {(row["problem"], row["tool"]): row for row in rows}).values()]
    with (chosen.out / "peers.csv").open("w", newline="") as stream:
        writer = csv.DictWriter(stream, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    (chosen.out / "peers.inc").write_text(markdown(rows), encoding="utf-8")
    draw(rows, chosen.out / "peers.png")


if __name__ == "__main__":
    main()
