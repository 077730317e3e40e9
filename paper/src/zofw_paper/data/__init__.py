"""Data sets by name: find, download, verify, load.

>>> from zofw_paper.data import load
>>> Z, y = load("breast-cancer")
>>> Z.shape
(569, 30)
"""

from __future__ import annotations

from zofw_paper.data.catalogue import Archive, DataPart, Dataset, File, Kind, datasets
from zofw_paper.data.errors import DataError
from zofw_paper.data.images import Images, read_cifar10, read_idx
from zofw_paper.data.libsvm import read_libsvm
from zofw_paper.data.loading import Check, load, load_cifar10, verify
from zofw_paper.data.store import cache_folder, fetch, locate

__all__ = [
    "Archive",
    "Check",
    "DataError",
    "DataPart",
    "Dataset",
    "File",
    "Images",
    "Kind",
    "cache_folder",
    "datasets",
    "fetch",
    "load",
    "load_cifar10",
    "locate",
    "read_cifar10",
    "read_idx",
    "read_libsvm",
    "verify",
]
