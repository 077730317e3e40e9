"""Staff for a week from a simulator: shares of a fixed number of shifts, with floors and caps, from a run that may be killed.

Needs, in a clone: pip install .
"""

import tempfile
from pathlib import Path

import numpy as np

import zofw

SHIFTS, DAYS = 100.0, 7
demand = np.array([14.0, 12.0, 12.0, 13.0, 17.0, 22.0, 19.0])


def waiting(shifts, day):
    """Mean waiting time on one simulated day, in minutes; every day has its own weather, the same in every simulation."""
    rng = np.random.default_rng(day)
    load = demand[day % DAYS] * rng.lognormal(0.0, 0.15)
    return 60.0 * np.exp(0.35 * (load - shifts[day % DAYS]))


# at least 8 shifts a day, at most 25; all of them add up to 100
week = zofw.CappedSimplex(SHIFTS, lower=np.full(DAYS, 8.0), upper=np.full(DAYS, 25.0))
path = Path(tempfile.mkdtemp()) / "staff.npz"

begun = zofw.minimize(waiting, week, n=70, budget=2_000, rng=0, checkpoint=path)
result = zofw.minimize(
    waiting, week, n=70, budget=20_000, checkpoint=path, resume=True
)  # goes on where it stopped

assert week.contains(result.x) and begun.nfev <= 2_000 < result.nfev <= 20_000
print("shifts a day:", result.x.round(1), "sum", result.x.sum().round(6))
print(
    f"waiting {result.fun:.1f} minutes, evenly spread {np.mean([waiting(np.full(7, SHIFTS / 7), d) for d in range(70)]):.1f}"
)
print(f"{result.nfev:,} simulated days, killed and continued once")
