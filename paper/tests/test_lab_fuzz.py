"""Names, labels and messages of any content: a page of the same shape, in which they are text and nothing else."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from conftest import examples
from lab_pieces import code, toy
from zofw_paper.experiment import conduct
from zofw_paper.records import record
from zofw_paper.report import make_report, render
from zofw_paper.spec import SpecError, parse, read
from zofw_paper.summary import Summary

REPRODUCTION = Path(__file__).parents[2] / "docs" / "reproduction"
WORDS = {
    "title", "name", "profile", "label", "settings", "says", "method", "status", "message", "set", "case", "rival", "id",
    "python", "system", "fingerprint",
}  # fmt: skip
HOSTILE = [
    "<script>window.alerted = 1</script>",
    '"><img src=x onerror=alert(1)>',
    "</script></title></style><b>",
    "' onmouseover='alert(1)",
    "&lt;b&gt; &amp;",
    "{{ 7 * 7 }}{% raw %}",
    "<!-- ",
    "]]>\u2028\x00\x1b[31m",
    "javascript:alert(1)",
]


class Shape(HTMLParser):
    """Tags and names of attributes in their order; the text beside them."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[tuple[str, tuple[str, ...]]] = []
        self.text: list[str] = []
        self.said: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, tuple(name for name, _ in attrs)))
        self.said += [value or "" for name, value in attrs if name in ("title", "aria-label", "alt")]

    def handle_endtag(self, tag: str) -> None:
        self.tags.append((f"/{tag}", ()))

    def handle_data(self, data: str) -> None:
        self.text.append(data)

    def handle_comment(self, data: str) -> None:
        self.tags.append(("comment", ()))

    def handle_pi(self, data: str) -> None:
        self.tags.append(("instruction", ()))


@pytest.fixture(scope="module")
def summaries(tmp_path_factory) -> dict[str, dict[str, Any]]:
    """What a table of costs and what curves come to."""
    folder = tmp_path_factory.mktemp("fuzz")
    conduct(read(toy(folder)), folder / "out", code=code(folder), workers=0)
    make_report(folder / "out")
    return {
        "costs": json.loads((REPRODUCTION / "table1" / "summary.json").read_text()),
        "curves": json.loads((folder / "out" / "summary.json").read_text()),
    }


def renamed(value: Any, word: str, key: str = "") -> Any:
    """The same with a word before every name, label and message."""
    if isinstance(value, dict):
        return {name: renamed(item, word, name) for name, item in value.items()}
    if isinstance(value, list):
        return [renamed(item, word, key) for item in value]
    return f"{word}{value}" if isinstance(value, str) and key in WORDS else value


def shape(page: str) -> Shape:
    """The page without the script of the plotting library, which is not ours."""
    parser = Shape()
    parser.feed(re.sub(r"<script>.*?</script>", "", page, count=1, flags=re.DOTALL))
    parser.close()
    return parser


@pytest.mark.parametrize("kind", ["costs", "curves"])
@given(word=st.sampled_from(HOSTILE) | st.text(min_size=1, max_size=20))
@example(word=HOSTILE[2] + HOSTILE[0])
@examples(12)
def test_every_word_is_text(kind, word, summaries):
    summary = summaries[kind]
    found, tame = (
        shape(render(record(Summary, renamed(summary, text), "a summary"), {})) for text in (word, "word")
    )
    assert found.tags == tame.tags
    shown = " ".join("".join(found.text).split())
    assert " ".join(f"{word}{summary['title']}".split()) in shown
    if kind == "curves":
        charts = next(json.loads(text) for text in found.text if text.startswith("[{"))
        labels = {curve["label"] for case in summary["cases"] for curve in case["curves"]}
        named = {trace["name"] for chart in charts for trace in chart["traces"] if "name" in trace}
        assert named == {f"{word}{label}" for label in labels}


VALUES = st.recursive(
    st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats()
    | st.sampled_from(["zo-fw", "quick", "l1-ball", "m:f", "=1/batch", "../x", "", "curves", "images"])
    | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text("abcnamesd_", max_size=6), inner, max_size=3)
    ),
    max_leaves=6,
)
KEYS = [
    "name", "title", "kind", "measure", "seeds", "tune", "profile", "case", "method", "claim", "budget", "set", "problem",
    "settings", "parameters", "share", "grid", "label", "group", "diagnose", "max_time", "starts", "others", "source", "count",
    "costs", "id", "says", "test", "against", "least",
]  # fmt: skip
TABLES = st.recursive(
    st.dictionaries(st.sampled_from(KEYS), VALUES, max_size=5),
    lambda inner: st.dictionaries(
        st.sampled_from(KEYS), inner | st.lists(inner, max_size=2) | VALUES, max_size=4
    ),
    max_leaves=6,
)


def toml(value: Any) -> str:
    """A value as TOML, tables in one line."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return repr(value)
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=True).replace("\\ud", "\\u00").replace("\x7f", "\\u007f")
    if isinstance(value, list):
        return f"[{', '.join(map(toml, value))}]"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{toml(str(key))} = {toml(item)}" for key, item in value.items()) + "}"
    return repr(value)


@given(tables=TABLES, base=st.booleans(), profile=st.sampled_from([None, "quick"]))
@examples(150)
def test_a_specification_of_any_content_is_an_experiment_or_a_sentence(tables, base, profile):
    whole = {
        "name": "s",
        "case": [{"name": "c", "problem": "m:f", "set": {"name": "simplex"}, "budget": 10}],
        "method": [{"name": "zo-fw"}],
    }
    content = whole | tables if base else tables
    text = "\n".join(f"{key} = {toml(value)}" for key, value in content.items())
    try:
        experiment = parse(text, profile)
    except SpecError as error:
        assert len(str(error)) > 10 and "\n" not in str(error).strip()
    else:
        assert experiment.fingerprint and experiment.seeds
