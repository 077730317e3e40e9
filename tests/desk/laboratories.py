"""Somebody who answers, and a desk in a process of its own for the tests to kill.

python laboratories.py METHOD FOLDER      a desk that looks at its answers until the run has ended
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

import zofw
from zofw.desk import Request

DIM, N = 6, 3
_rng = np.random.default_rng(0)
A, Y = _rng.standard_normal((N, 4, DIM)), _rng.standard_normal((N, 4))


def measure(x: np.ndarray, i: int) -> float:
    """½‖A_i x − y_i‖²."""
    return 0.5 * float(((A[i] @ x - Y[i]) ** 2).sum())


def values(request: Request) -> list[float]:
    return [measure(x, i) for x, i in request]


def settings(method: str = "explore-correct", **more: object) -> dict:
    return {"dim": DIM, "n": N, "method": method, "budget": 400, "max_iter": 4, "rng": 3} | more


def session(method: str = "explore-correct", **more: object) -> zofw.Session:
    return zofw.Session(zofw.L2Ball(1.0), **settings(method, **more))


def whole(method: str = "explore-correct", **more: object) -> zofw.Result:
    """The same run by minimize."""
    given = settings(method, **more)
    f = zofw.problems.BlackBox(measure, dim=given.pop("dim"), n=given.pop("n"))
    return zofw.minimize(f, zofw.L2Ball(1.0), **given)


def same(result: zofw.Result, other: zofw.Result) -> bool:
    names = ("nit", "nfev", "nlmo", "status", "ledger", "seed", "settings")
    return np.array_equal(result.x, other.x) and all(getattr(result, k) == getattr(other, k) for k in names)


if __name__ == "__main__":
    with zofw.Desk.open(Path(sys.argv[2]), zofw.L2Ball(1.0), **settings(sys.argv[1]), size=3) as desk:
        desk.run(every=0.002).save(Path(sys.argv[2]) / "result.npz")
