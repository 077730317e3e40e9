"""The report, in files and in a browser."""

from __future__ import annotations

import csv
import json
import math
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from lab_pieces import browser, code, opened, toy
from zofw.comparison import number
from zofw_paper.experiment import conduct, find_experiment, identity
from zofw_paper.figures import GREY, MANY, PALETTE, colours
from zofw_paper.publish import page, publish, published, standing
from zofw_paper.report import ends, make_report
from zofw_paper.spec import SpecError, read
from zofw_paper.store import StoreError
from zofw_paper.summary import read_summary

PUBLISHED = published(Path(__file__).parents[2] / "docs" / "reproduction")


@pytest.fixture(scope="module")
def reported(tmp_path_factory) -> Path:
    """A directory with nine runs and their report."""
    folder = tmp_path_factory.mktemp("report")
    experiment = read(toy(folder))
    conduct(experiment, folder / "out", code=code(folder), workers=0)
    make_report(folder / "out")
    return folder / "out"


def test_numbers_read_well():
    shown = {
        0.0: "0",
        3.0: "3",
        12345.0: "12,345",
        3e9: "3.00e+09",
        0.5: "0.5",
        1.23456e-5: "1.23e-05",
        math.nan: "–",
    }
    assert {value: number(value) for value in shown} == shown
    assert number(None) == "–"


def test_few_curves_have_colours_and_of_many_two_stand_out():
    few = [str(k) for k in range(MANY)]
    assert len(set(colours(few).values())) == MANY <= len(PALETTE) == len(set(PALETTE))
    many = colours([*few, "default (explore-correct)"])
    assert many.pop("0") == PALETTE[0] and many.pop("default (explore-correct)") == PALETTE[1]
    assert set(many.values()) == {GREY}


@pytest.mark.parametrize("colour", [*PALETTE, GREY])
def test_curves_are_seen_on_white_and_on_black(colour):
    parts = np.array([int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5)])
    light = np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4) @ [
        0.2126,
        0.7152,
        0.0722,
    ]
    assert (light + 0.05) / 0.05 > 2 and 1.05 / (light + 0.05) > 1.5  # contrast as WCAG computes it


def test_files_of_a_report(reported):
    names = {path.name for path in reported.iterdir() if path.is_file()}
    assert {
        "summary.json", "ends.csv", "curves.csv", "crossings.csv", "tuning.csv", "claims.csv", "report.html",
        "mine-paper.png", "mine-paper.svg", "mine-all.png", "mine-all.svg",
    } <= names  # fmt: skip
    with (reported / "ends.csv").open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert [row["method"] for row in rows] == ["averaged", "all coordinates", "spsa"]
    assert float(rows[0]["lower_quartile"]) <= float(rows[0]["median"]) <= float(rows[0]["upper_quartile"])
    assert (reported / "mine-all.png").read_bytes().startswith(b"\x89PNG")


def test_a_report_is_made_again_from_its_summary_alone(reported, tmp_path):
    (tmp_path / "summary.json").write_text((reported / "summary.json").read_text())
    made = make_report(tmp_path)
    assert made["report"].read_text() == (reported / "report.html").read_text()
    assert made["figure"].is_file()
    with pytest.raises(StoreError, match=r"has no summary\.json"):
        read_summary(tmp_path / "nowhere")


def test_a_report_of_one_run(reported, tmp_path):
    assert make_report(reported / "quadratic" / "averaged" / "seed-1")["report"].is_file()


def test_the_page_is_whole_and_escaped(reported):
    page = (reported / "report.html").read_text(encoding="utf-8")
    ours = re.sub(r"<script>.*?</script>", "", page, count=1, flags=re.DOTALL)
    assert "<script>alert(1)" not in ours and "&lt;script&gt;alert(1)" in ours and "<b>quadratics" not in ours
    assert "http" not in ours.replace("http-equiv", "")
    assert not re.search(r"<(link|iframe|object|embed)\b|\bsrc=\"(?!data:)", ours)
    assert "default-src 'none'" in ours and "width=device-width" in ours


