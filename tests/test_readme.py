"""The README's examples run as they stand."""

from __future__ import annotations

import json
import re
from pathlib import Path

import zofw

ROOT = Path(__file__).parent.parent
README = ROOT / "README.md"
LINES, WORDS = 130, 25  # a busy person finishes the page; no sentence is longer


def test_examples(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    scope: dict = {}
    for block in re.findall(r"```python\n(.*?)```", README.read_text(), flags=re.DOTALL):
        exec(compile(block, str(README), "exec"), scope)
    assert "[0.5 0.2 0.1 0.1 0.1]" in capsys.readouterr().out
    assert scope["result"].nfev <= 170_700 and (tmp_path / "run.npz").exists()
    assert zofw.L1Ball(2.0).contains(scope["result"].x)


def test_the_numbers_are_those_of_the_first_page():
    front = README.parent / "docs" / "front"
    assert (front / "front.inc").read_text() in README.read_text()
    assert "include} front/front.inc" in (README.parent / "docs" / "index.md").read_text()
    assert all((front / f"front-{theme}.svg").exists() for theme in ("light", "dark"))


def sentences(text):
    """Sentences of the prose: no code, no table, no comment."""
    text = re.sub(
        r"```.*?```|<!--.*?-->|<picture>.*?</picture>|^\|.*?$", "\n\n", text, flags=re.DOTALL | re.M
    )
    for block in re.split(r"\n\s*\n|\n[-#]+ ", text):
        yield from re.split(r"(?<=[.!?:])\s+(?=[A-Z`*])", " ".join(block.split()))


def test_a_busy_person_finishes_it():
    text = README.read_text(encoding="utf-8")
    assert len(text.splitlines()) <= LINES
    long = [line for line in sentences(text) if len(line.split()) > WORDS and "](" not in line]
    assert not long, long


def test_no_page_installs_from_an_index_that_has_no_entry():
    pages = [README, *ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("examples/**/*.[mp][dy]")]
    found = [
        str(page) for page in pages if re.search(r"install ['\"]?zofw\b", page.read_text(encoding="utf-8"))
    ]
    assert not found


def test_the_first_problem_is_the_one_of_the_picture():
    front = json.loads((ROOT / "docs" / "front" / "front.json").read_text(encoding="utf-8"))
    evaluations = len(front["gaps"]["zofw"]) - 1
    assert f"zofw.L1Ball(2.0), budget={evaluations * front['n']:_}" in README.read_text(encoding="utf-8")
