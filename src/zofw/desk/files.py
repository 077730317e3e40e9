"""Files between a desk and those who answer: JSON or npz with plain fields, never pickle, replaced whole or not at all."""

from __future__ import annotations

import json
import os
import uuid
from pathlib import Path
from typing import NoReturn

from zofw.run.files.documents import FileError, StorageError
from zofw.storage import read_arrays, rename_over, sync_folder

ENDINGS = (".json", ".npz")
LONGEST = 1 << 28  # bytes of a file that is read


def put(path: Path, text: bytes, *, durable: bool = False) -> None:
    """Replace a file whole: written under another name, readable for whom the system's mask allows, and renamed."""
    temporary = path.with_name(f".{path.name}.{uuid.uuid4().hex[:8]}")
    try:
        with temporary.open("xb") as file:
            file.write(text)
            file.flush()
            if durable:
                os.fsync(file.fileno())
        rename_over(temporary, path)
        if durable:
            sync_folder(path.parent)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise StorageError(
            error.errno, f"{path} could not be written ({error.strerror}). What was there is intact"
        ) from error


def load(path: Path, most: int = LONGEST) -> dict[str, object]:
    """The fields of a JSON object, or of an npz file as plain values; anything else is a ``FileError``.

    A link, which may lead anywhere, and a file of more than ``most`` bytes are refused before they are read.
    """
    if path.is_symlink():
        raise FileError("The file is a link; put the answer itself there.")
    if path.stat().st_size > most:
        raise FileError(f"The file is longer than {most:,} bytes, more than any answer here needs.")
    text = path.read_bytes()
    return _arrays(text) if path.suffix == ".npz" else parse(text)


def parse(text: bytes | str) -> dict[str, object]:
    """The fields of a JSON object; NaN, infinities and a field given twice are refused."""
    try:
        string = text.decode("utf-8-sig") if isinstance(text, bytes) else text
        fields = json.loads(string, object_pairs_hook=_once, parse_constant=_refuse)
    except (ValueError, RecursionError) as error:
        raise FileError(f"The file is not JSON: {error}.") from error
    if not isinstance(fields, dict):
        raise FileError(
            f'The file should hold one JSON object, {{"id": …, …}}; it holds {string.strip()[:40]!r}.'
        )
    return fields


def _once(pairs: list[tuple[str, object]]) -> dict[str, object]:
    fields = dict(pairs)
    if len(fields) < len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"the field {next(n for n in names if names.count(n) > 1)!r} is given twice")
    return fields


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not a finite number")


def _arrays(text: bytes) -> dict[str, object]:
    try:
        arrays = read_arrays(text, stored=True)
    except Exception as error:  # the readers of zip and npy have a dozen kinds between them
        raise FileError(f"The file is not an npz file of plain arrays: {error}.") from error
    return {name: array.item() if array.ndim == 0 else array for name, array in arrays.items()}
