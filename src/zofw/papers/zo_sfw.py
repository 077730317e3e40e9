"""ZO-FW and ZO-SFW: zeroth-order Frank-Wolfe with all coordinates, or with averaged estimates
(ZOFWGD and ZOFWSGD of later papers).

    for t = 0, 1, …:
        ZO-FW:   g_t = Σ_j [f(x_t + c_t e_j) − f(x_t)]/c_t · e_j              all n components
        ZO-SFW:  ĝ_t = estimate of ∇F(x_t; S_t) by forward differences
                 g_t = (1 − ρ_t) g_{t−1} + ρ_t ĝ_t,  g_{−1} = 0
        s_t     = argmin over s in X of ⟨s, g_t⟩
        x_{t+1} = (1 − γ_t) x_t + γ_t s_t

Of ZO-SFW's estimates KWSA takes all d coordinates, RDSA one Gaussian direction, I-RDSA the mean
over m of them. The base value F(x_t; S_t) is asked once for all directions. The paper draws one
sample an iteration; here S_t has any size, with replacement. For non-convex sums ZO-SFW takes
I-RDSA and the constant step γ = T^{−3/4}.

Departures: ZO-FW's γ_0 = 2/(0 + 1) leaves the set; γ_t = 2/(t + 2), as in its equation (3). The
paper's box has c_t = Lγ_t/d, its text c_t = γ_t/d; neither is a length, and the box is taken.

References
----------
A. K. Sahu, M. Zaheer, S. Kar, Towards gradient free and projection free stochastic optimization, AISTATS 2019,
Algorithms 1, 2 and 3.
"""

from dataclasses import dataclass
from typing import Literal, Self

import numpy as np

from zofw.algorithms import settings
from zofw.algorithms.method import Estimate, Facts, Iterate, Method, at, methods
from zofw.core import Array, Law, Purpose, Query, Stencil, Step, Task, frank_wolfe_info
from zofw.differences import average, fresh, slopes
from zofw.directions import Coordinate, Gaussian, basis
from zofw.papers.horizon import horizon, root_of_horizon
from zofw.schedules import Constant, Power, Scaled, open_loop


@methods.register("zo-fw")
@dataclass(frozen=True)
class ZOFW(Method):
    """ZO-FW: deterministic zeroth-order Frank-Wolfe, all coordinates and all components."""

    step_size: settings.StepSize = open_loop(2.0, 2.0)
    radius: settings.Radius = 1e-6
    stencil: settings.Differences = Stencil.FORWARD

    facts = Facts(queries="n*(d + 1)", estimate=Estimate("0", "0", later="1"))

    @classmethod
    def paper(cls, dim: int, L: float, **other: object) -> Self:
        """γ_t = 2/(t + 2), c_t = Lγ_t/d."""
        gamma = open_loop(2.0, 2.0)
        return cls.of(other, step_size=gamma, radius=Scaled(gamma, L / dim))

    def step(self, task: Task, state: Iterate, rng: np.random.Generator) -> Step:
        t, x = state.t, state.x
        gamma, mu = at(t, self.step_size, self.radius)
        query = Query(x, task.all, basis(task.dim), mu, self.stencil, Purpose.REFRESH)
        g = slopes(query, (yield query))[0]
        s = task.lmo(g)
        return Iterate(t + 1, s.move(x, gamma)), frank_wolfe_info(g, x, s, gamma=gamma)


@methods.register("zo-sfw")
@dataclass(frozen=True)
class ZOSFW(Method):
    """ZO-SFW: stochastic zeroth-order Frank-Wolfe with averaged estimates."""

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
        queries="S*(b + 1)", estimate=Estimate("(d + 1)/b", "2/b", mean="(1 + d/b)**(-1/3)", later="rho")
    )

    @dataclass(frozen=True)
    class State(Iterate):
        """x_t and the average g_{t−1}."""

        g: Array

    @classmethod
    def paper(
        cls, scheme: Literal["kwsa", "rdsa", "i-rdsa"], dim: int, *, directions: int = 1, **other: object
    ) -> Self:
        """Algorithm 2's γ_t = 2/(t + 8), and the ρ_t and c_t (here μ_t) of a scheme."""
        settings.one_of("kwsa", "rdsa", "i-rdsa")("scheme", scheme)
        settings.whole(1)("directions", directions)
        m = {"kwsa": dim, "rdsa": 1, "i-rdsa": directions}[scheme]
        rho = {"kwsa": 1.0, "rdsa": dim ** (1 / 3), "i-rdsa": (1 + dim / m) ** (1 / 3)}[scheme]
        c = {"kwsa": dim**0.5, "rdsa": dim**1.5, "i-rdsa": dim**1.5 / m**0.5}[scheme]
        averaging, radius = Power(4 / rho, 8, 2 / 3, cap=1.0), Power(2 / c, 8, 1 / 3)
        law = Coordinate() if scheme == "kwsa" else Gaussian()
        return cls.of(other, directions=m, averaging=averaging, radius=radius, law=law)

    def step(self, task: Task, state: State, rng: np.random.Generator) -> Step:
        t, x, d, b = state.t, state.x, task.dim, self.directions
        gamma, rho, mu = at(t, self.step_size, self.averaging, self.radius)
        U = self.law.draw(rng, d, b)
        query = Query(x, task.sample(rng, self.batch_size), U, mu, self.stencil)
        c = slopes(query, (yield query))[0]
        g = average(state.g, fresh(U, c, self.law.scale(d, b)), rho)
        s = task.lmo(g)
        return self.State(t + 1, s.move(x, gamma), g), frank_wolfe_info(g, x, s, gamma=gamma)


def iterations(task: Task, own: ZOSFW) -> int | None:
    """Return the T that the limits of a task pay for."""
    b = own.directions
    return horizon(task, own.batch_size * (2 * b if own.stencil.two_sided else b + 1))


@methods.register("zo-sfw-nonconvex")
@dataclass(frozen=True)
class ZOSFWNonconvex(ZOSFW):
    """ZO-SFW for non-convex sums: averaged I-RDSA estimates and a constant step."""

    step_size: settings.StepSize = root_of_horizon(0.75, iterations)

    @classmethod
    def paper(cls, dim: int, iterations: int, *, directions: int = 1, **other: object) -> Self:  # type: ignore[override]
        """Algorithm 3's constants: γ = T^{−3/4}, and I-RDSA's ρ_t and c_t."""
        averaged = ZOSFW.paper("i-rdsa", dim, directions=directions, **other)
        return cls.of(vars(averaged) | {"step_size": Constant(iterations**-0.75)})
