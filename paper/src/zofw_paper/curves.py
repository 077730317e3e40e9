"""Curves on one grid of queries: the last value known, the window median, and where one method overtakes another."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from zofw.comparison import held, query_grid
from zofw.core import Array
from zofw_paper.experiment import window_median

__all__ = ["Crossing", "crossing", "held", "query_grid", "rounded", "windows"]

DIGITS = 6  # of published numbers


@dataclass(frozen=True)
class Crossing:
    """From how many queries on a method is ahead of a rival for good, by window medians: quartiles over the seeds.

    ``seeds`` of ``of`` pairs with the same seed end with the method ahead; where fewer than the quartile needs do, it is
    None, and 0 where it is ahead from the first point on. From ``since`` to ``until`` is the longest stretch of the curve,
    in decades, on which the median over the seeds is ahead; None where there is none.
    """

    method: str
    rival: str
    low: float | None
    median: float | None
    high: float | None
    seeds: int
    of: int
    since: float | None = None
    until: float | None = None


def rounded(values: ArrayLike) -> Array:
    """Return values to the digits that are published, so that runs of today and published ones are compared alike."""
    return np.array([[float(f"{value:.{DIGITS}g}") for value in row] for row in np.asarray(values)])


def windows(queries: Array, values: Array, grid: Array) -> Array:
    """Return the window median at each point of the grid."""
    return np.array([window_median(queries, values, at) for at in grid])


def crossing(
    method: str, rival: str, grid: Array, mine: ArrayLike, theirs: ArrayLike, sign: float = 1.0
) -> Crossing:
    """Where one method overtakes another for good, seed by seed: rows are seeds, columns points of the grid."""
    a, b = sign * np.asarray(mine), sign * np.asarray(theirs)
    pairs = min(len(a), len(b))
    ahead = a[:pairs] < b[:pairs]
    behind = [np.flatnonzero(~row) for row in ahead]
    last = [-1 if not len(places) else int(places[-1]) for places in behind]
    at = [0.0 if k < 0 else float(grid[k + 1]) if k + 1 < len(grid) else np.inf for k in last]
    quartiles = np.quantile(at, [0.25, 0.5, 0.75], method="higher")
    low, median, high = (None if np.isinf(value) else float(value) for value in quartiles)
    stretch = _longest(np.median(a, axis=0) < np.median(b, axis=0), grid)
    return Crossing(method, rival, low, median, high, int(np.isfinite(at).sum()), pairs, *stretch)


def _longest(ahead: NDArray[np.bool], grid: Array) -> tuple[float, float] | tuple[None, None]:
    """Return the first and the last point of the longest stretch, in decades, of places that are true."""
    changes = np.flatnonzero(np.diff(np.concatenate([[False], ahead, [False]]).astype(int)))
    stretches = [
        (float(grid[k]), float(grid[m - 1])) for k, m in zip(changes[::2], changes[1::2], strict=True)
    ]
    return max(stretches, key=lambda ends: ends[1] / ends[0], default=(None, None))
