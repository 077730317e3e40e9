"""
A noisy laboratory, by ask and tell
===================================

A mixture of five ingredients is tested in a laboratory. Every experiment costs an hour, and repeated experiments differ. Nothing here
calls a function: a desk asks for experiments, a person makes them, in any order and over days, and tells the results.
"""

import matplotlib.pyplot as plt
import numpy as np

import zofw

best = np.array([0.1, 0.4, 0.05, 0.25, 0.2])
noise = np.random.default_rng(8)


def laboratory(mixture):
    """Hardness lost against the ideal mixture; repeated experiments differ by 0.01."""
    return float(((mixture - best) ** 2).sum()) + 0.01 * noise.standard_normal()


# %%
# ``inside=True`` asks only for mixtures that can be mixed. ``resolution=0.01`` says that the scales cannot tell 0.01 of an ingredient
# from nothing, so the desk never asks for two mixtures that are closer. The default method notices the noise by asking for one
# mixture again.

session = zofw.Session(zofw.Simplex(), dim=5, budget=150, rng=1, inside=True, resolution=0.01)
desk = zofw.Desk(session)
print(desk)

truth = []
while requests := desk.requests():
    for k in np.random.default_rng(session.nfev).permutation(len(requests)):  # whichever is ready first
        mixture, _ = next(iter(requests[k]))
        if session.nit < 2:
            print(requests[k].purpose, mixture.round(2))
        desk.tell(requests[k].id, laboratory(mixture))
    truth.append((session.nfev, ((session.x - best) ** 2).sum()))

result = desk.result()
print(f"{result.nfev} experiments: {result.message}")
print("spent on:", {purpose: count for purpose, count in result.ledger.items() if count})
print("mixture found:", result.x.round(2), " ideal:", best)

# %%
# The dashed line is the noise of one measurement. The mixture becomes better than any single experiment can show.

spent, loss = np.array(truth).T
figure, ax = plt.subplots(figsize=(8, 4), layout="constrained")
ax.semilogy(spent, loss)
ax.axhline(0.01, color="C7", linestyle="--", label="noise of one experiment")
ax.set_xlabel("experiments")
ax.set_ylabel("true loss of the current mixture")
ax.legend(frameon=False)
plt.show()
