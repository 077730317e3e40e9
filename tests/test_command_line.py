"""The command line of the library, as people and programs use it."""

from __future__ import annotations

import importlib
import json
import subprocess
import sys

import numpy as np
import pytest

import zofw

testing = pytest.importorskip("typer.testing")
app = importlib.import_module("zofw.cli.app")
SETS = """
import numpy as np


class Disc:
    def lmo(self, g):
        size = np.linalg.norm(g)
        return -g / size if size else np.zeros_like(g)

    def contains(self, x, tol=1e-9):
        return np.linalg.norm(x) <= 1 + tol

    def diameter(self, dim):
        return 2.0

    def initial_point(self, dim):
        return np.zeros(dim)


class Wrong(Disc):
    def lmo(self, g):
        return -Disc.lmo(self, g)
"""


def zofw_(*arguments: object, code: int = 0):
    """Run a command in this process; the outcome with its two streams."""
    result = testing.CliRunner().invoke(app.app, [str(argument) for argument in arguments])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == code, result.output
    return result


def test_help_has_examples():
    text = zofw_("--help").output
    for command in ["demo", "methods", "sets", "laws", "problems", "doctor", "new", "check"]:
        assert command in text and f"zofw {command}" in zofw_(command, "--help").output
    assert zofw_("--version").output.strip() == f"zofw {zofw.__version__}"


def test_installed_packages_add_commands(monkeypatch):
    called = []

    class Point:
        def load(self):
            return lambda application: application.command("sing")(lambda: called.append("la"))

    monkeypatch.setattr(app, "entry_points", lambda group: [Point()] if group == "zofw.commands" else [])
    monkeypatch.setattr(app, "app", app.typer.Typer(callback=lambda: None))
    monkeypatch.setattr(sys, "argv", ["zofw", "sing"])
    with pytest.raises(SystemExit, match="0"):
        app.main()
    assert called == ["la"]


def test_a_broken_plug_in_is_named_and_leaves_the_other_commands(monkeypatch, capsys):
    class Broken:
        name, value = "loud", "loud_package:add"

        def load(self):
            raise ImportError("no module named brass")

    class Sound:
        name, value = "soft", "soft_package:add"

        def load(self):
            return lambda application: application.command("sing")(lambda: sys.stdout.write("la"))

    monkeypatch.setattr(app, "entry_points", lambda group: [Broken(), Sound()])
    monkeypatch.setattr(app, "app", app.typer.Typer(callback=lambda: None))
    monkeypatch.setattr(sys, "argv", ["zofw", "sing"])
    with pytest.raises(SystemExit, match="0"):
        app.main()
    shown = capsys.readouterr()
    assert shown.out == "la" and "loud" in shown.err and "brass" in shown.err
    assert shown.err.count("\n") == 1


def test_a_module_and_a_script_lead_to_the_same():
    found = subprocess.run(
        [sys.executable, "-m", "zofw", "sets", "--json"], capture_output=True, text=True, check=True
    ).stdout
    assert {row["name"] for row in json.loads(found)} == set(zofw.sets())


def test_looking_around():
    assert {row["name"] for row in json.loads(zofw_("methods", "--json").stdout)} == set(zofw.methods())
    text = zofw_("methods").output
    assert "n(d + 1)" in text and "none: first order" in text
    for shelf in ("sets", "methods", "laws"):
        assert not set("\\`") & set(zofw_(shelf).output), "text, not markup"
    assert "L1Ball(radius" in zofw_("sets").output and "Sphere()" in zofw_("laws").output
    assert {"logistic", "quadratic"} <= {r["name"] for r in json.loads(zofw_("problems", "--json").stdout)}
    assert "threads" in zofw_("doctor").output
    assert json.loads(zofw_("doctor", "--json").stdout)["package numpy"]


def test_the_laws_of_a_set(tmp_path, monkeypatch):
    (tmp_path / "toy_sets.py").write_text(SETS)
    monkeypatch.chdir(tmp_path)
    assert "keeps every law" in zofw_("check", "set", "toy_sets:Disc", "--dim", 5).output
    found = json.loads(zofw_("check", "set", "toy_sets:Wrong", "--json", code=1).stdout)
    assert not found["ok"] and any(law["ok"] is False for law in found["laws"])
    assert "something to import" in zofw_("check", "set", "no_such:thing", code=2).stderr


def test_the_demo_solves_real_data_with_every_method(tmp_path):
    pytest.importorskip("sklearn")
    pytest.importorskip("matplotlib")
    text = zofw_("demo", "--out", tmp_path / "demo", "--budget", 36_000).output
    for name in zofw.methods():
        assert (name in text) == (name != "frank-wolfe"), name
    assert (tmp_path / "demo" / "demo.png").is_file()
    page = (tmp_path / "demo" / "report.html").read_text()
    assert "<svg" in page and "explore-correct" in page


def test_the_demo_leaves_out_methods_that_its_budget_cannot_pay_for(tmp_path):
    pytest.importorskip("sklearn")
    pytest.importorskip("matplotlib")
    done = zofw_("demo", "--out", tmp_path / "demo", "--budget", 2_000, "--quiet")
    assert "acc-szofw is left out. A budget of 2000 queries is too small" in done.stderr
    assert "auto (the default)" in done.stdout and "\nacc-szofw " not in done.stdout
    assert "Give at least" in zofw_("demo", "--out", tmp_path / "none", "--budget", 2, code=2).stderr


