"""ZO-SVRG: zeroth-order stochastic variance-reduced gradient, projected.

    for t = 0, 1, …:
        if t mod m = 0 (a new epoch):  x̃ = x_t,  g̃ = ∇̂f(x̃)                          all n components
        v_t     = ∇̂f_S(x_t) − ∇̂f_S(x̃) + g̃                                            batch S
        x_{t+1} = Π_X(x_t − η v_t)

with ∇̂h(x) = d/(μb) Σ_j [h(x + μv_j) − h(x)] v_j, v_j uniform on the unit sphere ("Avg-Rand", b
= 1 for "Rand"), or central differences along all coordinates ("Coord").

Departures: the projection. The directions are shared by the components of a batch, as in the
authors' code (the paper has one of its own for each f_i), and by x_t and x̃ (that code draws
new ones). So the difference is zero at the first iteration of an epoch and is not asked for
there, where the paper's count of (b + 1)(n + 2m|S|) an epoch includes it. The law here has
columns u = √d·v, which absorb the factor d; the radius along them is μ/√d.

References
----------
S. Liu, B. Kailkhura, P.-Y. Chen, P. Ting, S. Chang, L. Amini, Zeroth-order stochastic variance reduction for nonconvex
optimization, NeurIPS 2018, Algorithm 2.
"""

import math
from dataclasses import dataclass
from typing import Self

import numpy as np

from zofw.algorithms import settings
from zofw.algorithms.method import Estimate, Facts, Iterate, Method, at, methods
from zofw.core import Array, Law, Purpose, Query, Stencil, Step, Task
from zofw.differences import fresh, slopes, spider
from zofw.directions import Coordinate, Sphere
from zofw.papers.projection import descent, projected_step


@methods.register("zo-svrg")
@dataclass(frozen=True)
class ZOSVRG(Method):
    """ZO-SVRG: variance-reduced gradients, projected. The default step is for L = 1."""

    batch_size: settings.Count = settings.root_n("components in a difference")
    directions: settings.Count = settings.root_d("directions")
    period: settings.Count = settings.root_n("iterations in an epoch")
    step_size: settings.StepLength = settings.auto(
        "1/(1 + d/b), as for L = 1", lambda task, own: descent(task, own.directions)
    )
    radius: settings.Radius = 1e-4
    law: Law = Sphere()
    stencil: settings.Differences = Stencil.FORWARD

    facts = Facts(
        queries="n*(b + 1) if t % q == 0 else 2*S*(b + 1)",
        lmo="0",
        estimate=Estimate("(d - 1)/b", "2*(d - 1)/((d + 2)*b)", mean=None),
        units={"step_size": -1},
        share=0.6,
    )

    @dataclass(frozen=True)
    class State(Iterate):
        """x_t, the snapshot x̃ and the estimate g̃ there."""

        snapshot: Array
        g: Array

    @classmethod
    def paper(cls, dim: int, L: float, iterations: int, *, rho: float = 1.0, **other: object) -> Self:
        """b = |S| = 1, η = ρ/(Ld), m = ⌈d/(31ρ)⌉; μ = 1/√(dT), 1/(d√T) along the columns."""
        settings.constants(dim=dim, L=L, iterations=iterations, rho=rho)
        m, mu = math.ceil(dim / (31 * rho)), 1 / (dim * math.sqrt(iterations))
        return cls.of(other, batch_size=1, directions=1, period=m, step_size=rho / (L * dim), radius=mu)

    @classmethod
    def coordinate(cls, dim: int, L: float, iterations: int, *, rho: float = 1.0, **other: object) -> Self:
        """ZO-SVRG-Coord: the same constants with central differences along all coordinates."""
        along = {"directions": dim, "law": Coordinate(), "stencil": Stencil.CENTRAL}
        along["radius"] = 1 / math.sqrt(dim * iterations)
        return cls.paper(dim, L, iterations, rho=rho, **along, **other)

    def step(self, task: Task, state: State, rng: np.random.Generator) -> Step:
        t, x, d, b = state.t, state.x, task.dim, self.directions
        eta, mu = at(t, self.step_size, self.radius)
        U, scale = self.law.draw(rng, d, b), self.law.scale(d, b)
        if t % self.period == 0:
            query = Query(x, task.all, U, mu, self.stencil, Purpose.REFRESH)
            snapshot, v = x, fresh(U, slopes(query, (yield query))[0], scale)
            g = v
        else:
            snapshot, g = state.snapshot, state.g
            query = Query(np.stack([x, snapshot]), task.sample(rng, self.batch_size), U, mu, self.stencil)
            c = slopes(query, (yield query))
            v = spider(g, U, c, scale)
        x, info = projected_step(task, x, v, eta)
        return self.State(t + 1, x, snapshot, g), info
