"""Data sets by name: find, download, verify, load.

>>> from zofw_paper.data import load
>>> Z, y = load("breast-cancer")
>>> Z.shape
(569, 30)
"""

from __future__ import annotations

from zofw_paper.data.catalogue import Archive as Archive
from zofw_paper.data.catalogue import DataPart as DataPart
from zofw_paper.data.catalogue import Dataset as Dataset
from zofw_paper.data.catalogue import File as File
from zofw_paper.data.catalogue import Kind as Kind
from zofw_paper.data.catalogue import datasets as datasets
from zofw_paper.data.errors import DataError as DataError
from zofw_paper.data.images import Images as Images
from zofw_paper.data.images import read_cifar10 as read_cifar10
from zofw_paper.data.images import read_idx as read_idx
from zofw_paper.data.libsvm import read_libsvm as read_libsvm
from zofw_paper.data.loading import Check as Check
from zofw_paper.data.loading import load as load
from zofw_paper.data.loading import load_cifar10 as load_cifar10
from zofw_paper.data.loading import verify as verify
from zofw_paper.data.store import cache_folder as cache_folder
from zofw_paper.data.store import fetch as fetch
from zofw_paper.data.store import locate as locate
