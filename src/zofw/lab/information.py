"""Commands that look and tell: methods, sets, laws, problems, data sets and this installation."""

from __future__ import annotations

import importlib.util
import inspect
import os
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

import zofw
from zofw.core import Batch, FirstOrder, Query, Stencil
from zofw.data import cache_folder, datasets, fetch, locate, verify
from zofw.directions import laws as laws_of_directions
from zofw.kernels.table import KERNELS
from zofw.lab.cases import attack, attacks
from zofw.lab.console import console, told, told_rows
from zofw.lab.guard import guarded
from zofw.lab.options import Json
from zofw.lab.plain_text import plain
from zofw.lab.provenance import environment
from zofw.problems import problems as registered_problems
from zofw.problems.linear import kernel_for
from zofw.registry import Registry

__all__ = ["LOOKING", "shelf"]

Name = Annotated[str, typer.Argument(help="A name that `zofw datasets list` shows.", show_default=False)]
shelf = typer.Typer(no_args_is_help=True, help="Data sets: list, fetch, verify.", rich_markup_mode="rich")

EXTRAS = ("typer", "rich", "matplotlib", "pandas", "plotly", "jinja2", "sklearn", "torch", "highspy", "dask")


def first_sentence(thing: object) -> str:
    """The first sentence of a docstring."""
    text = plain(" ".join((inspect.getdoc(thing) or "").split("\n\n")[0].split()))
    return re.split(r"(?<=\.)\s", text)[0].rstrip(".:")


def _listed(describe: Callable[[Any], dict[str, str]], as_json: bool, *registries: Mapping[str, Any]) -> None:
    """Our own, then those of other packages."""
    named = {name: made for registry in registries for name, made in registry.items()}
    for registry in registries:
        named |= {
            name: registry[name] for name in (registry.others if isinstance(registry, Registry) else ())
        }
    told_rows(as_json, [{"name": name, **describe(made)} for name, made in named.items()])


def _method(cls: type[object]) -> dict[str, str]:
    doc = plain(" ".join((inspect.getdoc(cls) or "").split()))
    queries = re.search(r"(?:Queries[^:]*: |No queries)(.*?)(?:\. |; one|$)", doc)
    return {
        "about": first_sentence(inspect.getmodule(cls)),
        "queries": "none: first order" if isinstance(cls, FirstOrder) else (queries[1] if queries else ""),
    }


def methods(as_json: Json = False) -> None:
    """The registered methods, and what an iteration costs.

    [dim]Example:[/dim]  zofw methods --json
    """
    _listed(_method, as_json, zofw.methods())


def sets(as_json: Json = False) -> None:
    """The registered sets and how they are made.

    [dim]Example:[/dim]  zofw sets
    """
    _listed(_made_by, as_json, zofw.sets())


def laws(as_json: Json = False) -> None:
    """The registered laws of directions and their arguments.

    [dim]Example:[/dim]  zofw laws
    """
    _listed(_made_by, as_json, laws_of_directions)


def problems(as_json: Json = False) -> None:
    """The problems that a specification can name, and their arguments.

    [dim]Example:[/dim]  zofw problems
    """
    _listed(_made_by, as_json, registered_problems, dict.fromkeys(attacks, attack))


def _made_by(made: Any) -> dict[str, str]:
    names = [name for name in inspect.signature(made).parameters if name != "kind"]
    return {"made by": f"{made.__name__}({', '.join(names)})", "about": first_sentence(made)}


@shelf.command("list")
@guarded
def list_(as_json: Json = False) -> None:
    """The data sets that are known, and which of them are here.

    [dim]Example:[/dim]  zofw datasets list
    """
    rows = []
    for name, dataset in datasets().items():
        places = locate(name)
        found = "here" if all(places.values()) else "in part" if any(places.values()) else "missing"
        here = found if places else "embedded"
        part = next(iter(dataset.parts.values()))
        rows.append({"name": name, "n": part.n, "d": part.d, "found": here, "about": dataset.about})
    told_rows(as_json, rows)


@shelf.command("fetch")
@guarded
def fetch_(name: Name) -> None:
    """Download what is missing of a data set, and verify all of it.

    [dim]Example:[/dim]  zofw datasets fetch a9a
    """
    for file, path in fetch(name).items():
        console().print(f"{file}: {path}", soft_wrap=True)


