"""Acc-SZOFW: accelerated stochastic zeroth-order Frank-Wolfe with SPIDER estimates.

    x_0 = y_0 = z_0
    for t = 0, …, T − 1:
        if t mod q = 0:  v_t = ∇̂f(z_t), over all n components (finite sum) or b_1 sampled ones
        otherwise:       v_t = v_{t−1} + (1/b_2) Σ_{i in S} [∇̂f_i(z_t) − ∇̂f_i(z_{t−1})]
        w_t     = argmin over w in X of ⟨w, v_t⟩
        x_{t+1} = x_t + γ_t (w_t − x_t),      γ_t = min(1, (1 + θ_t) η_t),  θ_t = 1/((t + 1)(t + 2))
        y_{t+1} = z_t + η_t (w_t − z_t)
        z_{t+1} = (1 − α_{t+1}) y_{t+1} + α_{t+1} x_{t+1},                  α_t = 1/(t + 1)

CooGE: ∇̂f_i(z) = Σ_j [f_i(z + μe_j) − f_i(z − μe_j)]/2μ · e_j.
UniGE: ∇̂f_i(z) = (d/β)[f_i(z + βu_i) − f_i(z)] u_i, a fresh u_i on the unit sphere for each sample, the same one at both
points. Directions here have length √d, so that μ = β/√d and the factor d is in their length.

The point reported is z_t, the last; the theory speaks of one drawn uniformly. The authors' code differs from the paper,
and is not followed, in: η and the rivals' steps computed for T = 10⁶ whatever T is; directions uniform in a cube and then
normalised; α_t in place of α_{t+1}; a "full" gradient over at most 10⁴ samples.

References
----------
F. Huang, L. Tao, S. Chen, Accelerated stochastic gradient-free and projection-free methods, ICML 2020, Algorithm 1.
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
from zofw.atoms import Atom
from zofw.core import Array, Batch, Directions, Purpose, Query, Stencil, Step, Task, frank_wolfe_info
from zofw.differences import fresh, slopes, spider
from zofw.directions import Sphere, basis
from zofw.papers.horizon import Scaled, constant_step, horizon
from zofw.schedules import Constant, Schedule, as_schedule

Estimator = Literal["cooge", "unige"]
ESTIMATORS = ("cooge", "unige")
LEAST_SHIFT = {
    "cooge": 1e-6,
    "unige": 1e-7,
}  # ‖μu‖ below which rounding spoils a central, a forward difference


def ask(
    estimator: Estimator, points: Array, S: Batch, mu: float, rng: np.random.Generator, purpose: Purpose
) -> tuple[Directions, float, Query]:
    """U, its scale and the query for estimates of the sum over S at one or two points."""
    d = points.shape[-1]
    if estimator == "cooge":
        return basis(d), 1.0, Query(points, S, basis(d), mu, Stencil.CENTRAL, purpose)
    U = Sphere().draw(rng, d, len(S))
    return U, 1.0 / len(S), Query(points, S, U, mu, Stencil.FORWARD, purpose, paired=True)


def per_sample(estimator: Estimator, dim: int) -> int:
    """Queries of one estimate of one component at one point."""
    return 2 * dim if estimator == "cooge" else 2


def radius_over_step(estimator: Estimator, dim: int) -> float:
    """μ/η: d^(−1/2) for CooGE; β/η = 1/d for UniGE, hence d^(−3/2) along directions of length √d."""
    return math.pow(dim, -0.5 if estimator == "cooge" else -1.5)


def radius_from_step(estimator: Estimator, dim: int, step: float | Schedule) -> tuple[Scaled, str]:
    """The radius that goes with a step, kept above rounding, and the reason."""
    length = 1.0 if estimator == "cooge" else math.sqrt(dim)
    floor = LEAST_SHIFT[estimator] / length
    return Scaled(
        as_schedule(step), radius_over_step(estimator, dim), floor
    ), "the paper's multiple of the step size"


def momentum(w: Atom, x: Array, z: Array, eta: float, t: int) -> tuple[Array, Array]:
    """x_{t+1} and z_{t+1}."""
    theta, alpha = 1.0 / ((t + 1) * (t + 2)), 1.0 / (t + 2)  # α_{t+1}
    x = w.move(x, min(1.0, (1.0 + theta) * eta))
    y = w.move(z, eta)
    return x, (1.0 - alpha) * y + alpha * x


@methods.register("acc-szofw")
@dataclass(frozen=True)
class AccSZOFW:
    """Settings of Acc-SZOFW.

    Queries, CooGE: 2nd (or 2b_1 d) when t mod q = 0, else 4b_2 d. UniGE: 2n (or 2b_1), else 4b_2. One LMO call.

    Parameters
    ----------
    estimator
        ``"cooge"`` or ``"unige"``.
    batch_size, epoch
        b_2 and q; both ⌈√n⌉ by default.
    epoch_batch
        b_1, drawn with replacement; None for each of the n components once.
    step_size
        η_t; by default T^{−1/2} for the T iterations that the limits pay, or (t + 1)^{−1/2} where there is no limit.
    radius
        μ_t; d^{−1/2}η_t (CooGE) or d^{−3/2}η_t (UniGE) by default.
    """

    estimator: Estimator = "cooge"
    batch_size: int = AUTO
    epoch: int = AUTO
    epoch_batch: int | None = None
    step_size: float | Schedule = AUTO
    radius: float | Schedule = AUTO

    name: ClassVar[str] = "acc-szofw"
    facts: ClassVar[Facts] = Facts(
        use="moderate d, momentum on top of SPIDER differences",
        queries="2*n*d if t % q == 0 else 4*S*d",
        vectors=4,
        letters={"S": "batch_size", "q": "epoch"},
        nonconvex=r"$O(\sqrt n\,d/\varepsilon^2)$",
        answers=("otherwise",),
        estimate=Estimate("0", "0"),
    )

    @dataclass(frozen=True)
    class State:
        """z_t, which is reported as x; the paper's x_t, here ``lead``; z_{t−1} and v_{t−1}."""

        t: int
        x: Array
        lead: Array
        before: Array
        v: Array | None = None

    @classmethod
    def paper(
        cls, dim: int, iterations: int, *, n: int | None = None, estimator: Estimator = "cooge", **other: Any
    ) -> AccSZOFW:
        """η = T^{−1/2}, μ = (dT)^{−1/2} (CooGE), β = d^{−1}T^{−1/2} (UniGE).

        With n, the finite sum: b_2 = q = ⌈√n⌉. Without, the stochastic case: b_1 = T (CooGE) or ⌈T/d⌉ (UniGE) and
        b_2 = q = ⌈√T⌉. Any of them may be given instead.
        """
        settings.constants(dim=dim, iterations=iterations)
        T, root = iterations, math.ceil(math.sqrt(iterations if n is None else n))
        first = T if estimator == "cooge" else math.ceil(T / dim)
        sizes = {"batch_size": root, "epoch": root, "epoch_batch": first if n is None else None}
        eta = T**-0.5
        chosen: dict[str, Any] = sizes | {"radius": radius_over_step(estimator, dim) * eta} | other
        return cls(estimator, step_size=Constant(eta), **chosen)

    def resolve(self, task: Task) -> tuple[AccSZOFW, dict[str, str]]:
        settings.choice("estimator", self.estimator, ESTIMATORS)
        root = math.ceil(math.sqrt(task.n))
        b, q = self.batch_size or root, self.epoch or root
        one = per_sample(self.estimator, task.dim)
        eta, reason = constant_step(horizon(task, one * (self.epoch_batch or task.n), 2 * one * b, q), 0.5)
        return settings.fill(
            self,
            batch_size=(b, "ceil(sqrt(n)) components in a difference"),
            epoch=(q, "ceil(sqrt(n)) iterations from one full estimate to the next"),
            step_size=(eta, reason),
            radius=radius_from_step(self.estimator, task.dim, self.step_size or eta),
        )

    def check(self, task: Task) -> None:
        settings.whole("batch_size", self.batch_size)
        settings.whole("epoch", self.epoch)
        if self.epoch_batch is not None:
            settings.whole("epoch_batch", self.epoch_batch)
        settings.step_sizes(as_schedule(self.step_size))
        settings.radii(as_schedule(self.radius))

    def init(self, task: Task, x0: Array) -> State:
        return self.State(0, x0, x0, x0)

    def step(self, task: Task, state: State, rng: np.random.Generator) -> Step:
        t, x, z, v = state.t, state.lead, state.x, state.v
        eta, mu = as_schedule(self.step_size)(t), as_schedule(self.radius)(t)
        if v is None or t % self.epoch == 0:
            S = task.all if self.epoch_batch is None else task.sample(rng, self.epoch_batch)
            U, scale, query = ask(self.estimator, z, S, mu, rng, Purpose.REFRESH)
            v = fresh(U, slopes(query, (yield query))[0], scale)
        else:
            S = task.sample(rng, self.batch_size)
            points = np.stack([z, state.before])
            U, scale, query = ask(self.estimator, points, S, mu, rng, Purpose.ESTIMATE)
            c = slopes(query, (yield query))
            v = spider(v, U, c, scale)
        w = task.lmo(v)
        x_next, z_next = momentum(w, x, z, eta, t)
        return self.State(t + 1, z_next, x_next, z, v), frank_wolfe_info(v, z, w, gamma=eta)
