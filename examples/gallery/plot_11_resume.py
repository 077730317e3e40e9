"""
Resuming a killed run
=====================

A process is killed in the middle of a run, without warning. What it paid for is not lost: the checkpoint holds the state
before the open iteration and the answers it has had, and the resumed run ends with the same bits as one that was never
disturbed.
"""

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import zofw

program = """
import sys, time, zofw
Z, y = zofw.data.load("breast-cancer")
f = zofw.problems.Logistic(Z, y)
session = zofw.Session(
    zofw.L1Ball(10.0), dim=f.dim, n=f.n, method="zsfw-dvr", budget=400_000, rng=0, objective=f.value
)
while (query := session.ask()) is not None:
    session.tell(query, zofw.problems.evaluate(f, query))
    session.checkpoint(sys.argv[1])
    time.sleep(0.005)
"""

# %%
# Start it, let it work a little, kill it.

file = Path(tempfile.mkdtemp()) / "run.npz"
process = subprocess.Popen(
    [sys.executable, "-c", program, str(file)], env=os.environ | {"OMP_NUM_THREADS": "1"}
)
while not file.exists():
    time.sleep(0.05)
time.sleep(0.3)
process.kill()
process.wait()

# %%
# Resume in this process, and compare with a run that nobody killed.

Z, y = zofw.data.load("breast-cancer")
f = zofw.problems.Logistic(Z, y)
session = zofw.Session.resume(file, objective=f.value)
at = session.nfev
resumed = zofw.run.drive(f, session)
whole = zofw.minimize(f, zofw.L1Ball(10.0), method="zsfw-dvr", budget=400_000, rng=0)
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
