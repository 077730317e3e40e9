"""ZIVR-FW: Frank-Wolfe with an incremental memory of single partial derivatives of single
components.

    J = 0, a d×n table with row mean J̄
    for t = 0, 1, …:
        draw b different coordinates j_k, and for each a component i_k with replacement
        c_k     = [f_{i_k}(x_t + τe_{j_k}) − f_{i_k}(x_t − τe_{j_k})]/(2τ)           2b queries in all
        ĝ_t     = J̄ + (d/b) Σ_k (c_k − J_{j_k i_k}) e_{j_k}
        J_{j_k i_k} ← c_k, with it J̄_{j_k} ← J̄_{j_k} + (c_k − old)/n
        g_t     = (1 − ρ_t) g_{t−1} + ρ_t ĝ_t,  g_{−1} = 0
        s_t     = argmin over s in X of ⟨s, g_t⟩
        x_{t+1} = x_t + γ_t (s_t − x_t)

Each pair (i_k, j_k) is uniform on the n·d pairs and J does not depend on it, so E ĝ_t = J̄ +
∇f(x_t) − J̄ = ∇f(x_t): unbiased whatever J holds, up to O(τ²). Its variance is at most (d/b)
Σ_j (1/n) Σ_i (∂_j f_i(x_t) − J_ji)², which vanishes as the table catches up with a slowing x.
What is known goes no further: the paper's method takes proximal steps and its linear rate needs
strong convexity; with a Frank-Wolfe step the table lags by about nd/b iterations of length at
most γ_tR, which is why γ_t is 4/(t + 8nd/b) and ĝ_t is averaged. No rate is proved here.

The table is what it costs: nd numbers, copied once an iteration.

References
----------
Zhang, Tang, arXiv:2601.05056, 2026 (ZIVR: the table, with proximal steps).
A. Defazio, F. Bach, S. Lacoste-Julien, SAGA: a fast incremental gradient method, NeurIPS 2014 (the correction).
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from zofw.algorithms import settings
from zofw.algorithms.method import Estimate, Facts, Iterate, Method, at, methods
from zofw.core import Array, Law, Query, Stencil, Step, Task, frank_wolfe_info
from zofw.differences import average, slopes
from zofw.directions import Coordinate
from zofw.schedules import Power


@methods.register("zivr-fw")
@dataclass(frozen=True)
class ZIVRFW(Method):
    """ZIVR-FW: a memory of single partial derivatives of single components.

    Parameters
    ----------
    directions
        b, the number of pairs of a coordinate and a component in an iteration.
    """

    directions: settings.Count = settings.auto("every coordinate once", lambda task, own: task.dim)
    step_size: settings.StepSize = settings.auto(
        "4/(t + 8nd/b), at most 1/2: the table lags by nd/b iterations",
        lambda task, own: Power(4.0, 8.0 * (task.n * task.dim / own.directions), cap=0.5),
    )
    averaging: settings.Averaging = Power(4.0, 8.0, 2 / 3, cap=1.0)
    radius: settings.Radius = 1e-4

    law: ClassVar[Law] = Coordinate()
    facts = Facts(queries="2*b", estimate=Estimate("d/b - 1", later="rho"), within=10_000)

    @dataclass(frozen=True)
    class State(Iterate):
        """x_t, the table J (d, n), its row mean J̄, and the average g_{t−1}."""

        table: Array
        mean: Array
        g: Array

    def init(self, task: Task, x0: Array) -> State:
        nothing = np.zeros(task.dim)
        return self.State(0, x0, np.zeros((task.dim, task.n)), nothing, nothing)

    def step(self, task: Task, state: State, rng: np.random.Generator) -> Step:
        t, x, d, n, b = state.t, state.x, task.dim, task.n, self.directions
        gamma, rho, tau = at(t, self.step_size, self.averaging, self.radius)
        U = Coordinate().draw(rng, d, b)
        S = task.sample(rng, b)
        query = Query(x, S, U, tau, Stencil.CENTRAL, paired=True)
        c = slopes(query, (yield query))[0]
        i, j, table = S.slice(0, b), U.index, state.table.copy()
        new = U @ (c - table[j, i])
        table[j, i] = c
        g = average(state.g, state.mean + d / b * new, rho)
        s = task.lmo(g)
        after = self.State(t + 1, s.move(x, gamma), table, state.mean + new / n, g)
        return after, frank_wolfe_info(g, x, s, gamma=gamma)
