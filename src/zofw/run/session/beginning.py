"""How a run begins: what its method sees, and where it starts."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from dataclasses import dataclass

from numpy.typing import ArrayLike

from zofw import kernels
from zofw.algorithms import as_algorithm, is_first_order
from zofw.core import Array, Batch, ConvexSet, FirstOrderTask, Indices, MethodLike, Pattern, Seed, Task
from zofw.run.given import starting_point
from zofw.run.record.limits import Limits, check_sizes
from zofw.run.record.run import Run
from zofw.run.session.iteration import entropy_of
from zofw.run.session.known import ROWS_PER_DECADE, cost_of_value
from zofw.sets import SetLike, as_set


@dataclass(frozen=True, eq=False)
class Asked:
    """What whoever begins a run asks for, as :class:`~zofw.Session` takes it."""

    set: SetLike
    dim: int
    n: int
    method: MethodLike
    limits: Limits
    x0: ArrayLike | None
    rng: Seed
    gap_tol: float | None
    inside: bool
    resolution: float
    structure: bool
    diagnose: int | None


def begin(
    asked: Asked,
    computed: bool,
    gradient: Callable[[Array], Array] | None,
    support: Callable[[Batch], Indices] | None,
    pattern: Callable[[Batch], Pattern | None] | None,
) -> tuple[Run, Task]:
    """A new run, and what its method sees; ``computed`` where somebody computes the mean for nothing."""
    limits, region = asked.limits, as_set(asked.set)
    region.check_dim(asked.dim)
    rows = (ROWS_PER_DECADE if computed else 0) if asked.diagnose is None else asked.diagnose
    check_sizes(n=asked.n, dim=asked.dim, gap_tol=asked.gap_tol, resolution=asked.resolution, diagnose=rows)
    if limits == Limits():
        raise ValueError("Nothing would ever stop this run: give a budget, or max_iter, max_lmo or max_time.")
    first_order = is_first_order(asked.method)
    if first_order and gradient is None:
        raise ValueError(
            f"{asked.method!r} is a first-order reference method and needs a problem with a gradient."
        )
    if first_order and limits == Limits(limits.budget):
        raise ValueError(
            f"{asked.method!r} asks no queries, so no budget ends it: give max_iter, max_lmo or max_time."
        )
    pays = not computed and asked.diagnose is None and not first_order
    dim, n = int(asked.dim), int(asked.n)
    reserve = cost_of_value(n, limits.budget) if pays and limits.budget is not None else 0
    granted = None if limits.budget is None else limits.budget - reserve
    task = make_task(
        region,
        dim,
        n,
        granted,
        limits,
        asked.inside,
        asked.gap_tol,
        asked.resolution,
        support,
        gradient if first_order else None,
        pattern if asked.structure else None,
    )
    algorithm, reasons = as_algorithm(asked.method, task)
    start, note = starting_point(region, dim, asked.x0)
    reasons = reasons if note is None else {**reasons, "x0": note}
    state = algorithm.init(task, start)
    run = Run(
        region, algorithm, dim, n, limits, asked.gap_tol, asked.inside, float(asked.resolution), asked.structure, rows, pays,
        reserve, entropy_of(asked.rng), reasons, uuid.uuid4().hex, state,
    )  # fmt: skip
    return run, task


def make_task(
    region: ConvexSet,
    dim: int,
    n: int,
    budget: int | None,
    limits: Limits,
    inside: bool,
    gap_tol: float | None,
    resolution: float,
    support: Callable[[Batch], Indices] | None,
    gradient: Callable[[Array], Array] | None,
    pattern: Callable[[Batch], Pattern | None] | None,
) -> Task:
    """What the method sees; only a first-order one sees the gradient, and none the problem behind its functions."""
    seen = None if support is None else lambda batch: support(batch)
    task = Task(region, dim, n, budget, limits.max_iter, seen, inside, gap_tol, resolution, kernels.integers)
    if pattern is not None:
        task.known_pattern = lambda batch: pattern(batch)
    return task if gradient is None else FirstOrderTask(**vars(task), gradient=gradient)
