"""A desk on disk.

run.npz, run.npz.journal, …   the run: checkpoint and journal of every value that was taken
desk.json                     how its requests are made
status.json                   where it stands
requests/                     open requests, a file each
answers/                      where answers are put
taken/                        answers that were taken
done/                         requests with their values, once all are known
refused/                      answers that could not be taken, each with a file that says why
"""

from __future__ import annotations

import json
import logging
import os
import re
import time
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from zofw.desk.files import ENDINGS, load, put
from zofw.desk.reply import AnswerError, Reply
from zofw.desk.request import Request
from zofw.run import RunFiles, Session
from zofw.run.files.documents import FileError, StorageError
from zofw.sets import SetLike

logger = logging.getLogger("zofw")

VERSION = 1
ROOMS = ("requests", "answers", "taken", "done", "refused")
NAME = re.compile(r"([0-9]{6,15}-[0-9a-f]{4})-([0-9]{4,15})(?:-([0-9]{1,9}))?")  # query, block, attempt
REPORT_SECONDS = 1.0
SETTLE_SECONDS = 2.0  # a file that cannot be read may still be on its way, if it is younger than this


@dataclass
class Look:
    """What one look at the answers brought.

    Attributes
    ----------
    taken
        Evaluations that became known.
    files
        Answers that were read and put aside.
    waiting
        Files that are not filled in, or perhaps not written to their end.
    refused
        Files that could not be taken, where they are now, and why.
    """

    taken: int = 0
    files: int = 0
    waiting: list[Path] = field(default_factory=list)
    refused: dict[Path, str] = field(default_factory=dict)


