"""What each named data set is, from ``catalogue.toml``: its files, their fingerprints and sources, and what must be found in them.

A fingerprint is the sha256 of the plain content. A file may be stored plain or compressed; the sha256 of one
known compressed form spares the decompression. `None` stands for what has not been verified here:

- ``rcv1`` has no known fingerprint. The sha256 of the first download is recorded beside the file and every
  later use is held against it (trust on first use); the number of samples and of features is always checked.
- ``rcv1-subsets`` is *not* LIBSVM's ``rcv1_train.binary``: the same term ids, weighting and labelling rule
  (+1 for CCAT and ECAT, −1 for GCAT and MCAT) on other RCV1-v2 documents, values rounded to six decimals. It
  has no site of its own and is never downloaded.

References
----------
.. [1] C.-C. Chang and C.-J. Lin, LIBSVM data: classification,
   https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets/.
.. [2] D. D. Lewis, Y. Yang, T. G. Rose and F. Li, "RCV1: a new benchmark collection for text categorization
   research", JMLR 5, 2004.
.. [3] Y. LeCun, C. Cortes and C. J. C. Burges, "The MNIST database of handwritten digits".
.. [4] A. Krizhevsky, "Learning multiple layers of features from tiny images", 2009.
.. [5] Y. Idelbayev, "Proper ResNet implementation for CIFAR10/CIFAR100 in PyTorch" (the ResNet-20 weights).
"""

from __future__ import annotations

import difflib
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from types import MappingProxyType

from zofw_paper.data.errors import DataError


class Kind(Enum):
    """What `load` makes of a data set."""

    SPARSE = "sparse"  # (CSR matrix, labels ±1)
    IMAGES = "images"  # Images
    EMBEDDED = "embedded"  # (dense matrix, labels ±1), shipped with scikit-learn
    WEIGHTS = "weights"  # read by zofw_paper.targets


@dataclass(frozen=True)
class Archive:
    """A tar file from which single members are taken."""

    url: str
    sha256: str
    folder: str


@dataclass(frozen=True)
class File:
    """One file: its plain name below the data folder, its plain content's sha256, and where to get it."""

    path: str
    sha256: str | None
    packed: str | None = None  # sha256 of a known compressed form
    urls: tuple[str, ...] = ()
    archive: Archive | None = None


@dataclass(frozen=True, eq=False)
class DataPart:
    """What is loaded at once: files in order, and the n, d, nnz and label counts that must come out."""

    files: tuple[File, ...]
    n: int | None = None
    d: int | None = None
    nnz: int | None = None
    labels: Mapping[int, int] | None = None


@dataclass(frozen=True, eq=False)
class Dataset:
    """A data set; all have a part "all" but the images ("train", "test", …) and weights in several forms."""

    name: str
    kind: Kind
    about: str
    parts: Mapping[str, DataPart]

    @property
    def files(self) -> tuple[File, ...]:
        return tuple(dict.fromkeys(file for part in self.parts.values() for file in part.files))

    def part(self, split: str | None, default: str = "all") -> DataPart:
        try:
            return self.parts[split or default]
        except KeyError:
            known = ", ".join(map(repr, self.parts))
            raise DataError(f"{self.name} has no split {split or default!r}; it has {known}.") from None


def _read() -> Mapping[str, Dataset]:
    table = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
    archives = {name: Archive(**entry) for name, entry in table["archives"].items()}
    files = {
        path: File(
            path,
            entry.get("sha256"),
            entry.get("packed"),
            tuple(entry.get("urls", ())),
            archives.get(entry.get("archive")),
        )
        for path, entry in table["files"].items()
    }
    return {
        name: Dataset(
            name,
            Kind(entry["kind"]),
            entry["about"],
            {split: _part(files, **part) for split, part in entry["parts"].items()},
        )
        for name, entry in table["datasets"].items()
    }


def _part(
    known: Mapping[str, File], files: list[str], labels: list[int] | None = None, **sizes: int
) -> DataPart:
    first, step = (-1, 2) if labels is not None and len(labels) == 2 else (0, 1)
    counts = None if labels is None else {first + step * k: count for k, count in enumerate(labels)}
    return DataPart(tuple(known[path] for path in files), **sizes, labels=counts)


_CATALOGUE = _read()


def datasets() -> Mapping[str, Dataset]:
    """Return every data set by its name, read-only.

    Examples
    --------
    >>> datasets()["a9a"].part("all").n
    32561
    """
    return MappingProxyType(_CATALOGUE)


def describe(name: str) -> Dataset:
    """Return the entry of `name`; a `DataError` with the nearest names if there is none."""
    if name not in _CATALOGUE:
        near = difflib.get_close_matches(str(name), _CATALOGUE, n=3)
        hint = f"Did you mean {' or '.join(near)}?" if near else f"There are {', '.join(sorted(_CATALOGUE))}."
        raise DataError(f"There is no data set named {name!r}. {hint}")
    return _CATALOGUE[name]
