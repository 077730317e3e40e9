"""FW-black: Frank-Wolfe with momentum for black-box attacks.

    m_{−1} = ∇̂f(x_0)
    for t = 0, …, T − 1:
        m_t     = β m_{t−1} + (1 − β) ∇̂f(x_t)
        s_t     = argmin over s in X of ⟨s, m_t⟩
        x_{t+1} = x_t + γ_t (s_t − x_t)

    ∇̂f(x) = (1/b) Σ_j d/(2δ) [f(x + δu_j) − f(x − δu_j)] u_j   with u_j on the unit sphere (option I)
           = (1/b) Σ_j 1/(2δ) [f(x + δu_j) − f(x − δu_j)] u_j   with u_j Gaussian             (option II)

Directions of option I here have length √d, so that their radius is δ/√d and the factor d is in
their length. The paper attacks one image, n = 1; on a sum, f is the mean over all n components.
Its clipping to [0, 1] is a matter of the set: a box around the image cut to [0, 1] has an exact
oracle, and no iterate of a convex combination needs clipping.

References
----------
J. Chen, D. Zhou, J. Yi, Q. Gu, A Frank-Wolfe framework for efficient and effective adversarial attacks, AAAI 2020,
Algorithm 2.
"""

from __future__ import annotations

import math
from collections.abc import Generator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from zofw.algorithms import settings
from zofw.algorithms.method import Estimate, Facts, Iterate, Method, at, methods
from zofw.core import Answer, Array, Law, Purpose, Query, Stencil, Step, Task, frank_wolfe_info
from zofw.differences import average, fresh, slopes
from zofw.directions import Gaussian, Sphere
from zofw.schedules import Constant, Power


@methods.register("fw-black")
@dataclass(frozen=True)
class FWBlack(Method):
    """Settings of FW-black.

    Parameters
    ----------
    step_size
        γ_t; the default is the step tuned in the paper, which needs no T.
    momentum
        β.
    law
        Gaussian (option II) or Sphere (option I), whose radius is the paper's δ over √d.
    initial
        m_{−1}: ``"estimate"`` as in the paper, or ``"zero"`` as in its authors' code.
    """

    directions: settings.Count = 25
    step_size: settings.StepSize = Power(0.8, 1.0, 0.5)
    momentum: float = 0.99
    radius: settings.Radius = 1e-4
    law: Law = Gaussian()
    initial: Literal["estimate", "zero"] = "estimate"

    facts = Facts(
        use="attacks on one image, n = 1",
        queries="4*n*b if t == 0 else 2*n*b",
        vectors=2,
        letters={"beta": "momentum"},
        nonconvex=r"$O(nd/\varepsilon^4)$",
        estimate=Estimate("(beta**2 + (1 - beta)**2)*(d + 1)/b", "(beta**2 + (1 - beta)**2)*2/b"),
        within=100_000,
        caution="It is made for n = 1: an iteration costs 2nb queries and its steps of 0.8/√(t + 1) average the noise "
        "over hundreds of them, so with many components a modest budget ends near a wrong vertex.",
    )

    @dataclass(frozen=True)
    class State(Iterate):
        """x_t and m_{t−1} (None before m_{−1})."""

        m: Array | None = None

    @classmethod
    def paper(
        cls,
        dim: int,
        *,
        momentum: float = 0.99,
        delta: float = 0.01,
        option: Literal["I", "II"] = "I",
        **other: Any,
    ) -> FWBlack:
        """The experiments' settings: b = 25, γ_t = 0.8/√(t + 1), δ = 0.01, β = 0.99 (MNIST) or 0.999 (ImageNet)."""
        return cls(**{"momentum": momentum} | _option(option, dim, delta) | other)

    @classmethod
    def theory(
        cls,
        dim: int,
        diameter: float,
        *,
        iterations: int,
        L: float,
        initial_gap: float,
        momentum: float,
        option: Literal["I", "II"] = "I",
        **other: Any,
    ) -> FWBlack:
        """The theorem's constants for T iterations and f(x_0) − f* = ``initial_gap``.

        γ = √((f(x_0) − f*)/(C L R² T)) with C = (3 − β)/(1 − β), b = Td, δ = 1/(d√T).
        """
        T, C = iterations, (3 - momentum) / (1 - momentum)
        chosen: dict[str, Any] = {
            "directions": T * dim,
            "step_size": Constant(math.sqrt(initial_gap / (C * L * diameter**2 * T))),
            "momentum": momentum,
        }
        return cls(**chosen | _option(option, dim, 1 / (dim * math.sqrt(T))) | other)

    def check(self, task: Task) -> None:
        super().check(task)
        settings.fraction("1 - momentum", 1.0 - self.momentum)

    def init(self, task: Task, x0: Array) -> State:
        return self.State(0, x0, np.zeros(task.dim) if self.initial == "zero" else None)

    def step(self, task: Task, state: State, rng: np.random.Generator) -> Step:
        t, x, m = state.t, state.x, state.m
        gamma, mu = at(t, self.step_size, self.radius)
        if m is None:
            m = yield from self._estimate(task, x, mu, rng)
        q = yield from self._estimate(task, x, mu, rng)
        m = average(m, q, 1.0 - self.momentum)
        s = task.lmo(m)
        return self.State(t + 1, s.move(x, gamma), m), frank_wolfe_info(m, x, s, gamma=gamma)

    def _estimate(
        self, task: Task, x: Array, mu: float, rng: np.random.Generator
    ) -> Generator[Query, Answer, Array]:
        """Return ∇̂f(x) along new directions."""
        U = self.law.draw(rng, task.dim, self.directions)
        query = Query(x, task.all, U, mu, Stencil.CENTRAL, Purpose.REFRESH)
        return fresh(U, slopes(query, (yield query))[0], self.law.scale(task.dim, self.directions))


def _option(option: Literal["I", "II"], dim: int, delta: float) -> dict[str, Any]:
    """Return law and radius of an option; unit vectors times δ are vectors of length √d times δ/√d."""
    settings.choice("option", option, ("I", "II"))
    sphere = option == "I"
    return {"law": Sphere() if sphere else Gaussian(), "radius": delta / math.sqrt(dim) if sphere else delta}
