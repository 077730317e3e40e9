"""A pytest plugin that lets one mutant take the place of its file, in memory, before zofw is imported."""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import os
import sys
from pathlib import Path

from mutants import MUTANTS

SOURCE = Path(__file__).parents[2] / "src" / "zofw"


class Changed(importlib.machinery.SourceFileLoader):
    """Reads one file with the mutant's text in it, and keeps no byte code of it."""

    old: str
    new: str

    def get_code(self, fullname: str):
        text = Path(self.path).read_text(encoding="utf-8")
        assert text.count(self.old) == 1
        return compile(text.replace(self.old, self.new), self.path, "exec")


class Finder(importlib.abc.MetaPathFinder):
    """Finds the changed file for its module and nothing else."""

    def __init__(self, number: int) -> None:
        self.file, self.old, self.new = MUTANTS[number]

    def find_spec(self, fullname: str, path, target=None):
        if fullname != "zofw." + self.file.removesuffix(".py").replace("/", "."):
            return None
        loader = Changed(fullname, str(SOURCE / self.file))
        loader.old, loader.new = self.old, self.new
        return importlib.machinery.ModuleSpec(fullname, loader, origin=loader.path)


if "ZOFW_MUTANT" in os.environ:
    assert "zofw" not in sys.modules, "the mutant comes too late"
    sys.meta_path.insert(0, Finder(int(os.environ["ZOFW_MUTANT"])))
