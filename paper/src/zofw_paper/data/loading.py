"""Data sets by name, ready to use."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, overload

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

import zofw.data
from zofw.storage import read_arrays, write_whole
from zofw_paper.data.catalogue import DataPart, Dataset, Kind, describe
from zofw_paper.data.errors import DataError
from zofw_paper.data.images import Images, read_cifar10, read_idx
from zofw_paper.data.libsvm import read_libsvm
from zofw_paper.data.packing import read_bytes
from zofw_paper.data.store import Stored, cache_folder, check, find, obtain

Floats = NDArray[np.float64]
SparseData = tuple[csr_array, Floats]
DenseData = tuple[Floats, Floats]

_log = logging.getLogger(__name__)

_FORMAT = 1  # of the binary cache


@overload
def load(name: Literal["mnist", "cifar10"], *, split: str | None = None) -> Images: ...
@overload
def load(name: Literal["breast-cancer", "digits"]) -> DenseData: ...
@overload
def load(
    name: Literal["a9a", "a9a.t", "w8a", "rcv1", "real-sim", "rcv1-subsets", "news20-binary"],
) -> SparseData: ...
@overload
def load(name: str, *, split: str | None = None) -> SparseData | DenseData | Images: ...
def load(name: str, *, split: str | None = None) -> SparseData | DenseData | Images:
    """Load a data set by its name: from ZOFW_DATA, else the user's cache, else its own site.

    Parameters
    ----------
    name
        A name in `datasets()`.
    split
        Of images only: "test" (the default) or "train"; cifar10 has "train-1" as well, its first training
        batch.

    Returns
    -------
    (Z, y) or Images
        For a9a, a9a.t, w8a, rcv1, real-sim, rcv1-subsets and news20-binary a CSR matrix (n, d) in double
        precision and n labels ±1.0. For breast-cancer and digits a dense matrix and n labels ±1.0. For mnist
        and cifar10 `Images`.

    Raises
    ------
    DataError
        The data set is unknown, missing, damaged, or has other counts than its entry promises.
    ImportError
        breast-cancer and digits need scikit-learn.

    Notes
    ----- Sparse data are kept, once parsed, in a binary cache (npz, never pickled) that is keyed by the
    sha256 of the source, so that a changed source is parsed anew. A cache that cannot be read or written is
    logged and done without.
    """
    dataset = describe(name)
    if dataset.kind is Kind.IMAGES:
        return _images(dataset, dataset.part(split, default="test"))
    if dataset.kind is Kind.WEIGHTS:
        raise DataError(
            f"{name} are the weights of a network, not samples: build the network with zofw_paper.targets."
        )
    part = dataset.part(split)
    return _embedded(dataset, part) if dataset.kind is Kind.EMBEDDED else _sparse(dataset, part)


@dataclass(frozen=True)
class Check:
    """The state of one file of a data set."""

    file: str
    path: Path | None
    status: Literal["ok", "missing", "damaged", "no checksum"]
    detail: str = ""


def load_cifar10(name: str = "cifar-10", split: str = "train") -> Images:
    """Return the images of CIFAR-10, by default the 50,000 of the training set, as ``zofw.data.load`` does."""
    return load("cifar10", split=split)


def verify(name: str) -> tuple[Check, ...]:
    """Hold every file of a data set that is present against its sha256; nothing is downloaded.

    A file for which no sha256 is known or recorded is parsed instead: its structure is as promised ("no
    checksum"), or it is "damaged".
    """
    dataset = describe(name)
    checks: list[Check] = []
    for file in dataset.files:
        path = find(file)
        if path is None:
            checks.append(Check(file.path, None, "missing"))
            continue
        try:
            stored = check(file, path)
            if not stored.verified:
                _parse(dataset, dataset.part(None), stored)
        except DataError as error:
            checks.append(Check(file.path, path, "damaged", str(error)))
        else:
            checks.append(Check(file.path, path, "ok" if stored.verified else "no checksum", stored.digest))
    return tuple(checks)


def _sparse(dataset: Dataset, part: DataPart) -> SparseData:
    stored = obtain(dataset, part.files[0])
    kept = cache_folder() / "parsed" / f"{dataset.name}-v{_FORMAT}-{stored.digest[:32]}.npz"
    if kept.is_file():
        try:
            return _read_kept(kept, dataset, part)
        except Exception as error:  # a damaged file raises whatever its bytes lead to
            _log.warning("%s is unusable (%s); parsing %s again", kept, error, stored.path)
    Z, y = _parse(dataset, part, stored)
    try:
        write_whole(
            kept, lambda stream: np.savez(stream, data=Z.data, indices=Z.indices, indptr=Z.indptr, y=y)
        )
    except OSError as error:
        _log.warning("%s cannot be written (%s); the next load parses %s again", kept, error, stored.path)
    return Z, y


def _read_kept(kept: Path, dataset: Dataset, part: DataPart) -> SparseData:
    arrays = read_arrays(read_bytes(kept))
    y = arrays["y"]
    Z = csr_array((arrays["data"], arrays["indices"], arrays["indptr"]), shape=(len(y), part.d or 0))
    Z.check_format(full_check=True)
    _hold_to_entry(dataset, part, Z.shape, Z.nnz, y, str(kept))
    return Z, y


def _parse(dataset: Dataset, part: DataPart, stored: Stored) -> SparseData:
    where = str(stored.path)
    many = dataset.name == "news20-binary"
    Z, y = read_libsvm(stored.content, n_features=part.d, binary=not many, name=where)
    if many:
        y = np.where(y <= 10, 1.0, -1.0)
        norms = np.sqrt(Z.power(2).sum(axis=1))
        Z.data /= np.repeat(norms, np.diff(Z.indptr))
    _hold_to_entry(dataset, part, Z.shape, Z.nnz, y, where)
    return Z, y


def _images(dataset: Dataset, part: DataPart) -> Images:
    stored = [obtain(dataset, file) for file in part.files]
    where = str(stored[0].path)
    if dataset.name == "mnist":
        pixels, labels = (read_idx(file.content, name=str(file.path)) for file in stored)
        images = Images(pixels[:, None], labels.astype(np.int64))
    else:
        batches = [read_cifar10(file.content, name=str(file.path)) for file in stored]
        images = Images(
            np.concatenate([batch.pixels for batch in batches]),
            np.concatenate([batch.labels for batch in batches]),
        )
    shape = (len(images.pixels), images.pixels[0].size)
    _hold_to_entry(dataset, part, shape, None, images.labels, where)
    return images


def _embedded(dataset: Dataset, part: DataPart) -> DenseData:
    Z, y = zofw.data.load(dataset.name)
    _hold_to_entry(dataset, part, Z.shape, Z.size, y, "scikit-learn's copy")
    return Z, y


def _hold_to_entry(
    dataset: Dataset,
    part: DataPart,
    shape: tuple[int, ...],
    nnz: int | None,
    y: NDArray[np.float64] | NDArray[np.int64],
    where: str,
) -> None:
    values, counts = np.unique(y, return_counts=True)
    labels = dict(zip(values.astype(int).tolist(), counts.tolist(), strict=True))
    for what, found, wanted in (
        ("n", shape[0], part.n),
        ("d", shape[1], part.d),
        ("nnz", nnz, part.nnz),
        ("label counts", labels, part.labels),
    ):
        if wanted is not None and found != wanted:
            raise DataError(f"{where}: {what} is {found}, but {dataset.name} has {wanted}. Fetch it again.")
