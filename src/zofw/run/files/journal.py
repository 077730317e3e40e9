"""The log of a run: an append-only file of events, numbers and checksums, nothing that can be executed.

The file begins with 8 letters, a version and the identity of its run. Every entry is its length, a
digest and its body; the digest is keyed with the one before it, so an entry is accepted only behind
the entries it was written behind:

    entry  =  length (8)  digest (8)  body
    body   =  kind (1)  serial (8)  query (8)  seconds (8)  length (4)  fields (JSON)  then arrays
    array  =  axes (1)  lengths (8 each)  numbers

The first entry, of kind 0, is a checkpoint; every other one is an event, see
:mod:`zofw.run.session.events`. So the log alone gives the run.

An entry is given to the operating system before the run continues, so it survives the end of the
process, however sudden. It is forced to the disk once a second, so a power failure costs at most the
answers of one second. Room for the next entries is reserved before anything is asked for, as zeros
behind the last entry.
"""

from __future__ import annotations

import dataclasses
import errno
import hashlib
import json
import logging
import math
import os
import struct
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, get_args, get_origin, get_type_hints

import numpy as np

from zofw.core import Array, Tile
from zofw.run.files.documents import FileError, fits, other_version
from zofw.run.record.status import Status
from zofw.run.session.events import KINDS, Answered, Event, Part

logger = logging.getLogger("zofw")

LETTERS, VERSION = b"ZOFWJRNL", 4
HEAD = struct.Struct("<8sH16s")  # letters, version, identity
FRAME = struct.Struct("<Q8s")  # length of the body, digest
BODY = struct.Struct("<BQQdI")  # kind, serial, query, seconds, length of the fields
BASE = 0  # the kind of the first entry
SYNC_SECONDS = 1.0
ROOM = 1 << 17  # bytes that are reserved ahead
NOT_HERE = (errno.EOPNOTSUPP, errno.ENOSYS, errno.EINVAL)  # file systems that cannot reserve


def pack(serial: int, event: Event) -> bytes:
    """Return the body of an event's entry; fields at the end that have their default are left out."""
    form, given = FORMS[type(event)], vars(event)
    plain = [given[name] for name in form.plain]
    while plain and plain[-1] == form.defaults[len(plain) - 1]:
        plain.pop()
    text = json.dumps(plain).encode() if plain else b""
    parts = [BODY.pack(form.kind, serial, event.query, event.seconds, len(text)), text]
    for name in form.arrays:
        if (array := given[name]) is not None:
            parts.append(struct.pack(f"<B{array.ndim}Q", array.ndim, *array.shape))
            parts.append(np.ascontiguousarray(array, dtype="<f8").tobytes())
    return b"".join(parts)


def unpack(body: bytes) -> tuple[int, Event]:
    """Return the serial and the event of an entry, or raise ValueError if no run wrote it."""
    number, serial, query, seconds, length = BODY.unpack_from(body)
    at, arrays = BODY.size + length, []
    fields = json.loads(body[BODY.size : at]) if length else []
    while at < len(body):
        axes = body[at]
        shape = struct.unpack_from(f"<{axes}Q", body, at + 1)
        at, size = at + 1 + 8 * len(shape), 8 * math.prod(shape)
        if size > len(body) - at:
            raise ValueError("an array is longer than its entry")
        arrays.append(np.frombuffer(body[at : at + size], dtype="<f8").astype(float).reshape(shape))
        at += size
    if not 1 <= number <= len(KINDS) or not 0 <= seconds < math.inf:
        raise ValueError("an entry has a kind or a time that cannot be")
    kind = KINDS[number - 1]
    form = FORMS[kind]
    if not isinstance(fields, list) or len(fields) > len(form.plain) or len(arrays) > len(form.arrays):
        raise ValueError("an entry has more fields or arrays than its kind")
    given = dict(zip(form.plain, fields, strict=False))
    for name, value in given.items():
        given[name] = REVIVED[name](value) if name in REVIVED else value
    event = kind(query, seconds=seconds, **given, **dict(zip(form.arrays, arrays, strict=False)))
    _check(event, form, arrays)
    return serial, event


