"""Every mutant is still one: its text stands once in its file, and what replaces it compiles."""

from __future__ import annotations

from pathlib import Path

from mutants import MUTANTS

SOURCE = Path(__file__).parents[2] / "src" / "zofw"


def test_every_mutant_changes_one_place():
    assert len(MUTANTS) >= 60
    for file, old, new in MUTANTS:
        text = (SOURCE / file).read_text()
        assert text.count(old) == 1 and old != new, (
            f"{file}: {old!r} stands there {text.count(old)} times; see tests/mutants"
        )
        compile(text.replace(old, new), file, "exec")
