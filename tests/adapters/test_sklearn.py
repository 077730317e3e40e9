"""The classifier keeps scikit-learn's rules, and its own count."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

pytest.importorskip("sklearn", reason="scikit-learn is not installed (extra data)")

from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import zofw
from zofw.adapters import ZOClassifier

QUICK = zofw.papers.ZOFW(radius=1e-4)


@pytest.fixture(scope="module")
def cancer():
    Z, y = load_breast_cancer(return_X_y=True)
    return StandardScaler().fit_transform(Z), np.where(y == 1, "benign", "malignant")


@parametrize_with_checks(
    [ZOClassifier(loss, radius=2.0, method="zo-fw", max_iter=12) for loss in ("logistic", "correntropy")]
)
def test_scikit_learns_own_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize("loss", ["logistic", "correntropy"])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_it_learns_sparsely_within_its_budget(cancer, loss, fit_intercept):
    Z, y = cancer
    classifier = ZOClassifier(
        loss, radius=3.0, fit_intercept=fit_intercept, budget=100_000, random_state=0
    ).fit(Z, y)
    assert classifier.score(Z, y) > 0.9
    assert 0 < classifier.n_queries_ <= 100_000
    assert np.abs(classifier.coef_).sum() <= 3.0 * (1 + 1e-9)
    assert (classifier.intercept_ != 0).all() == fit_intercept
    assert [*classifier.classes_] == ["benign", "malignant"]


def test_a_small_ball_is_sparse(cancer):
    classifier = ZOClassifier(radius=1.0, method=QUICK, max_iter=6, random_state=0).fit(*cancer)
    assert 0 < np.count_nonzero(classifier.coef_) <= 6
    assert classifier.n_iter_ == [6]
    assert classifier.score(*cancer) > 0.9


def test_dense_and_sparse_input_give_the_same(cancer):
    Z, y = cancer
    found = [
        ZOClassifier(method=QUICK, budget=50_000, random_state=0).fit(matrix, y)
        for matrix in (Z, sp.csr_matrix(Z), sp.csc_array(Z), sp.coo_array(Z))
    ]
    for other in found[1:]:
        np.testing.assert_allclose(other.coef_, found[0].coef_, atol=1e-6)
        np.testing.assert_allclose(other.predict_proba(sp.csr_array(Z)), found[0].predict_proba(Z), atol=1e-6)


def test_several_classes_share_the_budget():
    Z, y = load_iris(return_X_y=True)
    classifier = make_pipeline(StandardScaler(), ZOClassifier(budget=60_000, random_state=0)).fit(Z, y)
    assert classifier.score(Z, y) > 0.85
    last = classifier[-1]
    assert last.coef_.shape == (3, 4) and last.n_iter_.shape == (3,) and last.n_queries_ <= 60_000
    np.testing.assert_allclose(classifier.predict_proba(Z).sum(axis=1), 1.0)


def test_probabilities_that_underflow_are_still_a_distribution():
    Z, y = load_iris(return_X_y=True)
    classifier = ZOClassifier(method=QUICK, budget=20_000, random_state=0).fit(Z, y)
    classifier.intercept_[:] = -1e6
    np.testing.assert_allclose(classifier.predict_proba(Z), 1 / 3)


def test_outliers_count_for_little_in_the_correntropy():
    random = np.random.default_rng(0)
    Z = random.standard_normal((300, 5))
    y = Z[:, 0] > 0
    spoiled, labels = Z.copy(), y.copy()
    spoiled[:40, 0] = 30 * np.where(y[:40], -1, 1)
    scores = {
        loss: ZOClassifier(loss, radius=1.0, sigma=1.0, method=QUICK, max_iter=60)
        .fit(spoiled, labels)
        .score(Z, y)
        for loss in ("logistic", "correntropy")
    }
    assert scores["correntropy"] > 0.95 > scores["logistic"]


def test_a_seed_gives_the_same_twice_and_another_another(cancer):
    Z, y = cancer
    coefficients = [
        ZOClassifier(method="zsfw-dvr", budget=30_000, random_state=seed).fit(Z, y).coef_
        for seed in (1, 1, 2, np.random.RandomState(1))
    ]
    np.testing.assert_array_equal(coefficients[0], coefficients[1])
    np.testing.assert_array_equal(coefficients[0], coefficients[3])
    assert (coefficients[0] != coefficients[2]).any()


def test_probabilities_only_with_the_logistic_loss():
    assert hasattr(ZOClassifier(), "predict_proba")
    assert not hasattr(ZOClassifier("correntropy"), "predict_proba")


def test_in_a_grid_search(cancer):
    Z, y = cancer
    search = GridSearchCV(
        ZOClassifier(method=QUICK, budget=30_000, random_state=0), {"radius": [0.01, 3.0]}, cv=2
    )
    search.fit(Z, y)
    assert search.best_params_["radius"] == 3.0
    assert clone(search.best_estimator_).get_params() == search.best_estimator_.get_params()


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"loss": "hinge"}, "loss should be 'logistic' or 'correntropy'; got 'hinge'"),
        ({"radius": 0}, "radius should be a positive finite number; got 0"),
        ({"sigma": "wide"}, "sigma should be a positive finite number; got 'wide'"),
        ({"budget": 5}, "budget"),
        ({"budget": "lots"}, "budget should be a whole number of at least 1; got 'lots'"),
        ({"max_iter": 0}, "max_iter should be a positive whole number; got 0"),
        ({"method": "zo-fv"}, "zo-fv"),
    ],
)
def test_bad_settings_end_in_a_sentence(cancer, settings, sentence):
    with pytest.raises((ValueError, KeyError), match=sentence):
        ZOClassifier(**settings).fit(*cancer)


def test_one_class_is_not_enough(cancer):
    with pytest.raises(ValueError, match="at least 2 classes; the data has 1 class"):
        ZOClassifier().fit(cancer[0], ["all"] * len(cancer[0]))
