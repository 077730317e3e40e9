"""Random budgets, limits and ways to run: real calls never exceed the budget, and the count is the real one."""

from __future__ import annotations

import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

import zofw
from attacks import Finding, until
from attacks.victim import METHODS, Sum

SETS = (zofw.L1Ball(1.0), zofw.L2Ball(1.0), zofw.Simplex(), zofw.Box(-1.0, 1.0))


def attack(seconds: float, rng: np.random.Generator) -> list[Finding]:
    within = Finding(
        "The budget is never exceeded, and `nfev` is the number of calls",
        "random budgets, methods, sizes, sets, ways to run",
    )
    inside = Finding(
        "`inside=True` evaluates members of the set alone", "exact comparison with the set's own inequalities"
    )
    for _ in until(seconds):
        method, region = METHODS[rng.integers(len(METHODS))], SETS[rng.integers(len(SETS))]
        n, dim = int(rng.choice([1, 2, 7, 30])), int(rng.integers(2, 9))
        budget = int(10 ** rng.uniform(0.5, 3.7))
        stays = bool(rng.random() < 0.4)
        points: list[np.ndarray] = []
        component = Sum(n=n, dim=dim)

        def fun(
            x: np.ndarray, i: int, points: list[np.ndarray] = points, component: Sum = component
        ) -> float:
            points.append(np.array(x))
            return component(x, i)

        problem = zofw.problems.BlackBox(fun, dim=dim, n=n)
        given = {"method": method, "budget": budget, "rng": int(rng.integers(1000)), "inside": stays}
        label = f"{method}, n = {n}, d = {dim}, {region!r}, budget {budget}, inside={stays}"
        with tempfile.TemporaryDirectory() as folder:
            if rng.random() < 0.3:
                given["checkpoint"] = Path(folder) / "run.npz"
            if rng.random() < 0.2:
                given["workers"] = ThreadPoolExecutor(2)
            try:
                result = zofw.minimize(problem, region, **given)
            except ValueError as error:  # too small for one iteration: nothing may have been paid
                within.check(not points, f"{label}: {len(points)} calls before «{error}»")
                continue
            finally:
                if "workers" in given:
                    given["workers"].shutdown()
        within.check(
            len(points) == result.nfev == sum(result.ledger.values()) <= budget,
            f"{label}: {len(points)} calls, nfev {result.nfev}",
        )
        if stays:
            out = sum(not member(region, x) for x in points)
            inside.check(out == 0, f"{label}: {out} of {len(points)} outside")
    return [within, inside]


def member(region: object, x: np.ndarray) -> bool:
    """Whether every inequality of a set holds to the last bit; of the simplex, whose equation is one of rounding, signs."""
    match region:
        case zofw.L1Ball():
            return bool(np.abs(x).sum() <= region.radius)
        case zofw.L2Ball():
            return bool(np.linalg.norm(x) <= region.radius)
        case zofw.Simplex():
            return bool((x >= 0).all() and abs(x.sum() - 1) <= 4 * len(x) * np.finfo(float).eps)
        case _:
            return bool((np.abs(x) <= 1).all())