class DeskFolder:
    """The files of one desk, held by one process at a time.

    Parameters
    ----------
    path
        A folder; made where there is none.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        try:
            for room in ROOMS:
                (self.path / room).mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StorageError(
                error.errno, f"A desk cannot be made in {self.path}: {error.strerror}"
            ) from error
        self.files = RunFiles(self.path / "run.npz")
        self.held = True
        self._published: dict[str, tuple[int, ...]] | None = None  # file → its stamp; None: not known
        self._reported: object = None
        self._when = 0.0
        self._overlooked: set[str] = set()

    @property
    def begun(self) -> bool:
        """Whether it holds a run."""
        return self.files.exists

    def begin(self, session: Session, size: int) -> None:
        """Write down how requests are made, and then the run."""
        made = {"zofw": "desk", "version": VERSION, "size": size}
        put(self.path / "desk.json", json.dumps(made).encode(), durable=True)
        session.write_to(self.files)

    def resume(self, set: SetLike | None, settings: Mapping[str, Any]) -> Session:
        """The run that is here, if it is the one that was asked for."""
        given = {name: value for name, value in settings.items() if value is not None}
        return Session.resume(self.files, set=set, **given)

    def settle(self, size: int | None) -> int:
        """Return the evaluations of a request here; what is given must agree."""
        path = self.path / "desk.json"
        saved = load(path)
        found = saved.get("size")
        if (saved.get("zofw"), saved.get("version")) != ("desk", VERSION) or not isinstance(found, int):
            raise FileError(f"{path} was not written by this version of zofw.")
        if saved.get("merge"):
            raise FileError(f"{path} has merge=True, which zofw 0.2 no longer has: finish it with zofw 0.1.")
        if size not in (None, found):
            raise ValueError(f"{self.path} is a desk with size={found}; size={size} was given.")
        return found

    def close(self) -> None:
        """Release the folder for the next process."""
        self.held = False
        self.files.close()

    # ------------------------------------------------------------------ outward

    def label(self, number: int) -> str | None:
        """Return the name that the requests of a query have, if any of them lies here."""
        there = (NAME.fullmatch(path.name.split(".")[0]) for path in self.path.glob(f"*/{number:06d}-*"))
        return next((name[1] for name in there if name), None)

    def publish(self, requests: Iterable[Request]) -> None:
        """Make the files in requests/ those of the given ones."""
        room = self.path / "requests"
        if self._published is None:
            self.collect()
            for path in room.iterdir():
                if NAME.match(path.name.removeprefix(".")):
                    path.unlink()
            self._published = {}
        wanted = {request.id: request for request in requests}
        for name in [name for name in self._published if Path(name).stem not in wanted]:
            (room / name).unlink(missing_ok=True)
            del self._published[name]
        for id in wanted.keys() - {Path(name).stem for name in self._published}:
            ending, text = wanted[id].pack()
            put(room / f"{id}{ending}", text)
            self._published[f"{id}{ending}"] = stamp(room / f"{id}{ending}")

    def finish(self, request: Request, values: Sequence[float | None]) -> None:
        """Keep a request with its values."""
        ending, text = request.pack(values)
        put(self.path / "done" / f"{request.id}{ending}", text)

    def finished(self, id: str) -> tuple[Request, dict[int, float]] | None:
        """A request that was answered, and its values by place."""
        for ending in ENDINGS:
            path = self.path / "done" / f"{id}{ending}"
            if NAME.fullmatch(id) and path.exists():
                fields = load(path)
                return Request.unpack(fields), Reply.of(fields).values
        return None

    def report(self, key: object, status: Callable[[], dict[str, object]]) -> None:
        """Say where the run stands, if ``key`` has changed or the last word is a second old."""
        if key != self._reported or abs(time.monotonic() - self._when) >= REPORT_SECONDS:
            put(self.path / "status.json", (json.dumps(status(), indent=1) + "\n").encode())
            self._reported, self._when = key, time.monotonic()

    # ------------------------------------------------------------------ inward

    def collect(self) -> None:
        """Move requests that were filled in where they lay to the answers; they are put out again if need be."""
        known = self._published or {}
        for path in (self.path / "requests").iterdir():
            ours = path.suffix in ENDINGS and NAME.fullmatch(path.stem) is not None and path.is_file()
            if ours and stamp(path) != known.get(path.name) and _edited(path):
                self.move(path, "answers")
                known.pop(path.name, None)
        for name in [name for name in known if not (self.path / "requests" / name).exists()]:
            del known[name]

    def answers(self) -> list[Path]:
        """Files that may be answers, the oldest first; others are mentioned once."""
        found: list[tuple[tuple[int, ...], Path]] = []
        for path in (self.path / "answers").iterdir():
            if path.name.startswith((".", "#", "~")) or path.name.endswith(("~", ".tmp", ".part", ".swp")):
                continue
            if path.suffix in ENDINGS and path.is_file():
                found.append((stamp(path), path))
            elif path.name not in self._overlooked:
                self._overlooked.add(path.name)
                said = f"{path} is not read: an answer is a file whose name ends in .json or .npz."
                logger.warning("%s", said)
                warnings.warn(said, UserWarning, stacklevel=4)
        return [path for _, path in sorted(found)]

    def move(self, path: Path, room: str) -> Path:
        """Put a file aside under its own name, or one like it."""
        target, copies = self.path / room / path.name, 1
        while target.exists():
            copies += 1
            target = self.path / room / f"{path.stem}.{copies}{path.suffix}"
        try:
            path.rename(target)
        except FileNotFoundError:
            return path
        except OSError as error:
            raise StorageError(error.errno, f"{path} could not be moved ({error.strerror})") from error
        return target

    def set_aside(self, path: Path, seen: tuple[int, ...]) -> None:
        """Put an answer that was taken aside; back, if it was written to since it was read."""
        target = self.move(path, "taken")
        if stamp(target) not in (seen, ()):
            self.move(target, "answers")

    def refuse(self, path: Path, reason: str) -> Path:
        """Put an answer aside with the reason beside it."""
        target = self.move(path, "refused")
        put(target.with_name(f"{target.name}.why.txt"), f"{reason}\n".encode())
        logger.warning("%s was not taken and is now %s: %s", path.name, target, reason)
        return target


def settled(path: Path) -> bool:
    """Return True if a file has not been written to for a while."""
    return abs(time.time() - path.stat().st_mtime) >= SETTLE_SECONDS


def stamp(path: Path) -> tuple[int, ...]:
    """Return what changes when a file is written to."""
    try:
        found = path.stat()
    except FileNotFoundError:
        return ()
    return found.st_mtime_ns, found.st_size, found.st_ino


def _edited(path: Path) -> bool:
    """Whether there is more in a file than what was asked."""
    fields: dict[str, object] = {}
    try:
        fields = load(path)
        return not Reply.of(fields).empty
    except AnswerError:
        return "values" in fields or "failed" in fields
    except FileError:
        return settled(path)
    except FileNotFoundError:
        return False
