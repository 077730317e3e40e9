"""``python -m benchmarks.rounds``: rounds of W evaluations side by side to a gap, on problems of known solution.

A query of k points takes ceil(k / W) rounds. Gaps are f(x) − f*, relative to f(x0) − f*, of the best point so far (with noise:
of the iterate, or of the point that the rival recommends). SLSQP takes forward differences, in the better of two schedules: f and
then its d differences, as SciPy's ``workers=`` does, or all d + 1 points at once. pycma has at least W points a generation.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import scipy.optimize

import zofw
from benchmarks.one_function import constraints, project
from benchmarks.planted import Instance, Problem
from zofw.core import Answer

GAPS = (1e-1, 1e-3, 1e-6)
NOISY_GAPS = (1e-1, 1e-2, 1e-2)
PLACES = (
    "box interior", "box face", "box vertex", "simplex interior", "simplex face", "simplex vertex",
    "l1 interior", "l1 face", "l1 vertex", "l2 interior", "l2 sphere",
)  # fmt: skip
SMOOTH = ("quadratic", "logsumexp", "rosenbrock")
KINKS = ("l1", "max", "piecewise")
MOST = 150  # evaluations for each dimension, of one worker
IN_ORDER = True
KEPT = Path(".benchmarks") / "rounds"


class Counter:
    """Rounds and evaluations at which each gap was first reached."""

    def __init__(self, problem: Problem, workers: int, gaps: tuple[float, ...]) -> None:
        self.problem, self.workers, self.gaps = problem, workers, gaps
        self.rounds = self.evaluations = 0
        self.reached: list[tuple[int, int] | None] = [None] * len(gaps)
        self.best = np.inf

    def query(self, gaps: list[float]) -> None:
        """Count one query with the gaps of its points."""
        for start in range(0, len(gaps), self.workers):
            part = gaps[start : start + self.workers]
            self.rounds += 1
            self.evaluations += len(part)
            self.note(min(part))

    def note(self, gap: float) -> None:
        self.best = min(self.best, gap)
        for k, goal in enumerate(self.gaps):
            if self.reached[k] is None and gap <= goal:
                self.reached[k] = self.rounds, self.evaluations

    @property
    def done(self) -> bool:
        most = MOST * self.problem.instance.dim
        return None not in self.reached or self.rounds > most or self.evaluations > 8 * most


def ours(instance: Instance, workers: int, seed: int = 0) -> dict:
    """A run of the default with so many workers."""
    problem, d = instance.build(), instance.dim
    counter = Counter(problem, workers, NOISY_GAPS if instance.noise else GAPS)
    noise, rng = instance.noise * problem.scale, np.random.default_rng(instance.seed + 1)
    session = zofw.Session(
        problem.set,
        dim=d,
        budget=10**6,
        rng=seed,
        method="interpolation",
        diagnose=0,
        workers=workers,
        in_order=IN_ORDER,
    )
    own, longest = 0.0, 0.0
    while not counter.done:
        began = time.process_time()
        query = session.ask()
        spent = time.process_time() - began
        if query is None:
            break
        X = query.anchors
        values = np.array([problem(x) for x in X])
        if noise:
            values = values + noise * rng.standard_normal(len(X))
            counter.query([np.inf] * len(X))
        else:
            counter.query([problem.gap(x) for x in X])
        began = time.process_time()
        session.tell(query, Answer(values[:, None]))
        session.ask()
        own += spent + time.process_time() - began
        longest = max(longest, spent + time.process_time() - began)
        if noise:
            counter.note(problem.gap(session.x))
    return summary(counter) | {"ms": 1e3 * own / max(counter.rounds, 1), "end": session.status.name}


def summary(counter: Counter) -> dict:
    return {"reached": counter.reached, "rounds": counter.rounds, "best": counter.best}


class Enough(Exception):
    """All gaps are reached, or the evaluations are spent."""


def slsqp(instance: Instance, workers: int, together: bool) -> dict:
    """SLSQP with forward differences of f; ``together`` asks f and all differences at once."""
    problem, d = instance.build(), instance.dim
    counter = Counter(problem, workers, NOISY_GAPS if instance.noise else GAPS)
    noise, rng = instance.noise * problem.scale, np.random.default_rng(instance.seed + 1)
    bounds, given = constraints(problem.set, d)
    gap = lambda x: problem.gap(project(problem, x))  # noqa: E731

    def f(x: np.ndarray) -> float:
        if counter.done:
            raise Enough
        if noise:
            counter.query([np.inf] * (d + 1 if together else 1))
            counter.note(gap(x))
        else:
            counter.query([gap(x)] + [np.inf] * d if together else [gap(x)])
        return problem(x) + noise * rng.standard_normal()

    def slope(x: np.ndarray) -> np.ndarray:
        if not together:
            counter.query([np.inf] * d)
        h = (noise / problem.scale) ** 0.5 if noise else 1.5e-8
        h *= np.maximum(1.0, np.abs(x))
        base = problem(x) + noise * rng.standard_normal()
        rise = np.array([problem(x + h[i] * e) - base for i, e in enumerate(np.eye(d))])
        return (rise + noise * rng.standard_normal(d)) / h

    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            scipy.optimize.minimize(
                f, problem.x0, jac=slope, method="SLSQP", bounds=bounds, constraints=given,
                options={"maxiter": 10**6, "ftol": 1e-16},
            )  # fmt: skip
    except Enough:
        pass
    return summary(counter)


def pycma(instance: Instance, workers: int) -> dict:
    import cma

    problem, d = instance.build(), instance.dim
    counter = Counter(problem, workers, NOISY_GAPS if instance.noise else GAPS)
    noise, rng = instance.noise * problem.scale, np.random.default_rng(instance.seed + 1)
    options = {"seed": instance.seed % 10**6 + 1, "verbose": -9, "tolfun": 0, "tolfunhist": 0, "tolx": 0}
    options |= {"tolstagnation": 10**9, "tolflatfitness": 10**9}
    default = 4 + int(3 * np.log(d))
    options["popsize"] = workers * -(-default // workers) if workers > 1 else default
    search = cma.CMAEvolutionStrategy(problem.x0, 0.15 * problem.set.diameter(d) / np.sqrt(d), options)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        while not counter.done:
            asked = search.ask()
            points = [project(problem, z) for z in asked]
            values = np.array([problem(x) for x in points])
            if noise:
                values = values + noise * rng.standard_normal(len(values))
                counter.query([np.inf] * len(points))
                search.tell(asked, values.tolist())
                counter.note(problem.gap(project(problem, search.result.xfavorite)))
            else:
                counter.query([problem.gap(x) for x in points])
                search.tell(asked, values.tolist())
    return summary(counter)


RIVALS = {
    "SLSQP": lambda i, w: slsqp(i, w, False),
    "SLSQP at once": lambda i, w: slsqp(i, w, True),
    "pycma": pycma,
}


def kept(name: str, instance: Instance, workers: int) -> dict:
    """A rival's run, from the folder or made now."""
    path = KEPT / f"{name.replace(' ', '-')}-{workers}-{instance.key}.json"
    if path.exists():
        return json.loads(path.read_text())
    found = RIVALS[name](instance, workers)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(found))
    return found


