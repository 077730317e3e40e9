"""The paper says, we measured: every verdict is computed from the stored curves.

Tests, each on the medians over the seeds at a share ``at`` of the budget, among the methods named in ``against`` (all of
the paper's by default):

    best      the method has the lowest value (the highest, for success rates)
    worst     the method has the highest value
    beats     the method is better than each of ``against``
    near      the method is within ``factor`` of the best of ``against`` (for success rates, within factor − 1)
    far       the method is behind the best of ``against`` by more than that
    stalls    over the last decade of queries the method gains less than ``factor`` (the ratio of medians; for success
              rates, the difference)

A case is undecided where the quartile bands of the two curves that decide it overlap.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from zofw.lab.spec import Claim, SpecError

__all__ = ["TESTS", "judge"]

TESTS = ("best", "worst", "beats", "near", "far", "stalls")
HOLDS, FAILS, OPEN = "holds", "does not hold", "undecided"


def judge(
    claims: Sequence[Claim], cases: Sequence[dict[str, Any]], *, lower_is_better: bool
) -> list[dict[str, Any]]:
    """A verdict for every claim, with the figures that decide it."""
    return [_judge(claim, cases, lower_is_better) for claim in claims]


def _judge(claim: Claim, cases: Sequence[dict[str, Any]], lower: bool) -> dict[str, Any]:
    if claim.test not in TESTS:
        raise SpecError(f"claim {claim.id!r}: test should be one of {', '.join(TESTS)}; got {claim.test!r}.")
    chosen = [case for case in cases if not claim.cases or case["name"] in claim.cases]
    findings = [finding for case in chosen if (finding := _finding(claim, case, lower)) is not None]
    held = sum(finding["verdict"] == HOLDS for finding in findings)
    failed = sum(finding["verdict"] == FAILS for finding in findings)
    needed = len(findings) if claim.least is None else claim.least
    if not findings:
        verdict = "not measured"
    elif held >= needed:
        verdict = HOLDS
    else:
        verdict = FAILS if len(findings) - failed < needed <= len(findings) else OPEN
    missing = [name for name in claim.cases if name not in [case["name"] for case in cases]]
    return {
        "id": claim.id,
        "says": claim.says,
        "test": claim.test,
        "method": claim.method,
        "at": claim.at,
        "verdict": verdict,
        "held": held,
        "of": len(findings),
        "needed": needed,
        "missing": missing,
        "cases": findings,
    }


def _finding(claim: Claim, case: dict[str, Any], lower: bool) -> dict[str, Any] | None:
    """One case's verdict and figures; None where the methods were not run."""
    sign = 1.0 if lower else -1.0
    at = _place(case, claim.at * case["budget"])
    curves = {curve["label"]: curve for curve in case["curves"]}
    if claim.method not in curves:
        return None
    mine = _point(curves[claim.method], at, sign)
    if claim.test == "stalls":
        return _stalls(claim, case, curves[claim.method], at, lower)
    rivals = [
        label
        for label, curve in curves.items()
        if label != claim.method and (label in claim.against if claim.against else curve["group"] == "paper")
    ]
    if not rivals:
        return None
    others = {label: _point(curves[label], at, sign) for label in rivals}
    pick = max if claim.test == "worst" else min
    rival = pick(others, key=lambda label: others[label][1])
    theirs = others[rival]
    better = mine[1] < theirs[1] if claim.test != "worst" else mine[1] > theirs[1]
    if claim.test in ("near", "far"):
        near = mine[1] <= claim.factor * theirs[1] if lower else mine[1] <= theirs[1] + (claim.factor - 1.0)
        better = near == (claim.test == "near")
    apart = mine[2] < theirs[0] or theirs[2] < mine[0] or claim.test in ("near", "far")
    return {
        "case": case["name"],
        "verdict": (HOLDS if better else FAILS) if apart else OPEN,
        "queries": float(case["queries"][at]),
        "value": sign * mine[1],
        "band": sorted([sign * mine[0], sign * mine[2]]),
        "rival": rival,
        "rival_value": sign * theirs[1],
        "rival_band": sorted([sign * theirs[0], sign * theirs[2]]),
    }


def _place(case: dict[str, Any], queries: float) -> int:
    """The last point of the grid within so many queries, or the first of all."""
    return max(0, int(np.searchsorted(case["queries"], queries, side="right")) - 1)


def _point(curve: dict[str, Any], at: int, sign: float) -> tuple[float, float, float]:
    """Lower quartile, median, upper quartile, with small being good."""
    low, median, high = (sign * float(curve[name][at]) for name in ("low", "median", "high"))
    return min(low, high), median, max(low, high)


def _stalls(
    claim: Claim, case: dict[str, Any], curve: dict[str, Any], at: int, lower: bool
) -> dict[str, Any]:
    before = _place(case, case["queries"][at] / 10)
    then, now = (float(curve["median"][k]) for k in (before, at))
    gain = then / now if lower else now - then
    return {
        "case": case["name"],
        "verdict": HOLDS if gain < claim.factor else FAILS,
        "queries": float(case["queries"][at]),
        "value": now,
        "band": [float(curve["low"][at]), float(curve["high"][at])],
        "rival": "itself, a decade of queries earlier",
        "rival_value": then,
        "rival_band": [then, then],
    }