PROBE = """
const verdict = { charts: 0, lines: 0, resources: performance.getEntriesByType("resource").length };
await new Promise(done => setTimeout(done, 500));
for (const chart of document.querySelectorAll(".chart")) {
  verdict.charts += chart.querySelectorAll("svg.main-svg").length > 0;
  verdict.lines += chart.querySelectorAll(".scatterlayer .trace .js-line").length;
  verdict.overflow = Math.max(verdict.overflow || 0, chart.getBoundingClientRect().right - window.innerWidth,
    ...[...chart.querySelectorAll("svg.main-svg")].map(svg => svg.getBoundingClientRect().right - window.innerWidth));
}
verdict.scroll = document.documentElement.scrollWidth - window.innerWidth;
verdict.alerted = typeof window.alerted !== "undefined";
verdict.ink = getComputedStyle(document.body).color;
const first = document.querySelector(".chart");
const shown = () => first.data.filter(trace => trace.visible === true || trace.visible === undefined).length;
verdict.before = shown();
verdict.names = [...first.querySelectorAll(".annotation-text")].map(label => label.textContent);
const toggle = first.querySelector(".legendtoggle") || first.querySelector(".annotation-text-g > g");
const click = name => toggle.dispatchEvent(new MouseEvent(name, { bubbles: true, cancelable: true, view: window }));
click("mousedown"); click("mouseup"); click("click");
await new Promise(done => setTimeout(done, 1200));
verdict.after = shown();
document.querySelector('.switch button[data-group="paper"]').click();
await new Promise(done => setTimeout(done, 300));
verdict.paper = shown();
return JSON.stringify(verdict);
"""


@pytest.mark.parametrize(("width", "dark"), [(1280, True), (390, False)])
def test_the_page_in_a_browser(reported, tmp_path, width, dark):
    browser()
    found = json.loads(opened(reported / "report.html", PROBE, width=width, folder=tmp_path, dark=dark))
    assert found["charts"] == 1 and found["lines"] >= 3
    assert found["resources"] == 0, "nothing is fetched"
    assert found["before"] == 6 and found["after"] == 4, "a tap on a name hides a curve and its band"
    assert len(found["names"]) == (3 if width > 640 else 0), (
        "names are at the curves where there is room, else in a legend"
    )
    assert found["paper"] == 4, "the switch shows the paper's methods alone"
    assert found["overflow"] <= 0 and found["scroll"] <= 0, "it fits the width"
    light = sum(map(int, re.findall(r"\d+", found["ink"])[:3])) > 380
    assert light == dark and not found["alerted"]


def test_publishing_keeps_what_is_small_and_where_it_is_from(reported, tmp_path, monkeypatch):
    target = tmp_path / "mine"
    publish(reported, target)
    (target / "stale.csv").write_text("old")
    publish(reported, target)
    names = {path.name for path in target.iterdir()}
    assert {"summary.json", "mine-all.png", "ends.csv"} <= names
    assert "stale.csv" not in names and "report.html" not in names
    text = (tmp_path / "mine.md").read_text()
    assert "What the paper says, and what was measured" in text and "![mine-all](mine/mine-all.png)" in text
    assert "is ahead for good" in text and "* at the edge" in text


def test_a_new_column_reaches_the_published_page(reported, tmp_path, monkeypatch):
    monkeypatch.setattr(
        "zofw_paper.publish.ends", lambda *of: [row | {"novelty": "7.25"} for row in ends(*of)]
    )
    text = page(read_summary(reported), tmp_path)
    assert "| novelty |" in text and "| 7.25 |" in text and "ended by" not in text


def test_a_page_says_by_itself_what_has_changed_since(reported, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "experiments").mkdir()
    spec = toy(tmp_path / "experiments")
    summary = read_summary(reported)
    assert standing(summary) == []
    spec.write_text(spec.read_text().replace("900", "901"))
    assert "specification has changed" in " ".join(standing(summary))
    old = replace(summary, environment=replace(summary.environment, code={"zo-fw": "0", "spsa": "1"}))
    assert "code of spsa, zo-fw has changed" in " ".join(standing(old))
    assert "{warning}" in page(old, tmp_path / "mine")
    assert "no profile" in standing(replace(summary, profile="nightly"))[0]


@pytest.mark.parametrize("target", PUBLISHED, ids=lambda path: path.name)
def test_a_published_page_says_how_it_stands(target):
    text = target.with_suffix(".md").read_text(encoding="utf-8")
    assert text == page(read_summary(target), target), "write it again: zofw published docs/reproduction"


def test_an_experiment_that_is_not_there(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SpecError, match=r"no experiment 'fig9'; there is .*fig1"):
        find_experiment("fig9")


def test_the_table_of_costs_ends_in_a_report(tmp_path):
    experiment = replace(
        read(find_experiment("table1"), "smoke"),
        methods=read(find_experiment("table1"), "smoke").methods[2:4],
    )
    assert conduct(experiment, tmp_path / "table1") == []
    made = make_report(tmp_path / "table1")
    assert "ZO-SFW, RDSA" in made["report"].read_text() and made["costs"].is_file()
    publish(tmp_path / "table1", tmp_path / "published")
    assert "| ZO-SFW, RDSA | 2 | 2 |" in (tmp_path / "published.md").read_text()


def test_images_are_known_by_their_own_and_their_source():
    images = read(find_experiment("fig4"), "quick")
    assert identity(images) not in (images.fingerprint, identity(read(find_experiment("fig3"), "quick")))
