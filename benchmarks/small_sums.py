"""``python -m benchmarks.small_sums``: are the components of a small sum better sampled, or asked all together?

Sums of n components in d variables over four sets, with budgets of 5, 10 and 30 whole values a variable: Explore-Correct, which samples
components, beside Interpolation, which asks for all of them at every point. A cell is a problem, a set and a budget. Its gaps are relative
to that of the start, the optimum is the lowest value of all runs on that problem, and gaps below 1e-9 are one.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

import zofw
from zofw.problems import BlackBox

VALUES = (5, 10, 30)  # whole values a variable
METHODS = ("explore-correct", "interpolation")
LOSSES: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "logistic": lambda margins: np.logaddexp(0.0, -margins),
    "squares": lambda margins: (margins - 1.0) ** 2,
    "hinge": lambda margins: np.maximum(0.0, 1.0 - margins),
}
TABLE = Path(__file__).parent.parent / "docs" / "comparison" / "small_sums.inc"


def problems(seeds: range) -> Iterator[tuple[str, int, BlackBox]]:
    """Margins of correlated normal samples, one component in ten with five times the length."""
    for seed in seeds:
        rng = np.random.default_rng(seed)
        for n in (10, 30, 100):
            for d in (5, 10, 20):
                Z = rng.standard_normal((n, d)) @ (np.eye(d) + 0.5 * rng.standard_normal((d, d)) / np.sqrt(d))
                Z[:: max(n // 10, 1)] *= rng.choice(
                    [1.0, 5.0], size=(len(Z[:: max(n // 10, 1)]), 1), p=[0.9, 0.1]
                )
                Z *= np.where(rng.random(n) < 0.5, -1.0, 1.0)[:, None]
                for name, loss in LOSSES.items():
                    yield (
                        name,
                        n,
                        BlackBox(lambda X, i, Z=Z, loss=loss: loss(X @ Z[i].T), dim=d, n=n, vectorized=True),
                    )


def gaps(f: BlackBox, region: zofw.sets.ConvexSet) -> np.ndarray:
    """log₁₀ of the gaps, budgets × methods, from a start given to both: the barycentre of a simplex, or 0."""
    everything = np.arange(f.n)
    x0 = np.full(f.dim, 1 / f.dim) if isinstance(region, zofw.Simplex) else np.zeros(f.dim)

    def value(x: np.ndarray) -> float:
        return float(f.values(x[None], everything).mean())

    def end(values: int, method: str) -> float:
        return value(zofw.minimize(f, region, x0=x0, budget=values * f.dim * f.n, rng=0, method=method).x)

    found = np.array([[end(m, method) for method in METHODS] for m in VALUES])
    lowest = found.min()
    return np.log10(np.maximum((found - lowest) / max(value(x0) - lowest, 1e-300), 1e-9))


def table(rows: list[tuple[str, int, np.ndarray]]) -> str:
    """By loss and by n: cells in which a method is ahead by a factor of two, and the mean exponents."""
    out = [
        "| sums | " + " | ".join(f"{m} values a variable" for m in VALUES) + " |",
        "|---" * (1 + len(VALUES)) + "|",
    ]
    groups = [(name, lambda row, name=name: row[0] == name) for name in LOSSES]
    groups += [(f"n = {n}", lambda row, n=n: row[1] == n) for n in (10, 30, 100)]
    for name, belongs in groups:
        cells = np.array(
            [gaps for loss, n, gaps in rows if belongs((loss, n))]
        )  # problems × budgets × methods
        texts = []
        for sampled, whole in np.moveaxis(cells, 0, -1):
            better, worse = np.mean(whole < sampled - np.log10(2)), np.mean(sampled < whole - np.log10(2))
            texts.append(f"{better:.0%} / {worse:.0%}; {sampled.mean():.1f}, {whole.mean():.1f}")
        out.append(f"| {name} | " + " | ".join(texts) + " |")
    return "\n".join(out) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, nargs=2, default=(40, 42), help="from, to")
    chosen = parser.parse_args()
    warnings.simplefilter("ignore")
    rows = []
    for loss, n, f in problems(range(*chosen.seeds)):
        box = zofw.Box(-np.full(f.dim, 0.5), np.full(f.dim, 0.5))
        rows += [
            (loss, n, gaps(f, region)) for region in (zofw.Simplex(), zofw.L1Ball(2.0), zofw.L2Ball(1.0), box)
        ]
    TABLE.write_text(table(rows), encoding="utf-8")
    print(table(rows))


if __name__ == "__main__":
    main()
