"""``{kernels}``: the table that linear models dispatch on, as the code has it."""

from __future__ import annotations

from typing import Any

from docutils import nodes
from docutils.statemachine import StringList
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from zofw.kernels.table import KERNELS, Row

HEAD = [
    "| law of directions | samples | stencil | kernel | what it does | measured by |",
    "|---|---|---|---|---|---|",
]


def lines() -> list[str]:
    """Rows of the table in Markdown, those with the same kernel, stencil and samples in one."""
    merged: dict[tuple[str, str, Row], list[str]] = {}
    for (law, storage, stencil), row in KERNELS.items():
        merged.setdefault((storage, stencil, row), []).append(law)
    return HEAD + [
        f"| {', '.join(laws)} | {storage} | {stencil} | {f'`{row.kernel}`' if row.kernel else 'NumPy'} | {row.does} | "
        f"{row.measured or ''} |"
        for (storage, stencil, row), laws in merged.items()
    ]


class Kernels(SphinxDirective):
    """The table."""

    def run(self) -> list[nodes.Node]:
        box = nodes.container()
        self.state.nested_parse(StringList(lines(), "kernels"), 0, box)
        return [box]


def setup(app: Sphinx) -> dict[str, Any]:
    app.add_directive("kernels", Kernels)
    return {"version": "1", "parallel_read_safe": True}
