"""Two small data sets to try a method on, from scikit-learn's copies.

>>> from zofw.data import load
>>> Z, y = load("breast-cancer")
>>> Z.shape
(569, 30)
"""

from __future__ import annotations

import numpy as np

from zofw.core import Array
from zofw.extras import extra

__all__ = ["load"]


def load(name: str) -> tuple[Array, Array]:
    """Return a matrix of samples in rows and their labels ±1.

    Files in the LIBSVM format are read by ``sklearn.datasets.load_svmlight_file``.

    Parameters
    ----------
    name
        "breast-cancer": benign (+1) against malignant tumours, 30 features of mean 0 and variance 1.
        "digits": odd (+1) against even handwritten digits, 64 pixels between 0 and 1.
    """
    if name not in ("breast-cancer", "digits"):
        raise ValueError(
            f"zofw.data.load has 'breast-cancer' and 'digits'; got {name!r}. Read a file of your own with "
            "sklearn.datasets.load_svmlight_file, or a set of the paper with zofw_paper.data.load."
        )
    datasets = extra("sklearn.datasets", "data")
    if name == "digits":
        Z, classes = datasets.load_digits(return_X_y=True)
        return Z / 16.0, np.where(classes % 2 == 1, 1.0, -1.0)
    Z, classes = datasets.load_breast_cancer(return_X_y=True)
    return (Z - Z.mean(axis=0)) / Z.std(axis=0), np.where(classes == 1, 1.0, -1.0)
