"""What methods and sets state about themselves, and laws in the front matter of their page, as boxes, tables and a chart."""

from __future__ import annotations

import ast
import textwrap
from html import escape
from pathlib import Path
from typing import Any

import yaml
from docutils import nodes
from docutils.statemachine import StringList
from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.util.docutils import SphinxDirective

import zofw
from zofw.algorithms.facts import Facts, evaluate, letters_of
from zofw.sets.protocol import SetFacts

METHODS = Path(__file__).parents[1] / "methods"
QUESTIONS = {
    "default": "Is this a first run, or do you want to tune nothing?",
    "gradient": "Can you compute a gradient, and want a value to compare with?",
    "noisy": "Do repeated values at the same x differ?",
    "short": "Is the budget below 2·n·d, the price of one full gradient?",
    "few": "Is f smooth, with one component or so few that sampling saves nothing?",
    "light": "Must every iteration cost far less than 2·n·d (d large, a long run)?",
    "smooth": "Do you know the smoothness L, and is the LMO cheap?",
    "otherwise": "Otherwise",
    "rival": "For comparison only",
}
"""The chart of the page "Choose a method", from top to bottom; the page of a method names those that lead to it."""

LETTERS = {
    "S": r"|\mathcal{S}|",
    "R": "R",
    "L": "L",
    "beta": r"\beta",
    "rho": r"\rho_t",
    "eta": r"\eta_t",
    "mu": r"\mu_t",
    "inf": r"\infty",
    "adaptive": r"\text{adaptive}",
}
WHEN = {"refresh": "on a refresh", "t == 0": "at $t = 0$"}


def front_matter(path: Path) -> dict[str, Any]:
    """The YAML between the first two lines of three dashes."""
    _, head, _ = path.read_text().split("---\n", 2)
    loaded: dict[str, Any] = yaml.safe_load(head)
    return loaded


def tex(formula: str | float) -> str:
    """A formula without conditions in TeX."""
    return _tex(ast.parse(str(formula), mode="eval").body)


def words(formula: str | float) -> str:
    """A formula as a sentence: each case with the condition under which it holds."""
    node, cases = ast.parse(str(formula), mode="eval").body, []
    while isinstance(node, ast.IfExp):
        cases.append(f"${_tex(node.body)}$ {_when(node.test)}")
        node = node.orelse
    last = f"${_tex(node)}$"
    return ", ".join([*cases, f"else {last}"]) if cases else last


def oracle(name: str) -> str:
    """LMO calls of an iteration: exactly so many, or from so many to so many, or none."""
    lmo = facts_of(name).lmo
    if isinstance(lmo, tuple):
        return f"{words(lmo[0])} to {words(lmo[1])}"
    return "projects" if lmo == "0" else words(lmo)


def facts_of(name: str) -> Facts:
    """What a registered method states."""
    stated: Facts = zofw.methods()[name].facts
    return stated


def page_of(name: str) -> dict[str, Any]:
    """What the head of a method's page states for readers: use, answers, memory, rates and a caution."""
    return {"convex": "none stated", "nonconvex": "none stated"} | front_matter(METHODS / f"{name}.md")


def link(name: str) -> str:
    """A method's name, leading to its page."""
    return f"[`{name}`](/methods/{name}.md)"


def thousands(number: int) -> str:
    """10 000 with a narrow space."""
    return f"{number:,}".replace(",", r"\,")


def _when(test: ast.expr) -> str:
    source = ast.unparse(test)
    if source in WHEN:
        return WHEN[source]
    match test:
        case ast.Compare(left=ast.BinOp(op=ast.Mod(), right=period), ops=[ast.Eq()]):
            return f"every ${_tex(period)}$ iterations"
    raise ValueError(f"The condition {source!r} has no words yet; add them to WHEN.")


