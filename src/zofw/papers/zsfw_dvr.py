"""ZSFW-DVR: zeroth-order stochastic Frank-Wolfe with double variance reduction.

    g_0 = ∇̂f(x_0, U_0, μ_0)
    for t = 0, 1, …:
        s_t     = argmin over s in X of ⟨s, g_t⟩
        x_{t+1} = x_t + γ_t (s_t − x_t)
        with probability p (refresh: all n components, sketched memory)
            g_{t+1} = g_t + U(Δf(x_{t+1}) − Uᵀg_t)/(d + b + 1)
        otherwise (difference: batch S drawn with replacement, the same U and S at both points)
            g_{t+1} = g_t + (1/b) U(Δf_S(x_{t+1}) − Δf_S(x_t))

with U a fresh d×b matrix and Δ the central differences along its columns, of radius μ_{t+1}.
The estimate of an iteration is made at its beginning, so that no query is spent on an estimate
that nothing uses.

Departures, all confined to the constructors of the paper's schedules: the experiments' lr/(t +
1) is capped at 1, and Theorem 1's μ_t is divided by L̂, without which it is no length and does
not give the theorem's constant 22.

References
----------
H. Ye, Y. Huang, H. Di, X. Chang, An enhanced zeroth-order stochastic Frank-Wolfe framework for constrained finite-sum
optimization, arXiv:2501.07201, 2025, Algorithm 1, Theorems 1 and 2.
"""

import math
from collections.abc import Generator
from dataclasses import dataclass
from typing import Literal, Self

import numpy as np

from zofw.algorithms import settings
from zofw.algorithms.method import Estimate, Facts, Iterate, Method, at, methods
from zofw.core import Answer, Array, Directions, Law, Purpose, Query, Stencil, Step, Task, frank_wolfe_info
from zofw.differences import fresh, refine, refine_step, slopes, spider
from zofw.directions import Gaussian, basis
from zofw.schedules import Constant, Power, Scaled, Stich, open_loop


