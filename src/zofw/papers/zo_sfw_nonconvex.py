"""ZO-SFW for non-convex sums: averaged I-RDSA estimates and a constant step.

    for t = 0, …, T − 1:
        ĝ_t     = mean over m Gaussian z_j of [F(x_t + c_t z_j; S_t) − F(x_t; S_t)]/c_t · z_j
        g_t     = (1 − ρ_t) g_{t−1} + ρ_t ĝ_t,  g_{−1} = 0
        s_t     = argmin over s in X of ⟨s, g_t⟩
        x_{t+1} = (1 − γ) x_t + γ s_t,          γ = T^{−3/4}

It is Algorithm 2 of the same paper, run with another step; that is how it is written here. The
paper returns x_T.

References
----------
A. K. Sahu, M. Zaheer, S. Kar, Towards gradient free and projection free stochastic optimization, AISTATS 2019,
Algorithm 3.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from zofw.algorithms import settings
from zofw.algorithms.method import methods
from zofw.core import Task
from zofw.papers.horizon import constant_step, horizon
from zofw.papers.zo_sfw import ZOSFW
from zofw.schedules import Constant, Schedule


def whole_run(task: Task, own: ZOSFWNonconvex) -> Schedule:
    """Return T^(−3/4), or its anytime form if the task has no limits."""
    b = own.directions
    return constant_step(horizon(task, own.batch_size * (2 * b if own.stencil.two_sided else b + 1)), 0.75)


@methods.register("zo-sfw-nonconvex")
@dataclass(frozen=True)
class ZOSFWNonconvex(ZOSFW):
    """Settings of non-convex ZO-SFW: those of :class:`~zofw.papers.zo_sfw.ZOSFW` with another step."""

    step_size: settings.StepSize = settings.auto(
        "T^-0.75 for the T iterations that budget and max_iter allow, else (t + 1)^-0.75", whole_run
    )

    facts = replace(
        ZOSFW.facts,
        use="cheap estimates when f is not convex",
        convex="see `zo-sfw`",
        nonconvex=r"$O(d^{4/3}/\varepsilon^4)$",
    )

    @classmethod
    def paper(  # type: ignore[override]
        cls, dim: int, iterations: int, *, directions: int = 1, batch_size: int = 1, **other: Any
    ) -> ZOSFWNonconvex:
        """Algorithm 3's constants: γ = T^{−3/4}, and I-RDSA's ρ_t and c_t."""
        averaged = ZOSFW.paper("i-rdsa", dim, directions=directions, batch_size=batch_size, **other)
        return cls(**vars(averaged) | {"step_size": Constant(iterations**-0.75)})
