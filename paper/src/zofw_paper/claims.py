"""What the paper says, and what was measured: every verdict is computed from the stored curves.

Tests, each on the medians over the seeds at a share ``at`` of the budget, among the methods named in ``against`` (all of
the paper's by default). Values are window medians where the curves have them: the median over the last tenth of the queries.

    best      the method has the lowest value (the highest, for success rates)
    worst     the method has the highest value
    beats     the method is better than each of ``against``
    near      the method is within ``factor`` of the best of ``against`` (for success rates, within factor − 1)
    far       the method is behind the best of ``against`` by more than that
    stalls    over the last decade of queries the method gains less than ``factor`` (the ratio of medians; for success
              rates, the difference)
    reaches   the method's value is at most ``level`` (at least, for success rates)
    saves     the method needs ``factor`` times fewer queries to get where the best of ``against`` ends
    falls     over the last half decade of queries the value falls with a power of them that lies within ``factor`` times
              of ``level``
    ahead     at every number of queries the method is at least as good as each of ``against``

A case is undecided where the quartile bands of the two curves that decide it overlap; of ``ahead``, where some median is
worse and nowhere the whole band.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from zofw.comparison import number
from zofw.core import Array
from zofw_paper.spec import Claim

HOLDS, FAILS, OPEN = "holds", "does not hold", "undecided"


@dataclass(frozen=True)
class Band:
    """Median and quartiles over the seeds."""

    low: float
    median: float
    high: float

    def __str__(self) -> str:
        return f"{number(self.median)} [{number(self.low)}, {number(self.high)}]"


@dataclass(frozen=True)
class ClaimFinding:
    """One case's verdict, and the figures that decide it."""

    case: str
    verdict: str
    queries: float
    value: Band
    rival: str
    rival_value: Band
    times: float | None = None  # how many times fewer queries, for ``saves``
    rival_queries: float | None = None


@dataclass(frozen=True)
class Verdict:
    """What came of a claim: held in so many of the cases that were measured, needed in so many."""

    id: str
    says: str
    by: str
    method: str
    verdict: str
    held: int
    of: int
    needed: int
    missing: tuple[str, ...]
    cases: tuple[ClaimFinding, ...]


@dataclass(frozen=True)
class Lines:
    """What claims look at in a case: (3, m) lower quartile, median and upper quartile on a grid of queries, by label."""

    name: str
    budget: int
    queries: Array
    curves: Mapping[str, Array]
    paper: frozenset[str]  # labels of the paper's methods
    idle: frozenset[str] = frozenset()  # methods whose budget did not pay for a first iteration

    def place(self, queries: float) -> int:
        """Return the last point of the grid within so many queries, or the first of all."""
        return max(0, int(np.searchsorted(self.queries, queries, side="right")) - 1)


