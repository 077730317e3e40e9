"""What pages need beyond Markdown: numbers that do not break, results as a notebook shows them, and verdicts of experiments."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import Any

from docutils import nodes
from docutils.statemachine import StringList
from sphinx.application import Sphinx
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util.docutils import SphinxDirective

from zofw.lab.summary import read_summary

NUMBER = re.compile(r"[-−+]?\d[\d.,]*e[-+]\d+|\d[\d.,]* – \d[\d.,e+-]*")
PROSE = nodes.paragraph | nodes.strong | nodes.emphasis | nodes.term
MARKS = {"holds": "✓ holds", "does not hold": "✗ does not hold"}


class WholeNumbers(SphinxPostTransform):
    """5.2e-03 stays on one line: browsers break after the hyphen."""

    default_priority = 900

    def run(self, **kwargs: Any) -> None:
        for text in list(self.document.findall(nodes.Text)):
            if not isinstance(text.parent, PROSE) or not NUMBER.search(text):
                continue
            parts: list[nodes.Node] = []
            at = 0
            for found in NUMBER.finditer(text):
                parts += [nodes.Text(text[at : found.start()])] if found.start() > at else []
                parts.append(nodes.inline("", found[0], classes=["number"]))
                at = found.end()
            parts += [nodes.Text(text[at:])] if at < len(text) else []
            text.parent.replace(text, parts)


class VerdictTable(SphinxDirective):
    """Every statement of the published experiments by whom it is, with its verdict and the page that has the figures."""

    required_arguments = 1
    final_argument_whitespace = True

    def run(self) -> list[nodes.Node]:
        folder = Path(self.env.srcdir) / "reproduction"
        lines = ["| statement | measured | experiment |", "|---|---|---|"]
        paths = sorted(folder.glob("*/summary.json"))
        for path in paths:
            self.env.note_dependency(str(path))
        found = [
            (path.parent.name, claim)
            for path in paths
            for claim in read_summary(path.parent).claims
            if claim.by == self.arguments[0]
        ]
        measured = {claim.says for _, claim in found if claim.verdict != "not measured"}
        lines += [
            f"| {claim.says} | {MARKS.get(claim.verdict, claim.verdict)} | [{page}](/reproduction/{page}.md) |"
            for page, claim in found
            if claim.verdict != "not measured" or claim.says not in measured  # on another page
        ]
        return self.parse_content_to_nodes_of(lines)

    def parse_content_to_nodes_of(self, lines: list[str]) -> list[nodes.Node]:
        box = nodes.container(classes=["wide", "verdicts"])
        self.state.nested_parse(StringList(lines, self.env.docname), self.content_offset, box)
        return [box]


class Shown(SphinxDirective):
    """Python code, and below it what a notebook shows of its last expression."""

    has_content = True

    def run(self) -> list[nodes.Node]:
        *before, last = ast.parse("\n".join(self.content)).body
        assert isinstance(last, ast.Expr)
        names: dict[str, Any] = {}
        exec(compile(ast.Module(before, []), "<page>", "exec"), names)
        value = eval(compile(ast.Expression(last.value), "<page>", "eval"), names)
        code = nodes.literal_block("\n".join(self.content), "\n".join(self.content), language="python")
        html = nodes.raw("", f"<div class='shown'>{value._repr_html_()}</div>", format="html")
        return [code, html]


def setup(app: Sphinx) -> dict[str, Any]:
    app.add_directive("shown", Shown)
    app.add_directive("verdict-table", VerdictTable)
    app.add_post_transform(WholeNumbers)
    return {"version": "1", "parallel_read_safe": True}
