"""A request: evaluations to be made, as a document that any program can read.

JSON holds every number in the shortest form that reads back as the same double; where there are many, the same fields are
plain arrays of an npz file. The field ``values`` is empty: copy the file, fill it in and give it back.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from zofw.core import Array, Indices, Purpose
from zofw.desk.files import load
from zofw.run.files.documents import FileError

VERSION = 1
JSON_NUMBERS = 20_000  # a request with more numbers than this goes to an npz file
QUESTIONS = {
    "noise": "How noisy are the values? One point is asked again, or points very close together.",
    "estimate": "Which way do values fall from here?",
    "refresh": "Which way do values fall from here? All components are asked, for an estimate that uses no earlier one.",
    "line search": "How far should the next step go?",
    "certificate": "Is there anything left to gain? Points around the best one are compared.",
    "result": "What is the value at the point that the run returns?",
}  # by the line of the ledger


@dataclass(frozen=True, eq=False)
class Request:
    """Evaluations of single components at points; iterating gives them one by one as (point, component).

    Attributes
    ----------
    id
        Stable: the same run asks the same under the same name in every process.
    run
        Which run asks.
    purpose, why
        The line of the ledger that pays, and what the run wants to learn, in a sentence.
    points
        (m, d): the distinct points.
    point, component
        Evaluation j is component ``component[j]`` at ``points[point[j]]``.
    """

    id: str
    run: str
    purpose: str
    points: Array
    point: Indices
    component: Indices

    def __len__(self) -> int:
        return len(self.point)

    @property
    def why(self) -> str:
        """Return the purpose of the evaluations, as a sentence for the people who make them."""
        return QUESTIONS[self.purpose]

    def __iter__(self) -> Iterator[tuple[Array, int]]:
        for j, i in zip(self.point.tolist(), self.component.tolist(), strict=True):
            yield self.points[j], i

    def __repr__(self) -> str:
        return f"Request({self.id!r}, {self.purpose}: {len(self)} evaluations at {len(self.points)} points)"

    @cached_property
    def checksum(self) -> str:
        """SHA-256 of everything that is asked."""
        digest = hashlib.sha256(json.dumps([self.run, self.id, self.purpose, self.points.shape]).encode())
        for array in (self.points.astype("<f8"), self.point.astype("<i8"), self.component.astype("<i8")):
            digest.update(array.tobytes())
        return digest.hexdigest()

    def document(self, values: Sequence[float | None] | None = None) -> dict[str, object]:
        """The request in plain values, with the given answers or room for them."""
        return {
            "zofw": "request",
            "version": VERSION,
            "run": self.run,
            "id": self.id,
            "purpose": self.purpose,
            "why": self.why,
            "points": self.points.tolist(),
            "point": self.point.tolist(),
            "component": self.component.tolist(),
            "values": [None] * len(self) if values is None else list(values),
            "checksum": self.checksum,
        }

    def json(self, values: Sequence[float | None] | None = None) -> str:
        """The document as JSON in one line."""
        return json.dumps(self.document(values), allow_nan=False)

    def pack(self, values: Sequence[float | None] | None = None) -> tuple[str, bytes]:
        """What to write to a file, and the ending of its name: JSON for people, npz where there are many numbers."""
        if self.points.size + 2 * len(self) <= JSON_NUMBERS:
            lines = (f"  {json.dumps(key)}: {_rows(value)}" for key, value in self.document(values).items())
            return ".json", ("{\n" + ",\n".join(lines) + "\n}\n").encode()
        stream = io.BytesIO()
        fields = {key: value for key, value in self.document().items() if key != "values"}
        if values is not None:
            index = [j for j, value in enumerate(values) if value is not None]
            fields |= {"index": index, "values": [values[j] for j in index]}
        np.savez(stream, allow_pickle=False, **{key: np.asarray(value) for key, value in fields.items()})
        return ".npz", stream.getvalue()

    @classmethod
    def unpack(cls, fields: Mapping[str, object]) -> Request:
        """From what :meth:`document` gave; a request that was changed on the way is refused."""
        try:
            if fields["version"] != VERSION:
                raise FileError(f"it has format version {fields['version']}; this zofw reads {VERSION}")
            points = np.array(fields["points"], dtype=float)
            point, component = (np.array(fields[name], dtype=np.int64) for name in ("point", "component"))
            points.setflags(write=False)
            id, run, purpose = (str(fields[name]) for name in ("id", "run", "purpose"))
            request = cls(id, run, Purpose(purpose).value, points, point, component)
            sound = points.ndim == 2 and point.ndim == 1 and point.shape == component.shape
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            raise FileError(f"This is not a request of zofw: {error}.") from error
        if not sound or request.checksum != fields.get("checksum"):
            raise FileError("This request was changed on the way: it does not match its checksum.")
        return request


def read_request(path: str | os.PathLike[str]) -> Request:
    """The request in a file, JSON or npz; a broken one is a :class:`~zofw.FileError`."""
    try:
        return Request.unpack(load(Path(path)))
    except FileError as error:
        raise FileError(f"{path}: {error}") from error


def _rows(value: object) -> str:
    """JSON with a point a line."""
    if isinstance(value, list) and value and isinstance(value[0], list):
        return "[\n    " + ",\n    ".join(json.dumps(row) for row in value) + "\n  ]"
    return json.dumps(value, allow_nan=False)
