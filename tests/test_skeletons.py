"""The skeletons work as they stand, in a project of one's own and in this one, and `zofw check` finds what they make."""

from __future__ import annotations

import importlib
import shutil
import subprocess
import sys
from importlib.metadata import EntryPoint
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import zofw
from zofw.cli.app import app
from zofw.directions import laws
from zofw.extend.new import KINDS, new
from zofw.extend.skeletons import my_law, my_method, my_problem, my_set
from zofw.problems import problems

ROOT = Path(__file__).parent.parent


def test_set_law_method_and_problem_together(tmp_path):
    problem, corner, method = my_problem.Distances(), my_set.Corner(1.0), my_method.Forgetful()
    result = zofw.minimize(problem, corner, method=method, budget=60_000, x0=np.zeros(6), rng=0)
    exact = zofw.minimize(problem, corner, method="frank-wolfe", max_iter=300, x0=np.zeros(6))
    assert result.fun - exact.fun < 2e-2 and result.nfev <= 60_000

    session = zofw.Session(corner, dim=6, n=20, method=method, budget=10_000, x0=np.zeros(6), rng=0)
    query = session.ask()
    session.tell(query, zofw.problems.evaluate(problem, query))
    session.checkpoint(tmp_path / "own.npz")
    again = zofw.Session.resume(tmp_path / "own.npz", set=corner, method=method)
    np.testing.assert_array_equal(again.x, session.x)
    f = zofw.problems.BlackBox(lambda z: float(((z - 0.2) ** 2).sum()), dim=12)
    found = zofw.minimize(f, zofw.Simplex(), method=zofw.ZSFWDVR(law=my_law.HalfSigns()), budget=4000, rng=0)
    assert found.fun < zofw.problems.mean_value(f, np.full(12, 1 / 12)) + 1e-3


@pytest.mark.parametrize("kind", KINDS)
def test_a_skeleton_in_a_project_of_ones_own_keeps_the_laws(kind, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    made = CliRunner().invoke(app, ["new", kind, f"my-own-{kind}"])
    assert made.exit_code == 0 and f'[project.entry-points."zofw.{kind}s"]' in made.output
    assert {path.name for path in tmp_path.iterdir()} == {f"my_own_{kind}.py", f"test_my_own_{kind}.py"}
    checked = CliRunner().invoke(app, ["check", kind, f"my_own_{kind}"])
    assert checked.exit_code == 0, checked.output
    assert f"My Own {kind}".title().replace(" ", "") in checked.output and "keeps every law" in checked.output
    by_file = CliRunner().invoke(app, ["check", kind, str(tmp_path / f"my_own_{kind}.py")])
    assert by_file.exit_code == 0 and "keeps every law" in by_file.output, by_file.output
    again = CliRunner().invoke(app, ["new", kind, f"my-own-{kind}"])
    assert again.exit_code == 2 and "exists" in again.output


def test_the_test_of_a_new_method_fails_until_its_box_is_transcribed(tmp_path):
    (path,) = (file for file in new("method", "my-own", tmp_path)[0] if file.name.startswith("test_"))
    tried = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-k", "transcription", path],
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert tried.returncode == 1 and "Write the box of the paper here" in tried.stdout, tried.stdout


@pytest.mark.parametrize("kind", KINDS)
def test_a_skeleton_in_this_library_is_in_order(kind, tmp_path):
    shutil.copytree(ROOT / "src", tmp_path / "src", ignore=shutil.ignore_patterns("__pycache__"))
    catalogue = (ROOT / "src" / "zofw" / "papers" / "__init__.py").read_text()
    written, _ = new(kind, "my-own", tmp_path)
    (tmp_path / "pyproject.toml").write_text((ROOT / "pyproject.toml").read_text())
    for asked in (["check"], ["format", "--check"]):
        lint = subprocess.run(
            [sys.executable, "-m", "ruff", *asked, *written[:2]], cwd=tmp_path, capture_output=True
        )
        assert lint.returncode == 0, lint.stdout.decode()
    entered = (tmp_path / "src" / "zofw" / "papers" / "__init__.py").read_text()
    line = "from zofw.papers.my_own import MyOwn as MyOwn\n"
    assert entered.count(line) == (kind == "method") and entered.replace(line, "") == catalogue
    sorted_ = [sys.executable, "-m", "ruff", "check", "src/zofw/papers/__init__.py"]
    assert subprocess.run(sorted_, cwd=tmp_path, capture_output=True).returncode == 0
    text = written[0].read_text()
    assert "class MyOwn" in text and ('@methods.register("my-own")' in text) == (kind == "method")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["new", "oracle", "x"], "There are skeletons of"),
        (["new", "method", "My Method"], "A name has small letters"),
        (["check", "oracle", "x"], "zofw check knows"),
        (["check", "method", "nothing_like_it"], "names neither a registered method"),
        (["check", "method", "nothing_like_it.py"], "names neither a registered method"),
        (["check", "law", "zofw.directions.unit_steps"], "it has none"),
        (["check", "set", "zofw:Box"], "cannot be made without arguments"),
    ],
)
def test_mistakes_are_sentences(arguments, sentence):
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 2 and sentence in " ".join(result.output.split())


