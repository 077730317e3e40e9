"""An append-only file of what was paid for since a checkpoint: numbers and checksums, nothing that could be executed.

The file begins with 8 letters, a version and the identity of its run. Every entry is its length, a digest and its body;
the digest is keyed with the one before it, so an entry is accepted only behind the entries it was written behind:

    entry  =  length (8)  digest (8)  body
    body   =  kind (1)  serial (8)  number (8)  a (8)  b (8)  seconds (8)  tile (6·8)  then arrays
    array  =  axes (1)  lengths (8 each)  numbers

A part of an answer says by its tile which rows and columns of the query, and which cells of those, it covers.

An entry is handed to the operating system before the run goes on, so it survives the end of the process, however sudden;
it is forced to the disk when a second has passed since that was last done, so a power failure costs at most the answers
of one second. Room for what comes next is reserved before anything is asked for, as zeros behind the last entry.
"""

from __future__ import annotations

import errno
import hashlib
import logging
import math
import os
import struct
import time
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path

import numpy as np

from zofw.core import Array, Tile
from zofw.run.files.documents import FileError, other_version

logger = logging.getLogger("zofw")

LETTERS, VERSION = b"ZOFWJRNL", 2
HEAD = struct.Struct("<8sH16s")  # letters, version, identity
FRAME = struct.Struct("<Q8s")  # length of the body, digest
BODY = struct.Struct("<BQQqqd6q")  # kind, serial, number, a, b, seconds, tile
SYNC_SECONDS = 1.0
ROOM = 1 << 17  # bytes that are reserved ahead
NOT_HERE = (errno.EOPNOTSUPP, errno.ENOSYS, errno.EINVAL)  # file systems that cannot reserve


class EntryKind(IntEnum):
    """What an entry says about the query of its number."""

    ANSWER = 1  # values, and variances where asked
    PART = 2  # sums of a tile, or values of single evaluations in it
    AGAIN = 3  # evaluations of a desk that failed and are asked for again; with them, a is charged to the line "failed"
    FAILED = 4  # a evaluations brought nothing, and b that had are given up
    DROPPED = 5  # the iteration is begun again; b evaluations of the open query are given up


NOWHERE = Tile(0, 0, 0, 0)


@dataclass(frozen=True, eq=False)
class Entry:
    """One event of a run: its serial among all, the number of the query it is about, and what it brought."""

    kind: EntryKind
    serial: int
    number: int
    a: int = 0
    b: int = 0
    seconds: float = 0.0
    tile: Tile = NOWHERE
    arrays: tuple[Array, ...] = ()

    def pack(self) -> bytes:
        parts = [BODY.pack(self.kind, self.serial, self.number, self.a, self.b, self.seconds, *self.tile)]
        for array in self.arrays:
            parts.append(struct.pack(f"<B{array.ndim}Q", array.ndim, *array.shape))
            parts.append(np.ascontiguousarray(array, dtype="<f8").tobytes())
        return b"".join(parts)

    @classmethod
    def unpack(cls, body: bytes) -> Entry:
        kind, serial, number, a, b, seconds, *tile = BODY.unpack_from(body)
        at, arrays = BODY.size, []
        while at < len(body):
            axes = body[at]
            shape = struct.unpack_from(f"<{axes}Q", body, at + 1)
            at, size = at + 1 + 8 * len(shape), 8 * math.prod(shape)
            if size > len(body) - at:
                raise ValueError("an array is longer than its entry")
            arrays.append(np.frombuffer(body[at : at + size], dtype="<f8").astype(float).reshape(shape))
            at += size
        whole = (1,) if tile[5] else (2, 2)
        axes_of = {EntryKind.ANSWER: (2, 2), EntryKind.PART: whole, EntryKind.AGAIN: (1,)}.get(
            EntryKind(kind), ()
        )
        if (
            min(a, b, *tile) < 0
            or not 0 <= seconds < math.inf
            or any(not np.isfinite(array).all() for array in arrays)
        ):
            raise ValueError("an entry has numbers that cannot be")
        if [array.ndim for array in arrays] != list(axes_of[: len(arrays)]) or bool(axes_of) != bool(arrays):
            raise ValueError("an entry has other arrays than its kind")
        return cls(EntryKind(kind), serial, number, a, b, seconds, Tile(*tile), tuple(arrays))


class Journal:
    """The open end of a journal.

    Parameters
    ----------
    path
        Where it is, or will be. What an existing file holds beyond ``size`` is cut off.
    identity
        16 bytes that tell this run from every other.
    size, digest
        The end of the last sound entry, as :func:`read` found it; nothing for a new journal.
    """

    def __init__(self, path: Path, identity: bytes, size: int = 0, digest: bytes = b"") -> None:
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
                os.fsync(self._file)
            self.reserve()
        except OSError:
            os.close(self._file)
            raise

    def append(self, entry: Entry) -> None:
        """Write one entry, whole or not at all."""
        body = entry.pack()
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
        try:
            os.ftruncate(self._file, self._size)
            self.sync()
        finally:
            os.close(self._file)


@dataclass(frozen=True, eq=False)
class Reading:
    """The sound entries of a journal, and where the next one goes."""

    entries: list[Entry]
    size: int
    digest: bytes
    damaged: bool  # whether something other than one torn entry at the end was left out


def read(path: Path, identity: bytes) -> Reading:
    """The entries up to the first that is torn or damaged. A journal of another run is refused."""
    text = path.read_bytes()
    if len(text) < HEAD.size:
        return Reading([], 0, b"", not HEAD.pack(LETTERS, VERSION, identity).startswith(text))
    letters, version, owner = HEAD.unpack_from(text)
    if letters != LETTERS:
        raise FileError(f"{path} is not a journal of zofw.")
    if version != VERSION:
        raise FileError(other_version(path, version, VERSION))
    if owner != identity:
        raise FileError(f"{path} is the journal of another run than the checkpoint beside it.")
    entries: list[Entry] = []
    at, digest = HEAD.size, _digest(text[: HEAD.size], b"")
    while len(text) - at >= FRAME.size:
        length, expected = FRAME.unpack_from(text, at)
        body = text[at + FRAME.size : at + FRAME.size + length]
        if len(body) < length:
            break
        if not length and not any(text[at:]):
            break  # room that was reserved
        if _digest(body, digest) != expected:
            torn = not any(text[at + FRAME.size + length :])  # nothing behind it, or room that was reserved
            return Reading(entries, at, digest, damaged=not torn)
        try:
            entries.append(Entry.unpack(body))
        except (ValueError, struct.error, IndexError):
            return Reading(entries, at, digest, damaged=True)
        at, digest = at + FRAME.size + length, expected
    return Reading(entries, at, digest, damaged=False)


def _digest(text: bytes, previous: bytes) -> bytes:
    return hashlib.blake2b(text, digest_size=8, key=previous).digest()
