"""What may be told to a session."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from zofw.core import Answer, Array, Query
from zofw.differences import LARGEST, STEEPEST, slopes, within


def check_answer(query: Query, told: Any) -> Answer:
    """The answer in its form, or a sentence about what is wrong with it."""
    rows = len(query.anchors)
    if isinstance(told, Answer) and _perfect(told.values, query, query.width, LARGEST):
        if not query.variance:
            return Answer(told.values.copy())
        spread = told.variance
        if spread is not None and _perfect(spread, query, query.count, STEEPEST) and spread.min() >= 0.0:
            return Answer(told.values.copy(), spread.copy())
    told = told if isinstance(told, Answer) else Answer(_numbers(told))
    values = _table(told.values, (rows, query.width), "values", LARGEST)
    if query.count and 2.0 * np.abs(values).max() > STEEPEST * query.radius:
        _check_slopes(query, values)
    if not query.variance:
        return Answer(values)
    if told.variance is None:
        raise ValueError(f"The query asks for variances of shape {(rows, query.count)} beside the values.")
    variance = _table(told.variance, (rows, query.count), "variances", STEEPEST**2)
    if (variance < 0).any():
        raise ValueError("The answer has negative variances; nothing was counted.")
    return Answer(values, variance)


def _check_slopes(query: Query, values: Array) -> None:
    with np.errstate(over="ignore"):
        steepest = np.abs(slopes(query, Answer(values))).max()
    if not steepest <= STEEPEST:
        raise ValueError(
            f"The answer has differences that come to a slope of {steepest:g} over the radius {query.radius:g}, beyond "
            f"{STEEPEST:g}: methods cannot square that. Nothing was counted; take a larger radius or rescale the objective."
        )


def _perfect(told: Any, query: Query, width: int, most: float) -> bool:
    """Whether there is nothing to say about a table, nor to convert, nor to fear of its slopes."""
    return (
        isinstance(told, np.ndarray)
        and told.dtype == np.float64
        and told.shape == (len(query.anchors), width)
        and (query.count == 0 or query.radius >= 2.0 * LARGEST / STEEPEST)
        and within(told, most)
    )


def _table(told: Any, shape: tuple[int, int], name: str, largest: float) -> Array:
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
    if array.size and (size := np.abs(array).max()) > largest:
        raise ValueError(
            f"The answer has {name} up to {size:g} in modulus; methods work with such up to {largest:g}, whose squares are "
            "numbers still. Nothing was counted; rescale the objective, or mend whoever answers."
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
