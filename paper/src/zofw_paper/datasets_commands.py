"""``zofw datasets``: list, fetch and verify the data sets of the paper."""

from __future__ import annotations

from typing import Annotated

import typer

from zofw.cli.console import Json, console, print_rows
from zofw_paper.guard import guarded

Name = Annotated[str, typer.Argument(help="A name that `zofw datasets list` shows.", show_default=False)]
datasets_app = typer.Typer(
    no_args_is_help=True, help="List, fetch and verify data sets.", rich_markup_mode="rich"
)


@datasets_app.command("list")
@guarded
def list_(as_json: Json = False) -> None:
    """List the known data sets and which are on this machine.

    [dim]Example:[/dim]  zofw datasets list
    """
    from zofw_paper.data import datasets, locate

    rows = []
    for name, dataset in datasets().items():
        places = locate(name)
        found = "here" if all(places.values()) else "in part" if any(places.values()) else "missing"
        here = found if places else "embedded"
        part = next(iter(dataset.parts.values()))
        rows.append({"name": name, "n": part.n, "d": part.d, "found": here, "about": dataset.about})
    print_rows(as_json, rows)


@datasets_app.command("fetch")
@guarded
def fetch_(name: Name) -> None:
    """Download the missing files of a data set and verify them.

    [dim]Example:[/dim]  zofw datasets fetch a9a
    """
    from zofw_paper.data import fetch

    for file, path in fetch(name).items():
        console().print(f"{file}: {path}", soft_wrap=True)


@datasets_app.command("verify")
@guarded
def verify_(
    names: Annotated[
        list[str] | None, typer.Argument(help="The data sets; by default all on this machine.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Compare files with their checksums; exit code 1 if one is damaged.

    [dim]Example:[/dim]  zofw datasets verify a9a w8a
    """
    from zofw_paper.data import datasets, verify

    checks = [(name, check) for name in names or datasets() for check in verify(name)]
    print_rows(
        as_json,
        [{"name": name, "file": c.file, "status": c.status, "detail": c.detail} for name, c in checks],
    )
    if any(check.status == "damaged" for _, check in checks):
        raise typer.Exit(1)
