"""
Which sensors to keep
=====================

Sixty candidate sensors measure the plumes of eight chimneys. A weighted sum of a few readings should tell the total emission, and no
weight may exceed a limit. The k-sparse polytope is the convex hull of the weightings with eight readings at full weight. Each query
replays one recorded hour.
"""

import matplotlib.pyplot as plt
import numpy as np

import zofw

rng = np.random.default_rng(7)
sensors, chimneys, hours = rng.random((60, 2)), rng.random((8, 2)), 500
distance = ((sensors[:, None, :] - chimneys[None]) ** 2).sum(axis=2)
strength = rng.gamma(2.0, size=(hours, 8))
readings = strength @ np.exp(-distance / 0.01).T + 0.05 * rng.standard_normal((hours, 60))
emission = strength.mean(axis=1)


def replay(weights, batch):
    """Squared error of the weighted readings in the given hours."""
    return (weights @ readings[batch].T - emission[batch]) ** 2


# %%
# With d = 60 and n = 500, a full gradient costs 30,500 queries. ``diagnose=20`` puts the objective on the curve, with evaluations beyond
# the budget.

f = zofw.problems.BlackBox(replay, dim=60, n=hours, vectorized=True)
polytope = zofw.KSparse(8, radius=0.2)
result = zofw.minimize(f, polytope, budget=2_000_000, rng=0, diagnose=20)
order = np.argsort(-np.abs(result.x))
share = np.abs(result.x[order]).cumsum() / np.abs(result.x).sum()
kept = order[: int(np.searchsorted(share, 0.95)) + 1]
print(f"{result.nfev:,} replayed hours, {result.nlmo} vertices")
print(f"{len(kept)} of 60 sensors hold 95 % of the weight; mean squared error {result.fun:.4f}")
print(f"for comparison, the variance of the emission is {emission.var():.4f}")

# %%
figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4.4), layout="constrained")
left.scatter(*sensors.T, s=14, color="C7", label="candidates")
left.scatter(*chimneys.T, s=60, marker="^", color="C3", label="chimneys")
left.scatter(
    *sensors[kept].T, s=2500 * np.abs(result.x[kept]), alpha=0.5, color="C0", label="kept, by weight"
)
left.set_aspect("equal")
left.legend(frameon=False, loc="upper left", bbox_to_anchor=(0, 1.12), ncols=3, fontsize=8, markerscale=0.7)
result.plot(ax=right)
right.set_yscale("log")
plt.show()
