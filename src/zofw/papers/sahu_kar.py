"""Variance-reduced zeroth-order Frank-Wolfe of Sahu and Kar, for one node.

    for t = 0, 1, …:
        if t mod q = 0:  g_t = Σ_k [f(x_t + ηe_k) − f(x_t)]/η · e_k                  all n components
        otherwise:       draw |S| pairs (f_j, z_j), z_j ~ N(0, I), a direction of its own for each component
                         g_t = g_{t−1} + (1/|S|) Σ_j {[f_j(x_t + ηz_j) − f_j(x_t)]
                                                      − [f_j(x_{t−1} + ηz_j) − f_j(x_{t−1})]}/η · z_j
        s_t     = argmin over s in X of ⟨s, g_t⟩
        x_{t+1} = x_t + γ (s_t − x_t)

The paper is decentralised; with one node the exchange with neighbours disappears. Its γ is of the order of the wanted
accuracy; the default here is the anytime 2/(t + 2).

References
----------
A. K. Sahu, S. Kar, Decentralized zeroth-order constrained stochastic optimization algorithms: Frank-Wolfe and variants
with applications to black-box adversarial attacks, Proceedings of the IEEE 108, 2020, Algorithm 3.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from zofw.algorithms import settings
from zofw.algorithms.facts import Estimate, Facts
from zofw.algorithms.registry import methods
from zofw.algorithms.settings import AUTO
from zofw.core import Array, Law, Purpose, Query, Stencil, Step, Task, frank_wolfe_info
from zofw.differences import slopes, spider
from zofw.directions import Gaussian, basis
from zofw.papers.fzfw import FZFW
from zofw.schedules import Schedule, as_schedule, open_loop


@methods.register("sahu-kar")
@dataclass(frozen=True)
class SahuKar:
    """Settings of the variance-reduced method. Queries: n(d + 1) every q iterations, 4|S| otherwise; one LMO call.

    Parameters
    ----------
    pairs, period
        |S| and q; ⌈(2d + 9)√n/n₀⌉ and ⌊n₀√n/6⌋ with n₀ = √n/6 (at least 1) by default, the fewest pairs that the
        analysis allows.
    step_size, radius
        γ_t and η_t: numbers or schedules.
    law
        Law of the directions z_j.
    """

    pairs: int = AUTO
    period: int = AUTO
    step_size: float | Schedule = open_loop(2.0, 2.0)
    radius: float | Schedule = 1e-4
    law: Law = Gaussian()

    name: ClassVar[str] = "sahu-kar"
    facts: ClassVar[Facts] = Facts(
        use="SPIDER with a direction for each sample",
        queries="n*(d + 1) if t % q == 0 else 4*m",
        vectors=3,
        letters={"m": "pairs", "q": "period"},
        nonconvex=r"$O\bigl(\min\{\sqrt n\,d/\varepsilon^2,\ d/\varepsilon^3\}\bigr)$",
        estimate=Estimate("0", "0"),
    )

    @classmethod
    def paper(cls, n: int, dim: int, step_size: float, n0: float = 1.0, **other: Any) -> SahuKar:
        """q = n₀√n/6 and |S| = (2d + 9)√n/n₀ for n₀ in [1, √n/6], rounded; a constant γ of the order of ε."""
        if not 1.0 <= n0 <= max(1.0, math.sqrt(n) / 6):
            raise ValueError(
                f"n0 should lie in [1, sqrt(n)/6] = [1, {max(1.0, math.sqrt(n) / 6):.6g}]; got {n0!r}."
            )
        pairs, period = _sizes(n, dim, n0)
        return cls(pairs, period, step_size, **other)

    def resolve(self, task: Task) -> tuple[SahuKar, dict[str, str]]:
        pairs, period = _sizes(task.n, task.dim, max(1.0, math.sqrt(task.n) / 6))
        return settings.fill(
            self,
            pairs=(pairs, "ceil((2d + 9) sqrt(n)/n0) pairs in a difference, n0 = max(1, sqrt(n)/6)"),
            period=(period, "floor(n0 sqrt(n)/6) iterations from one full batch to the next"),
        )

    def check(self, task: Task) -> None:
        settings.whole("pairs", self.pairs)
        settings.whole("period", self.period)
        self.law.check(task.dim, self.pairs)
        settings.step_sizes(as_schedule(self.step_size))
        settings.radii(as_schedule(self.radius))

    def init(self, task: Task, x0: Array) -> FZFW.State:
        return FZFW.State(0, x0, x0, np.zeros(task.dim))

    def step(self, task: Task, state: FZFW.State, rng: np.random.Generator) -> Step:
        t, x, d, m = state.t, state.x, task.dim, self.pairs
        gamma, eta = as_schedule(self.step_size)(t), as_schedule(self.radius)(t)
        if t % self.period == 0:
            query = Query(x, task.all, basis(d), eta, Stencil.FORWARD, Purpose.REFRESH)
            g = slopes(query, (yield query))[0]
        else:
            Z = self.law.draw(rng, d, m)
            anchors = np.stack([x, state.before])
            query = Query(anchors, task.sample(rng, m), Z, eta, Stencil.FORWARD, paired=True)
            c = slopes(query, (yield query))
            g = spider(state.g, Z, c, self.law.scale(d, m))
        s = task.lmo(g)
        return FZFW.State(t + 1, s.move(x, gamma), x, g), frank_wolfe_info(g, x, s, gamma=gamma)


def _sizes(n: int, dim: int, n0: float) -> tuple[int, int]:
    return math.ceil((2 * dim + 9) * math.sqrt(n) / n0), max(1, math.floor(n0 * math.sqrt(n) / 6))
