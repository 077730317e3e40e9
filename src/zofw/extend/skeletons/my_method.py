"""Forgetful: Frank-Wolfe with a plain estimate and without memory.

    g_t     = (1/b) U Δf(x_t)
    x_{t+1} = x_t + 2/(t + 2) (argmin over s in X of ⟨s, g_t⟩ − x_t)

References
----------
Your paper.
"""

from dataclasses import dataclass

import numpy as np

from zofw.algorithms import settings
from zofw.algorithms.method import Estimate, Facts, Iterate, Method, at
from zofw.core import Law, Query, Stencil, Step, Task, frank_wolfe_info
from zofw.differences import fresh, slopes
from zofw.directions import Rademacher
from zofw.schedules import open_loop


@dataclass(frozen=True)
class Forgetful(Method):
    """Forgetful: Frank-Wolfe with a plain estimate and without memory."""

    directions: settings.Count = 8
    step_size: settings.StepSize = open_loop(2.0, 2.0)
    radius: settings.Radius = 1e-4
    law: Law = Rademacher()

    name = "forgetful"
    facts = Facts("2*n*b", estimate=Estimate("(d - 1)/b", later="1"), share=0.7, within=20_000)

    def step(self, task: Task, state: Iterate, rng: np.random.Generator) -> Step:
        t, x, d, b = state.t, state.x, task.dim, self.directions
        gamma, mu = at(t, self.step_size, self.radius)
        U = self.law.draw(rng, d, b)
        query = Query(x, task.all, U, mu, Stencil.CENTRAL)
        g = fresh(U, slopes(query, (yield query))[0], self.law.scale(d, b))
        s = task.lmo(g)
        return Iterate(t + 1, s.move(x, gamma)), frank_wolfe_info(g, x, s, gamma=gamma)
