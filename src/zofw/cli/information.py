"""Commands that list: methods, sets, laws, problems and this installation."""

from __future__ import annotations

import importlib.util
import inspect
import os
import platform
import re
from collections.abc import Callable, Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import zofw
from zofw.cli.console import Json, errors, print_result, print_rows
from zofw.cli.plain_text import plain
from zofw.registry import Registry

if TYPE_CHECKING:
    from zofw.algorithms.registry import Described


PACKAGES = ("zofw", "numpy", "scipy", "numba", "torch", "scikit-learn", "matplotlib", "plotly")

EXTRAS = ("typer", "rich", "matplotlib", "pandas", "plotly", "jinja2", "sklearn", "torch", "dask")


def first_sentence(thing: object) -> str:
    """The first sentence of a docstring."""
    doc = inspect.getdoc(thing) or ""
    doc = re.sub(
        r"\n\n\.\. math:: (.*?)\n\n",
        lambda math: f" :math:`{' '.join(math[1].split())}` ",
        doc,
        flags=re.DOTALL,
    )
    text = plain(" ".join(doc.split("\n\n")[0].split()))
    return re.split(r"(?<=\.)\s", text)[0].rstrip(".:")


def _listed(describe: Callable[[Any], dict[str, str]], as_json: bool, *registries: Mapping[str, Any]) -> None:
    """List our own, then those of other packages; name on stderr what cannot be imported."""
    rows = []
    for registry in registries:
        for name in [*registry, *(registry.others if isinstance(registry, Registry) else ())]:
            try:
                rows.append({"name": name, **describe(registry[name])})
            except Exception as error:
                errors([f"{name!r} of another package is missing: {type(error).__name__}: {error}"])
    print_rows(as_json, rows)


def _method(cls: type[Described]) -> dict[str, str]:
    queries = (
        "none: first order" if isinstance(cls, zofw.core.FirstOrder) else cls.facts.queries.replace("*", "")
    )
    return {"about": first_sentence(cls), "queries": queries}


def methods(as_json: Json = False) -> None:
    """List the methods and what an iteration of each costs.

    [dim]Example:[/dim]  zofw methods --json
    """
    _listed(_method, as_json, zofw.methods())


def sets(as_json: Json = False) -> None:
    """List the sets and how to make them.

    [dim]Example:[/dim]  zofw sets
    """
    _listed(_made_by, as_json, zofw.sets())


def laws(as_json: Json = False) -> None:
    """List the laws of random directions and their arguments.

    [dim]Example:[/dim]  zofw laws
    """
    _listed(_made_by, as_json, zofw.laws())


def problems(as_json: Json = False) -> None:
    """List the problems and their arguments.

    [dim]Example:[/dim]  zofw problems
    """
    _listed(_made_by, as_json, zofw.problems.problems)


def _made_by(made: Any) -> dict[str, str]:
    names = [name for name in inspect.signature(made).parameters if name != "kind"]
    return {"made by": f"{made.__name__}({', '.join(names)})", "about": first_sentence(made)}


def doctor(
    as_json: Json = False,
    kernels: Annotated[bool, typer.Option("--kernels", help="Show the table of kernels.")] = False,
) -> None:
    """Show versions, threads and compiled kernels, or which kernel answers which query.

    [dim]Example:[/dim]  zofw doctor --kernels
    """
    if kernels:
        from zofw.kernels.table import KERNELS

        rows = [
            {"law": k[0], "storage": k[1], "stencil": k[2], **row._asdict()} for k, row in KERNELS.items()
        ]
        return print_rows(as_json, rows)
    facts = _installation()
    return print_result(as_json, facts, *(f"{name:22} {fact}" for name, fact in facts.items()))


def _installation() -> dict[str, object]:
    from zofw.kernels import threads

    kernels = Path(zofw.__file__).parent / "kernels" / "__pycache__"
    compiled = list(kernels.glob("*.nbi")) if kernels.is_dir() else []
    writable = os.access(kernels if kernels.is_dir() else kernels.parent, os.W_OK)
    return {
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}, {os.cpu_count()} processors",
        **{f"package {name}": _version(name) for name in PACKAGES},
        "extras missing": ", ".join(name for name in EXTRAS if not _importable(name)) or "none",
        "threads": threads.count(),
        "compiled kernels": f"{len(compiled)} kept on disk"
        + ("" if writable else "; the folder cannot be written, so each process compiles them again"),
    }


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"


def _importable(name: str) -> bool:
    return importlib.util.find_spec(name) is not None


INFORMATION: dict[str, Callable[..., None]] = {
    command.__name__: command for command in (methods, sets, laws, problems, doctor)
}
