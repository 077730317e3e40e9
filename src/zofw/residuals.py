"""Least squares: residual vectors from calls, over any convex set."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Unpack

import numpy as np
from numpy.typing import ArrayLike

from zofw.core import Array, EvaluationError, Indices
from zofw.outer import SumOfSquares
from zofw.run.minimize import minimize
from zofw.run.spec import Settings
from zofw.sets import SetLike

if TYPE_CHECKING:
    from zofw.run.record.result import Result


@dataclass(frozen=True, eq=False)
class Residuals:
    """A problem with one component, of which a call brings m residuals."""

    fun: Callable[..., ArrayLike]
    dim: int
    outputs: int
    n: int = 1
    cellwise: bool = True

    def one(self, x: Array, component: int) -> Array:
        try:
            return np.asarray(self.fun(np.array(x)), dtype=float)
        except Exception as error:
            raise EvaluationError(f"The residuals raised {type(error).__name__}: {error}", point=x) from error

    def values(self, points: Array, components: Indices) -> Array:
        return np.array([self.one(x, 0) for x in points])


def least_squares(
    residuals: Callable[..., ArrayLike],
    set: SetLike | None = None,
    *,
    m: int,
    loss: str = "linear",
    f_scale: float = 1.0,
    **settings: Unpack[Settings],
) -> Result:
    """Minimise ½ C² Σ ρ((r_i(x)/C)²)."""
    settings["outer"] = SumOfSquares(loss, f_scale)
    problem = Residuals(residuals, len(np.asarray(settings["x0"])), m)
    return minimize(problem, set, **settings)
