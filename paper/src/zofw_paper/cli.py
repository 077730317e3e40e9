"""Commands on specifications, which the package adds to ``zofw``; also ``python -m zofw_paper``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from zofw.cli.app import app as zofw_app
from zofw.cli.console import Json, console, errors, plain_table, print_result, print_rows
from zofw_paper import EXPERIMENTS
from zofw_paper.datasets_commands import datasets_app
from zofw_paper.guard import guarded
from zofw_paper.options import CodeFile, Methods, Only, Out, Profile, Quiet, Spec, WorkersOption

if TYPE_CHECKING:  # commands import what they need, so that --help is quick
    from zofw_paper.cases import Code
    from zofw_paper.records import Plain
    from zofw_paper.spec import Experiment
    from zofw_paper.summary import Summary


HERE = Path(__file__).parent

app = typer.Typer()


@app.command()
@guarded
def init(
    path: Annotated[Path, typer.Argument(help="The file to write.")] = Path("mine.toml"),
) -> None:
    """Write a commented specification, ready to run and to change.

    [dim]Example:[/dim]  zofw init mine.toml && zofw run mine.toml
    """
    from zofw_paper.records import SpecError

    if path.exists():
        raise SpecError(f"{path} is there already, and is not overwritten. Name another file.")
    path.write_text((HERE / "init.toml").read_text(encoding="utf-8"), encoding="utf-8")
    console().print(f"{path}: run it with  zofw run {path}", soft_wrap=True)


@app.command()
@guarded
def run(
    spec: Spec,
    profile: Profile = None,
    out: Out = None,
    code: CodeFile = None,
    check: Annotated[bool, typer.Option("--check", help="Look for mistakes and run nothing.")] = False,
    workers: WorkersOption = 2,
    quiet: Quiet = False,
    as_json: Json = False,
    explain: Annotated[
        bool,
        typer.Option("--explain", help="Explain what each run spent its budget on."),
    ] = False,
) -> None:
    """Run a specification: a problem, a set, methods, seeds.

    Finished runs are read; interrupted runs continue.

    [dim]Example:[/dim]  zofw run mine.toml --check

    [dim]Example:[/dim]  zofw run mine.toml --code my_problem.py --out runs/mine
    """
    from zofw_paper.experiment import conduct
    from zofw_paper.spec import read
    from zofw_paper.watching import watching

    experiment, own = read(spec, profile), _code(code)
    if check:
        return _check(experiment, own, as_json)
    folder = out or _default_out(experiment)
    with watching(quiet=quiet or as_json) as watcher:
        wrong = conduct(experiment, folder, code=own, workers=workers, watcher=watcher)
    return _report(folder, wrong, as_json, explain=explain)


@app.command()
@guarded
def resume(
    folder: Annotated[Path, typer.Argument(help="The folder of an experiment or of one run.")],
    code: CodeFile = None,
    workers: WorkersOption = 2,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Resume interrupted runs with identical results.

    If they used --code, pass the same file again.

    [dim]Example:[/dim]  zofw resume runs/mine
    """
    from zofw_paper.experiment import StoredExperiment, conduct
    from zofw_paper.records import plain
    from zofw_paper.runner import Unit, execute
    from zofw_paper.watching import watching

    if (folder / "experiment.json").is_file() or not (folder / "spec.json").is_file():
        experiment = StoredExperiment.read(folder).spec
        with watching(quiet=quiet or as_json) as watcher:
            wrong = conduct(experiment, folder, code=_code(code), workers=workers, watcher=watcher)
        return _report(folder, wrong, as_json)
    outcome = execute(Unit.read(folder, _code(code)))
    if outcome.result is None:
        return _end([outcome.error])
    end = outcome.result
    return print_result(as_json, plain(end), f"{folder}: {end.message} objective {end.objective:.6g}")


