"""What pages need beyond Markdown: numbers that do not break, results as a notebook shows them, tables of what is published."""

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

from zofw.lab.curves import Crossing
from zofw.lab.summary import Curve, read_summary

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


def power(value: float) -> str:
    """3.6·10⁹."""
    digits, exponent = f"{value:.1e}".split("e")
    return f"{digits}·10" + str(int(exponent)).translate(str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹"))


def overtaken(mine: Curve, rival: Curve, found: Crossing) -> str:
    """From how many queries on a method is ahead of a rival, and how the two end."""
    ratio = rival.end.window.median / mine.end.window.median
    end = f"{ratio:.2g} times below" if ratio > 1 else f"{1 / ratio:.2g} times above"
    seeds = f"{found.seeds} of {found.of} seeds"
    if found.median is None:
        return f"not within the budget ({seeds}); ends {end}"
    upper = power(found.high) if found.high is not None else "beyond the budget"
    at = power(found.median) if found.median else "the start"
    return f"**{at}**" + f" (upper quartile {upper})" * (found.high != found.median) + f"; ends {end}"


class OvertakingTable(SphinxDirective):
    """From how many queries on a method is ahead of its rivals, for cases of published pages: lines "page case: words"."""

    required_arguments = 1
    final_argument_whitespace = True
    has_content = True

    def run(self) -> list[nodes.Node]:
        folder, (method,) = Path(self.env.srcdir) / "reproduction", self.arguments
        asked = [line.partition(": ") for line in self.content]
        rivals: list[str] = []
        rows: list[tuple[str, dict[str, str]]] = []
        for where, _, words in asked:
            page, name = where.split()
            self.env.note_dependency(str(folder / page / "summary.json"))
            (case,) = (case for case in read_summary(folder / page).cases if case.name == name)
            curves = {curve.label: curve for curve in case.curves if curve.group == "paper"}
            cells = {
                c.rival: overtaken(curves[method], curves[c.rival], c)
                for c in case.crossings
                if c.method == method and c.rival in curves
            }
            rivals += [rival for rival in cells if rival not in rivals]
            first, end = (
                f"[{words}](/reproduction/{page}.md), {power(case.budget)}",
                curves[method].end.window.median,
            )
            rows.append((f"{first} | {end:.1e} ({curves[method].runs})", cells))
        head = [f"problem, budget | {method} (runs)", *(f"N against {rival}" for rival in rivals)]
        lines = [f"| {' | '.join(head)} |", "|---" * (len(head) + 1) + "|"]
        lines += [
            f"| {first} | {' | '.join(cells.get(rival, 'not run') for rival in rivals)} |"
            for first, cells in rows
        ]
        box = nodes.container(classes=["wide"])
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
    app.add_directive("overtaking-table", OvertakingTable)
    app.add_directive("verdict-table", VerdictTable)
    app.add_post_transform(WholeNumbers)
    return {"version": "1", "parallel_read_safe": True}
