"""
The same on a cluster
=====================

A simulation takes its time, and there are workers to share it. An executor answers the queries, a pool of threads or
processes here or a dask cluster elsewhere; the result has the same bits, for queries are answered in tiles of fixed
shape, added in a fixed order, whoever computed them.
"""

import time
from concurrent.futures import ThreadPoolExecutor

import matplotlib.pyplot as plt
import numpy as np

import zofw

PAUSE = 0.004  # seconds that one simulation takes
rng = np.random.default_rng(12)
centres = rng.random((8, 6))


def simulation(x, i):
    """One scenario; the work is done elsewhere, this waits for it."""
    time.sleep(PAUSE)
    return float(np.abs(x - centres[i]).sum() ** 1.5)


# %%
# The same call, without workers and with eight. Diagnosis is off: it would be simulated here.

f = zofw.problems.BlackBox(simulation, dim=6, n=8)
method = zofw.papers.ZOSFW(batch_size=4, directions=6, law=zofw.directions.Orthogonal(), radius=1e-2)
seconds, results = {}, {}
for name, executor in {"this process": None, "8 workers": ThreadPoolExecutor(8)}.items():
    begun = time.monotonic()
    results[name] = zofw.minimize(
        f, zofw.Simplex(), method=method, budget=400, rng=0, diagnose=0, workers=executor
    )
    seconds[name] = time.monotonic() - begun

alone, shared = results.values()
assert np.array_equal(alone.x, shared.x)
assert alone.nfev == shared.nfev
for name, took in seconds.items():
    print(f"{name:12s} {results[name].nfev} simulations in {took:.1f} s")
print("the same x, bit for bit:", shared.x.round(3))

# %%
figure, ax = plt.subplots(figsize=(7, 2.6), layout="constrained")
ax.barh(list(seconds), list(seconds.values()), color=["C7", "C0"])
ax.axvline(alone.nfev * PAUSE, color="C3", linestyle="--", label="simulations one after another")
ax.set_xlabel("seconds")
ax.legend(frameon=False)
plt.show()
