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
    reaches   the method's value is at most ``level`` (at least, for success rates)
    saves     the method needs ``factor`` times fewer queries to get where the best of ``against`` ends
    ahead     at every number of queries the method is at least as good as each of ``against``

A case is undecided where the quartile bands of the two curves that decide it overlap; of ``ahead``, where some median is
worse and nowhere the whole band.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from zofw.lab.numbers import number
from zofw.lab.spec import Claim, SpecError

__all__ = ["TESTS", "by_heading", "figures_of", "judge", "words"]

TESTS = ("best", "worst", "beats", "near", "far", "stalls", "reaches", "saves", "ahead")
Point = tuple[float, float, float]  # lower quartile, median, upper quartile, small being good
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
        "by": claim.by,
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
    """One case's verdict and figures; None where the methods were not run, or the budget did not pay for a first iteration."""
    sign = 1.0 if lower else -1.0
    at = _place(case, claim.at * case["budget"])
    curves = {curve["label"]: curve for curve in case["curves"]}
    if claim.method not in curves or curves[claim.method].get("end", {}).get("iterations") == 0:
        return None
    mine = _point(curves[claim.method], at, sign)
    if claim.test == "stalls":
        return _stalls(claim, case, curves[claim.method], at, lower)
    if claim.test == "reaches":
        return _reaches(claim, case, mine, at, sign)
    rivals = [
        label
        for label, curve in curves.items()
        if label != claim.method and (label in claim.against if claim.against else curve["group"] == "paper")
    ]
    if not rivals:
        return None
    if claim.test == "ahead":
        return _ahead(case, curves[claim.method], [curves[label] for label in rivals], at, sign)
    others = {label: _point(curves[label], at, sign) for label in rivals}
    pick = max if claim.test == "worst" else min
    rival = pick(others, key=lambda label: others[label][1])
    theirs = others[rival]
    if claim.test == "saves":
        return _saves(claim, case, curves[claim.method], rival, theirs, at, sign)
    better = mine[1] < theirs[1] if claim.test != "worst" else mine[1] > theirs[1]
    if claim.test in ("near", "far"):
        near = mine[1] <= claim.factor * theirs[1] if lower else mine[1] <= theirs[1] + (claim.factor - 1.0)
        better = near == (claim.test == "near")
    apart = mine[2] < theirs[0] or theirs[2] < mine[0] or claim.test in ("near", "far")
    return _found(case, (HOLDS if better else FAILS) if apart else OPEN, at, mine, rival, theirs, sign)


def _found(
    case: dict[str, Any], verdict: str, at: int, mine: Point, rival: str, theirs: Point, sign: float
) -> dict[str, Any]:
    return {
        "case": case["name"],
        "verdict": verdict,
        "queries": float(case["queries"][at]),
        "value": sign * mine[1],
        "band": sorted([sign * mine[0], sign * mine[2]]),
        "rival": rival,
        "rival_value": sign * theirs[1],
        "rival_band": sorted([sign * theirs[0], sign * theirs[2]]),
    }


def _reaches(claim: Claim, case: dict[str, Any], mine: Point, at: int, sign: float) -> dict[str, Any]:
    goal = sign * claim.level
    verdict = HOLDS if mine[1] <= goal else FAILS
    return _found(case, verdict, at, mine, "what is asked", (goal, goal, goal), sign)


def _ahead(
    case: dict[str, Any], curve: dict[str, Any], rivals: Sequence[dict[str, Any]], last: int, sign: float
) -> dict[str, Any]:
    """The number of queries at which the method is furthest behind, and who is ahead there."""
    places = [
        (at, rival, _point(curve, at, sign), _point(rival, at, sign))
        for at in range(last + 1)
        for rival in rivals
    ]
    behind = [place for place in places if place[2][1] > place[3][1]]
    clearly = [place for place in behind if place[2][0] > place[3][2]]

    def lead(place: tuple[int, dict[str, Any], Point, Point]) -> float:
        mine, theirs = place[2][1], place[3][1]
        return mine / theirs if sign > 0 and theirs > 0 else mine - theirs

    at, rival, mine, theirs = max(clearly or behind or places, key=lead)
    verdict = FAILS if clearly else OPEN if behind else HOLDS
    return _found(case, verdict, at, mine, rival["label"], theirs, sign)


def _saves(
    claim: Claim, case: dict[str, Any], curve: dict[str, Any], rival: str, theirs: Point, at: int, sign: float
) -> dict[str, Any]:
    """How many times fewer queries the method needs for the value at which the best rival ends."""
    there = [k for k in range(at + 1) if _point(curve, k, sign)[1] <= theirs[1]]
    end = float(case["queries"][at])
    times = end / float(case["queries"][there[0]]) if there else 0.0
    found = _found(
        case, HOLDS if times >= claim.factor else FAILS, there[0] if there else at,
        _point(curve, there[0] if there else at, sign), rival, theirs, sign,
    )  # fmt: skip
    return found | {"times": times, "rival_queries": end}


def _place(case: dict[str, Any], queries: float) -> int:
    """The last point of the grid within so many queries, or the first of all."""
    return max(0, int(np.searchsorted(case["queries"], queries, side="right")) - 1)


def _point(curve: dict[str, Any], at: int, sign: float) -> Point:
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


def by_heading(claims: Sequence[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    """Verdicts under a heading for whoever made the statement, in the order of the first of each."""
    found: dict[str, list[dict[str, Any]]] = {}
    for claim in claims:
        paper = claim["by"] == "the paper"
        heading = "The paper says, we measured" if paper else f"Asked of {claim['by']}, measured"
        found.setdefault(heading, []).append(claim)
    return found


def words(found: dict[str, Any]) -> str:
    """The figures of one case in words."""
    mine, theirs = (
        f"{number(found[name])} [{number(found[band][0])}, {number(found[band][1])}]"
        for name, band in (("value", "band"), ("rival_value", "rival_band"))
    )
    if "times" in found:
        if not found["times"]:
            return f"not reached in {number(found['queries'])} queries: {mine} against {theirs} ({found['rival']})"
        return (
            f"{found['times']:.3g} times fewer: {mine} at {number(found['queries'])} queries against {theirs} "
            f"({found['rival']}) at {number(found['rival_queries'])}"
        )
    return f"{mine} against {theirs} ({found['rival']}) at {number(found['queries'])} queries"


def figures_of(claim: dict[str, Any]) -> str:
    """The figures of every case in words."""
    parts = [f"{found['case']}: {found['verdict']}, {words(found)}" for found in claim["cases"]]
    return "; ".join(parts + [f"not measured: {name}" for name in claim["missing"]])
