"""Reports from stored runs, and the small part of them that is committed with its provenance."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from zofw.core import Array
from zofw.lab.cases import build_case
from zofw.lab.claims import by_heading, figures_of
from zofw.lab.costs import summarise_costs
from zofw.lab.experiment import Watcher, conduct, present
from zofw.lab.figures import draw_images
from zofw.lab.methods import all_methods
from zofw.lab.numbers import number
from zofw.lab.report import protocol, read_summary, write_report
from zofw.lab.spec import Experiment, SpecError, fingerprint, read
from zofw.lab.store import Folder, StoreError, read_json, write_json
from zofw.lab.summary import compare, read_experiment, summarise
from zofw.run.result import Result

__all__ = ["EXPERIMENTS", "carry_out", "check_published", "find_experiment", "make_report", "publish"]

EXPERIMENTS = ("fig1", "fig2", "fig3", "fig4", "table1")
KEPT = ("*.png", "*.csv")
DIGITS = 6


def find_experiment(name: str) -> Path:
    """The specification of that name: in ./experiments, or in the source checkout this package is in."""
    folders = (Path("experiments"), Path(__file__).parents[3] / "experiments")
    for folder in folders:
        if (folder / f"{name}.toml").is_file():
            return folder / f"{name}.toml"
    known = sorted({path.stem for folder in folders for path in folder.glob("*.toml")})
    raise SpecError(
        f"There is no experiment {name!r}; there is {', '.join(known) or 'none here'}. Experiments are files of the folder "
        "experiments of a source checkout."
    )


def identity(experiment: Experiment) -> str:
    """The fingerprint of an experiment and, where it shows the runs of another, of that one too."""
    if experiment.kind != "images":
        return experiment.fingerprint
    return fingerprint([experiment.fingerprint, _source(experiment).fingerprint])


def _source(experiment: Experiment) -> Experiment:
    return read(find_experiment(experiment.source), experiment.profile or None)


def carry_out(
    experiment: Experiment,
    out: Path,
    *,
    workers: int = 2,
    watcher: Watcher = Watcher(),
    only: Sequence[str] = (),
) -> list[str]:
    """Do what is not done yet of an experiment of any kind; returns a sentence for everything that went wrong."""
    if experiment.kind == "curves":
        return conduct(experiment, out, workers=workers, watcher=watcher, only=only)
    out.mkdir(parents=True, exist_ok=True)
    sentences: list[str] = []
    if experiment.kind == "costs":
        summary = summarise_costs(experiment, watcher)
    else:
        source = _source(experiment)
        folder = out.with_name("-".join(filter(None, (source.name, source.profile))))
        sentences = conduct(source, folder, workers=workers, watcher=watcher, only=only)
        summary = _shown(experiment, source, folder, out)
    write_json(out / "experiment.json", {"spec": experiment.document(), "fingerprint": identity(experiment)})
    write_json(out / "summary.json", summary)
    return sentences


def _shown(experiment: Experiment, source: Experiment, folder: Path, out: Path) -> dict[str, Any]:
    """Draw the images of another experiment's runs; a summary of what each method reached."""
    for path in _adversarial(source, folder, experiment.count).values():
        shutil.copyfile(path, out / path.name)
    found = summarise(source, folder)
    rows = [
        {
            "case": case["title"],
            "method": curve["label"],
            "success rate": number(curve["end"]["median"]),
            "distortion": number(curve["end"].get("distortion")),
            "queries": number(curve["end"]["queries"]),
        }
        for case in found["cases"]
        for curve in case["curves"]
    ]
    return {
        **found,
        "name": experiment.name,
        "title": experiment.title,
        "about": experiment.about.strip(),
        "kind": "images",
        "fingerprint": identity(experiment),
        "claims": [],
        "cases": [],
        "rows": rows,
    }


def make_report(folder: Path) -> dict[str, Path]:
    """Figures, tables and page for a directory of runs, or again from a summary.json alone."""
    if (folder / "experiment.json").is_file():
        experiment = read_experiment(folder)
        if experiment.kind == "curves":
            summary = summarise(experiment, folder)
            pictures = _adversarial(experiment, folder) if experiment.measure == "success-rate" else {}
            made = write_report(summary, folder, images=pictures)
            return made | ({"images": next(iter(pictures.values()))} if pictures else {})
        return write_report(read_summary(folder), folder, images=_stored_images(folder))
    if (folder / "summary.json").is_file():
        return write_report(read_summary(folder), folder, images=_stored_images(folder))
    return write_report(compare([folder]), folder)


def _stored_images(folder: Path) -> dict[str, Path]:
    return {
        f"Adversarial examples: {path.stem.removeprefix('images-')}": path
        for path in sorted(folder.glob("images-*.png"))
    }


