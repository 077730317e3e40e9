"""Specifications: what they say, and a sentence for every mistake."""

from __future__ import annotations

import dataclasses
import json
import tomllib
from pathlib import Path

import pytest

from lab_pieces import SPEC
from zofw.algorithms import methods as registered
from zofw_paper.methods import chosen_methods, zeroth_order
from zofw_paper.records import plain, record
from zofw_paper.spec import Case, Claim, Costs, Experiment, Method, SpecError, Stated, Tuning, parse, read

ROOT = Path(__file__).parents[2]
FILES = sorted((ROOT / "paper" / "experiments").glob("*.toml"))
PROFILES = [(path, profile) for path in FILES for profile in tomllib.loads(path.read_text())["profile"]]

CASE = '[[case]]\nname = "c"\nproblem = "f"\nset = { name = "simplex" }\nbudget = 10\n'
METHOD = '[[method]]\nname = "zo-fw"\n'


def small(case: str = CASE, method: str = METHOD, top: str = "") -> str:
    return f'name = "s"\n{top}\n{case}{method}'


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("name =", "is not TOML"),
        (CASE + METHOD, "no 'name'"),
        (small(top='nmae = "x"'), "unknown key 'nmae'; did you mean 'name'"),
        (small(top='purpose = "x"'), "unknown key 'purpose'; known are"),
        (small(top="seeds = [1, 1]"), "different whole numbers"),
        (small(top="seeds = []"), "different whole numbers"),
        (small(top="seeds = [1.5]"), "seeds[0] should be a whole number"),
        (small(top="seeds = 1"), "seeds should be a list"),
        (small(top="others = 1"), "others should be true or false"),
        (small(top="diagnose = true"), "diagnose should be a whole number"),
        (small(top='measure = "speed"'), "measure should be one of gap, objective, success-rate"),
        (small(top="tune = { seeds = [0], grid = [1.0] }"), "both for tuning and reported"),
        (small(top="tune = { seeds = [9] }"), "grid should be positive numbers"),
        (small(top="tune = { seeds = [9], grid = [-1.0] }"), "grid should be positive numbers"),
        (small(top="tune = { seed = [9] }"), "unknown key 'seed'"),
        (small(top="case = [1]\n", case=""), "case[0] should be a table"),
        (small(case=""), "at least one case"),
        (small(method=""), "one method"),
        (small(case=CASE + CASE), "two entries with the case 'c'"),
        (small(method=METHOD + METHOD), "two entries with the method label 'zo-fw'"),
        (small(case=CASE.replace("10", "0")), "at least 1; got 0"),
        (small(case=CASE.replace("10", '"ten"')), "budget should be a whole number"),
        (small(case=CASE.replace("10", "{ quick = 3 }")), "no entry for the profile None"),
        (small(case=CASE.replace('name = "simplex"', "")), "should have a name"),
        (small(case=CASE.replace('"c"', '"../c"')), "names a folder"),
        (small(case=CASE + 'parameters = { b = "x" }\n'), "parameters: b should be a number"),
        (small(method=METHOD + "setting = {}\n"), "did you mean 'settings'"),
        (small(method=METHOD + 'group = "mine"\n'), "group should be one of paper, others"),
        (small(top='kind = "images"'), "goes with source"),
        (small(top="[profile]\nquick = 1\n"), "no profile was asked for; it has quick"),
    ],
)
def test_a_mistake_is_a_sentence(text, words):
    with pytest.raises(SpecError) as caught:
        parse(text)
    assert words in str(caught.value) and str(caught.value)[-1] in ".?"


@pytest.mark.parametrize(
    ("profile", "words"),
    [
        ("b", "the profile 'b' was asked for; it has a, c, d, e"),
        ("c", "there is no case 'other'"),
        ("d", "there is no method with the label 'x'"),
        ("e", "unknown key 'seed'"),
    ],
)
def test_a_mistake_in_a_profile_is_a_sentence(profile, words):
    profiles = (
        '[profile.a]\n[profile.c]\ncases = ["other"]\n[profile.d]\nmethods = ["x"]\n[profile.e]\nseed = 1\n'
    )
    with pytest.raises(SpecError, match="profile") as caught:
        parse(small(top=profiles), profile)
    assert words in str(caught.value)


def test_a_profile_that_is_no_table_and_a_file_that_is_not_there(tmp_path):
    with pytest.raises(SpecError, match=r"profile\.quick should be a table"):
        parse(small(top="[profile]\nquick = 1\n"), "quick")
    with pytest.raises(SpecError, match="There is no specification"):
        read(tmp_path / "none.toml")


