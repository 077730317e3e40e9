"""An experiment from its specification to its stored runs: reference values, tuning, then the reported seeds."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from pathlib import Path

import numpy as np

from zofw.core import Array
from zofw_paper.cases import NO_CODE, Code, missing_files
from zofw_paper.methods import chosen_methods
from zofw_paper.provenance import Environment, environment
from zofw_paper.records import SpecError, record
from zofw_paper.runner import Unit, UnitOutcome, Watcher, find_optimum, one_thread, run_all
from zofw_paper.scaling import scaling_rows
from zofw_paper.spec import Case, Experiment, Method, fingerprint, read
from zofw_paper.store import Folder, StoreError, read_json, read_record, read_trace, write_json

WINDOW = 0.9  # share of the queries at which the last tenth begins
LEAST_RATE, MOST_RATE = 1e-4, 1e4  # beyond which no grid is widened


@dataclass(frozen=True)
class StoredExperiment:
    """What experiment.json says."""

    spec: Experiment
    fingerprint: str
    environment: Environment
    absent: dict[str, tuple[str, ...]] = field(default_factory=dict)

    @classmethod
    def read(cls, out: Path) -> StoredExperiment:
        """Return the experiment whose runs a directory holds."""
        path = out / "experiment.json"
        if not path.is_file():
            raise StoreError(
                f"{out} holds no experiment: there is no experiment.json. Name a directory that zofw run, demo or reproduce made."
            )
        return read_record(cls, path, "a stored experiment")


def find_experiment(name: str) -> Path:
    """Return the file of that name in ./experiments, or in the source checkout of this package."""
    folders = (Path("experiments"), Path(__file__).parents[2] / "experiments")
    for folder in folders:
        if (folder / f"{name}.toml").is_file():
            return folder / f"{name}.toml"
    known = sorted({path.stem for folder in folders for path in folder.glob("*.toml")})
    raise SpecError(
        f"There is no experiment {name!r}; there is {', '.join(known) or 'none here'}. Experiments are files of the folder "
        "experiments of a source checkout."
    )


def source_of(experiment: Experiment) -> Experiment:
    """Return the experiment whose runs this one shows."""
    return read(find_experiment(experiment.source), experiment.profile or None)


def identity(experiment: Experiment) -> str:
    """Return the fingerprint of an experiment and, where it shows the runs of another, of that one too."""
    if experiment.kind != "images":
        return experiment.fingerprint
    return fingerprint([experiment.fingerprint, source_of(experiment).fingerprint])


def present(
    experiment: Experiment, only: Sequence[str] = ()
) -> tuple[tuple[Case, ...], dict[str, tuple[str, ...]]]:
    """Return cases whose files are here, of those named where some are, and what is missing for the optional others."""
    for name in only:
        if name not in [case.name for case in experiment.cases]:
            known = ", ".join(case.name for case in experiment.cases)
            raise SpecError(f"{experiment.name} with this profile has no case {name!r}; it has {known}.")
    absent = {case.name: tuple(missing_files(case)) for case in experiment.cases if case.optional}
    absent = {name: files for name, files in absent.items() if files}
    cases = (case for case in experiment.cases if case.name not in absent and (not only or case.name in only))
    return tuple(cases), absent


def next_to(out: Path, experiment: Experiment) -> Path:
    """Return the directory, next to this one, of the experiment whose runs this one shows."""
    return out.with_name("-".join(filter(None, (experiment.name, experiment.profile))))


def conduct(
    experiment: Experiment,
    out: Path,
    *,
    code: Code = NO_CODE,
    workers: int = 2,
    watcher: Watcher = Watcher(),
    only: Sequence[str] = (),
    labels: Sequence[str] = (),
) -> list[str]:
    """Do what is not done yet, of the named cases and methods or of all; returns a sentence for everything that went wrong."""
    cases, absent = present(experiment, only)
    chosen = chosen_methods(experiment, labels)
    made_by = environment(*(method.name for method in chosen_methods(experiment)))
    write_json(out / "experiment.json", StoredExperiment(experiment, identity(experiment), made_by, absent))
    if experiment.kind == "images":
        source = source_of(experiment)
        there = next_to(out, source)
        return conduct(source, there, code=code, workers=workers, watcher=watcher, only=only, labels=labels)
    if experiment.kind != "curves":
        write_json(out / "rows.json", scaling_rows(experiment, out, watcher))
        return []
    sentences: list[str] = []
    if experiment.measure == "gap":
        watcher.stage("reference values", len(cases))
        with one_thread():
            found = [
                find_optimum(case, code, out / case.name / "reference.json", experiment.starts)
                for case in cases
            ]
        sentences += [value for value in found if isinstance(value, str)]
    rates, more = tune(experiment, out, code=code, workers=workers, watcher=watcher, only=only, labels=labels)
    units = [
        _unit(experiment, out, case, method, rates.get((case.name, method.label)), seed, f"seed-{seed}", code)
        for case in cases
        for seed in experiment.seeds
        for method in chosen
        if seed in experiment.seeds_of(method.label)
    ]
    watcher.stage("reported runs", len(units))
    outcomes = run_all(units, workers=workers, watcher=watcher)
    return [*sentences, *more, *(outcome.error for outcome in outcomes if outcome.error)]


def _unit(
    experiment: Experiment, out: Path, case: Case, method: Method, lr: float | None, seed: int, name: str, code: Code
) -> Unit:  # fmt: skip
    path = str(out / case.name / method.label / name)
    shared = experiment.measure, experiment.diagnose, experiment.max_time
    return Unit(path, case, method, lr, seed, *shared, code)


@dataclass(frozen=True)
class Rate:
    """A learning rate: the scores of all that were tried, none where it was given, and on which share of the budget."""

    lr: float
    scores: dict[str, float]
    at_edge: bool
    share: float = 1.0


def tune(
    experiment: Experiment,
    out: Path,
    *,
    code: Code = NO_CODE,
    workers: int = 2,
    watcher: Watcher = Watcher(),
    only: Sequence[str] = (),
    labels: Sequence[str] = (),
) -> tuple[dict[tuple[str, str], float], list[str]]:
    """Return the learning rate of every (case, method label), by one rule for all.

    The score of a rate is the median over the tuning seeds of the window median: the median of the objective over the
    last tenth of the queries. A method's own grid, where it has one, replaces the experiment's; with ``widen`` a grid
    whose best rate is its first or last grows by its own ratio, until the best lies inside. A grid of one rate that is not
    widened is that rate, without a run. What was tried is kept in tuning.json of the case.
    """
    tuning = experiment.tuning
    if not tuning.seeds:
        return {}, []
    cases, _ = present(experiment, only)
    methods = [m for m in chosen_methods(experiment, labels) if m.name != "auto"]
    shares = {m.label: tuning.shares.get(m.label, tuning.share) for m in methods}
    own = {m.label: sorted(tuning.grids.get(m.label) or m.grid or tuning.grid) for m in methods}
    grids = {(case.name, m.label): own[m.label] for case, m in product(cases, methods)}
    given = {key: grid[0] for key, grid in grids.items() if len(grid) == 1 and not tuning.widen}
    scores: dict[tuple[str, str], dict[float, float]] = {key: {} for key in grids if key not in given}
    sentences: list[str] = []
    tried: set[str] = set()
    while True:
        units = [
            _unit(experiment, out, shorter, method, lr, seed, f"tune-{lr:g}-{seed}", code)
            for case, method in product(cases, methods)
            if (case.name, method.label) not in given
            for shorter in [replace(case, budget=max(1, int(case.budget * shares[method.label])))]
            for lr in grids[case.name, method.label]
            for seed in tuning.seeds
        ]
        units = [unit for unit in units if unit.path not in tried]
        if not units:
            break
        tried |= {unit.path for unit in units}
        watcher.stage("tuning", len(units))
        outcomes = run_all(units, workers=workers, watcher=watcher)
        sentences += [outcome.error for outcome in outcomes if outcome.error]
        for key, found in scores.items():
            found |= _scores([o for o in outcomes if (o.unit.case.name, o.unit.method.label) == key])
            if tuning.widen and found:
                grids[key] = widened(grids[key], best_rate(found))
    for case in cases:
        kept = {
            label: Rate(
                best_rate(found),
                {f"{lr:g}": found[lr] for lr in sorted(found)},
                best_rate(found) in (min(found), max(found)) and len(found) > 1,
                shares[label],
            )
            for (name, label), found in scores.items()
            if name == case.name and found
        }
        kept |= {label: Rate(lr, {}, False) for (name, label), lr in given.items() if name == case.name}
        found_before = tuned_rates(out, case.name)
        write_json(out / case.name / "tuning.json", {"methods": found_before | kept, "seeds": tuning.seeds})
    return given | {key: best_rate(found) for key, found in scores.items() if found}, sentences


def best_rate(scores: dict[float, float]) -> float:
    """Return the rate with the lowest score; of equals the one nearest to 1."""
    return min(scores, key=lambda lr: (scores[lr], abs(math.log(lr))))


def widened(grid: list[float], best: float) -> list[float]:
    """Return the grid and, where its best rate is its first or last, one rate more beyond it."""
    ratio = grid[1] / grid[0] if len(grid) > 1 else 2.0
    below = [grid[0] / ratio] if best == grid[0] and grid[0] / ratio > LEAST_RATE else []
    above = [grid[-1] * ratio] if best == grid[-1] and grid[-1] * ratio < MOST_RATE else []
    return [*below, *grid, *above]


def _scores(outcomes: list[UnitOutcome]) -> dict[float, float]:
    """For each rate the median over the seeds of the window median."""
    ends: dict[float, list[float]] = {}
    for outcome in outcomes:
        if outcome.result is not None and outcome.unit.lr is not None:
            trace = read_trace(Folder(outcome.unit.path).trace)
            end = window_median(trace["queries"], trace["objective"], outcome.unit.case.budget)
            ends.setdefault(outcome.unit.lr, []).append(end)
    return {lr: statistics.median(values) for lr, values in ends.items()}


def window_median(queries: Array, values: Array, at: float) -> float:
    """Return the median of the values known over the last tenth of ``at`` queries, or the last value before it."""
    last = max(1, int(np.searchsorted(queries, at, side="right")))
    first = min(int(np.searchsorted(queries, WINDOW * at, side="right")), last - 1)
    return float(np.median(values[first:last]))


def tuned_rates(out: Path, case: str) -> dict[str, Rate]:
    """What tuning.json of a case says, by label; empty where nothing was tuned."""
    path = out / case / "tuning.json"
    found = read_json(path)["methods"] if path.is_file() else {}
    return {label: record(Rate, rate, f"{path}, {label}") for label, rate in found.items()}
