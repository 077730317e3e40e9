"""Watching for radii so small that a difference of values is rounding error."""

from __future__ import annotations

import warnings
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from zofw.core import Answer, Query
from zofw.directions import Explicit

NOISE = 16.0  # differences below this many units in the last place of the values are not to be trusted

_smallest: WeakKeyDictionary[Any, float] = WeakKeyDictionary()


def _written_out(query: Query) -> bool:
    """Whether there are no directions, or they are written out, projected on a set's affine hull or not."""
    return isinstance(getattr(query.directions, "base", query.directions), Explicit | None)


def watch_cancellation(problem: Any, query: Query, answer: Answer) -> None:
    """Warn when the radius is below √ε and most differences of an answer are within rounding error of its values.

    Values F carry an error of about ε|F|, so that (F(x + μu) − F(x − μu))/2μ carries ε|F|/μ beside O(μ²) from the curvature;
    the two are balanced near ‖μu‖ ~ ε^{1/3}. The precision ε is that of ``problem.dtype`` where it has one (a network in
    single precision), else double. Directions that change nothing at all do not count. One look for each halving of
    the radius: it costs nothing to speak of. Directions that a method wrote out itself, which is how Explore-Correct asks
    for the noise of the values, are its own affair.
    """
    mu = query.radius
    try:
        if mu > 0.5 * _smallest.get(problem, np.inf) or _written_out(query):
            return
        _smallest[problem] = mu
    except TypeError:  # a problem that cannot be remembered is looked at every time
        if _written_out(query):
            return
    eps = float(np.finfo(getattr(problem, "dtype", np.float64)).eps)
    if mu >= np.sqrt(eps) * max(1.0, float(np.abs(query.anchors).max())):
        return
    b = query.count
    ahead = answer.values[:, :b]
    other = answer.values[:, b : 2 * b] if query.stencil.two_sided else answer.values[:, b:]
    change, size = np.abs(ahead - other), float(np.median(np.abs(ahead)))
    seen = change[change > 0]
    if seen.size and np.median(seen) < NOISE * eps * size:
        warnings.warn(
            f"The radius {mu:.3g} is too small for values of size {size:.3g} with a relative precision of {eps:.1e}: half of "
            f"the differences are below {NOISE:g} rounding errors. Take a radius with ‖μu‖ near {eps ** (1 / 3):.0e} times "
            "the size of x, or values of higher precision.",
            UserWarning,
            stacklevel=4,
        )
