"""What may be answered to a request, and what is wrong with the rest."""

from __future__ import annotations

import json
import math
import numbers
import os
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import numpy as np

from zofw.core import Array, Indices
from zofw.desk.files import put
from zofw.desk.request import Request
from zofw.differences import LARGEST

Told: TypeAlias = float | Sequence[float | None] | Array | Mapping[int, float]


BY = 200  # letters of the name of who evaluated


class AnswerError(ValueError):
    """An answer that cannot be taken: nothing of it was counted or used. ``id`` is the request, where it is known."""

    def __init__(self, reason: str, id: str | None = None) -> None:
        super().__init__(reason)
        self.id = id


@dataclass(frozen=True, eq=False)
class Reply:
    """An answer by the place of each evaluation in its request."""

    id: str  # of the request
    values: dict[int, float]  # place → value
    failed: dict[int | None, str]  # place → why there is no value; None: every place that has none
    paid: bool  # the failed evaluations cost what others do
    length: int | None  # evaluations of the request, by the answer
    fields: Mapping[str, object]  # the document, to be compared with the request where it repeats it

    @classmethod
    def of(cls, fields: Mapping[str, object]) -> Reply:
        """From a document: ``id``, and ``values`` or ``failed`` or both."""
        id = fields.get("id")
        if not isinstance(id, str):
            raise AnswerError(f'The answer should name its request as "id": "…"; it has {id!r}.')
        try:
            values, length = _values(fields.get("values"), fields.get("index"))
            failed = _failed(fields.get("failed"))
            paid = fields.get("paid", True)
            if not isinstance(paid, bool):
                raise ValueError(f'"paid" should be true or false; it is {paid!r}')
            if "values" not in fields and not failed:
                raise ValueError('it has neither "values" nor "failed"')
            if both := sorted(values.keys() & failed.keys()):
                raise ValueError(f"evaluation {both[0]} has a value and has failed")
        except ValueError as error:
            raise AnswerError(f"The answer to request {id} cannot be read: {error}.", id) from error
        return cls(id, values, failed, paid, length, fields)

    @property
    def by(self) -> str:
        """Return who evaluated, if the document says so."""
        return str(self.fields.get("by") or "")[:BY]

    @property
    def empty(self) -> bool:
        """Return True if it has not been filled in yet."""
        return not self.values and not self.failed

    def check(self, request: Request) -> None:
        """Refuse an answer to something else than was asked."""
        if self.length not in (None, len(request)):
            raise AnswerError(
                f"Request {self.id} asks for {len(request)} values; the answer has {self.length}. Give all of them in "
                'order, with null for missing ones, or some of them by place: {"0": …, "3": …}.',
                self.id,
            )
        for place in (*self.values, *self.failed):
            if place is not None and not 0 <= place < len(request):
                raise AnswerError(
                    f"Request {self.id} has evaluations 0 to {len(request) - 1}; the answer has evaluation {place}.",
                    self.id,
                )
        asked: dict[str, str | Array | Indices] = {"run": request.run, "checksum": request.checksum}
        asked |= {"points": request.points, "point": request.point, "component": request.component}
        for name, own in asked.items():
            told = self.fields.get(name)
            if told is not None and not _same(told, own):
                raise AnswerError(
                    f"The answer to request {self.id} has a {name!r} that differs from the request: it belongs to another "
                    "request, or the request was changed. Evaluate what is asked, or leave the field out.",
                    self.id,
                )


def write_answer(
    folder: str | os.PathLike[str],
    request: Request,
    values: Told | None = None,
    *,
    failed: str | Mapping[int, str] | None = None,
    paid: bool = True,
) -> Path:
    """Put an answer on the desk in ``folder``, for programs on the other side; the path of its file.

    Parameters
    ----------
    folder
        Of the desk.
    request
        As :func:`~zofw.desk.read_request` gave it.
    values
        One value for each evaluation, None for those to come; or a mapping from places to values; or one number.
    failed
        Why there is no value: for all that have none, or by place.
    paid
        Whether what failed has cost something all the same.
    """
    fields: dict[str, object] = {"id": request.id, "checksum": request.checksum}
    if values is not None:
        known, length = _values(values, None)
        fields["values"] = {str(place): value for place, value in known.items()}
        if length not in (None, len(request)):
            raise AnswerError(
                f"Request {request.id} asks for {len(request)} values; got {length}.", request.id
            )
    if failed is not None:
        fields |= {"failed": failed if isinstance(failed, str) else {str(k): v for k, v in failed.items()}}
        fields |= {"paid": paid}
    Reply.of(fields).check(request)
    path = Path(folder) / "answers" / f"{request.id}.{uuid.uuid4().hex[:8]}.json"
    put(path, json.dumps(fields).encode(), durable=True)
    return path


def _values(told: object, index: object) -> tuple[dict[int, float], int | None]:
    """Values by place, and the number of places where the answer has a list of all."""
    if told is None:
        return {}, None
    if isinstance(told, Mapping):
        return {_place(key): _number(value) for key, value in told.items() if value is not None}, None
    listed = told.tolist() if isinstance(told, np.ndarray) else told
    if not isinstance(listed, (list, tuple)):
        return {0: _number(listed)}, 1
    if index is None:
        return {j: _number(value) for j, value in enumerate(listed) if value is not None}, len(listed)
    if not isinstance(index, (list, tuple, np.ndarray)):
        raise ValueError(f'"index" should be a list of places; it is {index!r:.60}')
    places = [_place(key) for key in (index.tolist() if isinstance(index, np.ndarray) else index)]
    if len(places) != len(listed) or len(set(places)) < len(places):
        raise ValueError(f'"index" should name {len(listed)} different places; it has {places}')
    return {j: _number(value) for j, value in zip(places, listed, strict=True)}, None


def _failed(told: object) -> dict[int | None, str]:
    if told is None:
        return {}
    if isinstance(told, Mapping):
        return {_place(key): str(reason) for key, reason in told.items()}
    if isinstance(told, str):
        return {None: told}
    raise ValueError(f'"failed" should be a reason, or reasons by place; it is {told!r}')


def _place(key: object) -> int:
    if isinstance(key, str) and key.isdecimal() and key.isascii() and len(key) < 20:
        return int(key)
    if isinstance(key, numbers.Integral) and not isinstance(key, bool):
        return int(key)
    raise ValueError(f"a place should be a whole number; it is {key!r}")


def _number(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise ValueError(f"a value should be a number; it is {value!r:.60}")
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not abs(number) <= LARGEST:
        raise ValueError(
            f"a value should be a finite number of size at most {LARGEST:g}; it is {value!r:.60}. Say "
            '"failed": "…" where there is none'
        )
    return number


def _same(told: object, asked: str | Array | Indices) -> bool:
    if isinstance(asked, str):
        return bool(told == asked)
    try:
        return np.array_equal(np.asarray(told, dtype=float), asked)
    except (TypeError, ValueError, OverflowError):
        return False
