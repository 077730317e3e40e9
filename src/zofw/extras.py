"""Dependencies that are optional, or slow to import: imported where they are used."""

from __future__ import annotations

import importlib
import re
from types import ModuleType
from typing import Any


def extra(module: str, name: str) -> ModuleType:
    """Import an optional module, or say how to install what its extra needs."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        missing = (error.name or module).partition(".")[0]
        raise ImportError(
            f"This needs {missing}, which is not installed. Install it with: {install_line(name)}"
        ) from error


def install_line(name: str) -> str:
    """Return the command that installs the libraries of an extra, in a clone of zofw or elsewhere.

    Examples
    --------
    >>> install_line("plot")
    "pip install 'matplotlib>=3.9'"
    """
    from importlib.metadata import PackageNotFoundError, requires

    try:
        lines = requires("zofw") or []
    except PackageNotFoundError:  # zofw is used from its source, without an installation
        lines = []
    mark = re.compile(rf"extra == ['\"]{re.escape(name)}['\"]")
    found = [f"'{line.partition(';')[0].strip()}'" for line in lines if mark.search(line)]
    return f"pip install {' '.join(found)}" if found else f"pip install '.[{name}]' (in a clone of zofw)"


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
