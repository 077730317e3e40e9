"""Compressed files, recognised by their first bytes, and files that appear whole or not at all."""

from __future__ import annotations

import bz2
import gzip
import hashlib
import lzma
import os
import tempfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from zofw.data.errors import DataError

__all__ = ["SUFFIXES", "read_arrays", "read_bytes", "sha256", "unpack", "unpacked", "write_atomically"]

SUFFIXES = ("", ".bz2", ".xz", ".gz")  # how a file may be stored beside its plain name

_UNPACKERS: tuple[tuple[bytes, str, Callable[[bytes], bytes]], ...] = (
    (b"BZh", "bzip2", bz2.decompress),
    (b"\xfd7zXZ\x00", "xz", lzma.decompress),
    (b"\x1f\x8b", "gzip", gzip.decompress),
)


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def read_bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror or error}.") from error


def read_arrays(path: str | os.PathLike[str]) -> dict[str, NDArray[Any]]:
    """The arrays of an npz file; an array of objects, which only pickle could read, is an error."""
    with open(path, "rb") as stream, np.load(stream, allow_pickle=False) as arrays:
        return {name: arrays[name] for name in arrays.files}


def unpack(content: bytes, where: str) -> bytes:
    """Decompress bzip2, xz or gzip content, recognised by its first bytes; other content stays as it is."""
    for magic, kind, decompress in _UNPACKERS:
        if content.startswith(magic):
            try:
                return decompress(content)
            except (OSError, EOFError, ValueError, lzma.LZMAError, zlib.error) as error:
                raise DataError(
                    f"{where} is a truncated or damaged {kind} archive ({error}). Fetch it again."
                ) from error
    return content


def unpacked(source: str | os.PathLike[str] | bytes, name: str | None) -> tuple[str, bytes]:
    """How to name a source in an error (`name`, else its path), and its decompressed content."""
    if isinstance(source, bytes):
        where, content = name or "<bytes>", source
    else:
        where, content = name or str(source), read_bytes(Path(source))
    return where, unpack(content, where)


def write_atomically(path: Path, write: Callable[[BinaryIO], object]) -> None:
    """Let `write` fill a temporary file, flush it to the disk and rename it to `path`: whole or not at all.

    Missing folders are made. A failing `write` leaves nothing behind and its error passes through.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".part")
    try:
        with os.fdopen(handle, "wb") as stream:
            write(stream)
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