def _tex(node: ast.expr) -> str:
    match node:
        case ast.Constant(value=value):
            return f"{value:g}" if isinstance(value, (int, float)) else str(value)
        case ast.Name(id=name):
            return LETTERS.get(name, name if len(name) == 1 else rf"\texttt{{{name}}}")
        case ast.BinOp(left=left, op=ast.Div(), right=right):
            return rf"\frac{{{_tex(left)}}}{{{_tex(right)}}}"
        case ast.BinOp(left=left, op=ast.Pow(), right=right):
            return f"{_atom(left)}^{{{_tex(right)}}}"
        case ast.BinOp(left=left, op=ast.Mult(), right=right):
            return _factor(left) + _factor(right)
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            return f"{_tex(left)} + {_tex(right)}"
        case ast.BinOp(left=left, op=ast.Sub(), right=right):
            return f"{_tex(left)} - {_factor(right)}"
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return f"-{_factor(operand)}"
        case ast.Call(func=ast.Name(id="ceil"), args=[inside]):
            return rf"\lceil {_tex(inside)} \rceil"
        case ast.Call(func=ast.Name(id="sqrt"), args=[inside]):
            return rf"\sqrt{{{_tex(inside)}}}"
        case ast.Call(func=ast.Name(id="min" | "max" as name), args=args):
            return rf"\{name}({', '.join(map(_tex, args))})"
    raise ValueError(f"The formula part {ast.unparse(node)!r} has no TeX yet.")


def _factor(node: ast.expr) -> str:
    """In brackets where a sum is multiplied."""
    shown = _tex(node)
    return f"({shown})" if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Add, ast.Sub)) else shown


def _atom(node: ast.expr) -> str:
    """In brackets where anything but a letter is raised to a power."""
    shown = _tex(node)
    return f"({shown})" if isinstance(node, ast.BinOp) else shown


class Markdown(SphinxDirective):
    """A directive whose content is Markdown written by ``lines``."""

    has_content = False

    def lines(self) -> list[str]:
        raise NotImplementedError

    def run(self) -> list[nodes.Node]:
        holder = nodes.Element()
        here = self.env.doc2path(self.env.docname)
        self.state.nested_parse(StringList(self.lines(), here), 0, holder)
        return holder.children


def table(head: list[str], rows: list[list[str]]) -> list[str]:
    """A pipe table that may be scrolled sideways; a bar within a cell is escaped."""
    body = [head, ["---"] * len(head), *rows]
    lines = ["| " + " | ".join(cell.replace("|", r"\|") for cell in row) + " |" for row in body]
    return ["::::{div} wide", "", *lines, "", "::::"]


class MethodFacts(Markdown):
    """The box at the top of a method's page, whose file has the method's name."""

    def lines(self) -> list[str]:
        name = Path(self.env.doc2path(self.env.docname)).stem
        facts, page = facts_of(name), page_of(name)
        letters = ", ".join(
            f"${LETTERS.get(letter, letter)}$ = `{setting}`"
            for letter, setting in letters_of(zofw.methods()[name].__dataclass_fields__).items()
        )
        calls = "one projection, no LMO call" if facts.lmo == "0" else oracle(name)
        return [
            "::::{card}",
            ":class-card: facts",
            "",
            f"Queries per iteration\n: {words(facts.queries)}",
            "",
            f"LMO calls per iteration\n: {calls}",
            "",
            f"Memory\n: ${tex(page['memory'])}$ vectors of $d$ numbers; directions are never stored",
            "",
            *([f"Letters\n: {letters}; $n$ components, $d$ dimensions", ""] if letters else []),
            *(["First estimate\n: " + first_estimate(facts), ""] if facts.estimate else []),
            *(["On easy sums\n: " + share(facts), ""] if facts.queries != "0" else []),
            *([f"Beware\n: {page['caution']}", ""] if "caution" in page else []),
            f"Settings\n: {{py:class}}`zofw.{zofw.methods()[name].__name__}`",
            "",
            "::::",
        ]


def share(facts: Facts) -> str:
    """What is tested of the decrease."""
    return (
        f"${100 * facts.share:.0f}\\,\\%$ of Frank-Wolfe's decrease within ${thousands(facts.within)}$ queries, "
        "on [the sums that every method is tried on](/extend/method.md)"
    )


