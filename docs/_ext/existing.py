"""A table of contents of those of its pages that exist: parts of the site may be built without the others."""

from __future__ import annotations

from typing import Any

from docutils import nodes
from docutils.statemachine import StringList
from sphinx.application import Sphinx
from sphinx.directives.other import TocTree
from sphinx.util.matching import patfilter


class ExistingTree(TocTree):
    """``toctree`` with patterns, in which an entry without a page is left out."""

    def run(self) -> list[nodes.Node]:
        self.options["glob"] = None
        found = self.env.found_docs
        kept = [entry for entry in self.content if patfilter(found, entry)]
        self.content = StringList(kept, self.env.docname)
        return super().run()


def setup(app: Sphinx) -> dict[str, Any]:
    app.add_directive("existing-toctree", ExistingTree)
    return {"version": "1", "parallel_read_safe": True}