def cells(kind: str, dim: int, draw: int) -> Iterator[Instance]:
    """Every position with one or two functions of its kind, in turn."""
    for i, place in enumerate(PLACES):
        if kind == "kinks":
            yield Instance(place, KINKS[(i + draw) % 3], dim, draw)
        elif kind == "smooth":
            for k in range(2):
                yield Instance(place, SMOOTH[(i + k + draw) % 3], dim, draw)
        else:
            yield Instance(place, SMOOTH[(i + draw) % 2], dim, draw, noise=float(kind))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--kind", default="smooth", help="smooth, kinks, or the noise of a value such as 1e-3"
    )
    parser.add_argument("--dim", type=int, default=10)
    parser.add_argument("--workers", default="8,32")
    parser.add_argument("--draw", type=int, default=0)
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--only", default="")
    parser.add_argument("--rivals", action="store_true")
    parser.add_argument("--verbose", action="store_true")
    chosen = parser.parse_args()
    todo = [i for i in cells(chosen.kind, chosen.dim, chosen.draw) if chosen.only in i.key][:: chosen.every]
    print(f"{chosen.kind}, d = {chosen.dim}, draw {chosen.draw}, {len(todo)} problems")
    RIVALS["one worker"] = ours
    alone = {i.key: kept("one worker", i, 1) for i in todo}
    for workers in map(int, chosen.workers.split(",")):
        report(todo, workers, alone, chosen.rivals, chosen.verbose)


def report(todo: list[Instance], workers: int, alone: dict, rivals: bool, verbose: bool) -> None:
    ratios, times, medians, behind, ms = [], [], [], [], []
    for instance in todo:
        mine, one = ours(instance, workers), alone[instance.key]
        others = {n: kept(n, instance, workers) for n in RIVALS if n != "one worker"} if rivals else {}
        row, more, lost = [], [], []
        for k in range(len(GAPS)):
            a, b = one["reached"][k], mine["reached"][k]
            row.append(np.nan if a is None else 0.0 if b is None else a[0] / b[0])
            more.append(np.nan if a is None or b is None else b[1] / a[1])
            best = min((r["reached"][k][0] for r in others.values() if r["reached"][k]), default=np.inf)
            lost.append((np.inf if b is None else b[0]) > best)
        ratios.append(row)
        times.append(more)
        medians.append([np.inf if b is None else b[0] for b in mine["reached"]])
        behind.append(lost)
        ms.append(mine["ms"])
        if verbose:
            mark = "".join("-" if x else "+" for x in lost) if rivals else ""
            theirs = {n: [r and r[0] for r in o["reached"]] for n, o in others.items()}
            print(
                f"{instance.key:34s} {[a and a[0] for a in one['reached']]!s:18s} -> "
                f"{[b and b[0] for b in mine['reached']]!s:18s} {mark} {mine['ms']:5.1f} ms {mine['end']} {theirs or ''}",
                flush=True,
            )
    text = lambda v: " / ".join(f"{x:5.2f}" for x in v)  # noqa: E731
    print(
        f"W={workers:3d}  sooner {text(np.nanmedian(ratios, axis=0))}   evaluations x {text(np.nanmedian(times, axis=0))}   "
        f"rounds {text(np.median(medians, axis=0))}   behind {np.sum(behind, axis=0).tolist() if rivals else ''} of {len(todo)}   "
        f"{np.median(ms):.1f} ms a round", flush=True,
    )  # fmt: skip


if __name__ == "__main__":
    main()
