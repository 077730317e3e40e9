"""The command line: ``zofw`` or ``python -m zofw.lab``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

import zofw
from zofw.data import DataError
from zofw.lab.console import console, ends, errors, watching
from zofw.lab.experiment import conduct
from zofw.lab.report import write_report
from zofw.lab.spec import Experiment, SpecError, read
from zofw.lab.store import StoreError
from zofw.lab.summary import summarise
from zofw.registry import UnknownName
from zofw.run import FileError

__all__ = ["app", "main"]

app = typer.Typer(
    help="Zeroth-order Frank-Wolfe from the command line: solve, compare, reproduce.",
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

MISTAKES = (SpecError, StoreError, DataError, FileError, UnknownName, ImportError, FileNotFoundError)
HERE = Path(__file__).parent

Out = Annotated[Path | None, typer.Option("--out", "-o", help="Directory for runs and report.", show_default=False)]
Workers = Annotated[int, typer.Option("--workers", "-w", min=0, help="Processes, one core each; 0 for none but this.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Only the result.")]


def _version(asked: bool) -> None:
    if asked:
        console().print(f"zofw {zofw.__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True, help="The version.")] = False,
) -> None: ...


@app.command()
def demo(out: Out = Path("runs/demo"), workers: Workers = 2, quiet: Quiet = False) -> None:
    """Solve real data with every method under one budget; ends in a table, a figure and a report.

    [dim]Example:[/dim]  zofw demo --out runs/demo
    """
    _conduct(read(HERE / "demo.toml"), out or Path("runs/demo"), workers, quiet)


def _conduct(experiment: Experiment, out: Path, workers: int, quiet: bool) -> dict[str, Any]:
    """Run an experiment and end in tables, figures and a report; exit code 1 where a run went wrong."""
    screen = console()
    with watching(screen, quiet=quiet) as watcher:
        sentences = conduct(experiment, out, workers=workers, watcher=watcher)
    summary = summarise(experiment, out)
    made = write_report(summary, out)
    for case in summary["cases"]:
        screen.print(f"\n[bold]{case['title']}[/bold]  n = {case['n']:,}, d = {case['dim']:,}, budget {case['budget']:,}")
        if case["optimum"] is not None:
            screen.print(f"f* = {case['optimum']['value']:.10g} ({case['optimum']['label']})")
        screen.print(ends(summary, case))
    screen.print()
    for kind in ("figure", "figure-all", "report"):
        if kind in made:
            screen.print(f"{kind.replace('-all', ', all methods')}: {made[kind]}", soft_wrap=True)
    errors(console(stderr=True), sentences)
    if sentences:
        raise typer.Exit(1)
    return summary


def main() -> None:
    """Run the command line; mistakes are sentences on stderr with exit code 2, an interruption is 130."""
    try:
        app()
    except MISTAKES as error:
        errors(console(stderr=True), [str(error)])
        sys.exit(2)
    except KeyboardInterrupt:
        errors(console(stderr=True), ["Interrupted. What was done is kept; the same command goes on from there."])
        sys.exit(130)