def _adversarial(experiment: Experiment, folder: Path, count: int = 8) -> dict[str, Path]:
    """Originals and adversarial examples of every method, for the first seed; one picture a case."""
    for case in present(experiment)[0]:
        built = build_case(case, experiment.folder)
        chosen = np.linspace(0, built.problem.n - 1, count).astype(int)
        originals: Array = built.problem.images[chosen]
        rows: list[tuple[str, Array, list[str]]] = [
            ("original", originals, [f"{label}" for label in built.problem.labels[chosen]])
        ]
        for method in all_methods(experiment.methods, experiment.others):
            run = Folder(folder / case.name / method.label / f"seed-{experiment.seeds[0]}")
            if run.finished and run.result.is_file():
                x = Result.load(run.result).x
                fooled = built.problem.margins(x)[chosen] < 0
                name = f"{method.label}\n{100 * read_json(run.summary)['success-rate']:.1f} % fooled"
                rows.append(
                    (
                        name,
                        built.problem.adversarial(x)[chosen],
                        ["fooled" if yes else "not fooled" for yes in fooled],
                    )
                )
        if len(rows) > 1:
            draw_images(rows, folder / f"images-{case.name}", case.title or case.name)
    return _stored_images(folder)


def publish(folder: Path, target: Path) -> None:
    """Copy what is small and decides a page: summary, tables, PNG, provenance; and write the page, NAME.md beside it."""
    summary = read_summary(folder)
    target.mkdir(parents=True, exist_ok=True)
    for path in target.iterdir():
        if path.suffix in (".png", ".csv", ".json"):
            path.unlink()
    for pattern in KEPT:
        for path in sorted(folder.glob(pattern)):
            shutil.copyfile(path, target / path.name)
    write_json(target / "summary.json", _rounded(summary))
    write_json(
        target / "provenance.json",
        {
            name: summary[name]
            for name in ("name", "profile", "fingerprint", "seeds", "tuning", "environment")
        },
    )
    target.with_suffix(".md").write_text(page(summary, target), encoding="utf-8")


def _rounded(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _rounded(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_rounded(item) for item in value]
    return float(f"{value:.{DIGITS}g}") if isinstance(value, float) else value


def check_published(target: Path) -> None:
    """Refuse published numbers that the present specification did not make."""
    kept = read_json(target / "provenance.json")
    now = identity(read(find_experiment(kept["name"]), kept["profile"] or None))
    if kept["fingerprint"] != now or read_summary(target)["fingerprint"] != now:
        raise StoreError(
            f"{target} was made by the specification {kept['fingerprint']}; experiments/{kept['name']}.toml with the profile "
            f"{kept['profile']!r} is {now}. Run: zofw reproduce {kept['name']} --profile {kept['profile']} --publish {target.parent}"
        )


def page(summary: dict[str, Any], target: Path) -> str:
    """The published numbers as a page of the documentation."""
    lines = [f"# {summary['title']}", "", summary["about"], ""]
    lines += [f"![{path.stem}]({target.name}/{path.name})\n" for path in sorted(target.glob("*.png"))]
    for heading, claims in by_heading(summary["claims"]).items():
        rows = [[claim["says"], f"**{claim['verdict']}**", figures_of(claim)] for claim in claims]
        lines += [f"## {heading}", "", *_markdown(["statement", "measured", "figures"], rows)]
    if summary["kind"] != "curves":
        lines += _markdown(list(summary["rows"][0]), [list(row.values()) for row in summary["rows"]])
    for case in summary["cases"]:
        lines += [f"## {case['title']}", "", f"Budget {number(case['budget'])} queries, {case['set']}.", ""]
        head = ["method", "median", "quartiles", "lr", "queries", "iterations", "LMO calls", "seconds"]
        rate = summary["measure"] == "success-rate"
        best = sorted(case["curves"], key=lambda curve: curve["end"]["median"], reverse=rate)
        lines += _markdown(head, [_ended(curve) for curve in best])
    lines += ["## Protocol", "", *(f"- {line}" for line in protocol(summary)), ""]
    packages = ", ".join(f"{name} {version}" for name, version in summary["environment"]["packages"].items())
    lines += [
        f"Specification `{summary['fingerprint']}` (experiments/{summary['name']}.toml, profile {summary['profile']}); "
        f"Python {summary['environment']['python']}, {packages}. Made by "
        f"`zofw reproduce {summary['name']} --profile {summary['profile']} --publish docs/reproduction`.",
        "",
    ]
    return "\n".join(lines)


def _ended(curve: dict[str, Any]) -> list[str]:
    end = curve["end"]
    return [
        curve["label"],
        number(end["median"]),
        f"{number(end['low'])} – {number(end['high'])}",
        number(curve["lr"]),
        *(number(end[name]) for name in ("queries", "iterations", "lmos", "seconds")),
    ]


def _markdown(head: list[str], rows: list[list[Any]]) -> list[str]:
    lines = [f"| {' | '.join(head)} |", f"|{'---|' * len(head)}"]
    return [*lines, *(f"| {' | '.join(map(str, row))} |" for row in rows), ""]
