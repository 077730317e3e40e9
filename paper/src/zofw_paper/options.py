"""Options that commands on specifications share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Out = Annotated[
    Path | None, typer.Option("--out", "-o", help="The folder for runs and report.", show_default=False)
]
WorkersOption = Annotated[
    int,
    typer.Option("--workers", "-w", min=0, help="The number of worker processes; 0 runs in this process."),
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print only the final result.")]
Profile = Annotated[
    str | None, typer.Option("--profile", "-p", help="A profile of the specification.", show_default=False)
]
Spec = Annotated[Path, typer.Argument(help="A specification in TOML.", show_default=False)]
CodeFile = Annotated[
    Path | None,
    typer.Option(
        "--code", exists=True, dir_okay=False, show_default=False,
        help="A Python file with problems and sets for the specification; it is executed.",
    ),
]  # fmt: skip
Methods = Annotated[
    list[str] | None,
    typer.Option("--method", help="The label of a method to run; may be repeated.", show_default=False),
]
Only = Annotated[
    list[str] | None,
    typer.Option("--only", help="A case to run; may be repeated.", show_default=False),
]
