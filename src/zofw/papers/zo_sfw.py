"""ZO-SFW: stochastic zeroth-order Frank-Wolfe with averaged estimates (the ZOFWSGD of later
papers).

    for t = 0, 1, …:
        ĝ_t     = estimate of ∇F(x_t; S_t) by forward differences
        g_t     = (1 − ρ_t) g_{t−1} + ρ_t ĝ_t,  g_{−1} = 0
        s_t     = argmin over s in X of ⟨s, g_t⟩
        x_{t+1} = (1 − γ_t) x_t + γ_t s_t

KWSA takes all d coordinates, RDSA one Gaussian direction, I-RDSA the mean over m of them. The
base value F(x_t; S_t) is asked once for all directions. The paper draws one sample an
iteration; here S_t has any size, with replacement.

References
----------
A. K. Sahu, M. Zaheer, S. Kar, Towards gradient free and projection free stochastic optimization, AISTATS 2019,
Algorithm 2.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, Self

import numpy as np

from zofw.algorithms import settings
from zofw.algorithms.method import Estimate, Facts, Iterate, Method, at, methods
from zofw.core import Array, Law, Query, Stencil, Step, Task, frank_wolfe_info
from zofw.differences import average, fresh, slopes
from zofw.directions import Coordinate, Gaussian
from zofw.schedules import Power, open_loop


@methods.register("zo-sfw")
@dataclass(frozen=True)
class ZOSFW(Method):
    """Settings of ZO-SFW."""

    batch_size: settings.Count = 1
    directions: settings.Count = settings.root_d("directions")
    step_size: settings.StepSize = open_loop(2.0, 8.0)
    averaging: settings.Averaging = settings.auto(
        "I-RDSA's 4/((1 + d/b)^(1/3) (t + 8)^(2/3))",
        lambda task, own: Power(4 / (1 + task.dim / own.directions) ** (1 / 3), 8, 2 / 3, cap=1.0),
    )
    radius: settings.Radius = settings.auto(
        "small against the set, large against rounding", lambda task, own: 1e-4
    )
    law: Law = Gaussian()
    stencil: settings.Differences = Stencil.FORWARD

    facts = Facts(
        use="cheap estimates, averaged; moves after one small batch",
        queries="S*(b + 1)",
        vectors=2,
        convex=r"$O(d/\varepsilon^3)$",
        nonconvex="see `zo-sfw-nonconvex`",
        answers=("short",),
        estimate=Estimate("(d + 1)/b", "2/b", mean="(1 + d/b)**(-1/3)", later="rho"),
    )

    @dataclass(frozen=True)
    class State(Iterate):
        """x_t and the average g_{t−1}."""

        g: Array

    @classmethod
    def paper(
        cls,
        scheme: Literal["kwsa", "rdsa", "i-rdsa"],
        dim: int,
        *,
        directions: int = 1,
        batch_size: int = 1,
        **other: Any,
    ) -> Self:
        """Algorithm 2's constants: γ_t = 2/(t + 8) and, for each scheme, ρ_t and c_t (here
        μ_t).

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

    def step(self, task: Task, state: State, rng: np.random.Generator) -> Step:
        t, x, d, b = state.t, state.x, task.dim, self.directions
        gamma, rho, mu = at(t, self.step_size, self.averaging, self.radius)
        U = self.law.draw(rng, d, b)
        query = Query(x, task.sample(rng, self.batch_size), U, mu, self.stencil)
        c = slopes(query, (yield query))[0]
        g = average(state.g, fresh(task.given(U, query.batch), c, self.law.scale(d, b)), rho)
        s = task.lmo(g)
        return self.State(t + 1, s.move(x, gamma), g), frank_wolfe_info(g, x, s, gamma=gamma)
