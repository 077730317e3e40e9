"""The command line: ``zofw`` or ``python -m zofw``.

Other installed packages add commands: the entry points of the group ``zofw.commands`` are
functions that receive the application.

Exit codes: 0 done; 1 a run failed, a law is broken or a file damaged; 2 the command or a file
of its input is wrong; 130 interrupted.
"""

from __future__ import annotations

import dataclasses
import sys
from importlib.metadata import entry_points
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.text import Text

import zofw
from zofw.cli.console import CommandError, Json, console, errors, guarded, plain_table, print_result
from zofw.cli.desk_commands import desk_app
from zofw.cli.extend import WRITING_YOUR_OWN
from zofw.cli.information import INFORMATION
from zofw.cli.watch import watch
from zofw.extras import extra

OF_SPECIFICATIONS = {
    *["init", "run", "resume", "tune", "compare", "report", "reproduce", "published", "datasets"]
}
DEMO = (
    "Sparse logistic regression on the breast-cancer data: 569 terms, 30 variables, an l1 ball of radius 2. ridge-newton is "
    "for terms of the form φ(⟨z, x⟩) and learns every z from differences; auto chooses it only if the problem says which few "
    "coordinates each term depends on, and these terms depend on all."
)

app = typer.Typer(
    help="Minimise functions without gradients over convex sets: list, test, watch, run.",
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(asked: bool) -> None:
    if asked:
        console().print(f"zofw {zofw.__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None: ...


@app.command()
@guarded
def demo(
    out: Annotated[Path, typer.Option("--out", "-o", help="The folder for figure and report.")] = Path(
        "runs/demo"
    ),
    budget: Annotated[
        int, typer.Option("--budget", min=1, help="The number of queries of each method.")
    ] = 170_700,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print only the table.")] = False,
    as_json: Json = False,
) -> None:
    """Run every method on example data; write a table, a figure and a report.

    [dim]Example:[/dim]  zofw demo --out runs/demo
    """
    problem, ball = zofw.problems.Logistic(*zofw.data.load("breast-cancer")), zofw.L1Ball(2.0)
    optimum = zofw.reference(problem, ball).value
    methods = {"auto (the default)": "auto"}
    for name, cls in zofw.methods().items():  # batches of 24 and 6 directions, if a method has them
        sizes = {"batch_size": 24, "directions": 6}.items()
        own = {field.name for field in dataclasses.fields(cls)}
        methods[name] = cls(**{setting: size for setting, size in sizes if setting in own})
    methods.pop("frank-wolfe")
    methods = _affordable(methods, problem, ball, budget)
    watch = (lambda words: None) if quiet or as_json else lambda words: console().print(words, soft_wrap=True)
    found = zofw.compare(
        problem, ball, methods, budget=budget, seeds=1, optimum=optimum, diagnose=12, watch=watch
    )
    heads, rows = found.cells()
    print_result(as_json, found.rows(), plain_table(found.measure, *heads, rows=rows))
    out.mkdir(parents=True, exist_ok=True)
    page = found.report(out / "report.html", "Every method on example data, under one budget", DEMO)
    picture = out / "demo.png"
    figure = extra("matplotlib.figure", "plot").Figure(figsize=(7.8, 4.4), layout="constrained")
    found.plot(ax=figure.add_subplot())
    figure.savefig(picture, dpi=200)
    if not as_json:
        console().print(f"figure: {picture}\nreport: {page}", soft_wrap=True)


def _affordable(
    methods: dict[str, Any], problem: zofw.Problem, ball: zofw.L1Ball, budget: int
) -> dict[str, Any]:
    """Return the methods for whose first iteration the budget pays; say which others are left out, or raise if all are."""
    found, left = {}, {}
    for name, method in methods.items():
        try:
            zofw.Session(
                ball, dim=problem.dim, n=problem.n, method=method, budget=budget, diagnose=0, rng=0
            ).ask()
            found[name] = method
        except zofw.BudgetError as error:
            left[name] = error
    if not found:
        raise min(left.values(), key=lambda error: error.least)
    errors(f"{name} is left out. {error}" for name, error in left.items())
    return found


@app.command()
@guarded
def show(
    path: Annotated[Path, typer.Argument(help="The checkpoint of a run.", show_default=False)],
) -> None:
    """Print a saved run: its settings, where it stands, its ledger, its last events.

    [dim]Example:[/dim]  zofw show run.npz
    """
    from zofw.run.history import describe

    if not path.exists() and not path.with_name(f"{path.name}.journal").exists():
        raise CommandError(f"There is no run in {path}.")
    print_result(False, None, Text(describe(path)))


app.add_typer(desk_app, name="desk")
for name, function in (INFORMATION | WRITING_YOUR_OWN | {"watch": watch}).items():
    app.command(name)(guarded(function))


def add_commands() -> None:
    """Add the commands of other packages; name one that cannot be imported."""
    points = list(entry_points(group="zofw.commands"))
    for point in points:
        try:
            point.load()(app)
        except Exception as error:
            reason = f"{type(error).__name__}: {error}"
            errors([f"The commands of the plug-in {point.name} ({point.value}) are missing: {reason}"])
    if not points and OF_SPECIFICATIONS & {*sys.argv[1:2]}:
        errors(
            [f"zofw {sys.argv[1]} comes with the package in paper/ of a clone of zofw: pip install ./paper"]
        )
        sys.exit(2)


def main() -> None:
    """Run a command: the entry point of the console script."""
    add_commands()
    app()
