"""Acc-SZOFW and Acc-SZOFW*: accelerated stochastic zeroth-order Frank-Wolfe.

    x_0 = y_0 = z_0
    for t = 0, …, T − 1:
        Acc-SZOFW:   if t mod q = 0:  v_t = ∇̂f(z_t), over all n components (finite sum) or b_1 sampled ones
                     otherwise:       v_t = v_{t−1} + (1/b_2) Σ_{i in S} [∇̂f_i(z_t) − ∇̂f_i(z_{t−1})]          SPIDER
        Acc-SZOFW*:  v_t = ∇̂f_S(z_t) + (1 − ρ_t)(v_{t−1} − ∇̂f_S(z_{t−1})),   v_0 = ∇̂f_S(z_0)               STORM
        w_t     = argmin over w in X of ⟨w, v_t⟩
        x_{t+1} = x_t + γ_t (w_t − x_t),      γ_t = min(1, (1 + θ_t) η_t),  θ_t = 1/((t + 1)(t + 2))
        y_{t+1} = z_t + η_t (w_t − z_t)
        z_{t+1} = (1 − α_{t+1}) y_{t+1} + α_{t+1} x_{t+1},                  α_t = 1/(t + 1)

CooGE: ∇̂f_i(z) = Σ_j [f_i(z + μe_j) − f_i(z − μe_j)]/2μ · e_j. UniGE: ∇̂f_i(z) = (d/β)[f_i(z +
βu_i) − f_i(z)] u_i, a fresh u_i on the unit sphere for each sample, the same one at both
points. Directions here have length √d, so that μ = β/√d and the factor d is in their length.

The point reported is z_t, the last; the theory speaks of one drawn uniformly. The authors' code
differs from the paper, and is not followed, in: η and the rivals' steps computed for T = 10⁶
whatever T is; directions uniform in a cube and then normalised; α_t in place of α_{t+1}; a
"full" gradient over at most 10⁴ samples; 6γ_t in Acc-SZOFW*.

References
----------
F. Huang, L. Tao, S. Chen, Accelerated stochastic gradient-free and projection-free methods, ICML 2020,
Algorithms 1 and 2.
"""

import math
from dataclasses import dataclass
from typing import Any, Literal, Self

import numpy as np

from zofw.algorithms import settings
from zofw.algorithms.method import Estimate, Facts, Iterate, Method, at, methods
from zofw.atoms import Atom
from zofw.core import Array, Batch, Directions, Purpose, Query, Stencil, Step, Task, frank_wolfe_info
from zofw.differences import fresh, slopes, spider, storm
from zofw.directions import Sphere, basis
from zofw.papers.horizon import horizon, root_of_horizon
from zofw.schedules import Constant, Power, Scaled, as_schedule

Estimator = Literal["cooge", "unige"]
LEAST_SHIFT = {"cooge": 1e-6, "unige": 1e-7}
"""The smallest ‖μu‖ for which rounding does not spoil a difference."""


def ask(
    estimator: Estimator, points: Array, S: Batch, mu: float, rng: np.random.Generator, purpose: Purpose
) -> tuple[Directions, float, Query]:
    """Return U, its scale and the query for estimates over S at one or two points."""
    d = points.shape[-1]
    if estimator == "cooge":
        return basis(d), 1.0, Query(points, S, basis(d), mu, Stencil.CENTRAL, purpose)
    U = Sphere().draw(rng, d, len(S))
    return U, 1.0 / len(S), Query(points, S, U, mu, Stencil.FORWARD, purpose, paired=True)


def radius_over_step(estimator: Estimator, dim: int) -> float:
    """Return μ/η: d^(−1/2) for CooGE; d^(−3/2) for UniGE, as β/η = 1/d."""
    return math.pow(dim, -0.5 if estimator == "cooge" else -1.5)


def radius_from_step(task: Task, own: Any) -> Scaled:
    """Return the paper's multiple of the step, kept above rounding."""
    floor = LEAST_SHIFT[own.estimator] / (1.0 if own.estimator == "cooge" else math.sqrt(task.dim))
    return Scaled(as_schedule(own.step_size), radius_over_step(own.estimator, task.dim), floor)


def iterations(task: Task, own: Any) -> int | None:
    """Return the T that the limits of a task pay for."""
    one = (
        2 * task.dim if own.estimator == "cooge" else 2
    )  # queries of an estimate of one component at one point
    if isinstance(own, AccSZOFWStar):
        return horizon(task, 2 * own.batch_size * one)
    return horizon(task, one * (own.epoch_batch or task.n), 2 * one * own.batch_size, own.epoch)


def momentum(w: Atom, x: Array, z: Array, eta: float, t: int) -> tuple[Array, Array]:
    """Return z_{t+1} and x_{t+1}."""
    theta, alpha = 1.0 / ((t + 1) * (t + 2)), 1.0 / (t + 2)  # α_{t+1}
    x = w.move(x, min(1.0, (1.0 + theta) * eta))
    y = w.move(z, eta)
    return (1.0 - alpha) * y + alpha * x, x


