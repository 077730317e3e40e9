"""What is kept of a run: a checkpoint now and then, and a log of every event since.

run.npz            a checkpoint: a :class:`~zofw.run.record.run.Run` between two iterations
run.npz.journal    the log: a checkpoint, and every event since; it alone gives the run
run.npz.lock       while a process works on them

A checkpoint saves time on resume: the events that it includes need not be applied again. If it is
missing or damaged, the one with which the log begins takes its place.
"""

from __future__ import annotations

import dataclasses
import errno
import itertools
import logging
import os
import re
import struct
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from zofw.run.files import journal
from zofw.run.files.documents import (
    FileError,
    StorageError,
    can_encode,
    dump_document,
    parse_document,
    read_document,
    write_document,
)
from zofw.run.files.journal import Journal, Reading
from zofw.run.files.lock import Lock
from zofw.run.record.run import Run
from zofw.run.record.status import Status
from zofw.run.session.events import Answered, Event, Part
from zofw.storage import rename_over, write_whole

logger = logging.getLogger("zofw")

VERSION = 3
CHECKPOINT_SECONDS = 10.0  # between two checkpoints
SHARE = 20  # the run lasts at least so many times as long as its checkpoints take to write
KEPT_EVENTS = 1000  # of a run in memory between two checkpoints, and
KEPT_BYTES = 1 << 24  # of their values
PRUNED_BYTES = 1 << 26  # a log longer than this begins again with the last checkpoint

Classes = Mapping[str, type]
T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class Saved:
    """A run between two iterations, and the events since."""

    run: Run
    events: tuple[Event, ...] = ()
    logged: bool = False  # a log is kept beside it

    @property
    def numbered(self) -> list[tuple[int, Event]]:
        """Return the events with their serials."""
        return list(enumerate(self.events, self.run.serial))


def encodable(saved: Saved) -> Saved:
    """Return the same without a set or an outer function that no file can hold."""
    run = saved.run
    if not can_encode(run.set):
        run = dataclasses.replace(run, set=None)
    if not can_encode(run.outer):
        run = dataclasses.replace(run, outer=None)
    return Saved(run, saved.events, saved.logged)


def write_alone(saved: Saved, path: Path) -> None:
    """Write a checkpoint without holding the run's files; refuse it while another process holds them."""
    try:
        lock = Lock(_beside(path, "lock"))
        try:
            write_document(path, "checkpoint", VERSION, encodable(saved))
        finally:
            lock.release()
    except OSError as error:
        raise StorageError.of(path, error) from error


def read_run(path: Path, known: Classes) -> Saved:
    """Return the checkpoint in a file; ``known`` adds classes from outside zofw by their path."""
    return _as_saved(read_document(path, "checkpoint", VERSION, known), path)


def _as_saved(found: object, path: Path) -> Saved:
    """Return what a document holds as a run and its events, in the form that the log gives them."""
    if not isinstance(found, Saved) or not isinstance(found.run, Run):
        raise FileError(f"{path} is undamaged, but it holds a {type(found).__name__}, not a run.")
    try:
        events = tuple(journal.unpack(journal.pack(0, event))[1] for event in found.events)
    except (AttributeError, LookupError, TypeError, ValueError, struct.error) as error:
        raise FileError(f"{path} has an event that no run can have written: {error}") from error
    return Saved(found.run, events, found.logged)


class MemoryStore:
    """A run in memory: the last checkpoint, and the events since."""

    def __init__(self, run: Run) -> None:
        self.keep(run)

    def append(self, serial: int, event: Event) -> None:
        """Keep one event."""
        self._events.append(event)
        self._left -= 1
        if isinstance(event, (Answered, Part)) and event.values.size > KEPT_EVENTS:
            self._left -= event.values.nbytes * KEPT_EVENTS // KEPT_BYTES

    @property
    def due(self) -> bool:
        """Return True if there are many events since the last checkpoint."""
        return self._left < 0

    def keep(self, run: Run) -> None:
        """Keep a checkpoint; the events before it are forgotten."""
        self._run, self._events, self._left = run.copy(), list[Event](), KEPT_EVENTS

    def saved(self) -> Saved:
        """Return what is kept."""
        return Saved(self._run, tuple(self._events))