@dataclass(frozen=True)
class _Judge:
    """One claim in one case; values with small being good."""

    claim: Claim
    case: Lines
    sign: float

    def point(self, label: str, at: int) -> Band:
        low, median, high = self.sign * self.case.curves[label][:, at]
        return Band(min(low, high), median, max(low, high))

    def found(self, verdict: str, at: int, mine: Band, rival: str, theirs: Band) -> ClaimFinding:
        queries = float(self.case.queries[at])
        return ClaimFinding(self.case.name, verdict, queries, self.turned(mine), rival, self.turned(theirs))

    def turned(self, band: Band) -> Band:
        low, high = sorted((self.sign * band.low, self.sign * band.high))
        return Band(low, self.sign * band.median, high)

    def finding(self) -> ClaimFinding | None:
        """None where the methods were not run, or the budget did not pay for a first iteration."""
        claim, case = self.claim, self.case
        if claim.method not in case.curves or claim.method in case.idle:
            return None
        at = case.place(claim.at * case.budget)
        mine = self.point(claim.method, at)
        if claim.test == "stalls":
            return self.stalls(at, mine)
        if claim.test == "falls":
            return self.falls(at)
        if claim.test == "reaches":
            goal = self.sign * claim.level
            verdict = HOLDS if mine.median <= goal else FAILS
            return self.found(verdict, at, mine, "what is asked", Band(goal, goal, goal))
        among = set(claim.against) or case.paper
        rivals = [label for label in case.curves if label != claim.method and label in among]
        if not rivals:
            return None
        if claim.test == "ahead":
            return self.ahead(rivals, at)
        pick = max if claim.test == "worst" else min
        rival = pick(rivals, key=lambda label: self.point(label, at).median)
        theirs = self.point(rival, at)
        if claim.test == "saves":
            return self.saves(rival, theirs, at)
        better = mine.median < theirs.median if claim.test != "worst" else mine.median > theirs.median
        if claim.test in ("near", "far"):
            reach = claim.factor * theirs.median if self.sign > 0 else theirs.median + claim.factor - 1.0
            better = (mine.median <= reach) == (claim.test == "near")
        apart = mine.high < theirs.low or theirs.high < mine.low or claim.test in ("near", "far")
        return self.found((HOLDS if better else FAILS) if apart else OPEN, at, mine, rival, theirs)

    def ahead(self, rivals: Sequence[str], last: int) -> ClaimFinding:
        """Return the number of queries at which the method is furthest behind, and who is ahead there."""
        places = [
            (at, rival, self.point(self.claim.method, at), self.point(rival, at))
            for at in range(last + 1)
            for rival in rivals
        ]
        behind = [place for place in places if place[2].median > place[3].median]
        clearly = [place for place in behind if place[2].low > place[3].high]

        def lead(place: tuple[int, str, Band, Band]) -> float:
            mine, theirs = place[2].median, place[3].median
            return mine / theirs if self.sign > 0 and theirs > 0 else mine - theirs

        at, rival, mine, theirs = max(clearly or behind or places, key=lead)
        return self.found(FAILS if clearly else OPEN if behind else HOLDS, at, mine, rival, theirs)

    def saves(self, rival: str, theirs: Band, at: int) -> ClaimFinding:
        """Return how many times fewer queries the method needs for the value at which the best rival ends."""
        behind = [k for k in range(at + 1) if self.point(self.claim.method, k).median > theirs.median]
        here = behind[-1] + 1 if behind else 0  # from here on for good
        end, reached = float(self.case.queries[at]), here <= at
        here = min(here, at)
        times = end / float(self.case.queries[here]) if reached else 0.0
        verdict = HOLDS if times >= self.claim.factor else FAILS
        found = self.found(verdict, here, self.point(self.claim.method, here), rival, theirs)
        return replace(found, times=times, rival_queries=end)

    def falls(self, at: int) -> ClaimFinding:
        """Return the slope of logarithms of the median and of the quartiles."""
        span = slice(self.case.place(self.case.queries[at] / 10**0.5), at + 1)
        queries, lines = np.log(self.case.queries[span]), np.log(self.case.curves[self.claim.method][:, span])
        low, median, high = sorted(-float(np.polyfit(queries, line, 1)[0]) for line in lines)
        level = self.claim.level
        verdict = HOLDS if level / self.claim.factor <= median <= level * self.claim.factor else FAILS
        power, said = Band(low, median, high), Band(level, level, level)
        return ClaimFinding(
            self.case.name, verdict, float(self.case.queries[at]), power, "the power predicted", said
        )

    def stalls(self, at: int, now: Band) -> ClaimFinding:
        then = self.point(self.claim.method, self.case.place(self.case.queries[at] / 10)).median
        gain = then / now.median if self.sign > 0 else then - now.median
        verdict = HOLDS if gain < self.claim.factor else FAILS
        return self.found(verdict, at, now, "itself, a decade of queries earlier", Band(then, then, then))


def judge(claims: Sequence[Claim], cases: Sequence[Lines], *, lower_is_better: bool) -> tuple[Verdict, ...]:
    """Return a verdict for every claim, with the figures that decide it."""
    return tuple(_judge(claim, cases, 1.0 if lower_is_better else -1.0) for claim in claims)


def _judge(claim: Claim, cases: Sequence[Lines], sign: float) -> Verdict:
    chosen = [case for case in cases if not claim.cases or case.name in claim.cases]
    findings = tuple(found for case in chosen if (found := _Judge(claim, case, sign).finding()) is not None)
    held = sum(found.verdict == HOLDS for found in findings)
    failed = sum(found.verdict == FAILS for found in findings)
    needed = len(findings) if claim.least is None else claim.least
    if not findings:
        verdict = "not measured"
    elif held >= needed:
        verdict = HOLDS
    else:
        verdict = FAILS if len(findings) - failed < needed <= len(findings) else OPEN
    missing = tuple(name for name in claim.cases if name not in [case.name for case in cases])
    return Verdict(
        claim.id, claim.says, claim.by, claim.method, verdict, held, len(findings), needed, missing, findings
    )


def by_heading(claims: Sequence[Verdict]) -> dict[str, list[Verdict]]:
    """Return verdicts under a heading for whoever made the statement, in the order of the first of each."""
    found: dict[str, list[Verdict]] = {}
    for claim in claims:
        paper = claim.by == "the paper"
        heading = "What the paper says, and what was measured" if paper else f"Statements about {claim.by}"
        found.setdefault(heading, []).append(claim)
    return found


def words(found: ClaimFinding) -> str:
    """Return the figures of one case in words."""
    queries = number(found.queries)
    if found.times is None:
        return f"{found.value} against {found.rival_value} ({found.rival}) at {queries} queries"
    if not found.times:
        return f"not reached in {queries} queries: {found.value} against {found.rival_value} ({found.rival})"
    return (
        f"{found.times:.3g} times fewer: {found.value} at {queries} queries against {found.rival_value} "
        f"({found.rival}) at {number(found.rival_queries)}"
    )


def figures_of(claim: Verdict) -> str:
    """Return the figures of every case in words."""
    parts = [f"{found.case}: {found.verdict}, {words(found)}" for found in claim.cases]
    return "; ".join(parts + [f"not measured: {name}" for name in claim.missing])
