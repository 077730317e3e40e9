"""Hostile answers: at the desk, from the objective, and objectives that write into their arguments."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

import numpy as np

import zofw
from attacks import Finding, until
from attacks.victim import METHODS, Sum, solve

NONSENSE = (
    np.nan, np.inf, -np.inf, 1j, None, "1.0", [1.0, 2.0], {}, np.ma.masked, np.array([1.0, 2.0]), b"1", object(),
    np.array(1.0, dtype=object), np.zeros((), dtype=[("a", float)]), 10**400, "nan", True,
)  # fmt: skip


def attack(seconds: float, rng: np.random.Generator) -> list[Finding]:
    refused = Finding(
        "An answer that is no finite number is refused by name", "an objective with 17 kinds of nonsense"
    )
    aliased = Finding(
        "Every call gets points that nothing else reads", "an objective that writes into its argument"
    )
    desk = Finding(
        "A desk takes good answers alone, and loses none", "hostile files in its folder, good ones between"
    )
    for number in until(seconds):
        method = METHODS[number % len(METHODS)]
        _nonsense(refused, method, rng)
        _vandal(aliased, method)
        _desk(desk, rng)
    return [refused, aliased, desk]


def _nonsense(finding: Finding, method: str, rng: np.random.Generator) -> None:
    at, what, component, seen = int(rng.integers(1, 40)), int(rng.integers(len(NONSENSE) - 1)), Sum(), []

    def fun(x: np.ndarray, i: int) -> object:
        seen.append(i)
        return NONSENSE[what] if len(seen) == at else component(x, i)

    label = f"{method}, {NONSENSE[what]!r} at call {at}"
    try:
        result = solve(zofw.problems.BlackBox(fun, dim=component.dim, n=component.n), method)
    except zofw.EvaluationError as error:
        finding.check(
            len(seen) == at == error.paid + 1 or len(seen) == at, f"{label}: {len(seen)} calls, «{error}»"
        )
    except Exception as error:
        finding.check(False, f"{label}: {type(error).__name__} {error}")
    else:
        finding.check(len(seen) < at, f"{label}: taken, {result.nfev} evaluations")


def _vandal(finding: Finding, method: str) -> None:
    component = Sum()

    def fun(x: np.ndarray, i: int) -> float:
        value = component(x, i)
        address = x.__array_interface__["data"][0]
        np.frombuffer((np.ctypeslib.ctypes.c_double * len(x)).from_address(address))[:] = np.nan
        return value

    honest, found = (
        solve(zofw.problems.BlackBox(f, dim=component.dim, n=component.n), method) for f in (component, fun)
    )
    finding.check(np.array_equal(honest.x, found.x), f"{method}: another x")


def _desk(finding: Finding, rng: np.random.Generator) -> None:
    component = Sum(n=1)
    given = {"dim": component.dim, "budget": 60, "method": "zo-fw", "rng": 0}
    whole = zofw.minimize(
        component.problem(), zofw.L2Ball(1.0), **{k: v for k, v in given.items() if k != "dim"}
    )
    with tempfile.TemporaryDirectory() as folder:
        desk = zofw.Desk.open(folder, zofw.L2Ball(1.0), **given)
        try:
            while requests := desk.requests(limit=3):
                for request in requests:
                    good = [component(x, 0) for x, _ in request]
                    for bad in (good[:-1] + [float("nan")], [*good, 0.0], "x", [True] * len(good), [[good]]):
                        if rng.random() < 0.3:
                            try:
                                desk.tell(request.id, bad)
                            except (ValueError, TypeError, ArithmeticError):
                                continue
                            finding.check(False, f"the desk took {bad!r:.60}")
                    if rng.random() < 0.3:
                        hostile = Path(folder) / "answers" / f"{rng.integers(9)}.json"
                        hostile.parent.mkdir(exist_ok=True)
                        hostile.write_text(
                            json.dumps({"id": request.id, "values": "💥"}) + "}" * int(rng.integers(3))
                        )
                    desk.tell(request.id, good)
            result = desk.result()
            finding.check(np.array_equal(result.x, whole.x), "the desk ended elsewhere")
        finally:
            desk.close()