def _check(event: Event, form: Form, arrays: list[Array]) -> None:
    """Raise ValueError if no run can have had the event."""
    for name in form.plain:
        if name != "row" and not fits(vars(event)[name], form.hints[name]):
            raise ValueError(f"an entry has {name} = {vars(event)[name]!r:.60}")
    axes = 1 if isinstance(event, Part) and event.tile.stop else 2
    loose = isinstance(event, Answered) and len(arrays) == 1  # NaN for rows that have not come
    if any(array.ndim != axes for array in arrays) or axes < len(arrays):
        raise ValueError("an entry has other arrays than its kind")
    if any(np.isinf(array).any() or (not loose and np.isnan(array).any()) for array in arrays):
        raise ValueError("an entry has numbers that cannot be")


def _tile(numbers: object) -> Tile:
    """Return six whole numbers of at least 0 as a tile."""
    if not isinstance(numbers, list) or len(numbers) != 6:
        raise ValueError("a tile has six numbers")
    if not all(type(number) is int and number >= 0 for number in numbers):
        raise ValueError("a tile has whole numbers of at least 0")
    return Tile(*numbers)


class Form(NamedTuple):
    """How an event is written: its number, its fields for JSON with their defaults, its arrays, all types."""

    kind: int
    plain: list[str]
    defaults: list[object]
    arrays: list[str]
    hints: dict[str, Any]

    @classmethod
    def of(cls, number: int, kind: type[Event]) -> Form:
        hints = get_type_hints(kind)
        named = {one.name: one for one in dataclasses.fields(kind) if one.name not in ("query", "seconds")}
        arrays = [
            name
            for name in named
            if np.ndarray in {get_origin(h) for h in (hints[name], *get_args(hints[name]))}
        ]
        plain = [name for name in named if name not in arrays]
        return cls(number, plain, [named[name].default for name in plain], arrays, hints)


FORMS = {kind: Form.of(number, kind) for number, kind in enumerate(KINDS, 1)}
REVIVED: dict[str, Callable[[Any], object]] = {
    "tile": _tile, "tiles": lambda tiles: tuple(map(_tile, tiles)), "status": Status
}  # fmt: skip


class Journal:
    """The open end of a log.

    Parameters
    ----------
    path
        Where it is, or will be. What an existing file holds beyond ``size`` is cut off.
    identity
        16 bytes that tell this run from every other.
    size, digest
        The end of the last sound entry, as :func:`read` found it; nothing for a new log.
    base
        The checkpoint with which a new log begins.
    """

    def __init__(
        self, path: Path, identity: bytes, size: int = 0, digest: bytes = b"", base: bytes = b""
    ) -> None:
        self.path = path
        flags = os.O_RDWR | os.O_CREAT
        for system in ("O_BINARY", "O_CLOEXEC", "O_NOFOLLOW"):
            flags |= vars(os).get(system, 0)
        self._file = os.open(path, flags, 0o644)
        self._size, self._digest, self._reserved = size, digest, size
        self._synced = time.monotonic()
        try:
            os.ftruncate(self._file, size)
            os.lseek(self._file, size, os.SEEK_SET)
            if not size:
                head = HEAD.pack(LETTERS, VERSION, identity)
                self._write(head)
                self._digest = _digest(head, b"")
                self.append(BODY.pack(BASE, 0, 0, 0.0, 0) + base)
                os.fsync(self._file)
            self.reserve()
        except OSError:
            os.close(self._file)
            raise

    @property
    def size(self) -> int:
        """Return the bytes of all entries."""
        return self._size

    @property
    def digest(self) -> bytes:
        """Return the digest of the last entry."""
        return self._digest

    def append(self, body: bytes) -> None:
        """Write one entry, whole or not at all."""
        digest = _digest(body, self._digest)
        self._write(FRAME.pack(len(body), digest) + body)
        self._digest = digest
        if time.monotonic() - self._synced >= SYNC_SECONDS:
            self.sync()
        self.reserve()

    def reserve(self, room: int = ROOM) -> None:
        """Make sure of room for entries to come, so that what is asked for next can be kept; zeros until then."""
        if self._reserved - self._size >= room // 2:
            return
        try:
            os.posix_fallocate(self._file, self._size, room)
        except (AttributeError, OSError) as error:
            if isinstance(error, AttributeError) or error.errno in NOT_HERE:
                return
            raise
        self._reserved = self._size + room

    def _write(self, text: bytes) -> None:
        left = memoryview(text)
        try:
            while left:
                left = left[os.write(self._file, left) :]
        except OSError:
            os.ftruncate(self._file, self._size)
            os.lseek(self._file, self._size, os.SEEK_SET)
            raise
        self._size += len(text)

    def sync(self) -> None:
        """Force what was written to the disk."""
        os.fsync(self._file)
        self._synced = time.monotonic()

    def close(self) -> None:
        """Cut off the room that is left, and close the file."""
        try:
            os.ftruncate(self._file, self._size)
            self.sync()
        finally:
            os.close(self._file)


