"""Weights of estimators: scikit-learn's rules, and never worse than what they are made of."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("sklearn", reason="scikit-learn is not installed (extra data)")

from sklearn.datasets import load_diabetes, make_classification
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks

import zofw
from zofw.adapters import ZOVotingClassifier, ZOVotingRegressor

CLASSIFIERS = [("linear", LogisticRegression()), ("near", KNeighborsClassifier(3))]
REGRESSORS = [("linear", Ridge()), ("near", KNeighborsRegressor(3))]


@parametrize_with_checks(
    [
        ZOVotingClassifier(CLASSIFIERS, cv=2, budget=12, random_state=0),
        ZOVotingRegressor(REGRESSORS, cv=2, budget=12, random_state=0),
    ]
)
def test_scikit_learns_own_checks(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def data():
    return make_classification(600, 12, n_informative=5, flip_y=0.1, n_classes=3, random_state=0)


@pytest.mark.parametrize("scoring", ["neg_log_loss", "roc_auc_ovr", "f1_macro", None])
def test_never_worse_than_equal_weights_or_one_alone(data, scoring):
    X, y = data
    models = [
        *CLASSIFIERS,
        ("bayes", GaussianNB()),
        ("tree", DecisionTreeClassifier(max_depth=4, random_state=0)),
    ]
    vote = ZOVotingClassifier(models, scoring=scoring, budget=200, random_state=0).fit(X, y)
    scores = [
        ZOVotingClassifier([model], scoring=scoring, random_state=0).fit(X, y).best_score_ for model in models
    ]
    equal = ZOVotingClassifier(models, scoring=scoring, set=zofw.CappedSimplex(1.0, 0.25), random_state=0)
    assert vote.best_score_ >= max(scores) and vote.best_score_ >= equal.fit(X, y).best_score_
    assert vote.weights_.min() >= 0 and vote.weights_.sum() == pytest.approx(1, abs=1e-15)
    assert vote.n_queries_ <= 200 + 6
    assert vote.predict_proba(X).shape == (600, 3) and vote.score(X, y) > 0.6


def test_values_of_the_scorer_are_counted_as_they_are_asked():
    X, y = load_diabetes(return_X_y=True)
    asked = []

    def scorer(model, X, y):
        asked.append(model)
        return -float(np.abs(model.predict(X) - y).mean())

    for region in ("simplex", zofw.CappedSimplex(1.0, 0.8)):  # the second has no vote of one alone
        asked.clear()
        vote = ZOVotingRegressor(REGRESSORS, scoring=scorer, cv=2, set=region, budget=20, random_state=0)
        assert vote.fit(X, y).n_queries_ == len(asked) <= 20 + 4


def test_weights_in_another_set():
    X, y = load_diabetes(return_X_y=True)
    capped = zofw.CappedSimplex(1.0, 0.6)
    vote = ZOVotingRegressor(REGRESSORS, set=capped, budget=60, random_state=0).fit(X, y)
    assert vote.weights_.max() <= 0.6
    np.testing.assert_allclose(
        vote.predict(X), vote.weights_ @ [model.predict(X) for model in vote.estimators_]
    )


def test_what_is_refused(data):
    with pytest.raises(ValueError, match=r"pairs \(name, estimator\)"):
        ZOVotingClassifier([]).fit(*data)
