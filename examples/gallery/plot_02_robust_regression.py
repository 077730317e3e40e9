"""
Robust regression
=================

One in five of the targets is wrong, and badly. Least squares follows them; the correntropy loss stops listening to a
residual that is much larger than :math:`\\sigma`. It is not convex, which a method from values does not mind.
"""

import matplotlib.pyplot as plt
import numpy as np

import zofw

rng = np.random.default_rng(3)
n, d = 400, 25
truth = np.zeros(d)
truth[[2, 9, 17]] = [1.5, -2.0, 1.0]
Z = rng.standard_normal((n, d))
y = Z @ truth + 0.1 * rng.standard_normal(n)
wrong = rng.choice(n, size=n // 5, replace=False)
y[wrong] += 20.0

# %%
# The same method, the same budget, two losses.

ball = zofw.L1Ball(4.5)
method = zofw.papers.ZOSFW(batch_size=20, directions=d, law=zofw.directions.Orthogonal())
losses = {
    "least squares": zofw.problems.LeastSquares(Z, y),
    "correntropy": zofw.problems.Correntropy(Z, y, sigma=3.0),
}
found = {name: zofw.minimize(f, ball, method=method, budget=600_000, rng=0) for name, f in losses.items()}
for name, result in found.items():
    print(f"{name:14s} {result.nfev:,} queries, distance to the truth {np.linalg.norm(result.x - truth):.3f}")

# %%
figure, ax = plt.subplots(figsize=(8, 4), layout="constrained")
ax.plot(truth, "k_", markersize=16, label="truth")
ax.plot(found["least squares"].x, "C7o", label="least squares")
ax.plot(found["correntropy"].x, "C0x", markersize=8, label="correntropy")
ax.set_xlabel("coefficient")
ax.set_ylabel("value")
ax.legend(frameon=False)
plt.show()
