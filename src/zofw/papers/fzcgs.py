"""FZCGS: faster zeroth-order conditional gradient sliding.

    for t = 0, 1, …:
        v_t     = the coordinate SPIDER estimate of FZFW
        x_{t+1} = condg(v_t, x_t, γ, η_t)            argmin of ⟨v_t, x⟩ + ‖x − x_t‖²/(2γ), to a gap of η_t

Departures: η_t = 1/(t + 1) by default, anytime, where the paper has 1/K; the inner loop stops after ``max_inner`` LMO
calls even above η_t; x is the last iterate, where the paper draws one at random. The paper's ε is that of the squared
gradient mapping, not of the Frank-Wolfe gap.

References
----------
H. Gao, H. Huang, Can stochastic zeroth-order Frank-Wolfe method converge faster for non-convex problems?, ICML 2020,
Algorithms 2 and 3.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from zofw.algorithms import settings
from zofw.algorithms.facts import Estimate, Facts
from zofw.algorithms.registry import methods
from zofw.algorithms.settings import AUTO
from zofw.core import Array, Info, Step, Task
from zofw.papers.condg import condg
from zofw.papers.fzfw import FZFW, coordinate_spider, root_batches
from zofw.schedules import Power, Schedule, as_schedule


@methods.register("fzcgs")
@dataclass(frozen=True)
class FZCGS:
    """Settings of FZCGS. Queries: 2nd every q iterations, 4|S|d otherwise; O(D²/(γη_t)) LMO calls.

    Parameters
    ----------
    smoothness
        L, with γ = 1/(3L).
    batch_size, period
        |S| and q; ⌈√n⌉ both by default.
    accuracy, radius
        η_t and μ_t: numbers or schedules.
    max_inner
        Most LMO calls in one iteration.
    """

    smoothness: float = 1.0
    batch_size: int = AUTO
    period: int = AUTO
    accuracy: float | Schedule = Power(1.0, 1.0)
    radius: float | Schedule = 1e-4
    max_inner: int = 1000

    name: ClassVar[str] = "fzcgs"
    facts: ClassVar[Facts] = Facts(
        use="known L, cheap LMO, gradient mapping as the measure",
        queries="2*n*d if t % q == 0 else 4*S*d",
        lmo=("1", "max_inner"),
        vectors=3,
        letters={"S": "batch_size", "q": "period", "max_inner": "max_inner"},
        nonconvex=r"$O(\sqrt n\,d/\varepsilon)$, squared gradient mapping",
        answers=("smooth",),
        estimate=Estimate("0", "0"),
        units={"smoothness": 1, "accuracy": 1},
    )

    @classmethod
    def paper(cls, n: int, dim: int, L: float, iterations: int, **other: Any) -> FZCGS:
        """Theorem 2 for K iterations: q = |S| = √n, γ = 1/(3L), η = 1/K, μ = 1/√(dK)."""
        root = math.ceil(math.sqrt(n))
        return cls(L, root, root, 1 / iterations, 1 / math.sqrt(dim * iterations), **other)

    def resolve(self, task: Task) -> tuple[FZCGS, dict[str, str]]:
        return settings.fill(self, **root_batches(task))

    def check(self, task: Task) -> None:
        settings.positive("smoothness", self.smoothness)
        settings.whole("batch_size", self.batch_size)
        settings.whole("period", self.period)
        settings.whole("max_inner", self.max_inner)
        settings.positive("accuracy at t = 0", as_schedule(self.accuracy)(0))
        settings.radii(as_schedule(self.radius))

    def init(self, task: Task, x0: Array) -> FZFW.State:
        return FZFW.State(0, x0, x0, np.zeros(task.dim))

    def step(self, task: Task, state: FZFW.State, rng: np.random.Generator) -> Step:
        t, x, gamma = state.t, state.x, 1.0 / (3.0 * self.smoothness)
        eta, mu = as_schedule(self.accuracy)(t), as_schedule(self.radius)(t)
        v = yield from coordinate_spider(task, state, rng, self.period, self.batch_size, mu)
        new, gap = condg(task, v, x, gamma, eta, self.max_inner)
        return FZFW.State(t + 1, new, x, v), Info(
            gap, at_start=True, numbers={"mapping": float(np.linalg.norm(x - new)) / gamma}
        )
