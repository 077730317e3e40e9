"""
A simulator that is another program
===================================

Eight heaters share one unit of power along a rod, and the temperature should be as even as possible. The simulator is a
program of its own: it reads a request a line and writes an answer a line, and it does not know zofw. Two of them run at once
and answer in whatever order they finish; the result is that of ``minimize``, bit for bit.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import zofw

program = '''
import json, sys

def temperatures(power):
    """A rod of 32 cells with cold ends, heated at 8 places, after a while."""
    t = [0.0] * 34
    for _ in range(200):
        flow = [0.0] + [0.4 * (t[k - 1] - 2 * t[k] + t[k + 1]) for k in range(1, 33)] + [0.0]
        t = [a + b for a, b in zip(t, flow)]
        for k, p in enumerate(power):
            t[3 + 4 * k] += p
    return t[1:33]

def unevenness(power):
    t = temperatures(power)
    mean = sum(t) / len(t)
    return sum((value - mean) ** 2 for value in t) / len(t)

if __name__ == "__main__":
    for line in sys.stdin:
        request = json.loads(line)
        values = [unevenness(request["points"][j]) for j in request["point"]]
        print(json.dumps({"id": request["id"], "values": values}), flush=True)
'''
file = Path(tempfile.mkdtemp()) / "rod.py"
file.write_text(program)

# %%
# The desk splits each query into single evaluations. Each program gets its next request as soon as it has answered the last, and its
# answer goes straight to the desk.

settings = {"method": zofw.papers.ZOFW(radius=1e-3), "max_iter": 40, "budget": 400, "rng": 0}
desk = zofw.Desk(zofw.Session(zofw.Simplex(), dim=8, **settings))
rods = [
    subprocess.Popen([sys.executable, file], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    for _ in range(2)
]
answered = [0, 0]
while requests := desk.requests(limit=len(rods)):
    busy = list(zip(rods, requests, strict=False))
    for rod, request in busy:
        rod.stdin.write(request.json() + "\n")
        rod.stdin.flush()
    for rod, _ in reversed(busy):
        answered[rods.index(rod)] += desk.take(json.loads(rod.stdout.readline()))
for rod in rods:
    rod.communicate()

result = desk.result()
print(f"{result.nfev} simulations, {answered[0]} and {answered[1]} by the two programs; {result.message}")

# %%
# The same by a function call in this process.

scope = {"__name__": "rod"}
exec(program, scope)
whole = zofw.minimize(
    zofw.problems.BlackBox(lambda x: scope["unevenness"](x.tolist()), dim=8), zofw.Simplex(), **settings
)
assert np.array_equal(result.x, whole.x) and result.ledger == whole.ledger

# %%
figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
left.plot(scope["temperatures"]([1 / 8] * 8), color="C7", label="equal shares")
left.plot(scope["temperatures"](result.x.tolist()), "C0", label="found")
left.set_xlabel("place on the rod")
left.set_ylabel("temperature")
left.legend(frameon=False)
right.bar(range(8), result.x)
right.set_xlabel("heater")
right.set_ylabel("share of the power")
plt.show()