@app.command("tune")
@guarded
def tune_rates(
    spec: Spec,
    profile: Profile = None,
    out: Out = None,
    code: CodeFile = None,
    workers: WorkersOption = 2,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Choose the learning rate of every method and case by tuning runs.

    [dim]Example:[/dim]  zofw tune paper/experiments/fig1.toml --profile quick
    """
    from zofw_paper.experiment import tune
    from zofw_paper.records import SpecError
    from zofw_paper.spec import read
    from zofw_paper.watching import watching

    experiment = read(spec, profile)
    if not experiment.tuning.seeds:
        raise SpecError(f"{spec} has no [tune] with seeds and a grid, so there is nothing to choose from.")
    folder = out or _default_out(experiment)
    with watching(quiet=quiet or as_json) as watcher:
        rates, wrong = tune(experiment, folder, code=_code(code), workers=workers, watcher=watcher)
    rows = [{"case": case, "method": label, "lr": lr} for (case, label), lr in rates.items()]
    print_rows(as_json, rows, "learning rates", left=2)
    _end(wrong)


@app.command()
@guarded
def compare(
    folders: Annotated[
        list[Path], typer.Argument(help="The folders of experiments or runs.", show_default=False)
    ],
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="The folder for figure and report.", show_default=False)
    ] = None,
    as_json: Json = False,
) -> None:
    """Compare the finished runs of several folders.

    [dim]Example:[/dim]  zofw compare runs/mine runs/other --out runs/comparison
    """
    from zofw_paper.report import write_report
    from zofw_paper.summary import compare as compare_runs

    summary = compare_runs(folders)
    _show(summary, write_report(summary, out) if out is not None else {}, as_json, {})


@app.command()
@guarded
def report(
    folder: Annotated[Path, typer.Argument(help="A folder with runs or a summary.json.", show_default=False)],
) -> None:
    """Write figures, tables and the HTML report of stored runs.

    [dim]Example:[/dim]  zofw report runs/mine
    """
    from zofw_paper.report import make_report

    made = make_report(folder)
    for kind, path in made.items():
        console().print(f"{kind}: {path}", soft_wrap=True)


@app.command()
@guarded
def reproduce(
    names: Annotated[
        list[str],
        typer.Argument(
            help=f"An experiment: {', '.join(EXPERIMENTS)}, a file of paper/experiments/, or all."
        ),
    ],
    profile: Annotated[
        str, typer.Option("--profile", "-p", help="The profile: smoke, quick, full, or another of the file.")
    ] = "quick",
    out: Annotated[
        Path, typer.Option("--out", "-o", help="The folder that gets one folder per experiment.")
    ] = Path("runs"),
    publish_to: Annotated[
        Path | None,
        typer.Option("--publish", help="Copy summary, tables and PNG to this folder.", show_default=False),
    ] = None,
    only: Only = None,
    method: Methods = None,
    code: CodeFile = None,
    workers: WorkersOption = 2,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Reproduce a figure or table of the paper, from its specification in paper/experiments/.

    [dim]Example:[/dim]  zofw reproduce fig1 --profile quick

    [dim]Example:[/dim]  zofw reproduce all --profile full --publish docs/reproduction

    With --method or --only and --publish the rows of other methods and cases stay as they are published.
    """
    from zofw_paper.experiment import conduct, find_experiment
    from zofw_paper.publish import publish, stand_beside
    from zofw_paper.spec import read
    from zofw_paper.summary import read_summary
    from zofw_paper.watching import watching

    for name in [part for given in names for part in (EXPERIMENTS if given == "all" else (given,))]:
        experiment = read(find_experiment(name), profile)
        folder, kept = out / f"{name}-{profile}", None
        target = publish_to and publish_to / (name if profile == "full" else f"{name}-{profile}")
        if (method or only) and target and (target / "summary.json").is_file():
            kept = read_summary(target)
            stand_beside(target, folder)
        chosen = {"only": only or [], "labels": method or []}
        with watching(quiet=quiet or as_json) as watcher:
            wrong = conduct(experiment, folder, code=_code(code), workers=workers, watcher=watcher, **chosen)
        _report(folder, wrong, as_json, beside=kept)
        if target:
            publish(folder, target)


@app.command("published")
@guarded
def published_pages(
    folder: Annotated[Path, typer.Argument(help="The folder of the published pages.")] = Path(
        "docs/reproduction"
    ),
    again: Annotated[
        bool,
        typer.Option("--repeat", help="Repeat the first iterations of runs whose code has changed."),
    ] = False,
    code: CodeFile = None,
) -> None:
    """Write the published pages again and say which code has changed.

    [dim]Example:[/dim]  zofw published docs/reproduction --repeat
    """
    from zofw_paper.publish import published, repeat, rewrite

    sentences: list[str] = []
    for target in published(folder):
        sentences += repeat(target, _code(code)) if again else []
        rewrite(target)
        console().print(f"{target.with_suffix('.md')}", soft_wrap=True)
    _end(sentences)


def _default_out(experiment: Experiment) -> Path:
    return Path("runs") / "-".join(filter(None, (experiment.name, experiment.profile)))


def _code(path: Path | None) -> Code:
    from zofw_paper.cases import Code

    return Code(str(path.resolve()) if path else "")


def _check(experiment: Experiment, code: Code, as_json: bool) -> None:
    """What each method needs on each case, or what is wrong with it; exit code 1 where something is."""
    from zofw.comparison import number
    from zofw_paper.check import check_experiment
    from zofw_paper.records import plain

    found = check_experiment(experiment, code)
    rows = [
        [row.case, row.method, f"{number(row.cost)} queries"]
        + [f"at most {number(row.iterations)}" if row.iterations else "none fits into the budget"]
        for row in found
        if not row.error
    ]
    heads = "case", "method", "first iteration", "iterations"
    print_result(as_json, plain(found), plain_table(None, *heads, rows=rows, left=2))
    _end([row.error for row in found if row.error])


def _report(
    folder: Path, wrong: Sequence[str], as_json: bool, *, beside: Summary | None = None, explain: bool = False
) -> None:
    """End in tables, figures and a report; exit code 1 where a run went wrong."""
    from zofw.run.record.result import Result
    from zofw_paper.report import make_report
    from zofw_paper.summary import read_summary

    errors(wrong)
    made = make_report(folder, beside)
    summary = read_summary(folder)
    errors(
        f"{name} is left out: {', '.join(files)} is not on this machine."
        for name, files in summary.absent.items()
    )
    runs = sorted(folder.rglob("result.npz")) if explain else []
    stories = {str(path.parent.relative_to(folder)): Result.load(path).story() for path in runs}
    _show(summary, made, as_json, stories)
    if wrong:
        raise typer.Exit(1)


def _show(summary: Summary, made: Mapping[str, Path], as_json: bool, stories: Mapping[str, str]) -> None:
    from zofw.comparison import number
    from zofw_paper.claims import by_heading, figures_of
    from zofw_paper.records import plain
    from zofw_paper.report import ends, telling

    if as_json:
        return print_result(True, _short(summary) | ({"stories": plain(stories)} if stories else {}))
    screen = console()
    if summary.rows:
        screen.print(plain_table(summary.title, *summary.rows[0], rows=summary.lines))
    for case in summary.cases:
        screen.print(
            f"\n[bold]{case.title}[/bold]  n = {case.n:,}, d = {case.dim:,}, budget {number(case.budget)} queries"
        )
        if case.optimum is not None:
            screen.print(f"f* = {case.optimum.value:.10g} ({case.optimum.label})")
        rows = telling(ends(summary, case))
        screen.print(plain_table(None, *rows[0], rows=[[*row.values()] for row in rows]))
    for heading, claims in by_heading(summary.claims).items():
        found = [[c.says, f"{c.verdict} ({c.held} of {c.of})", figures_of(c)] for c in claims]
        screen.print(plain_table(f"\n{heading}", "claim", "verdict", "figures", rows=found, left=3))
    screen.print()
    for kind in ("figure", "figure-all", "images", "report"):
        if kind in made:
            screen.print(f"{kind.replace('-all', ', all methods')}: {made[kind]}", soft_wrap=True)
    for run, story in stories.items():
        screen.print(Text(f"{run}\n{story}"), soft_wrap=True)
    return None


def _short(summary: Summary) -> dict[str, Plain]:
    """What a program wants to know of a summary."""
    from zofw_paper.records import plain

    return {
        "name": summary.name,
        "profile": summary.profile,
        "measure": summary.measure,
        "fingerprint": summary.fingerprint,
        "rows": plain(summary.rows),
        "cases": [
            {
                "case": case.name,
                "budget": case.budget,
                "optimum": plain(case.optimum),
                "methods": [
                    {"label": curve.label, "lr": curve.lr, "end": plain(curve.end)} for curve in case.curves
                ],
                "crossings": plain(case.crossings),
            }
            for case in summary.cases
        ],
        "claims": [
            {"id": claim.id, "verdict": claim.verdict, "held": claim.held, "of": claim.of}
            for claim in summary.claims
        ],
    }


def _end(sentences: Sequence[str]) -> None:
    errors(sentences)
    if sentences:
        raise typer.Exit(1)


def add(application: typer.Typer) -> None:
    """Add the commands of this package to an application."""
    application.add_typer(app)
    application.add_typer(datasets_app, name="datasets")


def main() -> None:
    """Run a command of zofw or of this package."""
    add(zofw_app)
    zofw_app()
