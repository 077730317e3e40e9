"""Tables of docs/reproduction.md come from the published files."""

from __future__ import annotations

import importlib.util
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from pages import DOCS

from zofw_paper.curves import Crossing
from zofw_paper.summary import CaseSummary, read_summary

pytest.importorskip("sphinx")
_spec = importlib.util.spec_from_file_location("zofw_docs_pages", DOCS / "_ext" / "pages.py")
assert _spec is not None and _spec.loader is not None
tables = importlib.util.module_from_spec(_spec)
sys.modules[_spec.name] = tables
_spec.loader.exec_module(tables)

PAGES = [(DOCS / page).read_text(encoding="utf-8") for page in ("reproduction.md", "details/reproduction.md")]


def w8a() -> CaseSummary:
    (case,) = (case for case in read_summary(DOCS / "reproduction" / "fig1").cases if case.name == "w8a")
    return case


def test_a_number_of_queries_is_a_power_of_ten():
    assert tables.power(3.57e9) == "3.6·10⁹" and tables.power(1e10) == "1.0·10¹⁰"


def test_a_cell_says_where_a_rival_is_overtaken_and_how_the_two_end():
    mine, rival = w8a().curves[:2]
    end = rival.end.window.median / mine.end.window.median
    found = Crossing(mine.label, rival.label, 2e8, 3e8, 3e8, 3, 3)
    assert tables.overtaken(mine, rival, found) == f"**3.0·10⁸**; ends {end:.2g} times below"
    assert "times above" in tables.overtaken(rival, mine, found)
    late = tables.overtaken(mine, rival, replace(found, high=None, seeds=2))
    assert "(upper quartile beyond the budget)" in late
    never = tables.overtaken(mine, rival, replace(found, low=None, median=None, high=None, seeds=0))
    assert never.startswith("not within the budget (0 of 3 seeds)")


def test_two_published_medians_cross_where_one_stays_below():
    case = w8a()
    curves = {curve.label: curve for curve in case.curves}
    mine, rival = curves["ZSFW-DVR"], curves["ZOFWGD"]
    found = tables.of_medians(case, mine, rival)
    first = list(case.queries).index(found.median)
    assert all(a < b for a, b in zip(mine.window[first:], rival.window[first:], strict=True))
    assert mine.window[first - 1] >= rival.window[first - 1]


def test_a_statement_has_one_row_with_every_data_set():
    made = {page: read_summary(DOCS / "reproduction" / page).claims for page in ("fig1", "fig1-long-w8a")}
    found = tables.verdicts(made)
    assert len(found) == len({claim.says for claims in made.values() for claim in claims})
    row = found["ZSFW-DVR ends with the smallest gap on every dataset"]
    pages = "[fig1](/reproduction/fig1.md), [fig1-long-w8a](/reproduction/fig1-long-w8a.md)"
    assert row == f"**✓** holds on w8a ({pages}); **✗** does not hold on a9a ([fig1](/reproduction/fig1.md))"


def test_a_gap_is_that_of_the_last_point_which_is_paid_for():
    case = w8a()
    for k in (5, 20, len(case.queries) - 1):
        assert tables.seen_at(case, case.queries[k]) == {c.label: c.window[k] for c in case.curves}
    between = (case.queries[5] + case.queries[6]) / 2
    assert tables.seen_at(case, between) == tables.seen_at(case, case.queries[5])


def test_the_first_method_is_the_lowest_of_the_papers_or_in_attacks_the_highest():
    case = w8a()
    place = max(k for k, queries in enumerate(case.queries) if queries <= 1e8)
    lowest = min((c.window[place], c.label) for c in case.curves if c.group == "paper")
    assert tables.leader([("gap", case)], 8) == f"{lowest[1]} {lowest[0]:.0e}"
    assert tables.leader([("gap", case)], 0) == tables.leader([], 8) == "–"
    (attack,) = read_summary(DOCS / "reproduction" / "fig3-long").cases
    assert tables.best("success-rate", {"a": 0.1, "b": 0.4}) == "b"
    assert tables.leader([("success-rate", attack)], 6).startswith("ZOFWSGD ")


def test_a_method_is_first_for_good_from_the_last_rival_that_it_overtakes():
    case = w8a()
    rivals = [c.median for c in case.crossings if c.method == "ZSFW-DVR"]
    said, verdict = tables.for_good("ZSFW-DVR", "gap", case)
    assert tables.power(max(rivals)) in said and "holds" in verdict
    said, verdict = tables.for_good("ZOFWSGD", "gap", case)
    assert said.startswith("not up to") and "does not hold" in verdict


def test_every_line_of_a_table_names_what_is_published():
    blocks = [block for page in PAGES for block in page.split("```{")[1:]]
    lines = [
        (block.partition(" ")[0], line)
        for block in blocks
        if block.startswith(("overtaking-table", "gap-table", "first-table"))
        for line in block.partition("```")[0].splitlines()[1:]
        if line and not line.startswith(":")
    ]
    assert len(lines) > 20
    for kind, line in lines:
        where, _, words = line.partition(": ")
        *pages, name = [*where.split(), words.split(" | ")[1]] if kind == "first-table}" else where.split()
        for page in pages:
            cases = read_summary(Path(DOCS) / "reproduction" / page).cases
            assert name in [case.name for case in cases], f"{page} has no case {name}"
