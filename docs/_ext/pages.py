"""What pages need beyond Markdown: numbers that do not break, results as a notebook shows them, tables of what is published."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from docutils import nodes
from docutils.statemachine import StringList
from sphinx.application import Sphinx
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util.docutils import SphinxDirective

from zofw_paper.claims import Verdict
from zofw_paper.curves import Crossing, crossing
from zofw_paper.spec import Measure
from zofw_paper.summary import CaseSummary, Curve, Summary, read_summary

NUMBER = re.compile(r"[-−+]?\d[\d.,]*e[-+]\d+|\d[\d.,]* – \d[\d.,e+-]*")
PROSE = nodes.paragraph | nodes.strong | nodes.emphasis | nodes.term
MARKS = {"holds": "**✓** holds", "does not hold": "**✗** does not hold"}


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


class PublishedTable(SphinxDirective):
    """A table from the summaries of published experiments."""

    required_arguments = 1
    final_argument_whitespace = True
    has_content = True

    def summary(self, page: str) -> Summary:
        path = Path(self.env.srcdir) / "reproduction" / page
        self.env.note_dependency(str(path / "summary.json"))
        return read_summary(path)

    def cases(self) -> Iterator[tuple[str, CaseSummary, str]]:
        """Lines "page case: words": the page, the case, the words."""
        for line in self.content:
            where, _, words = line.partition(": ")
            page, name = where.split()
            (case,) = (case for case in self.summary(page).cases if case.name == name)
            yield page, case, words

    def table(self, head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[nodes.Node]:
        lines = [f"| {' | '.join(row)} |" for row in (head, ["---"] * len(head), *rows)]
        box = nodes.container(classes=["wide"])
        self.state.nested_parse(StringList(lines, self.env.docname), self.content_offset, box)
        return [box]


class VerdictTable(PublishedTable):
    """Every statement of the published experiments by whom it is, with its verdict on each data set and the pages that have the figures."""

    has_content = False

    def run(self) -> list[nodes.Node]:
        pages = sorted(
            path.parent.name for path in (Path(self.env.srcdir) / "reproduction").glob("*/summary.json")
        )
        claims = {page: self.summary(page).claims for page in pages}
        found = verdicts(
            {page: [c for c in made if c.by == self.arguments[0]] for page, made in claims.items()}
        )
        return self.table(["statement", "measured"], list(found.items()))


def verdicts(claims: Mapping[str, Sequence[Verdict]]) -> dict[str, str]:
    """For each statement what came of it, by data set, with links to the pages."""
    found: dict[str, dict[tuple[str, str], list[str]]] = {}
    for page, made in claims.items():
        for claim in made:
            kinds = found.setdefault(claim.says, {})
            for case in claim.cases:
                kinds.setdefault((case.verdict, case.case), []).append(f"[{page}](/reproduction/{page}.md)")
    return {
        says: "; ".join(
            f"{MARKS.get(verdict, verdict)} on {case} ({', '.join(links)})"
            for (verdict, case), links in sorted(kinds.items(), reverse=True)
        )
        or "not measured"
        for says, kinds in found.items()
    }


class OvertakingTable(PublishedTable):
    """From how many queries on a method is ahead of its rivals, in cases of published pages."""

    def run(self) -> list[nodes.Node]:
        (method,) = self.arguments
        rows: list[tuple[list[str], dict[str, str]]] = []
        for page, case, words in self.cases():
            curves = {curve.label: curve for curve in case.curves if curve.group == "paper"}
            end = f"{curves[method].end.window.median:.1e} ({curves[method].runs})"
            found = {c.rival: c for c in case.crossings if c.method == method}
            cells = {
                rival: overtaken(
                    curves[method], curve, found.get(rival) or of_medians(case, curves[method], curve)
                )
                for rival, curve in curves.items()
                if rival != method
            }
            rows.append(([f"[{words}](/reproduction/{page}.md)", power(case.budget), end], cells))
        rivals = list(dict.fromkeys(rival for _, cells in rows for rival in cells))
        head = ["problem", "budget", f"{method} (runs)", *(f"N against {rival}" for rival in rivals)]
        return self.table(
            head, [[*first, *(cells.get(rival, "not run") for rival in rivals)] for first, cells in rows]
        )


class FirstTable(PublishedTable):
    """Which method of the paper is first at powers of ten of queries, and from where on the method named is first for good.

    A line "page page …: problem | case" names the pages of one case; at each power of ten the page counts whose budget is the
    smallest that reaches it, because some steps are made for the budget.
    """

    option_spec: ClassVar = {"powers": str}

    def run(self) -> list[nodes.Node]:
        method, exponents = self.arguments[0], [int(e) for e in self.options["powers"].split()]
        rows = []
        for line in self.content:
            pages, _, words = line.partition(": ")
            title, _, name = words.partition(" | ")
            found = sorted(
                (
                    (case.budget, page, summary.measure, case)
                    for page in pages.split()
                    for summary in (self.summary(page),)
                    for case in summary.cases
                    if case.name == name
                ),
                key=lambda entry: entry[0],
            )
            cells = [leader([(m, c) for b, _, m, c in found if b >= 0.99 * 10**e], e) for e in exponents]
            _, page, measure, case = found[-1]
            rows.append([f"[{title}](/reproduction/{page}.md)", *cells, *for_good(method, measure, case)])
        heads = [power(10.0**e).removeprefix("1.0·") for e in exponents]
        return self.table(
            ["problem", *heads, f"{method} is first from N on", "the paper: it ends first"], rows
        )


def leader(found: Sequence[tuple[Measure, CaseSummary]], exponent: int) -> str:
    """Return the paper's method that is first at a power of ten of queries, with its value, or a dash."""
    if not found or found[0][1].queries[0] > 10.0**exponent:
        return "–"
    measure, case = found[0]
    paper = {curve.label for curve in case.curves if curve.group == "paper"}
    seen = {label: value for label, value in seen_at(case, 10.0**exponent).items() if label in paper}
    first = best(measure, seen)
    value = f"{seen[first]:.0%}" if measure == "success-rate" else f"{seen[first]:.0e}"
    return f"{first} {value}"


