"""The command line: ``zofw`` or ``python -m zofw``.

Other installed packages add commands: the entry points of the group ``zofw.commands`` are functions that receive the
application.

Exit codes: 0 done; 1 a run failed, a law is broken or a file damaged; 2 the command or a file of its input is wrong; 130
interrupted.
"""

from __future__ import annotations

import dataclasses
import subprocess
import sys
from importlib.metadata import entry_points
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.text import Text

import zofw
from zofw.cli.console import console, errors, plain_table, print_result
from zofw.cli.desk_commands import desk_app
from zofw.cli.extend import WRITING_YOUR_OWN
from zofw.cli.guard import CommandError, guarded
from zofw.cli.information import INFORMATION
from zofw.cli.options import Json
from zofw.cli.watch import watch
from zofw.extras import extra

HERE = Path(__file__).parent
OF_SPECIFICATIONS = (
    "init",
    "run",
    "resume",
    "tune",
    "compare",
    "report",
    "reproduce",
    "published",
    "datasets",
)
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
    methods = {"auto (the default)": "auto"} | {name: sized(cls) for name, cls in zofw.methods().items()}
    methods.pop("frank-wolfe")
    silent = quiet or as_json
    watch = (lambda words: None) if silent else lambda words: console().print(words, soft_wrap=True)
    found = zofw.compare(
        problem, ball, methods, budget=budget, seeds=1, optimum=optimum, diagnose=12, watch=watch
    )
    heads, rows = found.cells()
    print_result(as_json, found.rows(), plain_table(found.measure, *heads, rows=rows))
    out.mkdir(parents=True, exist_ok=True)
    page = found.report(out / "report.html", "Every method on example data, under one budget", DEMO)
    picture = out / "demo.png"
    pyplot = extra("matplotlib.pyplot", "plot")
    pyplot.switch_backend("Agg")
    found.plot()
    pyplot.savefig(picture, dpi=200)
    if not as_json:
        console().print(f"figure: {picture}\nreport: {page}", soft_wrap=True)


def sized(cls: type[Any]) -> Any:
    """Return the default settings of a method, with batches of 24 and 6 directions if it has them."""
    sizes = {"batch_size": 24, "directions": 6}
    names = {field.name for field in dataclasses.fields(cls)}
    return cls(**{name: size for name, size in sizes.items() if name in names})


@app.command()
@guarded
def bench(
    as_json: Json = False,
    quick: Annotated[bool, typer.Option("--quick", help="Run a fifth of the rounds.")] = False,
    only: Annotated[str, typer.Option("--only", help="Run only cases whose name contains this text.")] = "",
) -> None:
    """Time this machine with the benchmarks of a source checkout.

    Exits with 1 and a sentence if a figure falls short of its goal.

    [dim]Example:[/dim]  zofw bench --quick --only a9a
    """
    root = HERE.parents[2]
    if not (root / "benchmarks" / "run.py").is_file():
        raise CommandError(
            "The benchmarks are part of a source checkout, not of the package: run `make bench` there."
        )
    flags = [name for name, given in (("--json", as_json), ("--quick", quick)) if given]
    command = [sys.executable, "-m", "benchmarks.run", *flags, *(["--only", only] if only else [])]
    raise typer.Exit(subprocess.run(command, cwd=root).returncode)


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


def main() -> None:
    """Add the commands of other packages and run one: the entry point of the console script."""
    points = list(entry_points(group="zofw.commands"))
    for point in points:
        point.load()(app)
    if not points and {*sys.argv[1:2]} & {*OF_SPECIFICATIONS}:
        errors(
            [f"zofw {sys.argv[1]} comes with the package in paper/ of a clone of zofw: pip install ./paper"]
        )
        sys.exit(2)
    app()
