"""Plain values, arrays and zofw's own frozen dataclasses as JSON beside named arrays; nothing here can execute code.

Decoding creates only what encoding wrote: numbers, strings, lists, tuples, dictionaries, arrays, and dataclasses and
enumerations defined inside the zofw package or passed by the caller.
"""

from __future__ import annotations

import dataclasses
import hashlib
import io
import json
import os
import sys
from collections.abc import Mapping
from enum import Enum
from pathlib import Path
from types import UnionType
from typing import Any, TypeAlias, get_args, get_origin, get_type_hints

import numpy as np

from zofw.extras import lazy
from zofw.storage import Arrays, read_arrays, write_whole

sp = lazy("scipy.sparse")

Document: TypeAlias = "bool | int | float | str | list[Document] | dict[str, Document] | None"


class FileError(ValueError):
    """A file is not what it should be: broken, foreign, or of another version."""


class StorageError(OSError):
    """The run's files could not be written: disk full, folder read-only. What they held before is intact."""

    def __str__(self) -> str:
        return str(self.args[-1])

    @classmethod
    def of(cls, path: Path, error: OSError) -> StorageError:
        """What the system says about a run's files, as a sentence."""
        if not path.parent.is_dir():
            return cls(error.errno, f"{path}: the folder {path.parent} does not exist. Make it first")
        if path.is_dir():
            return cls(
                error.errno, f"{path} is a folder. Give the name of a file, such as {path / 'run.npz'}"
            )
        return cls(
            error.errno,
            f"{path}: the run could not be saved ({error.strerror}). Files that were there are intact, and the run "
            "goes on from them once there is room for new ones",
        )


def encode(value: object, arrays: Arrays) -> Document:
    """Return ``value`` as JSON, its arrays put into ``arrays``."""
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, Enum):
        return {"$enum": _path(type(value)), "name": value.name}
    if isinstance(value, (int, np.integer)):
        return int(value)
    if isinstance(value, (float, np.floating)):
        return float(value)
    if isinstance(value, np.ndarray):
        if value.dtype.hasobject:
            raise TypeError("Arrays of Python objects cannot be saved.")
        name = f"a{len(arrays)}"
        arrays[name] = value
        return {"$array": name}
    if sp.issparse(value):
        matrix = sp.csc_array(value)
        parts = [encode(part, arrays) for part in (matrix.data, matrix.indices, matrix.indptr)]
        return {"$sparse": parts, "shape": list(matrix.shape)}
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = {f.name: encode(vars(value)[f.name], arrays) for f in dataclasses.fields(value) if f.init}
        return {"$type": _path(type(value)), "fields": fields}
    if isinstance(value, tuple):
        return {"$tuple": [encode(item, arrays) for item in value]}
    if isinstance(value, list):
        return [encode(item, arrays) for item in value]
    if isinstance(value, Mapping):
        return {"$dict": [[encode(key, arrays), encode(item, arrays)] for key, item in value.items()]}
    raise TypeError(
        f"A {type(value).__name__} cannot be saved without pickle; give it as a frozen dataclass of plain values."
    )


def can_encode(value: object) -> bool:
    """Return True if ``encode`` takes it."""
    try:
        encode(value, {})
    except TypeError:
        return False
    return True


def decode(
    document: Document, arrays: Mapping[str, np.ndarray], known: Mapping[str, type] | None = None
) -> Any:
    """Return the value that ``encode`` wrote; ``known`` adds classes from outside zofw by their path."""
    if isinstance(document, list):
        return [decode(item, arrays, known) for item in document]
    if not isinstance(document, dict):
        return document
    match document:
        case {"$array": str(name)} if name in arrays:
            return arrays[name]
        case {"$tuple": list(items)}:
            return tuple(decode(item, arrays, known) for item in items)
        case {"$dict": list(items)}:
            return dict(decode(pair, arrays, known) for pair in items)
        case {"$sparse": list(parts), "shape": list(shape)}:
            data, indices, indptr = (decode(part, arrays, known) for part in parts)
            return sp.csc_array((data, indices, indptr), shape=tuple(shape))
        case {"$enum": str(path), "name": str(name)}:
            return _find(path, known)[name]
        case {"$type": str(path), "fields": dict(fields)}:
            return _find(path, known)(**{key: decode(item, arrays, known) for key, item in fields.items()})
    raise FileError(f"This was not written by zofw: {json.dumps(document)[:80]}")


def _path(kind: type) -> str:
    return f"{kind.__module__}:{kind.__qualname__}"


