"""
Which sensors to keep
=====================

Sixty candidate sensors on a field; an operator wants the mean concentration over the whole of it from a weighted sum of
at most eight readings, no weight beyond a limit. The k-sparse polytope is the convex hull of exactly those weightings.
Each query is one replay of a recorded hour.
"""

import matplotlib.pyplot as plt
import numpy as np

import zofw

rng = np.random.default_rng(7)
sensors = rng.random((60, 2))
hours = 500
grid = np.stack(np.meshgrid(np.linspace(0, 1, 20), np.linspace(0, 1, 20)), axis=-1).reshape(-1, 2)


def plume(places, sources, strengths):
    """Concentration at given places of a few puffs."""
    distance = ((places[:, None, :] - sources[None]) ** 2).sum(axis=2)
    return np.exp(-distance / 0.08) @ strengths


readings, target = np.empty((hours, 60)), np.empty(hours)
for hour in range(hours):
    sources, strengths = rng.random((5, 2)), rng.gamma(2.0, size=5)
    readings[hour] = plume(sensors, sources, strengths) + 0.05 * rng.standard_normal(60)
    target[hour] = plume(grid, sources, strengths).mean()


# %%
def replay(weights, batch):
    """Squared error of the weighted readings in the given hours."""
    return (weights @ readings[batch].T - target[batch]) ** 2


f = zofw.problems.BlackBox(replay, dim=60, n=hours, vectorized=True)
polytope = zofw.KSparse(8, radius=0.12)
method = zofw.ZSFWDVR(
    batch_size=40, directions=20, law=zofw.Orthogonal(), initial="coordinate", step_size=zofw.ZOFW().step_size
)
result = zofw.minimize(f, polytope, method=method, budget=3_000_000, rng=0)
kept = np.argsort(-np.abs(result.x))[:8]
print(f"{result.nfev:,} replayed hours, {result.nlmo} vertices")
print(
    f"mean squared error {result.fun:.2e}, with equal weights {np.mean((readings.mean(1) - target) ** 2):.2e}"
)
print("the eight greatest weights:", result.x[kept].round(3))

# %%
figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4.4), layout="constrained")
left.scatter(*sensors.T, s=14, color="C7", label="candidates")
left.scatter(*sensors[kept].T, s=2500 * np.abs(result.x[kept]), alpha=0.5, label="kept")
left.set_aspect("equal")
left.legend(frameon=False, loc="upper left", bbox_to_anchor=(0, 1.12), ncols=2)
result.plot(ax=right)
right.set_yscale("log")
plt.show()
