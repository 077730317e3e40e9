"""An experiment from its specification to its stored runs: reference values, tuning, then the reported seeds."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from zofw.lab.cases import missing_files
from zofw.lab.methods import all_methods
from zofw.lab.runner import Outcome, Progress, Unit, attempt_optimum, one_thread, run_all
from zofw.lab.spec import Case, Experiment, Method, SpecError
from zofw.lab.store import environment, read_json, write_json

__all__ = ["Watcher", "conduct", "tune"]


@dataclass(frozen=True)
class Watcher:
    """Who is told what happens."""

    stage: Callable[[str, int], None] = lambda words, runs: None
    progress: Callable[[Progress], None] = lambda progress: None
    outcome: Callable[[Outcome], None] = lambda outcome: None


def present(
    experiment: Experiment, only: Sequence[str] = ()
) -> tuple[tuple[Case, ...], dict[str, list[str]]]:
    """Cases whose files are here, of those named where some are, and what is missing for the optional others."""
    for name in only:
        if name not in [case.name for case in experiment.cases]:
            known = ", ".join(case.name for case in experiment.cases)
            raise SpecError(f"{experiment.name} with this profile has no case {name!r}; it has {known}.")
    absent = {case.name: missing_files(case) for case in experiment.cases if case.optional}
    absent = {name: files for name, files in absent.items() if files}
    cases = (case for case in experiment.cases if case.name not in absent and (not only or case.name in only))
    return tuple(cases), absent


def conduct(
    experiment: Experiment,
    out: Path,
    *,
    workers: int = 2,
    watcher: Watcher = Watcher(),
    only: Sequence[str] = (),
) -> list[str]:
    """Do what is not done yet, of the named cases or of all; returns a sentence for everything that went wrong."""
    cases, absent = present(experiment, only)
    out.mkdir(parents=True, exist_ok=True)
    write_json(
        out / "experiment.json",
        {
            "spec": experiment.document(),
            "fingerprint": experiment.fingerprint,
            "environment": environment(),
            "absent": absent,
        },
    )
    problems = [*_optima(experiment, cases, out, workers, watcher)]
    rates, more = tune(experiment, out, workers=workers, watcher=watcher, only=only)
    problems += more
    units = [
        _unit(
            experiment,
            case,
            method,
            rates.get((case.name, method.label)),
            seed,
            out / case.name / method.label / f"seed-{seed}",
        )
        for case in cases
        for seed in experiment.seeds
        for method in all_methods(experiment.methods, experiment.others)
    ]
    watcher.stage("reported runs", len(units))
    outcomes = run_all(units, workers=workers, tell=watcher.progress, ended=watcher.outcome)
    return problems + [outcome.error for outcome in outcomes if outcome.error]


def _optima(
    experiment: Experiment, cases: tuple[Case, ...], out: Path, workers: int, watcher: Watcher
) -> list[str]:
    """Reference values, where gaps are measured."""
    if experiment.measure != "gap":
        return []
    watcher.stage("reference values", len(cases))
    with one_thread():
        found = [
            attempt_optimum(
                case, experiment.folder, str(out / case.name / "reference.json"), experiment.starts
            )
            for case in cases
        ]
    return [value for value in found if isinstance(value, str)]


def _unit(
    experiment: Experiment, case: Case, method: Method, lr: float | None, seed: int, path: Path
) -> Unit:
    limit = None if math.isinf(experiment.max_time) else experiment.max_time
    return Unit(
        str(path), case, method, lr, seed, experiment.measure, experiment.diagnose, limit, experiment.folder
    )


def tune(
    experiment: Experiment,
    out: Path,
    *,
    workers: int = 2,
    watcher: Watcher = Watcher(),
    only: Sequence[str] = (),
) -> tuple[dict[tuple[str, str], float], list[str]]:
    """The learning rate of every (case, method label) on the grid, by the median objective at the end over the tuning seeds.

    A method's own grid, where it has one, replaces the experiment's. What was tried is kept in tuning.json of the case.
    """
    tuning = experiment.tuning
    if tuning is None:
        return {}, []
    cases, _ = present(experiment, only)
    units: dict[tuple[str, str], list[Unit]] = {}
    for case in cases:
        shorter = replace(case, budget=max(1, int(case.budget * (case.tune_share or tuning.share))))
        for method in all_methods(experiment.methods, experiment.others):
            if method.name == "auto":
                continue
            units[case.name, method.label] = [
                _unit(
                    experiment,
                    shorter,
                    method,
                    lr,
                    seed,
                    out / case.name / method.label / f"tune-{lr:g}-{seed}",
                )
                for lr in method.grid or tuning.grid
                for seed in tuning.seeds
            ]
    flat = [unit for group in units.values() for unit in group]
    watcher.stage("tuning", len(flat))
    outcomes = {
        outcome.unit.path: outcome
        for outcome in run_all(flat, workers=workers, tell=watcher.progress, ended=watcher.outcome)
    }
    rates: dict[tuple[str, str], float] = {}
    for case in cases:
        kept: dict[str, Any] = {}
        for (name, label), group in units.items():
            if name != case.name:
                continue
            scores = _scores([outcomes[unit.path] for unit in group])
            if scores:
                rates[name, label] = min(scores, key=lambda lr: (scores[lr], abs(math.log(lr))))
                kept[label] = {
                    "lr": rates[name, label],
                    "scores": {f"{lr:g}": score for lr, score in scores.items()},
                    "at_edge": rates[name, label] in (min(scores), max(scores)) and len(scores) > 1,
                }
        about = {
            "seeds": tuning.seeds,
            "share": case.tune_share or tuning.share,
            "measure": "objective",
        }
        write_json(out / case.name / "tuning.json", {"methods": kept, **about})
    return rates, [outcome.error for outcome in outcomes.values() if outcome.error]


def _scores(outcomes: list[Outcome]) -> dict[float, float]:
    """Median of the objective at the end for each rate; of a success rate short runs see too little."""
    ends: dict[float, list[float]] = {}
    for outcome in outcomes:
        if outcome.result is not None and outcome.unit.lr is not None:
            ends.setdefault(outcome.unit.lr, []).append(outcome.result["objective"])
    return {lr: statistics.median(values) for lr, values in ends.items()}


def tuned_rates(out: Path, case: str) -> dict[str, Any]:
    """What tuning.json of a case says, by label; empty where nothing was tuned."""
    path = out / case / "tuning.json"
    return dict(read_json(path)["methods"]) if path.is_file() else {}
