"""How a saved run is continued: its checkpoint is read and checked, and its events are applied."""

from __future__ import annotations

import dataclasses
import logging
import math
import os
from collections.abc import Mapping, Sequence
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast, get_type_hints

import numpy as np

from zofw.core import (
    ConvexSet,
    EvaluationError,
    FirstOrder,
    Purpose,
    State,
)
from zofw.run.files.documents import FileError, fits, is_finite
from zofw.run.files.store import RunFiles, read_saved
from zofw.run.given import entropy_of
from zofw.run.record.run import FAILED, Run
from zofw.run.record.status import Status
from zofw.run.record.trace import COLUMNS
from zofw.run.session.events import Event, Failed
from zofw.run.session.start import Attached, make_task
from zofw.run.spec import LimitSettings, Settings
from zofw.sets import as_set

if TYPE_CHECKING:
    from zofw.run.session.session import Session

logger = logging.getLogger("zofw")

AGREE = ("set", "method", "outer", "dim", "n", "inside", "resolution", "gap_tol", "in_order", "rng")
LIMITS = (*LimitSettings.__annotations__, "workers")
ATTACHED = {field.name for field in dataclasses.fields(Attached)}


def resume(
    cls: type[Session], path: str | os.PathLike[str] | RunFiles, given: Mapping[str, object]
) -> Session:
    """Return the saved session with its events applied, and then the given limits; other settings have to agree."""
    if (
        unknown := given.keys()
        - ATTACHED
        - {*LIMITS}
        - Settings.__annotations__.keys()
        - {"dim", "n", "outputs"}
    ):
        raise TypeError(f"A run has no setting {min(unknown)!r}; see zofw.Session for the settings it takes.")
    where = path.path if isinstance(path, RunFiles) else Path(path)
    attached = Attached.of(given)
    classes = attached.classes()

    def opened(run: Run) -> Session:
        session = open_run(cls, run, where, attached)
        check_agreement(run, {**vars(run), "set": session.task.set, "rng": run.entropy}, given, where)
        return session

    if isinstance(path, RunFiles):
        session, saved = path.read(classes, opened)
    else:
        sessions: list[Session] = []
        saved, _, _ = read_saved(where, classes, lambda run: sessions.append(opened(run)))
        session = sessions[-1]
    apply_again(session, saved.events, where)
    if isinstance(path, RunFiles):
        session.store = path
    run = session.run
    if run.turns or saved.events:
        session.settle()
    asked, limits = session.rules.open, {name: given[name] for name in LIMITS if name in given}
    if limits or run.status is not Status.RUNNING:
        session.extend(**cast("dict[str, float | None]", limits))
    if not isinstance(path, RunFiles) and asked is not None and asked.paid:
        logger.warning(
            "%s has evaluations of the open query too, which zofw.resume takes up; a session is answered "
            "whole, so they are made again.",
            where,
        )
        session.put(Failed(asked.number, again=asked.paid))
    return session


def apply_again(session: Session, events: Sequence[Event], path: Path) -> None:
    """Apply the events that came after a checkpoint."""
    for event in events:
        session.rules.catch_up(event)
        session.store.append(session.run.serial, event)
        apply_event(session, event, path)
    session.rules.notices.clear()
    session.clock.at_least(session.run.seconds)
    session.mark_observed()


def apply_event(session: Session, event: Event, path: Path) -> None:
    """Apply one event of a log, or say that it is not of this run."""
    try:
        session.rules.check(event)
    except ValueError as error:
        raise FileError(
            f"The log beside {path} has an event that its run does not allow: {error} Is this the "
            "problem that the run was begun with, with the same at_once?"
        ) from error
    session.rules.apply(event)


def open_run(cls: type[Session], run: Run, path: Path, attached: Attached) -> Session:
    """Return a session at a saved run, if the run is sound and the one that was asked for."""
    given = None if attached.set is None else as_set(attached.set)
    region = given if run.set is None else run.set
    if region is None:
        raise ValueError(f"{path} was saved with a set that is not in the file. Give it as set=….")
    try:
        run.outer = attached.outer if run.outer is None and run.each else run.outer
        if run.each and run.outer is None:
            raise ValueError(
                f"{path} was saved with an outer function that is not in the file. Give it as outer=…."
            )
        region.check_dim(run.dim)
        task = make_task(
            run, run.each, region, run.limits.granted(run.reserve), attached,
            isinstance(run.method, FirstOrder), run.structure,
        )  # fmt: skip
        check_run(run, region, run.method.init(task, np.array(run.state.x, dtype=float)))
        session = cls.__new__(cls)
        session.take(run, task, attached)
    except EvaluationError:
        raise
    except (LookupError, TypeError, AttributeError, ArithmeticError, RuntimeError, StopIteration) as error:
        raise FileError(
            f"{path} is undamaged, but this version of zofw cannot have written it: {error!r}"
        ) from error
    return session


def check_agreement(
    run: Run, saved: Mapping[str, object], given: Mapping[str, object], where: object
) -> None:
    """Raise ValueError if a setting that is given again differs from the saved run's; None agrees."""
    for name in AGREE:
        own, value = saved[name], given.get(name)
        if value is not None and not _agrees(name, own, value):
            raise ValueError(
                f"{where} holds a run with {name}={own!r}; {name}={value!r} was given. Leave it out to "
                "continue that run, or choose another folder or path."
            )


def _agrees(name: str, own: object, given: Any) -> bool:
    """Return True if a saved setting is the given one: a method by name, or in the settings that are not None."""
    if name == "rng":
        return own == entropy_of(given)
    if name == "set":
        return repr(own) == repr(as_set(given))
    if name == "outer":
        return repr(own) == repr(given)
    if name != "method":
        return bool(own == given)
    if isinstance(given, str):
        return given in ("auto", vars(type(own))["name"])
    return type(given) is type(own) and all(
        value is None or value == vars(own)[field] for field, value in vars(given).items()
    )


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
    if run.open.answers or run.learning.answers:
        raise Unsound("it was not saved between two iterations")
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


def _like(example: object, found: object) -> bool:
    """Return a part of a method's state: numbers where it had numbers, and nothing else."""
    if found is None or example is None:
        return True
    if isinstance(example, np.ndarray):
        return isinstance(found, np.ndarray) and is_finite(found) and found.ndim == example.ndim
    if isinstance(example, (int, float)) and not isinstance(example, Enum):
        return isinstance(found, (int, float, np.number))
    return type(found) is type(example)
