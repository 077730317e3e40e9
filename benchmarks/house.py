"""``python -m benchmarks.house``: how much there is to read in ``src``, as the rows of a table in docs/house.md.

Complexity is McCabe's number as radon counts it: 1, and 1 for every branch, loop, handler, ternary, comprehension, its
conditions, assertion and further operand of ``and`` or ``or``; functions within a function are added to it.
"""

from __future__ import annotations

import ast
import inspect
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np

import zofw

ROOT = Path(__file__).parents[1]
STRICTEST = ("whoever", "nobody", "somebody", "someone", "anew", "afresh", "handed", "told")
"""Words that section "Words" of docs/house.md replaces; code spans and names of the code are not counted."""

COMPLEX = 12
BRANCHES = (
    ast.If,
    ast.For,
    ast.While,
    ast.ExceptHandler,
    ast.IfExp,
    ast.comprehension,
    ast.Assert,
    ast.match_case,
)

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


def sources(*folders: str) -> list[Path]:
    """Return the Python files below some folders of the repository."""
    return [path for folder in folders for path in sorted((ROOT / folder).rglob("*.py"))]


def complexity(function: ast.AST) -> int:
    """Return the number of independent paths through a function."""
    paths = 1
    for node in ast.walk(function):
        paths += isinstance(node, BRANCHES)
        if isinstance(node, ast.BoolOp):
            paths += len(node.values) - 1
        if isinstance(node, ast.comprehension):
            paths += len(node.ifs)
    return paths


def outermost(tree: ast.AST) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    """Yield the functions and methods that are not within another function."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, FUNCTIONS):
            yield node
        else:
            yield from outermost(node)


def complex_functions(paths: list[Path]) -> list[tuple[int, str]]:
    """Return complexity and place of every function above the limit, the most complex first."""
    found = [
        (complexity(function), f"{path.relative_to(ROOT)}:{function.lineno} {function.name}")
        for path in paths
        for function in outermost(ast.parse(path.read_text()))
    ]
    return sorted((pair for pair in found if pair[0] > COMPLEX), reverse=True)


def prose(path: Path) -> str:
    """Return the words of a page without code, or the comments, docstrings and messages of a source file."""
    text = path.read_text()
    if path.suffix == ".py":
        strings = [
            node.value
            for node in ast.walk(ast.parse(text))
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value
        ]
        comments = re.findall(r"(?<=# ).*", text)
        text = "\n".join([*strings, *comments])
    return re.sub(r"```.*?```|`[^`]*`", " ", text, flags=re.DOTALL)


def pages() -> list[Path]:
    """Return the pages that people read, without the generated ones."""
    written = [path for path in sorted((ROOT / "docs").rglob("*.md")) if "generated" not in str(path)]
    return [*written, *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md"))]


def mannered(paths: list[Path]) -> Counter[str]:
    """Return how often each of the strictest words occurs in the prose of some files."""
    pattern = re.compile(rf"\b({'|'.join(STRICTEST)})\b", re.IGNORECASE)
    return Counter(word.lower() for path in paths for word in pattern.findall(prose(path)))


def share_of_step(folder: Path) -> tuple[int, float]:
    """Return the number of method files in a folder and the share of their lines that is ``step``."""
    lines = steps = files = 0
    for path in sorted(folder.glob("*.py")):
        text = path.read_text()
        own = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.FunctionDef)]
        own = [node for node in own if node.name == "step"]
        if own or "@methods.register" in text:
            files += 1
            lines += len(text.splitlines())
            steps += sum((node.end_lineno or 0) - node.lineno + 1 for node in own)
    return files, steps / lines


def rows() -> list[tuple[str, str, str]]:
    """Return the rows of the table: measure, figure, wanted figure."""
    library, paper = sources("src"), sources("paper/src")
    lines = [line for path in library for line in path.read_text().splitlines()]
    classes = sum(
        isinstance(node, ast.ClassDef) for path in library for node in ast.walk(ast.parse(path.read_text()))
    )
    theirs = sum(len(path.read_text().splitlines()) for path in paper)
    files, share = share_of_step(ROOT / "src" / "zofw" / "papers")
    words = mannered([*library, *pages()])
    return [
        ("lines of src", f"{len(lines):,}", "≤ 27,000"),
        ("lines of paper/src", f"{theirs:,}", "≤ 5,500"),
        ("classes per 1,000 lines", f"{1000 * classes / len(lines):.1f}", "≤ 8"),
        ("line length, 95 %", f"{np.percentile([len(line) for line in lines], 95):.0f}", "≤ 96"),
        (f"functions with complexity over {COMPLEX}", f"{len(complex_functions(library))}", "≤ 30"),
        ("names at the top level", f"{len(zofw.__all__)}", "≤ 45"),
        ("parameters of `minimize`", f"{len(inspect.signature(zofw.minimize).parameters)}", "≤ 20"),
        ("mannered words in src and docs", f"{words.total()}", "≤ 10"),
        (f"share of the {files} method files that is `step`", f"{share:.0%}", "≥ 20 %"),
    ]


def main() -> None:
    """Print the table, the complex functions and the words."""
    for row in [("measure", "now", "wanted"), ("---", "--:", "---"), *rows()]:
        print("| " + " | ".join(row) + " |")
    print()
    for number, place in complex_functions(sources("src")):
        print(f"{number:>4} {place}")
    print(
        "\n" + ", ".join(f"{word} {count}" for word, count in mannered(sources("src")).most_common()),
        "in src",
    )
    print(", ".join(f"{word} {count}" for word, count in mannered(pages()).most_common()), "in pages")


if __name__ == "__main__":
    main()