def for_good(method: str, measure: Measure, case: CaseSummary) -> tuple[str, str]:
    """Return from how many queries on a method is ahead of all rivals, with quartiles, and whether it ends first."""
    paper = {curve.label: curve for curve in case.curves if curve.group == "paper"}
    mine = paper[method]
    ends = {label: curve.end.window.median for label, curve in paper.items()}
    runs = f"{mine.runs} run" + "s" * (mine.runs > 1)
    holds = MARKS["holds" if best(measure, ends) == method else "does not hold"]
    known = {c.rival: c for c in case.crossings if c.method == method}
    rivals = [
        known.get(label) or of_medians(case, mine, curve) for label, curve in paper.items() if label != method
    ]
    if holds != MARKS["holds"] or any(rival.median is None for rival in rivals):
        return f"not up to {power(case.budget)} ({runs})", holds
    last = max(rivals, key=lambda rival: rival.median or 0.0)
    upper = power(last.high) if last.high is not None else "beyond the budget"
    spread = f"; quartiles {power(last.low or 0.0)} to {upper}" if last.high != last.low else ""
    return f"**{power(last.median or 0.0)}** ({runs}{spread})", holds


def best(measure: Measure, values: Mapping[str, float]) -> str:
    """Return the label of the best value: the highest success rate, the lowest gap."""
    return (max if measure == "success-rate" else min)(values, key=values.__getitem__)


class GapTable(PublishedTable):
    """Window medians of methods, separated by commas, in cases of published pages at the numbers of queries that a line ends with."""

    def run(self) -> list[nodes.Node]:
        columns = [
            (f"{case.title}, {power(float(at))}", seen_at(case, float(at)))
            for _, case, numbers in self.cases()
            for at in numbers.split()
        ]
        rows = [
            [label, *(f"{seen[label]:.1e}" if label in seen else "–" for _, seen in columns)]
            for label in self.arguments[0].split(", ")
        ]
        return self.table(["", *(head for head, _ in columns)], rows)


def seen_at(case: CaseSummary, at: float) -> dict[str, float]:
    """The window medians at the last point of the grid that is not beyond ``at``, by method."""
    place = int(np.searchsorted(case.queries, at * (1 + 1e-9), side="right")) - 1
    return {curve.label: curve.window[place] for curve in case.curves if curve.window}


def power(value: float) -> str:
    """3.6·10⁹."""
    digits, exponent = f"{value:.1e}".split("e")
    return f"{digits}·10" + str(int(exponent)).translate(str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹"))


def of_medians(case: CaseSummary, mine: Curve, rival: Curve) -> Crossing:
    """The crossing of two median curves, where the runs behind them are not published one by one."""
    return crossing(
        mine.label, rival.label, np.array(case.queries), np.array([mine.window]), np.array([rival.window])
    )


def overtaken(mine: Curve, rival: Curve, found: Crossing) -> str:
    """From how many queries on a method is ahead of a rival, and how the two end."""
    ratio = rival.end.window.median / mine.end.window.median
    times = float(f"{max(ratio, 1 / ratio):.2g}")
    end = f"{times:g} times {'below' if ratio > 1 else 'above'}"
    seeds = f"{found.seeds} of {found.of} seed" + "s" * (found.of > 1)
    if found.median is None:
        return f"not within the budget ({seeds}); ends {end}"
    upper = power(found.high) if found.high is not None else "beyond the budget"
    at = power(found.median) if found.median else "the start"
    return f"**{at}**" + f" (upper quartile {upper})" * (found.high != found.median) + f"; ends {end}"


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
    app.add_directive("gap-table", GapTable)
    app.add_directive("first-table", FirstTable)
    app.add_directive("verdict-table", VerdictTable)
    app.add_post_transform(WholeNumbers)
    return {"version": "1", "parallel_read_safe": True}
