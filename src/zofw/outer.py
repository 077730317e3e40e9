r"""Functions h of the numbers of all components, for ``outer=``: minimise h(f_1(x), …, f_N(x)) in place of the mean.

=====================  ==========================================================================================
``Mean()``             the mean
``Weights(w)``         Σ w_i f_i
``CVaR(0.9)``          the mean of the worst 10 % of the components
``Worst()``            the largest component
``Quantile(0.9)``      the value that 90 % of the components do not exceed (not convex)
``Convex(h, slope)``   any convex function of the vector, with its gradient or a subgradient
``SumOfSquares("huber")``  a robust sum of squares, for residuals
=====================  ==========================================================================================

A component with a value of 1e100 or more has failed (``worse=np.inf`` makes infinity such a value). Up to ``failures`` of all
components are left out at a point; if more fail, the point counts as infeasible.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from numbers import Real

import numpy as np
from numpy.typing import ArrayLike, NDArray

from zofw.core import WORST, Array

__all__ = ["CVaR", "Convex", "Mean", "Quantile", "SumOfSquares", "Weights", "Worst"]

LOSSES = ("linear", "soft_l1", "huber", "cauchy")


def _rho(loss: str, z: Array) -> tuple[Array, Array, Array]:
    """Return ρ, ρ′ and ρ″ at z ≥ 0, as SciPy's ``least_squares`` defines them."""
    if loss == "linear":
        return z, np.ones_like(z), np.zeros_like(z)
    if loss == "soft_l1":
        t = 1 + z
        return 2 * (np.sqrt(t) - 1), t**-0.5, -0.5 * t**-1.5
    if loss == "huber":
        inner, root = z <= 1, np.sqrt(np.maximum(z, 1.0))
        return np.where(inner, z, 2 * root - 1), 1 / root, np.where(inner, 0.0, -0.5 / root**3)
    t = 1 + z
    return np.log1p(z), 1 / t, -1 / t**2


@dataclass(frozen=True)
class SumOfSquares:
    """½ C² Σ ρ((r_i/C)²) of residuals r: half the sum of squares, or a robust one.

    Parameters
    ----------
    loss
        "linear" (ρ = z), "soft_l1", "huber" or "cauchy", as in :func:`scipy.optimize.least_squares`.
    f_scale
        C, the residual from which one counts as an outlier.

    Examples
    --------
    >>> import numpy as np
    >>> SumOfSquares().of(np.array([[3.0, 4.0]])).tolist(), SumOfSquares("huber", 1.0).of(np.array([[3.0, 4.0]])).tolist()
    ([12.5], [6.0])
    """

    loss: str = "linear"
    f_scale: float = 1.0

    def __post_init__(self) -> None:
        if self.loss not in LOSSES:
            raise ValueError(f"loss should be one of {', '.join(LOSSES)}; got {self.loss!r}.")
        if not 0 < self.f_scale < math.inf:
            raise ValueError(f"f_scale should be a positive number; got {self.f_scale!r}.")

    def check(self, size: int) -> None:
        """Take vectors of every length."""

    def of(self, vectors: Array) -> Array:
        """Return ½ C² Σ ρ for every row; 1e100 if a residual failed."""
        failed = np.max(vectors, axis=1) >= WORST
        scaled = np.where(failed[:, None], 0.0, vectors) / self.f_scale
        cost = 0.5 * self.f_scale**2 * _rho(self.loss, scaled**2)[0].sum(axis=1)
        return np.where(failed, WORST, np.minimum(cost, WORST))

    def slope(self, vector: Array) -> Array:
        """Return r ρ′."""
        return vector * _rho(self.loss, (vector / self.f_scale) ** 2)[1]

    def curvature(self, vector: Array) -> Array:
        """Return ρ′ + 2zρ″."""
        z = (vector / self.f_scale) ** 2
        _, first, second = _rho(self.loss, z)
        return np.asarray(first + 2 * z * second)


class Scenarios:
    """Functions of components that are scenarios, of which some may fail."""

    failures: float

    def check(self, size: int) -> None:
        """Refuse a share of failures that is none."""
        if not 0 <= self.failures < 1:
            raise ValueError(f"failures should be a share in [0, 1); got {self.failures!r}.")

    def of(self, vectors: Array) -> Array:
        """Return h of the components that have a value, for every row; 1e100 if too many failed."""
        most = self.failures * vectors.shape[1]
        found = [self.at(row, row < WORST) if sum(row >= WORST) <= most else WORST for row in vectors]
        return np.array(found)

    def at(self, vector: Array, sound: NDArray[np.bool_]) -> float:
        """Return h of the components that ``sound`` marks: by their weights."""
        return float(self.slope(np.where(sound, vector, np.nan)) @ np.where(sound, vector, 0.0))

    def slope(self, vector: Array) -> Array:
        """Return the weight of each component; 0 where it is NaN."""
        raise NotImplementedError

    def curvature(self, vector: Array) -> Array | None:
        """Return None: h has kinks."""
        return None


@dataclass(frozen=True)
class Mean(Scenarios):
    """The mean, which a run minimises without ``outer=`` too."""

    failures: float = 0.1

    def slope(self, vector: Array) -> Array:
        sound = ~np.isnan(vector)
        return np.asarray(sound / max(np.count_nonzero(sound), 1))

    def curvature(self, vector: Array) -> Array | None:
        """Return 0: h is linear."""
        return np.zeros_like(vector)


