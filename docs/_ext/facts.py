"""What the pages state in their front matter: read, evaluated, and shown as boxes and tables.

A formula is a Python expression in n, d, t, ``refresh`` and the letters that the page ties to settings. The suite evaluates
it against a session; the pages show it. So the number that is read is the number that is charged.
"""

from __future__ import annotations

import ast
import math
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml
from docutils import nodes
from docutils.statemachine import StringList
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

FUNCTIONS = {
    "__builtins__": {},
    "ceil": math.ceil,
    "sqrt": math.sqrt,
    "min": min,
    "max": max,
    "inf": math.inf,
}
LETTERS = {
    "S": r"|\mathcal{S}|",
    "R": "R",
    "L": "L",
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


def evaluate(formula: str | float, names: dict[str, Any]) -> Any:
    """The value of a formula."""
    return eval(compile(str(formula), "<front matter>", "eval"), dict(FUNCTIONS), names)


@dataclass(frozen=True)
class Facts:
    """One method's page: the registered name, formulas, and what its authors proved."""

    method: str
    settings: str
    queries: str
    lmo: str | int | list[Any]
    vectors: int | str
    convex: str
    nonconvex: str
    use: str
    symbols: dict[str, str] = field(default_factory=dict)

    @classmethod
    def read(cls, path: Path) -> Facts:
        return cls(**front_matter(path)["facts"])

    def letters(self, settings: Any) -> dict[str, Any]:
        """The page's letters, read off resolved settings."""
        return {letter: getattr(settings, name) for letter, name in self.symbols.items()}


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


def span(lmo: str | int | list[Any]) -> str:
    """Exactly so many, or from so many to so many."""
    if isinstance(lmo, list):
        return f"{words(lmo[0])} to {words(lmo[1])}"
    return words(lmo)


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

    def pages(self) -> list[Facts]:
        """All methods, in the order of their names; the page that asks is rebuilt when one of them changes."""
        folder = Path(self.env.srcdir) / "methods"
        paths = [path for path in sorted(folder.glob("*.md"), key=lambda p: p.stem) if path.stem != "index"]
        for path in paths:
            self.env.note_dependency(str(path))
        return [Facts.read(path) for path in paths]


def table(head: list[str], rows: list[list[str]]) -> list[str]:
    """A pipe table that may be scrolled sideways; a bar within a cell is escaped."""
    body = [head, ["---"] * len(head), *rows]
    lines = ["| " + " | ".join(cell.replace("|", r"\|") for cell in row) + " |" for row in body]
    return ["::::{div} wide", "", *lines, "", "::::"]


class MethodFacts(Markdown):
    """The box at the top of a method's page."""

    def lines(self) -> list[str]:
        facts = Facts.read(Path(self.env.doc2path(self.env.docname)))
        letters = ", ".join(
            f"${LETTERS.get(letter, letter)}$ = `{name}`" for letter, name in facts.symbols.items()
        )
        calls = "one projection, no LMO call" if facts.lmo == 0 and facts.method != "frank-wolfe" else None
        return [
            "::::{card}",
            ":class-card: facts",
            "",
            f"Queries per iteration\n: {words(facts.queries)}",
            "",
            f"LMO calls per iteration\n: {calls or span(facts.lmo)}",
            "",
            f"Memory\n: ${tex(facts.vectors)}$ vectors of $d$ numbers; directions are never stored",
            "",
            *([f"Letters\n: {letters}; $n$ components, $d$ dimensions", ""] if letters else []),
            f"Settings\n: {{py:class}}`zofw.{facts.settings}`",
            "",
            "::::",
        ]


class MethodTable(Markdown):
    """What every method is for (``use``), or its guarantees, queries per iteration and memory (``cost``)."""

    required_arguments = 1

    def lines(self) -> list[str]:
        if self.arguments[0] == "use":
            uses = [[f"[`{page.method}`](/methods/{page.method}.md)", page.use] for page in self.pages()]
            return table(["method", "when"], uses)
        head = ["method", "queries per iteration", "LMO calls", "memory", "convex", "not convex"]
        rows = [
            [
                f"[`{page.method}`](/methods/{page.method}.md)",
                words(page.queries),
                "projects" if page.lmo == 0 and page.method != "frank-wolfe" else span(page.lmo),
                f"${tex(f'({page.vectors})*d')}$",
                page.convex,
                page.nonconvex,
            ]
            for page in self.pages()
        ]
        return table(head, rows)


class PriceTable(Markdown):
    """The formulas in figures, at default settings, for data sets whose sizes are the arguments."""

    required_arguments = 1
    final_argument_whitespace = True

    def lines(self) -> list[str]:
        from zofw import L1Ball
        from zofw.algorithms import as_algorithm
        from zofw.core import Task

        sizes = [
            (name, int(n), int(d)) for name, n, d in (part.split(":") for part in self.arguments[0].split())
        ]
        head = ["method", *(f"{name}: n = {n:,}, d = {d:,}" for name, n, d in sizes)]
        rows = []
        for page in self.pages():
            if page.method == "frank-wolfe":
                continue
            cells = ["adaptive"] * len(sizes) if "adaptive" in page.queries else []
            for _, n, d in sizes if not cells else ():
                settings, _ = as_algorithm(page.method, Task(L1Ball(1.0), d, n))
                names = {**page.letters(settings), "n": n, "d": d}
                first = evaluate(page.queries, names | {"t": 0, "refresh": True})
                later = evaluate(page.queries, names | {"t": 1, "refresh": False})
                cells.append(f"{first:,}" if first == later else f"{first:,}, then {later:,}")
            rows.append([f"[`{page.method}`](/methods/{page.method}.md)", *cells])
        return table(head, rows)


class SetTable(Markdown):
    """The sets of sets.md."""

    def lines(self) -> list[str]:
        sets = front_matter(Path(self.env.doc2path(self.env.docname)))["sets"]
        head = ["set", "members", "LMO", "cost", "atom", "projection", "diameter", "inner ball"]
        rows = [
            [
                f"{{py:class}}`~zofw.{row['class']}`",
                f"${row['members']}$",
                row["oracle"],
                f"${row['cost']}$",
                row["atom"],
                row["projection"],
                words(row["diameter"]) if isinstance(row["diameter"], (str, int)) else "—",
                words(row["inball"]) if row["inball"] is not None else "not known",
            ]
            for row in sets.values()
        ]
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
    app.add_directive("set-table", SetTable)
    app.add_directive("law-table", LawTable)
    return {"version": "1", "parallel_read_safe": True}
