r"""The quadratic model of a sum of ridge functions over the set: no query.

    m(s) = scale · Σ_i p_i τ_i + ½ q_i τ_i²,   τ = Z s

over X by projections, accelerated and restarted, where vertices are dense and the set projects; or else over atoms, fully corrective.

References
----------
A. Beck, M. Teboulle, A fast iterative shrinkage-thresholding algorithm for linear inverse problems, SIAM J. Imaging Sci. 2, 2009.
B. O'Donoghue, E. Candès, Adaptive restart for accelerated gradient schemes, Found. Comput. Math. 15, 2015.
S. Lacoste-Julien, M. Jaggi, On the global linear convergence of Frank-Wolfe optimization variants, NeurIPS 2015.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from zofw.algorithms.model.mixture import Mixture, carrying
from zofw.algorithms.model.quadratic import simplex_step
from zofw.atoms import Dense
from zofw.core import Array, Matrix, Task

PROJECTIONS = 400
POWERS = 30  # of the Hessian, for its greatest eigenvalue
STILL = 1e-10  # of the set: a step of a projection that is none


@dataclass(frozen=True)
class Model:
    """The model around x."""

    x: Array
    Z: Matrix  # (m, d), rows
    p: Array
    q: Array
    scale: float

    def slope(self, tau: Array) -> Array:
        """∇m where Zs = τ."""
        return np.asarray(self.scale * (self.Z.T @ (self.p + self.q * tau)))

    def value(self, tau: Array) -> float:
        return self.scale * float(self.p @ tau + 0.5 * (self.q * tau) @ tau)


def over_atoms(
    task: Task, model: Model, mixture: Mixture, most: int, accuracy: float, deviations: float = 0.0
) -> Mixture:
    """At most so many new atoms, one by one, until the model's own gap is this share of its decrease, or is lost in sampling.

    Fully corrective: with T = Z[a_1 − x, a_2 − x, …], (m, atoms), the model is c·w + ½wᵀHw over the simplex of weights, c = scale·Tᵀp and
    H = scale·TᵀQT, and every new atom is the vertex that the model's gradient at the minimiser asks for. The gap
    ⟨∇m, s − a⟩ is a sum over components, so that its standard error is √m times the deviation of its terms.
    """
    atoms, w, base = list(mixture.atoms), mixture.weights, model.Z @ model.x
    T = np.column_stack([model.Z @ atom.dense() - base for atom in atoms])
    for left in range(most, -1, -1):
        H = model.scale * (T.T @ (model.q[:, None] * T))
        w = w + simplex_step(T.T @ (model.scale * (model.p + model.q * (T @ w))), H, w)
        tau = T @ w
        if not left:
            break
        slope = model.slope(tau)
        atom = task.lmo(slope)
        new = model.Z @ atom.dense() - base
        each = (model.p + model.q * tau) * (tau - new)
        gap = model.scale * float(each.sum())
        error = model.scale * float(np.std(each)) * np.sqrt(len(each))
        if gap <= max(-accuracy * model.value(tau), deviations * error) or any(atom == a for a in atoms):
            break
        atoms.append(atom)
        T, w = np.column_stack([T, new]), np.append(w, 0.0)
    keep, w = carrying(w)
    return Mixture(tuple(atoms[j] for j in keep), w)


def by_projection(task: Task, model: Model) -> Mixture:
    """Accelerated projected gradient on the convex part of the model, restarted where it turns back.

        x_{k+1} = Π_X(y_k − ∇m(y_k)/L),   y_{k+1} = x_{k+1} + (t_k − 1)/t_{k+1}·(x_{k+1} − x_k),   t_{k+1} = ½(1 + √(1 + 4t_k²))

    with curvatures max(q_i, 0), L from 30 power iterations, and t = 1 again where ⟨y_k − x_{k+1}, x_{k+1} − x_k⟩ > 0: the momentum
    points uphill.
    """
    q = np.maximum(model.q, 0.0)
    convex = Model(model.x, model.Z, model.p, q, model.scale)
    v = np.ones(task.dim)
    for _ in range(POWERS):
        v = model.scale * (model.Z.T @ (q * (model.Z @ (v / max(float(np.linalg.norm(v)), 1e-300)))))
    flat = float(np.linalg.norm(convex.slope(0 * model.p))) / task.diameter
    L = max(1.05 * float(np.linalg.norm(v)), 1e-9 * flat)
    if L == 0:
        return Mixture((Dense(model.x),), np.ones(1))
    x = y = model.x
    t, base = 1.0, model.Z @ model.x
    for _ in range(PROJECTIONS):
        new = task.project(y - convex.slope(model.Z @ y - base) / L)
        if float((y - new) @ (new - x)) > 0:
            t = 1.0
        after = 0.5 * (1 + np.sqrt(1 + 4 * t * t))
        y, moved, x, t = new + (t - 1) / after * (new - x), float(np.linalg.norm(new - x)), new, after
        if moved <= STILL * task.diameter:
            break
    return Mixture((Dense(x),), np.ones(1))


__all__ = ["Model", "by_projection", "over_atoms"]
