"""
A sparse classifier from loss values
====================================

A classifier is scored by somebody else: you send coefficients, you get the loss on any patient you name. Which few of the 30
measurements of a tumour matter? The :math:`\\ell_1` ball answers with sparse points, and Frank-Wolfe adds at most one
measurement a step.
"""

import matplotlib.pyplot as plt
import numpy as np

import zofw
from zofw import reference

Z, y = zofw.data.load("breast-cancer")
f = zofw.problems.Logistic(Z, y)
ball = zofw.L1Ball(3.0)

# %%
# Three methods, one budget. The best possible value comes from a first-order reference with its certificate; no method
# below sees it.

best = reference(f, ball, tol=1e-6)
methods = {
    "zo-sfw": zofw.papers.ZOSFW(batch_size=20, directions=10),
    "zo-fw": zofw.papers.ZOFW(),
    "jaguar": zofw.papers.JAGUAR(directions=3),
}
results = {name: zofw.minimize(f, ball, method=m, budget=600_000, rng=0) for name, m in methods.items()}
for name, result in results.items():
    print(
        f"{name:8s} {result.nfev:>9,} queries, gap {result.fun - best.value:.1e}, "
        f"{np.count_nonzero(np.abs(result.x) > 0.05)} of 30 measurements in use"
    )
print(f"{'reference':8s} {np.count_nonzero(np.abs(best.x) > 0.05)} measurements; {best.label}")

# %%
# ``zo-sfw`` moves after a few queries; the two others wait for a full gradient, 17,639 and 34,140 queries.

figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
for result in results.values():
    result.plot(optimum=best.value, ax=left)
right.stem(best.x, linefmt="C7-", markerfmt="C7o", basefmt=" ", label="reference")
right.stem(results["zo-fw"].x, linefmt="C1-", markerfmt="C1x", basefmt=" ", label="zo-fw")
right.set_xlabel("measurement")
right.set_ylabel("coefficient")
right.legend(frameon=False)
plt.show()
