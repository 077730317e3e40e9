"""Frank-Wolfe with exact gradients: a FIRST-ORDER reference, not a zeroth-order method.

    for t = 0, 1, …:
        g_t = ∇f(x_t)
        s_t = argmin over s in X of ⟨s, g_t⟩            gap_t = ⟨g_t, x_t − s_t⟩ ≥ f(x_t) − min f for convex f
        a_t = argmax over the active atoms a of ⟨a, g_t⟩  (away and pairwise only)
        vanilla:   d_t = s_t − x_t, γ_max = 1
        away:      the steeper of s_t − x_t with γ_max = 1 and x_t − a_t with γ_max = w_a/(1 − w_a)
        pairwise:  d_t = s_t − a_t, γ_max = w_a
        x_{t+1} = x_t + γ_t d_t, γ_t in [0, γ_max] by a line search

It reads ∇f, asks no query, and is here so that diagnosis has a value f(x*) with a certificate
beside it. x_t is kept as a convex combination of atoms (x_0 is the first of them); it is formed
from the weights again every ``REFORM`` steps, so that rounding does not accumulate.

References
----------
M. Frank, P. Wolfe, An algorithm for quadratic programming, Naval Research Logistics Quarterly 3, 1956.
M. Jaggi, Revisiting Frank-Wolfe: projection-free sparse convex optimization, ICML 2013.
S. Lacoste-Julien, M. Jaggi, On the global linear convergence of Frank-Wolfe optimization variants, NeurIPS 2015.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from zofw.algorithms import settings
from zofw.algorithms.method import Facts, Iterate, Method, methods
from zofw.algorithms.model.mixture import Mixture
from zofw.atoms import Atom, Dense
from zofw.core import Array, FirstOrderTask, Info, Step, Task, gap

REFORM = 50  # Iterations after which x is formed from its atoms again, so that rounding does not accumulate.

Gradient = Callable[[Array], Array]


def line_search(gradient: Gradient, x: Array, d: Array, slope: float, most: float, tol: float) -> float:
    """Return a zero of γ ↦ ⟨∇f(x + γd), d⟩ by regula falsi with Illinois halving: the exact
    minimiser for convex f.

    Between γ_l with slope s_l < 0 and γ_h with s_h > 0 the secant's zero is γ_l + (γ_h −
    γ_l)s_l/(s_l − s_h); the slope of the end that stays is halved, so that neither end stays
    for ever. Slopes, unlike values, stay accurate near x*.
    """
    low, at_low, high, at_high = 0.0, slope, most, float(gradient(x + most * d) @ d)
    if at_high <= 0.0:
        return most
    for _ in range(60):
        gamma = low + (high - low) * at_low / (at_low - at_high)
        now = float(gradient(x + gamma * d) @ d)
        if abs(now) <= -tol * slope or not low < gamma < high:
            return gamma
        if now < 0.0:
            low, at_low, at_high = gamma, now, at_high / 2.0
        else:
            high, at_high, at_low = gamma, now, at_low / 2.0
    return low


@methods.register("frank-wolfe")
@dataclass(frozen=True)
class FrankWolfe(Method):
    """Frank-Wolfe with exact gradients: a first-order reference, which asks no queries.

    An iteration takes one LMO call and a few gradients. ``info.bound`` is the certificate: for
    convex f it bounds f(x_t) − min f, x_t being the point before the step, and f(x_{t+1}) − min
    f as well wherever the step does not increase f.

    Parameters
    ----------
    variant
        ``"vanilla"``, or ``"away"`` or ``"pairwise"`` steps, which converge linearly on
        polytopes.
    tol
        The line search stops when the slope is at most ``tol`` times the slope at x.
    """

    variant: Literal["vanilla", "away", "pairwise"] = "vanilla"
    tol: settings.Fraction = 1e-2

    facts = Facts(queries="0")
    first_order: ClassVar[bool] = True

    @dataclass(frozen=True)
    class State(Iterate):
        """x_t, and its atoms and weights; the vanilla variant keeps none."""

        atoms: tuple[Atom, ...]
        weights: Array

    def init(self, task: Task, x0: Array) -> State:
        if self.variant == "vanilla":
            return self.State(0, x0, (), np.zeros(0))
        return self.State(0, x0, (Dense(x0),), np.ones(1))

    def step(self, task: FirstOrderTask, state: State, rng: np.random.Generator) -> Step:
        yield from ()
        gradient, t, x, atoms, w = task.gradient, state.t, state.x, state.atoms, state.weights
        g = gradient(x)
        s = task.lmo(g)
        promised = gap(g, x, s)
        if self.variant == "vanilla":
            gamma = self._gamma(gradient, x, g, d := s.dense() - x, 1.0)
            return self.State(t + 1, x + gamma * d, atoms, w), Info(
                promised, bound=promised, at_start=True, numbers={"gamma": gamma}
            )
        heights = np.array([a.dot(g) for a in atoms])
        i = int(np.argmax(heights))
        if self.variant == "pairwise":
            d, most, growth = s.dense() - atoms[i].dense(), float(w[i]), 0
        elif len(atoms) == 1 or promised >= heights[i] - float(g @ x):
            d, most, growth = s.dense() - x, 1.0, -1
        else:
            d, most, growth = x - atoms[i].dense(), float(w[i] / (1.0 - w[i])), 1
        gamma = self._gamma(gradient, x, g, d, most)
        w = (1.0 + growth * gamma) * w
        if growth >= 0:
            w[i] = 0.0 if gamma == most else w[i] - gamma
        atoms, w = _with(atoms, w, s, gamma if growth <= 0 else 0.0, heights == s.dot(g))
        x = Mixture(atoms, w).point() if (t + 1) % REFORM == 0 else x + gamma * d
        return self.State(t + 1, x, atoms, w), Info(
            promised, bound=promised, at_start=True, numbers={"gamma": gamma, "active": float(len(atoms))}
        )

    def _gamma(self, gradient: Gradient, x: Array, g: Array, d: Array, most: float) -> float:
        """Return the step along d, 0 where rounding has left no descent."""
        slope = float(g @ d)
        return line_search(gradient, x, d, slope, most, self.tol) if slope < 0.0 else 0.0


def _with(
    atoms: tuple[Atom, ...], w: Array, s: Atom, gain: float, candidates: NDArray[np.bool_]
) -> tuple[tuple[Atom, ...], Array]:
    """Return the active set after s has gained weight and atoms without weight have left; the
    weights sum to one.

    ``candidates`` are the atoms with ⟨g, a⟩ = ⟨g, s⟩, the only ones that can be s; its key
    decides among them.
    """
    key = s.key()
    place = next((j for j in np.flatnonzero(candidates) if atoms[j].key() == key), None)
    if place is None:
        atoms, w = (*atoms, s), np.append(w, gain)
    else:
        w[place] += gain
    left = tuple(a for a, weight in zip(atoms, w, strict=True) if weight > 0.0)
    w = w[w > 0.0]
    return left, w / w.sum()
