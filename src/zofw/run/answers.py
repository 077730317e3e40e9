"""What may be told to a session."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from zofw.core import Answer, Array, Query


def check_answer(query: Query, told: Any) -> Answer:
    """The answer in its form, or a sentence about what is wrong with it."""
    rows = len(query.anchors)
    told = told if isinstance(told, Answer) else Answer(_numbers(told))
    values = _table(told.values, (rows, query.width), "values")
    if not query.variance:
        return Answer(values)
    if told.variance is None:
        raise ValueError(f"The query asks for variances of shape {(rows, query.count)} beside the values.")
    variance = _table(told.variance, (rows, query.count), "variances")
    if (variance < 0).any():
        raise ValueError("The answer has negative variances; nothing was counted.")
    return Answer(values, variance)


def _table(told: Any, shape: tuple[int, int], name: str) -> Array:
    """An array of the wanted shape, or a flat one that can be read as its rows one after another."""
    array = _numbers(told)
    if array.ndim < 2 and array.size % shape[0] == 0:
        array = array.reshape(shape[0], -1)
    if array.shape != shape:
        raise ValueError(f"The query asks for {name} of shape {shape}; the answer has {array.shape}.")
    if not np.isfinite(array).all():
        raise ValueError(
            f"The answer has {name} that are not finite; nothing was counted. Tell finite means."
        )
    return array


def _numbers(told: Any) -> Array:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            array = np.asarray(told)
            if array.dtype.kind not in "fiub":
                raise TypeError(f"its dtype is {array.dtype}")
            return array.astype(float)
    except (ValueError, TypeError, OverflowError, Warning) as error:
        raise ValueError(
            f"The answer should be an Answer or an array of real numbers; got {type(told).__name__}: {error}"
        ) from error
