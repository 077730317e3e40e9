"""ZO-AdaMM: zeroth-order adaptive momentum, projected in the norm that its own scaling defines.

    m_{−1} = v_{−1} = v̂_{−1} = 0
    for t = 0, 1, …:
        ĝ_t     = d/(μ b |S|) Σ_{i in S} Σ_j [f_i(x_t + μv_j) − f_i(x_t)] v_j        v_j uniform on the unit sphere
        m_t     = β₁ m_{t−1} + (1 − β₁) ĝ_t
        v_t     = β₂ v_{t−1} + (1 − β₂) ĝ_t²,   v̂_t = max(v̂_{t−1}, v_t)               entry by entry
        x_{t+1} = argmin over x in X of ‖x − (x_t − α_t m_t/√v̂_t)‖_H²,   H = diag(√v̂_t)

The norm of the projection matters: with the Euclidean one the method may stop at a point that
is not stationary, which is the paper's own warning. The law here has columns u = √d·v, which
absorb the factor d; the radius along them is μ/√d.

Departures: the H-projection is computed from the set's Euclidean one by accelerated projected
gradients with restarts, whose first iteration is exact for boxes, so that every set with a
projection will do; √v̂ is kept above 10⁻⁸ of its largest entry.

References
----------
X. Chen, S. Liu, K. Xu, X. Li, X. Lin, M. Hong, D. Cox, ZO-AdaMM: zeroth-order adaptive momentum method for black-box
optimization, NeurIPS 2019, Algorithm 1.
B. O'Donoghue, E. Candès, Adaptive restart for accelerated gradient schemes, Foundations of Computational Mathematics 15, 2015.
"""

import math
from dataclasses import dataclass
from typing import Self

import numpy as np

from zofw.algorithms import settings
from zofw.algorithms.method import Facts, Iterate, Method, at, methods
from zofw.core import Array, Info, Law, Query, Stencil, Step, Task
from zofw.differences import average, fresh, slopes
from zofw.directions import Sphere
from zofw.schedules import Constant, Power

MOST_PROJECTIONS = 1000  # Maximum number of Euclidean projections in one H-projection.
ACCURACY = 1e-10  # Error of an H-projection, relative to the step.


@methods.register("zo-adamm")
@dataclass(frozen=True)
class ZOAdaMM(Method):
    """ZO-AdaMM: adaptive momentum, projected in the norm that its own scaling defines.

    Parameters
    ----------
    step_size
        α_t, a length: about how far an entry of x moves.
    first_decay, second_decay
        β₁ and β₂, the weights of the old averages of ĝ and ĝ².
    """

    batch_size: settings.Count = 1
    directions: settings.Count = settings.root_d("directions")
    step_size: settings.StepLength = settings.auto(
        "a tenth of the diameter over √(d(t + 1))",
        lambda task, own: Power(task.diameter / (10 * math.sqrt(task.dim)), 1.0, 0.5),
    )
    first_decay: settings.Decay = 0.9
    second_decay: settings.Decay = 0.9
    radius: settings.Radius = 1e-4
    law: Law = Sphere()
    stencil: settings.Differences = Stencil.FORWARD

    facts = Facts(queries="S*(b + 1)", lmo="0")

    @dataclass(frozen=True)
    class State(Iterate):
        """x_t, the averages m and v of ĝ and ĝ², and the largest v so far."""

        m: Array
        v: Array
        v_hat: Array

    @classmethod
    def paper(cls, dim: int, iterations: int, lr: float, **other: object) -> Self:
        """The attacks' settings: α = lr, β₁ = 0.9, β₂ = 0.3, b = 10, μ = 1/√(dT)."""
        settings.constants(dim=dim, iterations=iterations, lr=lr)
        mu = 1 / (dim * math.sqrt(iterations))
        return cls.of(other, directions=10, step_size=Constant(lr), second_decay=0.3, radius=mu)

    def step(self, task: Task, state: State, rng: np.random.Generator) -> Step:
        t, x, d, b = state.t, state.x, task.dim, self.directions
        a, mu = at(t, self.step_size, self.radius)
        U = self.law.draw(rng, d, b)
        query = Query(x, task.sample(rng, self.batch_size), U, mu, self.stencil)
        g = fresh(U, slopes(query, (yield query))[0], self.law.scale(d, b))
        m = average(state.m, g, 1.0 - self.first_decay)
        v = average(state.v, g**2, 1.0 - self.second_decay)
        v_hat = np.maximum(state.v_hat, v)
        h = np.sqrt(v_hat)
        h = np.maximum(h, 1e-8 * h.max())
        if h.max() > 0.0:
            x = weighted_projection(task, x - a * m / h, h)
        return self.State(t + 1, x, m, v, v_hat), Info(numbers={"gamma": a})


def weighted_projection(task: Task, y: Array, h: Array) -> Array:
    """Return argmin over x in X of Σ h_i (x_i − y_i)²/2, from Euclidean projections."""
    top = float(h.max())
    x = z = task.project(y)
    least = ACCURACY * max(float(np.linalg.norm(y - x)), float(np.finfo(float).tiny))
    theta = 1.0
    for _ in range(MOST_PROJECTIONS):
        new = task.project(z - h * (z - y) / top)
        if float(np.linalg.norm(new - z)) <= least:
            return new
        if float((z - new) @ (new - x)) > 0.0:  # restart: the momentum points uphill
            theta, z = 1.0, new
        else:
            after = (1.0 + math.sqrt(1.0 + 4.0 * theta**2)) / 2.0
            z, theta = new + (theta - 1.0) / after * (new - x), after
        x = new
    return x
