"""One run, one owner: a lock that ends with the process that holds it."""

from __future__ import annotations

import contextlib
import os
import socket
import threading
from pathlib import Path
from typing import Any

try:
    import fcntl as _fcntl
except ImportError:  # a system without locks on open files
    fcntl: Any = None
else:
    fcntl = _fcntl

_held: dict[Path, int] = {}  # open files of the locks of this process
_table = threading.Lock()


class LockedError(RuntimeError):
    """Another process, or another run of this one, works on the same checkpoint."""


class Lock:
    """A lock on a file of its own, which is removed at its release: gone with its process, not held by its children.

    The file is locked as it was opened (``flock``), so that no process that opens and closes it again drops the lock, and a
    thread of this process is kept out like any other process. However the path is spelt, its folder is resolved first; a
    link in its last place is refused. Where a system has no such locks the file itself is the lock, and one left behind by
    a process that was killed has to be removed by hand, as the error says.
    """

    def __init__(self, path: Path) -> None:
        self.path = path.parent.resolve() / path.name
        with _table:  # one thread at a time looks and takes
            if self.path in _held:
                raise self._refusal("another run of this very process", "Let it end first.")
            self._file = _held[self.path] = self._create() if fcntl is None else self._acquire()
        with contextlib.suppress(
            OSError
        ):  # who holds it is a courtesy, for which a full disk may have no room
            os.ftruncate(self._file, 0)
            os.write(self._file, f"process {os.getpid()} on {socket.gethostname()}".encode())

    def _acquire(self) -> int:
        while True:
            file = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o644)
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError as error:
                owner = os.read(file, 200).decode(errors="replace") or "another process"
                os.close(file)
                raise self._refusal(owner, "Wait for it, stop it, or choose another path.") from error
            if self._still_there(file):
                return file
            os.close(file)  # removed by its last holder while it was being opened

    def _create(self) -> int:
        try:
            return os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o644)
        except FileExistsError as error:
            owner = self.path.read_text(errors="replace")[:200]
            raise self._refusal(owner, f"If that process is gone, remove {self.path}.") from error

    def _refusal(self, owner: str, remedy: str) -> LockedError:
        return LockedError(
            f"{self.path.with_suffix('')} is in use by {owner}; only one can work on a run. {remedy}"
        )

    def _still_there(self, file: int) -> bool:
        try:
            return os.path.samestat(os.fstat(file), os.stat(self.path))
        except FileNotFoundError:
            return False

    def release(self) -> None:
        """Let others have it; a child of the holder has nothing to release."""
        with _table:
            if _held.pop(self.path, None) is None:
                return
            if fcntl is None:  # Windows does not remove a file that is open
                os.close(self._file)
                self.path.unlink(missing_ok=True)
                return
            self.path.unlink(
                missing_ok=True
            )  # While still held: no process can lock a file that is about to go.
            os.close(self._file)


def _forget() -> None:
    """In a forked child: its copies of the open files would keep the locks beyond the parent's end."""
    global _table
    _table = threading.Lock()
    for file in _held.values():
        with contextlib.suppress(OSError):
            os.close(file)
    _held.clear()


if os.name == "posix":
    os.register_at_fork(after_in_child=_forget)