def first_estimate(facts: Facts) -> str:
    """Mean and covariance of g for a linear function with gradient c."""
    stated = facts.estimate
    assert stated is not None
    parts = [] if stated.mean is None else [rf"$\mathbb E g = {_factor_of(stated.mean)}\nabla f$"]
    parts.append(rf"$\mathbb E\|g - \mathbb E g\|^2 = {_factor_of(stated.spread)}\|\mathbb E g\|^2$")
    if stated.along not in (None, stated.spread):
        parts.append(rf"variance along $\nabla f$ ${tex(stated.along)}$ times its square")
    return ", ".join(parts)


def _factor_of(formula: str) -> str:
    return "" if formula == "1" else _factor(ast.parse(formula, mode="eval").body)


class MethodTable(Markdown):
    """What every method is for (``use``), or its guarantees, queries per iteration and memory (``cost``)."""

    required_arguments = 1

    def lines(self) -> list[str]:
        stated = [(name, facts_of(name), page_of(name)) for name in sorted(zofw.methods())]
        if self.arguments[0] == "use":
            return table(["method", "when"], [[link(name), page["use"]] for name, _, page in stated])
        head = ["method", "queries per iteration", "LMO calls", "memory", "convex", "not convex"]
        rows = [
            [
                link(name),
                words(facts.queries),
                oracle(name),
                f"${tex('(' + page['memory'] + ')*d')}$",
                page["convex"],
                page["nonconvex"],
            ]
            for name, facts, page in stated
        ]
        return table(head, rows)


class PriceTable(Markdown):
    """The formulas in figures, at default settings, for data sets whose sizes are the arguments."""

    required_arguments = 1
    final_argument_whitespace = True

    def lines(self) -> list[str]:
        from zofw.algorithms import as_algorithm
        from zofw.core import Task

        sizes = [
            (name, int(n), int(d)) for name, n, d in (part.split(":") for part in self.arguments[0].split())
        ]
        head = ["method", *(f"{name}: n = {n:,}, d = {d:,}" for name, n, d in sizes)]
        rows = []
        for name in sorted(zofw.methods()):
            facts = facts_of(name)
            if facts.queries == "0":
                continue
            cells = ["adaptive"] * len(sizes) if "adaptive" in facts.queries else []
            for _, n, d in sizes if not cells else ():
                settings, _ = as_algorithm(name, Task(zofw.L1Ball(1.0), d, n))
                names = facts.names(settings, n, d)
                first = evaluate(facts.queries, names | {"t": 0, "refresh": True})
                later = evaluate(facts.queries, names | {"t": 1, "refresh": False})
                cells.append(f"{first:,}" if first == later else f"{first:,}, then {later:,}")
            rows.append([link(name), *cells])
        return table(head, rows)


LEFT, RIGHT, PILL = 270, 140, 26  # widths of a question and of a method, height of a method


def pill(name: str, x: int, y: int, width: int = RIGHT) -> str:
    """A method in the chart."""
    return (
        f'<a href="{name}.html"><g class="method"><rect x="{x}" y="{y}" width="{width}" height="{PILL}" rx="13"/>'
        f'<text x="{x + width // 2}" y="{y + 18}" text-anchor="middle">{name}</text></g></a>'
    )


