"""What made a number: versions, the commit, and a fingerprint of the code of the method that ran.

The fingerprint of a method is a hash of the syntax trees, without docstrings, of the modules it rests on: its own and those
it imports, as far as they are about the mathematics (algorithms, differences, schedules, laws of directions).
Comments, docstrings and layout do not change it.
"""

from __future__ import annotations

import ast
import hashlib
import os
import platform
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path

import zofw
from zofw.algorithms import methods
from zofw.algorithms.auto import choose
from zofw.kernels import threads

PACKAGES = ("zofw", "numpy", "scipy", "numba", "torch", "scikit-learn", "matplotlib", "plotly")
ROOMS = ("algorithms", "papers", "differences", "schedules", "directions")
INDEXES = ("zofw.algorithms", "zofw.papers", "zofw.directions")  # packages whose __init__ lists everything


@dataclass(frozen=True)
class Environment:
    """Versions and machine, without names of users, hosts or folders; the commit, and the code of the methods by name."""

    python: str
    system: str
    processors: int
    threads: int
    packages: Mapping[str, str]
    flags: int = 0
    commit: str = ""
    code: Mapping[str, str] = field(default_factory=dict)
    commits: Mapping[str, str] = field(default_factory=dict)  # of the runs of each method
    repeated: str = (
        ""  # the commit with which the first iterations were found to be the same, after the code had changed
    )


def environment(*names: str) -> Environment:
    """Return the present one, with the fingerprints of the named methods."""
    return Environment(
        platform.python_version(),
        f"{platform.system()} {platform.machine()}",
        os.cpu_count() or 1,
        threads.count(),
        {package: _version(package) for package in PACKAGES},
        sys.flags.optimize,
        _commit(),
        {name: code_of(name) for name in dict.fromkeys(names)},
    )


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"


@cache
def _commit() -> str:
    """Return the commit of a source checkout, with a plus where files of the package differ from it; "" elsewhere."""
    package = Path(zofw.__file__).parent

    def git(*arguments: str) -> str:
        found = subprocess.run(
            ["git", "-C", str(package), *arguments], capture_output=True, text=True, check=True
        )
        return found.stdout.strip()

    try:
        if Path(git("rev-parse", "--show-toplevel")) != package.parents[1]:
            return ""  # installed inside a checkout of something else
        return git("rev-parse", "--short=12", "HEAD") + "+" * bool(
            git("status", "--porcelain", "--", str(package))
        )
    except (OSError, subprocess.CalledProcessError):
        return ""


@cache
def code_of(name: str) -> str:
    """Return the fingerprint of a registered method's code, or of the default one's for "auto"."""
    module = choose.__module__ if name == "auto" else methods[name].__module__
    digest = hashlib.sha256()
    for found in sorted(_rests_on(module)):
        digest.update(normal_form(_source(found)).encode())
    return digest.hexdigest()[:16]


def normal_form(source: str) -> str:
    """Return the syntax tree of a module without docstrings."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and ast.get_docstring(
            node, clean=False
        ):
            node.body = node.body[1:]
    return ast.dump(tree)


def _source(module: str) -> str:
    spec = find_spec(module)
    assert spec is not None and spec.origin is not None
    return Path(spec.origin).read_text(encoding="utf-8")


@cache
def _rests_on(module: str) -> frozenset[str]:
    """Return a module and the modules of the mathematics that it imports, directly or not."""
    found, waiting = {module}, [module]
    while waiting:
        for node in ast.walk(ast.parse(_source(waiting.pop()))):
            if isinstance(node, ast.ImportFrom) and node.module:
                names = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
                new = {name for name in names if _of_the_mathematics(name)} - found
                found |= new
                waiting += new
    return frozenset(found)


def _of_the_mathematics(name: str) -> bool:
    parts = name.split(".")
    if parts[0] != "zofw" or len(parts) < 2 or parts[1] not in ROOMS or name in INDEXES:
        return False
    try:
        return find_spec(name) is not None
    except ModuleNotFoundError:  # a name inside a module
        return False
