"""ZO-PSGD: zeroth-order projected stochastic gradient descent.

    for t = 0, 1, …:
        g_t     = d/(μ b |S|) Σ_{i in S} Σ_j [f_i(x_t + μv_j) − f_i(x_t)] v_j        v_j uniform on the unit sphere
        x_{t+1} = Π_X(x_t − a_t g_t)

A rival that projects: it needs no LMO and a set with a Euclidean projection. The law here has columns u = √d·v, which
absorb the factor d; the radius along them is μ/√d.

References
----------
S. Ghadimi, G. Lan, H. Zhang, Mini-batch stochastic approximation methods for nonconvex stochastic composite
optimization, Mathematical Programming 155, 2016.
S. Liu, X. Li, P.-Y. Chen, J. Haupt, L. Amini, Zeroth-order stochastic projected gradient descent for nonconvex
optimization, GlobalSIP 2018.
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
from zofw.core import Array, Law, Query, Stencil, Step, Task
from zofw.differences import fresh, slopes
from zofw.directions import Sphere
from zofw.papers.projection import check_projected, descent, projected_step
from zofw.schedules import Power, Schedule, as_schedule


@methods.register("zo-psgd")
@dataclass(frozen=True)
class ZOPSGD:
    """Settings of ZO-PSGD. Queries: |S|(b + 1) an iteration; one projection, no LMO call.

    Parameters
    ----------
    batch_size, directions
        |S| and b; 1 and ⌈√d⌉ by default.
    step_size, radius
        a_t and the radius along columns of the law, μ/√d: numbers or schedules. By default
        a_t = 1/((1 + d/b)√(t + 1)), made for gradients with Lipschitz constant L = 1; divide it by L where L is known.
    law, stencil
        Law of the directions, and FORWARD as in the paper or CENTRAL.
    """

    batch_size: int = 1
    directions: int = AUTO
    step_size: float | Schedule = AUTO
    radius: float | Schedule = 1e-4
    law: Law = Sphere()
    stencil: Stencil = Stencil.FORWARD

    name: ClassVar[str] = "zo-psgd"
    facts: ClassVar[Facts] = Facts(
        use="a rival that projects",
        queries="S*(b + 1)",
        lmo="0",
        letters={"S": "batch_size", "b": "directions"},
        convex="none of its own",
        nonconvex=r"$O(d/\varepsilon^2)$, squared gradient mapping",
        estimate=Estimate("(d - 1)/b", "2*(d - 1)/((d + 2)*b)", mean=None),
        units={"step_size": -1},
    )

    @dataclass(frozen=True)
    class State:
        """x_t."""

        t: int
        x: Array

    @classmethod
    def paper(
        cls, dim: int, iterations: int, lr: float, *, batch_size: int = 1, directions: int = 10, **other: Any
    ) -> ZOPSGD:
        """a_t = lr/√(t + 1) and μ = 1/√(dT) on the unit sphere, that is 1/(d√T) along the columns of the law."""
        return cls(batch_size, directions, Power(lr, 1.0, 0.5), 1 / (dim * math.sqrt(iterations)), **other)

    def resolve(self, task: Task) -> tuple[ZOPSGD, dict[str, str]]:
        b = self.directions or math.ceil(math.sqrt(task.dim))
        return settings.fill(
            self,
            directions=(b, "ceil(sqrt(d)) directions"),
            step_size=(Power(descent(task, b), 1.0, 0.5), "1/((1 + d/b) sqrt(t + 1)), as for L = 1"),
        )

    def check(self, task: Task) -> None:
        check_projected(self, task)

    def init(self, task: Task, x0: Array) -> State:
        return self.State(0, x0)

    def step(self, task: Task, state: State, rng: np.random.Generator) -> Step:
        t, x, d, b = state.t, state.x, task.dim, self.directions
        a, mu = as_schedule(self.step_size)(t), as_schedule(self.radius)(t)
        U = self.law.draw(rng, d, b)
        query = Query(x, task.sample(rng, self.batch_size), U, mu, self.stencil)
        g = fresh(U, slopes(query, (yield query))[0], self.law.scale(d, b))
        x, info = projected_step(task, x, g, a)
        return self.State(t + 1, x), info
