"""How a run begins: what its method sees, and where it starts."""

from __future__ import annotations

import dataclasses
import inspect
import logging
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import DTypeLike

from zofw import kernels
from zofw.algorithms import as_algorithm, is_first_order
from zofw.core import (
    Array,
    Batch,
    ConvexSet,
    FirstOrderTask,
    MethodLike,
    Outer,
    Pattern,
    Task,
    offers,
)
from zofw.core.task import no_gradient
from zofw.run.given import entropy_of, known_members, starting_point
from zofw.run.record.run import ROWS_PER_DECADE, Known, Run
from zofw.run.session.stated import can_check
from zofw.run.session.stopping import cost_of_value
from zofw.run.spec import Spec
from zofw.sets import SetLike, as_set

if TYPE_CHECKING:
    from zofw.run.session.session import Observer

logger = logging.getLogger("zofw")
T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class Attached:
    """What no file holds: the problem's functions and the observers; on resume, objects that must equal the saved ones."""

    set: SetLike | None = None
    method: MethodLike | None = None
    objective: Callable[[Array], float] | None = None
    gradient: Callable[[Array], Array] | None = None
    pattern: Callable[[Batch], Pattern | None] | None = None
    observers: Sequence[Observer] = ()
    dtype: DTypeLike = np.float64
    known: Mapping[str, type] = dataclasses.field(default_factory=dict)
    outer: Outer | None = None

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> Attached:
        """Return those of some settings that are attached; ``known`` points are no classes."""
        names = [field.name for field in dataclasses.fields(cls)]
        found = {name: given[name] for name in names if given.get(name) is not None}
        if not isinstance(found.get("known"), Mapping):
            found.pop("known", None)
        return cls(**found)

    def classes(self) -> dict[str, type]:
        """Return the classes of what was given, and of a method's state, by their path."""
        parts = parts_of((self.set, self.method, self.outer))
        own = [base for part in parts for base in inspect.getmro(type(part))]
        kinds = [kind for base in own for kind in (base, vars(base).get("State"))]
        owned = [kind for kind in kinds if isinstance(kind, type) and dataclasses.is_dataclass(kind)]
        return {f"{kind.__module__}:{kind.__qualname__}": kind for kind in owned} | dict(self.known)


def parts_of(thing: object) -> Iterator[object]:
    """Return a value and everything in its fields, such as the factors of a product of sets."""
    yield thing
    fields = dataclasses.is_dataclass(thing) and not isinstance(thing, type)
    for inner in vars(thing).values() if fields else thing if isinstance(thing, (tuple, list)) else ():
        yield from parts_of(inner)


def begin(spec: Spec, attached: Attached) -> tuple[Run, Task]:
    """Return a new run and what its method sees."""
    limits, region = spec.limits, as_set(spec.set)
    region.check_dim(spec.dim)
    computed = attached.objective is not None  # by the caller; these evaluations are not charged
    rows = (ROWS_PER_DECADE if computed else 0) if spec.diagnose is None else spec.diagnose
    first_order = is_first_order(spec.method)
    if first_order and attached.gradient is None:
        raise ValueError(
            f"{spec.method!r} is a first-order reference method and needs a problem with a gradient."
        )
    if first_order and limits.with_(budget=None).none:
        raise ValueError(
            f"{spec.method!r} asks no queries, so no budget ends it: give max_iter, max_lmo or max_time."
        )
    pays = not computed and spec.diagnose is None and not first_order
    each = spec.outputs if spec.outer is not None else 0
    reserve = cost_of_value(spec.n, limits.budget) if pays and limits.budget is not None and not each else 0
    task = make_task(
        spec, each, region, limits.granted(reserve), attached, first_order,
        spec.structure and attached.pattern is not None,
    )  # fmt: skip
    algorithm, reasons = as_algorithm(spec.method, task)
    bounded = spec.inside is None and attached.gradient is None and not task.structured and not each
    if bounded and vars(type(algorithm)).get("members_only") and region.inball(spec.dim) is not None:
        task.inside = True
        algorithm, reasons = as_algorithm(spec.method, task)
    if spec.outer is not None:
        spec.outer.check(spec.n * each)
        if not offers(algorithm, "composes"):
            raise ValueError(f"{algorithm.name} minimises means only; with outer=… take method='auto'.")
    if spec.known is not None:
        task.known = known_members(spec.known, region, spec.dim, spec.outer, spec.n * each)
    start, note = starting_point(region, spec.dim, spec.x0 if task.known is None else task.known[0][0])
    reasons = reasons if note is None else {**reasons, "x0": note}
    stated = None
    if task.known is not None:
        first = task.known[1][:1]
        stated = Known(start, float(first[0] if spec.outer is None else spec.outer.of(first)[0]))
    state = algorithm.init(task, start)
    task.known = None  # what a method makes of them is in its state
    run = Run(
        region, algorithm, spec.dim, spec.n, limits, spec.gap_tol, task.inside, spec.resolution,
        task.structured, rows, pays, reserve, entropy_of(spec.rng), reasons, uuid.uuid4().hex, state,
        outer=spec.outer, each=each, workers=spec.workers, in_order=spec.in_order,
        stated=stated if can_check(spec.n, limits.budget) and not first_order and not each else None,
        given=stated,
    )  # fmt: skip
    return run, task


class Sealed(Generic[T]):
    """A function of a problem's that a method may call, and that holds nothing which leads to the problem."""

    __slots__ = ("__weakref__",)

    def __init__(self, function: Callable[[Batch], T]) -> None:
        _behind[self] = function

    def __call__(self, batch: Batch) -> T:
        return cast(T, _behind[self](batch))


_behind: WeakKeyDictionary[object, Callable[[Batch], object]] = WeakKeyDictionary()


def make_task(
    of: Spec | Run,
    each: int,
    region: ConvexSet,
    granted: int | None,
    attached: Attached,
    first_order: bool,
    structured: bool,
) -> Task:
    """Return what the method sees: only a first-order one sees the gradient, and none the problem."""
    task = Task(region, of.dim, of.n, granted, of.limits.max_iter, inside=bool(of.inside))
    task.gap_tol, task.resolution, task.draw = of.gap_tol, of.resolution, kernels.drawing()
    task.outer, task.each, task.workers, task.in_order = of.outer, each, of.workers, of.in_order
    if structured:
        task.known_pattern = Sealed(attached.pattern or no_pattern)
    return FirstOrderTask(**vars(task), gradient=attached.gradient or no_gradient) if first_order else task


def no_pattern(batch: Batch) -> Pattern | None:
    """What a resumed run finds that had a pattern and was handed none: without it, it would take another path."""
    raise ValueError(
        "This run began with the coordinates that each component depends on, and its method uses them, but it was resumed without. "
        "Give them again as pattern=…, or resume by zofw.resume with the problem that has them."
    )
