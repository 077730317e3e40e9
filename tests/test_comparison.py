"""Comparing methods on a problem of one's own."""

from __future__ import annotations

import math

import numpy as np
import pytest

import zofw


def square(x):
    return float(np.sum((x - np.arange(5) / 10) ** 2))


@pytest.fixture(scope="module")
def found():
    methods = {"default": "auto", "one direction": zofw.papers.SPSA(), "poor": "zo-fw"}
    return zofw.compare(square, zofw.Simplex(), methods, budget=400, seeds=3, optimum=0.0, dim=5)


def test_every_method_has_every_seed_within_the_budget(found):
    assert {label: len(runs) for label, runs in found.results.items()} == {
        "default": 3, "one direction": 3, "poor": 3,
    }  # fmt: skip
    assert all(run.nfev <= 400 for runs in found.results.values() for run in runs)
    assert len({run.seed for run in found.results["one direction"]}) == 3


def test_the_table_has_medians_and_the_best_first(found):
    rows = found.rows()
    assert rows[0]["method"] == "default"
    for row in rows:
        ends = [run.fun for run in found.results[row["method"]]]
        if not any(map(math.isnan, ends)):
            assert row["median"] == max(1e-16, float(np.median(ends)))
        assert row["lower quartile"] <= row["median"] <= row["upper quartile"]
    text = repr(found)
    assert text.startswith("objective − optimum after 400 queries") and "one direction" in text
    assert found._repr_html_().count("<tr>") == 4


def test_the_plot_and_the_report_show_every_method(found, tmp_path):
    pytest.importorskip("matplotlib")
    axes = found.plot()
    assert [line.get_label() for line in axes.get_lines()] == ["default", "one direction", "poor"]
    for line in axes.get_lines():
        assert np.all(np.diff(line.get_xdata()) >= 0) and np.all(line.get_ydata() > 0)
    page = found.report(tmp_path / "report.html", "A <title>").read_text()
    assert "A &lt;title&gt;" in page and "<svg" in page and "SPSA(" in page


def test_without_an_optimum_the_objective_is_compared(tmp_path):
    found = zofw.compare(square, zofw.Simplex(), ["spsa"], budget=100, seeds=1, dim=5, diagnose=0)
    assert found.measure == "objective" and found.rows()[0]["runs"] == 1


def test_a_curve_that_is_another_method_shares_its_line():
    pytest.importorskip("matplotlib")
    names = ["auto", "interpolation", "spsa"]
    found = zofw.compare(square, zofw.Simplex(), names, budget=100, seeds=1, dim=5, diagnose=5)
    labels = [line.get_label() for line in found.plot().get_lines()]
    assert sorted(labels) == ["auto = interpolation", "spsa"]
