"""ZPDVR: zeroth-order proximal double variance reduction, with the projection as the proximal
map.

    w = x_0, h = 0, g̃ = ∇̂f(w, U) = U Δf(w)/b
    for t = 0, 1, …:
        with probability p (t > 0):  w = x_t
            h ← h + U(Δf(w) − Uᵀh)/(d + b + 1)                    memory, all n components
            g̃ = h + (1/b) U′(Δf(w) − U′ᵀh)                        a new U′, all n components
        g_t     = g̃ + (1/b) U″(Δf_S(x_t) − Δf_S(w))               the same U″ and batch S at both points
        x_{t+1} = Π_X(x_t − η g_t)

with Δ the forward differences along the columns of a fresh Gaussian d×b matrix each time; the
paper has b = |S| = 1, so that the memory's step is 1/(d + 2). The coin of an iteration is
thrown at its beginning, so that no query is spent on an estimate that nothing uses; the memory
gets new directions, where a public re-implementation uses those that made x_t. At t = 0 and
after a coin the difference is zero, for x_t = w, and is not asked for.

References
----------
H. Di, H. Ye, Y. Zhang, X. Chang, G. Dai, I. W. Tsang, Double variance reduction: a smoothing trick for composite
optimization problems without first-order gradient, ICML 2024.
"""

from dataclasses import dataclass
from typing import Self

import numpy as np

from zofw.algorithms import settings
from zofw.algorithms.method import Estimate, Facts, Iterate, Method, at, methods
from zofw.core import Array, Info, Law, Purpose, Query, Stencil, Step, Task
from zofw.differences import refine, refine_step, slopes, spider
from zofw.directions import Gaussian
from zofw.papers.projection import descent, projected_step


@methods.register("zpdvr")
@dataclass(frozen=True)
class ZPDVR(Method):
    """ZPDVR: double variance reduction with a projection. The default step is made for L = 1;
    divide it by L if L is known.

    Parameters
    ----------
    law
        Law of the directions, whose own constants replace d + b + 1 and 1/b.
    """

    batch_size: settings.Count = 1
    directions: settings.Count = 1
    refresh_probability: settings.Fraction = settings.auto(
        "batch_size/n", lambda task, own: min(1.0, own.batch_size / task.n)
    )
    step_size: settings.StepLength = settings.auto(
        "1/(4(1 + d/b)), as for L = 1", lambda task, own: descent(task, own.directions) / 4
    )
    radius: settings.Radius = 1e-4
    law: Law = Gaussian()
    stencil: settings.Differences = Stencil.FORWARD

    facts = Facts(
        queries="n*(b + 1) if t == 0 else 2*n*(b + 1) if refresh else 2*S*(b + 1)",
        lmo="0",
        estimate=Estimate("(d + 1)/b", "2/b", mean=None),
        units={"step_size": -1},
        within=20_000,
    )

    @dataclass(frozen=True)
    class State(Iterate):
        """x_t, the snapshot w, the memory h and the estimate g̃ at w."""

        w: Array
        h: Array
        g: Array

    @classmethod
    def paper(cls, n: int, step_size: float, **other: object) -> Self:
        """b = |S| = 1 and p = 1/n; η is of the order of 1/(dL), its constant the user's."""
        return cls.of(other, refresh_probability=1 / n, step_size=step_size)

    def step(self, task: Task, state: State, rng: np.random.Generator) -> Step:
        t, x, w, h, g_w, d, b = state.t, state.x, state.w, state.h, state.g, task.dim, self.directions
        eta, mu = at(t, self.step_size, self.radius)
        U, U_w, U_x = (self.law.draw(rng, d, b) for _ in range(3))
        scale, refresh = self.law.scale(d, b), t > 0 and rng.random() < self.refresh_probability
        w = x if t == 0 or refresh else w
        if refresh:
            query = Query(w, task.all, U, mu, self.stencil, Purpose.REFRESH)
            h = refine(h, U, slopes(query, (yield query))[0], refine_step(self.law, U))
        if refresh or t == 0:
            query = Query(w, task.all, U_w, mu, self.stencil, Purpose.REFRESH)
            g = g_w = refine(h, U_w, slopes(query, (yield query))[0], scale)
        else:
            query = Query(np.stack([x, w]), task.sample(rng, self.batch_size), U_x, mu, self.stencil)
            c = slopes(query, (yield query))
            g = spider(g_w, U_x, c, scale)
        x, info = projected_step(task, x, g, eta)
        return self.State(t + 1, x, w, h, g_w), Info(numbers={**info.numbers, "refresh": float(refresh)})
