"""Two small data sets to try a method on, from scikit-learn's copies, and those of installed packages.

>>> from zofw.data import load
>>> Z, y = load("breast-cancer")
>>> Z.shape
(569, 30)
"""

from __future__ import annotations

from importlib.metadata import entry_points
from typing import Any

import numpy as np

from zofw.extras import extra


def load(name: str, **options: Any) -> Any:
    """Return a data set by its name: a matrix of samples in rows, and their labels ±1.

    Files in the LIBSVM format are read by ``sklearn.datasets.load_svmlight_file``.

    Parameters
    ----------
    name
        "breast-cancer": benign (+1) against malignant tumours, 30 features of mean 0 and variance 1.
        "digits": odd (+1) against even handwritten digits, 64 pixels between 0 and 1.
        Other names belong to installed packages, which declare a function under the entry point
        ``zofw.data``: the package of the paper has "a9a", "w8a", "mnist", "cifar-10" and more.
    options
        Options of such a function, as ``split="test"`` of images.
    """
    if name not in ("breast-cancer", "digits"):
        others = entry_points(group="zofw.data")
        if name in others.names:
            return others[name].load()(name, **options)
        known = ", ".join(["breast-cancer", "digits", *sorted(others.names)])
        raise ValueError(
            f"zofw.data.load has {known}; got {name!r}. Read a file of your own with "
            "sklearn.datasets.load_svmlight_file, or install the package in paper/ for the sets of the paper."
        )
    if options:
        raise TypeError(f"{name!r} has no options; got {', '.join(options)}.")
    datasets = extra("sklearn.datasets", "data")
    if name == "digits":
        Z, classes = datasets.load_digits(return_X_y=True)
        return Z / 16.0, np.where(classes % 2 == 1, 1.0, -1.0)
    Z, classes = datasets.load_breast_cancer(return_X_y=True)
    return (Z - Z.mean(axis=0)) / Z.std(axis=0), np.where(classes == 1, 1.0, -1.0)