def test_the_profile_goes_before_the_whole():
    text = small(top="seeds = [1]\n[profile.quick]\nseeds = [5, 6]\n")
    assert parse(text, "quick").seeds == (5, 6)


def test_the_fingerprint_is_of_what_decides_the_numbers():
    experiment = parse(SPEC)
    words = [("five", "six"), ("end lowest", "end first"), ("title &", "headline &")]
    for old, new in words:
        assert parse(SPEC.replace(old, new, 1)).methods == experiment.methods
    assert parse(SPEC.replace("end lowest", "end first")).fingerprint == experiment.fingerprint
    assert parse(SPEC.replace("title &", "headline &")).fingerprint == experiment.fingerprint
    for old, new in [
        ("900", "901"),
        ("[1, 2, 3]", "[1, 2, 4]"),
        ("radius = 1.0", "radius = 2.0"),
        ("zo-fw", "fzfw"),
    ]:
        assert parse(SPEC.replace(old, new)).fingerprint != experiment.fingerprint


def test_an_experiment_survives_its_document():
    experiment = parse(SPEC)
    again = record(Experiment, json.loads(json.dumps(plain(experiment))), "a file")
    assert again == experiment and again.fingerprint == experiment.fingerprint


@pytest.mark.parametrize(("path", "profile"), PROFILES, ids=lambda value: getattr(value, "stem", value))
def test_every_experiment_of_the_project_is_in_order(path, profile):
    experiment = read(path, profile)
    assert experiment.name == path.stem
    assert all(method.name in (*registered, "auto") for method in experiment.methods)
    whole = tomllib.loads(path.read_text())["method"] if experiment.kind != "images" else []
    labels = {method.get("label", method["name"]) for method in whole}
    for claim in experiment.claims:
        assert claim.method in labels and set(claim.against) <= labels
    if profile in ("full", "regime") and experiment.kind == "curves":
        assert len(experiment.seeds) >= 3
    if profile == "regime" and experiment.tuning.seeds:
        assert (
            len(experiment.tuning.seeds) >= 3
            and experiment.tuning.share == 1.0
            and not experiment.tuning.shares
        )


# The paper's appendix: radius, batch, b, q.
APPENDIX = {
    ("fig1", "rcv1"): (20, 200, 400, 142),
    ("fig1", "real-sim"): (20, 400, 200, 268),
    ("fig1", "a9a"): (2, 200, 20, 180),
    ("fig1", "w8a"): (2, 200, 30, 223),
    ("fig2", "rcv1"): (20, 143, 218, 143),
    ("fig2", "real-sim"): (20, 268, 144, 268),
    ("fig2", "a9a"): (2, 180, 12, 175),
    ("fig2", "w8a"): (2, 223, 18, 223),
    ("fig3", "mnist"): (10, 33, 28, 33),
    ("fig3-paper-size", "cifar"): (5, 70, 55, 70),
}


@pytest.mark.parametrize(("key", "row"), APPENDIX.items(), ids=lambda value: "-".join(map(str, value)))
def test_settings_are_those_of_the_papers_appendix(key, row):
    linear, text = key[0] in ("fig1", "fig2"), key[1] in ("rcv1", "real-sim")
    profile = ("text" if text else "regime") if linear else "full"
    experiment = read(ROOT / "paper" / "experiments" / f"{key[0]}.toml", profile)
    (case,) = (case for case in experiment.cases if case.name == key[1])
    found = (case.set["radius"], *(case.parameters[name] for name in ("batch", "directions", "epoch")))
    assert found == row
    dvr = next(method for method in experiment.methods if method.name == "zsfw-dvr")
    assert dvr.constructor == "paper" and dvr.settings["refresh_probability"] == "=1/epoch"


def test_the_second_version_of_a_figure_has_every_other_method_and_the_default():
    experiment = read(ROOT / "paper" / "experiments" / "fig1.toml", "all")
    names = [method.name for method in chosen_methods(experiment)]
    assert set(names) == {*zeroth_order(), "auto"} - {"explore-correct"} and len(names) == len(set(names))
    assert "frank-wolfe" not in names
    assert dataclasses.replace(experiment, others=False).fingerprint != experiment.fingerprint


def test_every_key_is_on_the_page_about_specifications():
    text = (ROOT / "docs" / "specification.md").read_text(encoding="utf-8")
    for cls in (Experiment, Case, Method, Tuning, Claim, Costs, Stated):
        for field in dataclasses.fields(cls):
            key = field.metadata.get("key", field.name)
            shown = (f"`{key}`", f"[[{key}]]", f"[{key}]", f"[{key}.NAME]")
            assert any(form in text for form in shown), f"{cls.__name__}: {key}"
