"""The journal: whole entries or none, in their order, of their own run."""

from __future__ import annotations

import errno
import os
import time

import numpy as np
import pytest

import zofw
from zofw.core import Tile
from zofw.run.files import journal
from zofw.run.files.journal import FRAME, HEAD, NOWHERE, Entry, EntryKind, Journal, read

IDENTITY, OTHER = bytes(range(16)), bytes(16)


@pytest.fixture
def path(tmp_path):
    rng = np.random.default_rng(0)
    book = Journal(tmp_path / "j", IDENTITY)
    shapes = {EntryKind.ANSWER: [(2, 3), (2, 1)], EntryKind.PART: [(4,)], EntryKind.AGAIN: [(3,)]}
    for k, kind in enumerate(EntryKind):
        arrays = tuple(rng.standard_normal(shape) for shape in shapes.get(kind, []))
        tile = Tile(0, 1, 2, 3, 4, 8) if kind is EntryKind.PART else NOWHERE
        book.append(Entry(kind, k, 10 + k, k, 2 * k, 0.5 * k, tile, arrays))
    book.close()
    return tmp_path / "j"


def test_entries_come_back(path):
    reading = read(path, IDENTITY)
    assert not reading.damaged and reading.size == path.stat().st_size
    for k, entry in enumerate(reading.entries):
        fields = (list(EntryKind)[k], k, 10 + k, k, 2 * k, 0.5 * k)
        assert (entry.kind, entry.serial, entry.number, entry.a, entry.b, entry.seconds) == fields
    assert [array.shape for array in reading.entries[0].arrays] == [(2, 3), (2, 1)]
    assert reading.entries[1].tile == Tile(0, 1, 2, 3, 4, 8)
    again = Journal(path, IDENTITY, reading.size, reading.digest)
    again.append(Entry(EntryKind.FAILED, 5, 15))
    again.close()
    assert [entry.serial for entry in read(path, IDENTITY).entries] == [0, 1, 2, 3, 4, 5]


def test_a_torn_last_entry_is_dropped_wherever_it_is_torn(path):
    whole = path.read_bytes()
    ends = [read_upto(path, whole, cut) for cut in range(len(whole) + 1)]
    assert sorted(set(ends)) == [0, 1, 2, 3, 4, 5] and ends == sorted(ends)


def read_upto(path, whole, cut):
    path.write_bytes(whole[:cut])
    reading = read(path, IDENTITY)
    assert not reading.damaged and reading.size <= cut
    return len(reading.entries)


def test_a_flipped_byte_ends_the_reading_and_is_called_damage_unless_it_is_in_the_last_entry(path):
    whole = path.read_bytes()
    for position in range(HEAD.size, len(whole)):
        broken = bytearray(whole)
        broken[position] ^= 1
        path.write_bytes(bytes(broken))
        reading = read(path, IDENTITY)
        assert len(reading.entries) < 5
        assert all(entry.serial == k for k, entry in enumerate(reading.entries))


def test_entries_cannot_be_left_out_or_exchanged(path):
    whole = path.read_bytes()
    entries, at = [], HEAD.size
    while at < len(whole):
        end = at + FRAME.size + FRAME.unpack_from(whole, at)[0]
        entries.append(whole[at:end])
        at = end
    head = whole[: HEAD.size]
    for order in ([0, 2, 3, 4], [0, 2, 1, 3, 4], [1, 2, 3, 4]):
        path.write_bytes(head + b"".join(entries[k] for k in order))
        assert len(read(path, IDENTITY).entries) <= 1


def test_a_sound_entry_that_says_nonsense_is_damage(path):
    for body in (b"", b"\xff" * 41, Entry(EntryKind.ANSWER, 0, 0).pack() + b"\x01" + b"\xff" * 8):
        digest = journal._digest(body, journal._digest(path.read_bytes()[: HEAD.size], b""))
        path.write_bytes(path.read_bytes()[: HEAD.size] + FRAME.pack(len(body), digest) + body)
        assert read(path, IDENTITY).damaged and not read(path, IDENTITY).entries


def test_foreign_journals_are_refused(path):
    whole = path.read_bytes()
    with pytest.raises(zofw.FileError, match="journal of another run"):
        read(path, OTHER)
    path.write_bytes(b"%PDF" + whole[4:])
    with pytest.raises(zofw.FileError, match="not a journal of zofw"):
        read(path, IDENTITY)
    path.write_bytes(whole[:8] + b"\x09" + whole[9:])
    with pytest.raises(zofw.FileError, match="format version 9"):
        read(path, IDENTITY)


def test_a_write_that_fails_half_way_leaves_no_trace(path, monkeypatch):
    before, reading, real = path.read_bytes(), read(path, IDENTITY), os.write
    book = Journal(path, IDENTITY, reading.size, reading.digest)

    def half(file, text):
        if len(text) <= 20:
            raise OSError(28, "No space left on device")
        return real(file, text[: len(text) - 20])

    with monkeypatch.context() as patch:
        patch.setattr(os, "write", half)
        with pytest.raises(OSError, match="No space left"):
            book.append(Entry(EntryKind.AGAIN, 5, 0, arrays=(np.zeros(100),)))
    assert path.read_bytes() == before
    book.append(Entry(EntryKind.AGAIN, 5, 0, arrays=(np.zeros(100),)))
    book.close()
    assert len(read(path, IDENTITY).entries) == 6


def test_the_disk_is_reached_once_a_second(tmp_path, monkeypatch):
    syncs, now = [], [100.0]
    monkeypatch.setattr(os, "fsync", lambda file: syncs.append(file))
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    book = Journal(tmp_path / "j", IDENTITY)
    for k in range(100):
        now[0] += 0.1
        book.append(Entry(EntryKind.AGAIN, k, 0, arrays=(np.zeros(1),)))
    assert 8 <= len(syncs) <= 12
    book.close()


def test_an_entry_torn_in_reserved_room_is_no_damage(path):
    text, whole = path.read_bytes(), [entry.serial for entry in read(path, IDENTITY).entries]
    for cut in range(HEAD.size, len(text)):
        path.write_bytes(text[:cut] + bytes(4096))
        reading = read(path, IDENTITY)
        found = [entry.serial for entry in reading.entries]
        assert not reading.damaged and found == whole[: len(found)], cut


@pytest.mark.parametrize("call", ["ftruncate", "write", "fsync", "posix_fallocate"])
def test_a_journal_that_cannot_be_begun_leaves_no_file_open(call, tmp_path, monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def descriptors():
        return [os.readlink(f"/proc/self/fd/{name}") for name in os.listdir("/proc/self/fd") if os.path.islink(
            f"/proc/self/fd/{name}")]  # fmt: skip

    if not os.path.isdir("/proc/self/fd"):
        pytest.skip("this system does not list open files")
    monkeypatch.setattr(os, call, full)
    with pytest.raises(OSError, match="No space"):
        Journal(tmp_path / "j", IDENTITY)
    assert not any(str(tmp_path) in path for path in descriptors())
