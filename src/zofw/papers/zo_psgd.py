"""ZO-PSGD: zeroth-order projected stochastic gradient descent.

    for t = 0, 1, …:
        g_t     = d/(μ b |S|) Σ_{i in S} Σ_j [f_i(x_t + μv_j) − f_i(x_t)] v_j        v_j uniform on the unit sphere
        x_{t+1} = Π_X(x_t − a_t g_t)

A rival that projects: it needs no LMO and a set with a Euclidean projection. The law here has
columns u = √d·v, which absorb the factor d; the radius along them is μ/√d.

References
----------
S. Ghadimi, G. Lan, H. Zhang, Mini-batch stochastic approximation methods for nonconvex stochastic composite
optimization, Mathematical Programming 155, 2016.
S. Liu, X. Li, P.-Y. Chen, J. Haupt, L. Amini, Zeroth-order stochastic projected gradient descent for nonconvex
optimization, GlobalSIP 2018.
"""

from dataclasses import dataclass
from typing import Self

import numpy as np

from zofw.algorithms import settings
from zofw.algorithms.method import Estimate, Facts, Iterate, Method, at, methods
from zofw.core import Law, Query, Stencil, Step, Task
from zofw.differences import fresh, slopes
from zofw.directions import Sphere
from zofw.papers.projection import descent, projected_step
from zofw.schedules import Power


@methods.register("zo-psgd")
@dataclass(frozen=True)
class ZOPSGD(Method):
    """ZO-PSGD: projected stochastic gradient descent. The default step is for L = 1."""

    batch_size: settings.Count = 1
    directions: settings.Count = settings.root_d("directions")
    step_size: settings.StepLength = settings.auto(
        "1/((1 + d/b)√(t + 1)), as for L = 1",
        lambda task, own: Power(descent(task, own.directions), 1.0, 0.5),
    )
    radius: settings.Radius = 1e-4
    law: Law = Sphere()
    stencil: settings.Differences = Stencil.FORWARD

    facts = Facts(
        queries="S*(b + 1)",
        lmo="0",
        estimate=Estimate("(d - 1)/b", "2*(d - 1)/((d + 2)*b)", mean=None, later="1"),
        units={"step_size": -1},
    )

    @classmethod
    def paper(cls, dim: int, iterations: int, lr: float, **other: object) -> Self:
        """a_t = lr/√(t + 1) and μ = 1/√(dT) on the unit sphere, 1/(d√T) along the columns."""
        return cls.of(other, directions=10, step_size=Power(lr, 1.0, 0.5), radius=1 / (dim * iterations**0.5))

    def step(self, task: Task, state: Iterate, rng: np.random.Generator) -> Step:
        t, x, d, b = state.t, state.x, task.dim, self.directions
        a, mu = at(t, self.step_size, self.radius)
        U = self.law.draw(rng, d, b)
        query = Query(x, task.sample(rng, self.batch_size), U, mu, self.stencil)
        g = fresh(U, slopes(query, (yield query))[0], self.law.scale(d, b))
        x, info = projected_step(task, x, g, a)
        return Iterate(t + 1, x), info