@methods.register("acc-szofw")
@dataclass(frozen=True)
class AccSZOFW(Method):
    """Acc-SZOFW: momentum on top of SPIDER differences.

    Parameters
    ----------
    epoch
        q, the number of iterations from one estimate over b_1 components to the next.
    epoch_batch
        b_1, drawn with replacement; None for each of the n components once.
    """

    estimator: Estimator = "cooge"
    batch_size: settings.Count = settings.root_n("components in a difference")
    epoch: settings.Count = settings.root_n("iterations from one full estimate to the next")
    epoch_batch: settings.Count | None = None
    step_size: settings.StepSize = root_of_horizon(0.5, iterations)
    radius: settings.Radius = settings.auto(
        "d^-0.5 (CooGE) or d^-1.5 (UniGE) times the step", radius_from_step
    )

    facts = Facts(queries="2*n*d if t % epoch == 0 else 4*S*d", estimate=Estimate("0", "0"))

    @dataclass(frozen=True)
    class State(Iterate):
        """z_t, which is reported as x; the paper's x_t, here ``lead``; z_{t−1} and v_{t−1}."""

        lead: Array
        before: Array
        v: Array | None = None

    @classmethod
    def paper(
        cls,
        dim: int,
        iterations: int,
        *,
        n: int | None = None,
        estimator: Estimator = "cooge",
        **other: object,
    ) -> Self:
        """η = T^{−1/2}, μ = (dT)^{−1/2} (CooGE), β = d^{−1}T^{−1/2} (UniGE).

        With n, the finite sum: b_2 = q = ⌈√n⌉. Without, the stochastic case: b_1 = T (CooGE) or
        ⌈T/d⌉ (UniGE) and b_2 = q = ⌈√T⌉. Any of them may be given instead.
        """
        settings.constants(dim=dim, iterations=iterations)
        T, size = iterations, settings.root(iterations if n is None else n)
        first = T if estimator == "cooge" else math.ceil(T / dim)
        sizes = {"batch_size": size, "epoch": size, "epoch_batch": first if n is None else None}
        eta = T**-0.5
        radius = radius_over_step(estimator, dim) * eta
        return cls.of(sizes | other, estimator=estimator, step_size=Constant(eta), radius=radius)

    def init(self, task: Task, x0: Array) -> State:
        return self.State(0, x0, x0, x0)

    def step(self, task: Task, state: State, rng: np.random.Generator) -> Step:
        t, x, z, v = state.t, state.lead, state.x, state.v
        eta, mu = at(t, self.step_size, self.radius)
        if v is None or t % self.epoch == 0:
            S = task.all if self.epoch_batch is None else task.sample(rng, self.epoch_batch)
            U, scale, query = ask(self.estimator, z, S, mu, rng, Purpose.REFRESH)
            v = fresh(U, slopes(query, (yield query))[0], scale)
        else:
            S = task.sample(rng, self.batch_size)
            points = np.stack([z, state.before])
            U, scale, query = ask(self.estimator, points, S, mu, rng, Purpose.ESTIMATE)
            v = spider(v, U, slopes(query, (yield query)), scale)
        w = task.lmo(v)
        return self.State(t + 1, *momentum(w, x, z, eta, t), z, v), frank_wolfe_info(v, z, w, gamma=eta)


@methods.register("acc-szofw-star")
@dataclass(frozen=True)
class AccSZOFWStar(Method):
    """Acc-SZOFW*: momentum on top of STORM estimates, without large batches."""

    estimator: Estimator = "cooge"
    batch_size: settings.Count = 1
    step_size: settings.StepSize = root_of_horizon(2 / 3, iterations)
    averaging: settings.Averaging = Power(1.0, 1.0, 2 / 3)
    radius: settings.Radius = settings.auto(
        "d^-0.5 (CooGE) or d^-1.5 (UniGE) times the step", radius_from_step
    )

    State = AccSZOFW.State
    facts = Facts(queries="2*S*d if t == 0 else 4*S*d", estimate=Estimate("0", "0"))

    @classmethod
    def paper(cls, dim: int, iterations: int, *, estimator: Estimator = "cooge", **other: object) -> Self:
        """η = T^{−2/3}, ρ_t = (t + 1)^{−2/3}, μ = d^{−1/2}η (CooGE), β = d^{−1}η (UniGE)."""
        eta = iterations ** (-2 / 3)
        radius = radius_over_step(estimator, dim) * eta
        return cls.of(other, estimator=estimator, step_size=Constant(eta), radius=radius)

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
        return AccSZOFW.State(t + 1, *momentum(w, x, z, eta, t), z, v), frank_wolfe_info(v, z, w, gamma=eta)
