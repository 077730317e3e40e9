"""Checkpoints: a session in one file, without pickle."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from zofw.core import Array, Batch, EvaluationError, Indices
from zofw.run.clock import Clock
from zofw.run.codec import FileError, StorageError, can_encode, read_document, write_document
from zofw.run.lock import Lock
from zofw.run.soundness import check_progress, check_sizes_agree
from zofw.sets import as_set

if TYPE_CHECKING:
    from zofw.run.session import Session

VERSION = 1
LIMITS = ("budget", "max_iter", "max_lmo", "max_time")
SETTINGS = ("gap_tol", "inside", "diagnose")
PROGRESS = (
    "identity",
    "serial",
    "reasons",
    "entropy",
    "ledger",
    "trace",
    "nit",
    "nlmo",
    "number",
    "status",
    "info",
    "diagnosed",
    "recomputed",
    "dearest",
    "redraws",
    "dropped",
    "state",
    "answers",
    "spent",
    "closing_row",
)


def save(session: Session, path: str | os.PathLike[str], kept: Path | None = None) -> None:
    """Write a session: its task, settings and progress, the answers of the open iteration among them.

    The file that was there before is renamed to ``kept``, where that is given, by a logbook, which holds the run's lock;
    anybody else is refused while somebody holds it.
    """
    content = {name: getattr(session, name) for name in (*SETTINGS, *PROGRESS)}
    content |= {
        "set": session.set if can_encode(session.set) else None,
        "method": session.algorithm,
        "dim": session.task.dim,
        "n": session.task.n,
        "limits": dict(session.limits),
        "seconds": session.seconds,
    }
    if kept is not None:
        write_document(path, "checkpoint", VERSION, content, kept)
        return
    try:
        lock = Lock(Path(f"{os.fspath(path)}.lock"))
        try:
            write_document(path, "checkpoint", VERSION, content)
        finally:
            lock.release()
    except OSError as error:
        raise StorageError.of(Path(path), error) from error


def resume(cls: type[Session], path: str | os.PathLike[str], **given: Any) -> Session:
    """Continue a saved run bit for bit; with other limits (budget, max_iter, max_lmo, max_time), as far as they allow.

    Answers that ``minimize(…, checkpoint=path)`` wrote to a journal beside the file after it are told again, so none is paid
    twice. A set or method of your own is recognised by handing over the object itself as ``set`` or ``method``, or its class
    in ``known`` under ``"module:name"``; what is handed over must equal what was saved. A set that is no dataclass is not in
    the file and has to be handed over.
    """
    from zofw.run.logbook import catch_up, journal_of  # which know sessions, as this module does not

    if not journal_of(path).exists():
        return load(cls, path, **given)
    limits = {name: given.pop(name) for name in LIMITS if name in given}
    session = load(cls, path, **given)
    catch_up(session, journal_of(path))
    if limits:
        session.extend(**limits)
    return session


def load(
    cls: type[Session],
    path: str | os.PathLike[str],
    *,
    set: Any = None,
    method: Any = None,
    objective: Callable[[Array], float] | None = None,
    gradient: Callable[[Array], Array] | None = None,
    support: Callable[[Batch], Indices] | None = None,
    observers: Sequence[Any] = (),
    known: Mapping[str, type] | None = None,
    **limits: float | None,
) -> Session:
    """The session as the file has it; see :func:`resume`."""
    saved = read_document(path, "checkpoint", VERSION, _classes(set, method) | dict(known or {}))
    if isinstance(saved, dict) and saved.get("set", 0) is None and set is None:
        raise ValueError(
            f"{path} was saved with a set of its user's own, which is not in the file. Give it as set=…."
        )
    try:
        check_sizes_agree(saved)
        session = cls(
            set if saved["set"] is None else saved["set"],
            dim=saved["dim"],
            n=saved["n"],
            method=saved["method"],
            rng=list(saved["entropy"]),
            objective=objective,
            gradient=gradient,
            support=support,
            observers=observers,
            **(saved["limits"] | limits),
            **{name: saved[name] for name in SETTINGS},
        )
        check_progress(session, saved, PROGRESS)
        for name in PROGRESS:
            setattr(session, name, saved[name])
        session.clock = Clock(saved["seconds"])
        session.reopen()
        session.replay(saved["answers"], saved["spent"])
    except EvaluationError:
        raise
    except (LookupError, TypeError, AttributeError, ArithmeticError, RuntimeError, StopIteration) as error:
        raise FileError(
            f"{path} is whole, but it is no checkpoint that this version of zofw could have written: {error!r}"
        ) from error
    if set is not None and repr(as_set(set)) != repr(session.set):
        raise ValueError(f"{path} was saved with the set {session.set!r}; {set!r} was handed over.")
    if method is not None and not _agrees(method, session.algorithm):
        raise ValueError(
            f"{path} was saved with the method {session.algorithm!r}; {method!r} was handed over."
        )
    return session


def _agrees(method: Any, settings: Any) -> bool:
    """Whether resolved settings are those of a name, or of a settings object that leaves some of them at None."""
    if isinstance(method, str):
        return method in ("auto", settings.name)
    if type(method) is not type(settings):
        return False
    asked = {field.name: getattr(method, field.name) for field in dataclasses.fields(method)}
    return all(value is None or value == getattr(settings, name) for name, value in asked.items())


def _classes(*given: Any) -> dict[str, type]:
    """Classes of what was handed over, and of a method's state, by their path."""
    kinds = [kind for thing in given for kind in (type(thing), getattr(type(thing), "State", None))]
    owned = [kind for kind in kinds if isinstance(kind, type) and dataclasses.is_dataclass(kind)]
    return {f"{kind.__module__}:{kind.__qualname__}": kind for kind in owned}
