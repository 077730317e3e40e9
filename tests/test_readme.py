"""The README's examples run as they stand."""

from __future__ import annotations

import re
from pathlib import Path

import zofw

README = Path(__file__).parent.parent / "README.md"


def test_examples(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    scope: dict = {}
    for block in re.findall(r"```python\n(.*?)```", README.read_text(), flags=re.DOTALL):
        exec(compile(block, str(README), "exec"), scope)
    assert "[0.5 0.2 0.1 0.1 0.1]" in capsys.readouterr().out
    assert scope["result"].nfev <= 3_000_000 and (tmp_path / "run.npz").exists()
    assert zofw.L1Ball(10.0).contains(scope["result"].x)


def test_the_numbers_are_those_of_the_first_page():
    front = README.parent / "docs" / "front"
    assert (front / "front.inc").read_text() in README.read_text()
    assert "include} front/front.inc" in (README.parent / "docs" / "index.md").read_text()
    assert all((front / f"front-{theme}.svg").exists() for theme in ("light", "dark"))
