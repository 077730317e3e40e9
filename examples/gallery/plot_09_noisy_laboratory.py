"""
A noisy laboratory, by ask and tell
===================================

A mixture of five ingredients, one experiment a point, and no two experiments agree: the measurement has noise. Nothing here
calls a function: the session asks for experiments, a person makes them, in any order and over days, and tells the numbers.
"""

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import zofw
from zofw.core import Tile

best = np.array([0.1, 0.4, 0.05, 0.25, 0.2])
noise = np.random.default_rng(8)


def laboratory(mixture):
    """Hardness lost against the ideal mixture; repeated experiments differ by 0.01."""
    return float(((mixture - best) ** 2).sum()) + 0.01 * noise.standard_normal()


# %%
# With noise of 0.01 in the values, a slope over a radius of 1e-4 would be noise alone. The radius is as large as the inner
# ball of the simplex allows, and ``inside=True`` keeps every mixture one that can be mixed.

method = zofw.ZOSFW(directions=3, radius=0.06, law=zofw.Orthogonal(), stencil=zofw.Stencil.CENTRAL)
session = zofw.Session(zofw.Simplex(), dim=5, method=method, budget=600, rng=1, inside=True)
file = Path(tempfile.mkdtemp()) / "laboratory.npz"
truth = []
while (query := session.ask()) is not None:
    mixtures = query.points(0, Tile(0, query.count, 0, 1))
    if session.nit == 0:
        print("The first request:\n", mixtures.round(3))
    later = np.random.default_rng(session.nit).permutation(len(mixtures))
    measured = np.empty(len(mixtures))
    for k in later:
        measured[k] = laboratory(mixtures[k])
    session.tell(query, measured)
    session.checkpoint(file)
    truth.append((session.nfev, ((session.x - best) ** 2).sum()))

result = session.result()
print(f"{result.nfev} experiments in {result.nit} rounds; {result.message}")
print("mixture found:", result.x.round(2), " ideal:", best)

# %%
# The noise of one measurement is drawn as a line: the mixture is known better than any single experiment can tell.

spent, loss = np.array(truth).T
figure, ax = plt.subplots(figsize=(8, 4), layout="constrained")
ax.semilogy(spent, loss)
ax.axhline(0.01, color="C7", linestyle="--", label="noise of one experiment")
ax.set_xlabel("experiments")
ax.set_ylabel("true loss of the current mixture")
ax.legend(frameon=False)
plt.show()
