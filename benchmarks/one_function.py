"""``python -m benchmarks.one_function``: one function over a set, against what people use, on problems of known solution.

The measure is the share of problems on which the relative gap is at most 1.5 times that of the best rival; gaps below 1e-12
are equal. A rival is credited, after every evaluation, with the best value of f at the projection of any point it has asked for
(noisy values: with f at the projection of the point whose value looked best, which for pycma includes the mean of its law);
that projection's value is not charged. Rivals are deterministic given their seed, run once, and kept in a folder.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from pathlib import Path

import numpy as np
import scipy.optimize

import zofw
from benchmarks.planted import KINKS, SMOOTH, Instance, Problem, instances, large

BUDGETS = (10, 30, 100)  # times d
SECONDS = 40.0  # of computation: a rival that has not spent its budget by then is stopped
EQUAL = 1e-12
NEAR = 1.5
KEPT = Path(".benchmarks") / "rivals"


class Spent(Exception):
    """The budget or the time is at an end."""


class Oracle:
    """The function, counted, with what the caller is credited with after every evaluation."""

    def __init__(self, problem: Problem, evaluations: int, seconds: float = SECONDS) -> None:
        self.problem, self.evaluations = problem, evaluations
        self.noise = problem.instance.noise * problem.scale
        self.rng = np.random.default_rng(problem.instance.seed + 1)
        self.end = time.process_time() + seconds
        self.gaps: list[float] = []
        self.least = np.inf

    def __call__(self, x: np.ndarray) -> float:
        if len(self.gaps) >= self.evaluations or time.process_time() > self.end:
            raise Spent
        x = np.array(x, dtype=float)
        value = self.problem(x) + (self.noise * self.rng.standard_normal() if self.noise else 0.0)
        inside = project(self.problem, x)
        gap = self.problem.gap(inside)
        if self.noise:
            better = value < self.least
            self.least = min(self.least, value)
        else:
            better = not self.gaps or gap < self.gaps[-1]
        self.gaps.append(gap if better else self.gaps[-1])
        return value

    def credit(self, x: np.ndarray) -> None:
        """The point that the tool itself recommends now."""
        self.gaps[-1] = self.problem.gap(project(self.problem, x))


def project(problem: Problem, x: np.ndarray) -> np.ndarray:
    """The point of the set nearest to x."""
    region = problem.set
    if hasattr(region, "project"):
        return region.project(x)
    if region.contains(x, 1e-12):
        return x
    A, b = rows(region, len(x))
    return _project_rows(A, b, x)


def _project_rows(A: np.ndarray, b: np.ndarray, x: np.ndarray) -> np.ndarray:
    """min ‖y − x‖ with A y ≤ b, as a least-distance problem solved by NNLS (Lawson and Hanson)."""
    E = np.vstack([-A.T, (A @ x - b)[None, :]])
    f = np.zeros(len(x) + 1)
    f[-1] = 1.0
    u, _ = scipy.optimize.nnls(E, f, maxiter=50 * len(b))
    r = E @ u - f
    return x - r[:-1] / r[-1] if abs(r[-1]) > 1e-14 else x


def rows(region, d):
    """A, b with A x ≤ b."""
    lower, upper = region.bounds.T
    return (
        np.concatenate([region.A_ub, np.eye(d), -np.eye(d)]),
        np.concatenate([region.b_ub, upper, -lower]),
    )


def constraints(region, d):
    """Bounds and constraints as SciPy wants them."""
    from scipy.optimize import Bounds, LinearConstraint, NonlinearConstraint

    name = type(region).__name__
    if name == "Box":
        return Bounds(np.broadcast_to(region.lower, d), np.broadcast_to(region.upper, d)), []
    if name == "Simplex":
        return Bounds(np.zeros(d), np.full(d, np.inf)), [LinearConstraint(np.ones(d), 1.0, 1.0)]
    if name == "L1Ball":
        return None, [NonlinearConstraint(lambda x: np.abs(x).sum(), -np.inf, region.radius, jac=np.sign)]
    if name == "L2Ball":
        square = NonlinearConstraint(lambda x: x @ x, -np.inf, region.radius**2, jac=lambda x: 2 * x)
        return None, [square]
    A, b = region.A_ub, region.b_ub
    return Bounds(*region.bounds.T), [LinearConstraint(A, -np.inf, b)]


def scipy_method(name, options):
    def run(oracle: Oracle) -> None:
        problem = oracle.problem
        bounds, given = constraints(problem.set, len(problem.x0))
        scipy.optimize.minimize(
            oracle, problem.x0, method=name, bounds=bounds, constraints=given, options=options(oracle)
        )

    return run


def pycma(oracle: Oracle) -> None:
    import cma

    problem, d = oracle.problem, len(oracle.problem.x0)
    options = {"seed": problem.instance.seed % 10**6 + 1, "verbose": -9, "maxfevals": oracle.evaluations}
    options |= {"tolfun": 0, "tolfunhist": 0, "tolx": 0, "tolstagnation": 10**9, "tolflatfitness": 10**9}
    search = cma.CMAEvolutionStrategy(problem.x0, 0.15 * problem.set.diameter(d) / np.sqrt(d), options)
    while True:
        points = search.ask()
        search.tell(points, [oracle(project(problem, z)) for z in points])
        if oracle.noise:
            oracle.credit(search.result.xfavorite)


def explore_correct(oracle: Oracle) -> None:
    problem = oracle.problem
    f = zofw.problems.BlackBox(oracle, dim=len(problem.x0))
    zofw.minimize(
        f,
        problem.set,
        method="explore-correct",
        budget=oracle.evaluations,
        rng=0,
        diagnose=0,
        options={"progress": False},
    )


RIVALS = {
    "SLSQP": scipy_method("SLSQP", lambda o: {"maxiter": 10**6, "ftol": 1e-16}),
    "COBYQA": scipy_method("COBYQA", lambda o: {"maxfev": 10**6, "maxiter": 10**6, "final_tr_radius": 1e-12}),
    "COBYLA": scipy_method("COBYLA", lambda o: {"maxiter": 10**6, "tol": 1e-12}),
    "pycma": pycma,
}
OURS = {"explore-correct": explore_correct}  # no rival, but what `auto` takes in larger dimension


def run_rival(name: str, instance: Instance, budgets=BUDGETS) -> dict:
    """Credited gaps at the budgets, and seconds an evaluation, from the folder or a run of its own."""
    path = KEPT / name / f"{instance.key}{'' if budgets == BUDGETS else f'-{budgets[-1]}d'}.json"
    if path.exists():
        return json.loads(path.read_text())
    problem = instance.build()
    oracle = Oracle(problem, budgets[-1] * instance.dim)
    begin = time.process_time()
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            (RIVALS | OURS)[name](oracle)
    except Spent:
        pass
    except Exception as error:
        print(name, instance.key, repr(error)[:100], flush=True)
    seconds = (time.process_time() - begin) / max(len(oracle.gaps), 1)
    found = oracle.gaps or [1.0]
    result = {
        "gaps": [found[min(b * instance.dim, len(found)) - 1] for b in budgets],
        "curve": found
        if len(found) <= 1000
        else [found[i] for i in np.geomspace(1, len(found), 1000).astype(int) - 1],
        "evaluations": len(found),
        "seconds": seconds,
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(result))
    return result


def run_ours(instance: Instance, method="auto", inside=False, seed=0, budgets=BUDGETS) -> dict:
    """Gaps of the iterate at the budgets, and the method's own seconds a query."""
    problem = instance.build()
    noise = instance.noise * problem.scale
    rng = np.random.default_rng(instance.seed + 1)
    at = [b * instance.dim for b in budgets]
    gaps, inner = [np.nan] * len(at), [0.0]

    def function(x):
        begin = time.process_time()
        value = problem(x) + (noise * rng.standard_normal() if noise else 0.0)
        inner[0] += time.process_time() - begin
        return value

    def watch(session):
        for k, most in enumerate(at):
            if session.nfev <= most:
                gaps[k] = problem.gap(session.x)

    black_box = zofw.problems.BlackBox(function, dim=instance.dim)
    begin = time.process_time()
    result = zofw.minimize(
        black_box, problem.set, method=method, budget=at[-1], rng=seed, diagnose=0, inside=inside,
        callback=watch, options={"progress": False},
    )  # fmt: skip
    seconds = (time.process_time() - begin - inner[0]) / result.nfev
    if not problem.set.contains(result.x, 1e-8):
        print("outside:", instance.key)
    return {"gaps": gaps, "seconds": seconds, "message": result.message, "evaluations": result.nfev}


