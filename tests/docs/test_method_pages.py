"""Every method has its page, and the chart and the formulas can be shown. What they state is tested in tests/conformance."""

from __future__ import annotations

import re

import pytest
from pages import DOCS, facts

import zofw
from zofw.extend.new import SKELETONS

SECTIONS = [
    "Pseudo-code",
    "When to use it",
    "Guarantees",
    "Departures from the paper",
    "Example",
    "References",
]


def page(name: str):
    return DOCS / "methods" / f"{name}.md"


def test_methods_and_pages_are_the_same():
    pages = {path.stem for path in (DOCS / "methods").glob("*.md")} - {"index"}
    missing, unknown = set(zofw.methods()) - pages, pages - set(zofw.methods())
    assert not missing, (
        f"{missing} have no page in docs/methods: begin with src/zofw/extend/skeletons/my_method.md"
    )
    assert not unknown, f"{unknown} are pages of no registered method: register it, or remove the page"


def placeholders():
    """The sentences of the skeleton that a page has to replace."""
    text = (SKELETONS / "my_method.md").read_text().replace("# forgetful: ", "")
    prose = re.sub(r"^(```|:::).*?^(```|:::)$", "", text, flags=re.DOTALL | re.MULTILINE)
    return [line.removeprefix("- ") for line in prose.splitlines() if line and not line.startswith("#")]


def test_the_skeleton_has_sentences_to_replace():
    assert len(placeholders()) == 6, placeholders()


@pytest.mark.parametrize("name", zofw.methods())
def test_a_page_has_no_sentence_of_the_skeleton(name):
    left = [sentence for sentence in placeholders() if sentence in page(name).read_text()]
    assert not left, f"docs/methods/{name}.md still says {left}: write what is true of your method"


@pytest.mark.parametrize("name", zofw.methods())
def test_a_page_is_whole(name):
    text = page(name).read_text()
    places = [text.find(f"\n## {section}") for section in SECTIONS]
    assert -1 not in places and places == sorted(places), (
        f"docs/methods/{name}.md needs {SECTIONS} in this order"
    )
    assert "```{method-facts}" in text and ":class: algorithm" in text
    stated = facts.facts_of(name)
    assert facts.words(stated.queries) and facts.oracle(name) and facts.tex(stated.vectors)
    assert stated.answers and set(stated.answers) <= set(facts.QUESTIONS), "answers are names in QUESTIONS"


def test_the_chart_has_every_question_and_every_method_once_for_each_answer():
    chart = facts.chart()
    links = re.findall(r"href=\"([^\"]+)\.html\"", chart)
    assert sorted(links) == sorted(name for name in zofw.methods() for _ in facts.facts_of(name).answers)
    words = re.sub(r"</text><text[^>]*>", " ", chart)
    for question in facts.QUESTIONS.values():
        assert question in words
    for y, height in re.findall(r"<rect x=\"5\" y=\"(\d+)\" width=\"270\" height=\"(\d+)\"", chart):
        assert int(y) + int(height) < int(re.search(r"viewBox=\"0 0 460 (\d+)\"", chart)[1])


def test_formulas_in_words():
    assert facts.words("2*n*b if refresh else 4*S*b") == r"$2nb$ on a refresh, else $4|\mathcal{S}|b$"
    assert facts.tex("r*min(1, d**(1/2 - 1/p))") == r"r\min(1, d^{\frac{1}{2} - \frac{1}{p}})"
    with pytest.raises(ValueError, match="no words yet"):
        facts.words("1 if n > 3 else 2")
    with pytest.raises(ValueError, match="no TeX yet"):
        facts.tex("not n")
    with pytest.raises(ValueError, match="is neither"):
        facts.evaluate("().__class__", {})
