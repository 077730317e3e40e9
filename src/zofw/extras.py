"""Optional dependencies, imported where they are used."""

from __future__ import annotations

import importlib
from typing import Any


def extra(module: str, name: str) -> Any:
    """Import an optional module, or say which extra brings it."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise ImportError(
            f"This needs {module.partition('.')[0]}, which is not installed. Install it with: pip install 'zofw[{name}]'"
        ) from error
