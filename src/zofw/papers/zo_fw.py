"""ZO-FW: deterministic zeroth-order Frank-Wolfe, all coordinates and all components (the ZOFWGD
of later papers).

    for t = 0, 1, …:
        g_t     = Σ_j [f(x_t + c_t e_j) − f(x_t)]/c_t · e_j
        s_t     = argmin over s in X of ⟨s, g_t⟩
        x_{t+1} = (1 − γ_t) x_t + γ_t s_t

Departure: the paper's γ_0 = 2/(0 + 1) leaves the set; γ_t = 2/(t + 2), as in its equation (3).
The paper's box has c_t = Lγ_t/d, its text c_t = γ_t/d; neither is a length, and the box is
taken.

References
----------
A. K. Sahu, M. Zaheer, S. Kar, Towards gradient free and projection free stochastic optimization, AISTATS 2019,
Algorithm 1.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from zofw.algorithms import settings
from zofw.algorithms.method import Estimate, Facts, Iterate, Method, at, methods
from zofw.core import Purpose, Query, Stencil, Step, Task, frank_wolfe_info
from zofw.differences import slopes
from zofw.directions import basis
from zofw.schedules import Scaled, open_loop


@methods.register("zo-fw")
@dataclass(frozen=True)
class ZOFW(Method):
    """Settings of ZO-FW."""

    step_size: settings.StepSize = open_loop(2.0, 2.0)
    radius: settings.Radius = 1e-6
    stencil: settings.Differences = Stencil.FORWARD

    facts = Facts(
        use="low dimension, or n = 1; deterministic",
        queries="n*(d + 1)",
        convex=r"$O(nd/\varepsilon)$",
        answers=("few",),
        estimate=Estimate("0", "0", later="1"),
    )

    @classmethod
    def paper(cls, dim: int, L: float, **other: Any) -> ZOFW:
        """γ_t = 2/(t + 2), c_t = Lγ_t/d."""
        gamma = open_loop(2.0, 2.0)
        return cls(gamma, Scaled(gamma, L / dim), **other)

    def step(self, task: Task, state: Iterate, rng: np.random.Generator) -> Step:
        t, x = state.t, state.x
        gamma, mu = at(t, self.step_size, self.radius)
        query = Query(x, task.all, basis(task.dim), mu, self.stencil, Purpose.REFRESH)
        g = slopes(query, (yield query))[0]
        s = task.lmo(g)
        return Iterate(t + 1, s.move(x, gamma)), frank_wolfe_info(g, x, s, gamma=gamma)
