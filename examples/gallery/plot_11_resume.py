"""
Resuming a killed run
=====================

A process is killed in the middle of a run, without warning. What it paid for is not lost: the checkpoint holds the state
before the open iteration and the answers it has had, and the resumed run ends with the same bits as one that was never
disturbed.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import zofw

program = """
import sys, zofw
Z, y = zofw.data.load("breast-cancer")
f = zofw.problems.Logistic(Z, y)
zofw.minimize(
    f, zofw.L1Ball(10.0), method="zsfw-dvr", budget=400_000, rng=0, checkpoint=sys.argv[1],
    callback=lambda intermediate_result: print(intermediate_result.nfev, flush=True),
)
"""

# %%
# Start it, let it do 150 iterations, kill it.

file = Path(tempfile.mkdtemp()) / "run.npz"
with subprocess.Popen(
    [sys.executable, "-c", program, str(file)], stdout=subprocess.PIPE, text=True
) as process:
    for _ in range(150):
        at = int(process.stdout.readline())
    process.kill()

# %%
# Resume in this process, and compare with a run that nobody killed.

Z, y = zofw.data.load("breast-cancer")
f = zofw.problems.Logistic(Z, y)
settings = {"method": "zsfw-dvr", "budget": 400_000, "rng": 0}
resumed = zofw.minimize(f, zofw.L1Ball(10.0), **settings, checkpoint=file, resume=True)
whole = zofw.minimize(f, zofw.L1Ball(10.0), **settings)
assert np.array_equal(resumed.x, whole.x)
assert resumed.nfev == whole.nfev
print(f"killed after {at:,} queries, ended after {resumed.nfev:,}: the same bits, no query paid twice")

# %%
figure, ax = plt.subplots(figsize=(8, 4), layout="constrained")
ax.plot(
    whole.trace.queries, whole.trace.objective, color="C7", linewidth=5, alpha=0.5, label="never disturbed"
)
ax.plot(resumed.trace.queries, resumed.trace.objective, "C0", label="killed and resumed")
ax.axvline(at, color="C3", linestyle="--", label="killed here")
ax.set_xlabel("queries")
ax.set_ylabel("objective")
ax.legend(frameon=False)
plt.show()
