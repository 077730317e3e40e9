"""Tables of functions as they are: cells won, data by family, and where others are ahead."""

from __future__ import annotations

import csv
from collections import defaultdict
from pathlib import Path

import numpy as np

NEAR = 1.5  # times the best gap
FLOOR = {"simulators": 1e-3}  # of the gap at the start: what is closer counts as equal
SMALL = 1e-8  # the same for functions whose minimum is known
OURS = ("zofw", "zofw (components)")

Cell = tuple[str, str, str, int]  # draw, family, problem, budget


def cells(path: Path, version: str, draw: int) -> tuple[dict[Cell, dict[str, float]], dict[Cell, float]]:
    """The median gap of every solver in every cell, at least the floor; and the gap at the start."""
    with path.open(newline="") as file:
        rows = [r for r in csv.DictReader(file) if r["draw"] in ("0", str(draw))]
    rows = [r for r in rows if r["draw"] == str(draw) or r["family"] in ("simulators", "raw data")]
    of_all = rows
    rows = [r for r in rows if r["solver"] not in OURS or r["version"] == version]
    least: dict[str, float] = {}
    for r in of_all:
        known = float(r["least"]) if r["least"] else float(r["value"])
        least[r["problem"]] = min(least.get(r["problem"], np.inf), known)
    values: dict[Cell, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    start: dict[Cell, float] = {}
    for r in rows:
        cell = (r["draw"], r["family"], r["problem"], int(r["budget"]))
        start[cell] = float(r["start"]) - least[r["problem"]]
        values[cell][r["solver"]].append(float(r["value"]) - least[r["problem"]])
    gaps: dict[Cell, dict[str, float]] = {}
    for cell, by in values.items():
        floor = FLOOR.get(cell[1], SMALL) * max(start[cell], 1e-300)
        gaps[cell] = {
            solver: max(float(np.median(np.nan_to_num(v, nan=np.inf))), floor) for solver, v in by.items()
        }
    return gaps, start


def budget_of(cell: Cell, gaps: dict[Cell, dict[str, float]]) -> int:
    """0, 1 or 2: which of the budgets of its problem it has."""
    return sorted(c[3] for c in gaps if c[:3] == cell[:3]).index(cell[3])


def near(by: dict[str, float], solver: str) -> bool:
    return solver in by and by[solver] <= NEAR * min(by.values())


def write(path: Path, version: str, draw: int, page: Path | None) -> None:
    gaps, start = cells(path, version, draw)
    solvers = sorted({s for by in gaps.values() for s in by}, key=lambda s: (s not in OURS, s))
    times = ("10(d + 1)", "30(d + 1)", "100(d + 1)")
    lines = [
        f"| cells first or within {NEAR} times of the best | " + " | ".join(times) + " | last |",
        "|---|---|---|---|---|",
    ]
    for solver in solvers:
        row, last = [], 0
        for k in range(3):
            mine = [by for c, by in gaps.items() if budget_of(c, gaps) == k and solver in by]
            won = sum(near(by, solver) for by in mine)
            last += sum(by[solver] == max(by.values()) > min(by.values()) for by in mine)
            row.append(f"{won} of {len(mine)}" + (f" ({won / len(mine):.0%})" if mine else ""))
        lines.append(f"| {solver} | " + " | ".join(row) + f" | {last} |")
    families = list(dict.fromkeys(c[1] for c in gaps))
    lines += ["", "| family | cells | zofw near the best | best other: near the best |", "|---|---|---|---|"]
    for family in families:
        mine = [by for c, by in gaps.items() if c[1] == family]
        rates = {s: sum(near(by, s) for by in mine) for s in solvers if s not in OURS}
        best = max(rates, key=lambda s: rates[s], default="")
        lines.append(
            f"| {family} | {len(mine)} | {sum(near(by, 'zofw') for by in mine)} | {best} {rates.get(best, 0)} |"
        )
    told = [
        (by["zofw"], by["zofw (components)"])
        for by in gaps.values()
        if "zofw (components)" in by and "zofw" in by
    ]
    if told:
        worse = sum(c > NEAR * s for s, c in told)
        better = sum(s > NEAR * c for s, c in told)
        lines += [
            "",
            f"Given the components instead of the sum: better in {better}, worse in {worse} of {len(told)} cells.",
        ]
    summary = [*lines, "", f"Measured at {version}. Gaps are parts of the gap at the start."]
    lines = ["| where others are ahead | evaluations | zofw | best other |", "|---|---|---|---|"]
    behind = [
        (by["zofw"] / min(by.values()), c, by)
        for c, by in gaps.items()
        if "zofw" in by and not near(by, "zofw")
    ]
    for _, cell, by in sorted(behind, key=lambda one: -one[0]):
        best = min(by, key=lambda s: by[s])
        share = max(start[cell], 1e-300)
        lines.append(
            f"| {cell[2]} | {cell[3]} | {by['zofw'] / share:.1e} | {by[best] / share:.1e} ({best}) |"
        )
    print("\n".join([*summary, "", *lines]))
    if page is not None:
        page.write_text("\n".join(summary) + "\n")
        page.with_stem(f"{page.stem}_behind").write_text("\n".join(lines) + "\n")
