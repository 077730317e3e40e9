"""Where the pages are, and the extension that reads their front matter."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"

_spec = importlib.util.spec_from_file_location("zofw_docs_facts", DOCS / "_ext" / "facts.py")
assert _spec is not None and _spec.loader is not None
facts = importlib.util.module_from_spec(_spec)
sys.modules[_spec.name] = facts
_spec.loader.exec_module(facts)
