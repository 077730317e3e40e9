"""Stored runs in a few numbers: median and quartiles over the seeds on one grid of queries, and where each run ended.

A curve is the last value known at a number of queries: until a method has paid for its first iteration it is the value at
x_0. The x axis counts evaluations of single components.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from zofw.core import Array
from zofw.lab.claims import judge
from zofw.lab.experiment import present, tuned_rates
from zofw.lab.methods import all_methods
from zofw.lab.spec import Case, Experiment, Method, SpecError, revive
from zofw.lab.store import Folder, StoreError, read_json, read_trace

__all__ = ["read_experiment", "summarise"]

PER_DECADE = 20
FLOOR = 1e-12  # smallest gap that is told from 0


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
            "share": experiment.tuning.share,
        },
        "environment": stored["environment"],
        "absent": stored.get("absent", {}),
        "cases": found,
        "claims": judge(experiment.claims, found, lower_is_better=experiment.measure != "success-rate"),
    }


def _case(experiment: Experiment, case: Case, methods: tuple[Method, ...], out: Path) -> dict[str, Any] | None:
    column = "success-rate" if experiment.measure == "success-rate" else "objective"
    runs: dict[str, list[tuple[dict[str, Any], Array, Array]]] = {}
    for method in methods:
        for seed in experiment.seeds:
            folder = Folder(out / case.name / method.label / f"seed-{seed}")
            if folder.finished:
                trace = read_trace(folder.trace)
                run = read_json(folder.summary), np.array(trace["queries"]), np.array(trace[column])
                runs.setdefault(method.label, []).append(run)
    if not runs:
        return None
    flat = [run for group in runs.values() for run in group]
    optimum = _optimum(out / case.name / "reference.json", flat) if experiment.measure == "gap" else None
    grid = _grid([queries for _, queries, _ in flat], case.budget)
    rates = tuned_rates(out, case.name)
    curves = [
        _curve(method, runs[method.label], grid, optimum, rates.get(method.label), experiment.measure)
        for method in methods
        if method.label in runs
    ]
    first = flat[0]
    return {
        "name": case.name,
        "title": case.title or case.name,
        "n": first[0]["n"],
        "dim": first[0]["dim"],
        "set": first[0]["set"],
        "budget": case.budget,
        "optimum": optimum,
        "start": _measured(first[2][:1], optimum)[0],
        "queries": grid,
        "curves": curves,
    }


def _optimum(path: Path, runs: list[tuple[dict[str, Any], Array, Array]]) -> dict[str, Any]:
    """The reference value, or the best value of any run where that is lower and nothing is certified."""
    best = min(float(np.nanmin(values)) for _, _, values in runs)
    if not path.is_file():
        return {"value": best, "label": "best value of any run; there is no reference", "certified": False}
    kept = read_json(path)
    value, label = kept["value"], kept["label"]
    if best < value and not kept["certified"]:
        value, label = best, f"best value of any run, {kept['value'] - best:.1e} below the reference ({label})"
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
    method: Method,
    runs: list[tuple[dict[str, Any], Array, Array]],
    grid: Array,
    optimum: dict[str, Any] | None,
    tuned: dict[str, Any] | None,
    measure: str,
) -> dict[str, Any]:
    table = np.array([_measured(held(queries, values, grid), optimum) for _, queries, values in runs])
    low, median, high = np.quantile(table, [0.25, 0.5, 0.75], axis=0)
    ends = [result for result, _, _ in runs]

    def middle(name: str) -> float:
        return float(np.median([result[name] for result in ends]))

    return {
        "label": method.label,
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
            **({"distortion": middle("distortion")} if measure == "success-rate" and "distortion" in ends[0] else {}),
        },
    }
