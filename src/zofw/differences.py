"""From answers to gradients, without randomness or evaluation: differences along directions,
and what an estimate remembers.

What differences are off by, for F along u with derivatives F′ = ⟨∇F, u⟩, F″, … and values wrong
by at most ε:

    forward    (F(x + μu) − F(x))/μ                  = F′ + ½μF″ + …      ± 2ε/μ      b + 1 evaluations for b directions
    central    (F(x + μu) − F(x − μu))/2μ            = F′ + μ²F‴/6 + …    ± ε/μ       2b
    curvature  (F(x + μu) − 2F(x) + F(x − μu))/μ²    = F″ + μ²F⁗/12 + …   ± 4ε/μ²     2b + 1

A rule for an estimate takes the directions U, (d, b), the slopes c = Uᵀ∇F + O(μ) along them,
(b,), and the law's scale s with s·E[UUᵀ] = I; κ is the law's second moment, E‖UUᵀx‖² = κ‖x‖².
Where two points are compared, c has a row for each, the new point first: same directions and
same batch, so that what both have in common cancels.

References
----------
Y. Nesterov, V. Spokoiny, Random gradient-free minimization of convex functions, Found. Comput. Math. 17, 2017 (fresh).
F. Hanzely, K. Mishchenko, P. Richtárik, SEGA: variance reduction via gradient sketching, NeurIPS 2018 (refine).
C. Fang, C. J. Li, Z. Lin, T. Zhang, SPIDER: near-optimal non-convex optimization, NeurIPS 2018 (spider).
A. Cutkosky, F. Orabona, Momentum-based variance reduction in non-convex SGD, NeurIPS 2019 (storm).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from zofw.core import Answer, Array, Batch, Directions, Law, Pattern, Purpose, Query, Stencil
from zofw.directions import UnitSteps

LARGEST = 1e100  # in modulus, of a value that methods work with
STEEPEST = 1e150  # and of a slope: its square is a number still


def slopes(query: Query, answer: Answer) -> Array:
    """Return directional derivatives of the batch mean along every direction at every anchor, (k, b)."""
    return differences(query, answer.values, query.count)


def differences(query: Query, values: Array, b: int) -> Array:
    """Return slopes along b directions from values by columns: at x + μu, then at x − μu or at x.

    (F(x + μu) − F(x − μu))/2μ for two-sided stencils, (F(x + μu) − F(x))/μ for the forward one.
    """
    if query.stencil.two_sided:
        out = values[:, :b] - values[:, b : 2 * b]
        out /= 2.0 * query.radius
        return out
    if query.stencil is Stencil.FORWARD:
        out = values[:, :b] - values[:, b:]
        out /= query.radius
        return out
    raise ValueError("Plain values have no slopes; ask with a stencil along directions.")


def curvatures(query: Query, answer: Answer) -> Array:
    """Return second differences (F(x + μu) − 2F(x) + F(x − μu))/μ² along every direction, (k, b)."""
    if query.stencil is not Stencil.QUADRATIC:
        raise ValueError(f"Curvatures need the QUADRATIC stencil; the query has {query.stencil.name}.")
    b, mu = query.count, query.radius
    ahead, behind, base = answer.values[:, :b], answer.values[:, b : 2 * b], answer.values[:, 2 * b :]
    return np.asarray((ahead - 2.0 * base + behind) / mu**2)


def base_values(query: Query, answer: Answer) -> Array:
    """Return mean values at the anchors themselves, (k,), where the stencil has them."""
    if not query.stencil.has_base or query.paired:
        raise ValueError("This query did not ask for the mean at its anchors.")
    return np.asarray(answer.values[:, -1])


def _plus(g: Array | None, v: Array, scale: float) -> Array:
    """Return g + s·v with one new array: in a large dimension another one costs as much as the sum."""
    out: Array = v * scale
    if g is not None:
        out += g
    return out


def fresh(U: Directions, c: Array, scale: float) -> Array:
    """Return s U c = s UUᵀ∇F: unbiased for ∇F, remembers nothing. E‖sUUᵀ∇F‖² = s²κ‖∇F‖²."""
    return _plus(None, U @ c, scale)


def refine_step(law: Law, U: Directions) -> float:
    """Return the step α = 1/(sκ) that minimises E‖(I − αUUᵀ)e‖² = (1 − 2α/s + α²κ)‖e‖²; 1/(d + b + 1) for Gaussian directions."""
    return 1.0 / (law.scale(U.dim, U.count) * law.second_moment(U.dim, U.count))


def refine(g: Array, U: Directions, c: Array, step: float) -> Array:
    """Return g + α U(c − Uᵀg): the sketched memory.

    With c = Uᵀ∇F the error e = g − ∇F becomes (I − αUUᵀ)e: zero stays zero, and at the best
    step the mean square contracts by 1 − 1/(s²κ), which is 1 − b/(d + b + 1) for Gaussian
    directions.
    """
    return _plus(g, U @ (c - U.T @ g), step)


def spider(g: Array, U: Directions, c: Array, scale: float) -> Array:
    """Return g + s U(c_0 − c_1): the difference of two estimates with the same directions and
    batch, at the new point and the old.

    For ∇F with Lipschitz constant L the variance that a step adds is at most s²κL²‖x_t −
    x_{t−1}‖²; it is never forgotten.
    """
    return _plus(g, U @ (c[0] - c[1]), scale)


def storm(g: Array, U: Directions, c: Array, scale: float, rho: float) -> Array:
    """Return ĝ_0 + (1 − ρ)(g − ĝ_1), estimates at the new point and the old with the same
    directions and batch.

    ρ = 0 is spider, ρ = 1 is fresh: the error of before is forgotten by 1 − ρ, the new one
    enters with ρ times its variance.
    """
    return _plus((1.0 - rho) * g, U @ (c[0] - (1.0 - rho) * c[1]), scale)


def average(g: Array, estimate: Array, rho: float) -> Array:
    """Return (1 − ρ)g + ρĝ: momentum. The bias is what ∇F has moved over the last 1/ρ iterations, the variance ρ/(2 − ρ) of that of ĝ."""
    return (1.0 - rho) * g + rho * estimate


def known_pairs(answer: Answer) -> Array:
    """Return the values of a paired query, (k, width), with NaN where the component failed."""
    if not answer.left_out:
        return answer.values
    values = answer.values.copy()
    values[:, list(answer.left_out)] = np.nan
    return values


@dataclass(frozen=True, eq=False)
class OwnDifferences:
    """Slopes of every component of a batch along its own coordinates, which are all that its
    gradient has.

    One-sided: f_i(x + μe_j) for every j in the support of i, and f_i(x), which costs
    Σ(|support_i| + 1) evaluations and gives the values at x too. Two-sided: f_i(x ± μe_j),
    2Σ|support_i| of them. The query is a paired one, and is answered, spread, resumed and
    counted like every other.

    Attributes
    ----------
    batch, pattern
        The components, and the coordinates of each; a list of slopes has one entry for each
        coordinate of each component.
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
        """Return the differences at x, or at every row of it; to the other side where ``sign`` is −1."""
        components, index = batch.slice(0, len(batch)), pattern.index
        owners = np.repeat(components, pattern.sizes)
        back = index if two_sided else np.zeros(len(components), dtype=np.int64)
        signs = np.concatenate([np.full(index.size, sign), np.full(back.size, -1.0 if two_sided else 0.0)])
        U = UnitSteps(np.shape(x)[-1], np.concatenate([index, back]), signs)
        pairs = Batch(batch.n, np.concatenate([owners, owners if two_sided else components]))
        query = Query(x, pairs, U, mu, Stencil.AHEAD, purpose, paired=True)
        return cls(batch, pattern, query, two_sided, sign)

    def values(self, answer: Answer) -> Array:
        """Return f_i at the anchors, (k, m), from a one-sided query."""
        if self.two_sided:
            raise ValueError("Two-sided differences do not ask for values at their anchors.")
        return known_pairs(answer)[:, self.pattern.index.size :]

    def slopes(self, answer: Answer) -> Array:
        """Return ∂f_i/∂x_j for every component i and every coordinate j of its own, (k, Σ|support_i|); NaN
        where f failed."""
        size, mu = self.pattern.index.size, self.query.radius
        values = known_pairs(answer)
        ahead, rest = values[:, :size], values[:, size:]
        if self.two_sided:
            return np.asarray((ahead - rest) / (2.0 * mu))
        return np.asarray((ahead - np.repeat(rest, self.pattern.sizes, axis=1)) / (self.sign * mu))

    def mean(self, slopes: Array) -> Array:
        """Return the mean gradient of the batch from its list of slopes, (d,), as far as known."""
        return self._sum(self.filled(slopes)) / len(self.batch)

    def filled(self, slopes: Array) -> Array:
        """Return the slopes with the mean of the others along the same coordinate where one is NaN."""
        missing = np.isnan(slopes)
        if not missing.any():
            return slopes
        known = self._sum(np.where(missing, 0.0, slopes)) / np.maximum(self._sum(1.0 * ~missing), 1.0)
        return np.where(missing, known[self.pattern.index], slopes)

    def _sum(self, entries: Array) -> Array:
        """Return the sum of a list of entries along every coordinate."""
        return np.asarray(np.bincount(self.pattern.index, entries, self.query.anchors.shape[1]), dtype=float)
