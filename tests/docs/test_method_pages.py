"""Every method has its page, and what the page states is what a session charges."""

from __future__ import annotations

import dataclasses
import re

import numpy as np
import pytest
from pages import DOCS, facts

import zofw
from conftest import quadratic_sum
from zofw.problems import evaluate

N, D, ITERATIONS = 90, 7, 14
REGION = zofw.L1Ball(1.5)
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
    assert pages == set(zofw.methods())


@pytest.mark.parametrize("name", zofw.methods())
def test_a_page_is_whole(name):
    stated = facts.Facts.read(page(name))
    assert stated.method == name and stated.settings == zofw.methods()[name].__name__
    text = page(name).read_text()
    places = [text.index(f"\n## {section}") for section in SECTIONS]
    assert places == sorted(places)
    assert "```{method-facts}" in text and ":class: algorithm" in text
    facts.words(stated.queries), facts.span(stated.lmo)


def charged(name: str):
    """For each iteration: its number, its queries, its LMO calls, whether it was a refresh; and the session."""
    problem = quadratic_sum(N, D)
    gradient = (lambda x: x) if name == "frank-wolfe" else None
    session = zofw.Session(REGION, dim=D, n=N, method=name, max_iter=ITERATIONS, rng=3, gradient=gradient)
    rows, before = [], [0, 0]

    def watch(running: zofw.Session) -> None:
        spent = running.nfev - before[0], running.nlmo - before[1]
        rows.append((running.nit - 1, *spent, bool(running.info.get("refresh"))))
        before[:] = running.nfev, running.nlmo

    session.observers.append(watch)
    while (query := session.ask()) is not None:
        session.tell(query, evaluate(problem, query))
    return rows, session


@pytest.mark.parametrize("name", zofw.methods())
def test_the_stated_formulas_are_what_is_charged(name):
    stated = facts.Facts.read(page(name))
    rows, session = charged(name)
    assert len(rows) == ITERATIONS
    letters = stated.letters(session.algorithm) | {"n": N, "d": D, "R": REGION.diameter(D)}
    for t, queries, lmos, refresh in rows:
        tolerance = getattr(session.algorithm, "tolerance", None)
        names = letters | {
            "t": t,
            "refresh": refresh,
            "mu": tolerance(t) if tolerance else None,
            "adaptive": queries,
        }
        assert queries == facts.evaluate(stated.queries, names), f"iteration {t}"
        low, high = stated.lmo if isinstance(stated.lmo, list) else (stated.lmo, stated.lmo)
        assert facts.evaluate(low, names) <= lmos <= facts.evaluate(high, names), f"iteration {t}"
    kept = [getattr(session.state, field.name) for field in dataclasses.fields(session.state)]
    vectors = sum(isinstance(value, np.ndarray) and value.shape == (D,) for value in kept)
    assert isinstance(stated.vectors, str) or vectors == stated.vectors


def test_refreshes_and_periods_occur_in_the_comparison():
    """The formulas above have two branches; a comparison that saw only one would prove nothing."""
    for name in zofw.methods():
        if "if" in facts.Facts.read(page(name)).queries:
            assert len({queries for _, queries, *_ in charged(name)[0]}) > 1, name


def test_the_chart_names_every_method_and_links_to_pages_that_exist():
    chart = (DOCS / "methods" / "choose.svg").read_text()
    for name in zofw.methods():
        assert name in chart
    for link in re.findall(r"href=\"([^\"]+)\.html\"", chart):
        assert page(link).exists()


def test_formulas_in_words():
    assert facts.words("2*n*b if refresh else 4*S*b") == r"$2nb$ on a refresh, else $4|\mathcal{S}|b$"
    assert facts.tex("r*min(1, d**(1/2 - 1/p))") == r"r\min(1, d^{\frac{1}{2} - \frac{1}{p}})"
    with pytest.raises(ValueError, match="no words yet"):
        facts.words("1 if n > 3 else 2")
    with pytest.raises(ValueError, match="no TeX yet"):
        facts.tex("not n")
