"""The small part of an experiment that is committed: summary, tables, PNG, provenance, and a page that says how it stands."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from zofw.comparison import number
from zofw.run import Session
from zofw.run.minimize import solve
from zofw_paper.cases import NO_CODE, Code
from zofw_paper.claims import by_heading, figures_of
from zofw_paper.curves import DIGITS
from zofw_paper.experiment import find_experiment, identity
from zofw_paper.images import PERTURBATIONS
from zofw_paper.provenance import code_of, environment
from zofw_paper.records import Plain, SpecError, plain
from zofw_paper.report import OVERTAKING, ends, overtaking, protocol
from zofw_paper.runner import Unit, built
from zofw_paper.spec import Experiment, read
from zofw_paper.store import write_json
from zofw_paper.summary import Curve, Summary, read_summary

KEPT = ("*.png", "*.csv", PERTURBATIONS)
UNPUBLISHED = ("ended by",)  # Columns of a report that a published page leaves out.


def publish(folder: Path, target: Path) -> None:
    """Copy what is small and decides a page, and write the page, NAME.md beside it."""
    summary = read_summary(folder)
    target.mkdir(parents=True, exist_ok=True)
    for path in target.iterdir():
        if path.suffix in (".png", ".csv", ".json", ".npz"):
            path.unlink()
    for pattern in KEPT:
        for path in sorted(folder.glob(pattern)):
            shutil.copyfile(path, target / path.name)
    write_json(target / "summary.json", _rounded(plain(summary)))
    rewrite(target)


def stand_beside(target: Path, folder: Path) -> None:
    """Let the pictures of new runs show the published perturbations of the other methods too."""
    if (target / PERTURBATIONS).is_file() and not (folder / PERTURBATIONS).exists():
        folder.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(target / PERTURBATIONS, folder / PERTURBATIONS)


def _rounded(value: Plain) -> Plain:
    if isinstance(value, dict):  # gaps are differences from a reference value, which keeps its digits
        return value if "certified" in value else {key: _rounded(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_rounded(item) for item in value]
    return float(f"{value:.{DIGITS}g}") if isinstance(value, float) else value


def published(folder: Path) -> list[Path]:
    """Return the published experiments below a folder."""
    return sorted(path.parent for path in folder.glob("*/summary.json"))


def rewrite(target: Path) -> None:
    """Write the page of what is published, with how it stands now."""
    target.with_suffix(".md").write_text(page(read_summary(target), target), encoding="utf-8")


def standing(summary: Summary) -> list[str]:
    """What has changed since the runs: the specification, or the code of a method in more than comments."""
    name = summary.name
    try:
        now = identity(read(find_experiment(name), summary.profile or None))
    except SpecError:
        return [f"paper/experiments/{name}.toml has no profile {summary.profile!r} any more."]
    sentences = []
    if now != summary.fingerprint:
        sentences.append(
            f"The specification has changed since: it is `{now}` now, and these runs are not of it."
        )
    changed = [method for method, code in summary.environment.code.items() if code != code_of(method)]
    if not summary.environment.code:
        sentences.append(
            "These runs are older than the fingerprints of code, so which code made them is not known."
        )
    if changed:
        sentences.append(
            f"The code of {', '.join(sorted(changed))} has changed since, in more than comments."
        )
    return sentences


def repeat(target: Path, code: Code = NO_CODE) -> list[str]:
    """Repeat the first iterations of published runs whose method's code has changed; sentences about what differs.

    Where all openings of a method are the same to the digits that are published, its new code is put down as theirs.
    """
    summary = read_summary(target)
    experiment = read(find_experiment(summary.name), summary.profile or None)
    changed = [name for name, digest in summary.environment.code.items() if digest != code_of(name)]
    differ: dict[str, str] = {}
    both = [(case, curve) for case in summary.cases for curve in case.curves]
    shown = {curve.method for _, curve in both}  # a table alone has nothing to repeat
    for case, curve in both:
        if curve.method in changed and not _opens_alike(experiment, case.name, curve, code):
            differ[curve.method] = (
                f"{target.name}: {curve.label} on {case.name} begins otherwise than published."
            )
    same = {name: code_of(name) for name in changed if name in shown and name not in differ}
    if same:
        digests = {**summary.environment.code, **same}
        made_by = replace(summary.environment, code=digests, repeated=environment().commit)
        write_json(target / "summary.json", replace(summary, environment=made_by))
    return list(differ.values())


def _opens_alike(experiment: Experiment, name: str, curve: Curve, code: Code) -> bool:
    (case,) = (case for case in experiment.cases if case.name == name)
    (method,) = (method for method in experiment.methods if method.label == curve.label)
    last = curve.opening[-1][0] if curve.opening else 0.0

    def enough(session: Session) -> None:
        if session.nfev > last:
            raise StopIteration

    if not last:
        return True  # the budget did not pay for an iteration
    seed, measure, diagnose = experiment.seeds[0], experiment.measure, experiment.diagnose
    asked = Unit("", case, method, curve.lr, seed, measure, diagnose).asked(built(case, code))
    result = solve(**asked, observers=[enough])
    found = np.column_stack([result.trace.queries, result.trace.objective])[: len(curve.opening)]
    return found.shape == np.shape(curve.opening) and np.allclose(
        found, curve.opening, rtol=10.0 ** (1 - DIGITS)
    )


def page(summary: Summary, target: Path) -> str:
    """Return the published numbers as a page of the documentation."""
    title = summary.title if target.name == summary.name else f"{summary.title} ({target.name})"
    lines = [f"# {title}", "", summary.about, "", *([summary.note, ""] if summary.note else [])]
    if found := standing(summary):
        lines += ["```{warning}", *found, "```", ""]
    lines += [f"![{path.stem}]({target.name}/{path.name})\n" for path in sorted(target.glob("*.png"))]
    for heading, claims in by_heading(summary.claims).items():
        known = [claim for claim in claims if claim.verdict != "not measured"]
        rows = [[claim.says, f"**{claim.verdict}**", figures_of(claim)] for claim in known]
        lines += [f"## {heading}", ""]
        lines += _markdown(["statement", "measured", "figures"], rows) if rows else []
        if rest := [f'"{claim.says}"' for claim in claims if claim not in known]:
            lines += [f"Not measured here: {'; '.join(rest)}.", ""]
    if summary.rows:
        lines += _markdown(list(summary.rows[0]), summary.lines)
    for case in summary.cases:
        lines += [f"## {case.title}", "", f"Budget {number(case.budget)} queries, {case.set}.", ""]
        ended = [{head: row[head] for head in row if head not in UNPUBLISHED} for row in ends(summary, case)]
        lines += _markdown([*ended[0]], [[*row.values()] for row in ended])
        if case.crossings and len(summary.seeds) > 1:
            lines += [f"From how many queries on {case.curves[0].label} is ahead for good:", ""]
            lines += _markdown(OVERTAKING, overtaking(case))
    lines += ["## Protocol", "", *(f"- {line}" for line in protocol(summary)), ""]
    packages = ", ".join(f"{name} {version}" for name, version in summary.environment.packages.items())
    repeated = summary.environment.repeated
    commits = summary.environment.commits
    code = ", ".join(
        f"{name} `{digest}`" + (f" at commit {commits[name]}" if name in commits else "")
        for name, digest in summary.environment.code.items()
    )
    lines += [
        f"Specification `{summary.fingerprint}` (paper/experiments/{summary.name}.toml, profile {summary.profile}); "
        + ("" if commits else f"commit {summary.environment.commit or 'not known'}; ")
        + f"code of the methods: {code or 'not known'}"
        + (f", their first iterations repeated with commit {repeated}. " if repeated else ". ")
        + f"Python {summary.environment.python}, {packages}. Made by "
        f"`zofw reproduce {summary.name} --profile {summary.profile} --publish docs/reproduction`.",
        "",
    ]
    return "\n".join(lines)


def _markdown(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    lines = [f"| {' | '.join(head)} |", f"|{'---|' * len(head)}"]
    return [*lines, *(f"| {' | '.join(row)} |" for row in rows), ""]
