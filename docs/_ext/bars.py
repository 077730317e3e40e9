"""Bars in docstrings are absolute values, never substitutions of reStructuredText."""

from __future__ import annotations

import re
from typing import Any

from sphinx.application import Sphinx

QUOTED_OR_BAR = re.compile(r"`[^`]*`|\|")


def escape_bars(app: Sphinx, what: str, name: str, thing: Any, options: Any, lines: list[str]) -> None:
    """Put a backslash before each bar outside quotes, doctests and the blocks of directives."""
    block: int | None = None  # indentation of the directive whose block is being read
    for at, line in enumerate(lines):
        indent = len(line) - len(line.lstrip())
        if block is not None and line.strip() and indent <= block:
            block = None
        if line.lstrip().startswith(".. math::"):
            block = indent
        if block is None and not line.lstrip().startswith((">>>", "...")):
            lines[at] = QUOTED_OR_BAR.sub(lambda found: found[0] if found[0] != "|" else r"\|", line)


def setup(app: Sphinx) -> dict[str, Any]:
    app.setup_extension("sphinx.ext.autodoc")
    app.connect("autodoc-process-docstring", escape_bars)
    return {"version": "1", "parallel_read_safe": True}
