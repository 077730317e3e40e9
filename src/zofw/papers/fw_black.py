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

import math
from dataclasses import dataclass
from typing import Literal, Self

import numpy as np

from zofw.algorithms import settings
from zofw.algorithms.method import Estimate, Facts, Iterate, Method, at, methods
from zofw.core import Array, Law, Purpose, Query, Stencil, Step, Task, frank_wolfe_info
from zofw.differences import average, fresh, slopes
from zofw.directions import Gaussian, Sphere
from zofw.schedules import Constant, Power


@methods.register("fw-black")
@dataclass(frozen=True)
class FWBlack(Method):
    """FW-black: Frank-Wolfe with momentum for black-box attacks.

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
    momentum: settings.Decay = 0.99
    radius: settings.Radius = 1e-4
    law: Law = Gaussian()
    initial: Literal["estimate", "zero"] = "estimate"

    facts = Facts(
        queries="4*n*b if t == 0 else 2*n*b",
        estimate=Estimate(
            "(momentum**2 + (1 - momentum)**2)*(d + 1)/b", "(momentum**2 + (1 - momentum)**2)*2/b"
        ),
        within=100_000,
    )

    @dataclass(frozen=True)
    class State(Iterate):
        """x_t and m_{t−1}."""

        m: Array

    @classmethod
    def paper(
        cls, dim: int, *, delta: float = 0.01, option: Literal["I", "II"] = "I", **other: object
    ) -> Self:
        """The experiments' b = 25, γ_t = 0.8/√(t + 1), δ = 0.01, β = 0.99; 0.999 for ImageNet."""
        settings.one_of("I", "II")("option", option)
        if option == "I":  # unit vectors times δ are vectors of length √d times δ/√d
            return cls.of(other, law=Sphere(), radius=delta / math.sqrt(dim))
        return cls.of(other, law=Gaussian(), radius=delta)

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
    ) -> Self:
        """The theorem's constants for T iterations and f(x_0) − f* = ``initial_gap``.

        γ = √((f(x_0) − f*)/(C L R² T)) with C = (3 − β)/(1 − β), b = Td, δ = 1/(d√T).
        """
        T, C = iterations, (3 - momentum) / (1 - momentum)
        gamma = Constant(math.sqrt(initial_gap / (C * L * diameter**2 * T)))
        delta = 1 / (dim * math.sqrt(T))
        return cls.paper(
            dim, delta=delta, option=option, directions=T * dim, step_size=gamma, momentum=momentum
        )

    def step(self, task: Task, state: State, rng: np.random.Generator) -> Step:
        t, x, m, d, b = state.t, state.x, state.m, task.dim, self.directions
        gamma, mu = at(t, self.step_size, self.radius)
        for first in (True, False) if t == 0 and self.initial == "estimate" else (False,):
            U = self.law.draw(rng, d, b)
            query = Query(x, task.all, U, mu, Stencil.CENTRAL, Purpose.REFRESH)
            q = fresh(U, slopes(query, (yield query))[0], self.law.scale(d, b))
            m = q if first else average(m, q, 1.0 - self.momentum)
        s = task.lmo(m)
        return self.State(t + 1, s.move(x, gamma), m), frank_wolfe_info(m, x, s, gamma=gamma)
