"""``python -m benchmarks.pictures``: the pictures on the pages of the default methods, from one run each."""

from __future__ import annotations

from pathlib import Path

import numpy as np

import zofw
from zofw.algorithms.explore_correct.state import State
from zofw.references import reference

HERE = Path(__file__).parents[1] / "docs" / "methods"
WIDTH = 7.8  # inches: 780 pixels on the page
COLOURS = {"explore": "#56b4e9", "walk": "#009e73", "correct": "#1a56a8", "sweep": "#cc79a7",
           "certify": "#7a7a7a", "probe": "#111111"}  # fmt: skip


def plotting():
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    plt.rcParams |= {"font.size": 9, "axes.spines.top": False, "axes.spines.right": False}
    return plt


def explore_correct(path: Path) -> None:
    """Belief, atoms and budget of one run on the breast-cancer data."""
    Z, y = zofw.data.load("breast-cancer")
    problem, region = zofw.problems.Logistic(Z, y), zofw.L1Ball(10.0)
    best = reference(problem, region).value
    rows: list[dict[str, float]] = []
    weights: list[dict[bytes, float]] = []

    def watch(session: zofw.Session) -> None:
        state = session.state
        assert isinstance(state, State)
        belief, gradient = state.belief, problem.gradient(state.x)
        size = float(np.linalg.norm(gradient))
        rows.append(
            {
                "queries": session.nfev,
                "gap": max(problem.value(state.x) - best, 1e-12),
                "error": float(np.linalg.norm(belief.g - gradient)) / size,
                "believed": float(np.sqrt(problem.dim * belief.variance)) / size,
            }
            | {f"spent {name}": tally[1] for name, tally in state.tallies.items()}
        )
        atoms = zip(state.model.atoms, state.model.weights, strict=True)
        weights.append({atom.dense().tobytes(): float(w) for atom, w in atoms})

    zofw.minimize(
        problem, region, method="explore-correct", budget=400_000, rng=0, callback=watch, diagnose=0
    )
    queries = np.array([row["queries"] for row in rows])
    plt = plotting()
    figure, (left, middle, right) = plt.subplots(1, 3, figsize=(WIDTH, 3.1), layout="constrained")

    left.loglog(queries, [row["error"] for row in rows], color="#1a56a8", label="true error of g")
    left.loglog(
        queries, [row["believed"] for row in rows], "--", color="#d55e00", label="what the belief says"
    )
    left.set(title="Belief", xlabel="queries", ylabel="relative to the length of ∇f")
    left.legend(frameon=False, loc="center left")

    names = list(dict.fromkeys(key for row in weights for key in row))
    table = np.array([[row.get(key, 0.0) for row in weights] for key in names])
    order = np.argsort(-table[:, -1], kind="stable")
    middle.stackplot(
        queries, table[order], colors=[plt.get_cmap("tab20")(k % 20) for k in range(len(order))], lw=0
    )
    middle.set(
        title="Weights of the atoms",
        xlabel="queries",
        xscale="log",
        ylim=(0, 1),
        xlim=(queries[0], queries[-1]),
    )

    actions = [name for name in COLOURS if any(f"spent {name}" in row for row in rows)]
    spent = np.array([[row.get(f"spent {name}", 0.0) for row in rows] for name in actions])
    right.stackplot(
        queries, spent / np.maximum(spent.sum(axis=0), 1), colors=[COLOURS[a] for a in actions], lw=0
    )
    right.set(
        title="What the budget went on",
        xlabel="queries",
        xscale="log",
        ylim=(0, 1),
        xlim=(queries[0], queries[-1]),
    )
    low = 0.0
    for name, share in zip(actions, spent[:, -1] / spent[:, -1].sum(), strict=True):
        if share > 0.03:
            right.annotate(
                name, (1.02, low + share / 2), xycoords="axes fraction", va="center", color=COLOURS[name]
            )
        low += share
    figure.savefig(path, dpi=200)
    plt.close(figure)
    print(f"{path.name}: {len(rows)} iterations, {queries[-1]:,} queries, gap {rows[-1]['gap']:.1e}")


def interpolation(path: Path) -> None:
    """Every point that a run asked for, and the trust region, on Rosenbrock's valley in a disc."""

    def valley(x: np.ndarray) -> float:
        return float((1 - x[0]) ** 2 + 10 * (x[1] - x[0] ** 2) ** 2)

    points: list[np.ndarray] = []
    radii: list[tuple[int, float]] = []

    def asked(x: np.ndarray) -> float:
        points.append(np.array(x))
        return valley(x)

    def watch(session: zofw.Session) -> None:
        radii.append((session.nfev, session.info.numbers.get("radius", np.nan)))

    result = zofw.minimize(
        asked,
        zofw.L2Ball(1.2),
        x0=[-0.8, 0.6],
        method="interpolation",
        budget=80,
        rng=0,
        callback=watch,
        diagnose=0,
    )
    X = np.array(points)
    values = np.array([valley(x) for x in X])
    plt = plotting()
    figure, (left, right) = plt.subplots(
        1, 2, figsize=(WIDTH, 3.6), width_ratios=[1, 1.25], layout="constrained"
    )
    a, b = np.meshgrid(np.linspace(-1.35, 1.35, 200), np.linspace(-1.35, 1.35, 200))
    left.contour(
        a,
        b,
        np.log10(0.02 + (1 - a) ** 2 + 10 * (b - a**2) ** 2),
        levels=14,
        colors="#b0b0b0",
        linewidths=0.7,
    )
    left.add_patch(plt.Circle((0, 0), 1.2, fill=False, color="#111111", lw=1.2))
    seen = left.scatter(X[:, 0], X[:, 1], c=np.arange(len(X)), cmap="viridis", s=18, zorder=3)
    left.plot(*result.x, "*", color="#d55e00", ms=12, zorder=4)
    left.set(title="Points that were asked for", aspect="equal", xticks=[-1, 0, 1], yticks=[-1, 0, 1])
    figure.colorbar(seen, ax=left, label="evaluation", shrink=0.8)
    best = np.minimum.accumulate(values)
    right.semilogy(range(1, len(best) + 1), np.maximum(best - best[-1], 1e-12), color="#1a56a8")
    right.annotate("best value − last", (len(best) * 0.45, 0.2), color="#1a56a8")
    right.semilogy(*zip(*radii, strict=True), color="#d55e00")
    right.annotate("trust radius Δ", (len(best) * 0.5, 1.2), color="#d55e00")
    right.set(title="Progress", xlabel="evaluations", ylim=(1e-12, 10))
    figure.savefig(path, dpi=200)
    plt.close(figure)
    print(f"{path.name}: {len(X)} evaluations, value {result.fun:.3e}")


def main() -> None:
    explore_correct(HERE / "explore-correct.png")
    interpolation(HERE / "interpolation.png")


if __name__ == "__main__":
    main()
