"""A method of your own: Frank-Wolfe with a plain estimate and nothing remembered.

    g_t     = (1/b) U Δf(x_t)
    x_{t+1} = x_t + 2/(t + 2) (argmin over s in X of ⟨s, g_t⟩ − x_t)

References
----------
Your paper.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from zofw import Query, Rademacher, Stencil
from zofw.core import frank_wolfe_info
from zofw.differences import slopes
from zofw.estimators import fresh


@dataclass(frozen=True)
class Forgetful:
    """Queries: 2nb an iteration; one LMO call."""

    directions: int = 8
    radius: float = 1e-4

    name: ClassVar[str] = "forgetful"

    @dataclass(frozen=True)
    class State:
        t: int
        x: np.ndarray

    def init(self, task, x0):
        return self.State(0, x0)

    def step(self, task, state, rng):
        law, t, x = Rademacher(), state.t, state.x
        U = law.draw(rng, task.dim, self.directions)
        query = Query(x, task.all, U, self.radius, Stencil.CENTRAL)
        c = slopes(query, (yield query))[0]
        g = fresh(U, c, law.scale(task.dim, self.directions))
        s = task.lmo(g)
        return self.State(t + 1, s.move(x, 2 / (t + 2))), frank_wolfe_info(g, x, s)