@pytest.mark.parametrize("name", zofw.laws())
def test_registered_laws_of_directions_keep_the_laws(name):
    result = CliRunner().invoke(app, ["check", "law", name])
    assert result.exit_code == 0, result.output


def test_a_broken_law_and_a_broken_problem_are_explained():
    from zofw.extend import check_law, check_problem

    class Narrow(my_law.HalfSigns):
        def second_moment(self, dim, count):
            return 2.0

    class Blurred(my_problem.Distances):
        def values(self, points, components):
            return super().values(points, components) + len(points)

    assert [f.law[:7] for f in check_law(Narrow()).failures] == ["s E[UUᵀ"]
    assert "among others" in check_problem(Blurred()).failures[0].why


def test_other_packages_are_found_by_their_entry_points(tmp_path, monkeypatch):
    info = tmp_path / "far-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: far\nVersion: 1.0\n")
    registries = {"method": zofw.methods(), "set": zofw.sets(), "law": laws, "problem": problems}
    lines = [f"[zofw.{kind}s]\nfar-{kind} = far_{kind}:Far{kind.capitalize()}\n" for kind in registries]
    (info / "entry_points.txt").write_text("".join(lines))
    monkeypatch.syspath_prepend(tmp_path)
    importlib.invalidate_caches()
    for kind, registry in registries.items():
        new(kind, f"far-{kind}", tmp_path)
        monkeypatch.delitem(registry.__dict__, "others", raising=False)
    try:
        for kind, registry in registries.items():
            assert f"far-{kind}" in registry and f"far-{kind}" not in list(registry)
            assert f'"far-{kind}"' in CliRunner().invoke(app, [f"{kind}s", "--json"]).output
            monkeypatch.setitem(
                registry.others, "broken", EntryPoint("broken", "no_such_module:Thing", "zofw")
            )
            listed = CliRunner().invoke(app, [f"{kind}s", "--json"])
            assert f'"far-{kind}"' in listed.stdout and "no_such_module" in listed.stderr, listed.output
            monkeypatch.delitem(registry.others, "broken")
            checked = CliRunner().invoke(app, ["check", kind, f"far-{kind}"])
            assert checked.exit_code == 0 and "keeps every law" in checked.output, checked.output
        with pytest.raises(KeyError, match="did you mean 'far-method'"):
            zofw.methods()["from-method"]
        f = problems["far-problem"]()
        far = zofw.minimize(f, "far-set", method="far-method", budget=2000, rng=0)
        assert far.nfev <= 2000 and far.x.min() >= 0
        assert (
            zofw.minimize(f, "far-set", method=zofw.papers.ZOSFW(law="far-law"), budget=2000, rng=0).nit > 1
        )
    finally:
        for registry in registries.values():
            registry.__dict__.pop("others", None)
