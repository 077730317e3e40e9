"""Directional differences from answers: no randomness, no evaluation."""

from __future__ import annotations

import numpy as np

from zofw.core import Answer, Array, Query, Stencil

LARGEST = 1e100  # in modulus, of a value that methods work with
STEEPEST = 1e150  # and of a slope: its square is a number still


def within(values: Array, most: float) -> bool:
    """Whether all values are numbers of at most ``most`` in modulus; the sum of their squares says so soonest."""
    return bool(np.vdot(values, values) <= most * most or np.abs(values).max() <= most)


def slopes(query: Query, answer: Answer) -> Array:
    """Directional derivatives along every direction at every anchor, (k, b).

    (F(x + μu) − F(x − μu))/2μ for two-sided stencils, (F(x + μu) − F(x))/μ for the forward one, F the batch mean.
    """
    b, mu, values = query.count, query.radius, answer.values
    if query.stencil.two_sided:
        out = values[:, :b] - values[:, b : 2 * b]
        out /= 2.0 * mu
        return out
    if query.stencil is Stencil.FORWARD:
        out = values[:, :b] - values[:, b:]
        out /= mu
        return out
    raise ValueError("Plain values have no slopes; ask with a stencil along directions.")


def curvatures(query: Query, answer: Answer) -> Array:
    """Second differences (F(x + μu) − 2F(x) + F(x − μu))/μ² along every direction, (k, b)."""
    if query.stencil is not Stencil.QUADRATIC:
        raise ValueError(f"Curvatures need the QUADRATIC stencil; the query has {query.stencil.name}.")
    b, mu = query.count, query.radius
    ahead, behind, base = answer.values[:, :b], answer.values[:, b : 2 * b], answer.values[:, 2 * b :]
    return np.asarray((ahead - 2.0 * base + behind) / mu**2)


def base_values(query: Query, answer: Answer) -> Array:
    """Mean values at the anchors themselves, (k,), where the stencil has them."""
    if not query.stencil.has_base or query.paired:
        raise ValueError("This query did not ask for the mean at its anchors.")
    return np.asarray(answer.values[:, -1])
