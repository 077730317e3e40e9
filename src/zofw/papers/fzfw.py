"""FZFW: faster zeroth-order Frank-Wolfe, coordinate estimates with SPIDER differences.

    for t = 0, 1, …:
        if t mod q = 0:  v_t = ∇̂f(x_t)                                          all n components
        otherwise:       v_t = v_{t−1} + (1/|S|) Σ_{i in S} [∇̂f_i(x_t) − ∇̂f_i(x_{t−1})]
        u_t     = argmin over u in X of ⟨u, v_t⟩
        x_{t+1} = x_t + γ (u_t − x_t)

with ∇̂h(x) = Σ_j [h(x + μe_j) − h(x − μe_j)]/(2μ) · e_j, and S drawn with replacement.

Departures: the paper's γ = 1/(D√K) is a length and exceeds 1 on small sets, so it is capped at
1; the default is the anytime 2/(t + 2); x is the last iterate, where the paper draws one at
random.

References
----------
H. Gao, H. Huang, Can stochastic zeroth-order Frank-Wolfe method converge faster for non-convex problems?, ICML 2020,
Algorithm 1.
"""

from __future__ import annotations

import math
from collections.abc import Generator
from dataclasses import dataclass
from typing import Any

import numpy as np

from zofw.algorithms import settings
from zofw.algorithms.method import Estimate, Facts, Iterate, Method, at, methods
from zofw.core import Answer, Array, Purpose, Query, Stencil, Step, Task, frank_wolfe_info
from zofw.differences import slopes, spider
from zofw.directions import basis
from zofw.schedules import Constant, open_loop


@methods.register("fzfw")
@dataclass(frozen=True)
class FZFW(Method):
    """Settings of FZFW."""

    batch_size: settings.Count = settings.root_n("components in a difference")
    period: settings.Count = settings.root_n("iterations from one full batch to the next")
    step_size: settings.StepSize = open_loop(2.0, 2.0)
    radius: settings.Radius = 1e-4

    facts = Facts(
        use="moderate d, SPIDER without momentum",
        queries="2*n*d if t % q == 0 else 4*S*d",
        vectors=3,
        nonconvex=r"$O(\sqrt n\,d/\varepsilon^2)$",
        answers=("otherwise",),
        estimate=Estimate("0", "0"),
    )

    @dataclass(frozen=True)
    class State(Iterate):
        """x_t, the point before it, and v_{t−1}, the estimate made there."""

        before: Array
        g: Array

    @classmethod
    def paper(cls, n: int, dim: int, diameter: float, iterations: int, **other: Any) -> FZFW:
        """Theorem 1 for K iterations: q = |S| = √n, γ = 1/(D√K), μ = 1/√(dK)."""
        settings.constants(n=n, dim=dim, diameter=diameter, iterations=iterations)
        gamma = Constant(min(1.0, 1 / (diameter * math.sqrt(iterations))))
        return cls(settings.root(n), settings.root(n), gamma, 1 / math.sqrt(dim * iterations), **other)

    def step(self, task: Task, state: State, rng: np.random.Generator) -> Step:
        t, x = state.t, state.x
        gamma, mu = at(t, self.step_size, self.radius)
        v = yield from coordinate_spider(task, state, rng, self.period, self.batch_size, mu)
        u = task.lmo(v)
        return self.State(t + 1, u.move(x, gamma), x, v), frank_wolfe_info(v, x, u, gamma=gamma)


def coordinate_spider(
    task: Task, state: FZFW.State, rng: np.random.Generator, period: int, batch_size: int, mu: float
) -> Generator[Query, Answer, Array]:
    """Return v_t: all components every ``period`` iterations, a difference on a batch otherwise."""
    U = basis(task.dim)
    if state.t % period == 0:
        query = Query(state.x, task.all, U, mu, Stencil.CENTRAL, Purpose.REFRESH)
        return np.asarray(slopes(query, (yield query))[0])
    S = task.sample(rng, batch_size)
    query = Query(np.stack([state.x, state.before]), S, U, mu, Stencil.CENTRAL)
    c = slopes(query, (yield query))
    return spider(state.g, U, c, 1.0)
