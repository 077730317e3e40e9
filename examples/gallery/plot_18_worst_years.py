"""
A portfolio for the worst years
===============================

Two hundred scenarios of a year for twelve assets in three groups. The mean loss of the worst tenth (CVaR) is to be small. No asset may hold
more than a quarter, and no group more than half. Every scenario is a component, so the method models each one's loss and minimises the
CVaR of all models.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.optimize import Bounds, LinearConstraint

import zofw

rng = np.random.default_rng(5)
assets, years, groups = 12, 200, np.repeat(np.arange(3), 4)
mean, spread = np.linspace(0.01, 0.12, assets), np.linspace(0.03, 0.35, assets)
market = rng.standard_t(4, size=(years, 1))
own = rng.standard_t(4, size=(years, assets))
returns = np.clip(mean + spread * (0.6 * market + 0.8 * own) / np.sqrt(2), -0.9, 1.5)


def loss(weights, year):
    """The loss in one scenario, with a price for trading away from equal weights."""
    return float(-weights @ returns[year] + 0.02 * np.sum(np.abs(weights - 1 / assets) ** 1.5))


members = [
    LinearConstraint(np.ones(assets), 1, 1),
    LinearConstraint((groups == np.arange(3)[:, None]).astype(float), -np.inf, 0.5),
    Bounds(0, 0.25),
]

# %%
# The same set and budget for three functions of the scenarios: fifty portfolios, each played through all years.

runs = {
    name: zofw.minimize(
        loss, members, x0=np.full(assets, 1 / assets), n=years, outer=outer, budget=50 * years, rng=0
    )
    for name, outer in {
        "mean": zofw.outer.Mean(),
        "CVaR of 10 %": zofw.outer.CVaR(0.9),
        "worst year": zofw.outer.Worst(),
    }.items()
}
tail = zofw.outer.CVaR(0.9)
for name, run in runs.items():
    losses = np.array([loss(run.x, year) for year in range(years)])
    print(
        f"{name:13s} mean {losses.mean():+.4f}, CVaR {tail.of(losses[None])[0]:+.4f}, worst {losses.max():+.4f}"
    )

# %%
figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
for k, (name, run) in enumerate(runs.items()):
    left.hist([loss(run.x, year) for year in range(years)], bins=40, histtype="step", label=name)
    right.bar(np.arange(assets) + 0.25 * (k - 1), run.x, width=0.25)
left.set_xlabel("loss in a year")
left.legend(frameon=False)
right.axhline(0.25, color="C7", linestyle="--", linewidth=1)
right.set_xlabel("asset, from safe to risky, in groups of four")
right.set_ylabel("weight")
plt.show()
