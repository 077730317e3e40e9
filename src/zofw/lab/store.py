"""One directory per run: spec, environment, trace, checkpoint, result. Killing loses at most the open iteration.

spec.json         what is run, and its fingerprint
environment.json  versions, processor, threads
checkpoint.npz    the session, with the journal of what was answered since, as :mod:`zofw.run.logbook` keeps them
trace.csv         queries, objective, … along the way
result.npz        the :class:`zofw.Result`
result.json       the end of the run in a few numbers; its presence means that the run is finished
"""

from __future__ import annotations

import csv
import json
import os
import platform
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from zofw.files import write_whole
from zofw.kernels import threads
from zofw.run import Trace
from zofw.run.trace import COLUMNS

__all__ = ["Folder", "StoreError", "environment", "read_json", "write_json"]

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
    text = json.dumps(_plain(content), indent=1, allow_nan=False)
    write_whole(path, lambda stream: stream.write(f"{text}\n".encode()))


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


def write_trace(path: Path, trace: Trace) -> None:
    """The trace as CSV, each number with all its digits."""
    names = (*COLUMNS, *trace.names)
    columns = [trace.column(name) for name in names]

    def fill(stream: BinaryIO) -> None:
        rows = [",".join(names), *(",".join(map(_number, row)) for row in zip(*columns, strict=True))]
        stream.write(("\n".join(rows) + "\n").encode())

    write_whole(path, fill)


def _number(value: float) -> str:
    return (
        ""
        if np.isnan(value)
        else str(int(value))
        if float(value).is_integer() and abs(value) < 1e15
        else repr(float(value))
    )


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
