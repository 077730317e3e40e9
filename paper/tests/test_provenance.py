"""What made a number: the fingerprint of a method's code, and published runs that begin as they did."""

from __future__ import annotations

from dataclasses import replace

import pytest

from lab_pieces import code, toy
from zofw_paper import provenance
from zofw_paper.experiment import conduct
from zofw_paper.provenance import code_of, environment, normal_form
from zofw_paper.publish import publish, repeat, standing
from zofw_paper.report import make_report
from zofw_paper.spec import read
from zofw_paper.store import write_json
from zofw_paper.summary import read_summary


def test_comments_docstrings_and_layout_are_no_code():
    plain = 'def f(x):\n    "what"\n    return x + 1\n'
    assert normal_form(plain) == normal_form("# why\n\ndef f(x):\n    return (x + 1)  # so\n")
    assert normal_form(plain) != normal_form(plain.replace("+ 1", "- 1"))


def test_the_code_of_a_method_is_what_it_rests_on(monkeypatch):
    rests = provenance._rests_on("zofw.papers.zsfw_dvr")
    assert {"zofw.papers.zsfw_dvr", "zofw.differences", "zofw.schedules"} <= rests
    assert "zofw.papers.spsa" not in rests and "zofw.algorithms" not in rests
    before = {name: code_of(name) for name in ("zsfw-dvr", "spsa", "auto")}
    assert len(set(before.values())) == 3
    source = provenance._source

    def changed(module: str) -> str:
        return source(module).replace("pn + 2", "pn + 3").replace("U = self.law.draw(", "U = self.law.draw (")

    def halved(module: str) -> str:
        return source(module).replace("t, x, d, b = state.t", "t, x, b, d = state.t")

    for reader, same in ((changed, True), (halved, False)):
        monkeypatch.setattr(provenance, "_source", reader)
        code_of.cache_clear()
        assert (code_of("zsfw-dvr") == before["zsfw-dvr"]) == same
        assert code_of("spsa") == before["spsa"]
    code_of.cache_clear()


def test_the_commit_is_named_in_a_checkout():
    found = environment("zo-fw")
    assert found.code == {"zo-fw": code_of("zo-fw")}
    assert found.commit == "" or len(found.commit.rstrip("+")) == 12


def test_published_runs_are_begun_again_where_code_has_changed(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "experiments").mkdir()
    toy(tmp_path / "experiments")
    mine = code(tmp_path / "experiments")
    text = (tmp_path / "experiments" / "mine.toml").read_text()
    (tmp_path / "experiments" / "mine.toml").write_text(text.replace("seeds = [11]", "seeds = []"))
    experiment = read(tmp_path / "experiments" / "mine.toml")
    conduct(experiment, tmp_path / "out", code=mine, workers=0)
    make_report(tmp_path / "out")
    target = tmp_path / "docs" / "mine"
    publish(tmp_path / "out", target)
    whole = read_summary(target)
    old = replace(whole.environment, code=dict.fromkeys(whole.environment.code, "0" * 16))
    write_json(target / "summary.json", replace(whole, environment=old))
    assert "has changed since" in standing(read_summary(target))[0]
    assert repeat(target, mine) == [] and standing(read_summary(target)) == []
    case = whole.cases[0]
    curves = [replace(c, opening=tuple((q, 1.001 * v) for q, v in c.opening)) for c in case.curves]
    cases = (replace(case, curves=(curves[0], *case.curves[1:])),)
    write_json(target / "summary.json", replace(whole, environment=old, cases=cases))
    (sentence,) = repeat(target, mine)
    assert "averaged on quadratic begins otherwise" in sentence
    assert standing(read_summary(target)) == [
        "The code of zo-sfw has changed since, in more than comments."
    ], "the others were found to be the same"
    write_json(target / "summary.json", replace(whole, environment=old, cases=()))
    assert repeat(target, mine) == [] and read_summary(target).environment.code == old.code, (
        "nothing was repeated"
    )


@pytest.fixture(autouse=True)
def no_drawing(monkeypatch):
    """Figures are drawn in the tests of the report."""
    monkeypatch.setattr("zofw_paper.report.draw_curves", lambda summary, stem, *, group=None: [stem, stem])
