"""The scripts for five people who have a function run as they stand, and say what they found."""

from __future__ import annotations

import re
import runpy

import pytest
from pages import ROOT

NEEDS = {
    "security_researcher": ["sklearn"],
    "operations_engineer": [],
    "data_scientist": ["sklearn", "optuna"],
    "laboratory": [],
    "torch_user": ["torch", "sklearn"],
}


@pytest.mark.parametrize("person", NEEDS)
def test_script(person, tmp_path, monkeypatch, capsys):
    for module in NEEDS[person]:
        pytest.importorskip(module, reason=f"{module} is not installed")
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    runpy.run_path(str(ROOT / "examples" / f"{person}.py"), run_name="__main__")
    assert re.search(r"\d", capsys.readouterr().out)


def test_every_script_is_someones_or_tested_elsewhere():
    found = {path.stem for path in (ROOT / "examples").glob("*.py")}
    assert found == {*NEEDS, "several_hosts"}
