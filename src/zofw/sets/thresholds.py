"""Projection on the capped simplex by one sort: the piece behind every projection of simplex type."""

from __future__ import annotations

import numpy as np

from zofw.atoms import Array

__all__ = ["project_capped", "shrink_to_l1"]


def project_capped(x: Array, total: float, cap: float) -> Array:
    r"""Euclidean projection on :math:`\{p : 0 \le p_i \le c,\ \sum_i p_i = a\}`.

    The projection is :math:`p_i = \min(\max(x_i - \tau, 0), c)` with the one :math:`\tau` at which
    :math:`h(\tau) = \sum_i p_i = a`; h is decreasing and linear between the breakpoints
    :math:`x_i - c` and :math:`x_i`, among which bisection finds the piece. O(d log d).

    References
    ----------
    W. Wang and C. Lu, Projection onto the capped simplex, arXiv:1503.01002, 2015.
    """
    x = x - x.max()  # the projection forgets a common shift
    breaks = np.sort(np.concatenate([x - cap, x]))
    j, end = 0, breaks.size - 1  # h(breaks[j]) ≥ a > h(breaks[end]) = 0
    while end - j > 1:
        k = (j + end) // 2
        j, end = (k, end) if np.clip(x - breaks[k], 0.0, cap).sum() >= total else (j, k)
    middle = (breaks[j] + breaks[end]) / 2
    free = (x > middle) & (x - cap < middle)
    # on the segment: Σ_free (x_i − τ) + c·#{capped} = a
    rest = total - cap * np.count_nonzero(x - cap >= middle)
    tau = (x[free].sum() - rest) / np.count_nonzero(free) if free.any() else breaks[j]
    clipped: Array = np.clip(x - tau, 0.0, cap)
    return clipped


def shrink_to_l1(x: Array, radius: float) -> Array:
    """Euclidean projection of a non-negative x on {p ≥ 0 : Σ p ≤ radius}; a copy of x if it is a member."""
    return x.copy() if x.sum() <= radius else project_capped(x, radius, radius)
