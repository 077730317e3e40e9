"""What a gradient estimate remembers, one recursion each.

Every rule takes the directions U, the slopes c = Uᵀ∇F + O(μ) along them and the law's scale s with s·E[UUᵀ] = I.
"""

from __future__ import annotations

from zofw.core import Array, Directions, Law


def _plus(g: Array | None, v: Array, scale: float) -> Array:
    """g + s·v with one new array: in a large dimension another one costs as much as the sum."""
    out: Array = v * scale
    if g is not None:
        out += g
    return out


def fresh(U: Directions, c: Array, scale: float) -> Array:
    """s U c: unbiased for ∇F, remembers nothing."""
    return _plus(None, U @ c, scale)


def refine_step(law: Law, U: Directions) -> float:
    """The step α = 1/(sκ) that minimises E‖(I − αUUᵀ)e‖²; 1/(d + b + 1) for Gaussian directions."""
    return 1.0 / (law.scale(U.dim, U.count) * law.second_moment(U.dim, U.count))


def refine(g: Array, U: Directions, c: Array, step: float) -> Array:
    """g + α U(c − Uᵀg): the sketched memory. The error contracts by 1 − 1/(s²κ) in mean square at the best step."""
    return _plus(g, U @ (c - U.T @ g), step)


def spider(g: Array, U: Directions, c: Array, scale: float) -> Array:
    """g + s U(c_0 − c_1): the difference of two estimates with the same directions and batch, at the new point and the old."""
    return _plus(g, U @ (c[0] - c[1]), scale)


def storm(g: Array, U: Directions, c: Array, scale: float, rho: float) -> Array:
    """ĝ_0 + (1 − ρ)(g − ĝ_1), estimates at the new point and the old with the same directions and batch."""
    return _plus((1.0 - rho) * g, U @ (c[0] - (1.0 - rho) * c[1]), scale)


def average(g: Array, estimate: Array, rho: float) -> Array:
    """(1 − ρ)g + ρĝ: momentum."""
    return (1.0 - rho) * g + rho * estimate
