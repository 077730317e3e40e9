"""A quadratic finite sum whose answer is known."""

from __future__ import annotations

from functools import cached_property
from typing import final

import numpy as np
from numpy.typing import ArrayLike

from zofw.core import Array, Indices
from zofw.problems.abilities import problems


@problems.register("quadratic")
@final
class Quadratic:
    r"""Quadratics of one shape around many centres,

    .. math:: f(x) = \frac1n \sum_{i=1}^n \tfrac12 (x - c_i)^\top A (x - c_i)
                  = \tfrac12 (x - \bar c)^\top A (x - \bar c) + \mathrm{const}.

    Parameters
    ----------
    A
        A symmetric (d, d) matrix, or d numbers for a diagonal one.
    centres
        (n, d), or (d,) for a single component.

    Notes
    -----
    Unless A has a negative eigenvalue the mean of the centres minimises f over ℝᵈ, with value ``minimum``; over a set
    that holds this mean it is the answer. Every component and the mean have the same smoothness, ‖A‖.

    Examples
    --------
    >>> f = Quadratic([1.0, 2.0], [[0.0, 1.0], [1.0, 0.0]])
    >>> f.minimum, f.value([0.5, 0.5])
    (0.375, 0.375)
    """

    def __init__(self, A: ArrayLike, centres: ArrayLike) -> None:
        self.A = np.array(A, dtype=float)
        self.centres = np.atleast_2d(np.array(centres, dtype=float))
        if self.centres.ndim != 2 or 0 in self.centres.shape:
            raise ValueError(
                f"Quadratic needs (n, d) centres, n and d at least 1; got shape {np.shape(centres)}."
            )
        if self.A.shape not in ((self.dim,), (self.dim, self.dim)):
            raise ValueError(
                f"Quadratic with centres of dimension {self.dim} needs A of shape ({self.dim},) or "
                f"({self.dim}, {self.dim}); got {self.A.shape}."
            )
        if not (np.isfinite(self.A).all() and np.isfinite(self.centres).all()):
            raise ValueError("Quadratic needs finite numbers; A or the centres have NaN or infinite entries.")
        if self.A.ndim == 2 and not np.array_equal(self.A, self.A.T):
            raise ValueError(
                "Quadratic needs a symmetric A; pass (A + A.T)/2, which gives the same function."
            )
        self.minimiser = self.centres.mean(axis=0)
        self._shifted = self.centres - self.minimiser

    def __repr__(self) -> str:
        return f"Quadratic(n={self.n}, dim={self.dim})"

    @property
    def n(self) -> int:
        return len(self.centres)

    @property
    def dim(self) -> int:
        return int(self.centres.shape[1])

    @cached_property
    def _spectrum(self) -> Array:
        return self.A if self.A.ndim == 1 else np.linalg.eigvalsh(self.A)

    @property
    def convex(self) -> bool:
        """Return True if A has no negative eigenvalue beyond rounding."""
        return bool(self._spectrum.min() >= -1e-12 * self.L)

    @property
    def L(self) -> float:
        """Return smoothness of the mean, ‖A‖."""
        return float(np.abs(self._spectrum).max())

    @property
    def L_hat(self) -> float:
        """Return smoothness of every component, ‖A‖ as well."""
        return self.L

    @property
    def minimum(self) -> float:
        """Return the value at the mean of the centres."""
        return self.value(self.minimiser)

    def value(self, x: ArrayLike) -> float:
        """Return the mean of all components at x."""
        moved = np.asarray(x, dtype=float) - self.minimiser
        spread = np.einsum("ij,ij->", self._times(self._shifted), self._shifted) / self.n
        return 0.5 * float(np.dot(self._times(moved), moved) + spread)

    def gradient(self, x: ArrayLike) -> Array:
        """Return A(x − c̄); for diagnosis."""
        return self._times(np.asarray(x, dtype=float) - self.minimiser)

    def values(self, points: Array, components: Indices) -> Array:
        """Return ½xᵀAx − xᵀAc_i + ½c_iᵀAc_i with the mean of the centres as origin."""
        x, c = points - self.minimiser, self._shifted[components]
        Ax, Ac = self._times(x), self._times(c)
        squares = np.einsum("ij,ij->i", Ax, x)[:, None] + np.einsum("ij,ij->i", Ac, c)[None, :]
        return np.asarray(0.5 * squares - x @ Ac.T)

    def _times(self, x: Array) -> Array:
        return np.asarray(x * self.A if self.A.ndim == 1 else x @ self.A)
