"""Pages stay short, and so do their sentences."""

from __future__ import annotations

import re

import prose
from pages import DOCS

IN_VIEW = 17_000  # words of the pages of the sidebar
LONG = {"README": 0.03, "in view": 0.09}  # share of sentences of more than prose.LONG words


def test_pages_are_short_and_so_are_their_sentences():
    found = prose.counts(prose.pages(None))
    assert found["in view"][1] <= IN_VIEW
    for group, most in LONG.items():
        assert found[group][4] <= most, f"{group}: see python tests/docs/prose.py"


def test_sentences_are_told_from_code_tables_and_headings():
    text = "# Title here\n\nOne two three. Four `x. y` five six!\n\n```python\nno = 1\n```\n\n| a b | c d e |\n\n- An item with words\n"
    assert [*prose.sentences(text)] == ["One two three.", "Four `x. y` five six!", "An item with words"]


def test_the_sidebar_has_about_twenty_entries():
    entries = re.findall(r"^[a-z_/-]+$", (DOCS / "guide.md").read_text(encoding="utf-8"), re.M)
    assert 18 <= len(entries) <= 24 and all((DOCS / f"{entry}.md").exists() for entry in entries)


def test_an_entry_of_the_changelog_is_a_line():
    entries = re.findall(r"^- (.*)$", (DOCS.parent / "CHANGELOG.md").read_text(encoding="utf-8"), re.M)
    long = [entry for entry in entries if len(entry.split()) > 30]
    assert len(entries) > 50 and not long, long
