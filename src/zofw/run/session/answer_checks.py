"""Checks of an answer before it is counted or used."""

from __future__ import annotations

import warnings

import numpy as np
from numpy.typing import ArrayLike

from zofw.core import Answer, Array, Query
from zofw.core.query import DOUBLE
from zofw.differences import LARGEST, STEEPEST, slopes


class AnswerRefused(ValueError):
    """An unusable answer. The caller may answer the same query again."""


def check_answer(query: Query, told: Answer | ArrayLike) -> Answer:
    """Return the answer in its form, or a sentence about what is wrong with it."""
    rows = len(query.anchors)
    if query.variance and isinstance(told, Answer) and query.fits(told.values):
        spread = told.variance
        if (
            isinstance(spread, np.ndarray)
            and spread.dtype == DOUBLE
            and spread.shape == (rows, query.count)
            and spread.min() >= 0.0
            and spread.max() <= STEEPEST
        ):
            return Answer(told.values.copy(), spread.copy())
    told = told if isinstance(told, Answer) else Answer(_numbers(told))
    values = _table(told.values, (rows, query.width), "values", LARGEST)
    if query.count and 2.0 * np.abs(values).max() > STEEPEST * query.radius:
        _check_slopes(query, values)
    if not query.variance:
        return Answer(values)
    if told.variance is None:
        raise AnswerRefused(f"The query asks for variances of shape {(rows, query.count)} beside the values.")
    variance = _table(told.variance, (rows, query.count), "variances", STEEPEST**2)
    if (variance < 0).any():
        raise AnswerRefused("The answer has negative variances.")
    return Answer(values, variance)


def _check_slopes(query: Query, values: Array) -> None:
    with np.errstate(over="ignore"):
        steepest = np.abs(slopes(query, Answer(values))).max()
    if not steepest <= STEEPEST:
        raise AnswerRefused(
            f"The answer has differences that come to a slope of {steepest:g} over the radius {query.radius:g}, beyond "
            f"{STEEPEST:g}: methods cannot square that. Take a larger radius or rescale the objective."
        )


def _table(told: ArrayLike, shape: tuple[int, int], name: str, largest: float) -> Array:
    """Return an array of the wanted shape, or a flat one that can be read as its rows one after another."""
    array = _numbers(told)
    if array.ndim < 2 and array.size % shape[0] == 0:
        array = array.reshape(shape[0], -1)
    if array.shape != shape:
        raise AnswerRefused(f"The query asks for {name} of shape {shape}; the answer has {array.shape}.")
    if not np.isfinite(array).all():
        raise AnswerRefused(f"The answer has {name} that are not finite. Tell finite means.")
    if array.size and (size := np.abs(array).max()) > largest:
        raise AnswerRefused(
            f"The answer has {name} up to {size:g} in modulus; at most {largest:g} can be used, so that "
            "squares stay finite. Rescale the objective, or correct the code that returns the answer."
        )
    return array


def _numbers(told: ArrayLike) -> Array:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            if isinstance(told, np.ma.MaskedArray):
                raise TypeError("it is masked")
            array = np.asarray(told)
            if array.dtype.kind not in "fiub":
                raise TypeError(f"its dtype is {array.dtype}")
            return array.astype(float)
    except (ValueError, TypeError, OverflowError, Warning) as error:
        raise AnswerRefused(
            f"The answer should be an Answer or an array of real numbers; got {type(told).__name__}: {error}"
        ) from error
