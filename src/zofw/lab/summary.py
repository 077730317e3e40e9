"""Stored runs in a few numbers: median and quartiles over the seeds on one grid of queries, and where each run ended.

A curve is the last value known at a number of queries: until a method has paid for its first iteration it is the value at
x_0. The x axis counts evaluations of single components.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from zofw.core import Array
from zofw.lab.claims import judge
from zofw.lab.experiment import present, tuned_rates
from zofw.lab.methods import all_methods
from zofw.lab.runner import Unit
from zofw.lab.spec import Case, Experiment, Method, SpecError, fingerprint, revive
from zofw.lab.store import Folder, StoreError, environment, read_json, read_trace

__all__ = ["compare", "read_experiment", "summarise"]

PER_DECADE = 20
FLOOR = 1e-12  # smallest gap that is told from 0

Run = tuple[dict[str, Any], Array, Array]  # result.json, queries, values


def read_experiment(out: Path) -> Experiment:
    """The experiment whose runs a directory holds."""
    path = out / "experiment.json"
    if not path.is_file():
        raise StoreError(
            f"{out} holds no experiment: there is no experiment.json. Name a directory that zofw run, demo or reproduce made."
        )
    try:
        return revive(read_json(path)["spec"])
    except (KeyError, SpecError) as error:
        raise StoreError(f"{path} is not a stored experiment: {error}") from error


def summarise(experiment: Experiment, out: Path) -> dict[str, Any]:
    """Everything that figures, tables, claims and the report need, as plain values."""
    stored = read_json(out / "experiment.json")
    cases, _ = present(experiment)
    methods = all_methods(experiment.methods, experiment.others)
    found = [summary for case in cases if (summary := _case(experiment, case, methods, out)) is not None]
    if not found:
        raise StoreError(f"{out} has no finished run yet. Continue it with: zofw resume {out}")
    return {
        "name": experiment.name,
        "profile": experiment.profile,
        "title": experiment.title or experiment.name,
        "about": experiment.about.strip(),
        "kind": experiment.kind,
        "measure": experiment.measure,
        "fingerprint": experiment.fingerprint,
        "seeds": list(experiment.seeds),
        "tuning": None
        if experiment.tuning is None
        else {
            "seeds": list(experiment.tuning.seeds),
            "grid": list(experiment.tuning.grid),
            "own": {method.label: list(method.grid) for method in experiment.methods if method.grid},
            "share": experiment.tuning.share,
        },
        "environment": stored["environment"],
        "absent": stored.get("absent", {}),
        "cases": found,
        "claims": judge(experiment.claims, found, lower_is_better=experiment.measure != "success-rate"),
    }


def _case(
    experiment: Experiment, case: Case, methods: tuple[Method, ...], out: Path
) -> dict[str, Any] | None:
    groups = {
        method.label: Group(
            method,
            tuple(Folder(out / case.name / method.label / f"seed-{seed}") for seed in experiment.seeds),
        )
        for method in methods
    }
    reference = out / case.name / "reference.json"
    return gather(case, groups, experiment.measure, reference, tuned_rates(out, case.name))


@dataclass(frozen=True)
class Group:
    """Runs of one method that differ in the seed alone."""

    method: Method
    folders: tuple[Folder, ...]


def gather(
    case: Case, groups: dict[str, Group], measure: str, reference: Path, rates: dict[str, Any]
) -> dict[str, Any] | None:
    """One case: its curves on one grid; None where no run is finished."""
    column = "success-rate" if measure == "success-rate" else "objective"
    runs: dict[str, list[Run]] = {}
    for label, group in groups.items():
        for folder in group.folders:
            if folder.finished:
                trace = read_trace(folder.trace)
                run = read_json(folder.summary), np.array(trace["queries"]), np.array(trace[column])
                runs.setdefault(label, []).append(run)
    if not runs:
        return None
    flat = [run for found in runs.values() for run in found]
    optimum = _optimum(reference, flat) if measure == "gap" else None
    grid = _grid([queries for _, queries, _ in flat], case.budget)
    first = flat[0]
    return {
        "name": case.name,
        "title": case.title or case.name,
        "n": first[0]["n"],
        "dim": first[0]["dim"],
        "set": first[0]["set"],
        "budget": case.budget,
        "tune_share": case.tune_share,
        "optimum": optimum,
        "start": _measured(first[2][:1], optimum)[0],
        "queries": grid,
        "curves": [
            _curve(label, groups[label].method, found, grid, optimum, rates.get(label))
            for label, found in runs.items()
        ],
    }


def compare(folders: Sequence[Path]) -> dict[str, Any]:
    """A summary of every finished run below the given directories, grouped by case and method.

    Methods of different directories that share a label are told apart by the name of the directory. Objectives are
    compared, or gaps where each directory has the same reference value for a case.
    """
    found: dict[str, dict[str, Group]] = {}
    cases: dict[str, Case] = {}
    references: dict[str, Path] = {}
    measures = set()
    for root in folders:
        specs = [path for path in sorted(root.rglob("spec.json")) if not path.parent.name.startswith("tune-")]
        if not specs:
            raise StoreError(f"{root} holds no run: there is no spec.json below it.")
        for path in specs:
            unit, folder = Unit.read(path.parent), Folder(path.parent)
            label = unit.method.label if len(folders) == 1 else f"{unit.method.label} ({root.name})"
            old = found.setdefault(unit.case.name, {}).get(label, Group(unit.method, ()))
            found[unit.case.name][label] = replace(old, folders=(*old.folders, folder))
            before = cases.get(unit.case.name, unit.case)
            cases[unit.case.name] = replace(unit.case, budget=max(unit.case.budget, before.budget))
            measures.add(unit.measure)
            references.setdefault(unit.case.name, path.parent.parent.parent / "reference.json")
    measure = measures.pop() if len(measures) == 1 else "objective"
    summaries = [
        summary
        for name, groups in found.items()
        if (summary := gather(cases[name], groups, measure, references[name], {})) is not None
    ]
    if not summaries:
        raise StoreError(
            f"None of the runs in {', '.join(map(str, folders))} is finished. Continue them with: zofw resume"
        )
    return {
        "name": "comparison",
        "profile": "",
        "title": "Comparison of " + ", ".join(root.name for root in folders),
        "about": "",
        "kind": "curves",
        "measure": measure,
        "fingerprint": fingerprint([summary["name"] for summary in summaries]),
        "seeds": sorted(
            {Unit.read(f.path).seed for groups in found.values() for g in groups.values() for f in g.folders}
        ),
        "tuning": None,
        "environment": environment(),
        "absent": {},
        "cases": summaries,
        "claims": [],
    }


def _optimum(path: Path, runs: list[Run]) -> dict[str, Any]:
    """The reference value, or the best value of any run where that is lower and nothing is certified."""
    best = min(float(np.nanmin(values)) for _, _, values in runs)
    if not path.is_file():
        return {"value": best, "label": "best value of any run; there is no reference", "certified": False}
    kept = read_json(path)
    value, label = kept["value"], kept["label"]
    if best < value and not kept["certified"]:
        value, label = (
            best,
            f"best value of any run, {kept['value'] - best:.1e} below the reference ({label})",
        )
    return {"value": value, "label": label, "certified": kept["certified"]}


def _measured(values: Array, optimum: dict[str, Any] | None) -> Array:
    return values if optimum is None else np.maximum(values - optimum["value"], FLOOR)


def _grid(queries: list[NDArray[Any]], budget: int) -> Array:
    """Log-spaced numbers of queries, from below the first iteration of any run to the budget."""
    first = min((float(q[1]) for q in queries if len(q) > 1), default=float(budget))
    low = max(1.0, min(first / 2, budget / 10))
    count = max(2, round(PER_DECADE * np.log10(budget / low)) + 1)
    return np.asarray(np.round(np.geomspace(low, budget, count)))


def held(queries: Array, values: Array, grid: Array) -> Array:
    """The last value known at each point of the grid."""
    return np.asarray(values[np.maximum(np.searchsorted(queries, grid, side="right") - 1, 0)])


def _curve(
    label: str,
    method: Method,
    runs: list[Run],
    grid: Array,
    optimum: dict[str, Any] | None,
    tuned: dict[str, Any] | None,
) -> dict[str, Any]:
    table = np.array([_measured(held(queries, values, grid), optimum) for _, queries, values in runs])
    low, median, high = np.quantile(table, [0.25, 0.5, 0.75], axis=0)
    ends = [result for result, _, _ in runs]

    def middle(name: str) -> float:
        return float(np.median([result[name] for result in ends]))

    return {
        "label": label,
        "method": method.name,
        "group": method.group,
        "settings": ends[0]["settings"],
        "reasons": ends[0]["reasons"],
        "runs": len(runs),
        "lr": None if tuned is None else tuned["lr"],
        "tuning": tuned,
        "median": median,
        "low": low,
        "high": high,
        "end": {
            "median": median[-1],
            "low": low[-1],
            "high": high[-1],
            **{name: middle(name) for name in ("queries", "iterations", "lmos", "seconds")},
            "status": ends[0]["status"],
            "message": ends[0]["message"],
            **({"distortion": middle("distortion")} if all("distortion" in end for end in ends) else {}),
        },
    }
