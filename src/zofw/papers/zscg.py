"""ZSCG and accelerated ZSCG: zeroth-order stochastic conditional gradient, and conditional
gradient sliding for convex sums.

    for k = 1, …, N:                                                         ZSCG
        G_k = (1/m_k) Σ_j [F(z_{k−1} + νu_j; ξ_j) − F(z_{k−1}; ξ_j)]/ν · u_j,   m_k independent pairs (ξ_j, u_j)
        x_k = argmin over x in X of ⟨G_k, x⟩
        z_k = (1 − α_k) z_{k−1} + α_k x_k

    x_0 = z_0
    for k = 1, …, N:                                                         accelerated
        w_k = (1 − α_k) z_{k−1} + α_k x_{k−1}
        G_k = the mean over m_k independent pairs at w_k
        x_k = ICG(x_{k−1}, G_k, γ_k, μ_k)
        z_k = (1 − α_k) z_{k−1} + α_k x_k

    ICG(x, g, γ, μ), an inexact minimiser of ⟨g, u⟩ + (γ/2)‖u − x‖² over X:
        ȳ = x
        for i = 1, 2, …:
            y = argmin over y in X of ⟨g + γ(ȳ − x), y⟩
            if ⟨g + γ(ȳ − x), y − ȳ⟩ ≥ −μ: return ȳ
            ȳ = (i − 1)/(i + 1) ȳ + 2/(i + 1) y

The point reported is z_k, the last: what the convex theory bounds; the non-convex theory speaks
of one drawn uniformly.

References
----------
K. Balasubramanian, S. Ghadimi, Zeroth-order nonconvex stochastic optimization: handling constraints, high
dimensionality, and saddle points, Foundations of Computational Mathematics, 2022, Algorithms 1, 2 and 3.
M. Jaggi, Revisiting Frank-Wolfe: projection-free sparse convex optimization, ICML 2013, Theorem 2.
"""

import math
from collections.abc import Generator
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from zofw.algorithms import settings
from zofw.algorithms.method import Estimate, Facts, Iterate, Method, at, methods
from zofw.core import Answer, Array, Info, Law, Query, Stencil, Step, Task, frank_wolfe_info
from zofw.differences import fresh, slopes
from zofw.directions import Gaussian
from zofw.schedules import Constant, Power, as_schedule, open_loop


def mean_of_pairs(
    task: Task, z: Array, m: int, nu: float, law: Law, rng: np.random.Generator
) -> Generator[Query, Answer, Array]:
    """Return G, the mean over m pairs of a component and a direction; 2m queries."""
    U = law.draw(rng, task.dim, m)
    query = Query(z, task.sample(rng, m), U, nu, Stencil.FORWARD, paired=True)
    return fresh(U, slopes(query, (yield query))[0], law.scale(task.dim, m))


def check_pairs(self: Any, task: Task) -> None:
    """Raise ValueError if the law cannot supply a direction for every pair."""
    for t in (0, 1, 1000):
        self.law.check(task.dim, math.ceil(as_schedule(self.batch_size)(t)))


@methods.register("zscg")
@dataclass(frozen=True)
class ZSCG(Method):
    """ZSCG: zeroth-order stochastic conditional gradient, without memory.

    Parameters
    ----------
    batch_size
        m_k, a number or a schedule, rounded up; the theory's is so large that experiments take
        a constant.
    """

    batch_size: settings.Pairs = 100
    step_size: settings.StepSize = open_loop(2.0, 2.0)
    radius: settings.Radius = 1e-4
    law: Law = Gaussian()

    check = check_pairs
    facts = Facts("2*S", estimate=Estimate("(d + 1)/S", "2/S", later="1"), share=0.75, within=10_000)

    @classmethod
    def paper(cls, dim: int, iterations: int, *, convex: bool, B: float = 1.0, **other: object) -> Self:
        """The constants of the two theorems for N iterations, with B at least max{√(‖∇f‖² +
        σ²)/L, 1}.

        Convex: α_k = 6/(k + 5), ν = √(2B/(N²(d + 3)³)), m = 2B(d + 5)N². Non-convex: α = 1/√N,
        ν = √(2B/(N(d + 3)³)), m = 2B(d + 5)N.
        """
        settings.constants(dim=dim, iterations=iterations, B=B)
        M = iterations**2 if convex else iterations
        alpha = open_loop(6.0, 6.0) if convex else Constant(iterations**-0.5)
        m, nu = math.ceil(2 * B * (dim + 5) * M), math.sqrt(2 * B / (M * (dim + 3) ** 3))
        return cls.of(other, batch_size=m, step_size=alpha, radius=nu)

    def step(self, task: Task, state: Iterate, rng: np.random.Generator) -> Step:
        t, z = state.t, state.x
        m, alpha, nu = at(t, self.batch_size, self.step_size, self.radius)
        G = yield from mean_of_pairs(task, z, math.ceil(m), nu, self.law, rng)
        x = task.lmo(G)
        return Iterate(t + 1, x.move(z, alpha)), frank_wolfe_info(G, z, x, gamma=alpha)