@shelf.command("verify")
@guarded
def verify_(
    names: Annotated[
        list[str] | None, typer.Argument(help="Data sets; all that are here by default.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Hold the files that are here against their checksums; exit code 1 where one is damaged.

    [dim]Example:[/dim]  zofw datasets verify a9a w8a
    """
    checks = [(name, check) for name in names or datasets() for check in verify(name)]
    told_rows(
        as_json,
        [{"name": name, "file": c.file, "status": c.status, "detail": c.detail} for name, c in checks],
    )
    if any(check.status == "damaged" for _, check in checks):
        raise typer.Exit(1)


def doctor(
    as_json: Json = False,
    kernels_: Annotated[bool, typer.Option("--kernels", help="Which kernel answers which query.")] = False,
    law: Annotated[str, typer.Option(help="With --kernels: one query alone, with this law.")] = "",
    storage: Annotated[str, typer.Option(help="How its samples are stored: sparse or dense.")] = "sparse",
    stencil: Annotated[str, typer.Option(help="central, forward or quadratic.")] = "central",
    dim: Annotated[int, typer.Option("--dim", "-d", min=1, help="Its dimension.")] = 1000,
    directions: Annotated[int, typer.Option("--directions", "-b", min=1, help="Its directions.")] = 100,
    variance: Annotated[bool, typer.Option("--variance", help="Whether it asks for variances.")] = False,
    paired: Annotated[
        bool, typer.Option("--paired", help="Whether directions meet one component each.")
    ] = False,
) -> None:
    """Versions, threads, the cache of compiled kernels, and which data is found; or which kernel runs.

    [dim]Example:[/dim]  zofw doctor --kernels --law rademacher --dim 47236 --directions 400
    """
    if not kernels_:
        facts = _installation()
        return told(as_json, facts, *(f"{name:22} {fact}" for name, fact in facts.items()))
    rows = [{"law": k[0], "storage": k[1], "stencil": k[2], **row._asdict()} for k, row in KERNELS.items()]
    if law:
        U = zofw.laws()[law]().draw(np.random.default_rng(0), dim, directions)
        S = Batch(directions)
        query = Query(np.zeros(dim), S, U, 1.0, Stencil(stencil), variance=variance, paired=paired)
        asked = stencil + ", variance" * variance + ", paired" * paired
        runs = kernel_for(query, storage == "sparse")._asdict()
        rows = [{"law": law, "storage": storage, "stencil": asked, **runs, "code": _code()}]
    return told_rows(as_json, rows)


def _installation() -> dict[str, object]:
    found = environment()
    kernels = Path(zofw.__file__).parent / "kernels" / "__pycache__"
    compiled = list(kernels.glob("*.nbi")) if kernels.is_dir() else []
    writable = os.access(kernels if kernels.is_dir() else kernels.parent, os.W_OK)
    here = {name: all(locate(name).values()) for name in datasets()}
    return {
        "python": found.python,
        "system": f"{found.system}, {found.processors} processors",
        **{f"package {name}": version for name, version in found.packages.items()},
        "extras missing": ", ".join(name for name in EXTRAS if not _importable(name)) or "none",
        "threads": found.threads,
        "compiled kernels": f"{len(compiled)} kept on disk"
        + ("" if writable else "; the folder cannot be written, so each process compiles them again"),
        "ZOFW_DATA": os.environ.get("ZOFW_DATA") or "not set",
        "cache": str(cache_folder()),
        "data found": ", ".join(name for name, found in here.items() if found) or "none",
        "data missing": ", ".join(name for name, found in here.items() if not found) or "none",
    }


def _code() -> str:
    """Who would do it here."""
    if not _importable("numba") or zofw.kernels.choice() == "numpy":
        return "plain"
    waits = f"plain for the first {zofw.kernels.PATIENCE} entries of a process, then "
    return waits * (zofw.kernels.choice() == "auto") + "compiled"


def _importable(name: str) -> bool:
    return importlib.util.find_spec(name) is not None


LOOKING: dict[str, Callable[..., None]] = {
    command.__name__: command for command in (methods, sets, laws, problems, doctor)
}
