"""Every method has its page, and the chart and the formulas can be shown. What they state is tested in tests/conformance."""

from __future__ import annotations

import re

import numpy as np
import pytest
from pages import DOCS, facts_of_the_pages

import zofw
from zofw.extend.new import SKELETONS
from zofw.extend.play import smooth_sum

facts = facts_of_the_pages()

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
    _, head, text = (SKELETONS / "my_method.md").read_text().replace("# forgetful: ", "").split("---\n", 2)
    prose = re.sub(r"^(```|:::).*?^(```|:::)$", "", text, flags=re.DOTALL | re.MULTILINE)
    lines = [head.splitlines()[0].split("'")[1], *prose.splitlines()]
    return [line.removeprefix("- ") for line in lines if line and not line.startswith("#")]


def test_the_skeleton_has_sentences_to_replace():
    assert len(placeholders()) == 7, placeholders()


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
    head = facts.page_of(name)
    assert facts.words(facts.facts_of(name).queries) and facts.oracle(name) and facts.tex(head["memory"])
    assert head["use"] and head["answers"], f"the head of docs/methods/{name}.md needs use and answers"
    assert set(head["answers"]) <= set(facts.QUESTIONS), (
        "answers are names in QUESTIONS of docs/_ext/facts.py"
    )


@pytest.mark.parametrize("name", zofw.methods())
def test_the_memory_on_a_page_is_what_the_state_keeps(name):
    """Numbers of floating point in the state after eight iterations, in vectors of d; a formula in other letters is only shown."""
    stated, n, d = str(facts.page_of(name)["memory"]), 11, 5
    if not set(re.findall("[A-Za-z]", stated)) <= {"n"}:
        pytest.skip("its letters are numbers that the run finds")
    method = zofw.methods()[name]
    first_order = {"gradient": lambda x: x} if isinstance(method, zofw.core.FirstOrder) else {}
    session = zofw.Session(
        zofw.L1Ball(1.0), dim=d, n=n, method=name, budget=10**6, max_iter=8, rng=0, **first_order
    )
    f = smooth_sum(n, d)
    while (query := session.ask()) is not None:
        session.tell(query, zofw.problems.evaluate(f, query))
    kept = [v for v in vars(session.run.state).values() if isinstance(v, np.ndarray) and v.dtype == float]
    assert sum(v.size for v in kept) == facts.evaluate(stated, {"n": n}) * d, stated


def test_the_chart_has_every_question_and_every_method_once_for_each_answer():
    chart = facts.chart()
    links = re.findall(r"href=\"([^\"]+)\.html\"", chart)
    assert sorted(links) == sorted(name for name in zofw.methods() for _ in facts.page_of(name)["answers"])
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
