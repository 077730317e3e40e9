"""Files appear whole or not at all; archives do not grow beyond what is expected of them."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import struct
import subprocess
import sys
import tracemalloc
import zipfile
from pathlib import Path

import numpy as np
import pytest

from conftest import settle_art
from zofw.storage import check_archive, read_arrays, write_whole
from zofw_paper.data import DataError, packing, read_idx
from zofw_paper.data.packing import unpack

PACK = {"bzip2": bz2.compress, "gzip": gzip.compress, "xz": lzma.compress}


def test_what_is_written_follows_the_umask_and_no_link(tmp_path: Path) -> None:
    target, link = tmp_path / "target", tmp_path / "link"
    target.write_bytes(b"precious")
    link.symlink_to(target)
    before = os.umask(0o022)
    try:
        write_whole(link, lambda stream: stream.write(b"new"))
    finally:
        os.umask(before)
    assert target.read_bytes() == b"precious" and not link.is_symlink() and link.read_bytes() == b"new"
    assert link.stat().st_mode & 0o777 == 0o644
    assert sorted(path.name for path in tmp_path.iterdir()) == ["link", "target"]


def test_a_failing_writer_leaves_what_was_there(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "file"
    write_whole(path, lambda stream: stream.write(b"old"))

    def fail(stream: io.BufferedWriter) -> None:
        stream.write(b"half")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_whole(path, fail)
    assert path.read_bytes() == b"old" and list(path.parent.iterdir()) == [path]


@pytest.mark.parametrize("kind", PACK)
def test_an_archive_unpacks_no_further_than_its_limit(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packing, "MOST_UNPACKED", 1 << 20)
    assert unpack(PACK[kind](bytes(1 << 20)), "x") == bytes(1 << 20)
    bomb = PACK[kind](bytes(1 << 26))
    tracemalloc.start()
    with pytest.raises(DataError, match="unpacks to more than 1,048,576 bytes"):
        unpack(bomb, "x")
    assert tracemalloc.get_traced_memory()[1] < 1 << 25
    tracemalloc.stop()


@pytest.mark.parametrize("kind", PACK)
def test_an_archive_is_streams_and_nothing_else(kind: str) -> None:
    two = PACK[kind](b"one ") + PACK[kind](b"two")
    assert unpack(two, "x") == b"one two"
    for wrong in (two + b"junk", two[:-3], PACK[kind](b"one ") + b"\x00junk"):
        with pytest.raises(DataError, match=f"truncated or damaged {kind} archive"):
            unpack(wrong, "x")


def overlapping(count: int, size: int) -> bytes:
    """An archive whose directory names one member ``count`` times."""
    stream = io.BytesIO()
    np.savez(stream, a0=np.zeros(size))
    content = stream.getvalue()
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        start = archive.start_dir
    entry = content[start : content.index(b"PK\x05\x06", start)]
    entries = b"".join(entry.replace(b"a0.npy", b"a%d.npy" % k) for k in range(count))
    end = struct.pack("<4s4H2LH", b"PK\x05\x06", 0, 0, count, count, len(entries), start, 0)
    return content[:start] + entries + end


def test_members_that_overlap_are_refused_before_they_are_read() -> None:
    assert len(read_arrays(overlapping(1, 1000))["a0"]) == 1000
    with pytest.raises(ValueError, match="its members overlap"):
        read_arrays(overlapping(9, 1000), most=10**9)


def test_compressed_and_doubled_members() -> None:
    stream = io.BytesIO()
    np.savez_compressed(stream, zeros=np.zeros(10**6))
    with pytest.raises(
        ValueError, match="would take 8,000,128 bytes in memory, and at most 8,000,000 are expected"
    ):
        read_arrays(stream.getvalue(), 8_000_000)
    with pytest.raises(ValueError, match="it is compressed"):
        check_archive(stream.getvalue(), 10**9, stored=True)
    assert not read_arrays(stream.getvalue(), 9_000_000)["zeros"].any()
    with pytest.warns(UserWarning, match="Duplicate name"), zipfile.ZipFile(stream, "w") as archive:
        archive.writestr("a.npy", b"1")
        archive.writestr("a.npy", b"2")
    with pytest.raises(ValueError, match="two of its members have one name"):
        check_archive(stream.getvalue(), 10**9)


def test_an_idx_header_of_nothing_by_very_much_is_damaged() -> None:
    giant = b"\x00\x00\x08\x03" + struct.pack(">3I", 0, 2**32 - 1, 2**32 - 1)
    with pytest.raises(DataError, match="not the shape of an array"):
        read_idx(giant)


def test_processes_that_begin_together_find_the_file_of_art_whole(tmp_path: Path) -> None:
    """ART's own first import leaves a moment in which another process reads half of it, and fails."""
    code = "import json, sys; from pathlib import Path; from conftest import settle_art; json.loads(settle_art(Path(sys.argv[1])).read_text())"
    together = [
        subprocess.Popen([sys.executable, "-c", code, str(tmp_path)], cwd=Path(__file__).parent.parent)
        for _ in range(3)
    ]
    assert [process.wait() for process in together] == [0, 0, 0]
    assert settle_art(Path("/proc/no/such/home")).name == "config.json"


def test_a_file_that_a_reader_holds_is_waited_for(tmp_path, monkeypatch):
    path, tries, replace = tmp_path / "run.npz", [], os.replace

    def held(new, old):
        tries.append(new)
        if len(tries) < 3:
            raise PermissionError(13, "another process reads it", str(old))
        replace(new, old)

    monkeypatch.setattr("zofw.storage.os.replace", held)
    with pytest.raises(PermissionError):
        write_whole(path, lambda stream: stream.write(b"one"))
    assert len(tries) == 1 and not path.exists()
    monkeypatch.setattr("zofw.storage.WINDOWS", True)
    write_whole(path, lambda stream: stream.write(b"two"))
    assert path.read_bytes() == b"two" and len(tries) == 3
