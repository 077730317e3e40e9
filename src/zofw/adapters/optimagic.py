"""Two algorithms of optimagic: for one function, and for residuals."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np
from optimagic import mark
from optimagic.optimization import algorithm
from optimagic.optimization.internal_optimization_problem import InternalOptimizationProblem
from optimagic.typing import AggregationLevel

from zofw.adapters.scipy import solved
from zofw.core import Array, Indices, MethodLike
from zofw.problems import BlackBox
from zofw.residuals import least_squares
from zofw.run.record.result import Result
from zofw.sets import Box, Region, SetLike, as_set

minimizer = partial(
    mark.minimizer,
    is_available=True,
    is_global=False,
    needs_jac=False,
    needs_hess=False,
    needs_bounds=False,
    supports_bounds=True,
    supports_infinite_bounds=True,
    supports_linear_constraints=False,
    supports_nonlinear_constraints=False,
)


@minimizer("zofw", AggregationLevel.SCALAR, supports_parallelism=True)
@dataclass(frozen=True)
class ZOFrankWolfe(algorithm.Algorithm):
    """:func:`zofw.minimize` as an algorithm of optimagic, for :func:`optimagic.minimize`.

    Parameters
    ----------
    set
        The set of the flat parameter vector, or what :func:`zofw.minimize` takes for one, such
        as ``"simplex"``. By default the box of optimagic's bounds.
    method
        As in :func:`zofw.minimize`.
    stopping_maxfun, stopping_maxiter
        Most evaluations, the one of the final value included, and most iterations.
    convergence_gap_tol
        Compared with a bound of the Frank-Wolfe gap; None for never.
    n_cores
        Points that optimagic evaluates at the same time, by its batch evaluator;
        ``interpolation`` asks for so many at once.
    seed
        Of everything random.

    Examples
    --------
    >>> import numpy as np, optimagic
    >>> from zofw.adapters import ZOFrankWolfe
    >>> result = optimagic.minimize(
    ...     lambda x: float(np.sum((x - 0.3) ** 2)),
    ...     params=np.full(4, 0.25),
    ...     algorithm=ZOFrankWolfe("simplex", stopping_maxfun=500, seed=0),
    ... )
    >>> bool(abs(result.fun - 0.01) < 1e-6), result.n_fun_evals <= 500
    (True, True)
    """

    set: SetLike | None = None
    method: MethodLike = "auto"
    stopping_maxfun: int = 10_000
    stopping_maxiter: int = 1_000_000
    convergence_gap_tol: float | None = None
    n_cores: int = 1
    seed: int | None = None

    def _solve_internal_problem(
        self, problem: InternalOptimizationProblem, x0: Array
    ) -> algorithm.InternalOptimizeResult:
        """What optimagic calls with flat parameters."""
        region = region_of(self.set, problem)

        def batch(X: Array, components: Indices) -> Array:
            return np.array(problem.batch_fun([*X], n_cores=self.n_cores), dtype=float)[:, None]

        alone = self.n_cores == 1
        result = solved(
            BlackBox(problem.fun if alone else batch, dim=x0.size, vectorized=not alone),
            region,
            self.stopping_maxfun,
            x0=x0,
            method=self.method,
            max_iter=self.stopping_maxiter,
            gap_tol=self.convergence_gap_tol,
            rng=self.seed,
            workers=self.n_cores,
            progress=False,
        )
        return as_internal(result)


@minimizer("zofw_least_squares", AggregationLevel.LEAST_SQUARES, supports_parallelism=False)
@dataclass(frozen=True)
class ZOLeastSquares(algorithm.Algorithm):
    """:func:`zofw.least_squares` for functions marked with ``optimagic.mark.least_squares``,
    with settings of `ZOFrankWolfe`.

    Examples
    --------
    >>> import numpy as np, optimagic
    >>> from zofw.adapters import ZOLeastSquares
    >>> sphere = optimagic.mark.least_squares(lambda x: x - 0.3)
    >>> options = {"params": np.full(4, 0.25), "algorithm": ZOLeastSquares("simplex")}
    >>> bool(abs(optimagic.minimize(sphere, **options).fun - 0.01) < 1e-6)
    True
    """

    set: SetLike | None = None
    stopping_maxfun: int = 1_000
    seed: int | None = None

    def _solve_internal_problem(
        self, problem: InternalOptimizationProblem, x0: Array
    ) -> algorithm.InternalOptimizeResult:
        """Solve the problem that optimagic passes, whose function returns residuals."""
        region, budget = region_of(self.set, problem), self.stopping_maxfun
        found = least_squares(problem.fun, region, x0=x0, budget=budget, rng=self.seed, progress=False)
        found.fun *= 2  # optimagic's value is the sum of squares, not half of it
        return as_internal(found)


def region_of(given: SetLike | None, problem: InternalOptimizationProblem) -> Region:
    """Return the set that was given, or the box of optimagic's bounds."""
    bounds = problem.bounds
    open_ended = any(side is None or not np.isfinite(side).all() for side in (bounds.lower, bounds.upper))
    if given is None and open_ended:
        raise ValueError(
            "zofw needs a bounded set: give optimagic bounds below and above for every parameter, or "
            'algorithm=ZOFrankWolfe(set), such as ZOFrankWolfe("simplex").'
        )
    return as_set(given) if given is not None else Box(bounds.lower, bounds.upper)


def as_internal(result: Result) -> algorithm.InternalOptimizeResult:
    """Return a result in optimagic's form."""
    return algorithm.InternalOptimizeResult(
        x=result.x,
        fun=result.fun,
        success=result.success,
        message=result.message,
        status=int(result.status),
        n_fun_evals=result.nfev,
        n_iterations=result.nit,
    )
