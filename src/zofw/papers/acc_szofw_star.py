"""Acc-SZOFW*: accelerated stochastic zeroth-order Frank-Wolfe with STORM estimates, without
large batches.

    x_0 = y_0 = z_0
    for t = 0, …, T − 1:
        v_t     = ∇̂f_S(z_t) + (1 − ρ_t)(v_{t−1} − ∇̂f_S(z_{t−1})),   v_0 = ∇̂f_S(z_0)
        w_t     = argmin over w in X of ⟨w, v_t⟩
        x_{t+1} = x_t + γ_t (w_t − x_t),      γ_t = min(1, (1 + θ_t) η_t),  θ_t = 1/((t + 1)(t + 2))
        y_{t+1} = z_t + η_t (w_t − z_t)
        z_{t+1} = (1 − α_{t+1}) y_{t+1} + α_{t+1} x_{t+1},                  α_t = 1/(t + 1)

with the same components and directions at z_t and z_{t−1}; CooGE and UniGE as in Acc-SZOFW. The
point reported is z_t, the last; the theory speaks of one drawn uniformly. The authors' code
multiplies γ_t by 6; the paper does not, nor is it here.

References
----------
F. Huang, L. Tao, S. Chen, Accelerated stochastic gradient-free and projection-free methods, ICML 2020, Algorithm 2.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from zofw.algorithms import settings
from zofw.algorithms.method import Estimate, Facts, Method, at, methods
from zofw.core import Array, Purpose, Step, Task, frank_wolfe_info
from zofw.differences import fresh, slopes, storm
from zofw.papers.acc_szofw import (
    AccSZOFW,
    Estimator,
    ask,
    momentum,
    per_sample,
    radius_from_step,
    radius_over_step,
)
from zofw.papers.horizon import constant_step, horizon
from zofw.schedules import Constant, Power, Schedule


def whole_run(task: Task, own: AccSZOFWStar) -> Schedule:
    """Return T^(−2/3), or its anytime form if the task has no limits."""
    T = horizon(task, 2 * own.batch_size * per_sample(own.estimator, task.dim))
    return constant_step(T, 2 / 3)


@methods.register("acc-szofw-star")
@dataclass(frozen=True)
class AccSZOFWStar(Method):
    """Settings of Acc-SZOFW*."""

    estimator: Estimator = "cooge"
    batch_size: settings.Count = 1
    step_size: settings.StepSize = settings.auto(
        "T^(-2/3) for the T iterations that budget and max_iter allow, else (t + 1)^(-2/3)", whole_run
    )
    averaging: settings.Averaging = Power(1.0, 1.0, 2 / 3)
    radius: settings.Radius = settings.auto(
        "d^-0.5 (CooGE) or d^-1.5 (UniGE) times the step", radius_from_step
    )

    State = AccSZOFW.State
    facts = Facts(
        use="no full batch can be paid, moderate d",
        queries="2*S*d if t == 0 else 4*S*d",
        vectors=4,
        nonconvex=r"$O(d/\varepsilon^3)$",
        estimate=Estimate("0", "0"),
    )

    @classmethod
    def paper(
        cls, dim: int, iterations: int, *, estimator: Estimator = "cooge", batch_size: int = 1, **other: Any
    ) -> AccSZOFWStar:
        """η = T^{−2/3}, ρ_t = (t + 1)^{−2/3}, μ = d^{−1/2}T^{−2/3} (CooGE), β = d^{−1}T^{−2/3} (UniGE)."""
        eta = iterations ** (-2 / 3)
        chosen: dict[str, Any] = {"radius": radius_over_step(estimator, dim) * eta} | other
        return cls(estimator, batch_size, Constant(eta), **chosen)

    def init(self, task: Task, x0: Array) -> AccSZOFW.State:
        return AccSZOFW.State(0, x0, x0, x0)

    def step(self, task: Task, state: AccSZOFW.State, rng: np.random.Generator) -> Step:
        t, x, z, v = state.t, state.lead, state.x, state.v
        eta, rho, mu = at(t, self.step_size, self.averaging, self.radius)
        points = z if v is None else np.stack([z, state.before])
        S = task.sample(rng, self.batch_size)
        U, scale, query = ask(self.estimator, points, S, mu, rng, Purpose.ESTIMATE)
        c = slopes(query, (yield query))
        v = fresh(U, c[0], scale) if v is None else storm(v, U, c, scale, rho)
        w = task.lmo(v)
        x_next, z_next = momentum(w, x, z, eta, t)
        return AccSZOFW.State(t + 1, z_next, x_next, z, v), frank_wolfe_info(v, z, w, gamma=eta)
