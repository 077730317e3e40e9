"""A run on disk: a checkpoint, the one before it, and a journal of what was paid since; held by one process at a time.

run.npz                     the last checkpoint: a :class:`~zofw.run.record.Run`
run.npz.previous            the one before it, used where the last one is broken
run.npz.journal             what was paid since the last checkpoint, and
run.npz.journal.previous    between the two
run.npz.lock                while a process works on it
"""

from __future__ import annotations

import dataclasses
import errno
import logging
import os
import re
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from zofw.run.files import journal
from zofw.run.files.documents import FileError, StorageError, can_encode, read_document, write_document
from zofw.run.files.journal import Entry, Journal, Reading
from zofw.run.files.lock import Lock
from zofw.run.record.run import Run
from zofw.storage import write_whole

logger = logging.getLogger("zofw")

VERSION = 2
CHECKPOINT_SECONDS = (
    10.0  # between two checkpoints, and never more than a twentieth of the time spent on them
)
SHARE = 20

Classes = Mapping[str, type]
T = TypeVar("T")


def write_run(run: Run, path: Path, kept: Path | None = None) -> None:
    """One checkpoint. The file that was there before is renamed to ``kept``, where that is given."""
    written = run if can_encode(run.set) else dataclasses.replace(run, set=None)
    if run.outer is not None and not can_encode(run.outer):
        written = dataclasses.replace(written, outer=None)
    write_document(path, "checkpoint", VERSION, written, kept)


def write_alone(run: Run, path: Path) -> None:
    """A checkpoint by somebody who does not hold the run's files, and is refused while somebody does."""
    try:
        lock = Lock(_beside(path, "lock"))
        try:
            write_run(run, path)
        finally:
            lock.release()
    except OSError as error:
        raise StorageError.of(path, error) from error


def read_run(path: Path, known: Classes) -> Run:
    """What a checkpoint contains; ``known`` adds classes from outside zofw by their path."""
    run = read_document(path, "checkpoint", VERSION, known)
    if not isinstance(run, Run):
        raise FileError(f"{path} is undamaged, but it holds a {type(run).__name__}, not a run.")
    return run


def read_journal(path: Path, run: Run) -> list[Entry]:
    """What the journal beside a checkpoint has, for somebody who does not hold the run's files."""
    beside = _beside(path, "journal")
    if not beside.exists():
        return []
    reading = journal.read(beside, bytes.fromhex(run.identity))
    if reading.damaged:
        logger.warning(
            "%s is damaged after its first %d entries; those are used.", beside, len(reading.entries)
        )
    return reading.entries


class RunFiles:
    """The files of one run.

    Parameters
    ----------
    path
        Of the checkpoint; its folder is resolved once, so that the run stays where it began, whatever becomes of the
        working folder.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path).parent.resolve() / Path(path).name
        self.previous, self.journal_path = _beside(self.path, "previous"), _beside(self.path, "journal")
        self.journal_previous = _beside(self.path, "journal.previous")
        self.broken = _beside(self.path, "broken")
        self._journal: Journal | None = None
        if self.path.is_dir():
            raise StorageError.of(self.path, OSError(errno.EISDIR, os.strerror(errno.EISDIR)))
        with self._sentences():
            self._lock = Lock(_beside(self.path, "lock"))
        litter = re.compile(rf"\.{re.escape(self.path.name)}\.[0-9a-f]{{32}}\.part")
        for left in self.path.parent.iterdir():
            if litter.fullmatch(left.name):  # a checkpoint whose writer was killed
                left.unlink()
        self._seconds = CHECKPOINT_SECONDS
        self._saved = time.monotonic()

    @property
    def exists(self) -> bool:
        """Whether a run is there to be continued."""
        return self.path.exists() or self.previous.exists()

    # ------------------------------------------------------------------ writing

    def begin(self, run: Run) -> None:
        """The first checkpoint and an empty journal, before anything is paid."""
        with self._sentences():
            for old in (self.journal_path, self.journal_previous):
                old.unlink(missing_ok=True)
            self._journal = Journal(self.journal_path, bytes.fromhex(run.identity))
        self.save(run)

    def append(self, entry: Entry) -> None:
        """One entry of the journal."""
        with self._sentences():
            if self._journal is not None:
                self._journal.append(entry)

    def save(self, run: Run) -> None:
        """A checkpoint now, keeping the one before it."""
        began = time.monotonic()
        with self._sentences():
            write_run(run, self.path, self.previous)
        self._saved = time.monotonic()
        logger.info("Checkpoint after %s queries and %d iterations: %s.", f"{run.nfev:,}", run.nit, self.path)
        self._seconds = max(CHECKPOINT_SECONDS, SHARE * (self._saved - began))

    @property
    def due(self) -> bool:
        """Whether the last checkpoint is long ago."""
        return abs(time.monotonic() - self._saved) >= self._seconds

    def turn_over(self, run: Run) -> None:
        """A checkpoint at the end of an iteration, from which the journal begins anew."""
        self.save(run)
        with self._sentences():
            if self._journal is not None:
                self._journal.close()
                os.replace(self.journal_path, self.journal_previous)
            self._journal = Journal(self.journal_path, bytes.fromhex(run.identity))

    def close(self) -> None:
        """Release the lock; the files stay."""
        try:
            with self._sentences():
                if self._journal is not None:
                    self._journal.close()
        finally:
            self._journal = None
            self._lock.release()

    @contextmanager
    def _sentences(self) -> Iterator[None]:
        """What the system says against the files, in a sentence."""
        try:
            yield
        except OSError as error:
            raise StorageError.of(self.path, error) from error

    # ------------------------------------------------------------------ reading

    def read(self, known: Classes, take_up: Callable[[Run], T]) -> tuple[T, list[Entry], bool]:
        """What the last sound checkpoint is taken up to, the entries of both journals, and whether they are to begin anew.

        A checkpoint is sound where ``take_up`` does not raise a FileError over it.
        """
        run, taken = self._last_sound(known, take_up)
        identity = bytes.fromhex(run.identity)
        previous, last = (self._sound(path, identity) for path in (self.journal_previous, self.journal_path))
        with self._sentences():
            self._journal = Journal(self.journal_path, identity, last.size, last.digest)
        return taken, previous.entries + last.entries, previous.damaged

    def _sound(self, path: Path, identity: bytes) -> Reading:
        """What a journal has up to its first damage, if it has one; a copy of a damaged one is kept."""
        if not path.exists():
            return Reading([], 0, b"", damaged=False)
        reading = journal.read(path, identity)
        if reading.damaged:
            self._set_aside(path, len(reading.entries))
        return reading

    def _set_aside(self, path: Path, sound: int) -> None:
        content = path.read_bytes()
        write_whole(self.broken, lambda stream: stream.write(content))
        logger.warning(
            "%s is damaged after its first %d entries; what follows them is evaluated again. A copy is in %s.",
            path,
            sound,
            self.broken,
        )

    def _last_sound(self, known: Classes, take_up: Callable[[Run], T]) -> tuple[Run, T]:
        try:
            run = read_run(self.path, known)
            return run, take_up(run)
        except (FileError, FileNotFoundError) as error:
            if not self.previous.exists():
                raise
            logger.warning("%s The one before it, %s, is used.", error, self.previous)
            run = read_run(self.previous, known)
            taken = take_up(run)
            if self.path.exists():
                os.replace(self.path, self.broken)
            return run, taken


def _beside(path: Path, suffix: str) -> Path:
    return path.with_name(f"{path.name}.{suffix}")
