"""The command line: ``zofw`` or ``python -m zofw.lab``.

Exit codes: 0 done; 1 a run failed, a law is broken or a file damaged; 2 the command or a specification is wrong; 130
interrupted.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

import zofw
from zofw.lab.claims import by_heading, figures_of
from zofw.lab.console import console, ends, errors, plain_table, watching
from zofw.lab.desk import counter
from zofw.lab.experiment import present, tune
from zofw.lab.extend import EXTENDING
from zofw.lab.guard import guarded
from zofw.lab.information import LOOKING, shelf
from zofw.lab.numbers import number
from zofw.lab.publish import EXPERIMENTS, carry_out, find_experiment, make_report, publish
from zofw.lab.report import write_report
from zofw.lab.runner import Unit, execute
from zofw.lab.spec import Experiment, SpecError, read
from zofw.lab.summary import compare as compare_runs
from zofw.lab.summary import read_experiment

__all__ = ["app", "main"]

HERE = Path(__file__).parent

app = typer.Typer(
    help="Zeroth-order Frank-Wolfe from the command line: solve, compare, reproduce.",
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

Out = Annotated[
    Path | None, typer.Option("--out", "-o", help="Directory for runs and report.", show_default=False)
]
Workers = Annotated[
    int, typer.Option("--workers", "-w", min=0, help="Processes, one core each; 0: this one.")
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Only the result.")]
Json = Annotated[bool, typer.Option("--json", help="Only JSON on stdout, for programs.")]
Profile = Annotated[
    str | None, typer.Option("--profile", "-p", help="A profile of the specification.", show_default=False)
]
Spec = Annotated[Path, typer.Argument(help="A specification in TOML.", show_default=False)]


def _version(asked: bool) -> None:
    if asked:
        console().print(f"zofw {zofw.__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="The version.")
    ] = False,
) -> None: ...


@app.command()
@guarded
def demo(out: Out = None, workers: Workers = 2, quiet: Quiet = False, as_json: Json = False) -> None:
    """Solve real data with every method under one budget; ends in a table, a figure and a report.

    [dim]Example:[/dim]  zofw demo --out runs/demo
    """
    _conduct(read(HERE / "demo.toml"), out or Path("runs/demo"), workers, quiet, as_json)


@app.command()
@guarded
def run(
    spec: Spec,
    profile: Profile = None,
    out: Out = None,
    workers: Workers = 2,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Run a specification: your own problem (module:function), a set, methods, seeds.

    Finished runs are read, interrupted ones go on from where they were.

    [dim]Example:[/dim]  zofw run mine.toml --out runs/mine
    """
    experiment = read(spec, profile)
    _conduct(experiment, out or _default_out(experiment), workers, quiet, as_json)


@app.command()
@guarded
def resume(
    folder: Annotated[
        Path, typer.Argument(help="A directory that run, demo or reproduce made, or of one run.")
    ],
    workers: Workers = 2,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Continue what was interrupted, bit for bit.

    [dim]Example:[/dim]  zofw resume runs/mine
    """
    if (folder / "experiment.json").is_file() or not (folder / "spec.json").is_file():
        _conduct(read_experiment(folder), folder, workers, quiet, as_json)
        return
    result = execute(Unit.read(folder))
    if as_json:
        typer.echo(json.dumps(result))
    else:
        console().print(f"{folder}: {result['message']} objective {result['objective']:.6g}", soft_wrap=True)


@app.command("tune")
@guarded
def tune_rates(
    spec: Spec,
    profile: Profile = None,
    out: Out = None,
    workers: Workers = 2,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Choose the learning rate of every method and case on the specification's grid, with its tuning seeds.

    [dim]Example:[/dim]  zofw tune experiments/fig1.toml --profile quick
    """
    experiment = read(spec, profile)
    if experiment.tuning is None:
        raise SpecError(f"{spec} has no [tune] with seeds and a grid, so there is nothing to choose from.")
    screen = console()
    with watching(screen, quiet=quiet or as_json) as watcher:
        rates, sentences = tune(experiment, out or _default_out(experiment), workers=workers, watcher=watcher)
    if as_json:
        typer.echo(json.dumps([{"case": c, "method": m, "lr": lr} for (c, m), lr in rates.items()]))
    else:
        table = plain_table("learning rates", "case", "method", "lr", left=2)
        for (case, label), lr in rates.items():
            table.add_row(case, label, f"{lr:g}")
        screen.print(table)
    _end(sentences)


@app.command()
@guarded
def compare(
    folders: Annotated[
        list[Path], typer.Argument(help="Directories of experiments or runs.", show_default=False)
    ],
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Write figure and report here.", show_default=False)
    ] = None,
    as_json: Json = False,
) -> None:
    """Put the finished runs of several directories side by side.

    [dim]Example:[/dim]  zofw compare runs/mine runs/other --out runs/comparison
    """
    summary = compare_runs(folders)
    _show(summary, write_report(summary, out) if out is not None else {}, as_json)


@app.command()
@guarded
def report(
    folder: Annotated[
        Path, typer.Argument(help="A directory with runs, or with a summary.json.", show_default=False)
    ],
) -> None:
    """Make figures, tables and the HTML report from what is stored; nothing is run.

    [dim]Example:[/dim]  zofw report runs/mine
    """
    made = make_report(folder)
    for kind, path in made.items():
        console().print(f"{kind}: {path}", soft_wrap=True)


