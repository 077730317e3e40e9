"""
Staff for six desks, from a queueing simulator
==============================================

Twelve clerks share six desks. A discrete-event simulator says how long customers wait on a recorded day;
nobody can differentiate it. The shares add up to one, so the set is a simplex, and because a desk without staff makes no
sense to the simulator, every evaluated point is kept inside it.
"""

import matplotlib.pyplot as plt
import numpy as np

import zofw

CLERKS, PATIENCE, CUSTOMERS = 12.0, 30.0, 150
busy = np.array([0.35, 0.25, 0.15, 0.12, 0.08, 0.05])
days = 15
rng = np.random.default_rng(5)
arrivals = rng.exponential(1.0 / (8.0 * busy), size=(days, CUSTOMERS, 6)).cumsum(axis=1)  # minutes
work = rng.exponential(1.1, size=(days, CUSTOMERS, 6))  # minutes of one clerk


def waiting(shares, chosen):
    """Mean minutes a customer waits, at most his patience, for each sharing (rows) and chosen day (columns)."""
    pace = CLERKS * shares[:, None, :]
    free = np.zeros((len(shares), len(chosen), 6))
    total = np.zeros((len(shares), len(chosen)))
    for k in range(CUSTOMERS):  # Lindley's recursion at each desk
        arrival = arrivals[chosen, k]
        total += np.minimum(np.maximum(free - arrival, 0.0), PATIENCE) @ busy
        free = np.maximum(free, arrival) + work[chosen, k] / pace
    return total / CUSTOMERS


# %%
# A component is a day. A method may look at a few days at a time, at points slightly apart; the simulator has kinks, so
# the radius should be well above rounding.

f = zofw.problems.BlackBox(waiting, dim=6, n=days, vectorized=True)
method = zofw.papers.ZOSFW(batch_size=3, directions=4, radius=5e-3, stencil=zofw.core.Stencil.CENTRAL)
result = zofw.minimize(f, zofw.Simplex(), method=method, budget=6_000, rng=0, inside=True, diagnose=6)
print(f"{result.nfev:,} simulated days; {result.message}")
print(f"mean wait with equal shares {result.trace.objective[0]:.2f} min, found {result.fun:.2f} min")
print("clerks:", (CLERKS * result.x).round(1))

# %%
figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
left.plot(result.trace.queries, result.trace.objective, marker=".")
left.set_xlabel("simulated days")
left.set_ylabel("mean wait, minutes")
right.bar(np.arange(6) - 0.2, busy, 0.4, label="share of the work", color="C7")
right.bar(np.arange(6) + 0.2, result.x, 0.4, label="share of the clerks", color="C0")
right.set_xlabel("desk")
right.legend(frameon=False)
plt.show()
