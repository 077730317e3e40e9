"""Where the pages are, and the extension that reads their front matter."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"


def facts_of_the_pages() -> ModuleType:
    """Return docs/_ext/facts.py, or skip the tests of a file that needs it where Sphinx is not installed."""
    pytest.importorskip("sphinx", reason="the extra docs is not installed")
    path = DOCS / "_ext" / "facts.py"
    spec = importlib.util.spec_from_file_location("zofw_docs_facts", path)
    assert spec is not None and spec.loader is not None
    facts = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = facts
    spec.loader.exec_module(facts)
    return facts
