"""Weights of an ensemble for a metric without a gradient: two ways to the same answer.

Needs, in a clone: pip install '.[data,optuna]'
"""

import numpy as np
import optuna
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import RandomForestClassifier, VotingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import cross_val_predict, train_test_split
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import scale

import zofw
from zofw.adapters import ZOSampler

X, y = load_breast_cancer(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(scale(X), y, random_state=0)
models = [
    ("linear", LogisticRegression(C=0.01)),
    ("forest", RandomForestClassifier(50, random_state=0)),
    ("near", KNeighborsClassifier(15)),
]

# 1. the function itself
table = np.array([cross_val_predict(m, X_train, y_train, method="predict_proba") for _, m in models])


def loss(w):
    return log_loss(y_train, np.tensordot(w, table, axes=1))


result = zofw.minimize(loss, "simplex", dim=3, budget=150, rng=0, inside=True)
print("zofw.minimize:     ", result.x.round(3), f"log loss {result.fun:.4f}, {result.nfev} evaluations")

vote = VotingClassifier(models, voting="soft", weights=result.x).fit(X_train, y_train)
print(f"on the test samples {log_loss(y_test, vote.predict_proba(X_test)):.4f}")

# 2. Optuna trials that are points of the simplex
optuna.logging.set_verbosity(optuna.logging.WARNING)
sampler = ZOSampler("simplex", [name for name, _ in models], budget=150, seed=0)
study = optuna.create_study(sampler=sampler)
study.optimize(lambda trial: loss(sampler.suggest(trial)), n_trials=150)
print("ZOSampler:         ", np.round([*study.best_params.values()], 3), f"log loss {study.best_value:.4f}")

alone = [loss(w) for w in np.eye(3)]
assert max(result.fun, study.best_value) <= min(alone) + 1e-3
