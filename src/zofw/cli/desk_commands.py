"""Commands at a desk; only ``read`` takes the folder's lock."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.text import Text

import zofw
from zofw.cli.console import Json, guarded, plain_table, print_result

if TYPE_CHECKING:
    from zofw.desk import Request


FolderArgument = Annotated[Path, typer.Argument(help="The folder of a desk.", show_default=False)]

desk_app = typer.Typer(
    no_args_is_help=True,
    help="List, show, answer and read the requests of a desk folder.",
    rich_markup_mode="rich",
)


@desk_app.command("list")
@guarded
def list_requests(folder: FolderArgument, as_json: Json = False) -> None:
    """List the open requests.

    [dim]Example:[/dim]  zofw desk list lab
    """
    requests = _open(folder)
    table = plain_table(None, "request", "for", "evaluations", "first component", "first point")
    for request in requests:
        x, i = next(iter(request))
        shown = " ".join(f"{value:.6g}" for value in x[:6]) + (" …" if len(x) > 6 else "")
        table.add_row(request.id, request.purpose, str(len(request)), str(i), shown)
    reasons = {request.purpose: request.why for request in requests}
    words = [f"{purpose}: {why}" for purpose, why in reasons.items()]
    print_result(as_json, [request.document() for request in requests], table, *words)


@desk_app.command()
@guarded
def status(folder: FolderArgument, as_json: Json = False) -> None:
    """Show how far the run is.

    [dim]Example:[/dim]  zofw desk status lab --json
    """
    from zofw.desk.files import load

    found = load(_there(folder, "status.json"))
    names = ("method", "message", "iterations", "evaluations", "failed", "budget", "asked", "answered")
    lines = [f"{name:12} {found.get(name)}" for name in names]
    for room in ("requests", "answers", "refused"):
        files = [file for file in (folder / room).glob("*") if not file.name.endswith(".why.txt")]
        lines.append(f"{room + '/':12} {len(files)} files")
    print_result(as_json, found, *lines)


@desk_app.command()
@guarded
def answer(
    folder: FolderArgument,
    id: Annotated[str, typer.Argument(help="A request that `zofw desk list` shows.", show_default=False)],
    values: Annotated[
        list[str] | None,
        typer.Argument(help="A value for each evaluation, - for a missing one.", show_default=False),
    ] = None,
    failed: Annotated[
        str | None, typer.Option("--failed", help="The reason why there is no value.", show_default=False)
    ] = None,
    unpaid: Annotated[
        bool, typer.Option("--unpaid", help="Do not charge the failed evaluations to the budget.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Answer a request; the process that runs the desk reads the answer.

    Negative numbers go behind two dashes.

    [dim]Example:[/dim]  zofw desk answer lab 000003-5f1c-0000 0.731

    [dim]Example:[/dim]  zofw desk answer lab 000003-5f1c-0001 -- -1.2 -
    """
    for request in _open(folder):
        if request.id == id:
            numbers = [None if text == "-" else _number(text, id) for text in values or []]
            path = zofw.desk.write_answer(folder, request, numbers or None, failed=failed, paid=not unpaid)
            return print_result(as_json, {"answer": str(path)}, Text(str(path)))
    raise zofw.desk.AnswerError(
        f"There is no open request {id!r} in {folder}; `zofw desk list` shows those there are.", id
    )


@desk_app.command()
@guarded
def read(
    folder: FolderArgument,
    wait: Annotated[bool, typer.Option("--wait", help="Continue until the run has ended.")] = False,
    as_json: Json = False,
) -> None:
    """Read new answers and write the next requests; fails if another process runs the desk.

    [dim]Example:[/dim]  zofw desk read lab
    """
    _there(folder, "desk.json")
    with zofw.Desk.open(folder) as desk:
        look: dict[str, Any] = {}
        if wait:
            desk.run()
        else:
            seen = desk.read()
            look = {
                "taken": seen.taken,
                "waiting": [str(path) for path in seen.waiting],
                "refused": {str(path): reason for path, reason in seen.refused.items()},
            }
        found = desk.status()
    asked = found["asked"] - found["answered"]
    lines = [f"{look.get('taken', 0)} values taken; {asked} are asked for."]
    lines += [f"{path}: {reason}" for path, reason in look.get("refused", {}).items()]
    lines += [f"{path} is not filled in, or not written to its end." for path in look.get("waiting", [])]
    print_result(as_json, found | look, *lines)


def _there(folder: Path, name: str) -> Path:
    if not (folder / name).exists():
        raise zofw.FileError(f"There is no desk in {folder}: it has no {name}.")
    return folder / name


def _open(folder: Path) -> list[Request]:
    room = _there(folder, "requests")
    requests = []
    for path in sorted(room.glob("[0-9]*")):
        try:
            requests.append(zofw.desk.read_request(path))
        except FileNotFoundError:
            continue  # answered meanwhile
    return requests


def _number(text: str, id: str) -> float:
    try:
        return float(text)
    except ValueError as error:
        raise zofw.desk.AnswerError(
            f"A value should be a number, or - for one to come; it is {text!r}.", id
        ) from error
