"""Weights of scikit-learn estimators, for any scorer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Self, TypeAlias

import joblib
import numpy as np
from numpy.typing import ArrayLike
from sklearn import base, metrics, model_selection
from sklearn import utils as utilities
from sklearn.utils import multiclass, parallel, validation

from zofw.core import Array, Matrix, MethodLike
from zofw.problems import BlackBox
from zofw.run.minimize import solve
from zofw.sets import SetLike, as_set, can_clip

NamedEstimator: TypeAlias = tuple[str, base.BaseEstimator]


class _Voting(base.BaseEstimator):
    """What the two share: predictions of samples held out, a score of their mixture, and weights that make it best."""

    weights_: Array

    def __init__(
        self,
        estimators: Sequence[NamedEstimator],
        *,
        scoring: str | Callable[..., float] | None = None,
        cv: int | model_selection.BaseCrossValidator = 5,
        set: SetLike = "simplex",
        budget: int = 500,
        method: MethodLike = "auto",
        random_state: int | np.random.RandomState | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.estimators = estimators
        self.scoring = scoring
        self.cv = cv
        self.set = set
        self.budget = budget
        self.method = method
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _weigh(self, X: Matrix, y: ArrayLike, table: Array, judged: _Classifies | _Regresses) -> None:
        """Fit the estimators, and find the weights of the table (estimators, samples, …) that score best."""
        scorer = metrics.check_scoring(judged, scoring=self.scoring)
        best: list[tuple[float, Array]] = []
        self.n_queries_ = 0

        side_by_side = parallel.Parallel(n_jobs=self.n_jobs)

        def losses(W: Array, components: object = None) -> Array:
            self.n_queries_ += len(W)
            scores = side_by_side(parallel.delayed(_score)(scorer, judged, w, table, X, y) for w in W)
            i = int(np.argmax(scores))
            if not best or -scores[i] < best[0][0]:
                best[:] = [(-scores[i], np.array(W[i]))]
            return -np.array(scores)[:, None]

        count, region = len(table), as_set(self.set)
        start = np.asarray(region.initial_point(count))
        seed = int(utilities.check_random_state(self.random_state).randint(2**31 - 1))
        losses(np.array([start, *(alone for alone in np.eye(count) if region.contains(alone))]))
        if count > 1:
            result = solve(
                BlackBox(losses, dim=count, vectorized=True),
                region,
                x0=best[0][1],
                method=self.method,
                budget=self.budget,
                rng=seed,
                inside=True,
                diagnose=0,
                progress=False,
                workers=joblib.effective_n_jobs(self.n_jobs),
            )
            losses((region.clip(result.x) if can_clip(region) else result.x)[None, :])
        self.best_score_, self.weights_ = -best[0][0], best[0][1]
        self.estimators_ = [base.clone(estimator).fit(X, y) for _, estimator in self._named()]

    def _named(self) -> Sequence[NamedEstimator]:
        if not self.estimators or not all(len(pair) == 2 for pair in self.estimators):
            raise ValueError(
                f"estimators should be a list of pairs (name, estimator) with at least one; got {self.estimators!r}."
            )
        return self.estimators

    def _held_out(self, X: Matrix, y: ArrayLike, method: str) -> Array:
        """What each estimator says of samples it was not fitted to, (estimators, samples, …)."""
        return np.array(
            [
                model_selection.cross_val_predict(
                    base.clone(estimator), X, y, cv=self.cv, method=method, n_jobs=self.n_jobs
                )
                for _, estimator in self._named()
            ]
        )

    def _said(self, X: Matrix, method: str) -> Array:
        validation.check_is_fitted(self)
        X = validation.validate_data(self, X, accept_sparse="csr", dtype=np.float64, reset=False)
        said = [getattr(estimator, method)(X) for estimator in self.estimators_]
        return np.asarray(np.tensordot(self.weights_, said, axes=1))

    def __sklearn_tags__(self) -> utilities.Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = all(
            utilities.get_tags(estimator).input_tags.sparse for _, estimator in self._named()
        )
        return tags


def _score(
    scorer: Callable[..., float],
    judged: _Classifies | _Regresses,
    w: Array,
    table: Array,
    X: Matrix,
    y: ArrayLike,
) -> float:
    """Return the score of the mixture with weights w."""
    return float(scorer(base.clone(judged).saying(np.tensordot(w, table, axes=1)), X, y))


class ZOVotingClassifier(base.ClassifierMixin, _Voting):
    """Classifiers whose probabilities are mixed with the weights that any scorer likes best.

    The weights are found from values of the scorer on samples held out by cross-validation; then every estimator is fitted to
    all samples. The weights returned are the best of all that were tried, equal weights and each estimator alone among them,
    so that on the samples held out they are never worse.

    Parameters
    ----------
    estimators
        Pairs (name, classifier with ``predict_proba``).
    scoring
        A scorer or its name, such as "roc_auc", "neg_log_loss" or "f1_macro"; by default accuracy.
    cv
        Folds, as in ``cross_val_predict``.
    set
        Where the weights lie, as in :func:`zofw.minimize`: ``CappedSimplex(1.0, 0.5)`` lets no estimator have more than half.
    budget
        Most values of the scorer asked for by the run.
    method
        As in :func:`zofw.minimize`.
    random_state
        Seed, ``RandomState`` or None.
    n_jobs
        Weights that are scored, and folds that are fitted, at the same time, as in scikit-learn.

    Attributes
    ----------
    weights_ : ndarray of shape (estimators,)
    best_score_ : float
        Of the weights, on samples held out.
    estimators_ : list
        The fitted estimators.
    classes_ : ndarray
    n_queries_ : int
        Values of the scorer.
    n_features_in_ : int

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from sklearn.preprocessing import scale
    >>> from zofw.adapters import ZOVotingClassifier
    >>> Z, y = load_breast_cancer(return_X_y=True)
    >>> models = [("linear", LogisticRegression()), ("bayes", GaussianNB())]
    >>> vote = ZOVotingClassifier(models, scoring="neg_log_loss", budget=60, random_state=0).fit(scale(Z), y)
    >>> bool(vote.weights_.sum().round(12) == 1), vote.best_score_ > -0.09
    (True, True)
    """

    def fit(self, X: Matrix, y: ArrayLike) -> Self:
        """Find the weights, and fit the estimators."""
        X, y = validation.validate_data(self, X, y, accept_sparse="csr", dtype=np.float64)
        multiclass.check_classification_targets(y)
        self.classes_ = np.unique(y)
        table = self._held_out(X, y, "predict_proba")
        self._weigh(X, y, table, _Classifies(self.classes_))
        return self

    def predict_proba(self, X: Matrix) -> Array:
        """The weighted mean of the probabilities, (m, classes)."""
        return self._said(X, "predict_proba")

    def predict(self, X: Matrix) -> np.ndarray:
        """The class of the greatest mean probability."""
        index = self.predict_proba(X).argmax(axis=1)
        return np.asarray(self.classes_[index])


class ZOVotingRegressor(base.RegressorMixin, _Voting):
    """Regressors whose predictions are mixed with the weights that any scorer likes best.

    Parameters and attributes are those of :class:`ZOVotingClassifier`, without classes; the scorer is R² by default.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.linear_model import Ridge
    >>> from sklearn.neighbors import KNeighborsRegressor
    >>> from zofw.adapters import ZOVotingRegressor
    >>> Z, y = load_diabetes(return_X_y=True)
    >>> models = [("linear", Ridge(0.1)), ("near", KNeighborsRegressor(20))]
    >>> vote = ZOVotingRegressor(models, scoring="neg_mean_absolute_error", budget=60, random_state=0).fit(Z, y)
    >>> vote.best_score_ > -44.5
    True
    """

    def fit(self, X: Matrix, y: ArrayLike) -> Self:
        """Find the weights, and fit the estimators."""
        X, y = validation.validate_data(self, X, y, accept_sparse="csr", dtype=np.float64, y_numeric=True)
        self._weigh(X, y, self._held_out(X, y, "predict"), _Regresses())
        return self

    def predict(self, X: Matrix) -> Array:
        """The weighted mean of the predictions."""
        return self._said(X, "predict")


class _Classifies(base.ClassifierMixin, base.BaseEstimator):
    """A fitted classifier that returns given probabilities, for a scorer."""

    def __init__(self, classes: np.ndarray) -> None:
        self.classes = self.classes_ = classes

    def saying(self, probabilities: Array) -> Self:
        self.probabilities_ = probabilities
        return self

    def fit(self, X: Matrix, y: ArrayLike) -> Self:
        return self

    def predict_proba(self, X: Matrix) -> Array:
        return self.probabilities_

    def predict(self, X: Matrix) -> np.ndarray:
        return np.asarray(self.classes_[self.probabilities_.argmax(axis=1)])


class _Regresses(base.RegressorMixin, base.BaseEstimator):
    """A fitted regressor that returns given predictions, for a scorer."""

    def saying(self, predictions: Array) -> Self:
        self.predictions_ = predictions
        return self

    def fit(self, X: Matrix, y: ArrayLike) -> Self:
        return self

    def predict(self, X: Matrix) -> Array:
        return self.predictions_
