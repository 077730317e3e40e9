"""Dependencies that are optional, or slow to import: imported where they are used."""

from __future__ import annotations

import importlib
from types import ModuleType
from typing import Any


def extra(module: str, name: str) -> ModuleType:
    """Import an optional module, or say which extra brings it."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise ImportError(
            f"This needs {(error.name or module).partition('.')[0]}, which is not installed. Install it with: pip install 'zofw[{name}]'"
        ) from error


class lazy(ModuleType):
    """A module that is imported when one of its names is first used.

    Examples
    --------
    >>> sp = lazy("scipy.sparse")
    >>> sp.issparse([1.0])
    False
    """

    def __getattr__(self, name: str) -> Any:
        module = importlib.import_module(self.__name__)
        self.__dict__.update(vars(module))  # from now on its names are found without this
        return getattr(module, name)
