"""Accelerated ZSCG: zeroth-order conditional gradient sliding for convex sums.

    x_0 = z_0
    for k = 1, …, N:
        w_k = (1 − α_k) z_{k−1} + α_k x_{k−1}
        G_k = the mean over m_k independent pairs at w_k, as in ZSCG
        x_k = ICG(x_{k−1}, G_k, γ_k, μ_k)
        z_k = (1 − α_k) z_{k−1} + α_k x_k

    ICG(x, g, γ, μ), an inexact minimiser of ⟨g, u⟩ + (γ/2)‖u − x‖² over X:
        ȳ = x
        for i = 1, 2, …:
            y = argmin over y in X of ⟨g + γ(ȳ − x), y⟩
            if ⟨g + γ(ȳ − x), y − ȳ⟩ ≥ −μ: return ȳ
            ȳ = (i − 1)/(i + 1) ȳ + 2/(i + 1) y

The point reported is z_k. A step costs one batch of queries and as many LMO calls as ICG takes.

References
----------
K. Balasubramanian, S. Ghadimi, Zeroth-order nonconvex stochastic optimization: handling constraints, high
dimensionality, and saddle points, Foundations of Computational Mathematics, 2022, Algorithms 2 and 3.
M. Jaggi, Revisiting Frank-Wolfe: projection-free sparse convex optimization, ICML 2013, Theorem 2.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from zofw.algorithms import settings
from zofw.algorithms.method import Estimate, Facts, Iterate, Method, at, methods
from zofw.core import Array, Info, Law, Step, Task
from zofw.directions import Gaussian
from zofw.papers.zscg import Pairs, check_pairs, mean_of_pairs, pairs_at
from zofw.schedules import Power


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


@methods.register("zscg-accelerated")
@dataclass(frozen=True)
class AcceleratedZSCG(Method):
    """Settings of accelerated ZSCG.

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

    batch_size: Pairs = 100
    smoothness: settings.Positive = 1.0
    distance: settings.Positive = settings.auto(
        "the squared diameter of the set", lambda task, own: task.diameter**2
    )
    tolerance: settings.Tolerance = settings.auto(
        "LD_0/k²", lambda task, own: Power(own.smoothness * own.distance, 1.0, 2.0)
    )
    radius: settings.Radius = 1e-4
    law: Law = Gaussian()

    facts = Facts(
        use="convex sums with a known L, if LMO calls are cheap",
        queries="2*m",
        lmo=("1", "ceil(7*(4*L/(t + 1))*R**2/mu) + 1"),
        vectors=2,
        letters={"m": "batch_size", "L": "smoothness"},
        convex=r"$O(d/\varepsilon^2)$",
        answers=("smooth",),
        estimate=Estimate("(d + 1)/m", "2/m"),
        units={"smoothness": 1, "tolerance": 1},
    )

    @dataclass(frozen=True)
    class State(Iterate):
        """z_t, reported as x, and the paper's x_t, here ``centre``."""

        centre: Array

    @classmethod
    def paper(
        cls, dim: int, iterations: int, *, L: float, distance: float, B: float = 1.0, **other: Any
    ) -> AcceleratedZSCG:
        """The theorem's constants for N iterations, with B at least max{√(‖∇f‖² + σ²)/L, 1}.

        α_k = 2/(k + 1), γ_k = 4L/k, μ_k = LD_0/(kN), ν = max{1/(d + 3), √(D_0/(d(N +
        1)))}/√(2N), m_k = k(k + 1)/D_0 · max{(d + 5)BN, d + 3}.
        """
        N, D0 = iterations, distance
        chosen: dict[str, Any] = {
            "batch_size": Triangular(max((dim + 5) * B * N, dim + 3) / D0),
            "tolerance": Power(L * D0 / N, 1.0),
            "radius": max(1 / (dim + 3), math.sqrt(D0 / (dim * (N + 1)))) / math.sqrt(2 * N),
        }
        return cls(smoothness=L, distance=D0, **(chosen | other))

    def check(self, task: Task) -> None:
        check_pairs(task, self.batch_size, self.law)

    def init(self, task: Task, x0: Array) -> State:
        return self.State(0, x0, x0)

    def step(self, task: Task, state: State, rng: np.random.Generator) -> Step:
        t, z, x = state.t, state.x, state.centre
        alpha, gamma = 2.0 / (t + 2), 4.0 * self.smoothness / (t + 1)  # k = t + 1
        mu, nu = at(t, self.tolerance, self.radius)
        w = (1.0 - alpha) * z + alpha * x
        G = yield from mean_of_pairs(task, w, pairs_at(self.batch_size, t), nu, self.law, rng)
        x = icg(task, x, G, gamma, mu)
        return self.State(t + 1, (1.0 - alpha) * z + alpha * x, x), Info(numbers={"gamma": alpha})


@dataclass(frozen=True)
class Triangular:
    """factor · (t + 1)(t + 2)."""

    factor: float

    def __call__(self, t: int) -> float:
        return self.factor * (t + 1) * (t + 2)
