"""
Matching two maps
=================

Two surveys of the same ten stations, in different order, each knowing only its own distances. A mismatch score says how
badly a proposed matching fits; it is defined for soft matchings too, the doubly stochastic matrices. Their vertices are the
permutations, and the oracle is an assignment problem.
"""

import matplotlib.pyplot as plt
import numpy as np

import zofw

rng = np.random.default_rng(4)
size = 10
stations = rng.random((size, 2))
order = rng.permutation(size)


def distances(places):
    return np.linalg.norm(places[:, None] - places[None], axis=2)


first = distances(stations)
second = distances(stations[order]) + 0.005 * rng.standard_normal((size, size))


def mismatch(X, batch):
    """‖AP − PB‖² for every proposed P."""
    P = X.reshape(len(X), size, size)
    return ((first @ P - P @ second) ** 2).sum(axis=(1, 2))[:, None]


# %%
f = zofw.problems.BlackBox(mismatch, dim=size**2, vectorized=True)
birkhoff = zofw.Birkhoff(size)
result = zofw.minimize(f, birkhoff, method="zo-fw", budget=40_000, diagnose=20)
soft = result.x.reshape(size, size)
hard = birkhoff.lmo(-soft)
right = int((np.argmax(hard, axis=0) == order).sum())
print(f"{result.nfev:,} scores, mismatch {result.fun:.2e} from {result.trace.objective[0]:.2e}")
print(f"nearest permutation: {right} of {size} stations matched correctly")

# %%
figure, axes = plt.subplots(1, 3, figsize=(11, 3.6), layout="constrained", width_ratios=[1, 1, 1.4])
axes[0].imshow(soft, cmap="Blues", vmin=0, vmax=1)
axes[0].set_title("soft matching", fontsize=10)
axes[1].imshow(hard, cmap="Blues", vmin=0, vmax=1)
axes[1].plot(np.arange(size), order, "C3x")
axes[1].set_title("its permutation, and the truth (x)", fontsize=10)
result.plot(ax=axes[2])
axes[2].set_yscale("log")
plt.show()
