"""One owner at a time, however the path is spelt and whoever opens the file."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from zofw.run.files import lock
from zofw.run.files.lock import Lock, LockedError

OTHER = "import sys; from pathlib import Path; from zofw.run.files.lock import Lock; Lock(Path(sys.argv[1]))"


def other_process(path: Path) -> bool:
    """Whether another process gets the lock."""
    return subprocess.run([sys.executable, "-c", OTHER, path], capture_output=True).returncode == 0


def test_spellings_of_one_path(tmp_path: Path) -> None:
    home = tmp_path / "d"
    home.mkdir()
    (tmp_path / "link").symlink_to(home)
    held = Lock(home / "r.lock")
    for spelling in (home / "r.lock", home / ".." / "d" / "r.lock", tmp_path / "link" / "r.lock"):
        with pytest.raises(LockedError, match="this very process"):
            Lock(spelling)
    assert not other_process(tmp_path / "link" / "r.lock")
    held.release()
    Lock(tmp_path / "link" / "r.lock").release()


def test_of_many_threads_one_holds(tmp_path: Path) -> None:
    inside = most = 0
    for _ in range(40):
        gate, taken = threading.Barrier(4), []

        def take(gate: threading.Barrier = gate, taken: list[Lock] = taken) -> None:
            nonlocal inside, most
            gate.wait()
            try:
                held = Lock(tmp_path / "r.lock")
            except LockedError:
                return
            inside += 1
            most = max(most, inside)
            time.sleep(0.001)
            inside -= 1
            taken.append(held)
            held.release()

        threads = [threading.Thread(target=take) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert taken
    assert most == 1


def test_opening_and_closing_the_file_does_not_drop_the_lock(tmp_path: Path) -> None:
    held = Lock(tmp_path / "r.lock")
    (tmp_path / "r.lock").read_bytes()
    assert not other_process(tmp_path / "r.lock")
    held.release()
    assert other_process(tmp_path / "r.lock")


def test_a_child_neither_holds_nor_releases_it(tmp_path: Path) -> None:
    held = Lock(tmp_path / "r.lock")
    child = os.fork()
    if child == 0:
        held.release()
        time.sleep(60)
        os._exit(0)
    try:
        time.sleep(0.2)
        assert (tmp_path / "r.lock").exists() and not other_process(tmp_path / "r.lock")
        held.release()
        assert other_process(tmp_path / "r.lock")  # while the child is still there
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


def test_want_of_disk_locks_nobody_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(file: int, text: bytes) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(lock.os, "write", full)
    Lock(tmp_path / "r.lock").release()
    monkeypatch.setattr(lock.os, "open", lambda *_: full(0, b""))
    with pytest.raises(OSError, match="No space left"):
        Lock(tmp_path / "r.lock")
    monkeypatch.undo()
    Lock(tmp_path / "r.lock").release()


def test_a_link_is_refused(tmp_path: Path) -> None:
    (tmp_path / "precious").write_text("precious")
    (tmp_path / "r.lock").symlink_to(tmp_path / "precious")
    with pytest.raises(OSError):
        Lock(tmp_path / "r.lock")
    assert (tmp_path / "precious").read_text() == "precious"