@app.command()
@guarded
def reproduce(
    names: Annotated[
        list[str], typer.Argument(help=f"{', '.join(EXPERIMENTS)}, another file of experiments/, or all.")
    ],
    profile: Annotated[
        str, typer.Option("--profile", "-p", help="smoke, quick, full, or another of the file.")
    ] = "quick",
    out: Annotated[
        Path, typer.Option("--out", "-o", help="Directory below which each experiment has its own.")
    ] = Path("runs"),
    publish_to: Annotated[
        Path | None,
        typer.Option(
            "--publish", help="Copy summary, tables and PNG below this directory.", show_default=False
        ),
    ] = None,
    only: Annotated[
        list[str] | None,
        typer.Option("--only", help="A case to do now; may be repeated.", show_default=False),
    ] = None,
    workers: Workers = 2,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Reproduce a figure or table of the paper, from its specification in experiments/.

    [dim]Example:[/dim]  zofw reproduce fig1 --profile quick

    [dim]Example:[/dim]  zofw reproduce all --profile full --publish docs/reproduction
    """
    for name in [part for given in names for part in (EXPERIMENTS if given == "all" else (given,))]:
        experiment = read(find_experiment(name), profile)
        folder = out / f"{name}-{profile}"
        _conduct(experiment, folder, workers, quiet, as_json, only or [])
        if publish_to is not None:
            publish(folder, publish_to / (name if profile == "full" else f"{name}-{profile}"))


@app.command()
@guarded
def bench(
    as_json: Annotated[bool, typer.Option("--json", help="One JSON document instead of a table.")] = False,
    quick: Annotated[bool, typer.Option("--quick", help="A fifth of the rounds.")] = False,
    only: Annotated[str, typer.Option("--only", help="Cases whose name contains this.")] = "",
) -> None:
    """Time this machine: ratios measured side by side, by the benchmarks of a source checkout.

    Exits with 1 where a figure falls short of what is wanted, and says which.

    [dim]Example:[/dim]  zofw bench --quick --only a9a
    """
    root = HERE.parents[2]
    if not (root / "benchmarks" / "run.py").is_file():
        raise SpecError(
            "The benchmarks are part of a source checkout, not of the package: run `make bench` there."
        )
    flags = [name for name, given in (("--json", as_json), ("--quick", quick)) if given]
    command = [sys.executable, "-m", "benchmarks.run", *flags, *(["--only", only] if only else [])]
    raise typer.Exit(subprocess.run(command, cwd=root).returncode)


def _default_out(experiment: Experiment) -> Path:
    return Path("runs") / "-".join(filter(None, (experiment.name, experiment.profile)))


def _conduct(
    experiment: Experiment, out: Path, workers: int, quiet: bool, as_json: bool, only: Sequence[str] = ()
) -> None:
    """Run an experiment and end in tables, figures and a report; exit code 1 where a run went wrong."""
    screen = console()
    sentences: list[str] = []
    for name, files in present(experiment)[1].items():
        errors(console(stderr=True), [f"{name} is left out: {', '.join(files)} is not on this machine."])
    with watching(screen, quiet=quiet or as_json) as watcher:
        sentences = carry_out(experiment, out, workers=workers, watcher=watcher, only=only)
    if sentences:
        errors(console(stderr=True), sentences)
    made = make_report(out)
    _show(json.loads(made["summary"].read_text(encoding="utf-8")), made, as_json)
    _end(sentences, told=True)


def _show(summary: dict[str, Any], made: dict[str, Path], as_json: bool) -> None:
    if as_json:
        typer.echo(json.dumps(_short(summary)))
        return
    screen = console()
    if summary["kind"] != "curves":
        table = plain_table(summary["title"], *summary["rows"][0])
        for row in summary["rows"]:
            table.add_row(*map(str, row.values()))
        screen.print(table)
    for case in summary["cases"]:
        screen.print(
            f"\n[bold]{case['title']}[/bold]  n = {case['n']:,}, d = {case['dim']:,}, budget {number(case['budget'])} queries"
        )
        if case["optimum"] is not None:
            screen.print(f"f* = {case['optimum']['value']:.10g} ({case['optimum']['label']})")
        screen.print(ends(summary, case))
    for heading, claims in by_heading(summary["claims"]).items():
        table = plain_table(f"\n{heading}", "claim", "verdict", "figures", left=3)
        for claim in claims:
            table.add_row(
                claim["says"], f"{claim['verdict']} ({claim['held']} of {claim['of']})", figures_of(claim)
            )
        screen.print(table)
    screen.print()
    for kind in ("figure", "figure-all", "images", "report"):
        if kind in made:
            screen.print(f"{kind.replace('-all', ', all methods')}: {made[kind]}", soft_wrap=True)


def _short(summary: dict[str, Any]) -> dict[str, Any]:
    """What a program wants to know of a summary."""
    return {
        "name": summary["name"],
        "profile": summary["profile"],
        "measure": summary.get("measure"),
        "fingerprint": summary["fingerprint"],
        "rows": summary.get("rows", []),
        "cases": [
            {
                "case": case["name"],
                "budget": case["budget"],
                "optimum": case["optimum"],
                "methods": [
                    {"label": curve["label"], "lr": curve["lr"], **curve["end"]} for curve in case["curves"]
                ],
            }
            for case in summary["cases"]
        ],
        "claims": [
            {key: claim[key] for key in ("id", "verdict", "held", "of")} for claim in summary["claims"]
        ],
    }


def _end(sentences: list[str], *, told: bool = False) -> None:
    if sentences:
        if not told:
            errors(console(stderr=True), sentences)
        raise typer.Exit(1)


app.add_typer(shelf, name="datasets")
app.add_typer(counter, name="desk")
for name, function in (LOOKING | EXTENDING).items():
    app.command(name)(guarded(function))


def main() -> None:
    """The entry point of the console script."""
    app()
