"""Where the files are: the folder ZOFW_DATA, then the user's cache, then the data set's own site.

Both folders have the same layout (``libsvm/``, ``mnist/``, ``cifar-10/``, ``weights/``), and a file may be
stored plain or with the suffix .bz2, .xz or .gz. The cache is ``$XDG_CACHE_HOME/zofw``
(``%LOCALAPPDATA%\\zofw`` on Windows), else ``~/.cache/zofw``. Nothing unverified is used: a file's sha256 is
compared before a byte of it is parsed, and a download is compared before it appears under its name. A damaged
file is an error, never quietly replaced.
"""

from __future__ import annotations

import http.client
import io
import logging
import os
import tarfile
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tqdm import tqdm

from zofw.storage import write_whole
from zofw_paper.data.catalogue import Archive, Dataset, File, describe
from zofw_paper.data.errors import DataError
from zofw_paper.data.packing import SUFFIXES, read_bytes, sha256, unpack

_log = logging.getLogger(__name__)

_TIMEOUT = 30.0  # seconds without a byte
_BLOCK = 1 << 18


@dataclass(frozen=True)
class Stored:
    """A file that was found: its content as stored, the sha256 of that, and whether one was known for it."""

    path: Path
    content: bytes
    digest: str
    verified: bool


def cache_folder() -> Path:
    """Return the user's cache folder of this library; it need not exist."""
    root = os.environ.get("XDG_CACHE_HOME") or os.environ.get("LOCALAPPDATA") or Path.home() / ".cache"
    return Path(root) / "zofw"


def _given_folder() -> Path | None:
    given = os.environ.get("ZOFW_DATA")
    if not given:
        return None
    if not Path(given).is_dir():
        raise DataError(f"ZOFW_DATA is set to {given}, which is not a folder. Correct or unset it.")
    return Path(given)


def _candidates(file: File) -> Iterator[Path]:
    for folder in (_given_folder(), cache_folder() / "data"):
        if folder is not None:
            yield from (folder / f"{file.path}{suffix}" for suffix in SUFFIXES)


def find(file: File) -> Path | None:
    """Return the place of `file`, plain or compressed, in ZOFW_DATA, else in the cache; None if in neither."""
    return next((path for path in _candidates(file) if path.is_file()), None)


def locate(name: str) -> dict[str, Path | None]:
    """Where each file of a data set lies, by its plain name; None where missing. Nothing is downloaded."""
    return {file.path: find(file) for file in describe(name).files}


def fetch(name: str, split: str | None = None) -> dict[str, Path]:
    """Make every file of a data set, or of one split, present and verified; download what is missing.

    Returns
    -------
    dict
        From the plain name of each file to its place.

    Raises
    ------
    DataError
        A file is damaged, or neither here nor to be had; the sentence says which file to put where.
    """
    dataset = describe(name)
    files = dataset.files if split is None else dataset.part(split).files
    return {file.path: obtain(dataset, file).path for file in files}


def obtain(dataset: Dataset, file: File) -> Stored:
    """Find or download one file, and verify it."""
    path = find(file)
    if path is None:
        path = _unpack_archive(dataset, file, file.archive) if file.archive else _download(dataset, file)
    return check(file, path)


def check(file: File, path: Path) -> Stored:
    """Read a stored file and hold it against its sha256, or against the one recorded at its download."""
    content = read_bytes(path)
    digest = sha256(content)
    if file.sha256 is not None:
        _compare(file, content, digest, str(path))
        return Stored(path, content, digest, verified=True)
    record = _record(path)
    if not record.is_file():
        _log.info("%s: no sha256 is known for this file; only its structure is checked", path)
        return Stored(path, content, digest, verified=False)
    recorded = read_bytes(record).decode("ascii", "replace").split()
    if recorded[:1] != [digest]:
        raise DataError(
            f"{path} has the sha256 {digest}, but {record.name} beside it says "
            f"{' '.join(recorded[:1]) or 'nothing'}. Remove both and fetch it again."
        )
    return Stored(path, content, digest, verified=True)


def _record(path: Path) -> Path:
    return path.with_name(f"{path.name}.sha256")


