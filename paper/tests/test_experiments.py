"""The figures and tables of the paper, in a few seconds each: the machinery, not the numbers."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from zofw_paper.cases import Code
from zofw_paper.experiment import conduct, find_experiment
from zofw_paper.images import perturbations
from zofw_paper.provenance import code_of
from zofw_paper.publish import publish, stand_beside
from zofw_paper.report import make_report
from zofw_paper.spec import read
from zofw_paper.summary import read_summary

pytestmark = pytest.mark.filterwarnings("ignore:.* has climbed")  # as methods do in a few iterations


def reproduced(name: str, folder: Path, profile: str = "smoke", workers: int = 0):
    experiment = read(find_experiment(name), profile)
    code = Code(str(find_experiment(name).parent / "situations.py"))
    assert conduct(experiment, folder / f"{name}-{profile}", code=code, workers=workers) == []
    return make_report(folder / f"{name}-{profile}"), read_summary(folder / f"{name}-{profile}")


@pytest.mark.parametrize("name", ["fig1", "fig2"])
def test_curves(name, tmp_path):
    pytest.importorskip("sklearn")
    made, summary = reproduced(name, tmp_path)
    (case,) = summary.cases
    paper = {curve.label for curve in case.curves if curve.group == "paper"}
    assert paper == {"ZSFW-DVR", "ZOFWGD", "ZOFWSGD", "AccSZOFW"}
    assert made["figure-all"].is_file(), "the second version, with the default method"
    ends = {curve.label: curve.end for curve in case.curves}
    assert ends["ZOFWSGD"].last.median < 0.5 * case.start
    assert ends["ZOFWGD"].iterations == 2, "n(d + 1) queries each"
    assert all(end.queries <= case.budget for end in ends.values())
    assert made["figure"].is_file() and len(summary.claims) >= 7
    assert case.optimum.certified == (name == "fig1")


def test_attacks_and_their_images(data_folder, tmp_path):
    pytest.importorskip("torch")
    made, summary = reproduced("fig4", tmp_path)
    wanted = {"ZSFW-DVR", "ZOFWSGD", "AccSZOFW", "ZOFWGD", "default"}
    assert {row["method"] for row in summary.rows} == wanted
    assert (tmp_path / "fig4-smoke" / "images-mnist-30.png").is_file()
    assert "data:image/png;base64," in made["report"].read_text()
    source = make_report(tmp_path / "fig3-smoke")
    curves = read_summary(tmp_path / "fig3-smoke").cases[0]
    assert curves.n == 30 and curves.start == 0.0 and source["figure"].is_file()
    assert summary.environment.code == {curve.method: code_of(curve.method) for curve in curves.curves}


def test_a_picture_of_one_method_run_again_keeps_the_rows_of_the_others(data_folder, tmp_path):
    pytest.importorskip("torch")
    experiment = read(find_experiment("fig3"), "smoke")
    old, again = tmp_path / "old", tmp_path / "again"
    conduct(experiment, old, workers=0, labels=["ZOFWSGD", "default"])
    make_report(old)
    publish(old, tmp_path / "published")
    stand_beside(tmp_path / "published", again)
    conduct(replace(experiment, seeds=(2,)), again, workers=0, labels=["ZOFWSGD"])
    before, after = perturbations(experiment, old), perturbations(replace(experiment, seeds=(2,)), again)
    assert set(before) == set(after) == {"mnist-30, ZOFWSGD", "mnist-30, default"}
    changed = {name for name in before if not np.array_equal(before[name], after[name])}
    assert changed == {"mnist-30, ZOFWSGD"} and all(np.abs(x).max() > 0 for x in after.values())


@pytest.mark.slow
@pytest.mark.parametrize("name", ["fig1", "fig2", "fig3", "table1", "default"])
def test_quick_profiles(name, data_folder, tmp_path):
    if name == "fig3":
        pytest.importorskip("torch")
    made, _ = reproduced(name, tmp_path, "quick", workers=2)
    assert made["report"].is_file()
