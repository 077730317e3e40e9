"""Compressed files, recognised by their first bytes and bounded in what they may unpack to."""

from __future__ import annotations

import bz2
import gzip
import hashlib
import io
import lzma
import os
import zlib
from pathlib import Path

from zofw_paper.data.errors import DataError

SUFFIXES = ("", ".bz2", ".xz", ".gz")  # how a file may be stored beside its plain name
MOST_UNPACKED = 1 << 30  # bytes; every file of the catalogue takes less

_FORMATS = ((b"BZh", "bzip2"), (b"\xfd7zXZ\x00", "xz"), (b"\x1f\x8b", "gzip"))  # by their first bytes


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def read_bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror or error}.") from error


def unpack(content: bytes, where: str) -> bytes:
    """Decompress bzip2, xz or gzip content, recognised by its first bytes; other content stays as it is.

    A stream that is damaged, that is followed by anything but another one, or that unpacks to more than ``MOST_UNPACKED``
    bytes is an error; no more than those are unpacked.
    """
    kind = next((kind for magic, kind in _FORMATS if content.startswith(magic)), None)
    if kind is None:
        return content
    try:
        plain = _gunzip(content) if kind == "gzip" else _streams(kind, content)
    except (OSError, EOFError, ValueError, lzma.LZMAError, zlib.error) as error:
        raise DataError(
            f"{where} is a truncated or damaged {kind} archive ({error}). Fetch it again."
        ) from error
    if len(plain) > MOST_UNPACKED:
        raise DataError(
            f"{where}, {len(content):,} bytes of {kind}, unpacks to more than {MOST_UNPACKED:,} bytes. If it should be so "
            "large, unpack it yourself and give the plain file."
        )
    return plain


def _gunzip(content: bytes) -> bytes:
    with gzip.GzipFile(fileobj=io.BytesIO(content)) as stream:
        return stream.read(MOST_UNPACKED + 1)


def _streams(kind: str, content: bytes) -> bytes:
    """Return one stream of bzip2 or xz after another; what follows the last one must begin a stream, or it raises."""
    pieces, left = [], MOST_UNPACKED + 1
    while content and left:
        machine = bz2.BZ2Decompressor() if kind == "bzip2" else lzma.LZMADecompressor(lzma.FORMAT_XZ)
        while not machine.eof and left:
            pieces.append(machine.decompress(content, left))
            left -= len(pieces[-1])
            if machine.needs_input and not machine.eof:
                raise EOFError("it ends inside a stream")
            content = b""
        content = machine.unused_data if machine.eof else b""
    return b"".join(pieces)


def unpacked(source: str | os.PathLike[str] | bytes, name: str | None) -> tuple[str, bytes]:
    """How to name a source in an error (`name`, else its path), and its decompressed content."""
    if isinstance(source, bytes):
        where, content = name or "<bytes>", source
    else:
        where, content = name or str(source), read_bytes(Path(source))
    return where, unpack(content, where)
