"""Files that appear whole or not at all, and archives that cannot grow beyond what is expected of them."""

from __future__ import annotations

import io
import os
import time
import uuid
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

import numpy as np

Arrays = dict[str, np.ndarray]
WINDOWS = os.name == "nt"
PAUSES = (0.01, 0.03, 0.1, 0.3, 0.6)  # seconds


def write_whole(path: Path, write: Callable[[BinaryIO], object]) -> None:
    """Let ``write`` fill a new file beside ``path``, force it to the disk, and rename it: whole or not at all.

    Missing folders are made. A link at ``path`` is replaced, never followed; the mode follows the umask. A failing
    ``write`` leaves nothing behind and its error passes through.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{uuid.uuid4().hex}.part")
    try:
        with temporary.open("xb") as stream:
            write(stream)
            stream.flush()
            os.fsync(stream.fileno())
        rename_over(temporary, path)
        sync_folder(path.parent)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def rename_over(new: Path, path: Path) -> None:
    """Rename a file over another; on Windows, wait up to a second while a reader has that one open."""
    for pause in PAUSES if WINDOWS else ():
        try:
            os.replace(new, path)
            return
        except PermissionError:
            time.sleep(pause)
    os.replace(new, path)


def sync_folder(folder: Path) -> None:
    """Force the names in a folder to the disk, where the system can open one."""
    if os.name == "posix":
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def check_archive(content: bytes, most: int, *, stored: bool = False) -> None:
    """Refuse, with a ValueError, a zip archive whose members would take more than ``most`` bytes in all.

    The sizes are those that its directory states, at which reading ends. Members that overlap, that share a name or, where
    the archive should be ``stored``, that are compressed are refused too.
    """
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        members = archive.infolist()
    if stored and any(member.compress_type != zipfile.ZIP_STORED for member in members):
        raise ValueError("it is compressed; it should be written by numpy.savez")
    if sum(member.compress_size for member in members) > len(content):
        raise ValueError("its members overlap")
    if len({member.filename for member in members}) < len(members):
        raise ValueError("two of its members have one name")
    total = sum(member.file_size for member in members)
    if total > most:
        raise ValueError(f"it would take {total:,} bytes in memory, and at most {most:,} are expected")


def read_arrays(content: bytes, most: int | None = None, *, stored: bool = False) -> Arrays:
    """Return the arrays of an npz file that take at most ``most`` bytes, by default the file's own size; none of objects."""
    check_archive(content, len(content) if most is None else most, stored=stored)
    with np.load(io.BytesIO(content), allow_pickle=False) as file:
        return {name: file[name] for name in file.files}
