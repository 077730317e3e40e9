"""Variance-reduced zeroth-order Frank-Wolfe of Sahu and Kar, for one node.

    for t = 0, 1, …:
        if t mod q = 0:  g_t = Σ_k [f(x_t + ηe_k) − f(x_t)]/η · e_k                  all n components
        otherwise:       draw |S| pairs (f_j, z_j), z_j ~ N(0, I), a direction of its own for each component
                         g_t = g_{t−1} + (1/|S|) Σ_j {[f_j(x_t + ηz_j) − f_j(x_t)]
                                                      − [f_j(x_{t−1} + ηz_j) − f_j(x_{t−1})]}/η
                                                      · z_j
        s_t     = argmin over s in X of ⟨s, g_t⟩
        x_{t+1} = x_t + γ (s_t − x_t)

The paper is decentralised; with one node the exchange with neighbours disappears. Its γ is of
the order of the wanted accuracy; the default here is the anytime 2/(t + 2).

References
----------
A. K. Sahu, S. Kar, Decentralized zeroth-order constrained stochastic optimization algorithms: Frank-Wolfe and variants
with applications to black-box adversarial attacks, Proceedings of the IEEE 108, 2020, Algorithm 3.
"""

import math
from dataclasses import dataclass
from typing import Self

import numpy as np

from zofw.algorithms import settings
from zofw.algorithms.method import Estimate, Facts, Method, at, methods
from zofw.core import Law, Purpose, Query, Stencil, Step, Task, frank_wolfe_info
from zofw.differences import slopes, spider
from zofw.directions import Gaussian, basis
from zofw.papers.fzfw import FZFW
from zofw.schedules import open_loop


def pairs_for(n: int, dim: int, n0: float) -> int:
    """Return ⌈(2d + 9)√n/n₀⌉, the smallest number of pairs that the analysis allows."""
    return math.ceil((2 * dim + 9) * math.sqrt(n) / n0)


def period_for(n: int, n0: float) -> int:
    """Return ⌊n₀√n/6⌋, at least 1."""
    return max(1, math.floor(n0 * math.sqrt(n) / 6))


def largest(n: int) -> float:
    """Return the largest n₀ that the analysis allows, max(1, √n/6)."""
    return max(1.0, math.sqrt(n) / 6)


@methods.register("sahu-kar")
@dataclass(frozen=True)
class SahuKar(Method):
    """Variance-reduced zeroth-order Frank-Wolfe of Sahu and Kar: SPIDER with a direction for
    each sample.

    Parameters
    ----------
    pairs
        |S|, the number of pairs of a component and a direction.
    """

    pairs: settings.Count = settings.auto(
        "⌈(2d + 9)√n/n₀⌉ pairs in a difference, n₀ = max(1, √n/6)",
        lambda task, own: pairs_for(task.n, task.dim, largest(task.n)),
    )
    period: settings.Count = settings.auto(
        "⌊n₀√n/6⌋ iterations from one full batch to the next",
        lambda task, own: period_for(task.n, largest(task.n)),
    )
    step_size: settings.StepSize = open_loop(2.0, 2.0)
    radius: settings.Radius = 1e-4
    law: Law = Gaussian()

    State = FZFW.State
    facts = Facts(queries="n*(d + 1) if t % q == 0 else 4*pairs", estimate=Estimate("0", "0"))

    @classmethod
    def paper(cls, n: int, dim: int, step_size: float, n0: float = 1.0, **other: object) -> Self:
        """q = n₀√n/6 and |S| = (2d + 9)√n/n₀ for n₀ in [1, √n/6], rounded; constant γ."""
        if not 1.0 <= n0 <= largest(n):
            raise ValueError(f"n0 should lie in [1, sqrt(n)/6] = [1, {largest(n):.6g}]; got {n0!r}.")
        return cls.of(other, pairs=pairs_for(n, dim, n0), period=period_for(n, n0), step_size=step_size)

    def step(self, task: Task, state: FZFW.State, rng: np.random.Generator) -> Step:
        t, x, d, m = state.t, state.x, task.dim, self.pairs
        gamma, eta = at(t, self.step_size, self.radius)
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
