"""
A data mixture for a language model
===================================

The RegMix study trained 512 small language models, each on another mixture of 17 domains of The Pile, and measured the loss of each
model on 13 validation sets. Which mixture is best? The weights sum to one, so the set is a simplex. No softmax is needed.

Training a model for every question costs too much. We fit a surrogate to the 512 runs (1M parameters) and optimise the mixture
from its values. So every loss of a new mixture on this page is a prediction. No model was trained on it.

The data are those of the RegMix study (MIT licence). Put its csv files into a folder ``regmix`` under ``ZOFW_DATA``. Without them
this page uses 512 invented runs, and says so.
"""

import itertools
import os
from pathlib import Path

import cma
import matplotlib.pyplot as plt
import numpy as np
from scipy.optimize import LinearConstraint, minimize
from scipy.stats import spearmanr

import zofw

folder = Path(os.environ.get("ZOFW_DATA", "")) / "regmix"


def runs(name):
    """Mixtures (rows sum to one) and the mean of the 13 losses of models trained on them."""
    mixture, loss = (
        np.loadtxt(folder / f"{kind}.csv", delimiter=",", skiprows=1)
        for kind in (name.replace("_", "_mixture_"), name.replace("_", "_pile_loss_"))
    )
    loss = loss[np.argsort(loss[:, 0])[np.argsort(np.argsort(mixture[:, 0]))], 1:].mean(axis=1)
    return mixture[:, 1:] / mixture[:, 1:].sum(axis=1, keepdims=True), loss


def invented(count, seed):
    """Mixtures and losses of no model: only for machines without the data."""
    rng = np.random.default_rng(seed)
    worth = np.random.default_rng(0).uniform(0.2, 1.5, 17)
    X = rng.dirichlet(np.full(17, 0.3), count)
    return X, 6 - np.sqrt(X) @ worth + 0.02 * rng.standard_normal(count)


real = folder.is_dir()
if real:
    print("RegMix: 512 models of 1M parameters; held out: 256 of 1M, 256 of 60M, 64 of 1B.")
    X, loss = runs("train_1m")
    held_out = {
        scale: runs(f"test_{scale.lower() if scale != '1B' else scale}") for scale in ("1M", "60M", "1B")
    }
else:
    print(
        "No folder regmix under ZOFW_DATA: what follows is about 512 invented runs, not about language models."
    )
    X, loss = invented(512, 1)
    held_out = {"invented": invented(256, 2)}

# %%
# The surrogate
# -------------
# We use kernel ridge regression on the square roots of the weights: the first per cent of a domain matters more than the tenth. The
# width of the kernel and the ridge are chosen by cross-validation on the 512 training runs alone. The held-out runs are not used for
# any choice; they only show how well the surrogate ranks mixtures, at the scale it was fitted to and beyond.


def squares(A, B):
    return ((np.sqrt(A)[:, None] - np.sqrt(B)) ** 2).sum(axis=2)


def fit(distances, loss, width, ridge):
    """Coefficients of the kernel at each run."""
    return np.linalg.solve(np.exp(-width * distances) + ridge * np.eye(len(loss)), loss - loss.mean())


def surrogate(X, loss, width, ridge):
    """w ↦ predicted loss."""
    c, mean = fit(squares(X, X), loss, width, ridge), loss.mean()
    return lambda w: float(np.exp(-width * squares(w[None], X)[0]) @ c + mean)


def validated(X, loss, folds=5):
    """Width and ridge with the least error on runs left out, and that error."""
    distances, fold = squares(X, X), np.random.default_rng(0).permutation(len(X)) % folds
    errors = {}
    for choice in itertools.product((0.003, 0.01, 0.03, 0.1, 0.3), (1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2)):
        residuals = []
        for k in range(folds):
            inside, outside = np.flatnonzero(fold != k), np.flatnonzero(fold == k)
            c = fit(distances[np.ix_(inside, inside)], loss[inside], *choice)
            kernel = np.exp(-choice[0] * distances[np.ix_(outside, inside)])
            residuals.append(kernel @ c + loss[inside].mean() - loss[outside])
        errors[choice] = np.sqrt(np.mean(np.concatenate(residuals) ** 2))
    best = min(errors, key=errors.get)
    return best, errors[best]


