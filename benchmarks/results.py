"""``python -m benchmarks.results``: what every method returns on small problems, and which of two versions returns lower values.

    python -m benchmarks.results write now.json              runs every method on every case with this source
    python -m benchmarks.results compare before.json now.json   prints the runs whose result differs, as a table

Write the first file with the source of another commit on the path: ``PYTHONPATH=../before/src``.
"""

from __future__ import annotations

import hashlib
import json
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np

import zofw
from zofw.problems import BlackBox, Logistic

_rng = np.random.default_rng(20)
Z, Y = _rng.standard_normal((15, 9)), np.where(_rng.random(15) < 0.5, -1.0, 1.0)
A, B = _rng.standard_normal((12, 4, 6)), _rng.standard_normal((12, 4))
TARGET = np.array([0.6, -0.2, 0.3, 0.0, 0.1])

PROBLEMS = {
    "logistic n = 15": lambda: (Logistic(Z, Y), zofw.L1Ball(2.0)),
    "quadratic n = 1": lambda: (
        BlackBox(lambda x: float(((x - TARGET) ** 2).sum()), dim=5),
        zofw.L2Ball(1.0),
    ),
    "kinks n = 1": lambda: (BlackBox(lambda x: float(np.abs(x - TARGET).sum()), dim=5), zofw.Box(-1.0, 1.0)),
    "least squares n = 12": lambda: (
        BlackBox(lambda x, i: 0.5 * float(((A[i] @ x - B[i]) ** 2).sum()), dim=6, n=12),
        zofw.Simplex(),
    ),
}
OPTIONS: dict[str, dict[str, Any]] = {
    "budget": {},
    "diagnose=0": {"diagnose": 0},
    "max_iter=7": {"max_iter": 7},
    "gap_tol=0.05": {"gap_tol": 0.05},
}


def outcome(method: str, problem: str, option: str) -> dict[str, object]:
    """Return what a run returns, or the error that it ends with."""
    fun, region = PROBLEMS[problem]()
    try:
        found = zofw.minimize(
            fun, region, method=method, rng=7, **{"budget": 3_000, "max_iter": 200} | OPTIONS[option]
        )
    except (ValueError, TypeError) as error:
        return {"error": str(error)}
    trace = hashlib.sha256(np.array([row[:4] for row in found.trace.rows]).tobytes()).hexdigest()
    return {
        "x": found.x.tolist(), "last": found.last.tolist(), "fun": found.fun, "nfev": found.nfev,
        "ledger": found.ledger, "status": found.status.name, "trace": trace,
    }  # fmt: skip


def write(path: Path) -> None:
    """Write what every method returns in every case."""
    warnings.simplefilter("ignore")
    names = [name for name, cls in zofw.methods().items() if not vars(cls).get("first_order", False)]
    cases = [(name, problem, option) for name in names for problem in PROBLEMS for option in OPTIONS]
    path.write_text(json.dumps({" · ".join(case): outcome(*case) for case in cases}, indent=1))


def compare(before: Path, now: Path) -> None:
    """Print the runs that return another point, those that differ otherwise, and how many there are."""
    old, new = json.loads(before.read_text()), json.loads(now.read_text())
    both = [case for case in new if case in old and "error" not in old[case] and "error" not in new[case]]
    moved = [
        case
        for case in both
        if (old[case]["x"], repr(old[case]["fun"])) != (new[case]["x"], repr(new[case]["fun"]))
    ]
    other = [
        case
        for case in both
        if any(old[case][key] != new[case][key] for key in ("last", "nfev", "ledger", "trace"))
    ]
    print(f"{len(both)} runs, {len(moved)} return another point, {len(other)} went another way.\n")
    print("| method | problem | option | status | `fun` before | `fun` now |\n|---|---|---|---|--:|--:|")
    for case in moved:
        status, values = new[case]["status"], (old[case]["fun"], new[case]["fun"])
        print(
            f"| {case.replace(' · ', ' | ')} | {status} | "
            + " | ".join(f"{value:.9g}" for value in values)
            + " |"
        )
    for case in other:
        print(f"another way: {case}")


if __name__ == "__main__":
    if sys.argv[1:2] == ["write"]:
        write(Path(sys.argv[2]))
    else:
        compare(*map(Path, sys.argv[2:4]))