def test_help_is_quick_because_nothing_is_imported_for_it():
    """The help of every command needs none of the packages that compute."""
    script = (
        "import sys; sys.argv = ['zofw', '--help']\n"
        "try:\n    from zofw.cli.__main__ import main; main()\n"
        "except SystemExit:\n"
        "    heavy = {'zofw.run', 'zofw.papers', 'zofw.directions', 'zofw.problems', 'scipy.optimize', 'zofw_paper.runner'}\n"
        "    sys.exit(', '.join(sorted(heavy & {*sys.modules})) or 0)"
    )
    found = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert found.returncode == 0, found.stderr
    assert "methods" in found.stdout


def test_without_its_extra_the_command_says_what_to_install():
    script = "import sys; sys.modules['typer'] = None; from zofw.cli.__main__ import main; main()"
    found = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert found.returncode == 2 and not found.stdout
    assert found.stderr.count("\n") == 1 and "not installed. Install it with: pip install" in found.stderr


VERBS = [
    "Answer",
    "Ask",
    "Compare",
    "Choose",
    "Continue",
    "Copy",
    "Do",
    "Download",
    "Explain",
    "Install",
    "List",
    "Look",
    "Minimise",
    "Pair",
    "Print",
    "Read",
    "Repeat",
    "Reproduce",
    "Resume",
    "Run",
    "Show",
    "Test",
    "Time",
    "Watch",
    "Write",
    "A",
    "An",
    "The",
]


def test_help_begins_with_a_verb_or_an_article():
    def texts(command):
        yield command.help or command.short_help
        for one in command.params:
            if one.name not in ("help", "install_completion", "show_completion"):
                yield one.help
        for one in getattr(command, "commands", {}).values():
            yield from texts(one)

    found = [*texts(app.typer.main.get_command(app.app))]
    assert len(found) > 35
    wrong = [text for text in found if not text or text.split()[0].rstrip(",") not in VERBS]
    assert not wrong


def test_problems_are_whole_sentences_with_their_fractions():
    about = {row["name"]: row["about"] for row in json.loads(zofw_("problems", "--json").stdout)}
    assert not any(text.endswith(",") for text in about.values())
    assert "1/n Σ" in about["logistic"] and "1/2 (" in about["least-squares"]


def test_watch_follows_a_run_by_its_files(tmp_path, monkeypatch):
    path, page, seen = tmp_path / "run.npz", tmp_path / "watch.html", []

    def cost(x):
        seen.append(float(np.sum((x - 0.2) ** 2) + x[0] * x[1]))
        if len(seen) == 9:
            found = json.loads(zofw_("watch", path, "--json", "--page", page).stdout)
            assert found["status"] == "RUNNING" and found["queries"] == 8 and found["left"] == 12
            assert found["best"] == min(seen[:8]) and "process" in found["owner"]
            text = zofw_("watch", path, "--once", "--price", 0.5).stdout
            assert "8 of 20 (40%)" in text and "4.00 spent, 6.00 left" in text
            assert 'http-equiv="refresh"' in page.read_text() and "<polyline" in page.read_text()
        return seen[-1]

    monkeypatch.setattr("zofw.run.files.store.CHECKPOINT_SECONDS", 1e9)
    result = zofw.minimize(cost, "simplex", dim=4, budget=20, rng=0, checkpoint=path)
    ended = json.loads(zofw_("watch", path, "--json", "--page", page).stdout)
    assert len(seen) == ended["queries"] == result.nfev and ended["best"] == result.fun
    assert ended["owner"] == "" and "refresh" not in page.read_text()
    assert "There is no run in" in zofw_("watch", tmp_path / "none.npz", code=2).stderr


@pytest.mark.parametrize("workers", [1, 3])
def test_watch_counts_answers_once(tmp_path, workers):
    path = tmp_path / "run.npz"
    run = zofw.minimize(
        lambda x: float(x @ x), "simplex", dim=4, budget=40, rng=0, checkpoint=path, workers=workers
    )
    found = json.loads(zofw_("watch", path, "--json").stdout)
    assert found["queries"] == run.nfev and found["curve"][-1][0] == run.nfev
    assert zofw_("watch", path).output.count("workers") == 1


def test_watch_reads_sums_and_desks(tmp_path):
    centres = np.linspace(0, 1, 6)
    zofw.minimize(
        lambda x, i: float(np.sum((x - centres[i]) ** 2)), "simplex", dim=3, n=6, budget=600, rng=0,
        checkpoint=tmp_path / "sum.npz", diagnose=5,
    )  # fmt: skip
    found = json.loads(zofw_("watch", tmp_path / "sum.npz", "--json").stdout)
    assert found["queries"] <= 600 and len(found["curve"]) > 2
    with zofw.Desk.open(tmp_path / "lab", set="simplex", dim=3, budget=30, rng=0) as desk:
        desk.read()
        waiting = json.loads(zofw_("watch", tmp_path / "lab", "--json").stdout)
    assert waiting["under_way"] == 1 and waiting["best"] is None


def test_commands_of_the_paper_say_where_they_come_from(monkeypatch, capsys):
    monkeypatch.setattr(app, "entry_points", lambda group: [])
    monkeypatch.setattr(sys, "argv", ["zofw", "run", "mine.toml"])
    with pytest.raises(SystemExit, match="2"):
        app.main()
    assert "pip install ./paper" in capsys.readouterr().err
