"""Sparse linear scikit-learn estimators, trained from loss values alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike
from scipy.special import expit
from sklearn import utils as utilities
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils import multiclass, validation
from sklearn.utils.metaestimators import available_if

from zofw.core import Array, Matrix, MethodLike
from zofw.problems import Correntropy, LeastSquares, Logistic
from zofw.run import minimize
from zofw.run.record.result import Result
from zofw.sets import Box, L1Ball, Product, as_set

PASSES = 100  # over the data, for each class and coordinate, where no budget is given


def _has_probabilities(classifier: ZOClassifier) -> bool:
    if classifier._loss != "logistic":
        raise AttributeError(
            f"predict_proba needs loss='logistic'; this classifier has loss={classifier.loss!r}."
        )
    return True


class _Linear(BaseEstimator):
    """What the linear estimators share: coefficients in an ℓ1 ball, an intercept in an interval, and a budget."""

    LOSSES: ClassVar[tuple[str, ...]]  # the first is the default

    def __init__(
        self,
        loss: str | None = None,
        *,
        radius: float = 10.0,
        sigma: float = 2.0,
        fit_intercept: bool = True,
        method: MethodLike = "auto",
        budget: int | None = None,
        max_iter: int | None = None,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.loss = loss
        self.radius = radius
        self.sigma = sigma
        self.fit_intercept = fit_intercept
        self.method = method
        self.budget = budget
        self.max_iter = max_iter
        self.random_state = random_state

    @property
    def _loss(self) -> str:
        return self.LOSSES[0] if self.loss is None else self.loss

    def _check(self) -> None:
        if self._loss not in self.LOSSES:
            raise ValueError(f"loss should be {' or '.join(map(repr, self.LOSSES))}; got {self.loss!r}.")
        for name, size in (("radius", self.radius), ("sigma", self.sigma)):
            if not isinstance(size, (int, float, np.number)) or not 0 < size < np.inf:
                raise ValueError(f"{name} should be a positive finite number; got {size!r}.")

    def _solve(self, X: Matrix, targets: Sequence[Array]) -> list[Result]:
        """One problem for each vector of targets."""
        ones = np.ones((X.shape[0], 1))
        Z, region = X, as_set(L1Ball(self.radius))
        if self.fit_intercept:
            Z = sp.hstack([X, ones], format="csr") if sp.issparse(X) else np.hstack([X, ones])
            region = Product([region, Box(-self.radius, self.radius)], dims=[X.shape[1], 1])
        seed = int(utilities.check_random_state(self.random_state).randint(2**31 - 1))
        budget = PASSES * X.shape[0] * (X.shape[1] + 1) if self.budget is None else self._share(len(targets))
        return [
            minimize(
                self._problem(Z, y),
                region,
                method=self.method,
                budget=budget,
                max_iter=self.max_iter,
                rng=np.random.SeedSequence((seed, number)),
                diagnose=0,
                progress=False,
            )
            for number, y in enumerate(targets)
        ]

    def _share(self, problems: int) -> int:
        """The budget of each problem."""
        given = self.budget
        if (
            not isinstance(given, (int, float, np.number))
            or not float(given).is_integer()
            or given < problems
        ):
            raise ValueError(f"budget should be a whole number of at least {problems}; got {given!r}.")
        return int(given) // problems

    def _problem(self, Z: Matrix, y: Array) -> Logistic | Correntropy | LeastSquares:
        if self._loss == "correntropy":
            return Correntropy(Z, y, sigma=self.sigma)
        return Logistic(Z, y) if self._loss == "logistic" else LeastSquares(Z, y)

    def __sklearn_tags__(self) -> utilities.Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


class ZOClassifier(ClassifierMixin, _Linear):
    r"""A sparse linear classifier from values of its loss,

    .. math:: \min_{w, b} \frac1n \sum_{i=1}^n \ell(y_i, z_i^\top w + b)
              \quad\text{subject to}\quad \|w\|_1 \le r, \; |b| \le r,

    one against the rest where there are more than two classes. Features should be of similar size, as the ball treats all
    coefficients alike: put a ``StandardScaler`` or a ``MaxAbsScaler`` before it.

    Parameters
    ----------
    loss
        "logistic" (the default), or "correntropy", the robust loss :math:`\frac{\sigma^2}{2}(1 - e^{-(y - t)^2/\sigma^2})` with
        y = ±1, for which a mislabelled sample counts at most σ²/2.
    radius
        r > 0; smaller is sparser.
    sigma
        σ > 0 of the correntropy.
    fit_intercept
        Whether to have a b; otherwise it is 0.
    method
        A registered name (:func:`zofw.methods`), a settings object, or "auto".
    budget
        Most evaluations of single losses, for all classes together; never exceeded. By default 100 n (d + 1) for each
        problem of two classes.
    max_iter
        Most iterations, for each problem of two classes.
    random_state
        Seed, ``RandomState`` or None.

    Attributes
    ----------
    classes_ : ndarray
    coef_ : ndarray of shape (1, d) or (classes, d)
    intercept_ : ndarray of shape (1,) or (classes,)
    n_queries_ : int
        Losses of single samples that were evaluated.
    n_iter_ : ndarray
        Iterations, for each problem of two classes.
    n_features_in_ : int

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from zofw.adapters import ZOClassifier
    >>> Z, y = load_breast_cancer(return_X_y=True)
    >>> classifier = make_pipeline(StandardScaler(), ZOClassifier(radius=5.0, budget=100_000, random_state=0))
    >>> classifier.fit(Z, y).score(Z, y) > 0.95
    True
    >>> classifier[-1].n_queries_ <= 100_000
    True
    """

    LOSSES: ClassVar[tuple[str, ...]] = ("logistic", "correntropy")

    def fit(self, X: Matrix, y: ArrayLike) -> Self:
        """Find the coefficients: X dense or sparse of shape (n, d), y of any labels."""
        self._check()
        X, y = validation.validate_data(self, X, y, accept_sparse="csr", dtype=np.float64)
        multiclass.check_classification_targets(y)
        self.classes_, index = np.unique(y, return_inverse=True)
        count = len(self.classes_)
        if count < 2:
            raise ValueError(
                f"ZOClassifier needs samples of at least 2 classes; the data has 1 class, {self.classes_[0]!r}."
            )
        positives = [1] if count == 2 else [*range(count)]
        results = self._solve(X, [np.where(index == positive, 1.0, -1.0) for positive in positives])
        found = np.stack([result.x for result in results])
        self.coef_ = found[:, : X.shape[1]]
        self.intercept_ = found[:, -1] if self.fit_intercept else np.zeros(len(found))
        self.n_iter_ = np.array([result.nit for result in results])
        self.n_queries_ = sum(result.nfev for result in results)
        return self

    def decision_function(self, X: Matrix) -> Array:
        """zᵀw + b: of shape (m,) for two classes, positive for the second, else (m, classes)."""
        validation.check_is_fitted(self)
        X = validation.validate_data(self, X, accept_sparse="csr", dtype=np.float64, reset=False)
        scores = np.asarray(X @ self.coef_.T) + self.intercept_
        return scores[:, 0] if scores.shape[1] == 1 else scores

    def predict(self, X: Matrix) -> np.ndarray:
        """The class of the greatest score."""
        scores = self.decision_function(X)
        index = (scores > 0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)
        return np.asarray(self.classes_[index])

    @available_if(_has_probabilities)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Matrix) -> Array:
        """1/(1 + e^{−score}), (m, classes); with more than two classes, divided by their sum; all the same where every one is 0."""
        chances = expit(self.decision_function(X))
        if chances.ndim == 1:
            return np.stack([1.0 - chances, chances], axis=1)
        chances[chances.sum(axis=1) == 0.0] = 1.0
        return np.asarray(chances / chances.sum(axis=1, keepdims=True))


class ZORegressor(RegressorMixin, _Linear):
    r"""A sparse linear regressor from values of its loss,

    .. math:: \min_{w, b} \frac1n \sum_{i=1}^n \ell(y_i - z_i^\top w - b)
              \quad\text{subject to}\quad \|w\|_1 \le r, \; |b| \le r.

    Features and targets should be of similar size, as the ball treats all coefficients alike: put a ``StandardScaler`` before
    it, and a ``TransformedTargetRegressor`` around it.

    Parameters
    ----------
    loss
        "squared" (the default), or "correntropy", the robust loss :math:`\frac{\sigma^2}{2}(1 - e^{-t^2/\sigma^2})`, for which an outlier counts
        at most σ²/2.
    radius, sigma, fit_intercept, method, budget, max_iter, random_state
        As in :class:`ZOClassifier`.

    Attributes
    ----------
    coef_ : ndarray of shape (d,)
    intercept_ : float
    n_queries_, n_iter_ : int
        Losses of single samples that were evaluated, and iterations.
    n_features_in_ : int

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.preprocessing import scale
    >>> from zofw.adapters import ZORegressor
    >>> Z, y = load_diabetes(return_X_y=True)
    >>> regressor = ZORegressor(radius=1.0, budget=200_000, random_state=0).fit(scale(Z), scale(y))
    >>> regressor.score(scale(Z), scale(y)) > 0.45
    True
    """

    LOSSES: ClassVar[tuple[str, ...]] = ("squared", "correntropy")

    def fit(self, X: Matrix, y: ArrayLike) -> Self:
        """Find the coefficients: X dense or sparse of shape (n, d), y of shape (n,)."""
        self._check()
        X, y = validation.validate_data(
            self, X, y, accept_sparse="csr", dtype=np.float64, y_numeric=True, multi_output=False
        )
        (result,) = self._solve(X, [np.asarray(y, dtype=np.float64)])
        self.coef_ = result.x[: X.shape[1]]
        self.intercept_ = float(result.x[-1]) if self.fit_intercept else 0.0
        self.n_iter_, self.n_queries_ = result.nit, result.nfev
        return self

    def predict(self, X: Matrix) -> Array:
        """zᵀw + b."""
        validation.check_is_fitted(self)
        X = validation.validate_data(self, X, accept_sparse="csr", dtype=np.float64, reset=False)
        return np.asarray(X @ self.coef_) + self.intercept_
