"""FZCGS: faster zeroth-order conditional gradient sliding.

    for t = 0, 1, …:
        v_t     = the coordinate SPIDER estimate of FZFW
        x_{t+1} = condg(v_t, x_t, γ, η_t)            argmin of ⟨v_t, x⟩ + ‖x − x_t‖²/(2γ), to a gap of η_t

Departures: η_t = 1/(t + 1) by default, anytime, where the paper has 1/K; the inner loop stops
after ``max_inner`` LMO calls even above η_t; x is the last iterate, where the paper draws one
at random. The paper's ε is that of the squared gradient mapping, not of the Frank-Wolfe gap.

References
----------
H. Gao, H. Huang, Can stochastic zeroth-order Frank-Wolfe method converge faster for non-convex problems?, ICML 2020,
Algorithms 2 and 3.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from zofw.algorithms import settings
from zofw.algorithms.method import Estimate, Facts, Method, at, methods
from zofw.core import Info, Step, Task
from zofw.papers.condg import condg
from zofw.papers.fzfw import FZFW, coordinate_spider
from zofw.schedules import Power


@methods.register("fzcgs")
@dataclass(frozen=True)
class FZCGS(Method):
    """Settings of FZCGS.

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
    facts = Facts(
        use="known L, cheap LMO, gradient mapping as the measure",
        queries="2*n*d if t % q == 0 else 4*S*d",
        lmo=("1", "max_inner"),
        vectors=3,
        letters={"max_inner": "max_inner"},
        nonconvex=r"$O(\sqrt n\,d/\varepsilon)$, squared gradient mapping",
        answers=("smooth",),
        estimate=Estimate("0", "0"),
        units={"smoothness": 1, "accuracy": 1},
    )

    @classmethod
    def paper(cls, n: int, dim: int, L: float, iterations: int, **other: Any) -> FZCGS:
        """Theorem 2 for K iterations: q = |S| = √n, γ = 1/(3L), η = 1/K, μ = 1/√(dK)."""
        return cls(
            L, settings.root(n), settings.root(n), 1 / iterations, 1 / math.sqrt(dim * iterations), **other
        )

    def step(self, task: Task, state: FZFW.State, rng: np.random.Generator) -> Step:
        t, x, gamma = state.t, state.x, 1.0 / (3.0 * self.smoothness)
        eta, mu = at(t, self.accuracy, self.radius)
        v = yield from coordinate_spider(task, state, rng, self.period, self.batch_size, mu)
        new, gap = condg(task, v, x, gamma, eta, self.max_inner)
        mapping = float(np.linalg.norm(x - new)) / gamma
        return FZFW.State(t + 1, new, x, v), Info(gap, at_start=True, numbers={"mapping": mapping})
