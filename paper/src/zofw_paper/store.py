"""One directory per run: spec, environment, trace, checkpoint, result. Killing loses at most the open iteration.

spec.json         what is run, and its fingerprint; it names no code
environment.json  versions, processor, threads, the commit and the fingerprint of the method's code
checkpoint.npz    the session, with the journal of what was answered since, as :mod:`zofw.run.files.store` keeps them;
                  removed when the run is finished
trace.csv         queries, objective, … along the way
result.npz        the :class:`zofw.Result`
result.json       the end of the run in a few numbers; its presence means that the run is finished
"""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

import numpy as np

from zofw.core import Array
from zofw.run import Trace
from zofw.run.record.trace import COLUMNS
from zofw.storage import write_whole
from zofw_paper.records import SpecError, plain, record

T = TypeVar("T")


class StoreError(ValueError):
    """A run directory that is not what it should be."""


def write_json(path: Path, content: object) -> None:
    """Plain values and dataclasses to a file, whole or not at all; NaN is written as null."""
    text = json.dumps(plain(content), indent=1, allow_nan=False)
    write_whole(path, lambda stream: stream.write(f"{text}\n".encode()))


def read_json(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise StoreError(f"{path} cannot be read: {error}.") from error


def read_record(cls: type[T], path: Path, what: str, content: object = None) -> T:
    """Return a dataclass from a JSON file, or from its content; an error says what the file should have been."""
    try:
        return record(cls, read_json(path) if content is None else content, str(path))
    except SpecError as error:
        raise StoreError(f"{path} is not {what}: {error}") from error


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


def write_trace(path: Path, trace: Trace) -> None:
    """The trace as CSV, each number with all its digits."""
    names = (*COLUMNS, *trace.names)
    columns = [trace.column(name) for name in names]

    def fill(stream: BinaryIO) -> None:
        rows = [",".join(names), *(",".join(map(_number, row)) for row in zip(*columns, strict=True))]
        stream.write(("\n".join(rows) + "\n").encode())

    write_whole(path, fill)


def _number(value: float) -> str:
    if np.isnan(value):
        return ""
    return str(int(value)) if float(value).is_integer() and abs(value) < 1e15 else repr(float(value))


def read_trace(path: Path) -> dict[str, Array]:
    """Return columns of a trace by name."""
    try:
        with path.open(newline="", encoding="utf-8") as stream:
            rows = list(csv.reader(stream))
        return {
            name: np.array([float(row[k]) if row[k] else np.nan for row in rows[1:]])
            for k, name in enumerate(rows[0])
        }
    except (OSError, ValueError, IndexError) as error:
        raise StoreError(f"{path} cannot be read as a trace: {error}.") from error