@dataclass(frozen=True, eq=False)
class Reading:
    """The sound entries of a log, and where the next one goes."""

    base: bytes
    events: list[tuple[int, Event]]
    size: int
    digest: bytes
    damaged: bool  # True if something other than one torn entry at the end was left out
    lost: tuple[int, ...] = ()  # serials of sound answers behind the damage


def read(path: Path, identity: bytes | None = None) -> Reading:
    """Return the entries up to the first that is torn or damaged; refuse the log of another run.

    Events behind a damaged first checkpoint are sound: the next digest depends on the one that is written.
    """
    text = path.read_bytes()
    if len(text) < HEAD.size:
        return Reading(b"", [], 0, b"", not LETTERS.startswith(text[: len(LETTERS)]))
    letters, version, owner = HEAD.unpack_from(text)
    if letters != LETTERS:
        raise FileError(
            f"{path} is not a journal of zofw. Move it away to go on from the checkpoint beside it."
        )
    if version != VERSION:
        raise FileError(other_version(path, version, VERSION))
    if identity is not None and owner != identity:
        raise FileError(f"{path} is the journal of another run than the checkpoint beside it.")
    events: list[tuple[int, Event]] = []
    base, at, digest = b"", HEAD.size, _digest(text[: HEAD.size], b"")
    while len(text) - at >= FRAME.size:
        length, expected = FRAME.unpack_from(text, at)
        body = text[at + FRAME.size : at + FRAME.size + length]
        if len(body) < length:
            break
        if not length and not any(text[at:]):
            break  # room that was reserved
        end = at + FRAME.size + length
        sound, first = _digest(body, digest) == expected, at == HEAD.size
        if not sound and not (first and body[:1] == bytes([BASE])):
            torn = not any(text[end:])  # nothing behind it, or reserved room
            return Reading(base, events, at, digest, not torn, answers(text, end, expected))
        try:
            if not first:
                events.append(unpack(body))
            elif sound:
                base = body[BODY.size :]
        except (ValueError, struct.error, IndexError, TypeError):
            return Reading(base, events, at, digest, True, answers(text, end, expected))
        at, digest = end, expected
    return Reading(base, events, at, digest, damaged=False)


def answers(text: bytes, at: int, digest: bytes) -> tuple[int, ...]:
    """Return the serials of sound answers that follow a damaged entry."""
    found, kinds = [], {FORMS[kind].kind for kind in (Answered, Part)}
    while len(text) - at >= FRAME.size:
        length, expected = FRAME.unpack_from(text, at)
        body = text[at + FRAME.size : at + FRAME.size + length]
        if not BODY.size <= length == len(body):
            break
        kind, serial, *_ = BODY.unpack_from(body)
        if kind in kinds and _digest(body, digest) == expected:
            found.append(serial)
        at, digest = at + FRAME.size + length, expected
    return tuple(found)


def _digest(text: bytes, previous: bytes) -> bytes:
    return hashlib.blake2b(text, digest_size=8, key=previous).digest()
