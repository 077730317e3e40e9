"""A session from what a checkpoint and its journal say."""

from __future__ import annotations

import dataclasses
import inspect
import logging
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import DTypeLike

from zofw.algorithms import is_first_order
from zofw.core import Algorithm, Answer, Array, Batch, EvaluationError, Indices, MethodLike, Pattern
from zofw.core.task import no_gradient
from zofw.run.files.documents import FileError
from zofw.run.files.journal import Entry, EntryKind
from zofw.run.files.run_files import RunFiles, read_journal, read_run
from zofw.run.record.run import Run, Unsound, check_run
from zofw.run.session.beginning import make_task
from zofw.sets import SetLike, as_set

if TYPE_CHECKING:
    from zofw.run.session.session import Observer, Session

logger = logging.getLogger("zofw")


@dataclass(frozen=True, eq=False)
class Handed:
    """What a file does not hold and whoever resumes hands over; a set or method has to equal the saved one."""

    set: SetLike | None = None
    method: MethodLike | None = None
    objective: Callable[[Array], float] | None = None
    gradient: Callable[[Array], Array] | None = None
    support: Callable[[Batch], Indices] | None = None
    pattern: Callable[[Batch], Pattern | None] | None = None
    observers: Sequence[Observer] = ()
    dtype: DTypeLike = np.float64
    known: Mapping[str, type] = dataclasses.field(default_factory=dict)

    def classes(self) -> dict[str, type]:
        """Classes of what was handed over, and of a method's state, by their path."""
        own = inspect.getmro(type(self.set)) + inspect.getmro(type(self.method))
        kinds = [kind for base in own for kind in (base, vars(base).get("State"))]
        owned = [kind for kind in kinds if isinstance(kind, type) and dataclasses.is_dataclass(kind)]
        return {f"{kind.__module__}:{kind.__qualname__}": kind for kind in owned} | dict(self.known)


def resume(
    cls: type[Session],
    path: str | os.PathLike[str] | RunFiles,
    handed: Handed,
    limits: Mapping[str, float | None],
) -> Session:
    """The saved session, brought to where its journal ends and then put under the given limits."""
    if isinstance(path, RunFiles):
        session, entries, anew = path.read(handed.classes(), lambda run: take_up(cls, run, path.path, handed))
        tell_again(session, entries)
        session.extend(**limits)
        session.write_to(path, anew)
        return session
    where = Path(path)
    session = take_up(cls, read_run(where, handed.classes()), where, handed)
    tell_again(session, read_journal(where, session.run))
    session.extend(**limits)
    if session.parts:
        logger.warning(
            "%s.journal has evaluations of the open query too, which zofw.resume takes up; a session is told whole "
            "answers, so they are paid for again.",
            where,
        )
    return session


def take_up(cls: type[Session], run: Run, path: Path, handed: Handed) -> Session:
    """A session at the run that a file holds, if it is sound and the one that was asked for."""
    if run.set is None and handed.set is None:
        raise ValueError(
            f"{path} was saved with a set of its user's own, which is not in the file. Give it as set=…."
        )
    try:
        region = as_set(handed.set if run.set is None else run.set)
        region.check_dim(run.dim)
        gradient = (handed.gradient or no_gradient) if is_first_order(run.method) else None
        task = make_task(
            region,
            run.dim,
            run.n,
            run.granted,
            run.limits,
            run.inside,
            run.gap_tol,
            run.resolution,
            handed.support,
            gradient,
            handed.pattern if run.structure else None,
        )
        check_run(run, run.method.init(task, np.array(run.state.x, dtype=float)))
        if not region.contains(run.x):
            raise Unsound(f"its iterate is no point of {region!r}")
        session = cls.__new__(cls)
        session.take_up(run, task, handed.objective, handed.observers, handed.dtype)
        session.reopen()
    except EvaluationError:
        raise
    except (LookupError, TypeError, AttributeError, ArithmeticError, RuntimeError, StopIteration) as error:
        raise FileError(
            f"{path} is whole, but it is no checkpoint that this version of zofw could have written: {error!r}"
        ) from error
    if handed.set is not None and repr(as_set(handed.set)) != repr(region):
        raise ValueError(f"{path} was saved with the set {region!r}; {handed.set!r} was handed over.")
    if handed.method is not None and not _agrees(handed.method, run.method):
        raise ValueError(
            f"{path} was saved with the method {run.method!r}; {handed.method!r} was handed over."
        )
    return session


def tell_again(session: Session, entries: Sequence[Entry]) -> None:
    """Do again what entries beyond a session say was done, whatever the time; keep what they have of the open query."""
    with session.without_time_limit():
        for entry in entries:
            if entry.serial == session.run.serial:
                _do_again(session, entry)
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
        case EntryKind.PART:
            session.keep(entry.tile, entry.arrays)
        case EntryKind.AGAIN:
            session.ask_again(entry.arrays[0].astype(np.int64), entry.a)
    session.diagnosis.clock.at_least(entry.seconds)


def _agrees(method: MethodLike, settings: Algorithm) -> bool:
    """Whether resolved settings are those of a name, or of a settings object that leaves some of them at None."""
    if isinstance(method, str):
        return method in ("auto", settings.name)
    if type(method) is not type(settings):
        return False
    return all(value is None or value == vars(settings)[name] for name, value in vars(method).items())