choice, error = validated(X, loss)
f = surrogate(X, loss, *choice)
print(f"kernel width {choice[0]:g}, ridge {choice[1]:g}: error {error:.3f} in cross-validation")
for scale, (X_test, loss_test) in held_out.items():
    order = spearmanr([f(w) for w in X_test], loss_test).statistic
    print(f"rank correlation with {len(X_test)} held-out runs ({scale}): {order:.3f}")

# %%
# The mixture
# -----------
# Every tool gets 1,000 values of the surrogate and starts from the best of the 512 runs. ``known`` takes the runs, at no charge.

budget = 1_000
best = X[np.argmin([f(w) for w in X])]


class Counted:
    """The surrogate, with all its values and the best point."""

    def __init__(self):
        self.values, self.x = [], None

    def __call__(self, w):
        value = f(w)
        if self.x is None or value < min(self.values):
            self.x = np.array(w)
        self.values.append(value)
        return value


found = {}
ours = found["zofw"] = Counted()
result = zofw.minimize(
    ours, "simplex", known=(X, [f(w) for w in X]), budget=budget - 1, rng=0, inside=True, diagnose=0
)
ours(zofw.Simplex().clip(result.x))

chance = found["random mixtures"] = Counted()
for w in np.random.default_rng(0).dirichlet(np.ones(17), budget):
    chance(w)

softmax = found["CMA with softmax"] = Counted()


def through_softmax(z):
    w = np.exp(z - z.max())
    return softmax(w / w.sum())


cma.fmin2(through_softmax, np.log(best + 1e-3), 1.0, {"maxfevals": budget, "seed": 1, "verbose": -9})

slsqp = found["SLSQP"] = Counted()
sums_to_one = LinearConstraint(np.ones(17), 1, 1)


def projected(w):
    return slsqp(zofw.Simplex().clip(w))  # its differences leave the simplex


minimize(
    projected, best, method="SLSQP", bounds=[(0, 1)] * 17, constraints=[sums_to_one], options={"maxiter": 50}
)

print(f"\n{'':18s} evaluations   surrogate   surrogates fitted to the held-out runs alone")
judges = {scale: surrogate(*pair, *choice) for scale, pair in held_out.items()}
for name, counted in {"best of the runs": None, **found}.items():
    w, count = (best, 0) if counted is None else (counted.x, len(counted.values))
    print(
        f"{name:18s} {count:11,}   {f(w):9.4f}   "
        + "   ".join(f"{s} {judge(w):.4f}" for s, judge in judges.items())
    )
for column, judge in {"surrogate": f, **judges}.items():
    order = sorted(found, key=lambda name: judge(found[name].x))
    print(f"from best to worst, {column}: {', '.join(order)}")

# %%
# The last columns are the check: surrogates fitted to the held-out models alone, at each scale, with the same width and ridge. Nothing
# was optimised on them. Every optimiser beats the best of the 512 runs in every column.
#
# No optimiser is best in every column, as the last lines say. The surrogate is smooth and free of noise, so SLSQP with its differences
# does as well on it as zofw. At 1B the mixture of another tool can be ahead of ours. The differences between zofw, SLSQP and CMA are a
# tenth of the surrogate's error in cross-validation: this page shows how to optimise a mixture, not that one of the three is better.

figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
for name, counted in found.items():
    curve = np.minimum.accumulate(counted.values)
    ours = name == "zofw"
    left.plot(range(1, len(curve) + 1), curve, color="C0" if ours else "0.6", lw=2.2 if ours else 1.2)
    left.annotate(name, (len(curve), curve[-1]), xytext=(4, 0), textcoords="offset points", fontsize=8)
left.set(
    xscale="log", xlim=(1, 9 * budget), xlabel="values of the surrogate", ylabel="predicted loss, best so far"
)
shown = np.argsort(found["zofw"].x)[::-1][:8]
right.barh(range(8), found["zofw"].x[shown], color="C0", label="zofw")
right.plot(best[shown], range(8), "k|", markersize=12, label="best of the runs")
right.set(xlabel="weight", yticks=range(8), yticklabels=[f"domain {i}" for i in shown])
right.invert_yaxis()
right.legend(frameon=False, fontsize=8)
if real:
    names = (folder / "train_mixture_1m.csv").read_text().splitlines()[0].split(",")[1:]
    right.set_yticklabels([names[i].removeprefix("train_the_pile_") for i in shown], fontsize=8)
plt.show()
