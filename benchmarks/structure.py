"""``python -m benchmarks.structure``: the default with and without knowing which coordinates a component depends on.

A 200×200 matrix of rank five from 8,000 of its entries, with noise of 0.05, over a nuclear ball; the text problems of
experiments/text.toml; and components that are no ridge functions: a hundred sensors in a square, found from distances, and a
grid of 400 knots whose 760 edges bend, over a box. Printed are the medians over seeds of the queries that a gap of 1e-3, 1e-6 and 1e-8 takes, of the queries that the
run ends with, and whether it ends certified.
"""

from __future__ import annotations

import argparse

import numpy as np

import zofw
from zofw.problems import BlackBox, Correntropy, Logistic, MatrixCompletion
from zofw_paper.data import load

GAPS = (1e-3, 1e-6, 1e-8)


def completion(side: int = 200, entries: int = 8000, rank: int = 5, share: float = 0.99, seed: int = 0):
    """A matrix from some of its entries, and a ball of slightly less than its nuclear norm."""
    rng = np.random.default_rng(seed)
    M = rng.standard_normal((side, rank)) @ rng.standard_normal((rank, side))
    row, column = np.unravel_index(rng.permutation(side * side)[:entries], M.shape)
    problem = MatrixCompletion(M.shape, row, column, M[row, column] + 0.05 * rng.standard_normal(entries))
    return problem, zofw.NuclearBall(share * float(np.linalg.norm(M, "nuc")), M.shape)


def sensors(count: int = 100, reach: float = 0.2, seed: int = 0):
    """Places in a square from the distances of neighbours and to nine fixed points; it starts from places off by about 0.05."""
    rng = np.random.default_rng(seed)
    places, fixed = (
        rng.random((count, 2)),
        np.stack(np.meshgrid(*[[0.1, 0.5, 0.9]] * 2), axis=-1).reshape(-1, 2),
    )
    far = np.linalg.norm(places[:, None] - places, axis=2)
    pairs = np.argwhere(np.triu(far < reach, 1))
    links = np.argwhere(np.linalg.norm(places[:, None] - fixed, axis=2) < 2 * reach)
    ends = np.concatenate([pairs, links + [0, count]])  # the second end is fixed from ``count`` on
    all_places = np.concatenate([places, fixed])
    length = ((all_places[ends[:, 0]] - all_places[ends[:, 1]]) ** 2).sum(axis=1)

    def squares(X, batch):
        where = np.concatenate([X.reshape(len(X), count, 2), np.broadcast_to(fixed, (len(X), 9, 2))], axis=1)
        apart = where[:, ends[batch, 0]] - where[:, ends[batch, 1]]
        return ((apart**2).sum(axis=2) - length[batch]) ** 2

    support = [[2 * k + c for k in pair if k < count for c in (0, 1)] for pair in ends]
    problem = BlackBox(squares, dim=2 * count, n=len(ends), vectorized=True, support=support)
    x0 = np.clip(places + 0.05 * rng.standard_normal(places.shape), 0.0, 1.0).ravel()
    return problem, zofw.Box(0.0, 1.0), x0


def grid(side: int = 20, seed: int = 0):
    """f_ij(x) = √(1 + u²) − 1 + (x_i − x_j)²/10 + (x_j − t_j)⁴/10 with u = x_i exp(x_j) − t_i on the edges of a grid."""
    rng = np.random.default_rng(seed)
    knot = np.arange(side * side).reshape(side, side)
    across = np.stack([knot[:, :-1].ravel(), knot[:, 1:].ravel()], axis=1)
    edges = np.concatenate([across, np.stack([knot[:-1].ravel(), knot[1:].ravel()], axis=1)])
    t = rng.random(side * side)

    def bent(X, batch):
        i, j = edges[batch].T
        u = X[:, i] * np.exp(X[:, j]) - t[i]
        return np.sqrt(1 + u * u) - 1 + 0.1 * (X[:, i] - X[:, j]) ** 2 + 0.1 * (X[:, j] - t[j]) ** 4

    problem = BlackBox(bent, dim=side * side, n=len(edges), vectorized=True, support=list(edges))
    return problem, zofw.Box(0.0, 1.0), None


def problems(names: list[str]):
    """Name, problem, set, start."""
    if "completion" in names:
        yield "completion", *completion(), None
    if "sensors" in names:
        yield "sensors", *sensors()
    if "grid" in names:
        yield "grid", *grid()
    for name, data, loss in (
        ("rcv1-logistic", "rcv1-subsets", Logistic),
        ("rcv1-correntropy", "rcv1-subsets", Correntropy),
        ("news20-logistic", "news20-binary", Logistic),
    ):
        if name in names:
            yield name, loss(*load(data)), zofw.L1Ball(20.0), None


def main() -> None:
    parser = argparse.ArgumentParser()
    names = ["completion", "sensors", "grid", "rcv1-logistic", "rcv1-correntropy", "news20-logistic"]
    parser.add_argument("--problems", nargs="+", default=names)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--budget", type=float, default=1e7)
    given = parser.parse_args()
    print(
        "| problem | default | gap at 10⁶ queries | queries to 1e-3 | to 1e-6 | to 1e-8 | ends after | certified |"
    )
    print("|---|---|---|---|---|---|---|---|")
    for name, problem, X, x0 in problems(given.problems):
        runs = {
            structure: [
                zofw.minimize(
                    problem,
                    X,
                    x0=x0,
                    budget=int(given.budget),
                    rng=s,
                    options={"structure": structure},
                    diagnose=1000,
                )
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
