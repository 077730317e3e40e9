"""A mixture of four components, measured by hand: requests come out of a folder, answers go into it, over days.

Needs, in a clone: pip install .
"""

import json
import tempfile
from pathlib import Path

import numpy as np

import zofw

best = np.array([0.45, 0.30, 0.15, 0.10])
noise = np.random.default_rng(1)


def measure(x):
    """What the laboratory does with one recipe: an hour of work, and a reading with an error."""
    return float(np.sum((x - best) ** 2) + 1e-4 * noise.standard_normal())


folder = Path(tempfile.mkdtemp()) / "lab"
recipes = zofw.CappedSimplex(1.0, lower=[0.1, 0.1, 0.05, 0.05], upper=0.7)

days = 0
while True:
    # every morning: open the desk, take in what was measured, look at what is asked; 0.01 is the least that can be weighed
    desk = zofw.Desk.open(folder, recipes, dim=4, budget=60, rng=0, inside=True, resolution=0.01, diagnose=0)
    desk.read()
    requests = desk.requests(limit=8)
    done, x, spent = desk.done, desk.session.x.copy(), desk.session.nfev
    desk.close()
    if done:
        break
    days += 1
    for request in requests:  # during the day: measure, and write an answer file for each request
        answer = {"id": request.id, "values": [measure(recipe) for recipe, _ in request]}
        (folder / "answers" / f"{request.id}.json").write_text(json.dumps(answer))

print(f"after {days} days and {spent} measurements: {x.round(2)}, the best is {best}")
assert recipes.contains(x) and spent <= 60 and np.abs(x - best).max() < 0.05
