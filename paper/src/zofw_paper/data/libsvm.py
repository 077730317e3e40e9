"""The LIBSVM text format, read by scikit-learn: one sample a line, ``label index:value index:value …``."""

from __future__ import annotations

import io
import os

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from zofw_paper.data.errors import DataError
from zofw_paper.data.packing import unpacked


def read_libsvm(
    source: str | os.PathLike[str] | bytes,
    *,
    n_features: int | None = None,
    zero_based: bool = False,
    binary: bool = False,
    name: str | None = None,
) -> tuple[csr_array, NDArray[np.float64]]:
    """Return the samples as a CSR array (n, d) with sorted indices, and the n labels.

    Parameters
    ----------
    source
        A path, or the content as bytes; bzip2, xz and gzip are recognised by their first bytes.
    n_features
        Number d of columns; a larger index is an error. By default, the largest index found.
    zero_based
        Whether the file counts its features from 0.
    binary
        Whether to require exactly two labels, and return the smaller as −1 and the larger as +1.
    name
        Name of the source in an error. By default, its path.

    Raises
    ------
    DataError
        The file cannot be read, is damaged, or is not in this format.

    Examples
    --------
    >>> Z, y = read_libsvm(b"+1 1:0.5 3:2\\n-1\\n")
    >>> Z.toarray().tolist(), y.tolist()
    ([[0.5, 0.0, 2.0], [0.0, 0.0, 0.0]], [1.0, -1.0])
    """
    from sklearn.datasets import load_svmlight_file  # takes a second to import

    where, text = unpacked(source, name)
    wrong = next((mark for mark in (b"\0", b"qid:") if mark in text), None)
    if wrong is not None:
        raise DataError(f"{where} is not a file of samples in the LIBSVM format: it contains {wrong!r}.")
    try:
        Z, y = load_svmlight_file(io.BytesIO(text), n_features=n_features, zero_based=zero_based)
    except (ValueError, OverflowError) as error:
        raise DataError(f"{where} is not in the LIBSVM format: {error}.") from error
    if not len(y):
        raise DataError(f"{where} contains no sample.")
    if not (np.isfinite(Z.data).all() and np.isfinite(y).all()):
        raise DataError(f"{where} contains numbers that are not finite.")
    labels = np.unique(y)
    if binary and len(labels) != 2:
        shown = ", ".join(f"{label:g}" for label in labels[:4])
        raise DataError(f"{where} has {len(labels)} labels ({shown}); a two-class problem needs two.")
    return csr_array(Z), np.where(y == labels[1], 1.0, -1.0) if binary else y