def chart() -> str:
    """Which method to choose, as SVG: one question below the other, the methods that answer it beside it."""
    parts, y = [], 5
    for key, question in QUESTIONS.items():
        names = [name for name in sorted(zofw.methods()) if key in page_of(name)["answers"]]
        if not names:
            continue
        if key in ("otherwise", "rival"):
            parts.append(f'<text class="says" x="5" y="{y + 14}">{question}:</text>')
            for i, name in enumerate(names):
                parts.append(pill(name, 5 + 152 * (i % 3), y + 22 + (PILL + 6) * (i // 3)))
            y += 36 + (PILL + 6) * -(-len(names) // 3)
            continue
        lines = textwrap.wrap(question, 34)
        height = max(16 + 19 * len(lines), (PILL + 4) * len(names) - 4)
        said = "".join(
            f'<text x="18" y="{y + 23 + 19 * i}">{escape(line)}</text>' for i, line in enumerate(lines)
        )
        parts.append(
            f'<g class="question"><rect x="5" y="{y}" width="{LEFT}" height="{height}" rx="8"/>{said}</g>'
            f'<path class="edge" marker-end="url(#tip)" d="M275 {y + height // 2}H318"/>'
            f'<text class="says" x="284" y="{y + height // 2 - 6}">yes</text>'
        )
        top = y + (height - (PILL + 4) * len(names) + 4) // 2
        parts.extend(pill(name, 318, top + (PILL + 4) * i) for i, name in enumerate(names))
        y += height
        parts.append(
            f'<path class="edge" marker-end="url(#tip)" d="M140 {y}V{y + 32}"/><text class="says" x="148" y="{y + 21}">no</text>'
        )
        y += 34
    tip = (
        '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
        '<path d="M0 0 8 4 0 8z"/></marker></defs>'
    )
    return (
        f'<div class="choose"><svg viewBox="0 0 460 {y}" role="img" aria-label="Flow chart: which method to choose">'
        + tip
        + "\n".join(parts)
        + "</svg></div>"
    )


class MethodChart(SphinxDirective):
    """The chart of the page "Choose a method"."""

    def run(self) -> list[nodes.Node]:
        return [nodes.raw("", chart(), format="html")]


def list_settings(app: Sphinx, config: Config) -> None:
    """Write the list of settings that the API page includes, from the registry, before autosummary looks for it."""
    path = Path(app.srcdir) / "api" / "registered.md"
    names = "\n".join(f"   {cls.__module__}.{cls.__name__}" for cls in zofw.methods().values())
    path.write_text(
        "```{eval-rst}\n.. autosummary::\n   :toctree: generated\n"
        f"   :template: autosummary/plain.rst\n\n{names}\n```\n"
    )


class SetTable(Markdown):
    """What every set states."""

    def lines(self) -> list[str]:
        head = ["set", "members", "LMO", "cost", "atom", "projection", "diameter", "inner ball"]
        rows = []
        for cls in zofw.sets().values():
            stated: SetFacts = vars(cls)["facts"]
            rows.append(
                [
                    f"{{py:class}}`~zofw.{cls.__name__}`",
                    f"${stated.members}$",
                    stated.oracle,
                    f"${stated.cost}$",
                    stated.atom,
                    stated.projection,
                    "—" if stated.diameter is None else words(stated.diameter),
                    "not known" if stated.inball is None else words(stated.inball),
                ]
            )
        return table(head, rows)


class LawTable(Markdown):
    """The laws of laws.md."""

    def lines(self) -> list[str]:
        laws = front_matter(Path(self.env.doc2path(self.env.docname)))["laws"]
        head = [
            "law",
            "columns",
            "$s$",
            r"$\kappa$",
            r"best step $1/(s\kappa)$",
            "contraction",
            "cost of $Uc$",
        ]
        rows = [
            [
                f"{{py:class}}`~zofw.{row['class']}`",
                row["columns"],
                *(f"${tex(row[name])}$" for name in ("scale", "second_moment", "step", "contraction")),
                f"${row['cost']}$",
            ]
            for row in laws.values()
        ]
        return table(head, rows)


def setup(app: Sphinx) -> dict[str, Any]:
    app.add_directive("method-facts", MethodFacts)
    app.add_directive("method-table", MethodTable)
    app.add_directive("price-table", PriceTable)
    app.add_directive("method-chart", MethodChart)
    app.connect("config-inited", list_settings)
    app.add_directive("set-table", SetTable)
    app.add_directive("law-table", LawTable)
    return {"version": "1", "parallel_read_safe": True}