class RunFiles:
    """The files of one run, held by one process at a time.

    Parameters
    ----------
    path
        Of the checkpoint. Its folder is resolved once, so that the run stays where it began if the
        working folder changes.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path).parent.resolve() / Path(path).name
        self.journal_path, self.broken = _beside(self.path, "journal"), _beside(self.path, "broken")
        self._journal: Journal | None = None
        if self.path.is_dir():
            raise StorageError.of(self.path, OSError(errno.EISDIR, os.strerror(errno.EISDIR)))
        with self._sentences():
            self._lock = Lock(_beside(self.path, "lock"))
        litter = re.compile(rf"\.{re.escape(self.path.name)}(\.journal)?\.[0-9a-f]{{32}}\.part")
        for left in self.path.parent.iterdir():
            if litter.fullmatch(left.name):  # a file whose writer was killed
                left.unlink()
        self._seconds = CHECKPOINT_SECONDS
        self._saved = time.monotonic()

    @property
    def exists(self) -> bool:
        """Return True if there is a run to be continued."""
        return self.path.exists() or self.journal_path.exists()

    # ------------------------------------------------------------------ writing

    def begin(self, saved: Saved) -> None:
        """Write the first checkpoint and a log that begins with it, before anything is paid."""
        with self._sentences():
            self.journal_path.unlink(missing_ok=True)
            written = encodable(saved)
            write_document(self.path, "checkpoint", VERSION, written)
            self._renew(written)
            written = dataclasses.replace(written, logged=True)  # from here on a missing log is a loss
            write_document(self.path, "checkpoint", VERSION, written)

    def append(self, serial: int, event: Event) -> None:
        """Write one event to the log."""
        if self._journal is not None:
            with self._sentences():
                self._journal.append(journal.pack(serial, event))

    @property
    def due(self) -> bool:
        """Return True if the last checkpoint is long ago."""
        return abs(time.monotonic() - self._saved) >= self._seconds

    def keep(self, run: Run) -> None:
        """Write a checkpoint; a log that has grown long begins again with it."""
        began = time.monotonic()
        with self._sentences():
            written = encodable(Saved(run, logged=True))
            if self._journal is not None:
                self._journal.sync()
            write_document(self.path, "checkpoint", VERSION, written)
            if self._journal is not None and self._journal.size > PRUNED_BYTES:
                self._renew(written)
        self._saved = time.monotonic()
        logger.info("Checkpoint after %s queries and %d iterations: %s.", f"{run.nfev:,}", run.nit, self.path)
        self._seconds = max(CHECKPOINT_SECONDS, SHARE * (self._saved - began))

    def _renew(self, saved: Saved) -> None:
        """Begin a log with a checkpoint, and put it in the place of the old one."""
        identity = bytes.fromhex(saved.run.identity)
        base = dump_document("checkpoint", VERSION, Saved(saved.run))
        if self._journal is not None:
            self._journal.close()
        if not self.journal_path.exists():
            self._journal = Journal(self.journal_path, identity, base=base)
        else:
            part = self.journal_path.with_name(f".{self.journal_path.name}.{os.urandom(16).hex()}.part")
            made = Journal(part, identity, base=base)
            made.close()  # Windows does not rename a file that is open
            rename_over(part, self.journal_path)
            self._journal = Journal(self.journal_path, identity, made.size, made.digest)
        for serial, event in saved.numbered:
            self._journal.append(journal.pack(serial, event))

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
        """Say in a sentence what the system says against the files."""
        try:
            yield
        except OSError as error:
            raise StorageError.of(self.path, error) from error

    # ------------------------------------------------------------------ reading

    def saved(self) -> Saved:
        """Return the run as the files have it now."""
        return read_saved(self.path, {}, lambda run: run)[0]

    def read(self, known: Classes, sound: Callable[[Run], T]) -> tuple[T, Saved]:
        """Return what ``sound`` makes of the run, and the run with its events; append from here on.

        A checkpoint is passed over if ``sound`` raises a FileError over it.
        """
        taken: list[T] = []
        saved, reading, renew = read_saved(self.path, known, lambda run: taken.append(sound(run)))
        loss = said_of_loss(saved, reading, self.journal_path)
        with self._sentences():
            if reading is None or renew:
                if reading is not None and (reading.damaged or loss):
                    content = self.journal_path.read_bytes()
                    write_whole(self.broken, lambda stream: stream.write(content))
                    kept = f"A copy of the damaged log is in {self.broken}."
                    logger.warning("%s", kept)
                    loss = f"{loss} {kept}" if loss else ""
                self._renew(encodable(saved))
            else:
                identity = bytes.fromhex(saved.run.identity)
                self._journal = Journal(self.journal_path, identity, reading.size, reading.digest)
        if loss:
            warnings.warn(loss, UserWarning, stacklevel=5)
        return taken[-1], saved


def said_of_loss(saved: Saved, reading: Reading | None, path: Path) -> str:
    """Say which answers a damaged or missing log has lost; nothing if it has all."""
    run, paid = saved.run, sum(saved.run.ledger.values())
    if reading is not None and reading.damaged:
        lost = sum(serial >= run.serial for serial in reading.lost)
        many = f", at least {lost} paid answers" if lost else ""
        return (
            f"{path} is damaged after its first {len(reading.events)} entries; what follows them and is not in "
            f"the checkpoint is evaluated again{many}."
        )
    kept = reading is not None and (reading.base or reading.events)
    if kept or not saved.logged or run.status is not Status.RUNNING:
        return ""
    return (
        f"{path} is {'missing' if reading is None else 'cut off before its first answer'}: the run goes on from the "
        f"checkpoint beside it, which is made of {paid} paid answers. Any that came later are evaluated again."
    )


def read_saved(
    path: Path, known: Classes, sound: Callable[[Run], object]
) -> tuple[Saved, Reading | None, bool]:
    """Return a run and its events, what the log has, and True if the log has to begin again.

    If the checkpoint is missing or unsound, the one with which the log begins takes its place.
    """
    beside, reading = _beside(path, "journal"), None
    error: OSError | FileError | None = None
    saved: Saved | None = None
    try:
        saved = read_run(path, known)
        sound(saved.run)
    except FileNotFoundError as missing:
        saved, error = None, missing
    except FileError as unsound:
        saved, error = None, unsound
    try:
        if beside.exists():
            reading = journal.read(beside, None if saved is None else bytes.fromhex(saved.run.identity))
    except FileError:
        if not isinstance(error, FileError):
            raise
    if saved is None:
        if reading is None or not reading.base:
            if isinstance(error, OSError) and not beside.exists():
                raise error
            state = "damaged too" if beside.exists() else "missing"
            raise FileError(
                f"{error} The log beside it, {beside}, is {state}. Put a copy of either in its place, or begin "
                "the run again under another name."
            ) from error
        if isinstance(error, FileError):
            logger.warning("%s The log beside it, %s, gives the run.", error, beside)
        saved = _as_saved(parse_document(reading.base, beside, "checkpoint", VERSION, known), beside)
        sound(saved.run)
    if loss := said_of_loss(saved, reading, beside):
        logger.warning("%s", loss)
    first, written = saved.run.serial, reading.events if reading is not None else []
    events = dict(written) | dict(saved.numbered)
    kept = list(itertools.takewhile(lambda event: event, (events.get(n) for n in itertools.count(first))))
    gap = bool(written) and written[-1][0] + 1 < first
    renew = reading is None or reading.damaged or not reading.base or bool(saved.events) or gap
    return Saved(saved.run, tuple(event for event in kept if event), saved.logged), reading, renew


def read_log(path: Path, known: Classes) -> Saved:
    """Return a run with as many events as its files have: from the checkpoint with which its log begins."""
    beside = _beside(path, "journal")
    reading = journal.read(beside) if beside.exists() else None
    if reading is None or not reading.base:
        return read_run(path, known)
    saved = _as_saved(parse_document(reading.base, beside, "checkpoint", VERSION, known), beside)
    return Saved(saved.run, tuple(event for _, event in reading.events))


def _beside(path: Path, suffix: str) -> Path:
    return path.with_name(f"{path.name}.{suffix}")
