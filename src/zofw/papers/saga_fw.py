"""SAGA-FW: Frank-Wolfe with a memory of the last gradient of every component (Reddi, Sra,
Póczos and Smola 2016).

    α_i = x_0 for every i,  g_0 = (1/n) Σ_i ∇f_i(x_0)                                Σ(|support_i| + 1) queries
    for t = 0, 1, …:
        draw I_t and J_t, b components each, with replacement
        ĝ_t     = (1/b) Σ_{i in I_t} (∇f_i(x_t) − ∇f_i(α_i)) + g_t                   |support_i| + 1 queries for each
        s_t     = argmin over s in X of ⟨s, ĝ_t⟩
        x_{t+1} = x_t + γ_t (s_t − x_t)
        g_{t+1} = g_t + (1/n) Σ_{j in J_t} (∇f_j(x_t) − ∇f_j(α_j)),  α_j = x_t for j in J_t     as many again

∇f_i is made of forward differences along the coordinates that f_i depends on, ∂_j f_i ≈ [f_i(x
+ μe_j) − f_i(x)]/μ; where nothing is known of them these are all d. At t = 0 both corrections
are zero whatever I_0 and J_0 are, and nothing is asked for them.

The memory is one number for each coordinate of each component, Σ|support_i| in all.

References
----------
S. J. Reddi, S. Sra, B. Póczos, A. Smola, Stochastic Frank-Wolfe methods for nonconvex optimization, Allerton 2016, Algorithm 4.
A. Defazio, F. Bach, S. Lacoste-Julien, SAGA: a fast incremental gradient method, NeurIPS 2014.
"""

import math
from dataclasses import dataclass

import numpy as np

from zofw.algorithms import settings
from zofw.algorithms.method import Estimate, Facts, Iterate, Method, at, methods
from zofw.core import Array, Batch, Indices, Pattern, Purpose, Step, Task, frank_wolfe_info
from zofw.differences import OwnDifferences
from zofw.schedules import Power


@methods.register("saga-fw")
@dataclass(frozen=True)
class SAGAFW(Method):
    """SAGA-FW: a memory of the last gradient of every component; known supports make it
    cheaper.

    Parameters
    ----------
    batch_size
        b, the number of components in each of the two draws.
    """

    batch_size: settings.Count = settings.auto(
        "⌈n^{1/3}⌉, the paper's", lambda task, own: math.ceil(task.n ** (1 / 3))
    )
    step_size: settings.StepSize = settings.auto(
        "4/(t + 8n/b), at most 1/2: the memory lags by n/b iterations",
        lambda task, own: Power(4.0, 8.0 * (task.n / own.batch_size), cap=0.5),
    )
    radius: settings.Radius = 1e-6

    facts = Facts(
        queries="n*(d + 1) if t == 0 else 2*S*(d + 1)",
        estimate=Estimate("0", "0", later="1"),
        within=20_000,
    )

    @dataclass(frozen=True)
    class State(Iterate):
        """x_t; the list of all ∂_j f_i(α_i), where each component begins in it, and their mean g_t."""

        memory: Array
        starts: Indices
        g: Array

    def init(self, task: Task, x0: Array) -> State:
        return self.State(0, x0, np.zeros(0), np.zeros(0, dtype=np.int64), np.zeros(task.dim))

    def step(self, task: Task, state: State, rng: np.random.Generator) -> Step:
        t, x, b, starts = state.t, state.x, self.batch_size, state.starts
        gamma, mu = at(t, self.step_size, self.radius)
        if t == 0:
            own = OwnDifferences.of(x, task.all, task.pattern(task.all), mu, purpose=Purpose.REFRESH)
            memory, starts = own.filled(own.slopes((yield own.query))[0]), own.pattern.starts
            estimate = g = own.mean(memory)
        else:
            both = [task.sample(rng, b).slice(0, b) for _ in ("I", "J")]
            S = Batch(task.n, np.concatenate(both))
            own = OwnDifferences.of(x, S, task.pattern(S), mu)
            new, index, cut = own.slopes((yield own.query))[0], own.pattern.index, own.pattern.starts[b]
            place = Pattern(starts, index).places(S.slice(0, 2 * b))
            new = np.where(np.isnan(new), state.memory[place], new)  # where f failed
            change = new - state.memory[place]
            estimate = state.g + np.bincount(index[:cut], change[:cut], task.dim) / b
            _, drawn, times = np.unique(both[1], return_inverse=True, return_counts=True)
            # a component that is drawn twice moves g once
            once = change[cut:] / np.repeat(times[drawn], own.pattern.sizes[b:])
            g = state.g + np.bincount(index[cut:], once, task.dim) / task.n
            memory = state.memory.copy()
            memory[place[cut:]] = new[cut:]
        s = task.lmo(estimate)
        after = self.State(t + 1, s.move(x, gamma), memory, starts, g)
        return after, frank_wolfe_info(estimate, x, s, gamma=gamma)
