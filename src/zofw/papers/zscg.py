"""ZSCG: zeroth-order stochastic conditional gradient.

    for k = 1, …, N:
        G_k = (1/m_k) Σ_j [F(z_{k−1} + νu_j; ξ_j) − F(z_{k−1}; ξ_j)]/ν · u_j,   m_k independent pairs (ξ_j, u_j)
        x_k = argmin over x in X of ⟨G_k, x⟩
        z_k = (1 − α_k) z_{k−1} + α_k x_k

The point reported is z_k, the last: what the convex theory bounds; the non-convex theory speaks
of one drawn uniformly.

References
----------
K. Balasubramanian, S. Ghadimi, Zeroth-order nonconvex stochastic optimization: handling constraints, high
dimensionality, and saddle points, Foundations of Computational Mathematics, 2022, Algorithm 1.
"""

from __future__ import annotations

import math
from collections.abc import Generator
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np

from zofw.algorithms import settings
from zofw.algorithms.method import Estimate, Facts, Iterate, Method, at, methods
from zofw.core import Answer, Array, Law, Query, Stencil, Step, Task, frank_wolfe_info
from zofw.differences import fresh, slopes
from zofw.directions import Gaussian
from zofw.schedules import Constant, Schedule, as_schedule, open_loop


def mean_of_pairs(
    task: Task, z: Array, m: int, nu: float, law: Law, rng: np.random.Generator
) -> Generator[Query, Answer, Array]:
    """Return G, the mean over m independent pairs of a component and a direction; 2m queries."""
    U = law.draw(rng, task.dim, m)
    query = Query(z, task.sample(rng, m), U, nu, Stencil.FORWARD, paired=True)
    return fresh(U, slopes(query, (yield query))[0], law.scale(task.dim, m))


def pairs_at(size: float | Schedule, t: int) -> int:
    """Return m_{t+1}, a whole number."""
    return math.ceil(as_schedule(size)(t))


def at_least_one(name: str, size: float | Schedule) -> None:
    """Accept at least one pair, at the start and far out."""
    for t in (0, 1, 1000):
        settings.whole(f"{name} at t = {t}", pairs_at(size, t))


def check_pairs(task: Task, size: float | Schedule, law: Law) -> None:
    """Raise ValueError if the law cannot supply a direction for every pair, at the start or far out."""
    for t in (0, 1, 1000):
        law.check(task.dim, pairs_at(size, t))


Pairs = Annotated[float | Schedule, at_least_one]


@methods.register("zscg")
@dataclass(frozen=True)
class ZSCG(Method):
    """Settings of ZSCG.

    Parameters
    ----------
    batch_size
        m_k, a number or a schedule, rounded up; the theory's is so large that experiments take
        a constant.
    """

    batch_size: Pairs = 100
    step_size: settings.StepSize = open_loop(2.0, 2.0)
    radius: settings.Radius = 1e-4
    law: Law = Gaussian()

    facts = Facts(
        use="the plainest stochastic method; a baseline",
        queries="2*m",
        letters={"m": "batch_size"},
        convex=r"$O(d/\varepsilon^3)$",
        nonconvex=r"$O(d/\varepsilon^4)$",
        estimate=Estimate("(d + 1)/m", "2/m", later="1"),
        share=0.75,
        within=10_000,
    )

    @classmethod
    def paper(cls, dim: int, iterations: int, *, convex: bool, B: float = 1.0, **other: Any) -> ZSCG:
        """The constants of the two theorems for N iterations, with B at least max{√(‖∇f‖² +
        σ²)/L, 1}.

        Convex: α_k = 6/(k + 5), ν = √(2B/(N²(d + 3)³)), m = 2B(d + 5)N². Non-convex: α = 1/√N,
        ν = √(2B/(N(d + 3)³)), m = 2B(d + 5)N.
        """
        settings.constants(dim=dim, iterations=iterations, B=B)
        M = iterations**2 if convex else iterations
        chosen: dict[str, Any] = {
            "batch_size": math.ceil(2 * B * (dim + 5) * M),
            "step_size": open_loop(6.0, 6.0) if convex else Constant(iterations**-0.5),
            "radius": math.sqrt(2 * B / (M * (dim + 3) ** 3)),
        }
        return cls(**(chosen | other))

    def check(self, task: Task) -> None:
        check_pairs(task, self.batch_size, self.law)

    def step(self, task: Task, state: Iterate, rng: np.random.Generator) -> Step:
        t, z = state.t, state.x
        alpha, nu = at(t, self.step_size, self.radius)
        G = yield from mean_of_pairs(task, z, pairs_at(self.batch_size, t), nu, self.law, rng)
        x = task.lmo(G)
        return Iterate(t + 1, x.move(z, alpha)), frank_wolfe_info(G, z, x, gamma=alpha)
