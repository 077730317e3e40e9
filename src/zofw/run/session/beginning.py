"""How a run begins: what its method sees and where it starts, anew or from what a checkpoint and its journal say."""

from __future__ import annotations

import dataclasses
import inspect
import logging
import math
import os
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from types import UnionType
from typing import TYPE_CHECKING, Generic, TypeVar, cast, get_args, get_origin, get_type_hints
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import DTypeLike

from zofw import kernels
from zofw.algorithms import as_algorithm, is_first_order
from zofw.core import (
    Algorithm,
    Answer,
    Array,
    Batch,
    Composing,
    ConvexSet,
    EvaluationError,
    FirstOrder,
    FirstOrderTask,
    Indices,
    MethodLike,
    Outer,
    Pattern,
    Purpose,
    State,
    Task,
)
from zofw.core.task import no_gradient
from zofw.run.files.documents import FileError
from zofw.run.files.journal import Entry, EntryKind
from zofw.run.files.run_files import RunFiles, read_journal, read_run
from zofw.run.given import entropy_of, known_members, starting_point
from zofw.run.record.run import FAILED, Known, Run
from zofw.run.record.trace import COLUMNS
from zofw.run.session.diagnosis import ROWS_PER_DECADE
from zofw.run.session.ending import cost_of_value
from zofw.run.session.stated import can_check
from zofw.run.spec import Spec
from zofw.sets import SetLike, as_set

if TYPE_CHECKING:
    from zofw.run.session.session import Observer, Session

