"""ZO-SFW: stochastic zeroth-order Frank-Wolfe with averaged estimates (the ZOFWSGD of later papers).

    for t = 0, 1, …:
        ĝ_t     = estimate of ∇F(x_t; S_t) by forward differences
        g_t     = (1 − ρ_t) g_{t−1} + ρ_t ĝ_t,  g_{−1} = 0
        s_t     = argmin over s in X of ⟨s, g_t⟩
        x_{t+1} = (1 − γ_t) x_t + γ_t s_t

KWSA takes all d coordinates, RDSA one Gaussian direction, I-RDSA the mean over m of them. The base value F(x_t; S_t) is
asked once for all directions. The paper draws one sample an iteration; here S_t has any size, with replacement.

References
----------
A. K. Sahu, M. Zaheer, S. Kar, Towards gradient free and projection free stochastic optimization, AISTATS 2019,
Algorithm 2.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from zofw.algorithms import settings
from zofw.algorithms.facts import Estimate, Facts
from zofw.algorithms.registry import methods
from zofw.algorithms.settings import AUTO
from zofw.core import Array, Law, Query, Stencil, Step, Task, frank_wolfe_info
from zofw.differences import average, fresh, slopes
from zofw.directions import Coordinate, Gaussian
from zofw.schedules import Power, Schedule, as_schedule, open_loop

Scheme = Literal["kwsa", "rdsa", "i-rdsa"]


@methods.register("zo-sfw")
@dataclass(frozen=True)
class ZOSFW:
    """Settings of ZO-SFW. Queries: |S|(b + 1) an iteration, 2|S|b with central differences; one LMO call.

    Parameters
    ----------
    batch_size, directions
        |S| and b; 1 and ⌈√d⌉ by default.
    step_size, averaging, radius
        γ_t, ρ_t and μ_t: numbers or schedules.
    law, stencil
        Law of the directions, and FORWARD as in the paper or CENTRAL.
    """

    batch_size: int = 1
    directions: int = AUTO
    step_size: float | Schedule = open_loop(2.0, 8.0)
    averaging: float | Schedule = AUTO
    radius: float | Schedule = AUTO
    law: Law = Gaussian()
    stencil: Stencil = Stencil.FORWARD

    name: ClassVar[str] = "zo-sfw"
    facts: ClassVar[Facts] = Facts(
        use="cheap estimates, averaged; moves after one small batch",
        queries="S*(b + 1)",
        vectors=2,
        letters={"S": "batch_size", "b": "directions"},
        convex=r"$O(d/\varepsilon^3)$",
        nonconvex="see `zo-sfw-nonconvex`",
        answers=("short",),
        estimate=Estimate("(d + 1)/b", "2/b", mean="(1 + d/b)**(-1/3)"),
    )

    @dataclass(frozen=True)
    class State:
        """x_t and the average g_{t−1}."""

        t: int
        x: Array
        g: Array

    @classmethod
    def paper(
        cls, scheme: Scheme, dim: int, *, directions: int = 1, batch_size: int = 1, **other: Any
    ) -> ZOSFW:
        """Algorithm 2's constants: γ_t = 2/(t + 8) and, for each scheme, ρ_t and c_t (here μ_t).

        KWSA's ρ_0 = 4/8^(2/3) is 1; the cap keeps rounding from making it more.
        """
        settings.choice("scheme", scheme, ("kwsa", "rdsa", "i-rdsa"))
        settings.whole("directions", directions)
        m = {"kwsa": dim, "rdsa": 1, "i-rdsa": directions}[scheme]
        rho = {"kwsa": 1.0, "rdsa": dim ** (1 / 3), "i-rdsa": (1 + dim / m) ** (1 / 3)}[scheme]
        c = {"kwsa": dim**0.5, "rdsa": dim**1.5, "i-rdsa": dim**1.5 / m**0.5}[scheme]
        return cls(
            batch_size,
            m,
            averaging=Power(4 / rho, 8, 2 / 3, cap=1.0),
            radius=Power(2 / c, 8, 1 / 3),
            law=Coordinate() if scheme == "kwsa" else Gaussian(),
            **other,
        )

    def resolve(self, task: Task) -> tuple[ZOSFW, dict[str, str]]:
        d = task.dim
        b = max(1, self.directions or math.ceil(math.sqrt(d)))
        rho = 4 / (1 + d / b) ** (1 / 3)
        return settings.fill(
            self,
            directions=(b, "ceil(sqrt(d)) directions"),
            averaging=(Power(rho, 8, 2 / 3, cap=1.0), "I-RDSA's 4/((1 + d/b)^(1/3) (t + 8)^(2/3))"),
            radius=(1e-4, "small against the set, large against rounding"),
        )

    def check(self, task: Task) -> None:
        settings.whole("batch_size", self.batch_size)
        settings.whole("directions", self.directions)
        self.law.check(task.dim, self.directions)
        settings.step_sizes(as_schedule(self.step_size))
        settings.radii(as_schedule(self.radius))
        settings.fraction("averaging at t = 0", as_schedule(self.averaging)(0))
        settings.choice("stencil", self.stencil, (Stencil.CENTRAL, Stencil.FORWARD))

    def init(self, task: Task, x0: Array) -> State:
        return self.State(0, x0, np.zeros(task.dim))

    def step(self, task: Task, state: State, rng: np.random.Generator) -> Step:
        t, x, d, b = state.t, state.x, task.dim, self.directions
        gamma, rho, mu = (
            as_schedule(schedule)(t) for schedule in (self.step_size, self.averaging, self.radius)
        )
        U = self.law.draw(rng, d, b)
        query = Query(x, task.sample(rng, self.batch_size), U, mu, self.stencil)
        c = slopes(query, (yield query))[0]
        g = average(state.g, fresh(task.given(U, query.batch), c, self.law.scale(d, b)), rho)
        s = task.lmo(g)
        return self.State(t + 1, s.move(x, gamma), g), frank_wolfe_info(g, x, s, gamma=gamma)