@dataclass(frozen=True)
class Weights(Scenarios):
    """Σ w_i f_i, where a component that failed gives its weight to the others in proportion.

    Examples
    --------
    >>> import numpy as np
    >>> Weights([0.75, 0.25]).of(np.array([[1.0, 3.0]])).tolist()
    [1.5]
    """

    weights: Sequence[float]
    failures: float = 0.1

    def __post_init__(self) -> None:
        vars(self).update(weights=tuple(np.asarray(self.weights, dtype=float).ravel().tolist()))

    def check(self, size: int) -> None:
        """Refuse weights that are negative, all zero or not one for each component."""
        super().check(size)
        w = np.array(self.weights)
        if w.shape != (size,) or not (np.isfinite(w).all() and (w >= 0).all() and w.sum() > 0):
            raise ValueError(
                f"Weights should be {size} numbers of at least 0, one for each component; got {self.weights!r:.80}."
            )

    def slope(self, vector: Array) -> Array:
        """Return the weights."""
        w = np.array(self.weights)
        present = np.where(np.isnan(vector), 0.0, w)
        return np.asarray(present * (w.sum() / max(present.sum(), 1e-300)))

    def curvature(self, vector: Array) -> Array | None:
        """Return 0: h is linear."""
        return np.zeros_like(vector)


def first_of(count: int) -> Array:
    """Return 1, 0, 0, …"""
    return np.concatenate([np.ones(1), np.zeros(count - 1)])


class Ranked(Scenarios):
    """Σ w_j f_(j), f_(1) ≥ f_(2) ≥ …: weights go by rank."""

    def ranks(self, count: int) -> Array:
        """Return the weights of the components in descending order."""
        raise NotImplementedError

    def slope(self, vector: Array) -> Array:
        """Return the weight that each component has by its rank."""
        order = np.argsort(-vector, kind="stable")  # NaN last
        count = int(np.count_nonzero(~np.isnan(vector)))
        weights = np.zeros_like(vector)
        weights[order[:count]] = self.ranks(count)
        return weights


@dataclass(frozen=True)
class CVaR(Ranked):
    """The mean of the worst (1 − alpha)N of N components: conditional value at risk, expected shortfall.

    Examples
    --------
    >>> import numpy as np
    >>> CVaR(0.75).of(np.arange(8.0)[None]).tolist()
    [6.5]
    """

    alpha: float = 0.9
    failures: float = 0.1

    def __post_init__(self) -> None:
        if not (isinstance(self.alpha, Real) and 0 <= self.alpha < 1):
            raise ValueError(f"alpha of CVaR should lie in [0, 1); got {self.alpha!r}.")

    def ranks(self, count: int) -> Array:
        tail = (1 - self.alpha) * count
        return np.asarray(np.clip(tail - np.arange(count), 0.0, 1.0) / tail) if tail > 1 else first_of(count)


@dataclass(frozen=True)
class Worst(Ranked):
    """The largest component."""

    failures: float = 0.1

    def ranks(self, count: int) -> Array:
        return first_of(count)


@dataclass(frozen=True)
class Quantile(Ranked):
    """The smallest value that a share q of the components does not exceed; not convex."""

    q: float = 0.5
    failures: float = 0.1

    def __post_init__(self) -> None:
        if not (isinstance(self.q, Real) and 0 < self.q <= 1):
            raise ValueError(f"q of Quantile should lie in (0, 1]; got {self.q!r}.")

    def ranks(self, count: int) -> Array:
        return np.roll(first_of(count), count - max(1, math.ceil(self.q * count - 1e-9)))


@dataclass(frozen=True)
class Convex(Scenarios):
    """A convex function h of the vector of all components, with its gradient or a subgradient.

    Parameters
    ----------
    function, gradient
        h(v) → number, and its gradient at v, of the shape of v.
    hessian
        The diagonal of its Hessian, if h is a smooth sum Σ h_i(v_i); None otherwise.

    Examples
    --------
    >>> import numpy as np
    >>> Convex(np.max, lambda v: np.eye(len(v))[v.argmax()]).of(np.array([[1.0, 4.0]])).tolist()
    [4.0]
    """

    function: Callable[[Array], float]
    gradient: Callable[[Array], ArrayLike]
    hessian: Callable[[Array], ArrayLike] | None = None
    failures: float = 0.0  # of all components or none: h takes whole vectors only

    def at(self, vector: Array, sound: NDArray[np.bool_]) -> float:
        return min(float(self.function(np.array(vector))), WORST)

    def slope(self, vector: Array) -> Array:
        """Return the gradient of h."""
        found = np.asarray(self.gradient(np.array(vector)), dtype=float)
        if found.shape != vector.shape:
            raise ValueError(f"The gradient of outer=Convex(…) should have shape {vector.shape}; it has {found.shape}.")  # fmt: skip
        return found

    def curvature(self, vector: Array) -> Array | None:
        """Return the diagonal of the Hessian, if it was given."""
        return None if self.hessian is None else np.asarray(self.hessian(np.array(vector)), dtype=float)