def _compare(file: File, content: bytes, digest: str, where: str) -> None:
    if digest in (file.sha256, file.packed):
        return
    found = sha256(unpack(content, where))
    if found != file.sha256:
        raise DataError(
            f"{where} has the sha256 {found} (its plain content), but {file.path} has {file.sha256}. "
            "It is damaged or another file: remove it and fetch it again."
        )


def _download(dataset: Dataset, file: File) -> Path:
    failures: list[str] = []
    for url in file.urls:
        suffix = next((suffix for suffix in SUFFIXES[1:] if url.endswith(suffix)), "")
        try:
            content = _get(url)
            if file.sha256 is not None:
                _compare(file, content, sha256(content), url)
        except DataError as error:
            failures.append(str(error))
            continue
        path = cache_folder() / "data" / f"{file.path}{suffix}"
        _write(path, content)
        if file.sha256 is None:
            _write(_record(path), f"{sha256(content)}  {path.name}\n".encode("ascii"))
        return path
    raise DataError(_missing(dataset, file, file.urls, failures))


def _unpack_archive(dataset: Dataset, file: File, archive: Archive) -> Path:
    """Download the archive once and keep every missing file of the data set that it holds."""
    try:
        content = _get(archive.url)
        found = sha256(content)
        if found != archive.sha256:
            raise DataError(f"{archive.url} has the sha256 {found}, but {archive.sha256} was expected.")
        with tarfile.open(fileobj=io.BytesIO(content)) as tar:
            for member in dataset.files:
                if member.archive == archive and find(member) is None:
                    _keep_member(tar, member, archive)
    except (DataError, tarfile.TarError) as error:
        raise DataError(_missing(dataset, file, (archive.url,), [str(error)])) from error
    return cache_folder() / "data" / file.path


def _keep_member(tar: tarfile.TarFile, file: File, archive: Archive) -> None:
    name = f"{archive.folder}/{Path(file.path).name}"
    try:
        stream = tar.extractfile(name)
    except KeyError:
        stream = None
    if stream is None:
        raise DataError(f"{archive.url} contains no file {name}.")
    content = stream.read()
    _compare(file, content, sha256(content), f"{archive.url}, member {name}")
    _write(cache_folder() / "data" / file.path, content)


def _write(path: Path, content: bytes) -> None:
    try:
        write_whole(path, lambda stream: stream.write(content))
    except OSError as error:
        raise DataError(
            f"{path} cannot be written: {error.strerror or error}. Set XDG_CACHE_HOME to a folder that can be "
            "written, or ZOFW_DATA to one that holds the data."
        ) from error
    _log.info("kept %s (%d bytes)", path, len(content))


def _get(url: str) -> bytes:
    """Return the bytes at `url`, with a progress bar on a terminal."""
    request = urllib.request.Request(url, headers={"User-Agent": "zofw"})
    _log.info("downloading %s", url)
    try:
        with urllib.request.urlopen(request, timeout=_TIMEOUT) as answer:
            size = answer.headers.get("Content-Length")
            total = int(size) if size else None
            blocks: list[bytes] = []
            with tqdm(
                desc=url.rsplit("/", 1)[-1], total=total, unit="B", unit_scale=True, disable=None
            ) as bar:
                while block := answer.read(_BLOCK):
                    blocks.append(block)
                    bar.update(len(block))
    except (OSError, http.client.HTTPException, ValueError) as error:
        raise DataError(f"{url} could not be downloaded ({error}).") from error
    content = b"".join(blocks)
    if total is not None and len(content) != total:
        raise DataError(f"{url} broke off after {len(content)} of {total} bytes.")
    return content


def _missing(dataset: Dataset, file: File, urls: tuple[str, ...], failures: list[str]) -> str:
    given = _given_folder()
    place = cache_folder() / "data" / file.path
    folders = [place.parent] if given is None else [(given / file.path).parent, place.parent]
    reason = " ".join(failures) or "It cannot be downloaded."
    source = f"Get it from {' or '.join(urls)}" if urls else "Get a copy"
    if file.archive:
        source += f" (the member {file.archive.folder}/{place.name})"
    return (
        f"{file.path} of the data set {dataset.name} is not in {' or '.join(map(str, folders))}. "
        f"{reason} {source} and put it at {place}, or at {file.path} in the folder that ZOFW_DATA names. It may be plain or "
        "compressed (.bz2, .xz, .gz)."
    )