def kind(instance: Instance) -> str:
    if instance.noise:
        return "noise"
    if instance.function in KINKS:
        return "kinks"
    return "smooth d <= 10" if instance.dim <= 10 else f"smooth d = {instance.dim}"


def near(ours: float, theirs: list[float]) -> bool:
    best = min(theirs)
    return max(ours, EQUAL) <= NEAR * max(best, EQUAL)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--draw", type=int, default=0)
    parser.add_argument("--method", default="auto")
    parser.add_argument("--inside", action="store_true")
    parser.add_argument("--rivals", action="store_true", help="only fill the folder of the rivals")
    parser.add_argument("--only", default="", help="part of the key of the instances to run")
    parser.add_argument("--kind", default="")
    parser.add_argument("--every", type=int, default=1, help="only every k-th instance")
    parser.add_argument(
        "--dim", type=int, help="instead of the draw's: every position but polytopes, in this dimension"
    )
    parser.add_argument("--upto", type=int, default=BUDGETS[-1], help="the greatest of the budgets, times d")
    parser.add_argument("--against", default=",".join(RIVALS), help="the rivals, with commas")
    parser.add_argument("--verbose", action="store_true")
    chosen = parser.parse_args()
    todo = [
        i for i in (large(chosen.draw, chosen.dim) if chosen.dim else instances(chosen.draw))
        if chosen.only in i.key and kind(i).startswith(chosen.kind)
    ]  # fmt: skip
    todo = sorted(todo[:: chosen.every], key=lambda i: i.dim)
    budgets, names = tuple(b for b in BUDGETS if b <= chosen.upto), chosen.against.split(",")
    every = range(len(budgets))
    if chosen.rivals:
        for instance in todo:
            for name in names:
                run_rival(name, instance, budgets)
            print(instance.key, flush=True)
        return
    rows_: list[tuple[Instance, list[bool], dict[str, list[bool]]]] = []
    times: dict[int, list[float]] = {}
    for instance in todo:
        rivals = {name: run_rival(name, instance, budgets) for name in names}
        mine = run_ours(instance, chosen.method, chosen.inside, budgets=budgets)
        times.setdefault(instance.dim, []).append(mine["seconds"])
        cells = [near(mine["gaps"][k], [r["gaps"][k] for r in rivals.values()]) for k in every]
        alone = {
            name: [
                near(r["gaps"][k], [q["gaps"][k] for q in rivals.values()] + [mine["gaps"][k]]) for k in every
            ]
            for name, r in rivals.items()
        }
        worse = [
            np.clip(
                np.log10(
                    max(mine["gaps"][k], EQUAL) / max(min(r["gaps"][k] for r in rivals.values()), EQUAL)
                ),
                -2,
                2,
            )
            for k in every
        ]
        rows_.append((instance, cells, alone, worse))
        if chosen.verbose:
            best = [min(r["gaps"][k] for r in rivals.values()) for k in every]
            who = [min(rivals, key=lambda n: rivals[n]["gaps"][k]) for k in every]
            print(
                f"{instance.key:38s}", " ".join(f"{a:8.1e}/{b:8.1e} {w:6s}{'+' if c else ' '}" for a, b, w, c in zip(mine["gaps"], best, who, cells, strict=True)),
                f"{1e3 * mine['seconds']:6.2f} ms", mine["evaluations"], mine["message"][:40], flush=True,
            )  # fmt: skip
    groups: dict[str, list] = {}
    for row in rows_:
        groups.setdefault(kind(row[0]), []).append(row)
        if row[0].function in SMOOTH and not row[0].noise:
            groups.setdefault("at " + row[0].position, []).append(row)
            groups.setdefault("of " + row[0].function, []).append(row)
    heads = " ".join(f"{f'{b}d':>5}" for b in budgets)
    print(f"{'share within 1.5 of the best':30s} {heads}   rivals alone")
    for name, part in sorted(groups.items()):
        share = np.mean([cells for _, cells, *_ in part], axis=0)
        others = {n: np.mean([alone[n] for _, _, alone, _ in part], axis=0) for n in names}
        text = " ".join(f"{n} {'/'.join(f'{100 * s:.0f}' for s in v)}" for n, v in others.items())
        behind = np.mean([worse for *_, worse in part], axis=0)
        print(
            f"{name:26s} {len(part):3d} "
            + " ".join(f"{100 * s:5.0f}" for s in share)
            + f"  {behind.round(2)} {text}"
        )
    print("ms a query:", {d: round(1e3 * float(np.median(t)), 2) for d, t in sorted(times.items())})


if __name__ == "__main__":
    main()
