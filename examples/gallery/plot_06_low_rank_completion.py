"""
A low-rank matrix from a score
==============================

A recommendation service scores a whole table of predictions with one number: the mean squared error on ratings that it keeps secret.
It does not say which entries it scores, nor how wrong any of them is. The nuclear ball makes the answer low-rank; its atoms are
outer products.
"""

import matplotlib.pyplot as plt
import numpy as np

import zofw

rng = np.random.default_rng(2)
shape = (14, 10)
truth = rng.standard_normal((shape[0], 2)) @ rng.standard_normal((2, shape[1]))
seen = rng.random(shape) < 0.75


def score(X, batch):
    """The service: one number for each table."""
    error = (X - truth.ravel()) ** 2 * seen.ravel()
    return error.sum(axis=1, keepdims=True) / seen.sum()


# %%
# One component, 140 dimensions, and a score that is quick to compute: ``explore-correct`` takes less time per query than the default,
# ``interpolation``. ``diagnose=20`` puts the score on the curve, with evaluations beyond the budget.

f = zofw.problems.BlackBox(score, dim=truth.size, vectorized=True)
ball = zofw.NuclearBall(np.linalg.svd(truth, compute_uv=False).sum(), shape)
result = zofw.minimize(f, ball, method="explore-correct", budget=12_000, rng=0, diagnose=20)
found = result.x.reshape(shape)
print(f"{result.nfev:,} scores asked, mean squared error {result.fun:.2e}")
unseen = np.abs(found - truth)[~seen].mean() / np.abs(truth)[~seen].mean()
print(f"entries that are never scored: relative error {unseen:.0%}")
print("singular values:", np.linalg.svd(found, compute_uv=False).round(2)[:4])

# %%
figure, axes = plt.subplots(1, 4, figsize=(11, 3.6), layout="constrained", width_ratios=[1, 1, 1, 1.4])
limit = np.abs(truth).max()
for ax, (title, matrix) in zip(
    axes,
    {"truth": truth, "what is scored": np.where(seen, truth, np.nan), "found": found}.items(),
    strict=False,
):
    ax.imshow(matrix, cmap="RdBu", vmin=-limit, vmax=limit)
    ax.set_title(title, fontsize=10)
    ax.set_xticks([])
    ax.set_yticks([])
result.plot(optimum=0.0, ax=axes[3])
plt.show()
