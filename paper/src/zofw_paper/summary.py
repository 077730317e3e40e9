"""StoredExperiment runs in a few numbers: median and quartiles over the seeds on one grid of queries, and where each run ended.

A curve is the last value known at a number of queries: until a method has paid for its first iteration it is the value at
x_0. Beside it stands the window median, the median of the values over the last tenth of the queries, which luck with the
last iterate does not move; claims and crossings are decided on it. The x axis counts evaluations of single components.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations, permutations
from pathlib import Path

import numpy as np

from zofw.core import Array
from zofw_paper.cases import Optimum
from zofw_paper.claims import Band, Lines, Verdict, judge
from zofw_paper.curves import Crossing, crossing, held, query_grid, rounded, windows
from zofw_paper.experiment import Rate, StoredExperiment, present, tuned_rates
from zofw_paper.methods import chosen_methods
from zofw_paper.provenance import Environment, environment
from zofw_paper.runner import Ended, Unit
from zofw_paper.spec import (
    Case,
    Costs,
    Experiment,
    ExperimentKind,
    Measure,
    Method,
    MethodGroup,
    Tuning,
    fingerprint,
)
from zofw_paper.store import Folder, StoreError, read_record, read_trace

QUARTILES = [0.25, 0.5, 0.75]
OPENING = 6  # rows of a trace that are published, to be repeated with later code
FLOOR = 1e-12  # smallest gap that is told from 0
UNRUN = 10  # cases and methods that may be missing from a page, in any combination; of more, all or none


@dataclass(frozen=True)
class End:
    """Where the runs of a method ended: last iterates and window medians; medians of the counts."""

    last: Band
    window: Band
    queries: float
    iterations: float
    lmos: float
    seconds: float
    status: str
    message: str
    distortion: float | None = None


@dataclass(frozen=True)
class Curve:
    """A method on a case: median and quartiles over the seeds of the last iterates and of the window medians."""

    label: str
    method: str
    group: MethodGroup
    settings: str
    reasons: Mapping[str, str]
    runs: int
    median: tuple[float, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]
    end: End
    window: tuple[float, ...] = ()
    window_low: tuple[float, ...] = ()
    window_high: tuple[float, ...] = ()
    each: tuple[tuple[float, ...], ...] = ()  # the window medians of every run
    rate: Rate | None = None
    opening: tuple[tuple[float, ...], ...] = ()  # the first rows, queries and objective, of the first seed

    @property
    def lr(self) -> float | None:
        return None if self.rate is None else self.rate.lr

    @property
    def band(self) -> tuple[tuple[float, ...], ...]:
        """Return lower quartile, median and upper quartile of the window medians, or of last iterates where there are none."""
        if self.window:
            return self.window_low, self.window, self.window_high
        return self.low, self.median, self.high


@dataclass(frozen=True)
class CaseSummary:
    """A case: its curves on one grid of queries, and who overtakes whom."""

    name: str
    title: str
    n: int
    dim: int
    set: str
    budget: int
    optimum: Optimum | None
    start: float
    queries: tuple[float, ...]
    curves: tuple[Curve, ...]
    crossings: tuple[Crossing, ...] = ()

    def lines(self) -> Lines:
        """What claims look at."""
        bands = {curve.label: np.array(curve.band) for curve in self.curves}
        paper = frozenset(curve.label for curve in self.curves if curve.group == "paper")
        idle = frozenset(curve.label for curve in self.curves if curve.end.iterations == 0)
        return Lines(self.name, self.budget, np.array(self.queries), bands, paper, idle)


@dataclass(frozen=True)
class Summary:
    """Everything that figures, tables, claims and the report need."""

    name: str
    profile: str
    title: str
    about: str
    kind: ExperimentKind
    measure: Measure
    fingerprint: str
    seeds: tuple[int, ...]
    tuning: Tuning
    environment: Environment
    note: str = ""
    grids: Mapping[str, tuple[float, ...]] = field(
        default_factory=dict
    )  # first rates of methods with their own
    absent: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    cases: tuple[CaseSummary, ...] = ()
    claims: tuple[Verdict, ...] = ()
    costs: Costs | None = None
    rows: tuple[Mapping[str, str], ...] = ()

    @property
    def lines(self) -> list[list[str]]:
        """Return the rows of the table, where there is one, without their heads."""
        return [list(row.values()) for row in self.rows]

    @property
    def labels(self) -> list[str]:
        """Return labels of every method in any case, in order of the first appearance."""
        return list(dict.fromkeys(curve.label for case in self.cases for curve in case.curves))


def read_summary(folder: Path) -> Summary:
    """Return the summary that a report left in a directory."""
    path = folder / "summary.json"
    if not path.is_file():
        raise StoreError(f"{folder} has no summary.json; make it with: zofw report {folder}")
    return read_record(Summary, path, "a summary")


def described(stored: StoredExperiment) -> Summary:
    """Return the experiment of a directory, without any numbers yet."""
    spec = stored.spec
    return Summary(
        spec.name, spec.profile, spec.title or spec.name, spec.about.strip(), spec.kind, spec.measure,
        stored.fingerprint, spec.seeds, spec.tuning, stored.environment, spec.note,
        {method.label: method.grid for method in spec.methods if method.grid} | dict(spec.tuning.grids), stored.absent, costs=spec.costs,
    )  # fmt: skip


def summarise(stored: StoredExperiment, out: Path, beside: Summary | None = None) -> Summary:
    """Return the curves of an experiment's finished runs and, of cases and methods that have none here, those that ``beside`` has.

    Raises
    ------
    StoreError
        No run is finished; or ``beside`` is of another specification.
    """
    experiment, found = stored.spec, list[CaseSummary]()
    others = {} if beside is None else _comparable(beside, stored)
    for case in present(experiment)[0]:
        groups = {method.label: MethodRuns(method) for method in chosen_methods(experiment)}
        for label, group in groups.items():
            for seed in experiment.seeds_of(label):
                group.add(Folder(out / case.name / label / f"seed-{seed}"), experiment.measure)
        reference, rates = out / case.name / "reference.json", tuned_rates(out, case.name)
        gathered = gather(case, groups, experiment.measure, reference, rates, others.get(case.name))
        found += [] if gathered is None else [gathered]
    if not found:
        raise StoreError(f"{out} has no finished run yet. Continue it with: zofw resume {out}")
    lower = experiment.measure != "success-rate"
    claims = judge(experiment.claims, [case.lines() for case in found], lower_is_better=lower)
    ends = sorted(out.glob("*/*/*/result.json"))
    made_by = _made_by(stored.environment, ends)
    if beside is not None:
        new = {path.parts[-4:-2] for path in ends}
        kept = {c.method for case in beside.cases for c in case.curves if (case.name, c.label) not in new}
        made_by = _joined(beside.environment, made_by, kept)
    return replace(described(stored), cases=tuple(found), claims=claims, environment=made_by)


def _comparable(beside: Summary, stored: StoredExperiment) -> dict[str, CaseSummary]:
    """Return the cases of a summary by name, where new runs can stand beside its own.

    They can if the specification is the same, or the published one is a part of it, whatever number of its seeds each row has.
    """
    spec = stored.spec
    runs = {curve.label: curve.runs for case in beside.cases for curve in case.curves}
    numbers = ({**spec.fewer, **runs}, runs)  # what has no row yet may have been meant to have all seeds
    fewer = [{label: n for label, n in given.items() if n < len(spec.seeds)} for given in numbers]
    specs = (spec, *(replace(spec, fewer=given) for given in fewer))
    parts = (part for each in specs for part in _parts(each, beside))
    if all(beside.fingerprint != part.fingerprint for part in parts):
        raise StoreError(
            f"What is published of {beside.name} is of another specification ({beside.fingerprint}, now {stored.fingerprint}), "
            "so these runs cannot be put beside it. Run all its cases and methods."
        )
    return {case.name: case for case in beside.cases}


def _parts(experiment: Experiment, published: Summary) -> Iterator[Experiment]:
    """The experiment with the published cases and methods, and any of those that have no runs there yet."""
    there = {case.name for case in published.cases} | {*published.labels}
    known = [case.name for case in experiment.cases] + [method.label for method in experiment.methods]
    rest = [name for name in known if name not in there]
    for count in range(len(rest) + 1) if len(rest) <= UNRUN else (0, len(rest)):
        for more in combinations(rest, count):
            yield _part(experiment, there.union(more))


def _part(experiment: Experiment, names: Collection[str]) -> Experiment:
    """Return the experiment with those of its cases and methods alone."""
    tuning = experiment.tuning
    return replace(
        experiment,
        cases=tuple(case for case in experiment.cases if case.name in names),
        methods=tuple(method for method in experiment.methods if method.label in names),
        fewer={label: count for label, count in experiment.fewer.items() if label in names},
        tuning=replace(
            tuning,
            shares={label: share for label, share in tuning.shares.items() if label in names},
            grids={label: grid for label, grid in tuning.grids.items() if label in names},
        ),
    )


def _made_by(environment: Environment, ends: Sequence[Path]) -> Environment:
    """Return the environment with the commits and the code that each finished run names: several of them where they differ."""
    code: dict[str, set[str]] = {}
    commits: dict[str, set[str]] = {}
    for path in ends:
        run = read_record(Environment, Folder(path.parent).environment, "an environment")
        for name, digest in run.code.items():
            code.setdefault(name, set()).add(digest)
            commits.setdefault(name, set()).add(run.commit or "not known")
    joined = [{name: " ".join(sorted(some)) for name, some in found.items()} for found in (code, commits)]
    return replace(environment, code=joined[0], commits=joined[1])


def _joined(before: Environment, now: Environment, kept: Collection[str]) -> Environment:
    """Return the present environment with what made the ``kept`` rows: of a method with new rows too, both codes and commits."""
    earlier = {**dict.fromkeys(before.code, before.commit or "not known"), **before.commits}

    def both(old: Mapping[str, str], new: Mapping[str, str]) -> dict[str, str]:
        twice = {
            n: " ".join(sorted({*old[n].split(), *new[n].split()})) for n in old.keys() & new.keys() & {*kept}
        }
        return {**old, **new, **twice}

    commits, code = both(earlier, now.commits), both(before.code, now.code)
    return replace(now, code=code, commits=commits, repeated=before.repeated)


@dataclass(frozen=True)
class _Run:
    ended: Ended
    queries: Array
    values: Array
    objective: Array


@dataclass(frozen=True)
class MethodRuns:
    """Finished runs of one method that differ in the seed alone."""

    method: Method
    runs: list[_Run] = field(default_factory=list)

    def add(self, folder: Folder, measure: Measure) -> None:
        """Read a run, if it is finished."""
        if folder.finished:
            trace = read_trace(folder.trace)
            values = trace["success-rate" if measure == "success-rate" else "objective"]
            self.runs.append(_Run(Ended.read(folder), trace["queries"], values, trace["objective"]))


def gather(
    case: Case,
    groups: Mapping[str, MethodRuns],
    measure: Measure,
    reference: Path,
    rates: Mapping[str, Rate],
    beside: CaseSummary | None = None,
) -> CaseSummary | None:
    """Return one case: its curves on one grid, with those of ``beside`` for methods without a run; None where there is nothing."""
    here = {label: group for label, group in groups.items() if group.runs}
    flat = [run for group in here.values() for run in group.runs]
    if not flat:
        return beside
    optimum = _optimum(reference, flat, beside) if measure == "gap" else None
    grid = (
        query_grid([run.queries for run in flat], case.budget) if beside is None else np.array(beside.queries)
    )
    curves = {curve.label: curve for curve in beside.curves} if beside else {}
    curves |= {label: _curve(label, group, grid, optimum, rates.get(label)) for label, group in here.items()}
    curves = {label: curves[label] for label in groups if label in curves}
    known = {(c.method, c.rival): c for c in beside.crossings} if beside else {}
    known = {pair: c for pair, c in known.items() if not here.keys() & set(pair)}
    sign = -1.0 if measure == "success-rate" else 1.0
    known |= {  # where one of the two was published without the values of every run, it is not known
        (mine.label, rival.label): crossing(mine.label, rival.label, grid, mine.each, rival.each, sign)
        for mine, rival in permutations(curves.values(), 2)
        if mine.each and rival.each
    }
    first = flat[0]
    return CaseSummary(
        case.name, case.title or case.name, first.ended.n, first.ended.dim, first.ended.set, case.budget, optimum,
        float(rounded([_measured(first.values[:1], optimum)])[0, 0]), tuple(grid), tuple(curves.values()),
        tuple(known[pair] for pair in permutations(curves, 2) if pair in known),
    )  # fmt: skip


def compare(folders: Sequence[Path]) -> Summary:
    """Return a summary of every finished run below the given directories, grouped by case and method.

    Methods of different directories that share a label are told apart by the name of the directory. Objectives are
    compared, or gaps where each directory has the same reference value for a case.
    """
    units: list[tuple[Path, Unit]] = []
    for root in folders:
        specs = [path for path in sorted(root.rglob("spec.json")) if not path.parent.name.startswith("tune-")]
        if not specs:
            raise StoreError(f"{root} holds no run: there is no spec.json below it.")
        units += [(root, Unit.read(path.parent)) for path in specs]
    measures = {unit.measure for _, unit in units}
    measure: Measure = measures.pop() if len(measures) == 1 else "objective"
    summaries = []
    for name in dict.fromkeys(unit.case.name for _, unit in units):
        mine = [(root, unit) for root, unit in units if unit.case.name == name]
        groups: dict[str, MethodRuns] = {}
        for root, unit in mine:
            label = unit.method.label if len(folders) == 1 else f"{unit.method.label} ({root.name})"
            groups.setdefault(label, MethodRuns(unit.method)).add(Folder(unit.path), measure)
        case = replace(mine[-1][1].case, budget=max(unit.case.budget for _, unit in mine))
        gathered = gather(case, groups, measure, Path(mine[0][1].path).parents[1] / "reference.json", {})
        summaries += [] if gathered is None else [gathered]
    if not summaries:
        raise StoreError(
            f"None of the runs in {', '.join(map(str, folders))} is finished. Continue them with: zofw resume"
        )
    return Summary(
        "comparison", "", "Comparison of " + ", ".join(root.name for root in folders), "", "curves", measure,
        fingerprint([case.name for case in summaries]), tuple(sorted({unit.seed for _, unit in units})), Tuning(),
        environment(), cases=tuple(summaries),
    )  # fmt: skip


def _optimum(path: Path, runs: Sequence[_Run], beside: CaseSummary | None) -> Optimum:
    """Return the reference value, or the best value of any run where that is lower and nothing is certified."""
    best = min(float(np.nanmin(run.values)) for run in runs)
    if beside is not None and beside.optimum is not None:
        if not beside.optimum.certified and best < beside.optimum.value - FLOOR:
            raise StoreError(
                f"{beside.name}: a run found {best:.10g}, below the published f* = {beside.optimum.value:.10g}, so that the "
                "gaps of all methods change. Run all of them."
            )
        return beside.optimum
    if not path.is_file():
        return Optimum(best, "best value of any run; there is no reference", False)
    kept = replace(read_record(Optimum, path, "a reference value"), key={})
    if kept.certified or best >= kept.value:
        return kept
    label = f"best value of any run, {kept.value - best:.1e} below the reference ({kept.label})"
    return replace(kept, value=best, label=label)


def _measured(values: Array, optimum: Optimum | None) -> Array:
    return values if optimum is None else np.maximum(values - optimum.value, FLOOR)


def _band(values: Sequence[float] | Array) -> Band:
    return Band(*(float(q) for q in np.quantile(values, QUARTILES)))


def _curve(label: str, group: MethodRuns, grid: Array, optimum: Optimum | None, rate: Rate | None) -> Curve:
    method, runs = group.method, group.runs
    table = rounded([_measured(windows(run.queries, run.values, grid), optimum) for run in runs])
    last = rounded([_measured(held(run.queries, run.values, grid), optimum) for run in runs])
    names = ("low", "median", "high", "window_low", "window", "window_high")
    lines = [*np.quantile(last, QUARTILES, axis=0), *np.quantile(table, QUARTILES, axis=0)]
    quartiles = {name: tuple(line) for name, line in zip(names, lines, strict=True)}
    ends, first = [run.ended for run in runs], runs[0]
    counts = np.median([(e.queries, e.iterations, e.lmos, e.seconds) for e in ends], axis=0)
    queries, iterations, lmos, seconds = map(float, counts)
    shifts = [end.distortion for end in ends if end.distortion is not None]
    shift = float(np.median(shifts)) if shifts else None
    end = End(
        _band(last[:, -1]), _band(table[:, -1]), queries, iterations, lmos, seconds,
        ends[0].status, ends[0].message, shift,
    )  # fmt: skip
    return Curve(
        label, method.name, method.group, ends[0].settings, ends[0].reasons, len(runs),
        end=end, rate=rate, each=tuple(tuple(row) for row in table), **quartiles,
        opening=tuple(zip(first.queries[:OPENING], first.objective[:OPENING], strict=True)),
    )  # fmt: skip
