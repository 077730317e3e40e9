"""JAGUAR: Frank-Wolfe with a memory of coordinate derivatives.

    h = ∇̂f(x_0), all d coordinates;  stochastic: g = h as well
    for t = 0, 1, …:
        i uniform on 1, …, d;  δ = [f(x_t + τe_i) − f(x_t − τe_i)]/(2τ)
        stochastic:  ρ = h + d(δ − ⟨h, e_i⟩) e_i,  g ← (1 − η_t) g + η_t ρ
        h ← h + (δ − ⟨h, e_i⟩) e_i
        s_t     = argmin over s in X of ⟨s, h⟩, or ⟨s, g⟩ in the stochastic method
        x_{t+1} = x_t + γ_t (s_t − x_t)

The deterministic method asks all n components, the stochastic one the same batch at both points
("two-point feedback"). Departures: b coordinates without replacement may be asked at once, with
d/b for d in ρ, as in the authors' code; that code averages h where the paper averages ρ, and
the paper is followed. At t = 0 the deterministic method does not ask again for a coordinate
that h has from the same point.

References
----------
A. Veprikov, A. Bogdanov, V. Minashkin, A. Beznosikov, New aspects of black box conditional gradient: variance reduction
and one point feedback, arXiv:2409.10442, 2024.
"""

from collections.abc import Generator
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Self

import numpy as np

from zofw.algorithms import settings
from zofw.algorithms.method import Estimate, Facts, Iterate, Method, at, methods
from zofw.core import Answer, Array, Batch, Law, Purpose, Query, Stencil, Step, Task, frank_wolfe_info
from zofw.differences import average, refine, slopes
from zofw.directions import Coordinate, basis
from zofw.schedules import Power


@methods.register("jaguar")
@dataclass(frozen=True)
class JAGUAR(Method):
    """JAGUAR: a memory of coordinate derivatives, all components at each.

    Parameters
    ----------
    initial
        The memory at x_0: ``"coordinate"`` as in the paper, or ``"zero"`` if 2nd queries cannot
        be paid.
    """

    directions: settings.Count = 1
    step_size: settings.StepSize = settings.auto(
        "the paper's 4/(t + 8d) for b coordinates",
        lambda task, own: Power(4.0, 8.0 * task.dim / own.directions, cap=1.0),
    )
    radius: settings.Radius = 1e-4
    initial: Literal["coordinate", "zero"] = "coordinate"

    law: ClassVar[Law] = Coordinate()
    facts = Facts(queries="2*n*d if t == 0 else 2*n*b", estimate=Estimate("0", "0"))

    @dataclass(frozen=True)
    class State(Iterate):
        """x_t and the memory h_t."""

        h: Array

    @classmethod
    def paper(cls, dim: int, **other: object) -> Self:
        """b = 1 and γ_t = 4/(t + 8d)."""
        return cls.of(other, directions=1, step_size=Power(4.0, 8.0 * dim))

    def step(self, task: Task, state: State, rng: np.random.Generator) -> Step:
        t, x = state.t, state.x
        gamma, tau = at(t, self.step_size, self.radius)
        if t == 0 and self.initial == "coordinate":
            h = yield from all_coordinates(task, x, task.all, tau)
        else:
            U = Coordinate().draw(rng, task.dim, self.directions)
            query = Query(x, task.all, U, tau, Stencil.CENTRAL, Purpose.REFRESH)
            h = refine(state.h, U, slopes(query, (yield query))[0], 1.0)
        s = task.lmo(h)
        return self.State(t + 1, s.move(x, gamma), h), frank_wolfe_info(h, x, s, gamma=gamma)


def offset(task: Task, own: Any) -> float:
    """Return 8(d/b)^(3/2)."""
    return float(8.0 * (task.dim / own.directions) ** 1.5)


@methods.register("jaguar-stochastic")
@dataclass(frozen=True)
class StochasticJAGUAR(Method):
    """Stochastic JAGUAR: a batch of components at each coordinate, averaged.

    Parameters
    ----------
    initial
        The memory at x_0: ``"coordinate"`` from one batch as in the paper, or ``"zero"``.
    """

    batch_size: settings.Count = 1
    directions: settings.Count = 1
    step_size: settings.StepSize = settings.auto(
        "the paper's 4/(t + 8d^(3/2)) for b coordinates",
        lambda task, own: Power(4.0, offset(task, own), cap=1.0),
    )
    averaging: settings.Averaging = settings.auto(
        "the paper's 4/(t + 8d^(3/2))^(2/3) for b coordinates",
        lambda task, own: Power(4.0, offset(task, own), 2 / 3, cap=1.0),
    )
    radius: settings.Radius = 1e-4
    initial: Literal["coordinate", "zero"] = "coordinate"

    law: ClassVar[Law] = Coordinate()
    facts = Facts(queries="2*S*(d + b) if t == 0 else 2*S*b", estimate=Estimate("0", "0"), share=0.6)

    @dataclass(frozen=True)
    class State(Iterate):
        """x_t, the memory h_t and the average g_t."""

        h: Array
        g: Array

    @classmethod
    def paper(cls, dim: int, batch_size: int = 1, **other: object) -> Self:
        """b = 1, γ_t = 4/(t + 8d^{3/2}) and η_t = 4/(t + 8d^{3/2})^{2/3}."""
        offset = 8.0 * dim**1.5
        gamma, eta = Power(4.0, offset), Power(4.0, offset, 2 / 3)
        return cls.of(other, batch_size=batch_size, step_size=gamma, averaging=eta)

    def step(self, task: Task, state: State, rng: np.random.Generator) -> Step:
        t, x, h, g, d, b = state.t, state.x, state.h, state.g, task.dim, self.directions
        gamma, eta, tau = at(t, self.step_size, self.averaging, self.radius)
        if t == 0 and self.initial == "coordinate":
            h = g = yield from all_coordinates(task, x, task.sample(rng, self.batch_size), tau)
        U = Coordinate().draw(rng, d, b)
        query = Query(x, task.sample(rng, self.batch_size), U, tau, Stencil.CENTRAL)
        c = slopes(query, (yield query))[0]
        g = average(g, refine(h, U, c, d / b), eta)
        h = refine(h, U, c, 1.0)
        s = task.lmo(g)
        return self.State(t + 1, s.move(x, gamma), h, g), frank_wolfe_info(g, x, s, gamma=gamma)


def all_coordinates(task: Task, x: Array, batch: Batch, tau: float) -> Generator[Query, Answer, Array]:
    """Return central differences along all coordinates."""
    query = Query(x, batch, basis(task.dim), tau, Stencil.CENTRAL, Purpose.REFRESH)
    return np.asarray(slopes(query, (yield query))[0])
