"""A run on disk: a checkpoint, the one before it, and a journal of what was paid since; held by one process at a time.

run.npz                     the last checkpoint
run.npz.previous            the one before it, used where the last one is broken
run.npz.journal             what was paid since the last checkpoint, and
run.npz.journal.previous    between the two
run.npz.lock                while a process works on it
"""

from __future__ import annotations

import errno
import logging
import os
import re
import shutil
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from zofw.core import Answer
from zofw.run import journal
from zofw.run.checkpoint import load, save
from zofw.run.clock import Clock
from zofw.run.codec import FileError, StorageError
from zofw.run.journal import Entry, Journal, Kind
from zofw.run.lock import Lock
from zofw.run.session import Session

__all__ = ["Logbook", "StorageError", "catch_up", "journal_of"]

logger = logging.getLogger("zofw")

CHECKPOINT_SECONDS = (
    10.0  # between two checkpoints, and never more than a twentieth of the time spent on them
)
SHARE = 20


class Logbook:
    """The files of one run.

    Parameters
    ----------
    path
        Of the checkpoint.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self.previous, self.journal_path = self._beside("previous"), journal_of(self.path)
        self.journal_previous, self.broken = self._beside("journal.previous"), self._beside("broken")
        self.parts: list[Entry] = []  # of the open query, from before this process
        self._journal: Journal | None = None
        if self.path.is_dir():
            raise StorageError.of(self.path, OSError(errno.EISDIR, os.strerror(errno.EISDIR)))
        try:
            self._lock = Lock(self._beside("lock"))
        except OSError as error:
            raise self._storage_error(error) from error
        litter = re.compile(rf"\.{re.escape(self.path.name)}\.[a-z0-9_]{{8}}")
        for left in self.path.parent.iterdir():
            if litter.fullmatch(left.name):  # a checkpoint whose writer was killed
                left.unlink()
        self._seconds = CHECKPOINT_SECONDS
        self._saved = time.monotonic()

    def _beside(self, suffix: str) -> Path:
        return self.path.with_name(f"{self.path.name}.{suffix}")

    @property
    def exists(self) -> bool:
        """Whether a run is there to be continued."""
        return self.path.exists() or self.previous.exists()

    # ------------------------------------------------------------------ writing

    def begin(self, session: Session) -> None:
        """The first checkpoint and an empty journal, before anything is paid."""
        try:
            for old in (self.journal_path, self.journal_previous):
                old.unlink(missing_ok=True)
            self._journal = Journal(self.journal_path, bytes.fromhex(session.identity))
        except OSError as error:
            raise self._storage_error(error) from error
        self.save(session)

    def note(self, session: Session, kind: Kind, a: int = 0, b: int = 0, arrays: Iterable[Any] = ()) -> None:
        """One entry of the journal about the open query."""
        entry = Entry(kind, session.serial, session.number, a, b, session.seconds, tuple(arrays))
        try:
            if self._journal is not None:
                self._journal.append(entry)
        except OSError as error:
            raise self._storage_error(error) from error
        session.serial += 1

    def answered(self, session: Session, answer: Answer) -> None:
        """The answer that the open query is about to be told."""
        self.note(session, Kind.ANSWER, arrays=_arrays(answer.values, answer.variance))
        self.parts = []

    def save(self, session: Session) -> None:
        """A checkpoint now, keeping the one before it."""
        began = time.monotonic()
        try:
            save(session, self.path, self.previous)
        except OSError as error:
            raise self._storage_error(error) from error
        self._saved = time.monotonic()
        self._seconds = max(CHECKPOINT_SECONDS, SHARE * (self._saved - began))

    def save_if_due(self, session: Session) -> None:
        """A checkpoint at the end of an iteration, where the last one is long ago; the journal begins anew."""
        if abs(time.monotonic() - self._saved) >= self._seconds:
            self.save(session)
            self._turn_over(session)

    def _turn_over(self, session: Session) -> None:
        try:
            if self._journal is not None:
                self._journal.close()
                os.replace(self.journal_path, self.journal_previous)
            self._journal = Journal(self.journal_path, bytes.fromhex(session.identity))
        except OSError as error:
            raise self._storage_error(error) from error

    def close(self) -> None:
        """Release the lock; the files stay."""
        try:
            if self._journal is not None:
                self._journal.close()
        except OSError as error:
            raise self._storage_error(error) from error
        finally:
            self._journal = None
            self._lock.release()

    def _storage_error(self, error: OSError) -> StorageError:
        return StorageError.of(self.path, error)

    # ------------------------------------------------------------------ reading

    def resume(self, limits: Mapping[str, float | None], **given: Any) -> Session:
        """The saved session, brought to where its journal ends and then put under the given limits.

        ``given`` is what :meth:`Session.resume` takes beside limits.
        """
        session = self._last_sound(given)
        identity = bytes.fromhex(session.identity)
        entries: list[Entry] = []
        damaged = False
        for path in (self.journal_previous, self.journal_path):
            if path.exists():
                reading = journal.read(path, identity)
                entries += reading.entries
                damaged |= reading.damaged
                if reading.damaged:
                    self._set_aside(path, len(reading.entries))
                if path == self.journal_path:
                    self._journal = Journal(path, identity, reading.size, reading.digest)
        self.parts = _tell_again(session, entries)
        session.extend(**limits)
        if damaged or self._journal is None:
            self.save(session)
            self._turn_over(session)
            for part in self.parts:
                self.note(session, part.kind, part.a, part.b, part.arrays)
        return session

    def _set_aside(self, path: Path, sound: int) -> None:
        shutil.copyfile(path, self.broken)
        logger.warning(
            "%s is damaged after its first %d entries; what comes behind them is paid for again. A copy is in %s.",
            path,
            sound,
            self.broken,
        )

    def _last_sound(self, given: dict[str, Any]) -> Session:
        try:
            return load(Session, self.path, **given)
        except (FileError, FileNotFoundError) as error:
            if not self.previous.exists():
                raise
            logger.warning("%s The one before it, %s, is used.", error, self.previous)
            session = load(Session, self.previous, **given)
            if self.path.exists():
                os.replace(self.path, self.broken)
            return session


def journal_of(path: str | os.PathLike[str]) -> Path:
    """The journal beside a checkpoint."""
    return Path(f"{os.fspath(path)}.journal")


def catch_up(session: Session, path: Path) -> None:
    """Bring a session to where a journal ends, for somebody who tells whole answers."""
    reading = journal.read(path, bytes.fromhex(session.identity))
    if reading.damaged:
        logger.warning(
            "%s is damaged after its first %d entries; those are used.", path, len(reading.entries)
        )
    if _tell_again(session, reading.entries):
        logger.warning(
            "%s has evaluations of the open query too, which zofw.resume takes up; a session is told whole answers, so they "
            "are paid for again.",
            path,
        )


def _tell_again(session: Session, entries: Sequence[Entry]) -> list[Entry]:
    """Do again what entries beyond the session say was done, whatever the time; what they have of the open query."""
    max_time, session.limits["max_time"] = session.limits["max_time"], None
    for entry in entries:
        if entry.serial == session.serial:
            _replay(session, entry)
    session.limits["max_time"] = max_time
    parts: list[Entry] = []
    for entry in entries:
        if entry.kind in (Kind.CELLS, Kind.SUMS) and entry.number == session.number:
            parts.append(entry)
        elif entry.kind is Kind.DROPPED or (entry.kind is Kind.FAILED and entry.b):
            parts = []  # the query they belong to was given up, and another has its number
    return parts


def _replay(session: Session, entry: Entry) -> None:
    """Do again what an entry says was done."""
    match entry.kind:
        case Kind.ANSWER:
            query = session.ask()
            if query is None or entry.number != session.number:
                raise FileError(
                    f"The journal has an answer to query {entry.number}, which the checkpoint beside it does not ask."
                )
            session.tell(query, Answer(*entry.arrays))
        case Kind.FAILED:
            session.ask()
            session.fail(entry.a, entry.b)
        case Kind.DROPPED:
            session.ask()
            session.drop(entry.b)
    session.serial = entry.serial + 1
    if entry.seconds > session.seconds:
        session.clock = Clock(entry.seconds)


def _arrays(*arrays: Any) -> list[Any]:
    return [array for array in arrays if array is not None]
