"""Boosted ZO-SFW: averaged zeroth-order estimates, and a step along what several LMO calls make of −g.

    for t = 0, 1, …:
        ĝ_t     = estimate of ∇F(x_t; S_t) by forward differences
        g_t     = (1 − ρ_t) g_{t−1} + ρ_t ĝ_t,  g_{−1} = 0
        d = 0, Λ = 0
        for k = 0, …, K − 1:                                       chase −g_t with members of the cone of X − x_t
            r  = −g_t − d
            v  = argmax over v in X of ⟨r, v⟩
            u  = v − x_t, or −d/‖d‖ if d ≠ 0 and ⟨r, u⟩ is larger for it
            λ  = ⟨r, u⟩/‖u‖²,  d⁺ = d + λu
            stop unless align(−g_t, d⁺) − align(−g_t, d) ≥ δ       but never with d = 0
            Λ ← Λ + λ if u = v − x_t, else Λ(1 − λ/‖d‖);  d ← d⁺
        x_{t+1} = x_t + γ_t d/Λ

with align(a, b) = ⟨a, b⟩/(‖a‖‖b‖), and −1 for b = 0. d/Λ + x_t is a convex combination of vertices, so x stays in X for
γ_t ≤ 1. With K = 1 it is ZO-SFW. No query is asked inside the chase. A step along −d/‖d‖ leaves the alignment as it is, for
⟨−g, d⟩ > 0 from the first round on: it ends the chase for any δ > 0, and Λ(1 − λ/‖d‖) is never needed.

Departures: the paper has exact gradients, and a step by line search or from L; here the estimate is ZO-SFW's and the step is
open-loop, for L is not known. No rate is claimed for it.

References
----------
C. W. Combettes, S. Pokutta, Boosting Frank-Wolfe by chasing gradients, ICML 2020.
A. K. Sahu, M. Zaheer, S. Kar, Towards gradient free and projection free stochastic optimization, AISTATS 2019 (the estimate).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from zofw.algorithms import settings
from zofw.algorithms.facts import Estimate, Facts
from zofw.algorithms.registry import methods
from zofw.algorithms.settings import AUTO
from zofw.core import Array, Info, Law, Query, Stencil, Step, Task
from zofw.differences import average, fresh, slopes
from zofw.directions import Gaussian
from zofw.papers.zo_sfw import ZOSFW
from zofw.schedules import Schedule, as_schedule, open_loop


@methods.register("boosted-zo-sfw")
@dataclass(frozen=True)
class BoostedZOSFW:
    """Settings of boosted ZO-SFW. Queries: |S|(b + 1) an iteration, 2|S|b with central differences; 1 to K LMO calls.

    Parameters
    ----------
    batch_size, directions, step_size, averaging, radius, law, stencil
        As in :class:`~zofw.papers.zo_sfw.ZOSFW`.
    rounds, improvement
        K, the most LMO calls of an iteration, and δ, the least gain in alignment that is worth another one.
    """

    batch_size: int = 1
    directions: int = AUTO
    step_size: float | Schedule = open_loop(2.0, 8.0)
    averaging: float | Schedule = AUTO
    radius: float | Schedule = AUTO
    law: Law = Gaussian()
    stencil: Stencil = Stencil.FORWARD
    rounds: int = 10
    improvement: float = 1e-3

    name: ClassVar[str] = "boosted-zo-sfw"
    facts: ClassVar[Facts] = Facts(
        use="zo-sfw where queries are dear and LMO calls are cheap, and the best x is no vertex",
        queries="S*(b + 1)",
        lmo=("1", "K"),
        vectors=2,
        letters={"S": "batch_size", "b": "directions", "K": "rounds"},
        convex="none for estimates",
        estimate=Estimate("(d + 1)/b", "2/b", mean="(1 + d/b)**(-1/3)"),
    )

    def _averaged(self) -> ZOSFW:
        """ZO-SFW with the settings that are shared."""
        return ZOSFW(
            self.batch_size,
            self.directions,
            self.step_size,
            self.averaging,
            self.radius,
            self.law,
            self.stencil,
        )

    def resolve(self, task: Task) -> tuple[BoostedZOSFW, dict[str, str]]:
        made, reasons = self._averaged().resolve(task)
        filled = replace(self, directions=made.directions, averaging=made.averaging, radius=made.radius)
        return filled, reasons

    def check(self, task: Task) -> None:
        self._averaged().check(task)
        settings.whole("rounds", self.rounds)
        settings.positive("improvement", self.improvement)

    def init(self, task: Task, x0: Array) -> ZOSFW.State:
        return ZOSFW.State(0, x0, np.zeros(task.dim))

    def step(self, task: Task, state: ZOSFW.State, rng: np.random.Generator) -> Step:
        t, x, dim, b = state.t, state.x, task.dim, self.directions
        gamma, rho, mu = (as_schedule(s)(t) for s in (self.step_size, self.averaging, self.radius))
        U = self.law.draw(rng, dim, b)
        query = Query(x, task.sample(rng, self.batch_size), U, mu, self.stencil)
        c = slopes(query, (yield query))[0]
        g = average(state.g, fresh(task.given(U, query.batch), c, self.law.scale(dim, b)), rho)
        direction, gap, calls = chase(task, x, g, self.rounds, self.improvement)
        info = Info(gap, at_start=True, numbers={"gamma": gamma, "chased": float(calls)})
        return ZOSFW.State(t + 1, x + gamma * direction, g), info


def chase(task: Task, x: Array, g: Array, rounds: int, improvement: float) -> tuple[Array, float, int]:
    """d/Λ, the Frank-Wolfe gap ⟨g, x − v⟩ of the first vertex, and the LMO calls made."""
    d, Lambda, gap = np.zeros_like(x), 0.0, 0.0
    for k in range(rounds):
        r = -g - d
        v = task.lmo(-r).dense() - x
        length = float(np.linalg.norm(d))
        away = length > 0.0 and -float(r @ d) / length > float(r @ v)
        u = -d / length if away else v
        if k == 0:
            gap = -float(g @ v)
        if not float(r @ u) > 0.0:
            return (d / Lambda if Lambda > 0.0 else d), gap, k + 1
        lam = float(r @ u) / float(u @ u)
        longer = d + lam * u
        if k > 0 and align(-g, longer) - align(-g, d) < improvement:
            return d / Lambda, gap, k + 1
        Lambda = Lambda * (1.0 - lam / length) if away else Lambda + lam
        d = longer
    return d / Lambda, gap, rounds


def align(a: Array, b: Array) -> float:
    """⟨a, b⟩/(‖a‖‖b‖), and −1 for b = 0."""
    length = float(np.linalg.norm(a)) * float(np.linalg.norm(b))
    return float(a @ b) / length if length > 0.0 else -1.0
