"""The Python on the pages runs as it stands."""

from __future__ import annotations

import re

import pytest
from pages import DOCS

OTHERS = {"house.md", "clusters.md", "parallel.md"}
PAGES = [
    path
    for path in sorted(DOCS.rglob("*.md"))
    if not {"_build", "reproduction", "gallery"} & set(path.relative_to(DOCS).parts)
    and path.name not in OTHERS
    and "```python\n" in path.read_text()
]


@pytest.mark.parametrize("path", PAGES, ids=lambda path: str(path.relative_to(DOCS)))
def test_examples_run(path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    scope: dict = {}
    for block in re.findall(r"```(?:python|\{shown\})\n(.*?)```", path.read_text(), flags=re.DOTALL):
        exec(compile(block, str(path), "exec"), scope)
    if "methods" in path.parts:
        assert scope["result"].method == path.stem
        assert scope["result"].fun < scope.get("start", scope["result"].trace.objective[0])
