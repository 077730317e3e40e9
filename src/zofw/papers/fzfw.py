"""FZFW and FZCGS: coordinate estimates with SPIDER differences, Frank-Wolfe steps or sliding.

    for t = 0, 1, …:
        if t mod q = 0:  v_t = ∇̂f(x_t)                                          all n components
        otherwise:       v_t = v_{t−1} + (1/|S|) Σ_{i in S} [∇̂f_i(x_t) − ∇̂f_i(x_{t−1})]
        FZFW:   u_t     = argmin over u in X of ⟨u, v_t⟩
                x_{t+1} = x_t + γ (u_t − x_t)
        FZCGS:  x_{t+1} = condg(v_t, x_t, γ, η_t)            argmin of ⟨v_t, x⟩ + ‖x − x_t‖²/(2γ), to a gap of η_t

    condg(g, u, γ, η):  u_1 = u
        for k = 1, 2, …:
            v_k = argmax over v in X of ⟨g + (u_k − u)/γ, u_k − v⟩
            if that maximum is at most η: return u_k
            α_k     = min{1, ⟨(u − u_k)/γ − g, v_k − u_k⟩ / (‖v_k − u_k‖²/γ)}
            u_{k+1} = (1 − α_k) u_k + α_k v_k

with ∇̂h(x) = Σ_j [h(x + μe_j) − h(x − μe_j)]/(2μ) · e_j, and S drawn with replacement. condg
takes O(D²/(γη)) LMO calls and no query.

Departures: the paper's γ = 1/(D√K) of FZFW is a length and exceeds 1 on small sets, so it is
capped at 1; the defaults are the anytime γ_t = 2/(t + 2) and η_t = 1/(t + 1), where the paper
has 1/K; condg stops after ``max_inner`` LMO calls even above η_t; x is the last iterate, where
the paper draws one at random. FZCGS's ε is that of the squared gradient mapping, not of the
Frank-Wolfe gap.

References
----------
H. Gao, H. Huang, Can stochastic zeroth-order Frank-Wolfe method converge faster for non-convex problems?, ICML 2020,
Algorithms 1, 2 and 3.
G. Lan, Y. Zhou, Conditional gradient sliding for convex optimization, SIAM Journal on Optimization 26, 2016.
"""

import math
from collections.abc import Generator
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from zofw.algorithms import settings
from zofw.algorithms.method import Estimate, Facts, Iterate, Method, at, methods
from zofw.core import Answer, Array, Info, Purpose, Query, Stencil, Step, Task, frank_wolfe_info, gap
from zofw.differences import slopes, spider
from zofw.directions import basis
from zofw.schedules import Constant, Power, open_loop


def coordinate_spider(
    task: Task, state: Any, rng: np.random.Generator, period: int, size: int, mu: float
) -> Generator[Query, Answer, Array]:
    """Return v_t: all components every ``period`` iterations, else a difference."""
    U = basis(task.dim)
    if state.t % period == 0:
        query = Query(state.x, task.all, U, mu, Stencil.CENTRAL, Purpose.REFRESH)
        return np.asarray(slopes(query, (yield query))[0])
    query = Query(np.stack([state.x, state.before]), task.sample(rng, size), U, mu, Stencil.CENTRAL)
    return spider(state.g, U, slopes(query, (yield query)), 1.0)


def condg(task: Task, g: Array, u: Array, gamma: float, eta: float, most: int) -> tuple[Array, float]:
    """Return a proximal point after at most ``most`` LMO calls, and the gap of g at u."""
    w, first = u, 0.0
    for k in range(most):
        slope = g + (w - u) / gamma
        v = task.lmo(slope)
        promised = gap(slope, w, v)
        first = promised if k == 0 else first
        if promised <= eta:
            break
        length = v.dense() - w
        w = v.move(w, min(1.0, gamma * promised / float(length @ length)))
    return w, first


@methods.register("fzfw")
@dataclass(frozen=True)
class FZFW(Method):
    """FZFW: coordinate estimates with SPIDER differences, and Frank-Wolfe steps."""

    batch_size: settings.Count = settings.root_n("components in a difference")
    period: settings.Count = settings.root_n("iterations from one full batch to the next")
    step_size: settings.StepSize = open_loop(2.0, 2.0)
    radius: settings.Radius = 1e-4

    facts = Facts(queries="2*n*d if t % q == 0 else 4*S*d", estimate=Estimate("0", "0"))

    @dataclass(frozen=True)
    class State(Iterate):
        """x_t, the point before it, and v_{t−1}, the estimate made there."""

        before: Array
        g: Array

    @classmethod
    def paper(cls, n: int, dim: int, diameter: float, iterations: int, **other: object) -> Self:
        """Theorem 1 for K iterations: q = |S| = √n, γ = 1/(D√K), μ = 1/√(dK)."""
        settings.constants(n=n, dim=dim, diameter=diameter, iterations=iterations)
        gamma = Constant(min(1.0, 1 / (diameter * math.sqrt(iterations))))
        q, mu = settings.root(n), 1 / math.sqrt(dim * iterations)
        return cls.of(other, batch_size=q, period=q, step_size=gamma, radius=mu)

    def step(self, task: Task, state: State, rng: np.random.Generator) -> Step:
        t, x = state.t, state.x
        gamma, mu = at(t, self.step_size, self.radius)
        v = yield from coordinate_spider(task, state, rng, self.period, self.batch_size, mu)
        u = task.lmo(v)
        return self.State(t + 1, u.move(x, gamma), x, v), frank_wolfe_info(v, x, u, gamma=gamma)


@methods.register("fzcgs")
@dataclass(frozen=True)
class FZCGS(Method):
    """FZCGS: the same estimates, and conditional gradient sliding.

    Parameters
    ----------
    smoothness
        L, the Lipschitz constant of ∇f, with γ = 1/(3L).
    accuracy
        η_t, a number or a schedule.
    max_inner
        Maximum number of LMO calls in one iteration.
    """

    smoothness: settings.Positive = 1.0
    batch_size: settings.Count = settings.root_n("components in a difference")
    period: settings.Count = settings.root_n("iterations from one full batch to the next")
    accuracy: settings.Tolerance = Power(1.0, 1.0)
    radius: settings.Radius = 1e-4
    max_inner: settings.Count = 1000

    State = FZFW.State
    facts = replace(FZFW.facts, lmo=("1", "max_inner"), units={"smoothness": 1, "accuracy": 1})

    @classmethod
    def paper(cls, n: int, dim: int, L: float, iterations: int, **other: object) -> Self:
        """Theorem 2 for K iterations: q = |S| = √n, γ = 1/(3L), η = 1/K, μ = 1/√(dK)."""
        q, mu = settings.root(n), 1 / math.sqrt(dim * iterations)
        return cls.of(other, smoothness=L, batch_size=q, period=q, accuracy=1 / iterations, radius=mu)

    def step(self, task: Task, state: FZFW.State, rng: np.random.Generator) -> Step:
        t, x, gamma = state.t, state.x, 1.0 / (3.0 * self.smoothness)
        eta, mu = at(t, self.accuracy, self.radius)
        v = yield from coordinate_spider(task, state, rng, self.period, self.batch_size, mu)
        new, gap = condg(task, v, x, gamma, eta, self.max_inner)
        mapping = float(np.linalg.norm(x - new)) / gamma
        return FZFW.State(t + 1, new, x, v), Info(gap, at_start=True, numbers={"mapping": mapping})
