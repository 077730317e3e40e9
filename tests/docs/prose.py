"""Words and lengths of sentences of the pages: ``python tests/docs/prose.py [REVISION]``.

Code, tables, formulas, comments, front matter and directives are no prose. A list item ends a sentence.
"""

from __future__ import annotations

import re
import statistics
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
LONG = 25  # words of a sentence that a reader takes in at once
GROUPS = {
    "README": r"README\.md",
    "details, not in the sidebar": r"docs/((details|reproduction|comparison)/.*\.(md|inc)|laws\.md|reliability\.md|extend/(?!index).*\.md)",
    "methods": r"docs/methods/(?!index).*\.md",
    "reference": r"docs/(api|changelog).*\.md",
    "in view": r"docs/.*\.md",
    "contributing": r"CONTRIBUTING\.md",
}
FRONT_MATTER = r"\A---\n.*?\n---\n"
NO_PROSE = r"\A---\n.*?\n---\n|<!--.*?-->|<picture>.*?</picture>|^(```+|:::+|~~~)[^\n]*\n.*?^\1\s*$|\$\$.*?\$\$|^\s*\|.*?$|^\(.*?\)=$"


def prose(text: str) -> str:
    """Return the text without code, tables, formulas, comments and directives."""
    text = re.sub(NO_PROSE, "\n\n", text, flags=re.DOTALL | re.MULTILINE)
    return re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", text)


def sentences(text: str) -> Iterator[str]:
    """Yield the sentences of the prose of a page, without its headings."""
    for block in re.split(r"(?:^|\n)\s*\n?\s*(?:[-*]|#+|\d+\.) |\n\s*\n", "\n" + prose(text)):
        for sentence in re.split(r"(?<=[.!?])[)*”]*\s+(?=[A-Z`*(“])", " ".join(block.split())):
            if len(sentence.split()) > 2:
                yield sentence


def pages(revision: str | None) -> dict[str, str]:
    """Return the pages of a revision, or of the working tree, by path."""
    if revision is None:
        found = [
            ROOT / "README.md",
            ROOT / "CONTRIBUTING.md",
            *ROOT.glob("docs/**/*.md"),
            *ROOT.glob("docs/comparison/*.inc"),
        ]
        kept = [page for page in found if not re.search(r"docs/(_build|gallery|api/generated)", str(page))]
        return {str(page.relative_to(ROOT)): page.read_text(encoding="utf-8") for page in kept}
    git = ["git", "-C", str(ROOT)]
    names = subprocess.run(
        [*git, "ls-tree", "-r", "--name-only", revision], capture_output=True, text=True, check=True
    ).stdout
    kept = [
        name for name in names.split() if re.fullmatch(r"(README|CONTRIBUTING)\.md|docs/.*\.(md|inc)", name)
    ]
    return {
        name: subprocess.run(
            [*git, "show", f"{revision}:{name}"], capture_output=True, text=True, check=True
        ).stdout
        for name in kept
    }


def counts(found: dict[str, str]) -> dict[str, tuple[int, int, int, float, float]]:
    """Return pages, words, words of prose, the median length of a sentence and the share of long ones, by group."""
    left, result = dict(found), {}
    for group, pattern in GROUPS.items():
        mine = {name: left.pop(name) for name in [*left] if re.fullmatch(pattern, name)}
        lengths = [len(one.split()) for text in mine.values() for one in sentences(text)] or [0]
        share = sum(length > LONG for length in lengths) / len(lengths)
        words = sum(len(re.sub(FRONT_MATTER, "", text, flags=re.DOTALL).split()) for text in mine.values())
        result[group] = len(mine), words, sum(lengths), statistics.median(lengths), share
    return result


if __name__ == "__main__":
    for group, (number, words, spoken, median, share) in counts(pages(*sys.argv[1:2] or [None])).items():
        sys.stdout.write(
            f"{group:28} {number:3} pages {words:7,} words, {spoken:7,} of prose; sentences: median {median:4.1f}, "
            f"{100 * share:4.1f} % over {LONG} words\n"
        )
