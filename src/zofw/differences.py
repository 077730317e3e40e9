"""Directional differences from answers: no randomness, no evaluation."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from zofw.core import Answer, Array, Batch, Pattern, Purpose, Query, Stencil
from zofw.directions import UnitSteps

LARGEST = 1e100  # in modulus, of a value that methods work with
STEEPEST = 1e150  # and of a slope: its square is a number still


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


@dataclass(frozen=True, eq=False)
class OwnDifferences:
    """Slopes of every component of a batch along its own coordinates, which are all that its gradient has.

    One-sided: f_i(x + μe_j) for every j in the support of i, and f_i(x), which costs Σ(|support_i| + 1) evaluations and gives the
    values at x too. Two-sided: f_i(x ± μe_j), 2Σ|support_i| of them. The query is a paired one, and is answered, spread, resumed
    and counted like every other.

    Attributes
    ----------
    batch, pattern
        The components, and the coordinates of each; a list of slopes has one entry for each coordinate of each component.
    query
        What to ask.
    """

    batch: Batch
    pattern: Pattern
    query: Query
    two_sided: bool
    sign: float = 1.0

    @classmethod
    def of(
        cls,
        x: Array,
        batch: Batch,
        pattern: Pattern,
        mu: float,
        *,
        two_sided: bool = False,
        sign: float = 1.0,
        purpose: Purpose = Purpose.ESTIMATE,
    ) -> OwnDifferences:
        """The differences at x, or at every row of it; to the other side where ``sign`` is −1."""
        components, index = batch.slice(0, len(batch)), pattern.index
        owners = np.repeat(components, pattern.sizes)
        back = index if two_sided else np.zeros(len(components), dtype=np.int64)
        signs = np.concatenate([np.full(index.size, sign), np.full(back.size, -1.0 if two_sided else 0.0)])
        U = UnitSteps(np.shape(x)[-1], np.concatenate([index, back]), signs)
        pairs = Batch(batch.n, np.concatenate([owners, owners if two_sided else components]))
        query = Query(x, pairs, U, mu, Stencil.AHEAD, purpose, paired=True)
        return cls(batch, pattern, query, two_sided, sign)

    def values(self, answer: Answer) -> Array:
        """f_i at the anchors, (k, m), from a one-sided query."""
        if self.two_sided:
            raise ValueError("Two-sided differences do not ask for values at their anchors.")
        return answer.values[:, self.pattern.index.size :]

    def slopes(self, answer: Answer) -> Array:
        """∂f_i/∂x_j for every component i and every coordinate j of its own, (k, Σ|support_i|)."""
        size, mu = self.pattern.index.size, self.query.radius
        ahead, rest = answer.values[:, :size], answer.values[:, size:]
        if self.two_sided:
            return np.asarray((ahead - rest) / (2.0 * mu))
        return np.asarray((ahead - np.repeat(rest, self.pattern.sizes, axis=1)) / (self.sign * mu))

    def mean(self, slopes: Array) -> Array:
        """The mean gradient of the batch from its list of slopes, (d,)."""
        return np.bincount(self.pattern.index, slopes, self.query.anchors.shape[1]) / len(self.batch)
