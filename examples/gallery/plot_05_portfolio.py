"""
A portfolio under a risk simulator
==================================

A thousand simulated years, with fat tails and crises. To know a portfolio's certainty equivalent, you must play it through all of
them. No asset may hold more than a quarter: the set is a capped simplex.
"""

import matplotlib.pyplot as plt
import numpy as np

import zofw

rng = np.random.default_rng(11)
assets, scenarios, aversion = 12, 1_000, 3.0
mean = np.linspace(0.01, 0.10, assets)
spread = np.linspace(0.02, 0.32, assets)
market = rng.standard_t(4, size=(scenarios, 1))
own = rng.standard_t(4, size=(scenarios, assets))
crisis = (rng.random((scenarios, 1)) < 0.03) * np.linspace(0.0, 0.5, assets)
returns = np.clip(mean + spread * (0.6 * market + 0.8 * own) / np.sqrt(2.0) - crisis, -0.95, 1.5)


def disutility(weights, years):
    """exp(−a·return) of every portfolio (rows) in every scenario (columns)."""
    return np.exp(-aversion * weights @ returns[years].T)


# %%
# The default method, and three others for comparison. ``diagnose=30`` puts the objective on the curves, with evaluations beyond the budget.

f = zofw.problems.BlackBox(disutility, dim=assets, n=scenarios, vectorized=True)
capped = zofw.CappedSimplex(1.0, 0.25)
runs = {
    name: zofw.minimize(f, capped, method=method, budget=600_000, rng=0, diagnose=30)
    for name, method in {
        "default": "auto",
        "zo-sfw": zofw.papers.ZOSFW(batch_size=50, directions=6),
        "acc-szofw": zofw.papers.AccSZOFW(),
        "zo-fw": zofw.papers.ZOFW(),
    }.items()
}
for name, run in runs.items():
    print(
        f"{name:10s} {run.nfev:,} queries, {run.nit} iterations, "
        f"certainty equivalent {-np.log(run.fun) / aversion:+.4f}"
    )

# %%
figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
for run in runs.values():
    run.plot(ax=left)
right.bar(range(assets), runs["default"].x, color="C0")
right.axhline(0.25, color="C7", linestyle="--", linewidth=1)
right.set_xlabel("asset, from safe to risky")
right.set_ylabel("weight")
plt.show()
