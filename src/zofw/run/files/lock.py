"""One process, one run: a lock that ends with the process that holds it."""

from __future__ import annotations

import os
import socket
from pathlib import Path
from typing import Any

try:
    import fcntl as _fcntl
except ImportError:  # a system without POSIX locks
    posix: Any = None
else:
    posix = _fcntl

_held: set[Path] = set()  # by this process, which a POSIX lock does not keep apart from itself


class LockedError(RuntimeError):
    """Another process, or another run of this one, works on the same checkpoint."""


class Lock:
    """A POSIX record lock on a file of its own: gone with its process, not inherited by children, never stale.

    Without POSIX locks the file itself is the lock, and one left behind by a process that was killed has to be removed by
    hand, as the error says.
    """

    def __init__(self, path: Path) -> None:
        self.path = path.absolute()
        if self.path in _held:
            raise self._refusal("another run of this very process", "Let it end first.")
        self._file = self._create() if posix is None else self._acquire()
        _held.add(self.path)
        os.ftruncate(self._file, 0)
        os.write(self._file, f"process {os.getpid()} on {socket.gethostname()}".encode())

    def _acquire(self) -> int:
        while True:
            file = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
            try:
                posix.lockf(file, posix.LOCK_EX | posix.LOCK_NB)
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
            f"{self.path.with_suffix('')} is being worked on by {owner}, and a run has room for one only. {remedy}"
        )

    def _still_there(self, file: int) -> bool:
        try:
            return os.path.samestat(os.fstat(file), os.stat(self.path))
        except FileNotFoundError:
            return False

    def release(self) -> None:
        if posix is None:
            os.close(self._file)
            self.path.unlink()
        else:
            self.path.unlink(missing_ok=True)  # while still held: nobody locks a file that is about to go
            os.close(self._file)
        _held.discard(self.path)
