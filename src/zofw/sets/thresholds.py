"""Sums under bounds: projection by one sort, and the repair of what rounding leaves."""

from __future__ import annotations

from math import fsum

import numpy as np

from zofw.atoms import Array

Bound = float | Array
ROUNDING = 1e-13  # of the total: what a sum may be off after one shift


def project_capped(x: Array, total: float, upper: Bound, lower: Bound = 0.0) -> Array:
    r"""Return the Euclidean projection on :math:`\{p : l_i \le p_i \le u_i,\ \sum_i p_i = a\}`.

    The projection is :math:`p_i = \min(\max(x_i - \tau, l_i), u_i)` with the one :math:`\tau` at which
    :math:`h(\tau) = \sum_i p_i = a`; h is decreasing and linear between the breakpoints
    :math:`x_i - u_i` and :math:`x_i - l_i`, among which bisection finds the piece. O(d log d).

    References
    ----------
    W. Wang and C. Lu, Projection onto the capped simplex, arXiv:1503.01002, 2015.
    """
    least, most = np.broadcast_to(lower, x.shape), np.broadcast_to(upper, x.shape)
    shift = int(np.argmax(x))  # the projection forgets a common shift, and rounding is relative to x
    for _ in range(2):
        x = x - x[shift]
        tau = _threshold(x, total, least, most)
        projection: Array = np.clip(x - tau, least, most)
        if abs(projection.sum() - total) <= ROUNDING * total:
            break
        shift = int(np.argmin(np.abs(x - tau - projection)))  # near tau, where differences are exact
    return projection


def _threshold(x: Array, total: float, least: Array, most: Array) -> float:
    """Return τ with Σ min(max(x − τ, l), u) = a."""
    breaks = np.sort(np.concatenate([x - most, x - least]))
    j, end = 0, breaks.size - 1  # h(breaks[j]) ≥ a > h(breaks[end]) = Σ l
    while end - j > 1:
        k = (j + end) // 2
        j, end = (k, end) if np.clip(x - breaks[k], least, most).sum() >= total else (j, k)
    middle = (breaks[j] + breaks[end]) / 2
    at_most, at_least = x - most >= middle, x - least <= middle
    free = ~at_most & ~at_least
    # on the segment: Σ_free (x_i − τ) + Σ_{at most} u_i + Σ_{at least} l_i = a
    rest = total - most[at_most].sum() - least[at_least].sum()
    if free.any():
        return float((x[free].sum() - rest) / np.count_nonzero(free))
    return float(
        breaks[end if rest < 0 else j]
    )  # h jumps there, because a bound vanishes beside x in rounding


def settle(x: Array, total: float, upper: Bound, lower: Bound = 0.0) -> Array:
    """Return a fresh x within the bounds, whose sum is brought to the total by the coordinates
    with the most room.

    The exact sum ends within one rounding of the total; only bounds that leave no room can
    prevent that.
    """
    least, most = np.broadcast_to(lower, x.shape), np.broadcast_to(upper, x.shape)
    x = np.clip(x, least, most)
    for _ in range(2 * x.size + 2):
        rest = fsum([total, *(-x).tolist()])
        if abs(rest) <= np.spacing(total) / 2:
            break
        i = int(np.argmax(most - x if rest > 0 else x - least))
        moved = min(max(x[i] + rest, least[i]), most[i])
        if moved == x[i]:
            break
        x[i] = moved
    return x


def shrink_to_l1(x: Array, radius: float) -> Array:
    """Return the Euclidean projection of an x ≥ 0 on {p ≥ 0 : Σ p ≤ radius}, as a copy."""
    return x.copy() if x.sum() <= radius else project_capped(x, radius, radius)
