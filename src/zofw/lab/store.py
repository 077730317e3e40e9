"""One directory per run: spec, environment, trace, checkpoint, journal, result. Killing loses at most the open iteration.

    spec.json         what is run, and its fingerprint
    environment.json  versions, processor, threads
    checkpoint.npz    the session, every ``CHECKPOINT`` seconds
    journal-N.bin     the answers told since the checkpoint with N answers
    trace.csv         queries, objective, … along the way
    result.npz        the :class:`zofw.Result`
    result.json       the end of the run in a few numbers; its presence means that the run is finished

An answer is in the journal before the next query is asked. Resuming reads the checkpoint and tells the session the
answers of the journal again: nothing is evaluated twice but the query whose answer was not written yet.
"""

from __future__ import annotations

import csv
import json
import os
import platform
import struct
import sys
import zlib
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from zofw.core import Answer, Query
from zofw.data.packing import write_atomically
from zofw.kernels import threads
from zofw.run import Session, Trace
from zofw.run.trace import COLUMNS

__all__ = ["Folder", "Journal", "StoreError", "environment", "read_json", "write_json"]

CHECKPOINT = 20.0  # seconds between two checkpoints
HEAD = struct.Struct("<IIB")  # bytes of the record, their crc32, whether variances follow the values
PACKAGES = ("zofw", "numpy", "scipy", "numba", "torch", "scikit-learn", "matplotlib", "plotly")


class StoreError(ValueError):
    """A run directory that is not what it should be."""


def environment() -> dict[str, Any]:
    """Versions and machine, without names of users, hosts or folders."""
    found = {}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = "not installed"
    return {
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
        "processors": os.cpu_count(),
        "threads": threads.count(),
        "packages": found,
        "flags": sys.flags.optimize,
    }


def write_json(path: Path, content: Any) -> None:
    """Plain values to a file, whole or not at all; NaN is written as null."""
    text = json.dumps(_plain(content), indent=1, sort_keys=True, allow_nan=False)
    write_atomically(path, lambda stream: stream.write(f"{text}\n".encode()))


def read_json(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise StoreError(f"{path} cannot be read: {error}.") from error


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if isinstance(value, np.ndarray):
        return _plain(value.tolist())
    if isinstance(value, (float, np.floating)):
        return float(value) if np.isfinite(value) else None
    return int(value) if isinstance(value, np.integer) else value


class Journal:
    """Answers since a checkpoint, one record each, appended before the next query is asked."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file: BinaryIO | None = None

    def append(self, answer: Answer) -> None:
        if self._file is None:
            self._file = self.path.open("ab")
        payload = answer.values.tobytes() + (b"" if answer.variance is None else answer.variance.tobytes())
        head = HEAD.pack(len(payload), zlib.crc32(payload), answer.variance is not None)
        self._file.write(head + payload)
        self._file.flush()

    def close(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None

    def records(self) -> Iterator[tuple[bytes, bool]]:
        """Whole records in order; a torn one at the end is where the process was killed."""
        content = self.path.read_bytes() if self.path.is_file() else b""
        at = 0
        while at + HEAD.size <= len(content):
            size, check, varied = HEAD.unpack_from(content, at)
            payload = content[at + HEAD.size : at + HEAD.size + size]
            if len(payload) < size or zlib.crc32(payload) != check:
                break
            yield payload, bool(varied)
            at += HEAD.size + size

    def replay(self, session: Session) -> int:
        """Tell a session everything again; how many answers that were."""
        count = 0
        for payload, varied in self.records():
            query = session.ask()
            if query is None:
                break
            session.tell(query, _answer(query, payload, varied, self.path))
            count += 1
        return count


def _answer(query: Query, payload: bytes, varied: bool, path: Path) -> Answer:
    numbers = np.frombuffer(payload, dtype=float)
    size = len(query.anchors) * query.width
    if len(numbers) != size + (len(query.anchors) * query.count if varied else 0):
        raise StoreError(f"{path} does not fit its checkpoint. Remove it: the run goes on from the checkpoint.")
    variance = numbers[size:].reshape(len(query.anchors), -1).copy() if varied else None
    return Answer(numbers[:size].reshape(len(query.anchors), -1).copy(), variance)


class Folder:
    """The directory of one run."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self.spec, self.environment = self.path / "spec.json", self.path / "environment.json"
        self.checkpoint, self.trace = self.path / "checkpoint.npz", self.path / "trace.csv"
        self.result, self.summary = self.path / "result.npz", self.path / "result.json"

    @property
    def finished(self) -> bool:
        return self.summary.is_file()

    def claim(self, document: dict[str, Any]) -> None:
        """Make the directory this run's own, or refuse one that another specification has filled."""
        if self.spec.is_file():
            found = read_json(self.spec).get("fingerprint")
            if found != document["fingerprint"]:
                raise StoreError(
                    f"{self.path} holds a run of another specification ({found}, now {document['fingerprint']}). "
                    "Choose another --out, or remove it."
                )
            return
        self.path.mkdir(parents=True, exist_ok=True)
        write_json(self.environment, environment())
        write_json(self.spec, document)

    def journal(self, session: Session) -> Journal:
        """The journal that goes with the session's last checkpoint."""
        return Journal(self.path / f"journal-{session.number}.bin")

    def save(self, session: Session, old: Journal | None = None) -> Journal:
        """Checkpoint the session, write its trace and begin a new journal."""
        session.checkpoint(self.checkpoint)
        write_trace(self.trace, session.trace)
        new = self.journal(session)
        if old is not None:
            old.close()
            if old.path != new.path:
                old.path.unlink(missing_ok=True)
        return new

    def forget_journals(self) -> None:
        for path in self.path.glob("journal-*.bin"):
            path.unlink()


def write_trace(path: Path, trace: Trace) -> None:
    """The trace as CSV, each number with all its digits."""
    names = (*COLUMNS, *trace.names)
    columns = [trace.column(name) for name in names]

    def fill(stream: BinaryIO) -> None:
        rows = [",".join(names), *(",".join(map(_number, row)) for row in zip(*columns, strict=True))]
        stream.write(("\n".join(rows) + "\n").encode())

    write_atomically(path, fill)


def _number(value: float) -> str:
    return "" if np.isnan(value) else str(int(value)) if float(value).is_integer() and abs(value) < 1e15 else repr(float(value))


def read_trace(path: Path) -> dict[str, list[float]]:
    """Columns of a trace by name."""
    try:
        with path.open(newline="", encoding="utf-8") as stream:
            rows = list(csv.reader(stream))
        return {
            name: [float(row[k]) if row[k] else float("nan") for row in rows[1:]]
            for k, name in enumerate(rows[0])
        }
    except (OSError, ValueError, IndexError) as error:
        raise StoreError(f"{path} cannot be read as a trace: {error}.") from error