logger = logging.getLogger("zofw")
T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class Attached:
    """What a run does not hold and whoever begins or resumes it hands over.

    A set or method, of whoever resumes, has to equal the saved one.
    """

    set: SetLike | None = None
    method: MethodLike | None = None
    objective: Callable[[Array], float] | None = None
    gradient: Callable[[Array], Array] | None = None
    support: Callable[[Batch], Indices] | None = None
    pattern: Callable[[Batch], Pattern | None] | None = None
    observers: Sequence[Observer] = ()
    dtype: DTypeLike = np.float64
    known: Mapping[str, type] = dataclasses.field(default_factory=dict)
    outer: Outer | None = None

    def classes(self) -> dict[str, type]:
        """Classes of what was handed over, and of a method's state, by their path."""
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
    if spec.outer is not None:
        spec.outer.check(spec.n * each)
        if not isinstance(algorithm, Composing):
            raise ValueError(f"{algorithm.name} minimises means only; with outer=… take method='auto'.")
    if spec.known is not None:
        task.known = known_members(spec.known, region, spec.dim)
    start, note = starting_point(region, spec.dim, spec.x0 if task.known is None else task.known[0][0])
    reasons = reasons if note is None else {**reasons, "x0": note}
    stated = None if task.known is None else Known(start, float(task.known[1][0]))
    state = algorithm.init(task, start)
    task.known = None  # what a method makes of them is in its state
    run = Run(
        region, algorithm, spec.dim, spec.n, limits, spec.gap_tol, spec.inside, spec.resolution,
        task.structured, rows, pays, reserve, entropy_of(spec.rng), reasons, uuid.uuid4().hex, state,
        outer=spec.outer, each=each, workers=spec.workers,
        stated=stated if can_check(spec.n, limits.budget) and not first_order and not each else None,
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
    task = Task(region, of.dim, of.n, granted, of.limits.max_iter, inside=of.inside)
    task.gap_tol, task.resolution, task.draw = of.gap_tol, of.resolution, kernels.drawing()
    task.outer, task.each, task.workers = of.outer, each, of.workers
    if attached.support is not None:
        task.support = Sealed(attached.support)
    if structured:
        task.known_pattern = Sealed(attached.pattern or no_pattern)
    return FirstOrderTask(**vars(task), gradient=attached.gradient or no_gradient) if first_order else task


def no_pattern(batch: Batch) -> Pattern | None:
    """What a resumed run finds that had a pattern and was handed none: without it, it would take another path."""
    raise ValueError(
        "This run began with the coordinates that each component depends on, and its method uses them, but it was resumed without. "
        "Give them again as pattern=…, or resume by zofw.resume with the problem that has them."
    )


def resume(
    cls: type[Session],
    path: str | os.PathLike[str] | RunFiles,
    attached: Attached,
    limits: Mapping[str, float | None],
) -> Session:
    """The saved session, brought to where its journal ends and then put under the given limits."""
    if isinstance(path, RunFiles):
        session, entries, anew = path.read(
            attached.classes(), lambda run: take_up(cls, run, path.path, attached)
        )
        tell_again(session, entries)
        before = session.run.workers
        session.extend(**limits)
        session.write_to(path, anew or session.run.workers != before)
        return session
    where = Path(path)
    session = take_up(cls, read_run(where, attached.classes()), where, attached)
    tell_again(session, read_journal(where, session.run))
    session.extend(**limits)
    if session.parts:
        logger.warning(
            "%s.journal has evaluations of the open query too, which zofw.resume takes up; a session is told whole "
            "answers, so they are paid for again.",
            where,
        )
    return session


def take_up(cls: type[Session], run: Run, path: Path, attached: Attached) -> Session:
    """A session at the run that a file holds, if it is sound and the one that was asked for."""
    given = None if attached.set is None else as_set(attached.set)
    region = given if run.set is None else run.set
    if region is None:
        raise ValueError(f"{path} was saved with a set that is not in the file. Give it as set=….")
    try:
        run.outer = _outer(run, attached.outer, path)
        region.check_dim(run.dim)
        task = make_task(
            run, run.each, region, run.limits.granted(run.reserve), attached,
            isinstance(run.method, FirstOrder), run.structure,
        )  # fmt: skip
        check_run(run, region, run.method.init(task, np.array(run.state.x, dtype=float)))
        session = cls.__new__(cls)
        session.observers = list(attached.observers)
        session.take_up(run, task, attached.objective, attached.dtype)
        session.reopen()
    except EvaluationError:
        raise
    except (LookupError, TypeError, AttributeError, ArithmeticError, RuntimeError, StopIteration) as error:
        raise FileError(
            f"{path} is undamaged, but this version of zofw cannot have written it: {error!r}"
        ) from error
    if given is not None and repr(given) != repr(region):
        raise ValueError(f"{path} was saved with the set {region!r}; {attached.set!r} was handed over.")
    if attached.method is not None and not _agrees(attached.method, run.method):
        raise ValueError(
            f"{path} was saved with the method {run.method!r}; {attached.method!r} was handed over."
        )
    return session


def _outer(run: Run, given: Outer | None, path: Path) -> Outer | None:
    """Return the outer function of a saved run: the one in the file, or the one given again."""
    if given is not None and (not run.each or repr(run.outer or given) != repr(given)):
        raise ValueError(f"{path} was saved with outer={run.outer!r}; {given!r} was given.")
    if run.each and run.outer is None and given is None:
        raise ValueError(
            f"{path} was saved with an outer function that is not in the file. Give it as outer=…."
        )
    return run.outer if given is None else given


class Unsound(TypeError):
    """Something that a file says of a run and that no run could have written."""


def check_run(run: Run, region: ConvexSet, example: State) -> None:
    """Whether what a file says could have been written by a run, whose state would look like the example."""
    hints = get_type_hints(Run)
    for part in dataclasses.fields(Run):
        if part.init and part.name != "state" and not fits(vars(run)[part.name], hints[part.name]):
            raise Unsound(f"its {part.name} is {vars(run)[part.name]!r:.60}")
    if not 0 <= run.seconds < math.inf:
        raise Unsound(f"its seconds are {run.seconds!r:.60}")
    if run.ledger.keys() != {purpose.value for purpose in Purpose} | {FAILED}:
        raise Unsound(f"its ledger is {run.ledger!r:.60}")
    if any(answer.values.ndim != 2 for answer in (*run.open.answers, *run.learning.answers)):
        raise Unsound("it has answers that are no tables")
    rows, infos = run.trace.rows, run.trace.infos
    if len(rows) != len(infos) or any(len(row) != len(COLUMNS) for row in rows):
        raise Unsound("its trace is not a trace")
    if type(run.state) is not type(example):
        raise Unsound(f"its state is a {type(run.state).__name__}")
    for name, value in vars(example).items():
        if not _like(value, vars(run.state)[name]):
            raise Unsound(f"its state has {name} = {vars(run.state)[name]!r:.60}")
    if run.x.shape != (run.dim,):
        raise Unsound(f"its iterate is not a vector of the stated dimension {run.dim!r}")
    if not region.contains(run.x):
        raise Unsound(f"its iterate is no point of {region!r}")


def fits(value: object, hint: type) -> bool:
    """Whether a value is of a declared type: whole numbers at least 0, arrays of finite numbers, dataclasses field by field."""
    kind, inner = get_origin(hint) or hint, get_args(hint)
    if kind is UnionType:
        return any(fits(value, one) for one in inner)
    if kind is np.ndarray:
        return _numbers(value)
    if kind is int:
        return type(value) is int and value >= 0
    if kind is float:
        return type(value) in (int, float)
    if not isinstance(value, kind):
        return False
    if isinstance(value, Mapping):
        return all(fits(key, inner[0]) and fits(item, inner[1]) for key, item in value.items())
    if isinstance(value, (list, tuple)) and inner:
        return all(fits(item, inner[0]) for item in value)
    if dataclasses.is_dataclass(kind):
        hints = get_type_hints(kind)
        return all(
            fits(vars(value)[part.name], hints[part.name]) for part in dataclasses.fields(kind) if part.init
        )
    return True


def _like(example: object, found: object) -> bool:
    """A part of a method's state: numbers where it had numbers, nothing told of what it had not."""
    if found is None or example is None:
        return True
    if isinstance(example, np.ndarray):
        return isinstance(found, np.ndarray) and _numbers(found) and found.ndim == example.ndim
    if isinstance(example, (int, float)) and not isinstance(example, Enum):
        return isinstance(found, (int, float, np.number))
    return type(found) is type(example)


def _numbers(array: object) -> bool:
    return isinstance(array, np.ndarray) and array.dtype.kind in "fiub" and bool(np.isfinite(array).all())


def tell_again(session: Session, entries: Sequence[Entry]) -> None:
    """Do again what entries beyond a session say was done, whatever the time; keep what they have of the open query."""
    run, limits = session.run, session.run.limits
    if entries:
        run.limits = limits.with_(max_time=None)
    for entry in entries:
        if entry.serial == run.serial:
            _do_again(session, entry)
    run.limits = limits
    session.parts = []
    for entry in entries:
        if entry.kind in (EntryKind.PART, EntryKind.AGAIN) and entry.number == session.run.number:
            session.parts.append(entry)
        elif entry.kind is EntryKind.DROPPED or (entry.kind is EntryKind.FAILED and entry.b):
            session.parts = []  # the query they belong to was given up, and another has its number


def _do_again(session: Session, entry: Entry) -> None:
    query = session.ask()
    match entry.kind:
        case EntryKind.ANSWER:
            if query is None or entry.number != session.run.number:
                raise FileError(
                    f"The journal has an answer to query {entry.number}, which the checkpoint beside it does not ask."
                )
            session.tell(query, Answer(*entry.arrays))
        case EntryKind.FAILED:
            session.fail(entry.a, entry.b)
        case EntryKind.DROPPED:
            session.drop(entry.b)
        case EntryKind.PART | EntryKind.AGAIN:
            session.note(entry.kind, entry.a, entry.b, entry.tile, entry.arrays)
    session.diagnosis.clock.at_least(entry.seconds)


def _agrees(method: MethodLike, settings: Algorithm) -> bool:
    """Whether resolved settings are those of a name, or of a settings object that leaves some of them at None."""
    if isinstance(method, str):
        return method in ("auto", settings.name)
    if type(method) is not type(settings):
        return False
    return all(value is None or value == vars(settings)[name] for name, value in vars(method).items())
