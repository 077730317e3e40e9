"""The files around the source agree with it: versions, oldest dependencies, workflows."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

import zofw

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


def test_the_version_has_one_home():
    assert "version" in PROJECT["project"]["dynamic"]
    assert PROJECT["tool"]["hatch"]["version"]["path"] == "src/zofw/__init__.py"
    assert f"## {zofw.__version__} " in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert not re.search(r"^version:", (ROOT / "CITATION.cff").read_text(encoding="utf-8"), re.M)


def test_the_oldest_versions_that_are_tested_are_those_that_are_promised():
    promised = dict(line.split(">=") for line in PROJECT["project"]["dependencies"])
    tested: dict[str, str] = {}
    for name, version in re.findall(
        r"^(\w+)==([\d.]+)\.\*", (ROOT / ".github/oldest.txt").read_text(encoding="utf-8"), re.M
    ):
        tested.setdefault(name, version)
    assert tested == promised


def test_the_workflow_tests_every_python_that_is_promised():
    text = (ROOT / ".github/workflows/test.yml").read_text(encoding="utf-8")
    promised = [
        line.rpartition(" ")[2]
        for line in PROJECT["project"]["classifiers"]
        if re.search(r":: 3\.\d+$", line)
    ]
    assert "python: [" + ", ".join(f'"{version}"' for version in promised) + "]" in text


def test_workflows_use_extras_and_files_that_exist():
    for path in WORKFLOWS:
        text = path.read_text(encoding="utf-8")
        for extras in re.findall(r"pip install .*'\.\[([\w,]+)\]'", text):
            assert set(extras.split(",")) <= set(PROJECT["project"]["optional-dependencies"]), path.name
        for name in re.findall(r"-[cr] (\S+\.(?:txt|lock))", text):
            assert (ROOT / name).exists(), f"{path.name} uses {name}"


def test_workflows_ask_for_no_more_than_reading_by_default():
    for path in WORKFLOWS:
        head = path.read_text(encoding="utf-8").partition("\njobs:")[0]
        assert "permissions:\n  contents: read" in head, path.name


@pytest.mark.parametrize("tool", ["ruff", "mypy"])
def test_developers_share_one_version_of_a_linter(tool):
    lock = (ROOT / "requirements-dev.lock").read_text(encoding="utf-8")
    assert re.search(rf"^{tool}==", lock, re.M)
    assert f".venv/bin/{tool}" in (ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8")
