"""Forgetful: Frank-Wolfe with a plain estimate and nothing remembered.

    g_t     = (1/b) U Δf(x_t)
    x_{t+1} = x_t + 2/(t + 2) (argmin over s in X of ⟨s, g_t⟩ − x_t)

References
----------
Your paper.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from zofw.algorithms.facts import Estimate, Facts
from zofw.core import Array, Query, Stencil, Step, Task, frank_wolfe_info
from zofw.differences import fresh, slopes
from zofw.directions import Rademacher


@dataclass(frozen=True)
class Forgetful:
    """Settings of Forgetful. Queries: 2nb an iteration; one LMO call.

    Parameters
    ----------
    directions, radius
        b and μ.
    """

    directions: int = 8
    radius: float = 1e-4

    name: ClassVar[str] = "forgetful"
    facts: ClassVar[Facts] = Facts(
        use="to begin with",
        queries="2*n*b",
        vectors=1,
        letters={"b": "directions"},
        estimate=Estimate("(d - 1)/b"),
        share=0.7,
        within=20_000,
    )

    @dataclass(frozen=True)
    class State:
        """x_t."""

        t: int
        x: Array

    def init(self, task: Task, x0: Array) -> State:
        return self.State(0, x0)

    def step(self, task: Task, state: State, rng: np.random.Generator) -> Step:
        law, t, x = Rademacher(), state.t, state.x
        U = law.draw(rng, task.dim, self.directions)
        query = Query(x, task.all, U, self.radius, Stencil.CENTRAL)
        c = slopes(query, (yield query))[0]
        g = fresh(U, c, law.scale(task.dim, self.directions))
        s = task.lmo(g)
        return self.State(t + 1, s.move(x, 2 / (t + 2))), frank_wolfe_info(g, x, s)
