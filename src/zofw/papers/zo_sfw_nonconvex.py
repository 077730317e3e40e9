"""ZO-SFW for non-convex sums: averaged I-RDSA estimates and a constant step.

    for t = 0, …, T − 1:
        ĝ_t     = mean over m Gaussian z_j of [F(x_t + c_t z_j; S_t) − F(x_t; S_t)]/c_t · z_j
        g_t     = (1 − ρ_t) g_{t−1} + ρ_t ĝ_t,  g_{−1} = 0
        s_t     = argmin over s in X of ⟨s, g_t⟩
        x_{t+1} = (1 − γ) x_t + γ s_t,          γ = T^{−3/4}

It is Algorithm 2 of the same paper, run with another step; that is how it is written here. The paper returns x_T.

References
----------
A. K. Sahu, M. Zaheer, S. Kar, Towards gradient free and projection free stochastic optimization, AISTATS 2019,
Algorithm 3.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from zofw.algorithms import settings
from zofw.algorithms.facts import Estimate, Facts
from zofw.algorithms.registry import methods
from zofw.algorithms.settings import AUTO
from zofw.core import Array, Law, Stencil, Step, Task
from zofw.directions import Gaussian
from zofw.papers.horizon import constant_step, horizon
from zofw.papers.zo_sfw import ZOSFW
from zofw.schedules import Constant, Schedule


@methods.register("zo-sfw-nonconvex")
@dataclass(frozen=True)
class ZOSFWNonconvex:
    """Settings of non-convex ZO-SFW. Queries: |S|(b + 1) an iteration, 2|S|b with central differences; one LMO call.

    Parameters
    ----------
    batch_size, directions
        |S| and b; 1 and ⌈√d⌉ by default.
    step_size
        γ; by default T^{−3/4} for the T iterations that the limits pay, or (t + 1)^{−3/4} where there is no limit.
    averaging, radius, law, stencil
        As in Algorithm 2; see :class:`~zofw.papers.zo_sfw.ZOSFW`.
    """

    batch_size: int = 1
    directions: int = AUTO
    step_size: float | Schedule = AUTO
    averaging: float | Schedule = AUTO
    radius: float | Schedule = AUTO
    law: Law = Gaussian()
    stencil: Stencil = Stencil.FORWARD

    name: ClassVar[str] = "zo-sfw-nonconvex"
    facts: ClassVar[Facts] = Facts(
        use="cheap estimates when f is not convex",
        queries="S*(b + 1)",
        vectors=2,
        letters={"S": "batch_size", "b": "directions"},
        convex="see `zo-sfw`",
        nonconvex=r"$O(d^{4/3}/\varepsilon^4)$",
        answers=("short",),
        estimate=Estimate("(d + 1)/b", "2/b", mean="(1 + d/b)**(-1/3)"),
    )

    @classmethod
    def paper(
        cls, dim: int, iterations: int, *, directions: int = 1, batch_size: int = 1, **other: Any
    ) -> ZOSFWNonconvex:
        """Algorithm 3's constants: γ = T^{−3/4}, and I-RDSA's ρ_t and c_t."""
        averaged = ZOSFW.paper("i-rdsa", dim, directions=directions, batch_size=batch_size, **other)
        return replace(cls._with(averaged), step_size=Constant(iterations**-0.75))

    @classmethod
    def _with(cls, averaged: ZOSFW) -> ZOSFWNonconvex:
        """The settings of Algorithm 2, field for field."""
        return cls(**vars(averaged))

    def _algorithm_2(self) -> ZOSFW:
        """Algorithm 2 with these settings, field for field."""
        return ZOSFW(**vars(self))

    def resolve(self, task: Task) -> tuple[ZOSFWNonconvex, dict[str, str]]:
        averaged, reasons = self._algorithm_2().resolve(task)
        b = averaged.directions
        one = averaged.batch_size * (2 * b if averaged.stencil.two_sided else b + 1)
        filled, more = settings.fill(self._with(averaged), step_size=constant_step(horizon(task, one), 0.75))
        return filled, reasons | more

    def check(self, task: Task) -> None:
        self._algorithm_2().check(task)

    def init(self, task: Task, x0: Array) -> ZOSFW.State:
        return self._algorithm_2().init(task, x0)

    def step(self, task: Task, state: ZOSFW.State, rng: np.random.Generator) -> Step:
        return self._algorithm_2().step(task, state, rng)
