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
from zofw.run.files.journal import BASE, BODY, FRAME, HEAD, Journal, pack, read
from zofw.run.record.status import Status
from zofw.run.session.events import Answered, Diagnosed, Dropped, Extended, Failed, Part, Stopped

IDENTITY, OTHER = bytes(range(16)), bytes(16)


TILE = Tile(0, 1, 2, 3, 4, 8)
RNG = np.random.default_rng(0)
EVENTS = (
    Answered(10, RNG.standard_normal((2, 3)), RNG.random((2, 1)), seconds=0.5),
    Part(11, TILE, RNG.standard_normal(4), seconds=1.0),
    Part(12, Tile(0, 1, 2, 3), RNG.standard_normal((1, 2)), RNG.random((1, 1)), seconds=1.5),
    Failed(13, (TILE, TILE.cells(8, 9)), 5, "the pump broke: “ü”", 2, True, seconds=2.0),
    Dropped(14, seconds=2.5),
    Diagnosed(15, 3, float("nan"), 7, seconds=3.0),
    Extended(16, {"budget": 30, "max_time": None}, 4, seconds=3.5),
    Stopped(17, Status.CALLBACK, 5, "enough", seconds=4.0),
)


@pytest.fixture
def path(tmp_path):
    book = Journal(tmp_path / "j", IDENTITY, base=b"the first checkpoint")
    for k, event in enumerate(EVENTS):
        book.append(pack(k, event))
    book.close()
    return tmp_path / "j"


def test_events_come_back(path):
    reading = read(path, IDENTITY)
    assert not reading.damaged and reading.size == path.stat().st_size
    assert reading.base == b"the first checkpoint"
    assert [serial for serial, _ in reading.events] == [*range(len(EVENTS))]
    for (_, found), event in zip(reading.events, EVENTS, strict=True):
        assert type(found) is type(event)
        for name, value in vars(event).items():
            np.testing.assert_array_equal(vars(found)[name], value)
    again = Journal(path, IDENTITY, reading.size, reading.digest)
    again.append(pack(8, Failed(15)))
    again.close()
    assert [serial for serial, _ in read(path, IDENTITY).events] == [*range(9)]


def test_a_torn_last_entry_is_dropped_wherever_it_is_torn(path):
    whole = path.read_bytes()
    ends = [read_upto(path, whole, cut) for cut in range(len(whole) + 1)]
    assert sorted(set(ends)) == [*range(9)] and ends == sorted(ends)


def read_upto(path, whole, cut):
    path.write_bytes(whole[:cut])
    reading = read(path, IDENTITY)
    assert not reading.damaged and reading.size <= cut
    return len(reading.events)


def test_a_flipped_byte_ends_the_reading_and_is_called_damage_unless_it_is_in_the_last_entry(path):
    whole = path.read_bytes()
    for position in range(HEAD.size, len(whole)):
        broken = bytearray(whole)
        broken[position] ^= 1
        path.write_bytes(bytes(broken))
        reading = read(path, IDENTITY)
        assert len(reading.events) < len(EVENTS) or not reading.base
        assert all(serial == k for k, (serial, _) in enumerate(reading.events))


def test_events_behind_a_damaged_checkpoint_are_read_and_answers_behind_a_damaged_event_are_counted(path):
    whole = path.read_bytes()
    first = HEAD.size + 2 * FRAME.size + FRAME.unpack_from(whole, HEAD.size)[0]
    for position, events, lost in ((HEAD.size + 60, 8, ()), (first + 40, 0, (1, 2))):
        path.write_bytes(whole[:position] + bytes([whole[position] ^ 1]) + whole[position + 1 :])
        reading = read(path, IDENTITY)
        assert (len(reading.events), reading.lost, reading.damaged) == (events, lost, events == 0)


def test_entries_cannot_be_left_out_or_exchanged(path):
    whole = path.read_bytes()
    entries, at = [], HEAD.size
    while at < len(whole):
        end = at + FRAME.size + FRAME.unpack_from(whole, at)[0]
        entries.append(whole[at:end])
        at = end
    head = whole[: HEAD.size]
    for order in ([0, 1, 3, 4], [0, 1, 3, 2, 4], [0, 2, 3, 4], [1, 2, 3, 4]):
        path.write_bytes(head + b"".join(entries[k] for k in order))
        assert len(read(path, IDENTITY).events) <= 1


def test_a_sound_entry_that_says_nonsense_is_damage(path):
    head = path.read_bytes()[: HEAD.size]
    base = BODY.pack(BASE, 0, 0, 0.0, 0) + b"base"
    for body in (b"", b"\xff" * 41, pack(0, Dropped(0)) + b"\x01" + b"\xff" * 8, base):
        text, digest = head, journal._digest(head, b"")
        for one in (base, body):
            digest = journal._digest(one, digest)
            text += FRAME.pack(len(one), digest) + one
        path.write_bytes(text)
        assert read(path, IDENTITY).damaged and not read(path, IDENTITY).events


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
            book.append(pack(8, Part(5, TILE, np.zeros(100))))
    assert path.read_bytes() == before
    book.append(pack(8, Part(5, TILE, np.zeros(100))))
    book.close()
    assert len(read(path, IDENTITY).events) == 9


def test_the_disk_is_reached_once_a_second(tmp_path, monkeypatch):
    syncs, now = [], [100.0]
    monkeypatch.setattr(os, "fsync", lambda file: syncs.append(file))
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    book = Journal(tmp_path / "j", IDENTITY)
    for k in range(100):
        now[0] += 0.1
        book.append(pack(k, Part(0, TILE, np.zeros(1))))
    assert 8 <= len(syncs) <= 12
    book.close()


def test_an_entry_torn_in_reserved_room_is_no_damage(path):
    text, whole = path.read_bytes(), [serial for serial, _ in read(path, IDENTITY).events]
    for cut in range(HEAD.size, len(text)):
        path.write_bytes(text[:cut] + bytes(4096))
        reading = read(path, IDENTITY)
        found = [serial for serial, _ in reading.events]
        assert not reading.damaged and found == whole[: len(found)], cut


@pytest.mark.parametrize(
    "call", ["ftruncate", "write", "fsync", *["posix_fallocate"] * hasattr(os, "posix_fallocate")]
)
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
