"""Curves, claims and costs."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from lab_pieces import code, toy
from zofw.sets import L1Ball
from zofw_paper.claims import Lines, judge, words
from zofw_paper.curves import crossing, held, windows
from zofw_paper.experiment import StoredExperiment, conduct, find_experiment, window_median
from zofw_paper.provenance import code_of, environment
from zofw_paper.report import marks, protocol, rate_of
from zofw_paper.scaling import attempt, exponent, family, measure_costs, queries_to, scaling_rows
from zofw_paper.spec import Claim, Method, SpecError, Tuning, parse, read
from zofw_paper.store import Folder, StoreError, read_json, read_trace, write_json
from zofw_paper.summary import compare, summarise


def test_a_curve_holds_the_last_value_known():
    queries, values = np.array([0.0, 10.0, 100.0]), np.array([3.0, 2.0, 1.0])
    assert held(queries, values, np.array([1.0, 9.0, 10.0, 99.0, 100.0, 1e9])).tolist() == [3, 3, 2, 2, 1, 1]


def test_a_window_median_is_of_the_last_tenth_of_the_queries():
    queries, values = (
        np.array([0.0, 50.0, 91.0, 95.0, 100.0, 200.0]),
        np.array([9.0, 8.0, 3.0, 1.0, 2.0, 7.0]),
    )
    assert window_median(queries, values, 100) == 2.0
    assert window_median(queries, values, 80) == 8.0, "nothing was seen since: the last value known"
    assert windows(queries, values, np.array([1.0, 100.0, 200.0])).tolist() == [9.0, 2.0, 7.0]


def test_a_method_overtakes_where_it_is_ahead_for_good():
    grid = np.array([1.0, 10.0, 100.0, 1000.0])
    rival = np.full((3, 4), 2.0)
    mine = np.array([[3.0, 1.0, 3.0, 1.0], [3.0, 1.0, 1.0, 1.0], [3.0, 3.0, 3.0, 3.0]])
    found = crossing("A", "B", grid, mine, rival)
    assert (found.low, found.median, found.high) == (1000.0, 1000.0, None) and (found.seeds, found.of) == (
        2,
        3,
    )
    assert (found.since, found.until) == (10.0, 10.0), (
        "of the medians 3, 1, 3, 1 the first stretch of the longest"
    )
    assert crossing("B", "A", grid, rival, mine).seeds == 1
    early = crossing("A", "B", grid, [[1.0, 1.0, 1.0, 3.0]], rival[:1])
    assert early.median is None and (early.since, early.until) == (1.0, 100.0)
    assert crossing("A", "B", grid, rival, rival).since is None
    assert crossing("A", "B", grid, 0 * mine, rival).median == 0.0, "ahead from the start"


def test_one_method_is_run_again_and_put_beside_what_is_published(tmp_path):
    experiment, mine = replace(read(toy(tmp_path)), tuning=Tuning()), code(tmp_path)
    out, again = tmp_path / "out", tmp_path / "again"
    conduct(experiment, out, code=mine, workers=0)
    whole = summarise(StoredExperiment.read(out), out)
    conduct(experiment, again, code=mine, workers=0, labels=["spsa"])
    assert not (again / "quadratic" / "averaged").exists()
    alone = StoredExperiment.read(again)
    assert [curve.label for curve in summarise(alone, again).cases[0].curves] == ["spsa"]
    old = replace(
        whole.environment, code=dict.fromkeys(whole.environment.code, "old"), commit="before", commits={}
    )
    merged = summarise(alone, again, replace(whole, environment=old))
    untimed = [
        [replace(curve, end=replace(curve.end, seconds=0.0)) for curve in s.cases[0].curves]
        for s in (whole, merged)
    ]
    assert untimed[0] == untimed[1], "the same runs give the same curves"
    assert merged.cases[0].crossings == whole.cases[0].crossings and merged.claims == whole.claims
    assert merged.environment.code == {"zo-sfw": "old", "zo-fw": "old", "spsa": code_of("spsa")}
    made = environment().commit or "not known"
    assert merged.environment.commits == {"zo-sfw": "before", "zo-fw": "before", "spsa": made}

    case = whole.cases[0]
    lower = replace(
        case,
        curves=tuple(replace(c, each=tuple((0.0,) * len(case.queries) for _ in c.each)) for c in case.curves),
    )
    found = summarise(alone, again, replace(whole, cases=(lower,))).cases[0].crossings
    (lost,) = (c for c in found if (c.method, c.rival) == ("averaged", "spsa"))
    assert (lost.median, lost.seeds) == (0.0, 3), "crossings are of the new runs and the published ones"

    with pytest.raises(StoreError, match="of another specification"):
        summarise(alone, again, replace(whole, fingerprint="0" * 16))
    bare = replace(case, curves=tuple(replace(curve, each=()) for curve in case.curves))
    found = summarise(alone, again, replace(whole, cases=(bare,))).cases[0].crossings
    assert found == tuple(c for c in case.crossings if "spsa" not in (c.method, c.rival)), (
        "no others are known"
    )
    with pytest.raises(SpecError, match="no method 'spas'; it has averaged"):
        conduct(experiment, again, code=mine, workers=0, labels=["spas"])


def test_a_case_and_a_method_are_added_to_what_is_published(tmp_path):
    experiment, mine = replace(read(toy(tmp_path)), tuning=Tuning()), code(tmp_path)
    out, more = tmp_path / "out", tmp_path / "more"
    conduct(replace(experiment, methods=experiment.methods[:2]), out, code=mine, workers=0)
    published = summarise(StoredExperiment.read(out), out)
    old = replace(
        published.environment,
        code=dict.fromkeys(published.environment.code, "old"),
        commits={},
        commit="before",
    )
    published = replace(published, environment=old)
    (case,) = experiment.cases
    wider = replace(experiment, cases=(case, replace(case, name="again")), fewer={"spsa": 1})
    conduct(wider, more, code=mine, workers=0, only=["again"])
    merged = summarise(StoredExperiment.read(more), more, published)
    assert [(c.name, len(c.curves)) for c in merged.cases] == [("quadratic", 2), ("again", 3)]
    assert merged.cases[0] == published.cases[0] and merged.fingerprint == wider.fingerprint
    assert merged.environment.code == {
        "zo-sfw": " ".join(sorted(("old", code_of("zo-sfw")))),
        "zo-fw": " ".join(sorted(("old", code_of("zo-fw")))),
        "spsa": code_of("spsa"),
    }, "rows of both codes stand on the page"
    idle = replace(
        published, fingerprint=replace(wider, cases=(case,)).fingerprint
    )  # spsa was specified, but not run
    assert summarise(StoredExperiment.read(more), more, idle).cases == merged.cases
    other = replace(wider, diagnose=wider.diagnose + 1)
    conduct(other, tmp_path / "other", code=mine, workers=0, only=["again"])
    with pytest.raises(StoreError, match="of another specification"):
        summarise(StoredExperiment.read(tmp_path / "other"), tmp_path / "other", published)


def test_a_row_gets_more_seeds_beside_what_is_published(tmp_path):
    experiment, mine = replace(read(toy(tmp_path)), tuning=Tuning()), code(tmp_path)
    out, more = tmp_path / "out", tmp_path / "more"
    conduct(replace(experiment, fewer={"spsa": 1, "averaged": 2}), out, code=mine, workers=0)
    published = summarise(StoredExperiment.read(out), out)
    conduct(replace(experiment, fewer={"averaged": 2}), more, code=mine, workers=0, labels=["spsa"])
    merged = summarise(StoredExperiment.read(more), more, published)
    runs = [{curve.label: curve.runs for curve in s.cases[0].curves} for s in (published, merged)]
    assert [(r["spsa"], r["averaged"]) for r in runs] == [(1, 2), (len(experiment.seeds), 2)]


def test_a_row_that_is_not_published_yet_gets_fewer_seeds(tmp_path):
    experiment, mine = replace(read(toy(tmp_path)), tuning=Tuning()), code(tmp_path)
    out, more = tmp_path / "out", tmp_path / "more"
    conduct(experiment, out, code=mine, workers=0, labels=["spsa"])
    published = summarise(StoredExperiment.read(out), out)
    conduct(replace(experiment, fewer={"averaged": 1}), more, code=mine, workers=0, labels=["averaged"])
    merged = summarise(StoredExperiment.read(more), more, published)
    runs = {curve.label: curve.runs for curve in merged.cases[0].curves}
    assert runs == {"spsa": len(experiment.seeds), "averaged": 1}


def test_a_value_below_the_published_reference_changes_every_gap(tmp_path):
    experiment = replace(read(toy(tmp_path)), tuning=Tuning(), measure="gap")
    out = tmp_path / "out"
    conduct(experiment, out, code=code(tmp_path), workers=0)
    whole = summarise(StoredExperiment.read(out), out)
    (case,) = whole.cases
    assert case.optimum is not None
    higher = replace(case, optimum=replace(case.optimum, value=case.optimum.value + 0.1, certified=False))
    with pytest.raises(StoreError, match="below the published f"):
        summarise(StoredExperiment.read(out), out, replace(whole, cases=(higher,)))


def test_a_grid_of_one_rate_is_that_rate(tmp_path):
    tuning = Tuning((11,), (0.5, 1.0), {"all coordinates": (0.25,)})
    experiment = replace(read(toy(tmp_path)), tuning=tuning)
    out = tmp_path / "out"
    conduct(experiment, out, code=code(tmp_path), workers=0, labels=["averaged", "all coordinates"])
    assert {path.name for path in (out / "quadratic" / "all coordinates").iterdir()} == {
        "seed-1", "seed-2", "seed-3",
    }, "no run was made to choose from one"  # fmt: skip
    summary = summarise(StoredExperiment.read(out), out)
    rates = {curve.label: rate_of(curve) for curve in summary.cases[0].curves}
    assert rates["all coordinates"] == "0.25‡" and rates["averaged"].endswith("*")
    assert "‡ given by the specification" in marks(summary)
    assert "all coordinates {0.25}" in " ".join(protocol(summary))


def test_a_method_may_have_fewer_seeds(tmp_path):
    experiment = replace(read(toy(tmp_path)), tuning=Tuning(), fewer={"spsa": 1})
    assert experiment.fingerprint != replace(experiment, fewer={}).fingerprint
    conduct(experiment, tmp_path / "out", code=code(tmp_path), workers=0)
    (case,) = summarise(StoredExperiment.read(tmp_path / "out"), tmp_path / "out").cases
    assert {curve.label: curve.runs for curve in case.curves} == {
        "averaged": 3, "all coordinates": 3, "spsa": 1,
    }  # fmt: skip
    with pytest.raises(ValueError, match="from 1 to 3"):
        replace(experiment, fewer={"spsa": 4})


def test_a_summary_is_the_median_and_quartiles_of_the_traces(tmp_path):
    experiment = replace(read(toy(tmp_path)), tuning=Tuning())
    out = tmp_path / "out"
    conduct(experiment, out, code=code(tmp_path), workers=0)
    summary = summarise(StoredExperiment.read(out), out)
    (case,) = summary.cases
    (curve,) = (curve for curve in case.curves if curve.label == "averaged")
    grid = np.array(case.queries)
    table = []
    for seed in experiment.seeds:
        trace = read_trace(Folder(out / "quadratic" / "averaged" / f"seed-{seed}").trace)
        table.append(held(trace["queries"], trace["objective"], grid))
    assert np.allclose(curve.median, np.median(table, axis=0))
    assert np.allclose(curve.low, np.quantile(table, 0.25, axis=0))
    assert np.allclose(curve.high, np.quantile(table, 0.75, axis=0))
    assert curve.runs == 3 and grid[-1] == 900 and grid[0] < 8
    assert curve.median[0] == pytest.approx(case.start), "the value at x_0 is on the curve"
    ratios = grid[2:] / grid[1:-1]
    assert grid[0] >= 1 and ratios.max() < 2
    assert summary.claims[0].verdict in ("holds", "does not hold", "undecided")
    assert StoredExperiment.read(out).spec == experiment
    assert set(summary.environment.code) == {"zo-sfw", "zo-fw", "spsa"}


def test_a_gap_is_measured_from_the_best_that_is_known(tmp_path):
    experiment = replace(read(toy(tmp_path)), tuning=Tuning(), measure="gap")
    out = tmp_path / "out"
    problems = conduct(experiment, out, code=code(tmp_path), workers=0)
    assert "needs a problem with value(x)" in problems[0]
    (case,) = summarise(StoredExperiment.read(out), out).cases
    assert "no reference" in case.optimum.label
    best = min(min(curve.low) for curve in case.curves)
    assert best == pytest.approx(1e-12)
    above = case.optimum.value + 0.25
    write_json(
        out / "quadratic" / "reference.json", {"value": above, "label": "16 starts", "certified": False}
    )
    (case,) = summarise(StoredExperiment.read(out), out).cases
    assert "2.5e-01 below the reference (16 starts)" in case.optimum.label
    write_json(out / "quadratic" / "reference.json", {"value": above, "label": "minimum", "certified": True})
    (case,) = summarise(StoredExperiment.read(out), out).cases
    assert case.optimum.value == above


def test_what_is_not_there_is_a_sentence(tmp_path):
    with pytest.raises(StoreError, match="holds no experiment"):
        StoredExperiment.read(tmp_path)
    write_json(tmp_path / "experiment.json", {"spec": {}})
    with pytest.raises(StoreError, match="not a stored experiment"):
        StoredExperiment.read(tmp_path)
    with pytest.raises(StoreError, match="holds no run"):
        compare([tmp_path])
    experiment = read(toy(tmp_path))
    with pytest.raises(StoreError, match="no finished run yet"):
        summarise(StoredExperiment(experiment, "", environment()), tmp_path)


def test_runs_of_two_directories_side_by_side(tmp_path):
    experiment = replace(read(toy(tmp_path)), tuning=Tuning(), seeds=(1, 2))
    for name in ("one", "two"):
        conduct(experiment, tmp_path / name, code=code(tmp_path), workers=0)
    alone = compare([tmp_path / "one"])
    assert [curve.label for curve in alone.cases[0].curves] == [
        "all coordinates",
        "averaged",
        "spsa",
    ]
    both = compare([tmp_path / "one", tmp_path / "two"])
    labels = [curve.label for curve in both.cases[0].curves]
    assert "averaged (one)" in labels and "averaged (two)" in labels and both.seeds == (1, 2)
    Folder(tmp_path / "one" / "quadratic" / "averaged" / "seed-1").summary.unlink()
    lone = tmp_path / "one" / "quadratic" / "averaged" / "seed-1"
    with pytest.raises(StoreError, match="is finished"):
        compare([lone])


# ------------------------------------------------------------------ claims


def case(**ends):
    """A case whose methods go from 1 to their end value in a straight line of logarithms, with a band of 10 %."""
    medians = {label: np.geomspace(1.0, end, 31) for label, end in ends.items()}
    bands = {label: np.array([0.9 * line, line, 1.1 * line]) for label, line in medians.items()}
    return Lines("c", 1000, np.geomspace(1, 1000, 31), bands, frozenset(ends))


@pytest.mark.parametrize(
    ("claim", "verdict"),
    [
        (Claim("a", "", "best", "A"), "holds"),
        (Claim("a", "", "best", "B"), "does not hold"),
        (Claim("a", "", "worst", "C"), "holds"),
        (Claim("a", "", "worst", "A"), "does not hold"),
        (Claim("a", "", "beats", "B", against=("C",)), "holds"),
        (Claim("a", "", "beats", "C", against=("B",)), "does not hold"),
        (Claim("a", "", "near", "B", against=("A",), factor=2.0), "does not hold"),
        (Claim("a", "", "far", "B", against=("A",), factor=2.0), "holds"),
        (Claim("a", "", "near", "B", against=("A",), factor=20.0), "holds"),
        (Claim("a", "", "stalls", "C", factor=2.0), "holds"),
        (Claim("a", "", "stalls", "A", factor=2.0), "does not hold"),
        (Claim("a", "", "reaches", "A", level=2e-4), "holds"),
        (Claim("a", "", "reaches", "A", level=5e-5), "does not hold"),
        (Claim("a", "", "saves", "A", factor=2.0), "holds"),
        (Claim("a", "", "saves", "A", factor=1e9), "does not hold"),
        (Claim("a", "", "saves", "C", factor=1e-3), "does not hold"),
        (Claim("a", "", "falls", "A", level=4 / 3, factor=1.01), "holds"),
        (Claim("a", "", "falls", "A", level=2.0, factor=1.25), "does not hold"),
        (Claim("a", "", "ahead", "A", against=("B", "C")), "holds"),
        (Claim("a", "", "ahead", "B", against=("A",)), "does not hold"),
        (Claim("a", "", "best", "D"), "not measured"),
        (Claim("a", "", "beats", "A", against=("Z",)), "not measured"),
        (Claim("a", "", "best", "A", cases=("elsewhere",)), "not measured"),
        (Claim("a", "", "best", "A", at=1e-9), "undecided"),
    ],
)
def test_a_verdict_follows_from_the_curves(claim, verdict):
    (found,) = judge([claim], [case(A=1e-4, B=1e-3, C=0.5)], lower_is_better=True)
    assert found.verdict == verdict


def test_how_many_times_fewer_queries_are_needed_is_read_off_the_curves():
    measured = case(A=1e-4, B=1e-3)
    (found,) = judge([Claim("a", "", "saves", "A", factor=2.0)], [measured], lower_is_better=True)
    (finding,) = found.cases
    ours = dict(zip(measured.queries, measured.curves["A"][1], strict=True))
    assert ours[finding.queries] <= 1e-3 < min(ours[q] for q in ours if q < finding.queries)
    assert finding.times == measured.queries[-1] / finding.queries
    assert "times fewer" in words(finding)
    (found,) = judge([Claim("a", "", "saves", "B", factor=2.0)], [measured], lower_is_better=True)
    assert found.cases[0].times == 0.0 and words(found.cases[0]).startswith("not reached")


def test_bands_that_overlap_decide_nothing():
    (found,) = judge([Claim("a", "", "best", "A")], [case(A=0.1, B=0.105)], lower_is_better=True)
    assert found.verdict == "undecided"


def test_a_success_rate_is_better_when_higher():
    cases = [case(A=2.0, B=3.0)]
    for claim, verdict in [
        (Claim("a", "", "best", "B"), "holds"),
        (Claim("a", "", "near", "A", against=("B",), factor=1.5), "does not hold"),
        (Claim("a", "", "near", "A", against=("B",), factor=2.5), "holds"),
        (Claim("a", "", "stalls", "A", factor=0.1), "does not hold"),
    ]:
        (found,) = judge([claim], cases, lower_is_better=False)
        assert found.verdict == verdict
    assert found.cases[0].value.median == pytest.approx(2.0)


def test_a_claim_about_some_of_the_cases():
    cases = [replace(case(A=end, B=0.1), name=name) for name, end in (("x", 0.01), ("y", 0.02), ("z", 0.5))]
    verdicts = [
        judge([Claim("a", "", "best", "A", least=least)], cases, lower_is_better=True)[0].verdict
        for least in (2, 3, 4, None)
    ]
    assert verdicts == ["holds", "does not hold", "undecided", "does not hold"]
    (found,) = judge([Claim("a", "", "best", "A", cases=("x", "w"))], cases, lower_is_better=True)
    assert found.verdict == "holds" and found.missing == ("w",)
    with pytest.raises(SpecError, match="test should be one of"):
        parse('name = "s"\n[[claim]]\nid = "a"\nsays = ""\ntest = "sings"\nmethod = "A"\n')


# ------------------------------------------------------------------ costs


def test_costs_are_those_of_the_formulas():
    assert measure_costs(Method("zo-fw", "x"), 50, 7, 1, 5) == (50 * 8, 50 * 8)
    sizes = {"batch_size": "=root_n", "directions": "=root_d", "refresh_probability": 1.0, "initial": "paper"}
    assert measure_costs(Method("zsfw-dvr", "x", settings=sizes), 49, 16, 1, 5) == (2 * 49 * 4, 2 * 49 * 4)
    sizes = {**sizes, "refresh_probability": 1e-12}
    assert measure_costs(Method("zsfw-dvr", "x", settings=sizes), 49, 16, 1, 5) == (2 * 49 * 4, 4 * 7 * 4)


def test_the_table_of_costs_agrees_with_what_is_stated(tmp_path):
    for row in scaling_rows(read(find_experiment("table1"), "smoke"), tmp_path):
        for what in ("max", "average"):
            for axis in "nd":
                stated = row[f"{what}: stated, {axis}"]
                assert abs(float(row[f"{what}: power of {axis}"]) - float(stated)) < 0.2, row


# ------------------------------------------------------------------ complexity


def test_the_family_has_the_constants_it_is_said_to_have():
    for n, d in ((4, 2), (7, 5)):
        problem, best = family(n, d), 0.5 * (np.eye(d)[0] + np.eye(d)[1])
        assert problem.n == n and problem.value(np.zeros(d)) - problem.value(best) == pytest.approx(0.75)
        g = problem.gradient(best)
        assert g @ (best - L1Ball(1.0).lmo(g)) == pytest.approx(0.0, abs=1e-12), "the minimum over the ball"


def test_a_power_is_fitted_to_what_was_reached():
    assert exponent([10, 100, 1000], [3.0, 30.0, 300.0]) == pytest.approx(1.0)
    assert exponent([1, 2, 4], [3.0, 12.0, 48.0]) == pytest.approx(2.0)
    assert exponent([1, 2, 4], [3.0, 6.0, np.inf]) == pytest.approx(1.0)
    assert np.isnan(exponent([1, 2], [3.0, np.inf]))


def test_queries_to_an_error_are_those_of_the_first_run_that_reaches_it(tmp_path):
    experiment = read(find_experiment("table1-total"), "smoke")
    method = experiment.methods[0]
    found = queries_to(method, 4, 2, (0.4, 0.2, 0.0), 100, 1)
    tried = [attempt(method, family(4, 2), T, 1) for T in (2, 3, 5, 8, 12, 17, 25, 36, 51, 73)]
    for epsilon, queries in zip((0.4, 0.2, 0.0), found, strict=True):
        assert queries == next((q for q, error in tried if error <= epsilon), np.inf)
    assert conduct(experiment, tmp_path / "total") == []
    rows = read_json(tmp_path / "total" / "rows.json")
    assert [row["method"] for row in rows] == ["ZSFW-DVR, Theorem 1", "ZSCG, convex"]
    assert rows[0]["stated, 1/ε"] == "1" and "not reached" not in rows[0].values()
    assert [row["ε"] for row in rows] == ["0.4, 0.2", "0.2, 0.1, 0.05"], "of all methods, and of its own"
    kept = sorted((tmp_path / "total" / "cells").rglob("*.json"))
    assert len(kept) == 2 * 3
    assert conduct(experiment, tmp_path / "total") == []
