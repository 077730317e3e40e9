"""``python -m benchmarks.structure``: the default with and without knowing which coordinates a component depends on.

A 200×200 matrix of rank five from 8,000 of its entries, with noise of 0.05, over a nuclear ball; and the text problems of
experiments/text.toml. Printed are the medians over seeds of the queries that a gap of 1e-3, 1e-6 and 1e-8 takes, of the queries that the
run ends with, and whether it ends certified.
"""

from __future__ import annotations

import argparse

import numpy as np

import zofw
from zofw.problems import Correntropy, Logistic, MatrixCompletion

GAPS = (1e-3, 1e-6, 1e-8)


def completion(side: int = 200, entries: int = 8000, rank: int = 5, share: float = 0.99, seed: int = 0):
    """A matrix from some of its entries, and a ball of slightly less than its nuclear norm."""
    rng = np.random.default_rng(seed)
    M = rng.standard_normal((side, rank)) @ rng.standard_normal((rank, side))
    row, column = np.unravel_index(rng.permutation(side * side)[:entries], M.shape)
    problem = MatrixCompletion(M.shape, row, column, M[row, column] + 0.05 * rng.standard_normal(entries))
    return problem, zofw.NuclearBall(share * float(np.linalg.norm(M, "nuc")), M.shape)


def problems(names: list[str]):
    """Name, problem, set."""
    if "completion" in names:
        yield "completion", *completion()
    for name, data, loss in (
        ("rcv1-logistic", "rcv1-subsets", Logistic),
        ("rcv1-correntropy", "rcv1-subsets", Correntropy),
        ("news20-logistic", "news20-binary", Logistic),
    ):
        if name in names:
            yield name, loss(*zofw.data.load(data)), zofw.L1Ball(20.0)


def main() -> None:
    parser = argparse.ArgumentParser()
    names = ["completion", "rcv1-logistic", "rcv1-correntropy", "news20-logistic"]
    parser.add_argument("--problems", nargs="+", default=names)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--budget", type=float, default=1e7)
    given = parser.parse_args()
    print(
        "| problem | default | gap at 10⁶ queries | queries to 1e-3 | to 1e-6 | to 1e-8 | ends after | certified |"
    )
    print("|---|---|---|---|---|---|---|---|")
    for name, problem, X in problems(given.problems):
        runs = {
            structure: [
                zofw.minimize(problem, X, budget=int(given.budget), rng=s, structure=structure, diagnose=1000)
                for s in range(given.seeds)
            ]
            for structure in (False, True)
        }
        best = min(float(run.trace.to_frame().fun.min()) for both in runs.values() for run in both)
        for structure, both in runs.items():
            reached, last = [], []
            for run in both:
                curve = run.trace.to_frame()
                gap, paid = curve.fun.to_numpy() - best, curve.nfev.to_numpy()
                reached.append([paid[gap <= g][0] if (gap <= g).any() else np.inf for g in GAPS])
                last.append(gap[paid <= 1e6][-1])
            cells = [f"{q:,.0f}" if np.isfinite(q) else "–" for q in np.median(reached, axis=0)]
            ends = f"{np.median([run.nfev for run in both]):,.0f}"
            sure = sum(run.status is zofw.Status.CONVERGED for run in both)
            line = "with structure" if structure else "without"
            print(
                f"| {name} | {line} | {np.median(last):.1e} | {' | '.join(cells)} | {ends} | {sure} of {len(both)} |",
                flush=True,
            )
        print(f"\n{name}: least value {best:.9g}")


if __name__ == "__main__":
    main()
