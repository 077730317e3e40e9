"""SAGA-FW: Frank-Wolfe with a memory of the last gradient of every component (Reddi, Sra, Póczos and Smola 2016).

    α_i = x_0 for every i,  g_0 = (1/n) Σ_i ∇f_i(x_0)                                Σ(|support_i| + 1) queries
    for t = 0, 1, …:
        draw I_t and J_t, b components each, with replacement
        ĝ_t     = (1/b) Σ_{i in I_t} (∇f_i(x_t) − ∇f_i(α_i)) + g_t                   |support_i| + 1 queries for each
        s_t     = argmin over s in X of ⟨s, ĝ_t⟩
        x_{t+1} = x_t + γ_t (s_t − x_t)
        g_{t+1} = g_t + (1/n) Σ_{j in J_t} (∇f_j(x_t) − ∇f_j(α_j)),  α_j = x_t for j in J_t     as many again

∇f_i is made of forward differences along the coordinates that f_i depends on, ∂_j f_i ≈ [f_i(x + μe_j) − f_i(x)]/μ; where
nothing is known of them these are all d. At t = 0 both corrections are zero whatever I_0 and J_0 are, and nothing is asked
for them.

The memory is one number for each coordinate of each component, Σ|support_i| in all.

References
----------
S. J. Reddi, S. Sra, B. Póczos, A. Smola, Stochastic Frank-Wolfe methods for nonconvex optimization, Allerton 2016, Algorithm 4.
A. Defazio, F. Bach, S. Lacoste-Julien, SAGA: a fast incremental gradient method, NeurIPS 2014.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from zofw.algorithms import settings
from zofw.algorithms.facts import Estimate, Facts
from zofw.algorithms.registry import methods
from zofw.algorithms.settings import AUTO
from zofw.core import Array, Batch, Indices, Pattern, Purpose, Step, Task, frank_wolfe_info
from zofw.differences import OwnDifferences
from zofw.schedules import Power, Schedule, as_schedule


@methods.register("saga-fw")
@dataclass(frozen=True)
class SAGAFW:
    """Settings of SAGA-FW. Queries: n(d + 1) at t = 0, then 2b(d + 1); |support_i| in place of d where it is known.

    Parameters
    ----------
    batch_size
        b, components of each of the two draws; ⌈n^{1/3}⌉ by default, the paper's.
    step_size, radius
        γ_t and μ_t: numbers or schedules. γ_t = 4/(t + 8n/b), at most 1/2, by default: the memory lags by n/b iterations.
    """

    batch_size: int = AUTO
    step_size: float | Schedule = AUTO
    radius: float | Schedule = 1e-6

    name: ClassVar[str] = "saga-fw"
    facts: ClassVar[Facts] = Facts(
        use="components that depend on few coordinates each: text, matrix completion, graphs",
        queries="n*(d + 1) if t == 0 else 2*b*(d + 1)",
        vectors="n + 2",
        letters={"b": "batch_size"},
        nonconvex="n + n^{1/3}/ε²  gradients of components",
        estimate=Estimate("0", "0"),
        within=20_000,
    )

    @dataclass(frozen=True)
    class State:
        """x_t; ∇f_i(α_i) of every component along its coordinates, where each begins in that list; and their mean g_t."""

        t: int
        x: Array
        memory: Array
        starts: Indices
        g: Array

    def resolve(self, task: Task) -> tuple[SAGAFW, dict[str, str]]:
        b = self.batch_size or math.ceil(task.n ** (1 / 3))
        lag = task.n / max(1, b)
        return settings.fill(
            self,
            batch_size=(b, "⌈n^{1/3}⌉, the paper's"),
            step_size=(Power(4.0, 8.0 * lag, cap=0.5), "4/(t + 8n/b), the memory lagging by n/b iterations"),
        )

    def check(self, task: Task) -> None:
        settings.whole("batch_size", self.batch_size)
        settings.step_sizes(as_schedule(self.step_size))
        settings.radii(as_schedule(self.radius))

    def init(self, task: Task, x0: Array) -> State:
        return self.State(0, x0, np.zeros(0), np.zeros(0, dtype=np.int64), np.zeros(task.dim))

    def step(self, task: Task, state: State, rng: np.random.Generator) -> Step:
        t, x, b, starts = state.t, state.x, self.batch_size, state.starts
        gamma, mu = as_schedule(self.step_size)(t), as_schedule(self.radius)(t)
        if t == 0:
            own = OwnDifferences.of(x, task.all, task.pattern(task.all), mu, purpose=Purpose.REFRESH)
            memory, starts = own.slopes((yield own.query))[0], own.pattern.starts
            estimate = g = own.mean(memory)
        else:
            both = [task.sample(rng, b).slice(0, b) for _ in ("I", "J")]
            S = Batch(task.n, np.concatenate(both))
            own = OwnDifferences.of(x, S, task.pattern(S), mu)
            new, index, cut = own.slopes((yield own.query))[0], own.pattern.index, own.pattern.starts[b]
            place = Pattern(starts, index).places(S.slice(0, 2 * b))
            change = new - state.memory[place]
            estimate = state.g + np.bincount(index[:cut], change[:cut], task.dim) / b
            _, drawn, times = np.unique(both[1], return_inverse=True, return_counts=True)
            once = change[cut:] / np.repeat(
                times[drawn], own.pattern.sizes[b:]
            )  # a component drawn twice moves g once
            g = state.g + np.bincount(index[cut:], once, task.dim) / task.n
            memory = state.memory.copy()
            memory[place[cut:]] = new[cut:]
        s = task.lmo(estimate)
        after = self.State(t + 1, s.move(x, gamma), memory, starts, g)
        return after, frank_wolfe_info(estimate, x, s, gamma=gamma)