def _find(path: str, known: Mapping[str, type] | None) -> Any:
    if known and path in known:
        return known[path]
    module, _, name = path.partition(":")
    kind: Any = sys.modules.get(module) if module.split(".")[0] == "zofw" else None
    for part in name.split("."):
        kind = getattr(kind, part, None)
    if isinstance(kind, type) and (dataclasses.is_dataclass(kind) or issubclass(kind, Enum)):
        return kind
    raise FileError(
        f"The file mentions {path!r}, which this version of zofw does not have. Hand over the object itself."
    )


def dump_document(kind: str, version: int, content: object) -> bytes:
    """Return one value as the bytes of an npz file with checksums."""
    arrays: Arrays = {}
    body = encode(content, arrays)
    head = {
        "kind": kind,
        "version": version,
        "arrays": {name: _digest(array) for name, array in arrays.items()},
    }
    head["body"] = hashlib.sha256(json.dumps(body).encode()).hexdigest()
    text = np.frombuffer(json.dumps({"head": head, "body": body}).encode(), dtype=np.uint8)
    stream = io.BytesIO()
    np.savez(stream, allow_pickle=False, document=text, **arrays)
    return stream.getvalue()


def write_document(path: str | os.PathLike[str], kind: str, version: int, content: object) -> None:
    """Write one value to one file, atomically: a temporary file in the same folder, fsync, rename."""
    text = dump_document(kind, version, content)
    write_whole(Path(path), lambda stream: stream.write(text))


def read_document(
    path: str | os.PathLike[str], kind: str, version: int, known: Mapping[str, type] | None = None
) -> Any:
    """Read what ``write_document`` wrote; anything else is a :class:`FileError` that says what was found."""
    return parse_document(Path(path).read_bytes(), path, kind, version, known)


def parse_document(
    text: bytes,
    path: str | os.PathLike[str],
    kind: str,
    version: int,
    known: Mapping[str, type] | None = None,
) -> Any:
    """Return the value that ``dump_document`` made bytes of; ``path`` is named in errors."""
    try:
        arrays = read_arrays(text, stored=True)
        document = json.loads(arrays.pop("document").tobytes())
        head, body = document["head"], document["body"]
        found = (head["kind"], head["version"])
        intact = head["body"] == hashlib.sha256(json.dumps(body).encode()).hexdigest() and all(
            _digest(arrays[name]) == digest for name, digest in head["arrays"].items()
        )
    except Exception as error:  # the readers of zip, npy and JSON have a dozen kinds between them
        raise FileError(f"{path} is not a zofw {kind}, or it is broken ({error}).") from error
    if found[0] != kind:
        raise FileError(f"{path} is a zofw {found[0]}; a {kind} was expected.")
    if found[1] != version:
        raise FileError(other_version(path, found[1], version))
    if not intact:
        raise FileError(f"{path} is damaged: its contents do not match their checksums.")
    try:
        return decode(body, arrays, known)
    except FileError:
        raise
    except (TypeError, ValueError, LookupError, AttributeError, RecursionError) as error:
        raise FileError(f"{path} does not hold a usable {kind}: {error}") from error


def other_version(path: str | os.PathLike[str], found: object, wanted: int) -> str:
    """What to do with a file of another version."""
    remedy = (
        " It was written by an earlier zofw: finish the run with that version, or begin it again."
        if isinstance(found, int) and isinstance(wanted, int) and found < wanted
        else ""
    )
    return f"{path} has format version {found}; this zofw reads version {wanted}.{remedy}"


def _digest(array: np.ndarray) -> str:
    return hashlib.sha256(
        np.ascontiguousarray(array).tobytes() + str((array.dtype.str, array.shape)).encode()
    ).hexdigest()


def fits(value: object, hint: type) -> bool:
    """Return True if a value is of a declared type: whole numbers at least 0, arrays of finite numbers, dataclasses field by field."""
    kind, inner = get_origin(hint) or hint, get_args(hint)
    if kind is UnionType:
        return any(fits(value, one) for one in inner)
    if kind is np.ndarray:
        return is_finite(value)
    if kind is int:
        return type(value) is int and value >= 0
    if kind is float:
        return type(value) in (int, float)
    if not isinstance(value, kind):
        return False
    if isinstance(value, Mapping):
        return all(fits(key, inner[0]) and fits(item, inner[1]) for key, item in value.items())
    if isinstance(value, (list, tuple)) and inner:
        return all(fits(item, inner[0]) for item in value)
    if dataclasses.is_dataclass(kind):
        hints = get_type_hints(kind)
        return all(
            fits(vars(value)[part.name], hints[part.name]) for part in dataclasses.fields(kind) if part.init
        )
    return True


def is_finite(array: object) -> bool:
    """Return True for an array of finite numbers."""
    return isinstance(array, np.ndarray) and array.dtype.kind in "fiub" and bool(np.isfinite(array).all())
