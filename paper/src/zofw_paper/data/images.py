"""Images with labels: the IDX files of MNIST and the binary batches of CIFAR-10."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from zofw_paper.data.errors import DataError
from zofw_paper.data.packing import unpacked

Pixels = NDArray[np.uint8]

_CIFAR_RECORD = 1 + 3 * 32 * 32  # label, then the R, G and B planes


@dataclass(frozen=True, eq=False)
class Images:
    """N images of C channels with their classes.

    Parameters
    ----------
    pixels
        (N, C, H, W), 0 to 255.
    labels
        (N,), the classes 0 to 9.
    """

    pixels: Pixels
    labels: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.labels)

    def centred(self) -> NDArray[np.float32]:
        """Return pixels as p/255 − ½ in [−½, ½], single precision: what the target networks take."""
        return (self.pixels / np.float32(255) - np.float32(0.5)).astype(np.float32)


def read_idx(source: str | os.PathLike[str] | bytes, *, name: str | None = None) -> Pixels:
    """Read an IDX file of unsigned bytes (magic 0x000008kk, kk = 1 to 3 dimensions), gzip-compressed or not.

    Raises
    ------
    DataError
        Another magic number, or more or fewer bytes than the header promises.

    References
    ----------
    .. [1] Y. LeCun, C. Cortes and C. J. C. Burges, "The MNIST database of handwritten digits", file formats.
    """
    where, content = unpacked(source, name)
    if len(content) < 4 or content[:3] != b"\x00\x00\x08" or content[3] not in (1, 2, 3):
        raise DataError(
            f"{where} starts with {content[:4].hex() or 'nothing'}; an IDX file of bytes starts with "
            "000008 and its number of dimensions, 1 to 3."
        )
    header = 4 + 4 * content[3]
    if len(content) < header:
        raise DataError(f"{where} ends inside its IDX header of {header} bytes: it is truncated.")
    shape = tuple(int.from_bytes(content[k : k + 4], "big") for k in range(4, header, 4))
    wanted = header + math.prod(shape)
    if len(content) != wanted:
        raise DataError(
            f"{where} has {len(content)} bytes where its header {shape} promises {wanted}: it is "
            "truncated or damaged."
        )
    try:
        return np.frombuffer(content, np.uint8, offset=header).reshape(shape)
    except ValueError as error:  # nothing by very much
        raise DataError(
            f"{where} has the header {shape}, which is not the shape of an array: {error}."
        ) from error


def read_cifar10(source: str | os.PathLike[str] | bytes, *, name: str | None = None) -> Images:
    """Read a batch of CIFAR-10's binary version: records of one label byte and 3,072 bytes in R, G, B planes.

    References
    ----------
    .. [1] A. Krizhevsky, "Learning multiple layers of features from tiny images", 2009.
    """
    where, content = unpacked(source, name)
    n, rest = divmod(len(content), _CIFAR_RECORD)
    if n == 0 or rest:
        raise DataError(
            f"{where} has {len(content)} bytes, not a positive multiple of the {_CIFAR_RECORD} of a CIFAR-10 "
            "record: it is truncated or another file."
        )
    records = np.frombuffer(content, np.uint8).reshape(n, _CIFAR_RECORD)
    labels = records[:, 0].astype(np.int64)
    if labels.max() > 9:
        worst = int(np.argmax(labels > 9))
        raise DataError(
            f"{where}, record {worst + 1}: the label {labels[worst]}; CIFAR-10's classes are 0 to 9."
        )
    return Images(records[:, 1:].reshape(n, 3, 32, 32), labels)
