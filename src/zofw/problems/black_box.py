"""The problem of a function that the user gives."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from zofw.arrays import as_kind, sample_of_kind, to_numpy
from zofw.core import WORST, Array, Batch, EvaluationError, Indices, Pattern
from zofw.extras import lazy

sp = lazy("scipy.sparse")

UNSTATED = -1  # components of a function whose user did not say how many


@dataclass(frozen=True, eq=False)
class BlackBox:
    """A finite sum (1/n) Σ f_i known only by calling it.

    Parameters
    ----------
    fun
        One of three spellings: ``f(x) -> float`` for n = 1; ``f(x, i) -> float``, the i-th
        component; or, with ``vectorized=True``, ``f(X, batch)`` that returns an array of shape
        ``(len(X), len(batch))``.
    dim
        Dimension d of x.
    n
        Number of components; 1 for a function of the point alone.
    vectorized
        Whether ``fun`` takes many points and many components in one call.
    at_once
        For a vectorised ``fun``, about how many evaluations it is asked for in one call at
        most: the grain in which work is spread over workers, repeated after an error, and kept
        by a checkpoint. By default as many as memory allows.
    like
        An array of the kind that ``fun`` wants, such as ``torch.zeros(1, device="cuda")``:
        points, and the indices of a batch, are passed as torch tensors, or arrays of any
        library that follows the array API standard, in its precision and on its device. Only
        its kind is kept. By default ``fun`` gets NumPy arrays.
    worse
        For one function (n = 1), or with ``outer=``: values at or above this number count as
        infeasible; use ``np.inf`` if your function returns infinity. They reach the method as 1e100, and
        ``interpolation`` keeps away from them. By default infinity is an error. NaN always is.
    support
        Which coordinates each component depends on: a sparse (n, d) matrix whose non-zero
        places say so, a dense one of booleans, a list of n lists of coordinates, or a function
        i → coordinates. Methods may then ask for differences of a component along its own
        coordinates alone, which are all that its gradient has.

    Notes
    -----
    Methods evaluate x + μu around a feasible x, and such a point may lie outside the set; ``minimize(…, inside=True)``
    keeps every evaluated point inside. An exception of ``fun`` is chained to an
    :class:`~zofw.core.EvaluationError` that says where in the run it happened.

    Values may come back as numbers or arrays of any of these kinds, from any device. The
    methods compute in double precision whatever ``like`` is; a function in single precision
    needs radii to match, which the default method finds by measuring the noise of the values.

    Examples
    --------
    >>> import numpy as np, zofw
    >>> f = zofw.problems.BlackBox(lambda x: float(np.sum((x - 0.2) ** 2)), dim=5)
    >>> result = zofw.minimize(f, zofw.Simplex(), budget=600, rng=0)
    >>> bool(result.fun < 1e-3)
    True
    """

    fun: Callable[..., ArrayLike]
    dim: int
    n: int = UNSTATED
    vectorized: bool = False
    at_once: int | None = None
    like: ArrayLike | None = None
    worse: float | None = None
    support: Any = None

    def __post_init__(self) -> None:
        self._check_function()
        if self.n == UNSTATED:
            vars(self)["n"] = 1
        self._check_numbers()
        self._check_support()
        if self.like is not None:
            vars(self)["like"] = sample_of_kind(self.like)

    def _check_function(self) -> None:
        """Raise an error if the function cannot be called with a point, and a component if n says so."""
        if not callable(self.fun):
            raise TypeError(f"BlackBox needs a function to call; got {type(self.fun).__name__}.")
        if any(map(inspect.iscoroutinefunction, (self.fun, type(self.fun).__call__))):
            raise TypeError("The function is async; give one that waits: lambda x: asyncio.run(f(x)).")
        if self.vectorized:
            return
        required, most = self._arguments
        if required >= 3:
            raise TypeError(
                f"The function takes {required} arguments, and it is called with one array x: give lambda x: f(*x) if they are "
                "the coordinates, or lambda x: f(x, a, b) if some are fixed."
            )
        if self.n == UNSTATED and required >= 2:
            raise ValueError(
                "The function takes a point and a component, and the number of components is not known: give n=… (n=1 for one "
                "component), or a function of the point only: lambda x: f(*x) if its arguments are the coordinates."
            )
        if isinstance(self.n, (int, np.integer)) and self.n > 1 and most < 2:
            raise ValueError(
                f"n={self.n} was given, and the function takes the point alone: write f(x, i) for component i, or leave n out."
            )

    def _check_numbers(self) -> None:
        """Raise ValueError if a size or a threshold is not a number of its kind."""
        for name, value in (("dim", self.dim), ("n", self.n)):
            if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < 1:
                raise ValueError(f"BlackBox needs {name} to be a whole number of at least 1; got {value!r}.")
        if self.at_once is not None and not (self.vectorized and self.at_once >= 1):
            raise ValueError(
                f"at_once should be a whole number of at least 1, together with vectorized=True; got {self.at_once!r}."
            )
        if self.worse is not None and (isinstance(self.worse, str) or not self.worse == self.worse):
            raise ValueError(
                f"worse should be a number: values from it upwards count as worse than all others; got {self.worse!r}."
            )

    def _check_support(self) -> None:
        """Raise ValueError if the support does not list the coordinates of n components."""
        if self.support is None or callable(self.support):
            return
        dense = isinstance(self.support, np.ndarray) and self.support.ndim == 2
        if dense and self.support.dtype == bool:
            vars(self)["support"] = sp.csr_array(self.support)
        elif dense and self.support.shape == (self.n, self.dim):
            raise ValueError(
                f"BlackBox got a support that is a dense array of shape ({self.n}, {self.dim}), which may say where it is not zero or "
                "list coordinates. Give support=array != 0 for the first, support=array.tolist() for the second."
            )
        if sp.issparse(self.support):
            if self.support.shape != (self.n, self.dim):
                raise ValueError(
                    f"BlackBox needs a support of shape ({self.n}, {self.dim}); got a matrix of shape {self.support.shape}."
                )
        elif len(self.support) != self.n:
            raise ValueError(
                f"BlackBox needs the support of {self.n} components; got {len(self.support)} lists."
            )

    def pattern(self, batch: Batch) -> Pattern | None:
        """Return the coordinates of each component of a batch, where they are known."""
        components = batch.slice(0, len(batch))
        if self.support is None:
            return None
        if sp.issparse(self.support):
            rows = sp.csr_array(self.support)[components]
            return Pattern(rows.indptr.astype(np.int64), rows.indices.astype(np.int64))
        lists = [
            np.unique(
                np.asarray(self.support(i) if callable(self.support) else self.support[i], dtype=np.int64)
            )
            for i in components.tolist()
        ]
        for i, found in zip(components.tolist(), lists, strict=True):
            if found.size and not 0 <= found[0] <= found[-1] < self.dim:
                raise ValueError(
                    f"BlackBox: the support of component {i} has coordinates from {found[0]} to {found[-1]}; they should be "
                    f"from 0 to {self.dim - 1}."
                )
        return Pattern.of(lists)

    def values(self, points: Array, components: Indices) -> Array:
        if self.vectorized:
            table = self._call(points[0], None, self._given(points), self._given(components.copy()))
            try:
                array = to_numpy(table)
            except (ValueError, TypeError, RuntimeError) as error:
                raise EvaluationError(
                    f"The objective should return an array of shape ({len(points)}, {len(components)}); it returned "
                    f"something else: {str(error).rstrip('.')}.",
                    point=points[0],
                ) from error
            table = array.astype(np.float64, copy=False) if array.dtype.kind == "f" else array
            return table if self.worse is None else np.where(table >= self.worse, WORST, table)
        table = np.empty((len(points), len(components)))
        for row, x in enumerate(points):
            for column, i in enumerate(components):
                table[row, column] = self.one(x, int(i))
        return table

    @property
    def cellwise(self) -> bool:
        """Return True if every evaluation is a call of its own, made anywhere and again."""
        return not self.vectorized

    def one(self, x: Array, component: int) -> float:
        """Return f_i(x) by one call, which gets a copy of x that nothing else reads."""
        given = self._given(np.array(x))
        arguments = (given, component) if self._takes_component else (given,)
        value = self._number(self._call(x, component, *arguments), x, component)
        return WORST if self.worse is not None and value >= self.worse else value

    @cached_property
    def _takes_component(self) -> bool:
        """With one component, f(x) and f(x, i) are both welcome."""
        return self.n > 1 or self._arguments[0] >= 2

    @cached_property
    def _arguments(self) -> tuple[int, float]:
        """Return how many arguments the function needs and takes; 1 and ∞ if it does not say."""
        try:
            parameters = inspect.signature(self.fun).parameters.values()
        except (TypeError, ValueError):
            return 1, np.inf
        single = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
        most = np.inf if any(p.kind is p.VAR_POSITIONAL for p in parameters) else len(single)
        return sum(p.default is p.empty for p in single), most

    def _given(self, array: np.ndarray) -> ArrayLike:
        """Return a point, points or indices as the kind of array that the function wants."""
        return array if self.like is None else as_kind(array, self.like)

    def _call(self, x: Array, component: int | None, *arguments: object) -> ArrayLike:
        try:
            return self.fun(*arguments)
        except Exception as error:
            which = "" if component is None else f" for component {component}"
            wants = "Tensor" in str(error) and self.like is None
            hint = ". If it wants tensors, give BlackBox(f, dim=…, like=tensor)" * wants
            raise EvaluationError(
                f"The objective raised {type(error).__name__}{which}: {error}{hint}",
                point=x,
                component=component,
            ) from error

    @staticmethod
    def _number(value: object, x: Array, component: int) -> float:
        if isinstance(value, (float, Fraction, Decimal)):
            return float(value)
        try:
            array = to_numpy(value)
        except (ValueError, TypeError, RuntimeError):
            array = np.empty(0)
        if array.size != 1 or array.dtype.kind not in "fiub":
            hint = " Does it end with return?" if value is None else ""
            if isinstance(value, (tuple, dict)):
                hint = " Return the value only; gradients and other parts are not used."
            raise EvaluationError(
                f"The objective should return one number for component {component}; it returned {value!r:.80}.{hint}",
                point=x,
                component=component,
            )
        return float(array.reshape(()))
