"""SPSA: simultaneous perturbation stochastic approximation, projected.

    for k = 0, 1, …:
        Δ_k with independent entries ±1
        ĝ_k     = [y(x_k + c_k Δ_k) − y(x_k − c_k Δ_k)]/(2c_k) · (1/Δ_k), y the mean over a batch S
        x_{k+1} = Π_X(x_k − a_k ĝ_k)

with a_k = a/(A + k + 1)^0.602 and c_k = c/(k + 1)^0.101; 1/Δ = Δ for signs. Departure: the
estimate may be averaged over b sign vectors.

References
----------
J. C. Spall, Multivariate stochastic approximation using a simultaneous perturbation gradient approximation, IEEE
Transactions on Automatic Control 37, 1992.
J. C. Spall, Implementation of the simultaneous perturbation algorithm for stochastic optimization, IEEE Transactions
on Aerospace and Electronic Systems 34, 1998 (the constants).
P. Sadegh, Constrained optimization via stochastic approximation with a simultaneous perturbation gradient
approximation, Automatica 33, 1997 (the projection).
"""

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from zofw.algorithms import settings
from zofw.algorithms.method import Estimate, Facts, Iterate, Method, at, methods
from zofw.core import Law, Query, Stencil, Step, Task
from zofw.differences import fresh, slopes
from zofw.directions import Rademacher
from zofw.papers.horizon import horizon
from zofw.papers.projection import descent, projected_step
from zofw.schedules import Power


def first_step(task: Task, own: Any) -> Power:
    """Return a/(A + k + 1)^0.602 with A = T/10 and a_0 = 1/(1 + d/b)."""
    T = horizon(task, 2 * own.batch_size * own.directions) or 1000
    offset = 0.1 * T + 1
    return Power(descent(task, own.directions) * offset**0.602, offset, 0.602)


@methods.register("spsa")
@dataclass(frozen=True)
class SPSA(Method):
    """SPSA: simultaneous perturbation, projected; a_k is ``step_size``, c_k ``radius``."""

    batch_size: settings.Count = 1
    directions: settings.Count = 1
    step_size: settings.StepLength = settings.auto(
        "Spall's a/(A + k + 1)^0.602 with A a tenth of the iterations that budget and max_iter allow (1000 without "
        "either) and a_0 = 1/(1 + d/b), as for L = 1",
        first_step,
    )
    radius: settings.Radius = Power(1e-2, 1.0, 0.101)
    law: Law = Rademacher()

    stencil: ClassVar[Stencil] = Stencil.CENTRAL
    facts = Facts(
        queries="2*S*b",
        lmo="0",
        estimate=Estimate("(d - 1)/b", mean=None, later="1"),
        within=10_000,
        units={"step_size": -1},
    )

    @classmethod
    def paper(cls, iterations: int, a: float, c: float, **other: object) -> Self:
        """a_k = a/(A + k + 1)^0.602 with A = T/10, c_k = c/(k + 1)^0.101."""
        settings.constants(iterations=iterations, a=a, c=c)
        step_size = Power(a, 0.1 * iterations + 1, 0.602)
        return cls.of(other, step_size=step_size, radius=Power(c, 1.0, 0.101))

    def step(self, task: Task, state: Iterate, rng: np.random.Generator) -> Step:
        k, x, d, b = state.t, state.x, task.dim, self.directions
        a, c = at(k, self.step_size, self.radius)
        Delta = self.law.draw(rng, d, b)
        query = Query(x, task.sample(rng, self.batch_size), Delta, c, self.stencil)
        g = fresh(Delta, slopes(query, (yield query))[0], self.law.scale(d, b))
        x, info = projected_step(task, x, g, a)
        return Iterate(k + 1, x), info
