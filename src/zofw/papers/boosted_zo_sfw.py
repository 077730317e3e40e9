"""Boosted ZO-SFW: averaged zeroth-order estimates, and a step along what several LMO calls make
of −g.

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

with align(a, b) = ⟨a, b⟩/(‖a‖‖b‖), and −1 for b = 0. d/Λ + x_t is a convex combination of
vertices, so x stays in X for γ_t ≤ 1. With K = 1 it is ZO-SFW. No query is asked inside the
chase. A step along −d/‖d‖ leaves the alignment as it is, for ⟨−g, d⟩ > 0 from the first round
on: it ends the chase for any δ > 0, and Λ(1 − λ/‖d‖) is never needed.

Departures: the paper has exact gradients, and a step by line search or from L; here the
estimate is ZO-SFW's and the step is open-loop, for L is not known. No rate is claimed for it.

References
----------
C. W. Combettes, S. Pokutta, Boosting Frank-Wolfe by chasing gradients, ICML 2020.
A. K. Sahu, M. Zaheer, S. Kar, Towards gradient free and projection free stochastic optimization, AISTATS 2019 (the estimate).
"""

from dataclasses import dataclass, replace

import numpy as np

from zofw.algorithms import settings
from zofw.algorithms.method import at, methods
from zofw.core import Array, Info, Query, Step, Task
from zofw.differences import average, fresh, slopes
from zofw.papers.zo_sfw import ZOSFW


@methods.register("boosted-zo-sfw")
@dataclass(frozen=True)
class BoostedZOSFW(ZOSFW):
    """Boosted ZO-SFW: averaged estimates, and a step along what several LMO calls make of −g.

    Its settings are those of :class:`~zofw.papers.ZOSFW`, and two more.

    Parameters
    ----------
    rounds
        K, the maximum number of LMO calls of an iteration.
    improvement
        δ, the smallest gain in alignment that is worth another call.
    """

    rounds: settings.Count = 10
    improvement: settings.Positive = 1e-3

    facts = replace(ZOSFW.facts, lmo=("1", "rounds"))

    def step(self, task: Task, state: ZOSFW.State, rng: np.random.Generator) -> Step:
        t, x, dim, b = state.t, state.x, task.dim, self.directions
        gamma, rho, mu = at(t, self.step_size, self.averaging, self.radius)
        U = self.law.draw(rng, dim, b)
        query = Query(x, task.sample(rng, self.batch_size), U, mu, self.stencil)
        c = slopes(query, (yield query))[0]
        g = average(state.g, fresh(U, c, self.law.scale(dim, b)), rho)
        direction, gap, calls = chase(task, x, g, self.rounds, self.improvement)
        info = Info(gap, at_start=True, numbers={"gamma": gamma, "chased": float(calls)})
        return ZOSFW.State(t + 1, x + gamma * direction, g), info


def chase(task: Task, x: Array, g: Array, rounds: int, improvement: float) -> tuple[Array, float, int]:
    """Return d/Λ, the gap ⟨g, x − v⟩ of the first vertex, and the number of LMO calls."""
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
    """Return ⟨a, b⟩/(‖a‖‖b‖), and −1 for b = 0."""
    length = float(np.linalg.norm(a)) * float(np.linalg.norm(b))
    return float(a @ b) / length if length > 0.0 else -1.0