@dataclass(frozen=True)
class Triangular:
    """factor · (t + 1)(t + 2)."""

    factor: float

    def __call__(self, t: int) -> float:
        return self.factor * (t + 1) * (t + 2)


@methods.register("zscg-accelerated")
@dataclass(frozen=True)
class AcceleratedZSCG(Method):
    """Accelerated ZSCG: zeroth-order conditional gradient sliding for convex sums.

    Parameters
    ----------
    batch_size
        m_k, a number or a schedule, rounded up.
    smoothness
        L, the Lipschitz constant of ∇f, which the method needs. Too small a number turns it
        into ZSCG with extrapolation, too large a one into short steps.
    distance
        D_0 ≥ ‖x_0 − x*‖².
    tolerance
        μ_k; the default is the paper's LD_0/(kN) with N = k, which needs no N.
    """

    batch_size: settings.Pairs = 100
    smoothness: settings.Positive = 1.0
    distance: settings.Positive = settings.auto(
        "the squared diameter of the set", lambda task, own: task.diameter**2
    )
    tolerance: settings.Tolerance = settings.auto(
        "LD_0/k²", lambda task, own: Power(own.smoothness * own.distance, 1.0, 2.0)
    )
    radius: settings.Radius = 1e-4
    law: Law = Gaussian()

    check = check_pairs
    facts = Facts(
        queries="2*S",
        lmo=("1", "ceil(7*(4*smoothness/(t + 1))*R**2/mu) + 1"),
        estimate=Estimate("(d + 1)/S", "2/S"),
        units={"smoothness": 1, "tolerance": 1},
    )

    @dataclass(frozen=True)
    class State(Iterate):
        """z_t, reported as x, and the paper's x_t, here ``centre``."""

        centre: Array

    @classmethod
    def paper(
        cls, dim: int, iterations: int, *, L: float, distance: float, B: float = 1.0, **other: object
    ) -> Self:
        """The theorem's constants for N iterations, with B at least max{√(‖∇f‖² + σ²)/L, 1}.

        α_k = 2/(k + 1), γ_k = 4L/k, μ_k = LD_0/(kN), ν = max{1/(d + 3), √(D_0/(d(N +
        1)))}/√(2N), m_k = k(k + 1)/D_0 · max{(d + 5)BN, d + 3}.
        """
        N, D0 = iterations, distance
        m, mu = Triangular(max((dim + 5) * B * N, dim + 3) / D0), Power(L * D0 / N, 1.0)
        nu = max(1 / (dim + 3), math.sqrt(D0 / (dim * (N + 1)))) / math.sqrt(2 * N)
        return cls.of(other, batch_size=m, smoothness=L, distance=D0, tolerance=mu, radius=nu)

    def init(self, task: Task, x0: Array) -> State:
        return self.State(0, x0, x0)

    def step(self, task: Task, state: State, rng: np.random.Generator) -> Step:
        t, z, x = state.t, state.x, state.centre
        alpha, gamma = 2.0 / (t + 2), 4.0 * self.smoothness / (t + 1)  # k = t + 1
        m, mu, nu = at(t, self.batch_size, self.tolerance, self.radius)
        w = (1.0 - alpha) * z + alpha * x
        G = yield from mean_of_pairs(task, w, math.ceil(m), nu, self.law, rng)
        x = icg(task, x, G, gamma, mu)
        return self.State(t + 1, (1.0 - alpha) * z + alpha * x, x), Info(numbers={"gamma": alpha})


def icg(task: Task, x: Array, g: Array, gamma: float, mu: float) -> Array:
    """Return a point of X whose Frank-Wolfe gap in ⟨g, u⟩ + (γ/2)‖u − x‖² is at most μ.

    The loop ends by itself within 27/4 · γR²/μ iterations (Jaggi's Theorem 2 with curvature
    γR²); the limit is that number, so it acts only if rounding keeps the gap above μ.
    """
    y_bar = x
    for i in range(1, math.ceil(7.0 * gamma * task.diameter**2 / mu) + 2):
        slope = g + gamma * (y_bar - x)
        y = task.lmo(slope)
        if y.dot(slope) - float(slope @ y_bar) >= -mu:
            break
        y_bar = y.move(y_bar, 2.0 / (i + 1))
    return y_bar
