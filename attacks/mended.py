"""Promises that were broken once: each attack is the one that showed it, with other numbers every time."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

import zofw
from attacks import Finding, until
from attacks.victim import METHODS, Sum
from zofw.sets import as_set, can_project

KINDS = (GeneratorExit, asyncio.CancelledError, KeyboardInterrupt, RuntimeError, SystemExit)


def attack(seconds: float, rng: np.random.Generator) -> list[Finding]:
    found = {
        _buffer: Finding(
            "Values are copied where they come in", "a vectorised function that returns one buffer"
        ),
        _resolution: Finding(
            "With `inside=True` only points of the set are evaluated",
            "resolution, on hulls of few points and on oracles",
        ),
        _forgetful: Finding(
            "A run ends at a member, and does not converge outside", "sets whose facets() forgets a facet"
        ),
        _equal: Finding("Equal values certify nothing", "scores in steps: a threshold, an error rate"),
        _far: Finding("A projection is the nearest member", "points of sizes from 1e-300 to 1e300"),
        _anything: Finding("The budget is never exceeded", "exceptions of any kind, and resumptions"),
    }
    for _ in until(seconds):
        for one, finding in found.items():
            one(finding, rng)
    return list(found.values())


def _buffer(finding: Finding, rng: np.random.Generator) -> None:
    method, n, dim = METHODS[rng.integers(len(METHODS))], int(rng.integers(1, 9)), int(rng.integers(2, 7))
    centres, buffer = rng.standard_normal((n, dim)), np.zeros(0)

    def fresh(X: np.ndarray, batch: np.ndarray) -> np.ndarray:
        return np.asarray(((X[:, None] - centres[batch]) ** 2).sum(axis=2))

    def same(X: np.ndarray, batch: np.ndarray) -> np.ndarray:
        nonlocal buffer
        values = fresh(X, batch)
        buffer = buffer if buffer.shape == values.shape else np.empty(values.shape)
        buffer[:] = values
        return buffer

    at_once, seed = int(rng.integers(1, 9)), int(rng.integers(1000))
    ends = [
        zofw.minimize(
            zofw.problems.BlackBox(f, dim=dim, n=n, vectorized=True, at_once=at_once),
            zofw.L2Ball(1.0), method=method, budget=400 * n, rng=seed,
        ).x
        for f in (fresh, same)
    ]  # fmt: skip
    finding.check(np.array_equal(*ends), f"{method}, n = {n}, d = {dim}, at_once {at_once}: another x")


def _resolution(finding: Finding, rng: np.random.Generator) -> None:
    dim = int(rng.integers(2, 5))
    hull = zofw.ConvexHull(
        10 ** rng.uniform(-1, 1) * rng.standard_normal((dim + int(rng.integers(1, 6)), dim))
    )
    region = hull if rng.random() < 0.5 else as_set(hull.lmo, dim=dim)
    centre, outside = 3 * rng.standard_normal(dim), []

    def fun(x: np.ndarray) -> float:
        if not hull.contains(x, 1e-9):
            outside.append(x)
        return float(((x - centre) ** 2).sum())

    resolution = float(10 ** rng.uniform(-4, 0))
    try:
        zofw.minimize(
            fun,
            region,
            dim=dim,
            budget=80,
            rng=int(rng.integers(1000)),
            inside=True,
            options={"resolution": resolution},
        )
    except ValueError as error:
        finding.check("resolution" in str(error), f"refused with «{error}»")
    finding.check(not outside, f"d = {dim}, resolution {resolution:.2g}: {len(outside)} points outside")


class Forgetful(zofw.CappedSimplex):
    """Lists its caps, forgets its floors, and has no exact members."""

    @property
    def clip(self) -> None:
        raise AttributeError("clip")

    def facets(self, dim: int) -> tuple[np.ndarray, np.ndarray]:
        A, b = super().facets(dim)
        return A[:dim], b[:dim]


def _forgetful(finding: Finding, rng: np.random.Generator) -> None:
    dim = int(rng.integers(3, 7))
    region, centre = Forgetful(1.0, 0.8), rng.standard_normal(dim)
    result = zofw.minimize(lambda x: float(((x - centre) ** 2).sum()), region, dim=dim, budget=300, rng=0)
    finding.check(region.contains(result.x, 1e-9), f"d = {dim}: {result.status.name} at {result.x}")
    finding.check(not zofw.check_set(region, dim).ok, "zofw check set keeps every law")


def _equal(finding: Finding, rng: np.random.Generator) -> None:
    dim, rows = int(rng.integers(2, 6)), int(rng.integers(20, 100))
    votes, labels = rng.standard_normal((rows, dim)), rng.random(rows) < 0.7
    weight, limit = rng.standard_normal(dim), rng.uniform(0.3, 0.9)
    region = zofw.Simplex() if rng.random() < 0.5 else zofw.Box(-1.0, 1.0)
    score = rng.random() < 0.5
    seen = []

    def fun(x: np.ndarray) -> float:
        seen.append(float(np.mean((votes @ x > 0) != labels)) if score else float(weight @ x > limit))
        return seen[-1]

    result = zofw.minimize(fun, region, dim=dim, budget=200, rng=int(rng.integers(1000)))
    equal = len(set(seen)) == 1
    finding.check(
        not (equal and result.success),
        f"{type(region).__name__}, d = {dim}: CONVERGED after {len(seen)} equal values",
    )


def _far(finding: Finding, rng: np.random.Generator) -> None:
    dim = int(rng.integers(2, 9))
    sets = (
        zofw.CappedSimplex(2.0, 1.5), zofw.KSparse(2, 1.0), zofw.Simplex(), zofw.L1Ball(2.0), zofw.L2Ball(1.0), zofw.Box(-1.0, 2.0),
        zofw.GroupBall([[0], list(range(1, dim))], 1.5), zofw.Product((zofw.L2Ball(1.0), zofw.Simplex()), (1, dim - 1)),
    )  # fmt: skip
    region = sets[rng.integers(len(sets))]
    x = np.round(rng.standard_normal(dim), int(rng.integers(0, 3))) * 10.0 ** rng.integers(-300, 301)
    p, size = region.project(x), max(1.0, float(np.abs(x).max()))
    V = np.array([region.lmo(g) for g in rng.standard_normal((20, dim))])
    far = float(((V - p) @ (x / size - p / size)).max())
    assert can_project(region)
    finding.check(
        region.contains(p, 1e-9) and far <= 1e-8, f"{region!r}, x = {x}: p = {p}, {far:.2g} from the nearest"
    )


def _anything(finding: Finding, rng: np.random.Generator) -> None:
    method, n = METHODS[rng.integers(len(METHODS))], int(rng.choice([1, 3]))
    component, made, budget = Sum(n=n), [], int(rng.integers(60, 400))
    at, kind = set(rng.integers(1, budget, size=3).tolist()), KINDS[rng.integers(len(KINDS))]

    def fun(x: np.ndarray, i: int = 0) -> float:
        made.append(i)
        if len(made) in at:
            raise kind()
        return component(x, i)

    problem = zofw.problems.BlackBox(fun if n > 1 else lambda x: fun(x), dim=component.dim, n=n)
    run, result = {"method": method, "budget": budget, "rng": 1}, None
    with _folder() as path:
        for _ in range(6):
            try:
                result = zofw.minimize(problem, zofw.L2Ball(1.0), checkpoint=path, resume="auto", **run)
            except zofw.BudgetError:
                return
            except BaseException as error:
                if isinstance(error, (kind, zofw.EvaluationError, KeyboardInterrupt, SystemExit)):
                    continue
                finding.check(False, f"{method}, n = {n}, {kind.__name__}: {type(error).__name__} {error}")
                return
            if result.status.name != "INTERRUPTED":
                break
    finding.check(
        len(made) <= budget and (result is None or result.nfev == len(made)),
        f"{method}, n = {n}, {kind.__name__}: {len(made)} calls of {budget}, nfev {result and result.nfev}",
    )


@contextmanager
def _folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as folder:
        yield Path(folder) / "run.npz"
