"""ZO-FW: deterministic zeroth-order Frank-Wolfe, all coordinates and all components (the ZOFWGD of later papers).

    for t = 0, 1, …:
        g_t     = Σ_j [f(x_t + c_t e_j) − f(x_t)]/c_t · e_j
        s_t     = argmin over s in X of ⟨s, g_t⟩
        x_{t+1} = (1 − γ_t) x_t + γ_t s_t

Departure: the paper's γ_0 = 2/(0 + 1) leaves the set; γ_t = 2/(t + 2), as in its equation (3). The paper's box has
c_t = Lγ_t/d, its text c_t = γ_t/d; neither is a length, and the box is taken.

References
----------
A. K. Sahu, M. Zaheer, S. Kar, Towards gradient free and projection free stochastic optimization, AISTATS 2019,
Algorithm 1.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from zofw.algorithms import settings
from zofw.algorithms.facts import Estimate, Facts
from zofw.algorithms.registry import methods
from zofw.core import Array, Purpose, Query, Stencil, Step, Task, frank_wolfe_info
from zofw.differences import slopes
from zofw.directions import basis
from zofw.papers.horizon import Scaled
from zofw.schedules import Schedule, as_schedule, open_loop


@methods.register("zo-fw")
@dataclass(frozen=True)
class ZOFW:
    """Settings of ZO-FW. Queries: n(d + 1) an iteration, 2nd with central differences; one LMO call.

    Parameters
    ----------
    step_size, radius
        γ_t and c_t: numbers or schedules.
    stencil
        FORWARD as in the paper, or CENTRAL.
    """

    step_size: float | Schedule = open_loop(2.0, 2.0)
    radius: float | Schedule = 1e-6
    stencil: Stencil = Stencil.FORWARD

    name: ClassVar[str] = "zo-fw"
    facts: ClassVar[Facts] = Facts(
        use="low dimension, or n = 1; deterministic",
        queries="n*(d + 1)",
        convex=r"$O(nd/\varepsilon)$",
        answers=("few",),
        estimate=Estimate("0", "0"),
    )

    @dataclass(frozen=True)
    class State:
        """x_t."""

        t: int
        x: Array

    @classmethod
    def paper(cls, dim: int, L: float, **other: Any) -> ZOFW:
        """γ_t = 2/(t + 2), c_t = Lγ_t/d."""
        gamma = open_loop(2.0, 2.0)
        return cls(gamma, Scaled(gamma, L / dim), **other)

    def check(self, task: Task) -> None:
        settings.step_sizes(as_schedule(self.step_size))
        settings.radii(as_schedule(self.radius))
        settings.choice("stencil", self.stencil, (Stencil.CENTRAL, Stencil.FORWARD))

    def init(self, task: Task, x0: Array) -> State:
        return self.State(0, x0)

    def step(self, task: Task, state: State, rng: np.random.Generator) -> Step:
        t, x = state.t, state.x
        gamma, mu = as_schedule(self.step_size)(t), as_schedule(self.radius)(t)
        query = Query(x, task.all, basis(task.dim), mu, self.stencil, Purpose.REFRESH)
        g = slopes(query, (yield query))[0]
        s = task.lmo(g)
        return self.State(t + 1, s.move(x, gamma)), frank_wolfe_info(g, x, s, gamma=gamma)
