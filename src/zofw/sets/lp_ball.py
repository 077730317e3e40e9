"""The ℓp balls."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real

import numpy as np
from numpy.typing import ArrayLike

from zofw.atoms import Array, Atom, Dense
from zofw.sets.l1_ball import L1Ball
from zofw.sets.linf_ball import LinfBall
from zofw.sets.protocol import Ball, SetFacts, positive, register


def lp_norm(x: Array, p: float) -> float:
    """Return ‖x‖_p, scaled by the greatest entry so that no power overflows; NaN if x has a NaN."""
    top = float(np.abs(x).max())
    if not 0 < top < np.inf or p == np.inf:
        return top
    return float(top * np.sum(np.abs(x / top) ** p) ** (1 / p))


@register("lp-ball")
@dataclass(frozen=True)
class LpBall(Ball):
    r"""The ball :math:`\{x : \|x\|_p \le r\}`, :math:`1 \le p \le \infty`.

    With the dual exponent :math:`1/p + 1/q = 1`, equality in Hölder's inequality gives, for
    :math:`1 < p < \infty`,

    .. math:: s_i = -r\,\mathrm{sign}(g_i)\,\bigl(|g_i| / \|g\|_q\bigr)^{q-1}, \qquad
              \min_s \langle g, s\rangle = -r\,\|g\|_q,

    and :math:`-r e_0` for g = 0. The ends p = 1 and p = ∞ are those of `L1Ball` and `LinfBall`.
    Every dimension.

    Parameters
    ----------
    radius
        The radius r > 0.
    p
        The exponent, at least 1; ``numpy.inf`` is allowed.

    References
    ----------
    M. Jaggi, Revisiting Frank-Wolfe: projection-free sparse convex optimization, ICML 2013 (oracles of atomic sets).

    Examples
    --------
    >>> LpBall(1.0, 3.0).lmo([1.0, -1.0]).round(3)
    array([-0.794,  0.794])
    """

    radius: float = 1.0
    p: float = 2.0

    facts = SetFacts(
        members=r"\|x\|_p \le r",
        oracle="Hölder's equality",
        cost="O(d)",
        atom="dense",
        diameter="2*r*max(1, d**(1/2 - 1/p))",
        inball="r*min(1, d**(1/2 - 1/p))",
    )

    def __post_init__(self) -> None:
        positive(self, "radius")
        if not isinstance(self.p, Real) or not self.p >= 1:
            raise ValueError(
                f"LpBall: p must be a number of at least 1, but {self.p!r} was given; below 1 is no norm."
            )
        vars(self)["p"] = float(self.p)

    def atom(self, g: ArrayLike, warm: Atom | None = None) -> Atom:
        """Return the point at which Hölder's inequality is an equality."""
        if self.p == 1.0:
            return L1Ball(self.radius).atom(g)
        if self.p == np.inf:
            return LinfBall(self.radius).atom(g)
        g = self._scaled(g)
        if not g.any():
            g[0] = 1.0
        size = np.abs(g)
        s = np.copysign((size / size.max()) ** (1 / (self.p - 1)), -g)  # q − 1 = 1/(p − 1)
        return Dense(s * (self.radius / lp_norm(s, self.p)))

    def norm(self, x: Array) -> float:
        """Return ‖x‖_p."""
        return lp_norm(x, self.p)

    def radii(self, dim: int) -> tuple[float, float]:
        """Return min(1, c) and max(1, c), c = d^{1/2 − 1/p}."""
        corner = float(dim ** (0.5 - 1 / self.p))
        return min(1.0, corner), max(1.0, corner)
