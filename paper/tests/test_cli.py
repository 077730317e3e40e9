"""The command line, as people and programs use it."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

import zofw
from lab_pieces import SPEC, toy
from zofw.cli.app import app
from zofw.cli.console import Console, console
from zofw_paper import cli, report, runner, watching
from zofw_paper.runner import Unit, UnitOutcome, UnitProgress
from zofw_paper.spec import read
from zofw_paper.store import Folder

cli.add(app)


def code_in(folder: Path) -> Path:
    return folder / "toy_problem.py"


UNTUNED = SPEC.replace("[tune]", "[ignored]").split("[ignored]")[0] + SPEC[SPEC.index("[[case]]") :]


def zofw_(*arguments: object, code: int = 0):
    """Run a command in this process; the outcome with its two streams."""
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == code, result.output
    return result


@pytest.fixture(autouse=True)
def no_drawing(monkeypatch):
    """Figures are drawn in the tests of the report; elsewhere their files are enough."""

    def touched(summary, stem, *, group=None):
        paths = [stem.with_name(f"{stem.name}.{kind}") for kind in ("png", "svg")]
        for path in paths:
            path.touch()
        return paths

    monkeypatch.setattr(report, "draw_curves", touched)


@pytest.fixture
def ran(tmp_path) -> Path:
    """A small experiment that has been run."""
    spec = toy(tmp_path, UNTUNED.replace("[1, 2, 3]", "[1]"))
    zofw_("run", spec, "--code", code_in(tmp_path), "--out", tmp_path / "out", "--workers", 0)
    return tmp_path / "out"


def test_help_has_examples():
    text = zofw_("--help").output
    commands = "init run resume compare report reproduce published tune datasets"
    assert all(command in text for command in commands.split())
    for command in commands.replace("datasets", "").split():
        assert f"zofw {command}" in zofw_(command, "--help").output, "an example in the help"
    for command in ("list", "fetch", "verify"):
        assert f"zofw datasets {command}" in zofw_("datasets", command, "--help").output


def test_run_tells_in_a_pipe_and_ends_in_tables(tmp_path):
    spec = toy(tmp_path, UNTUNED)
    here = ("--code", code_in(tmp_path), "--out", tmp_path / "out", "--workers", 0)
    text = zofw_("run", spec, *here).output
    assert "reported runs: 9" in text and "quadratic, averaged, seed 1: budget" in text
    assert "all coordinates end lowest" in text and "report: " in text
    quiet = zofw_("run", spec, *here, "--quiet").output
    assert "reported runs" not in quiet and "LMO calls" in quiet
    found = json.loads(zofw_("run", spec, *here, "--json").stdout)
    assert [m["label"] for m in found["cases"][0]["methods"]] == ["averaged", "all coordinates", "spsa"]


def test_explain_tells_what_a_run_did_with_its_budget(tmp_path):
    spec = toy(
        tmp_path, UNTUNED.replace("[1, 2, 3]", "[1]").replace('name = "spsa"', 'name = "explore-correct"')
    )
    here = ("--code", code_in(tmp_path), "--out", tmp_path / "out", "--workers", 0, "--quiet")
    assert "promised" not in zofw_("run", spec, *here).output
    text = zofw_("run", spec, *here, "--explain").output
    (path,) = [
        p
        for p in (tmp_path / "out").rglob("result.npz")
        if "explore-correct: " in zofw.Result.load(p).story()
    ]
    story = zofw.Result.load(path).story()
    assert story in text and "promised a decrease of" in story


def test_run_goes_to_runs_by_default(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    zofw_("run", toy(tmp_path, UNTUNED), "--code", code_in(tmp_path), "-w", 0, "-q")
    assert (tmp_path / "runs" / "mine" / "report.html").is_file()


def test_what_is_wrong_is_a_sentence_and_an_exit_code(tmp_path):
    found = zofw_("run", tmp_path / "none.toml", code=2)
    assert "There is no specification" in found.stderr and "Traceback" not in found.output
    assert "unknown key" in zofw_("run", toy(tmp_path, SPEC + "\nspeed = 1\n"), code=2).stderr
    code = ("--code", code_in(tmp_path))
    broken = UNTUNED.replace("quadratic_sum", "broken")
    found = zofw_("run", toy(tmp_path, broken), *code, "--out", tmp_path / "o", "-w", 0, code=2)
    assert "no finished run" in found.stderr
    one = UNTUNED.replace('name = "zo-fw"', 'name = "zo-fw"\nsettings = { colour = 1 }')
    found = zofw_("run", toy(tmp_path, one), *code, "--out", tmp_path / "p", "-w", 0, code=1)
    assert "do not fit" in found.stderr and "averaged" in found.stdout
    assert "no method named 'zo-fv'" in zofw_(
        "run", toy(tmp_path, UNTUNED.replace('"zo-fw"', '"zo-fv"')), *code, "--out", tmp_path / "q", "-w", 0, code=2
    ).stderr  # fmt: skip
    assert zofw_("sing", code=2)


def test_an_interruption_is_said_and_has_its_code(tmp_path, monkeypatch):
    def interrupted(*args, **kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr("zofw_paper.experiment.conduct", interrupted)
    found = zofw_("run", toy(tmp_path), "--out", tmp_path / "out", code=130)
    assert "goes on from there" in found.stderr


def test_resume_an_experiment_and_a_run(ran):
    run = ran / "quadratic" / "averaged" / "seed-1"
    Folder(run).summary.unlink()
    assert "name the --code it was made with" in zofw_("resume", run, code=1).stderr, "a folder names no code"
    code = ("--code", code_in(ran.parent))
    assert "the next iteration costs more than the rest" in zofw_("resume", run, *code).output
    Folder(run).summary.unlink()
    assert json.loads(zofw_("resume", run, *code, "--json").stdout)["status"] == "budget"
    Folder(run).summary.unlink()
    assert "averaged" in zofw_("resume", ran, *code, "-w", 0).output
    assert "holds no experiment" in zofw_("resume", ran / "quadratic", code=2).stderr


def test_what_a_run_spent_its_budget_on_is_told_in_words_and_in_json(tmp_path):
    spec = toy(tmp_path, UNTUNED.replace("[1, 2, 3]", "[1]"))
    here = ("--code", code_in(tmp_path), "--out", tmp_path / "out", "-w", 0, "--explain")
    found = json.loads(zofw_("run", spec, *here, "--json").stdout)["stories"]
    assert set(found) == {f"quadratic/{label}/seed-1" for label in ("averaged", "all coordinates", "spsa")}
    words = " ".join(zofw_("run", spec, *here).output.split())
    assert all(" ".join(story.split()) in words for story in found.values())


def test_from_a_command_to_minimize_there_are_four_links(tmp_path, monkeypatch):
    way: list[str] = []

    def solve(**asked):
        frame = sys._getframe(1)
        while frame is not None:
            if re.search(r"[/\\](zofw_paper|zofw[/\\]cli)[/\\]", frame.f_code.co_filename):
                way.insert(0, frame.f_code.co_name)
            frame = frame.f_back
        raise ValueError("far enough")

    monkeypatch.setattr(runner, "solve", solve)
    spec = toy(tmp_path, UNTUNED.replace("[1, 2, 3]", "[1]"))
    zofw_("run", spec, "--code", code_in(tmp_path), "--out", tmp_path / "out", "-w", 0, code=2)
    assert way[:5] == ["guard", "run", "conduct", "run_all", "execute"], "guard turns mistakes into sentences"


def test_compare_and_report(ran, tmp_path):
    text = zofw_("compare", ran, ran / "quadratic" / "spsa", "--out", tmp_path / "both").output
    assert (
        "averaged (out)" in text and "spsa (spsa)" in text and (tmp_path / "both" / "report.html").is_file()
    )
    assert json.loads(zofw_("compare", ran, "--json").stdout)["cases"][0]["case"] == "quadratic"
    assert f"report: {ran / 'report.html'}" in zofw_("report", ran).output
    assert "holds no run" in zofw_("report", tmp_path / "nothing", code=2).stderr


def test_a_check_finds_what_is_misspelt_and_what_an_iteration_costs(tmp_path):
    spec, code = toy(tmp_path, UNTUNED), ("--code", code_in(tmp_path))
    text = zofw_("run", spec, *code, "--check").output
    assert "all coordinates" in text and "25 queries" in text and "at most 36" in text
    assert not (tmp_path / "runs").exists()
    toy(tmp_path, UNTUNED.replace('"=batch"', '"=bach"').replace('"l1-ball"', '"l1-bal"'))
    assert "There is no set" in zofw_("run", spec, *code, "--check", code=1).stderr
    toy(tmp_path, UNTUNED.replace('"=batch"', '"=bach"'))
    assert "refers to '=bach'" in zofw_("run", spec, *code, "--check", code=1).stderr
    rows = json.loads(zofw_("run", spec, *code, "--check", "--json", code=1).stdout)
    assert [row["cost"] for row in rows][1:] == [25, 12]


def test_init_writes_a_specification_that_runs(tmp_path):
    path = tmp_path / "new.toml"
    zofw_("init", path)
    assert "zofw run" in path.read_text() and "is there already" in zofw_("init", path, code=2).stderr
    pytest.importorskip("sklearn")
    assert "breast-cancer" in zofw_("run", path, "--check").output


def test_tune(tmp_path):
    spec = toy(tmp_path)
    here = ("--code", code_in(tmp_path), "--out", tmp_path / "out", "-w", 0)
    text = zofw_("tune", spec, *here).output
    assert "learning rates" in text and "all coordinates" in text
    rows = json.loads(zofw_("tune", spec, *here, "--json").stdout)
    assert {row["method"] for row in rows} == {"averaged", "all coordinates", "spsa"}
    assert "nothing to choose from" in zofw_("tune", toy(tmp_path, UNTUNED), code=2).stderr
    wrong = SPEC.replace('name = "zo-fw"', 'name = "zo-fw"\nsettings = { colour = 1 }')
    elsewhere = (*here[:3], tmp_path / "o", *here[4:])
    assert "do not fit" in zofw_("tune", toy(tmp_path, wrong), *elsewhere, code=1).stderr


def test_reproduce_and_publish(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "experiments").mkdir()
    toy(tmp_path / "experiments", UNTUNED + "\n[profile.quick]\nseeds = [1]\n")
    monkeypatch.setattr(cli, "EXPERIMENTS", ("mine",))
    code = ("--code", code_in(tmp_path / "experiments"))
    zofw_("reproduce", "all", *code, "-w", 0, "--publish", tmp_path / "docs")
    assert (tmp_path / "runs" / "mine-quick" / "report.html").is_file()
    page = tmp_path / "docs" / "mine-quick.md"
    assert "{warning}" not in page.read_text()
    zofw_("published", tmp_path / "docs")
    assert "{warning}" not in page.read_text()
    assert "no experiment 'fig7'" in zofw_("reproduce", "fig7", code=2).stderr
    assert "the profile 'nightly'" in zofw_("reproduce", "mine", "-p", "nightly", code=2).stderr


def test_data_sets(monkeypatch, tmp_path):
    monkeypatch.setenv("ZOFW_DATA", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    rows = json.loads(zofw_("datasets", "list", "--json").stdout)
    assert {"name": "a9a", "n": 32561, "d": 123, "found": "missing"}.items() <= next(
        row for row in rows if row["name"] == "a9a"
    ).items()
    assert "embedded" in zofw_("datasets", "list").output
    (tmp_path / "libsvm").mkdir()
    (tmp_path / "libsvm" / "a9a").write_text("+1 1:1\n")
    assert "damaged" in zofw_("datasets", "verify", "a9a", code=1).output
    assert json.loads(zofw_("datasets", "verify", "a9a", "--json", code=1).stdout)[0]["status"] == "damaged"
    assert "sha256" in zofw_("datasets", "fetch", "a9a", code=2).stderr
    assert "rcv1-subsets" in zofw_("datasets", "fetch", "rcv1-subsets", code=2).stderr
    assert zofw_("datasets", "fetch", "breast-cancer").output == ""


def test_the_live_table_shows_what_runs(tmp_path):
    live = watching._Live()
    live.stage("tuning", 2)
    live.progress(UnitProgress("p", "a9a, zo-fw", 50, 100, 3, 0.25, 1.5))
    screen = console()
    with screen.capture() as caught:
        screen.print(live)
    assert "50 %" in caught.get() and "a9a, zo-fw" in caught.get() and "0/2" in caught.get()
    unit = Unit("p", read(toy(tmp_path)).cases[0], read(toy(tmp_path)).methods[0], None, 1, "gap", 1)
    live.outcome(UnitOutcome(unit, None, "wrong"))
    with screen.capture() as caught:
        screen.print(live)
    assert "a9a, zo-fw" not in caught.get() and "1/2" in caught.get()


def test_a_terminal_gets_the_live_table(tmp_path):
    screen = Console(force_terminal=True, file=(tmp_path / "screen.txt").open("w"), width=120)
    with watching.watching(screen) as watcher:
        watcher.stage("reported runs", 1)
        watcher.progress(UnitProgress("p", "a9a, zo-fw", 50, 100, 3, 0.25, 1.5))
    screen.file.close()
    assert "reported runs" in (tmp_path / "screen.txt").read_text()