@methods.register("zsfw-dvr")
@dataclass(frozen=True)
class ZSFWDVR(Method):
    """ZSFW-DVR: double variance reduction. An iteration costs 2b(pn + 2(1 − p)|S|) queries on
    average.

    Parameters
    ----------
    law
        Law of the directions, whose own constants replace d + b + 1 and 1/b.
    initial
        g_0: ``"paper"`` the plain estimate from b directions, whose relative error is √((d +
        1)/b); ``"shrunk"`` one refresh from g = 0, the same vertex with an error below 1;
        ``"coordinate"`` all d coordinates, 2nd queries; ``"zero"`` nothing, so that the first
        step goes to the vertex that the set's oracle returns for 0.
    stencil
        CENTRAL as in the paper, or FORWARD at about half the price: its remainder obeys the
        bound of Lemma 1 too, so the theorems hold as they stand.
    """

    batch_size: settings.Count = settings.root_n("components in a difference")
    directions: settings.Count = settings.root_d("directions")
    refresh_probability: settings.Fraction = settings.auto(
        "batch_size/n, as in the paper's second corollary: refreshes cost half of what differences cost",
        lambda task, own: min(1.0, own.batch_size / task.n),
    )
    step_size: settings.StepSize = open_loop(2.0, 200.0)
    radius: settings.Radius = 1e-4
    law: Law = Gaussian()
    initial: Literal["paper", "shrunk", "coordinate", "zero"] = "shrunk"
    stencil: settings.Differences = Stencil.CENTRAL

    facts = Facts(
        queries="2*n*b if refresh else 4*S*b",
        estimate=Estimate("(d + 1)/b", "2/b", mean="b/(d + b + 1)"),
        within=20_000,
    )

    @dataclass(frozen=True)
    class State(Iterate):
        """x_t, the point before it, and the estimate made at that point (None before g_0)."""

        before: Array
        g: Array | None = None

    @classmethod
    def paper(
        cls,
        batch_size: int,
        directions: int,
        refresh_probability: float,
        lr: float,
        *,
        constant: bool = False,
        **other: object,
    ) -> Self:
        """The experiments' settings: γ_t = lr/(t + 1), or lr in attacks; plain g_0, Gaussian U."""
        step = Constant(lr) if constant else Power(lr, 1.0, cap=1.0)  # beyond 1 it leaves the set at t = 0
        sizes = {
            "batch_size": batch_size,
            "directions": directions,
            "refresh_probability": refresh_probability,
        }
        return cls.of(sizes | other, step_size=step, initial="paper")

    @classmethod
    def convex(
        cls,
        dim: int,
        diameter: float,
        *,
        iterations: int,
        L: float,
        L_hat: float,
        least_radius: float = 0.0,
        **sizes: float,
    ) -> Self:
        """Theorem 1's schedules for T iterations, L-smooth f, L̂-smooth f_i and a set of
        diameter R; ``sizes`` are batch_size, directions and refresh_probability.

        γ_t = pb/(8D) for t < ⌈T/2⌉ or T ≤ 8D/(pb), then 2/(16D/(pb) + t − ⌈T/2⌉), D = d + b +
        1; and μ_t = √(p/|S| + 4pL²/L̂²) R γ_t/(d + 6)^{3/2}, which in large dimension lies
        below rounding: ``least_radius`` replaces smaller values. Where the recursion of g wants
        μ_{t+1} ≤ c γ_t, μ_{t+1} = c γ_{t+1} serves, for γ never grows.
        """
        settings.constants(diameter=diameter, iterations=iterations, L=L, L_hat=L_hat, **sizes)
        p, b, S = sizes["refresh_probability"], sizes["directions"], sizes["batch_size"]
        T, D = iterations, dim + b + 1
        first = p * b / (8 * D)
        gamma = Constant(first) if first * T <= 1.0 else Stich(first, math.ceil(T / 2))
        factor = math.sqrt(p / S + 4 * p * L**2 / L_hat**2) * diameter / (dim + 6) ** 1.5
        radius = Scaled(gamma, factor, least_radius)
        return cls.of(sizes, step_size=gamma, radius=radius, initial="paper")

    @classmethod
    def nonconvex(
        cls, dim: int, diameter: float, *, iterations: int, least_radius: float = 0.0, **sizes: float
    ) -> Self:
        """Theorem 2's schedules for T iterations: γ = 1/√T, μ = R√(p/(|S|(d + 6)³T)).

        The μ of the paper's Lemma on the variance is another one; its proof uses this.
        """
        settings.constants(diameter=diameter, iterations=iterations, **sizes)
        p, S, T = sizes["refresh_probability"], sizes["batch_size"], iterations
        mu = max(least_radius, diameter * math.sqrt(p / (S * (dim + 6) ** 3 * T)))
        return cls.of(sizes, step_size=Constant(1 / math.sqrt(T)), radius=mu, initial="paper")

    def step(self, task: Task, state: State, rng: np.random.Generator) -> Step:
        t, x, d, b = state.t, state.x, task.dim, self.directions
        gamma, mu = at(t, self.step_size, self.radius)
        U = self.law.draw(rng, d, b)
        refresh = state.g is None or rng.random() < self.refresh_probability
        if state.g is None:
            g = yield from self._start(task, x, U, mu)
        elif refresh:
            query = Query(x, task.all, U, mu, self.stencil, Purpose.REFRESH)
            c = slopes(query, (yield query))[0]
            g = refine(state.g, U, c, refine_step(self.law, U))
        else:
            S = task.sample(rng, self.batch_size)
            query = Query(np.array([x, state.before]), S, U, mu, self.stencil)
            c = slopes(query, (yield query))
            g = spider(state.g, U, c, self.law.scale(d, b))
        s = task.lmo(g)
        return self.State(t + 1, s.move(x, gamma), x, g), frank_wolfe_info(
            g, x, s, gamma=gamma, refresh=float(refresh)
        )

    def _start(self, task: Task, x: Array, U: Directions, mu: float) -> Generator[Query, Answer, Array]:
        """Return g_0."""
        nothing = np.zeros(task.dim)
        if self.initial == "zero":
            return nothing
        if self.initial == "coordinate":
            U = basis(task.dim)
        query = Query(x, task.all, U, mu, self.stencil, Purpose.REFRESH)
        c = slopes(query, (yield query))[0]
        if self.initial == "shrunk":
            return refine(nothing, U, c, refine_step(self.law, U))
        return fresh(U, c, 1.0 if self.initial == "coordinate" else self.law.scale(task.dim, self.directions))
